"""The facts of a recording of markers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from exactik.io.inspection._facts import (
    Facts,
    complete_stretch,
    format_of,
    marker_facts,
    prefixes_of,
    space_of,
)
from exactik.io.inspection._oddities import (
    axis_sentences,
    frozen_sentences,
    marker_sentences,
    parted,
    swap_sentences,
)
from exactik.motion import Markers, find_frozen_markers, find_swaps

__all__ = ["facts_of_markers", "maker_of"]


def facts_of_markers(path: str, markers: Markers, said: Sequence[str]) -> Facts:
    """Return the facts of markers.

    Args:
        path: of the file.
        markers: what it holds.
        said: what was warned of on reading.
    """
    first = markers.first_frame
    space, tallest = space_of(markers.positions)
    swaps = tuple(
        swap._replace(first=swap.first + first, last=swap.last + first)
        for swap in find_swaps(markers)
    )
    frozen = tuple(
        marker._replace(first=marker.first + first, last=marker.last + first)
        for marker in find_frozen_markers(markers)
    )
    assumed, noted = parted((*markers.notes, *said))
    gone = markers.missing
    return Facts(
        path=path,
        kind="markers",
        format=format_of(path),
        maker=maker_of(markers.metadata),
        frames=len(markers),
        rate=markers.rate,
        duration=len(markers) / markers.rate,
        first_frame=first,
        missing=float(gone.mean()) if gone.size > 0 else 0.0,
        complete=complete_stretch(markers),
        length_unit=markers.units_in_file,
        up_axis=markers.up_axis,
        tallest_axis=tallest,
        space=space,
        markers=marker_facts(markers),
        prefixes=prefixes_of(markers.names),
        others=dict(Counter(series.kind for series in markers.others.values())),
        swaps=swaps,
        frozen=frozen,
        details=_details(markers.metadata),
        assumed=assumed,
        oddities=(
            *swap_sentences(swaps, first + len(markers) - 1),
            *frozen_sentences(frozen, len(markers)),
            *marker_sentences(markers),
            *axis_sentences(markers.up_axis, tallest),
            *noted,
        ),
    )


def maker_of(metadata: Mapping[str, Any]) -> str:
    """Return company and program as one: "Vicon" and "Vicon Nexus 1.8" are "Vicon Nexus 1.8"."""
    if metadata.get("format") == "Qualisys TSV":
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
