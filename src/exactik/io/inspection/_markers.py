"""The facts of a recording of markers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from exactik.errors import Note
from exactik.io.formats import TSV, Format
from exactik.io.inspection._facts import (
    Facts,
    count_prefixes,
    find_complete_frames,
    find_gaps,
    measure_space,
)
from exactik.io.inspection._oddities import (
    describe_axis_conflict,
    describe_frozen_markers,
    describe_names,
    describe_swaps,
    split_notes,
)
from exactik.motion import Markers, find_frozen_markers, find_swaps

__all__ = ["inspect_markers", "name_maker"]


def inspect_markers(path: str, form: Format, markers: Markers, notes: Sequence[Note]) -> Facts:
    """Return the facts of markers.

    Args:
        path: of the file.
        form: its format.
        markers: what it holds.
        notes: what was warned of on reading.
    """
    first = markers.first_frame
    space, tallest = measure_space(markers.positions)
    swaps = tuple(
        swap._replace(first=swap.first + first, last=swap.last + first)
        for swap in find_swaps(markers)
    )
    frozen = tuple(
        marker._replace(first=marker.first + first, last=marker.last + first)
        for marker in find_frozen_markers(markers)
    )
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
        complete=find_complete_frames(markers),
        length_unit=markers.units_in_file,
        up_axis=markers.up_axis,
        tallest_axis=tallest,
        space=space,
        markers=find_gaps(markers),
        prefixes=count_prefixes(markers.names),
        others=dict(Counter(series.kind for series in markers.others.values())),
        swaps=swaps,
        frozen=frozen,
        details=_details(markers.metadata),
        assumed=assumed,
        oddities=(
            *describe_swaps(swaps, first + len(markers) - 1),
            *describe_frozen_markers(frozen, len(markers)),
            *describe_names(markers),
            *describe_axis_conflict(markers.up_axis, tallest),
            *odd,
        ),
    )


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


def _details(metadata: Mapping[str, Any]) -> dict[str, str]:
    details = {}
    subjects, events = metadata.get("subjects") or (), metadata.get("events") or ()
    analog, encoding = metadata.get("analog") or {}, metadata.get("encoding")
    if len(subjects) > 0:
        details["subjects"] = ", ".join(subjects)
    if len(events) > 0:
        names = Counter(" ".join(part for part in (what[1], what[0]) if part) for what in events)
        details["events"] = ", ".join(f"{n}× {name}" for name, n in names.items())
    if analog.get("channels", 0) > 0:
        details["analog"] = f"{analog['channels']} channels at {analog['rate']:g} Hz, not read"
    if encoding is not None and metadata.get("numbers") is not None:
        details["numbers"] = f"{metadata['numbers']}, byte order of {encoding}"
    return details
