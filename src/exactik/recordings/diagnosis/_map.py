"""Which values may be used: the quality of every dof in every frame, and the finding behind it.

What markers determine is told by the error bars. A fault that was found concerns the dofs that it
moves by more than their error bar, in its frames.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactik.recordings.diagnosis._evidence import Evidence
from exactik.recordings.diagnosis._finding import Finding
from exactik.recordings.tracking import (
    Quality,
    QualityArray,
    raise_quality,
)
from exactik.typing import Array, BoolArray

if TYPE_CHECKING:
    from exactik.recordings.tracking import Track

MAX_BRIDGE_SECONDS = 1.0
"""[s] of a gap up to which its course is worth something: a stride. Later a limb can be anywhere.
"""
MIN_SHIFT = 0.02
"""[rad or m] of a dof that is worth a word: 1.1°, less than two people who palpate differ by."""
ERROR_BARS = 1.96  # standard deviations of 95 %
SMEARED_SECONDS = 0.05  # [s] before and after a fault that smoothing spreads it over


class QualityMap(NamedTuple):
    """What every value of a track is worth.

    Attributes:
        quality: a `Quality` for each dof in each frame, (T, nv).
        finding: position among the findings of that which made it so, (T, nv); −1 for none.
    """

    quality: QualityArray
    finding: NDArray[np.int32]

    def mark(self, frames: slice, dofs: BoolArray, quality: Quality, finding: int) -> None:
        """Make the values of some dofs in some frames of this quality, unless they are worse."""
        columns = np.flatnonzero(dofs)
        cells = self.quality[frames, columns]
        changed = raise_quality(cells, quality)
        self.quality[frames, columns] = cells
        self.finding[frames, columns] = np.where(changed, finding, self.finding[frames, columns])


def map_quality(evidence: Evidence, findings: tuple[Finding, ...]) -> QualityMap:
    """Return what every value of a track is worth, by what was found out about it."""
    track = evidence.track
    shape = (len(track), track.skeleton.nv)
    drawn = QualityMap(np.zeros(shape, dtype=np.uint8), np.full(shape, -1, dtype=np.int32))
    bound = track.at_limits | track.problem.frame_problem.locked
    drawn.quality[bound] = Quality.BOUND
    sd, bar_of_frame = evidence.bars
    is_wide = sd > track.options.assessment.measured_sd
    drawn.quality[is_wide[bar_of_frame] & ~bound] = Quality.INFERRED
    held = ~evidence.has_markers & ~track.problem.frame_problem.locked
    drawn.quality[:, held | (evidence.is_open & evidence.has_markers)] = Quality.OPEN
    _mark_lost(drawn, evidence)
    usual_sd = np.median(sd, axis=0)
    for n, found in enumerate(findings):
        dofs = find_concerned(evidence, found, ERROR_BARS * usual_sd)
        if dofs.any():
            drawn.mark(_find_frames(track, found), dofs, Quality.DOUBTFUL, n)
    _name_causes(drawn, evidence, findings)
    return drawn


def _mark_lost(drawn: QualityMap, evidence: Evidence) -> None:
    """Mark what nothing determines for a while: inferred if it is bridged soon, else open."""
    count, lost = len(evidence.track), evidence.lost
    longest = MAX_BRIDGE_SECONDS * evidence.track.motion.rate
    for k in np.flatnonzero(lost.any(axis=0)):
        flags = lost[:, k]
        edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
        first, end = edges[::2], edges[1::2]
        is_bridged = (end - first <= longest) & (first > 0) & (end < count)
        quality = np.where(is_bridged, Quality.INFERRED, Quality.OPEN).astype(np.uint8)
        drawn.quality[flags, k] = np.repeat(quality, end - first)


def _find_frames(track: Track, found: Finding) -> slice:
    """Return the frames that a finding concerns; all if it names none."""
    if found.frames is None:
        return slice(None)
    smeared = 0 if track.smoothing is None else round(SMEARED_SECONDS * track.motion.rate)
    return slice(max(found.first - smeared, 0), found.last + 1 + smeared)


def _name_causes(drawn: QualityMap, evidence: Evidence, findings: tuple[Finding, ...]) -> None:
    """Write down which findings explain what is inferred, open or bound."""
    track = evidence.track
    names = np.array(track.skeleton.dof_names)
    bones = np.array([name.rpartition(".")[0] for name in names])
    for n, found in enumerate(findings):
        about = np.isin(names, found.names) | np.isin(bones, found.names)
        frames = slice(found.first, found.last + 1) if found.frames is not None else slice(None)
        match found.kind:
            case "gap" | "no-markers":
                about, kinds = evidence.lost[frames], (Quality.INFERRED, Quality.OPEN)
            case "bones-held" | "open-dofs":
                kinds = (Quality.OPEN,)
            case "limits":
                kinds = (Quality.BOUND,)
            case _:
                continue
        cells = drawn.finding[frames]
        cells[(cells < 0) & about & np.isin(drawn.quality[frames], kinds)] = n


def find_concerned(evidence: Evidence, found: Finding, least: Array) -> BoolArray:
    """Return the dofs whose values a finding puts in doubt, (nv,).

    Args:
        evidence: the recording.
        found: of it.
        least: shift of each dof [rad or m] that the fault of a marker must exceed, (nv,).
    """
    bones = np.array([name.rpartition(".")[0] for name in evidence.skeleton.dof_names])
    if found.severity in ("care", "reject") and found.kind in ("limb-error", "limb-symmetry"):
        limb = next(limb for limb in evidence.limbs if limb.name == found.names[0])
        return np.isin(bones, limb.bones) & evidence.has_markers
    if found.severity == "look" and found.kind == "jump":
        return np.isin(bones, found.names) & evidence.has_markers
    if found.severity == "look" and found.kind == "not-converged":
        return evidence.has_markers
    shift = np.zeros(len(bones))
    for m, fault in _measure_faults(evidence, found):
        shift = np.maximum(shift, fault * evidence.influence.shift[m])
    return (shift > np.maximum(least, MIN_SHIFT)) & evidence.has_markers


def _measure_faults(evidence: Evidence, found: Finding) -> list[tuple[int, float]]:
    """Return the markers that are off by a finding, by their columns, and by how much [m]."""
    track, influence = evidence.track, evidence.influence
    columns = {**{mine: mine for mine in track.names}, **track.recorded_names}
    markers = [track.names.index(columns[name]) for name in found.names if name in columns]
    is_beyond, details = found.severity in ("care", "reject"), found.details
    match found.kind:
        case "marker-error" if is_beyond:
            return [(m, influence.estimate_fault(m, details["error"])) for m in markers]
        case "poor-fit":
            return [(m, influence.estimate_fault(m, found.value)) for m in markers]
        case "far-marker" if not details["left_out"]:
            error = 1e-3 * details["max_mm"]
            return [(m, influence.estimate_fault(m, error)) for m in markers]
        case "marker-jump" if is_beyond:
            return [(m, details["distance"]) for m in markers]
        case "swap" if details["verdict"] == "likely":
            return [(m, 1e-3 * details["distance_mm"]) for m in markers]
        case "frozen-marker":
            return [(m, details["distance"]) for m in markers]
    return []
