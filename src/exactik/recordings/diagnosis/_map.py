"""Which values may be used: the quality of every dof in every frame, and the finding behind it.

What markers determine is told by the error bars. A fault that was found concerns the dofs that it
moves by more than their error bar, in its frames.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactik.model.motion import find_segments
from exactik.recordings.diagnosis._evidence import Evidence
from exactik.recordings.diagnosis._far_markers import count_moment_frames
from exactik.recordings.diagnosis._finding import Finding, measure
from exactik.recordings.diagnosis._influence import MarkerInfluence, find_marker_rotations
from exactik.recordings.tracking import (
    Quality,
    QualityArray,
    raise_quality,
)
from exactik.typing import Array, BoolArray, IntArray

if TYPE_CHECKING:
    from exactik.recordings.tracking import Track

MAX_BRIDGE_SECONDS = 1.0
"""[s] of a gap up to which its course is worth something: a stride. Later a limb can be anywhere.
"""
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


def map_quality(
    evidence: Evidence, findings: Sequence[Finding], concerned: Mapping[int, BoolArray]
) -> QualityMap:
    """Return what every value of a track is worth, by what was found out about it.

    Args:
        evidence: the recording.
        findings: of it.
        concerned: which dofs some of them put in doubt, by their positions, (nv,) each.
    """
    track = evidence.track
    shape = (len(track), track.skeleton.nv)
    drawn = QualityMap(np.zeros(shape, dtype=np.uint8), np.full(shape, -1, dtype=np.int32))
    locked = np.asarray(track.problem.frame_problem.locked)
    bound = track.at_limits | locked
    drawn.quality[bound] = Quality.BOUND
    drawn.quality[evidence.is_wide & ~bound] = Quality.INFERRED
    drawn.quality[:, (evidence.is_open | ~evidence.has_markers) & ~locked] = Quality.OPEN
    _mark_lost(drawn, evidence)
    for n, dofs in concerned.items():
        drawn.mark(_find_frames(track, findings[n]), dofs, Quality.DOUBTFUL, n)
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


def _name_causes(drawn: QualityMap, evidence: Evidence, findings: Sequence[Finding]) -> None:
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


def measure_doubt(evidence: Evidence, quality: QualityArray) -> Finding:
    """Return the share of doubtful values among those that markers determine.

    Details: "measured", the share of all values of "dofs" with markers in "count" frames of the
    subject, 95 % of which are within "bar_deg" [°]; "doubtful", a bone, its stretches and its share
    of the frames each, those first that have most; "open", bones of which markers mostly determine
    nothing.
    """
    first, last = evidence.span
    cells = quality[evidence.frames]
    doubtful = cells == Quality.DOUBTFUL
    is_open = (cells == Quality.OPEN) & evidence.has_markers
    determined = int(evidence.has_markers.sum()) * len(cells) - int(is_open.sum())
    measured = (cells == Quality.MEASURED)[:, evidence.has_markers]
    names = evidence.skeleton.bone_names
    bones, moment = evidence.skeleton.dof_bones, count_moment_frames(evidence.track.motion.rate)
    joints, open_joints = [], []
    for k in np.unique(bones[evidence.has_markers]):
        here = (bones == k) & evidence.has_markers
        flags = doubtful[:, here].any(axis=1)
        if flags.any():
            segments = find_segments(np.asarray(flags), join=moment)
            stretches = [(a + first, b + first) for a, b in segments]
            joints.append((names[k], stretches, float(flags.mean())))
        if is_open[:, here].mean() > 0.5:
            open_joints.append(names[k])
    share = float(doubtful.sum()) / determined if determined > 0 else float("nan")
    return measure(
        "doubt",
        share,
        variant="" if determined > 0 else "nothing",
        measured=float(measured.mean()) if measured.size > 0 else 0.0,
        bar_deg=np.degrees(ERROR_BARS * evidence.track.options.assessment.measured_sd),
        dofs=int(evidence.has_markers.sum()),
        count=last - first + 1,
        doubtful=sorted(joints, key=lambda joint: -joint[2]),
        open=open_joints,
    )


def find_concerned(evidence: Evidence, found: Finding) -> BoolArray | None:
    """Return the dofs whose values a finding puts in doubt, (nv,); None if it is not of the kind.

    The fault of a marker concerns those that it moves by more than their 95 % error bar, if both
    together are more than such a bar of what counts as measured.
    """
    bones = np.array([name.rpartition(".")[0] for name in evidence.skeleton.dof_names])
    if found.severity != "look":
        return None
    match found.kind:
        case "limb-error" | "limb-symmetry" | "delayed-limb":
            limb = next(limb for limb in evidence.limbs if limb.name == found.names[0])
            return np.isin(bones, limb.bones) & evidence.has_markers
        case "jump":
            return np.isin(bones, found.names) & evidence.has_markers
        case "not-converged":
            return evidence.has_markers
    shift = _measure_shift(evidence, found)
    if shift is None:
        return None
    bar = ERROR_BARS * evidence.usual_sd
    most = ERROR_BARS * evidence.measured_sd
    return (shift > bar) & (shift + bar > most) & evidence.has_markers


def _measure_shift(evidence: Evidence, found: Finding) -> Array | None:
    """Return by how much the faults of markers move each dof [rad or m], (nv,); None without."""
    track, influence = evidence.track, evidence.influence
    columns = {name: m for m, name in enumerate(track.names)}
    if found.kind in ("swap", "frozen-marker"):  # these have the names of the recording
        columns = {track.recorded_names[name]: m for name, m in columns.items()}
    markers = [columns[name] for name in found.names if name in columns]
    shift = np.zeros(track.skeleton.nv)
    match found.kind:
        case "marker-error" | "far-marker":
            worst = found.details.get("worst")
            frames = influence.frames if worst is None else np.array([worst])
            for m in markers:
                faults = [influence.estimate_fault(m, e) for e in _find_errors(track, m, frames)]
                shifts = [influence.measure_shift(m, fault) for fault in faults]
                if len(shifts) > 0:  # it is seen in some of these frames
                    shift = np.maximum(shift, np.mean(shifts, axis=0))
        case "marker-jump":
            frame = found.details["frame"]
            to_bone = find_marker_rotations(track, np.array([frame]))[0]
            for m in markers:
                fault = found.details["step"] @ to_bone[m]
                shift = np.maximum(shift, influence.measure_shift(m, fault))
        case "swap" if found.details["verdict"] == "likely":
            shift = _measure_any_fault(influence, markers, 1e-3 * found.details["distance_mm"])
        case "frozen-marker":
            shift = _measure_any_fault(influence, markers, found.details["distance"])
        case _:
            return None
    return shift


def _find_errors(track: Track, marker: int, frames: IntArray) -> Array:
    """Return target − model of a marker in some frames in which it is seen [m, bone], (n, 3)."""
    frames = frames[np.isfinite(track.marker_errors[frames, marker])]
    residuals = track.problem.residuals(np.array(track.motion.q[frames]), frames)[:, marker]
    R_world_bone = find_marker_rotations(track, frames)[:, marker]
    return np.einsum("tij,ti->tj", R_world_bone, residuals)


def _measure_any_fault(influence: MarkerInfluence, markers: list[int], distance: float) -> Array:
    """Return what faults of this length [m] move at most, whatever their direction, (nv,)."""
    most = np.linalg.norm(influence.shift[:, markers], axis=3).mean(axis=0)
    return distance * most.max(axis=0, initial=0.0)
