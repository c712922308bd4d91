"""A figure and the markers that it is to follow, ready for the kernels."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import as_floats, require_shape
from exactik.errors import ModelError, ShapeError, UnknownNameError
from exactik.goals import MarkerGoal, PostureGoal
from exactik.kernels.calculus.workspace import Goals, Workspace, new_workspace
from exactik.kernels.descent.state import DescentState, new_descent_state
from exactik.kernels.goals.clouds import Clouds
from exactik.kernels.recording import frames as kinds
from exactik.kernels.recording.frames import FrameTargets
from exactik.kernels.recording.sequence import compute_residuals
from exactik.model import Skeleton
from exactik.motion import Markers
from exactik.problem import Problem
from exactik.typing import Array, BoolArray, IntArray

__all__ = [
    "LOSS_KINDS",
    "POSTURE_WEIGHT",
    "ThreadBuffers",
    "TrackingProblem",
    "make_tracking_problem",
    "match_markers",
]


LOSS_KINDS = {None: kinds.QUADRATIC, "huber": kinds.HUBER, "tukey": kinds.TUKEY}
POSTURE_WEIGHT = 4e-7  # weight of the posture that settles what markers leave open, of markers' own


class ThreadBuffers(NamedTuple):
    """What the kernels write on; one per thread."""

    goals: Goals
    descent_state: DescentState
    workspace: Workspace


@dataclass(eq=False)
class TrackingProblem:
    """A figure, its markers over time, and where threads may work on them.

    Attributes:
        frame_problem: of one frame; the targets in it mean nothing.
        names: of the markers in use, (M,).
        targets: what is asked in each frame.
        rate: frames a second [Hz].
        posture_weight: weight of the posture that settles what the markers leave open, (nv,).
    """

    frame_problem: Problem
    names: tuple[str, ...]
    targets: FrameTargets
    rate: float
    posture_weight: Array
    _local: threading.local = field(default_factory=threading.local)

    @property
    def skeleton(self) -> Skeleton:
        """The figure."""
        return self.frame_problem.skeleton

    def __len__(self) -> int:
        """Number of frames."""
        return len(self.targets.position)

    @property
    def seen(self) -> BoolArray:
        """Which markers are there, (T, M)."""
        return ~np.isnan(self.targets.position[:, :, 0])

    @property
    def buffers(self) -> ThreadBuffers:
        """ThreadBuffers of this thread."""
        if not hasattr(self._local, "buffers"):
            tree, work = self.skeleton.tree, new_workspace(self.skeleton.tree)
            descent_state = new_descent_state(tree, work.H.shape[1])
            self._local.buffers = ThreadBuffers(
                _own(self.frame_problem.packed.arrays), descent_state, work
            )
        return self._local.buffers

    def with_targets(self, **frames: Array) -> TrackingProblem:
        """Return the same with other `FrameTargets` fields; threads are shared."""
        return replace(self, targets=self.targets._replace(**frames))

    @property
    def with_wide_loss(self) -> TrackingProblem:
        """The same, for poses that are still far from their markers: a robust loss begins wide."""
        kind, width, _ = self.targets.loss
        return (
            self
            if kind == kinds.QUADRATIC
            else self.with_targets(loss=np.array([kind, width, 4.0]))
        )

    def select(self, which: IntArray) -> TrackingProblem:
        """Return the recording of some frames alone; postures given for them already are kept."""
        frames = self.targets
        return self.with_targets(
            position=np.ascontiguousarray(frames.position[which]),
            point=frames.point[which] if len(frames.point) > 1 else frames.point,
            confidence=frames.confidence[which]
            if len(frames.confidence) > 0
            else frames.confidence,
            robust_weight=frames.robust_weight[which]
            if len(frames.robust_weight) > 0
            else frames.robust_weight,
        )

    def update_robust_weights(self, q: Array) -> None:
        """Set the robust weights of all frames to those of the poses q, (T, nq).

        While solutions are compared they are those of whichever was tried last.
        """
        kind, width, _ = self.targets.loss
        for at in range(0, len(self.targets.robust_weight), 4096):
            own = np.arange(at, min(at + 4096, len(q)))
            share = np.nan_to_num(np.linalg.norm(self.residuals(q[own], own), axis=2)) / width
            factor = 1.0 / np.maximum(share, 1.0)
            if kind == kinds.TUKEY:
                factor = np.maximum(1.0 - share**2, 0.0) ** 2 + kinds.TUKEY_HUBER_SHARE * factor
            self.targets.robust_weight[own] = np.where(
                np.isnan(self.targets.position[own, :, 0]), 0.0, factor
            )

    def copy_robust_weights(self, which: IntArray, other: TrackingProblem) -> None:
        """Take over the robust weights that another recording found for these frames."""
        if len(self.targets.robust_weight) > 0:
            self.targets.robust_weight[which] = other.targets.robust_weight

    def residuals(self, q: Array, which: IntArray | None = None) -> Array:
        """Return target − model of every marker [m, world], (n, M, 3), of frames `which` or all."""
        which = np.arange(len(q)) if which is None else which
        out, scratch = np.empty((len(q), len(self.names), 3)), self.buffers
        compute_residuals(
            self.skeleton.tree, scratch.goals, self.targets, which, q, out, scratch.workspace
        )
        return out


def _own(old: Goals) -> Goals:
    """Return goals that may be written on."""
    terms = old.terms._replace(
        **{name: getattr(old.terms, name).copy() for name in ("target", "weight", "point")}
    )
    frames, rows, used, floor = old.clouds
    clouds = Clouds(frames, rows.copy(), used.copy(), floor.copy())
    rest, firm = old.coordinates.rest.copy(), old.coordinates.rest_weight.copy()
    coordinates = old.coordinates._replace(rest=rest, rest_weight=firm)
    return old._replace(
        origin=old.origin.copy(), terms=terms, clouds=clouds, coordinates=coordinates
    )


def match_markers(skeleton: Skeleton, markers: Markers) -> dict[str, str]:
    """Return which marker of a recording is which of a skeleton: recorded name → own name.

    By the whole name, else by what follows the last colon ("Subject:LANK"), else without regard to
    case. A name that could be two is left out.
    """
    own = dict.fromkeys(skeleton.markers)
    found: dict[str, str] = {}
    for simplify in (str, _bare, lambda name: _bare(name).casefold()):
        left = {name: simplify(name) for name in own if name not in found.values()}
        there = {name: simplify(name) for name in markers.names if name not in found}
        for name, key in there.items():
            fits = [mine for mine, mine_key in left.items() if mine_key == key]
            if len(fits) == 1 and list(there.values()).count(key) == 1:
                found[name] = fits[0]
    return {name: found[name] for name in markers.names if name in found}


def _bare(name: str) -> str:
    return name.rpartition(":")[2]


def make_tracking_problem(
    skeleton: Skeleton,
    markers: Markers,
    *,
    limits: str = "hard",
    lock: str | Sequence[str] = (),
    strength: Mapping[str, float] | None = None,
    weights: Mapping[str, float] | ArrayLike | None = None,
    robust: str | None = None,
    width: float = 0.05,
    offsets: ArrayLike | None = None,
    posture: float = POSTURE_WEIGHT,
) -> TrackingProblem:
    """Return a recording ready to be solved; see `track` for the arguments."""
    names = match_markers(skeleton, markers)
    if len(names) == 0:
        raise ModelError(
            f"no marker of the recording is on the skeleton {skeleton.name!r}: the recording has "
            f"{_listed(markers.names)}; the skeleton has {_listed(tuple(skeleton.markers))}"
        )
    if not 0.0 <= posture < np.inf:
        raise ModelError(f"posture is {posture!r}; it must be a number ≥ 0")
    if robust not in LOSS_KINDS:
        raise ModelError(f"robust is {robust!r}; it must be None, 'huber' or 'tukey'")
    index = [markers.names.index(name) for name in names]
    place = np.ascontiguousarray(markers.positions[:, index])
    place[np.isnan(place).any(axis=2)] = np.nan
    mine = tuple(names.values())
    goals = [MarkerGoal(name, (0.0, 0.0, 0.0)) for name in mine]
    problem = Problem(
        skeleton,
        [*goals, PostureGoal(skeleton.neutral())],
        limits=limits,
        lock=lock,
        strength=strength,
    )
    weight = _weights(mine, weights)
    point = np.array([skeleton.marker(name)[1] for name in mine])[None]
    if offsets is not None:
        point = require_shape("offsets", offsets, len(place), len(mine), 3)
    tie = np.where(problem.locked | _of_roots(skeleton), 0.0, posture * _size2(skeleton, mine))
    count = len(place) if robust is not None else 0
    frames = FrameTargets(
        *(place, weight, np.empty((0, len(mine))), np.ascontiguousarray(point)),
        *(skeleton.neutral()[None], tie[None] * float(weight.mean())),
        *(np.array([LOSS_KINDS[robust], width, 1.0]), np.ones((count, len(mine)))),
    )
    return TrackingProblem(problem, mine, frames, markers.rate, tie)


def _weights(names: tuple[str, ...], weights: Mapping[str, float] | ArrayLike | None) -> Array:
    if weights is None:
        return np.ones(len(names))
    if isinstance(weights, Mapping):
        for name in weights:
            if name not in names:
                raise UnknownNameError("marker", name, names)
        weights = [weights.get(name, 1.0) for name in names]
    array = np.array(as_floats("weights", weights), dtype=float)
    if array.shape != (len(names),):
        raise ShapeError(f"weights have shape {array.shape}; expected ({len(names)},)")
    if not (array >= 0.0).all() or not np.isfinite(array).all() or array.sum() == 0.0:
        raise ModelError("weights of markers must be numbers ≥ 0, not all zero")
    return array


def _of_roots(skeleton: Skeleton) -> BoolArray:
    """Return which dofs place the whole figure, (nv,)."""
    first = skeleton.tree.first_v
    roots = np.zeros(skeleton.nv, dtype=bool)
    for k in np.flatnonzero(skeleton.parents < 0):
        roots[int(first[k + 1]) : int(first[k + 2])] = True
    return roots


def _size2(skeleton: Skeleton, names: tuple[str, ...]) -> float:
    """Return the mean square distance of the markers from their centre at rest [m²]."""
    pose = skeleton.forward(skeleton.neutral())
    places = []
    for bone, point in (skeleton.marker(name) for name in names):
        k = skeleton.bone_index(bone)
        places.append(pose.positions[k] + pose.rotations[k] @ np.asarray(point))
    away = np.array(places) - np.mean(places, axis=0)
    return max(float((away**2).sum(axis=1).mean()), 1e-6)


def _listed(names: Sequence[str], most: int = 6) -> str:
    shown = ", ".join(names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "") or "none"
