"""`exactik match`."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Annotated, Any

from exactik._text import align_columns, count_noun
from exactik.cli._app import SOLVE, AsJson, command, print_json, say
from exactik.cli._options import argument, output_option, value_option
from exactik.errors import UsageError
from exactik.io import open_atomic
from exactik.recordings.calibration import Match
from exactik.recordings.pipeline import (
    MatchedRecording,
    RecordingOptions,
    match_recording,
    read_recording,
    read_skeleton,
)

HEADER = """\
# What the markers of {name} are. Edit the second column, then: exactik solve … --mapping {target}
# A marker or bone of the figure, a landmark (exactik inspect human --all lists them), or a bone and
# a place in its frame in metres ("l_shin 0.03 0.04 -0.2"); nothing for a marker not to be used.
"""


@command(SOLVE)
def match(
    recording: Annotated[str, argument("MARKERS", "A recording.")],
    *,
    skeleton: Annotated[
        str,
        value_option(
            "FIGURE", "The figure: a file (.asf .bvh .npz .glb .urdf .xml), or human, ours."
        ),
    ] = "human",
    output: Annotated[
        Path | None, output_option("FILE", "File to write, for --mapping to read: .csv or .json.")
    ] = None,
    options: Annotated[
        RecordingOptions,
        ("mapping", "computed", "person", "start", "end", "up", "axes", "length_unit"),
    ],
    as_json: AsJson = False,
) -> None:
    """Say what each marker of a recording would be taken for, how far off it is, and why.

    Examples:
        exactik match walk.c3d
        exactik match walk.c3d -o names.csv
    """
    if output is not None and output.suffix.lower() not in (".csv", ".json"):
        raise UsageError(f"{output}: expected a name that ends with .csv or .json")
    figure = read_skeleton(skeleton)
    loaded = read_recording(Path(recording), None, options, align=False)
    matched = match_recording(
        loaded.markers,
        figure.skeleton,
        skeleton_up=None if options.axes is not None else figure.up,
        mapping=options.mapping,
        computed=options.computed,
        subject=options.person,
        is_up_given=options.up is not None,
    )
    if as_json:
        print_json([_to_plain(one) for one in matched])
    for one in matched if not as_json else ():
        say(f"{recording}: {loaded.words}")
        for note in (*loaded.notes, *one.notes):
            say(f"note: {note}")
        say()
        say(_format_table(one))
        say()
        say(_describe(one))
    if output is not None:
        _write_mapping(output, recording, [m for one in matched for m in one.mapping])
        if not as_json:
            say(f"Written: {output}")


def _format_table(matched: MatchedRecording) -> str:
    rows = [("marker", "taken for", "bone", "off", "sure", "why")]
    for one in matched.mapping:
        away = matched.distances.get(one.recorded)
        rows.append(
            (
                one.recorded,
                one.marker or one.landmark or ("–" if one.bone is None else "a marker of its own"),
                one.bone or "not used",
                "" if away is None else f"{1e3 * away:.0f} mm",
                f"{100 * one.confidence:.0f} %" if one.bone is not None else "",
                f"{one.reason} [{one.code}]",
            )
        )
    for name, code in matched.left_out.items():
        rows.append((name, "–", "not used", "", "", f"on no subject [{code}]"))
    return align_columns(rows)


def _describe(matched: MatchedRecording) -> str:
    """Return how many markers are used, as what, and why the others are not."""
    mapping = matched.mapping
    used = f"{len(mapping.used)} of {count_noun(len(mapping), 'point')} used"
    title = None if mapping.marker_set is None else mapping.marker_set.title
    known = "" if title is None else f"; the names are those of {title}"
    unused = mapping.describe_unused()
    return f"{used}{known}.{f' Not used: {unused}.' if unused != '' else ''}"


def _to_plain(matched: MatchedRecording) -> dict[str, Any]:
    return {
        "subject": matched.subject,
        "marker_set": None if matched.mapping.marker_set is None else matched.mapping.marker_set.id,
        "matches": [
            {**one._asdict(), "distance": matched.distances.get(one.recorded)}
            for one in matched.mapping
        ],
        "left_out": dict(matched.left_out),
        "notes": list(matched.notes),
    }


def _write_mapping(path: Path, recording: str, matches: list[Match]) -> None:
    """Write what `--mapping` reads."""
    if path.suffix.lower() == ".json":
        values = {one.recorded: _choice_of(one) for one in matches}
        with open_atomic(path, "w") as file:
            file.write(json.dumps(values, indent=1, ensure_ascii=False) + "\n")
        return
    with open_atomic(path, "w") as file:
        file.write(HEADER.format(name=Path(recording).name, target=path.name))
        rows = csv.writer(file, lineterminator="\n")
        for one in matches:
            choice = _choice_of(one)
            if isinstance(choice, tuple):
                choice = " ".join([choice[0], *(f"{x:.4f}" for x in choice[1])])
            rows.writerow((one.recorded, choice or "", f"# {one.reason}"))


def _choice_of(one: Match) -> str | tuple[str, tuple[float, float, float]] | None:
    """Return a match as `propose_mapping` takes it by hand."""
    if one.bone is None or one.marker is not None:
        return one.marker
    if one.landmark != "":
        return one.landmark
    return one.bone if one.point is None else (one.bone, one.point)
