"""A skeleton prepared for a recording: with markers of the right names, fitted to the subject."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from exactik._text import count_noun, join_names
from exactik.anatomy.marker_sets import strip_prefix
from exactik.errors import Advice, FileError
from exactik.model import Skeleton
from exactik.model.motion import Markers
from exactik.recordings.calibration import (
    Calibration,
    HandMapping,
    MarkerMapping,
    calibrate,
    propose_mapping,
)
from exactik.recordings.tracking import match_markers

MIN_SECONDS_FOR_GEOMETRY = 2.0  # [s] of a recording in which joints may have moved
SURE_CONFIDENCE = 0.82  # of a match, from which it goes without saying: the marker set tells it
MAX_LISTED_NAMES = 6


@dataclass(frozen=True, kw_only=True)
class PreparedSkeleton:
    """A skeleton with markers, for all recordings of a subject."""

    # With the markers of the recordings, at the size of the subject if it was fitted
    skeleton: Skeleton
    # Recorded name → the skeleton's, where these differ
    names: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # what was done, a sentence each
    mapping: MarkerMapping | None = None  # what each recorded marker is; None where names agree
    calibration: Calibration | None = None  # how it was fitted; None if it was not

    def rename_markers(self, markers: Markers) -> Markers:
        """Return markers under the skeleton's names, without those that it does not know.

        Names of another recording of the same subject may have another prefix.
        """
        if len(self.names) == 0:
            return markers
        by_short_name = {strip_prefix(name): mine for name, mine in self.names.items()}
        known = {}
        for name in markers.names:
            mine = self.names.get(name, by_short_name.get(strip_prefix(name)))
            if mine is not None:
                known[name] = mine
        return markers.chosen(tuple(known)).renamed(known) if len(known) > 0 else markers


def prepare_skeleton(
    skeleton: Skeleton,
    markers: Markers,
    *,
    mapping: HandMapping | None = None,
    computed: bool = False,
    fit: bool = True,
    progress: Callable[[int, int], object] | None = None,
    limits: str = "hard",
    lock: str | Iterable[str] = (),
) -> PreparedSkeleton:
    """Return a skeleton with the markers of a recording, fitted to its subject.

    Args:
        skeleton: as read.
        markers: a recording of one subject, all of it, in the axes of the skeleton.
        mapping: what recorded markers are, by hand, see `propose_mapping`.
        computed: whether to use points that software computed from markers.
        fit: whether to fit the size of the skeleton and the places of its markers.
        progress: is called with how much of the fit is done, and how much there is.
        limits: of joints while it is fitted: "hard", "soft" or "off".
        lock: bones or dofs that stay at rest while it is fitted.
    """
    if not fit and mapping is None and set(markers.names) <= set(skeleton.markers):
        return PreparedSkeleton(skeleton=skeleton)  # names agree: nothing to propose
    geometry = fit and shows_joints(markers)
    proposed = propose_mapping(skeleton, markers, mapping, geometry=geometry, computed=computed)
    if len(proposed.used) == 0:
        raise FileError(
            markers.source,
            f"no marker can be used on the skeleton {skeleton.name!r}: "
            f"{proposed.describe_unused() or 'there is none'}",
            code="no-known-marker",
            advice=Advice("; give ", "mapping", after=", what each of them is"),
        )
    notes = _describe_matches(proposed)
    names = proposed.names
    only_bone_known = [m for m in proposed.used if m.marker is None and m.point is None]
    if fit or len(only_bone_known) > 0:
        calibration = calibrate(
            skeleton,
            markers,
            bones=proposed,
            scale=fit,
            limits=limits,
            lock=lock,
            progress=progress,
        )
        notes.append(_describe_fit(calibration, Path(markers.source), sizes=fit))
        return PreparedSkeleton(
            skeleton=calibration.skeleton,
            names=names,
            notes=tuple(notes),
            mapping=proposed,
            calibration=calibration,
        )
    left_out = {match.recorded for match in proposed.matches if match.bone is None}
    by_name = left_out.isdisjoint(match_markers(skeleton, markers))
    if mapping is None and by_name and all(match.has_same_name for match in proposed.used):
        # Exactly what `track` does by itself.
        return PreparedSkeleton(skeleton=skeleton, notes=tuple(notes), mapping=proposed)
    return PreparedSkeleton(
        skeleton=proposed.applied(), names=names, notes=tuple(notes), mapping=proposed
    )


def shows_joints(markers: Markers) -> bool:
    """Whether a recording is so long that places tell markers apart: its joints have moved."""
    return len(markers) >= MIN_SECONDS_FOR_GEOMETRY * markers.rate


def _describe_fit(fit: Calibration, source: Path, sizes: bool) -> str:
    """Return what a calibration did, in a sentence."""
    before, after = (1e3 * float(np.nanmean(e)) for e in (fit.errors_before, fit.errors))
    what = "size and markers were" if sizes else "places of the markers were"
    return (
        f"The figure's {what} fitted to the subject on {source.name}, in {fit.seconds:.0f} s: "
        f"markers are off by {after:.1f} mm on average, {before:.1f} mm before."
    )


def _describe_matches(mapping: MarkerMapping) -> list[str]:
    """Return which markers were taken for others, and which are not used."""
    notes = []
    if mapping.marker_set is not None and not all(m.has_same_name for m in mapping.used):
        notes.append(f"The names of the markers are those of {mapping.marker_set.title}.")
    guesses = [
        f"{strip_prefix(match.recorded)} for the {match.text}"
        for match in mapping.used
        if match.confidence < SURE_CONFIDENCE
    ]
    if len(guesses) > 0:
        names = join_names(guesses, MAX_LISTED_NAMES, spare=1)
        notes.append(f"Taken by name or place: {names}. --mapping says otherwise.")
    unused = [match.recorded for match in mapping.matches if match.bone is None]
    if len(unused) > 0:
        points = count_noun(len(unused), "recorded point")
        notes.append(f"{points} not used: {mapping.describe_unused()}.")
    return notes
