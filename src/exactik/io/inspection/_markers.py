"""The facts of a recording of markers, and what is odd about it, in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from exactik._text import count_noun, join_names
from exactik.anatomy.marker_sets import read_marker_names
from exactik.errors import Note
from exactik.io.formats import TSV, Format
from exactik.io.inspection._facts import (
    Facts,
    MarkerFacts,
    format_length,
    measure_space,
    remark,
    split_notes,
)
from exactik.model.motion import (
    Analog,
    ForcePlate,
    FrozenMarker,
    Markers,
    Motion,
    Swap,
    find_frozen_markers,
    find_segments,
    find_swaps,
)

MAX_SENTENCES = 5  # of the same kind; more are told in one
MAX_NAMES = 4  # in a sentence; a fifth is shown rather than counted


def inspect_markers(path: str, form: Format, markers: Markers, notes: Sequence[Note]) -> Facts:
    """Return the facts of markers.

    Args:
        notes: what was warned of on reading.
    """
    first = markers.first_frame
    space, tallest = measure_space(markers.positions)
    complete, gaps = _find_complete_frames(markers), _find_gaps(markers)
    prefixes, name_oddities = count_prefixes(markers.names), _describe_names(markers)
    swaps = tuple(
        swap._replace(first=swap.first + first, last=swap.last + first)
        for swap in find_swaps(markers)
    )
    frozen = tuple(
        marker._replace(first=marker.first + first, last=marker.last + first)
        for marker in find_frozen_markers(markers)
    )
    reading = read_marker_names(markers.names, markers.computed)
    assumed, odd = split_notes((*markers.notes, *notes))
    gone = markers.missing
    return Facts(
        path=path,
        kind="markers",
        format=form.full_name,
        maker=name_maker(markers.metadata),
        frames=len(markers),
        rate=markers.rate,
        duration=len(markers) / markers.rate,
        first_frame=first,
        missing=float(gone.mean()) if gone.size > 0 else 0.0,
        complete=complete,
        length_unit=markers.units_in_file,
        up_axis=markers.up_axis,
        tallest_axis=tallest,
        space=space,
        markers=gaps,
        computed=dict(reading.computed),
        marker_set="" if reading.marker_set is None else reading.marker_set.title,
        prefixes=prefixes,
        others=dict(Counter(series.kind for series in markers.others.values())),
        swaps=swaps,
        frozen=frozen,
        details=_details(markers),
        assumed=assumed,
        oddities=(
            *_describe_swaps(swaps, first + len(markers) - 1),
            *_describe_frozen_markers(frozen, len(markers)),
            *name_oddities,
            *_describe_axis_conflict(markers.up_axis, tallest),
            *odd,
        ),
    )


def describe_markers(markers: Markers) -> str:
    """Return the size of a recording, in one line."""
    share = 100.0 * float(markers.missing.mean()) if markers.missing.size > 0 else 0.0
    others = f", {len(markers.others)} other series" if len(markers.others) > 0 else ""
    computed = len(read_marker_names(markers.names, markers.computed).computed)
    count = count_noun(len(markers.names) - computed, "marker")
    count += f" and {count_noun(computed, 'computed point')}" if computed > 0 else ""
    return f"{describe_time(markers)}, {count}, {share:.1f} % missing{others}"


def describe_time(recording: Markers | Motion) -> str:
    """Return frames, rate and duration: "240 frames at 120 Hz (1.99 s)"."""
    duration = max(len(recording) - 1, 0) / recording.rate
    return f"{count_noun(len(recording), 'frame')} at {recording.rate:g} Hz ({duration:.2f} s)"


def name_maker(metadata: Mapping[str, Any]) -> str:
    """Return company and program as one: "Vicon" and "Vicon Nexus 1.8" are "Vicon Nexus 1.8"."""
    if metadata.get("format") == TSV.full_name:
        return "Qualisys Track Manager"
    company, program = (str(metadata.get(key) or "") for key in ("maker", "software"))
    if company == "":
        return program or str(metadata.get("generator") or "")
    if program == "" or program.lower().startswith(company.split()[0].lower()):
        return program or company
    return f"{company}, {program}"


def describe_analog(analog: Analog) -> str:
    """Return the size of analog channels: "16 analog channels at 1000 Hz"."""
    return f"{count_noun(len(analog.labels), 'analog channel')} at {analog.rate:g} Hz"


def _details(markers: Markers) -> dict[str, str]:
    details, metadata = {}, markers.metadata
    subjects, events = metadata.get("subjects") or (), metadata.get("events") or ()
    encoding = metadata.get("encoding")
    if len(subjects) > 0:
        details["subjects"] = ", ".join(subjects)
    if len(events) > 0:
        names = Counter(" ".join(part for part in (what[1], what[0]) if part) for what in events)
        details["events"] = ", ".join(f"{n}× {name}" for name, n in names.items())
    if markers.analog is not None:
        channels = markers.analog
        size = f"{count_noun(len(channels.labels), 'channel')} at {channels.rate:g} Hz"
        details["analog"] = f"{size}: {_join(channels.labels)}"
    if len(markers.force_plates) > 0:
        details["plates"] = _describe_force_plates(markers.force_plates)
    if encoding is not None and metadata.get("numbers") is not None:
        details["numbers"] = f"{metadata['numbers']}, byte order of {encoding}"
    return details


def _describe_force_plates(plates: Sequence[ForcePlate]) -> str:
    """Return how many plates there are of which type and size: "2 of type 2 (508 × 464 mm)"."""
    kinds = Counter((plate.type, *_measure_sides_mm(plate)) for plate in plates)
    return ", ".join(
        f"{count} of type {kind} ({long} × {short} mm)"
        for (kind, long, short), count in kinds.items()
    )


def _measure_sides_mm(plate: ForcePlate) -> tuple[int, int]:
    """Return the sides of a plate in whole millimetres, the longer one first."""
    first, second, _, fourth = plate.corners
    sides = (float(np.linalg.norm(first - corner)) for corner in (second, fourth))
    short, long = sorted(round(1e3 * side) for side in sides)
    return long, short


def _find_gaps(markers: Markers) -> tuple[MarkerFacts, ...]:
    """Return the gaps of every marker."""
    facts, first = [], markers.first_frame
    for name, gone in zip(markers.names, markers.missing.T, strict=True):
        gaps = tuple((gap.first + first, gap.last + first) for gap in find_segments(gone))
        facts.append(MarkerFacts(name, int(gone.sum()), gaps))
    return tuple(facts)


def _find_complete_frames(markers: Markers) -> tuple[int, int] | None:
    """Return the longest stretch of frames, numbered as in the file, without gaps."""
    gone = markers.missing
    named = ~np.array([_is_unnamed(name) for name in markers.names], dtype=bool)
    gone = gone[:, ~gone.all(axis=0) & (named | ~named.any())]
    if gone.shape[1] == 0:
        return None
    whole = find_segments(np.asarray(~gone.any(axis=1)))
    if len(whole) == 0:
        return None
    best, first = max(whole, key=lambda stretch: stretch.frame_count), markers.first_frame
    return best.first + first, best.last + first


def count_prefixes(names: Iterable[str]) -> dict[str, int]:
    """Return how many names have which subject before the colon."""
    subjects = [name.rpartition(":")[0] for name in names]
    return dict(Counter(subject for subject in subjects if subject != ""))


def _describe_swaps(swaps: Sequence[Swap], last: int) -> list[Note]:
    """Return suspected swaps as sentences; frames are numbered as in the file, `last` the last."""
    if len(swaps) > MAX_SENTENCES:
        (a, b), frame = swaps[0].names, swaps[0].first
        names = {name for swap in swaps for name in swap.names}
        return [
            remark(
                "swapped-markers",
                f"{len(swaps)} times two of {len(names)} markers seem to exchange places, first "
                f"{a} and {b} at frame {frame}.",
            )
        ]
    notes = []
    for (a, b), first, end, apart in swaps:
        when = f"from frame {first} on" if end >= last else f"in frames {first} to {end}"
        when = f"in frame {first} alone" if first == end < last else when
        text = f"{a} and {b}, {format_length(apart)} apart, seem to be swapped {when}."
        notes.append(remark("swapped-markers", text))
    return notes


def _describe_frozen_markers(frozen: Sequence[FrozenMarker], frames: int) -> list[Note]:
    """Return frozen markers as sentences; frames are numbered as in the file."""
    if len(frozen) > MAX_SENTENCES:
        names = list(dict.fromkeys(marker.name for marker in frozen))
        return [
            remark(
                "frozen-marker",
                f"{len(frozen)} times a marker stands still to the last digit while others move: "
                f"{_join(names)}.",
            )
        ]
    notes = []
    for name, first, last in frozen:
        when = f"in frames {first} to {last}" if last - first + 1 < frames else "all the time"
        text = f"{name} is frozen {when}: the same to the last digit while others move."
        notes.append(remark("frozen-marker", text))
    return notes


def _describe_names(markers: Markers) -> list[Note]:
    """Return what is odd about markers that are never seen or have no name."""
    notes = []
    never = [
        name for name, gone in zip(markers.names, markers.missing.T, strict=True) if gone.all()
    ]
    if len(markers) > 0 and len(never) == len(markers.names) > 0:
        notes.append(remark("never-seen", "No marker is ever seen."))
    elif len(markers) > 0 and len(never) > 0:
        count = count_noun(len(never), "marker is", "markers are")
        notes.append(remark("never-seen", f"{count} never seen: {_join(never)}."))
    if len(markers.names) == 0:
        notes.append(remark("no-markers", "It holds no markers."))
    if len(markers) == 0:
        notes.append(remark("no-frames", "It holds no frames."))
    unnamed = [name for name in markers.names if _is_unnamed(name)]
    if 0 < len(unnamed) < len(markers.names):
        count = count_noun(len(unnamed), "point has", "points have")
        notes.append(remark("unnamed-points", f"{count} no name: {_join(unnamed)}."))
    return notes


def _describe_axis_conflict(stated: str | None, tallest: str | None) -> list[Note]:
    """Return a sentence where markers spread most along another axis than the one said to be up."""
    if stated is None or tallest is None or stated == tallest:
        return []
    text = (
        f"The header has {stated} up, but the markers spread most along {tallest}: somebody lies "
        f"down, or {tallest} is up."
    )
    return [remark("up-axis-doubtful", text)]


def _is_unnamed(marker: str) -> bool:
    """Whether a marker has but the number that programs give to points without a name: "*12"."""
    return marker[:1] == "*" and marker[1:].isdecimal()


def _join(names: Sequence[str]) -> str:
    return join_names(names, MAX_NAMES, spare=1)
