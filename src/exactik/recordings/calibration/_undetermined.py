"""What the trials of a calibration could not tell, and why."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik._text import join_names
from exactik.recordings.calibration.fitting import SkeletonFit, align_shapes
from exactik.typing import Array, BoolArray

# Standard deviation after the fit, as a share of that before, from which nothing was learnt worth
# speaking of: the variance is not even a third smaller.
UNDETERMINED_RATIO = 0.83
# [rad] range of a joint's dof over the frames, 90 % of them, below which it did not move: a joint
# centre 1 cm off shows as 10 mm × 10° = 2 mm, which skin does too.
MIN_JOINT_RANGE = np.radians(10.0)
# [m] mean distance of the markers from their usual places on the body, in the frame where it is
# largest, up to which the trials hold one pose: standing people sway by some millimetres, in a walk
# hands and feet are 0.1 m away.
MAX_STATIC_MOVEMENT = 0.02
MAX_LISTED_NAMES = 8

_SENTENCES = {
    ("scale", "no-marker"): "No marker tells the size of {names}: it goes with the other bones.",
    ("scale", "not-moved"): "Joints that hardly moved leave the size of {names} open.",
    ("scale", "loose"): "The size of {names} is hardly told: too few markers beside those that may "
    "move on the bone.",
    ("marker", "never-seen"): "Never seen in the frames used: {names}.",
    ("marker", "loose"): "Where {names} on the bone is remains as it was: nothing tells it.",
}


class Undetermined(NamedTuple):
    """A size or a place that remains as uncertain as it was."""

    kind: str  # "scale" of bones, or place of a "marker"
    names: tuple[str, ...]  # of the bones that share the scale, or of the marker
    # Why: "no-marker" on the bones or beyond; "not-moved", the joints around; "never-seen", the
    # marker; "loose", too few markers
    code: str
    sd: float  # standard deviation now, of the scale as a share, of the place along an axis [m]
    prior_sd: float  # the same before the trials were looked at


def find_undetermined(fit: SkeletonFit) -> tuple[Undetermined, ...]:
    """Return the scales and marker places of which a fit learnt nothing."""
    scaled, problem = fit.solution.scaled, fit.solution.problem
    sd = np.sqrt(np.diag(fit.solution.covariance))
    is_seen = np.asarray(problem.seen.any(axis=0))
    carries = _find_bones_with_markers(fit, is_seen)
    moved = _find_moved_bones(fit)
    found = []
    scale_sds = fit.prior.scale_sds(scaled)
    for g, group in enumerate(scaled.scale_groups):
        if sd[g] < UNDETERMINED_RATIO * scale_sds[g]:
            continue
        rows = [scaled.skeleton.bone_index(bone) for bone in group]
        code = "no-marker" if not carries[rows].any() else "loose"
        if code == "loose" and not moved[rows].any():
            code = "not-moved"
        found.append(Undetermined("scale", group, code, float(sd[g]), float(scale_sds[g])))
    places = np.zeros((len(scaled.marker_names), 3))
    places[scaled.movable] = sd[len(scaled.scale_groups) :].reshape(-1, 3)
    for m in np.flatnonzero(scaled.movable):
        marker_sd, prior_sd = float(np.sqrt((places[m] ** 2).mean())), float(fit.prior.offset_sd[m])
        if marker_sd > UNDETERMINED_RATIO * prior_sd:
            code = "loose" if is_seen[m] else "never-seen"
            names = (scaled.marker_names[m],)
            found.append(Undetermined("marker", names, code, marker_sd, prior_sd))
    return tuple(found)


def describe_undetermined(undetermined: tuple[Undetermined, ...]) -> list[str]:
    """Return what is not determined, a sentence for each reason."""
    names: dict[tuple[str, str], list[str]] = {key: [] for key in _SENTENCES}
    for entry in undetermined:
        names[entry.kind, entry.code] += entry.names
    return [
        _SENTENCES[key].format(names=join_names(listed, MAX_LISTED_NAMES, spare=1))
        for key, listed in names.items()
        if len(listed) > 0
    ]


def measure_movement(fit: SkeletonFit) -> float:
    """Return how far markers are from their usual places on the body, on average, at most [m]."""
    shapes = align_shapes(fit.chosen.markers.positions)
    distances = np.linalg.norm(shapes - np.median(shapes, axis=0), axis=2)
    return float(distances.mean(axis=1).max(initial=0.0))


def _find_bones_with_markers(fit: SkeletonFit, is_seen: BoolArray) -> BoolArray:
    """Return which bones have a marker on them or on the bones beyond, (n_bones,)."""
    scaled = fit.solution.scaled
    carries = np.zeros(len(scaled.skeleton.bones), dtype=bool)
    carries[scaled.marker_bones[is_seen]] = True
    for k in range(len(carries) - 1, 0, -1):  # parents come before their children
        if carries[k] and scaled.skeleton.parents[k] >= 0:
            carries[scaled.skeleton.parents[k]] = True
    return carries


def _find_moved_bones(fit: SkeletonFit) -> BoolArray:
    """Return which bones moved against their parent or have a child that did, (n_bones,)."""
    skeleton = fit.solution.problem.skeleton
    ranges = _measure_joint_ranges(fit)
    moved = ranges > MIN_JOINT_RANGE
    for k, parent in enumerate(skeleton.parents):
        if parent >= 0 and ranges[k] > MIN_JOINT_RANGE:
            moved[parent] = True
    return moved


def _measure_joint_ranges(fit: SkeletonFit) -> Array:
    """Return the largest range of each bone's own dofs over 90 % of the frames [rad], (n_bones,).

    That of a root is 0: it moves the whole figure.
    """
    skeleton, q = fit.solution.problem.skeleton, fit.solution.solutions.q
    away = skeleton.difference(q, np.broadcast_to(q[0], q.shape))
    low, high = np.percentile(away, (5.0, 95.0), axis=0)
    first = skeleton.tree.first_v
    ranges = np.zeros(len(skeleton.bones))
    for k, parent in enumerate(skeleton.parents):
        dofs = slice(int(first[k + 1]), int(first[k + 2]))
        if parent >= 0:
            ranges[k] = float((high - low)[dofs].max(initial=0.0))
    return ranges
