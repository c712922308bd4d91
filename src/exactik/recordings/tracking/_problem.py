"""A skeleton and the markers that it follows, packed for the kernels."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import as_floats, is_number, require_shape
from exactik._text import join_names
from exactik.errors import ModelError, ShapeError, UnknownNameError, UsageError
from exactik.goals import MarkerGoal, PostureGoal
from exactik.kernels.calculus.workspace import Goals, Workspace, new_workspace
from exactik.kernels.descent.state import DescentState, new_descent_state
from exactik.kernels.recording.frames import (
    HUBER,
    QUADRATIC,
    TUKEY,
    TUKEY_HUBER_SHARE,
    FrameTargets,
)
from exactik.kernels.recording.sequence import compute_residuals
from exactik.kernels.tree.packed import Tree
from exactik.model import Skeleton
from exactik.model.motion import Markers
from exactik.problem import Problem
from exactik.typing import Array, BoolArray, IntArray

LOSS_KINDS = {None: QUADRATIC, "huber": HUBER, "tukey": TUKEY}
WIDE_LOSS = 4.0  # times its width that a robust loss begins with from afar; halved in each round
CHUNK_FRAMES = 4096  # whose markers are placed at once: all of an hour would not fit into memory
MAX_NAMES = 6  # of markers in a sentence
POSTURE_WEIGHT = 4e-7
"""Default weight of the neutral pose, in shares of a marker's at arm's length: small enough that it
only settles what the markers leave open (docs/maths.md §15). Set by hand; error bars hold with it
(tests/tracking/test_track_sd.py).
"""
ASSUMED_NOISE = 0.002
"""[m] standard deviation of the markers along each axis where residuals do not tell. By hand."""
UNKNOWN_SD = np.pi / np.sqrt(3.0)
"""[rad or m] standard deviation of what nothing determines: of an angle anywhere from −π to π."""


class CoordinateReference(NamedTuple):
    """What a coordinate should be, as one more goal beside the markers.

    It costs ½ weight (q − value)², where a marker costs ½ weight |r|².
    """

    value: ArrayLike  # [rad or m], for all frames or each, (T,)
    weight: ArrayLike  # [m²/rad², or 1 for a shift], likewise


class ThreadBuffers(NamedTuple):
    """What the kernels write on; one per thread."""

    goals: Goals
    descent_state: DescentState
    workspace: Workspace


@dataclass(eq=False)
class TrackingProblem:
    """A skeleton, its markers over time, and buffers for the threads that solve them.

    Attributes:
        frame_problem: of one frame; the targets of its goals mean nothing.
        names: of the markers in use, (M,).
        targets: what is asked in each frame.
        rate: frames a second [Hz].
        scaled_tree: in place of the skeleton's, with the same joints some way apart.
    """

    frame_problem: Problem
    names: tuple[str, ...]
    targets: FrameTargets
    rate: float
    scaled_tree: Tree | None = None
    _local: threading.local = field(default_factory=threading.local)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the buffers behind: they belong to threads."""
        return {name: value for name, value in self.__dict__.items() if name != "_local"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _local=threading.local())

    @property
    def skeleton(self) -> Skeleton:
        """The figure."""
        return self.frame_problem.skeleton

    @property
    def tree(self) -> Tree:
        """What the kernels follow: the skeleton's, or the one in its place."""
        return self.skeleton.tree if self.scaled_tree is None else self.scaled_tree

    def __len__(self) -> int:
        """Number of frames."""
        return len(self.targets.position)

    @property
    def seen(self) -> BoolArray:
        """Which markers are there, (T, M)."""
        return ~np.isnan(self.targets.position[:, :, 0])

    @property
    def counts(self) -> BoolArray:
        """Which markers have a weight, (M,); the others are measured, and nothing goes by them."""
        return self.targets.weight > 0.0

    @property
    def robust(self) -> str | None:
        """Name of the robust loss; None if it is quadratic."""
        kinds = {kind: name for name, kind in LOSS_KINDS.items()}
        return kinds[int(self.targets.loss[0])]

    @property
    def loss_width(self) -> float:
        """Scale c of the robust loss [m]."""
        return float(self.targets.loss[1])

    @property
    def buffers(self) -> ThreadBuffers:
        """Those of the calling thread."""
        if not hasattr(self._local, "buffers"):
            workspace = new_workspace(self.skeleton.tree)
            self._local.buffers = ThreadBuffers(
                goals=_copy_writable(self.frame_problem.packed.arrays),
                descent_state=new_descent_state(self.skeleton.tree, workspace.H.shape[1]),
                workspace=workspace,
            )
        return self._local.buffers

    def with_targets(self, **fields: Array) -> TrackingProblem:
        """Return the same with other fields of `FrameTargets`; buffers are shared."""
        return replace(self, targets=self.targets._replace(**fields))

    def with_figure(self, tree: Tree, points: Array) -> TrackingProblem:
        """Return the same with other places of joints, and of markers in their bones, (M, 3)."""
        targets = self.targets._replace(point=np.ascontiguousarray(points[None]))
        return replace(self, targets=targets, scaled_tree=tree)

    def with_wide_loss(self) -> TrackingProblem:
        """Return the same with a robust loss that begins wide, for poses far from their markers."""
        kind, width, _ = self.targets.loss
        if kind == QUADRATIC:
            return self
        return self.with_targets(loss=np.array([kind, width, WIDE_LOSS]))

    def can_join(self, other: TrackingProblem) -> bool:
        """Whether `join_problems` can join the frames of two problems."""
        box, other_box = self.frame_problem.box, other.frame_problem.box
        return (
            self.skeleton is other.skeleton
            and self.names == other.names
            and np.array_equal(box.lower, other_box.lower)
            and np.array_equal(box.upper, other_box.upper)
            and all(
                _is_per_frame(name, self) == _is_per_frame(name, other)
                and (_is_per_frame(name, self) or np.array_equal(own, theirs))
                for name, own, theirs in zip(
                    self.targets._fields, self.targets, other.targets, strict=True
                )
            )
        )

    def select(self, frames: IntArray) -> TrackingProblem:
        """Return the problem of some frames alone, (n,)."""
        targets = self.targets
        return self.with_targets(
            rest=_select_rows(targets.rest, frames, shared=1),
            rest_weight=_select_rows(targets.rest_weight, frames, shared=1),
            position=np.ascontiguousarray(targets.position[frames]),
            point=_select_rows(targets.point, frames, shared=1),
            confidence=_select_rows(targets.confidence, frames),
            robust_weight=_select_rows(targets.robust_weight, frames),
        )

    def update_robust_weights(self, q: Array) -> None:
        """Set the robust weights of all frames to those of the poses q, (T, nq).

        While solutions are compared they are those of whichever was tried last.
        """
        if len(self.targets.robust_weight) == 0:
            return
        kind, width, _ = self.targets.loss
        for frames in split_into_chunks(len(q)):
            distance = np.linalg.norm(self.residuals(q[frames], frames), axis=2)
            share = np.nan_to_num(distance) / width
            weight = 1.0 / np.maximum(share, 1.0)
            if kind == TUKEY:
                weight = np.maximum(1.0 - share**2, 0.0) ** 2 + TUKEY_HUBER_SHARE * weight
            missing = np.isnan(self.targets.position[frames, :, 0])
            self.targets.robust_weight[frames] = np.where(missing, 0.0, weight)

    def residuals(self, q: Array, frames: IntArray | None = None) -> Array:
        """Return target − model of every marker [m, world], (n, M, 3), of some frames or all."""
        frames = np.arange(len(q)) if frames is None else frames
        residual, buffers = np.empty((len(q), len(self.names), 3)), self.buffers
        compute_residuals(
            self.tree, buffers.goals, self.targets, frames, q, residual, buffers.workspace
        )
        return residual


def join_problems(problems: Sequence[TrackingProblem]) -> TrackingProblem:
    """Return one problem with the frames of all, which can join the first."""
    first = problems[0]
    fields = {
        name: np.concatenate([getattr(problem.targets, name) for problem in problems])
        for name in first.targets._fields
        if _is_per_frame(name, first)
    }
    return first.with_targets(**fields)


def _is_per_frame(name: str, problem: TrackingProblem) -> bool:
    """Whether a field of `FrameTargets` has a row for each frame; else it holds for all of them."""
    rows = len(getattr(problem.targets, name))
    least = 1 if name in ("point", "rest", "rest_weight") else 0
    return name == "position" or (name not in ("weight", "loss") and rows > least)


def split_into_chunks(count: int, chunk_frames: int = CHUNK_FRAMES) -> list[IntArray]:
    """Return the frames from 0 to count − 1 in chunks."""
    starts = range(0, count, chunk_frames)
    return [np.arange(start, min(start + chunk_frames, count)) for start in starts]


def _select_rows(array: Array, frames: IntArray, shared: int = 0) -> Array:
    """Return the rows of frames, or all if no more than `shared` rows stand for every frame."""
    return array[frames] if len(array) > shared else array


def _copy_writable(goals: Goals) -> Goals:
    """Return goals whose targets, weights and postures may be written on."""
    terms, clouds, coordinates = goals.terms, goals.clouds, goals.coordinates
    return goals._replace(
        origin=goals.origin.copy(),
        terms=terms._replace(
            target=terms.target.copy(), weight=terms.weight.copy(), point=terms.point.copy()
        ),
        clouds=clouds._replace(
            rows=clouds.rows.copy(), rows_used=clouds.rows_used.copy(), floor=clouds.floor.copy()
        ),
        coordinates=coordinates._replace(
            rest=coordinates.rest.copy(), rest_weight=coordinates.rest_weight.copy()
        ),
    )


def match_markers(skeleton: Skeleton, markers: Markers) -> dict[str, str]:
    """Return which marker of a recording is which of a skeleton: recorded name → skeleton's name.

    By the whole name, else by what follows the last colon ("Subject:LANK"), else without regard to
    case. A name that could be two is left out.
    """
    matches: dict[str, str] = {}
    for simplify in (str, _without_prefix, lambda name: _without_prefix(name).casefold()):
        taken = set(matches.values())
        known = {name: simplify(name) for name in skeleton.markers if name not in taken}
        recorded = {name: simplify(name) for name in markers.names if name not in matches}
        for name, key in recorded.items():
            candidates = [marker for marker, known_key in known.items() if known_key == key]
            if len(candidates) == 1 and list(recorded.values()).count(key) == 1:
                matches[name] = candidates[0]
    return {name: matches[name] for name in markers.names if name in matches}


def _without_prefix(name: str) -> str:
    return name.rpartition(":")[2]


def make_tracking_problem(
    skeleton: Skeleton,
    markers: Markers,
    *,
    limits: str = "hard",
    lock: str | Iterable[str] = (),
    strength: Mapping[str, float] | None = None,
    weights: Mapping[str, float] | ArrayLike | None = None,
    robust: str | None = None,
    width: float = 0.05,
    offsets: ArrayLike | None = None,
    posture: float = POSTURE_WEIGHT,
    references: Mapping[str, CoordinateReference] | None = None,
) -> TrackingProblem:
    """Return the problem of tracking markers; see `track` for the arguments.

    `width` [m] is the scale c of a robust loss.
    """
    matches = match_markers(skeleton, markers)
    if len(matches) == 0:
        raise ModelError(
            f"no marker of the recording is on the skeleton {skeleton.name!r}: the recording has "
            f"{_join(markers.names)}; the skeleton has {_join(tuple(skeleton.markers))}"
        )
    if not is_number(posture) or not 0.0 <= posture < np.inf:
        raise UsageError(f"posture is {posture!r}; it must be a number ≥ 0")
    if not isinstance(robust, str | None) or robust not in LOSS_KINDS:
        raise UsageError(f"robust is {robust!r}; it must be 'auto', None, 'huber' or 'tukey'")
    columns = [markers.names.index(name) for name in matches]
    position = np.take(markers.positions, columns, axis=1)
    position[np.isnan(position[..., 0] + position[..., 1] + position[..., 2])] = np.nan
    names = tuple(matches.values())
    frame_problem = Problem(
        skeleton,
        [*(MarkerGoal(name, (0.0, 0.0, 0.0)) for name in names), PostureGoal(skeleton.neutral())],
        limits=limits,
        lock=lock,
        strength=strength,
    )
    weight = _as_weights(names, weights)
    point = np.array([skeleton.marker(name)[1] for name in names])[None]
    if offsets is not None:
        point = require_shape("offsets", offsets, len(position), len(names), 3)
    fixed = frame_problem.locked | _find_root_dofs(skeleton)
    posture_weight = np.where(fixed, 0.0, posture * _mean_square_size(skeleton, names))
    rest, rest_weight = skeleton.neutral()[None], posture_weight[None] * float(weight.mean())
    if references is not None:
        rest, rest_weight = _add_references(skeleton, references, rest, rest_weight, len(position))
    robust_frames = len(position) if robust is not None else 0
    targets = FrameTargets(
        position=position,
        weight=weight,
        confidence=np.empty((0, len(names))),
        point=np.ascontiguousarray(point),
        rest=rest,
        rest_weight=rest_weight,
        loss=np.array([LOSS_KINDS[robust], width, 1.0]),
        robust_weight=np.ones((robust_frames, len(names))),
    )
    return TrackingProblem(
        frame_problem=frame_problem, names=names, targets=targets, rate=markers.rate
    )


def _as_weights(names: tuple[str, ...], weights: Mapping[str, float] | ArrayLike | None) -> Array:
    """Return one weight for each marker, (M,)."""
    if weights is None:
        return np.ones(len(names))
    if isinstance(weights, Mapping):
        for name, value in weights.items():
            if name not in names:
                raise UnknownNameError("marker", name, names)
            if not is_number(value):
                raise UsageError(f"weight of marker {name!r} is {value!r}; it must be a number ≥ 0")
        weights = [weights.get(name, 1.0) for name in names]
    array = np.array(as_floats("weights", weights), dtype=float)
    if array.shape != (len(names),):
        raise ShapeError(f"weights have shape {array.shape}; expected ({len(names)},)")
    if not (array >= 0.0).all() or not np.isfinite(array).all() or array.sum() == 0.0:
        raise UsageError("weights of markers must be numbers ≥ 0, not all zero")
    return array


def _add_references(
    skeleton: Skeleton,
    references: Mapping[str, CoordinateReference],
    rest: Array,
    rest_weight: Array,
    frames: int,
) -> tuple[Array, Array]:
    """Return rest posture and weights, (1 or T, nq) and (1 or T, nv), with these coordinates'."""
    is_constant = all(np.ndim(x) == 0 for reference in references.values() for x in reference)
    rows = 1 if is_constant else frames
    rest, rest_weight = np.repeat(rest, rows, axis=0), np.repeat(rest_weight, rows, axis=0)
    for name, reference in references.items():
        if name not in skeleton.dof_names:
            raise UnknownNameError("dof", name, skeleton.dof_names)
        dof = skeleton.dof_names.index(name)
        if skeleton.plain_q[dof] < 0:
            raise UsageError(f"dof {name!r} is of a quaternion, which has no reference")
        value, weight = (as_floats(f"reference of {name!r}", x) for x in reference)
        for numbers in (value, weight):
            if numbers.shape not in ((), (rows,)) or not np.isfinite(numbers).all():
                raise ShapeError(f"the reference of {name!r} must be a number, or {frames} of them")
        if (weight < 0.0).any():
            raise UsageError(f"the weight of the reference of {name!r} must be ≥ 0")
        rest[:, skeleton.plain_q[dof]] = value
        rest_weight[:, dof] = weight
    return rest, rest_weight


def _find_root_dofs(skeleton: Skeleton) -> BoolArray:
    """Return which dofs place the whole figure, (nv,)."""
    first = skeleton.tree.first_v
    is_root_dof = np.zeros(skeleton.nv, dtype=bool)
    for k in np.flatnonzero(skeleton.parents < 0):
        is_root_dof[int(first[k + 1]) : int(first[k + 2])] = True
    return is_root_dof


def _mean_square_size(skeleton: Skeleton, names: tuple[str, ...]) -> float:
    """Return the mean square distance of the markers from their centre at rest [m²]."""
    pose = skeleton.forward(skeleton.neutral())
    positions = []
    for bone, point in (skeleton.marker(name) for name in names):
        k = skeleton.bone_index(bone)
        positions.append(pose.positions[k] + pose.rotations[k] @ np.asarray(point))
    from_centre = np.array(positions) - np.mean(positions, axis=0)
    return max(float((from_centre**2).sum(axis=1).mean()), 1e-6)


def _join(names: Sequence[str]) -> str:
    return join_names(names, MAX_NAMES, last=", ") or "none"
