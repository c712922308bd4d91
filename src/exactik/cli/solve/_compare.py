"""`exactik compare`: two recordings of walking, or the two sides of one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from exactik.cli._app import SOLVE, AsJson, command, command_line, print_json, say, show_frames
from exactik.cli._options import argument, output_option, value_option
from exactik.errors import FileError, UsageError
from exactik.io import files_to_write, suffix_of
from exactik.recordings.pipeline import (
    LoadedSkeleton,
    PreparedSkeleton,
    RecordingOptions,
    read_recording,
    read_skeleton,
    solve_recording,
)
from exactik.recordings.tracking import Track
from exactik.studio.report.comparison import (
    GaitComparison,
    compare_sides,
    compare_tracks,
    describe_change,
    write_comparison,
    write_cycles,
)

MAX_LISTED = 3  # changes on the screen
WRITERS = (".html", ".htm", ".csv")


@command(SOLVE)
def compare(
    recordings: Annotated[
        list[str],
        argument(
            "MARKERS...",
            "Two recordings of a person who walks or runs, or one: its right and left side.",
        ),
    ],
    *,
    skeleton: Annotated[
        str, value_option("FIGURE", "The figure: human, or a file that fits the subject.")
    ] = "human",
    output: Annotated[
        list[str] | None,
        output_option(
            "FILE", "Page to write (.html), or all strides as a table, 0 to 100 % (.csv)."
        ),
    ] = None,
    same_markers: Annotated[
        bool,
        typer.Option(
            "--same-markers",
            help="The markers stayed on between: one figure for both, whose errors cancel.",
        ),
    ] = False,
    options: RecordingOptions,
    as_json: AsJson = False,
) -> None:
    """Say what changed between two recordings of walking, and what may be chance.

    Examples:
        exactik compare before.c3d after.c3d -o change.html
        exactik compare walk.c3d -o sides.html -o strides.csv
    """
    if len(recordings) > 2:
        raise UsageError(f"{len(recordings)} recordings; expected two, or one for its two sides")
    outputs = [Path(name) for name in output or ()]
    for path in outputs:
        if suffix_of(path) not in WRITERS:
            raise FileError(path, f"no comparison can be written so; expected {' '.join(WRITERS)}")
        files_to_write(str(path), tuple(recordings))
    figure = read_skeleton(skeleton, None, None)
    options = replace(options, fit=figure.built_in)
    known: dict[str, PreparedSkeleton] = {}
    tracks = [_solve(Path(name), figure, options, known, same_markers) for name in recordings]
    if len(tracks) == 1:
        comparison = compare_sides(tracks[0])
    else:
        same = same_markers or not figure.built_in
        comparison = compare_tracks(tracks[0], tracks[1], same_figure=same)
    for path in outputs:
        if suffix_of(path) == ".csv":
            write_cycles(comparison, path)
        else:
            write_comparison(comparison, path, command_line())
    _print(comparison, outputs, as_json)


def _solve(
    path: Path,
    figure: LoadedSkeleton,
    options: RecordingOptions,
    known: dict[str, PreparedSkeleton],
    same_markers: bool,
) -> Track:
    """Solve the first subject of a recording; with the figure of the one before if asked."""
    markers = read_recording(path, None, options, align=False).markers
    with show_frames("", len(markers)) as report:
        solved = solve_recording(
            markers,
            figure,
            options,
            prepared=known if same_markers else None,
            progress=lambda what, done, total: report(done, total, description=what),
        )[0]
    known[solved.subject] = solved.prepared
    return solved.track


def _print(comparison: GaitComparison, outputs: list[Path], as_json: bool) -> None:
    texts = [describe_change(one, comparison) for one in comparison.changes]
    written = [str(path) for path in outputs]
    if as_json:
        print_json({"changes": texts, "written": written, "curves": len(comparison.differences)})
        return
    for text in texts[:MAX_LISTED] or ["nothing by more than may be chance"]:
        say(f"changed  {text}")
    if len(texts) > MAX_LISTED:
        say(f"         and {len(texts) - MAX_LISTED} more angles")
    if len(written) > 0:
        say(f"written  {', '.join(written)}")
