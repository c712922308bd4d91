"""What the experiments run on: takes with poses and markers, and the frames chosen from them.

Everything is in centimetres, as in the exact-Hessian paper: f < 1e-2 then means what it means
there, and so does a trust region over radians and lengths. Its protocol is that of its published
scripts: markers are put on the bones anew at every frame, where the pose that comes with the take
has them, so that some pose fits exactly; limits are the range of the take, widened by 5 % of their
absolute value, the root free; 58 dofs move. The "real" protocol keeps markers where they are on
average over the take, as anyone must who does not know the pose beforehand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from exactik.goals import PositionGoal
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.model import Bone, Skeleton
from exactik.problem import Problem
from exactik.typing import Array, BoolArray, IntArray

__all__ = [
    "CM",
    "MotionFrames",
    "Recording",
    "Take",
    "find_fastest_frames",
    "make_synthetic_recording",
    "make_take",
    "scale_skeleton",
    "spread_frames",
]


CM = 100.0  # centimetres in a metre
LIMIT_WIDENING = 0.05  # of their absolute value, that limits from data are widened by
MIN_LIMIT_RANGE = 1e-6  # between two limits [rad]: a dof that never moves still needs an inside
FRAMES_PER_KIND = 12  # frames of each kind of motion
MIN_FRAME_SPACING_S = 0.1  # least time between two of them [s]


@dataclass(frozen=True, eq=False)
class Take:
    """A take.

    Attributes:
        name: such as "dg_03-05_02".
        skeleton: [cm], its limits the range of the poses, its markers where they are on average.
        q: poses that come with the take [rad or cm], (T, nq).
        names: of the markers.
        markers: as recorded [cm], (T, M, 3), in the axes of the skeleton.
        offsets: of the markers in their bones at these poses [cm], (T, M, 3).
        rate: frames a second.
        up_axis: of the world.
        lock: dofs that no marker shows.
    """

    name: str
    skeleton: Skeleton
    q: Array
    names: tuple[str, ...]
    markers: Array
    offsets: Array
    rate: float
    up_axis: str
    lock: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.q)

    @cached_property
    def bones(self) -> tuple[str, ...]:
        """The bone of each marker."""
        return tuple(self.skeleton.marker(name)[0] for name in self.names)

    def problem(self, frame: int, *, limits: str = "off", real: bool = False) -> Problem:
        """Return the problem of a frame.

        Args:
            frame: which.
            limits: "off" or "hard".
            real: whether markers stay where they are on average, instead of where this frame's pose
                has them.
        """
        points = self.mean_offsets if real else self.offsets[frame]
        goals = [
            PositionGoal(bone, target, point=point, name=name)
            for name, bone, target, point in zip(
                self.names, self.bones, self.markers[frame], points, strict=True
            )
        ]
        return Problem(self.skeleton, goals, limits=limits, lock=self.lock)

    @cached_property
    def mean_offsets(self) -> Array:
        """Where markers are on average, (M, 3) [cm]."""
        return self.offsets.mean(axis=0)

    def warm(self, frame: int) -> Array:
        """Return the pose of the frame before, (nq,)."""
        return self.q[max(frame - 1, 0)].copy()

    def zero(self, frame: int) -> Array:
        """Return θ = 0 with the root in the middle of the markers, (nq,)."""
        q = self.skeleton.neutral()
        q[:3] = self.markers[frame].mean(axis=0)
        return q

    def marker_errors(self, q: Array, frame: int, *, real: bool = False) -> Array:
        """Return how far each marker is off [cm], (M,)."""
        points = self.mean_offsets if real else self.offsets[frame]
        pose = self.skeleton.forward(q)
        index = [self.skeleton.bone_index(bone) for bone in self.bones]
        p_world_markers = pose.positions[index] + np.einsum(
            "mij,mj->mi", pose.rotations[index], points
        )
        return np.linalg.norm(p_world_markers - self.markers[frame], axis=1)

    def speed(self, *names: str) -> Array:
        """Return the speed of the middle of some markers [m/s], (T,), smoothed over 0.1 s."""
        middle = self.markers[:, [self.names.index(name) for name in names]].mean(axis=1) / CM
        v = np.linalg.norm(np.gradient(middle, 1.0 / self.rate, axis=0), axis=1)
        width = max(1, round(0.1 * self.rate))
        smooth = np.convolve(v, np.ones(width) / width, mode="same")
        return np.asarray(smooth, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class MotionFrames:
    """Frames of a kind of motion.

    Attributes:
        take: where from.
        frames: which.
        rule: how they were chosen, in words.
    """

    take: Take
    frames: IntArray
    rule: str


@dataclass(frozen=True, eq=False)
class Recording:
    """Takes, and frames of four kinds of motion.

    Attributes:
        name: "synthetic" or "HDM05".
        about: where it comes from, in a sentence.
        takes: by name.
        kinds: "walking", "punching", "kicking" and "workout".
    """

    name: str
    about: str
    takes: Mapping[str, Take]
    kinds: Mapping[str, MotionFrames]

    @property
    def synthetic(self) -> bool:
        """Whether it was made and not recorded."""
        return self.name == "synthetic"


def make_take(
    name: str,
    skeleton: Skeleton,
    q: Array,
    markers: Mapping[str, tuple[str, Array]],
    rate: float,
    up_axis: str,
    lock: tuple[str, ...] = (),
) -> Take:
    """Return a take from poses [rad or cm], (T, nq), and name → (bone, places (T, 3) [cm])."""
    pose = skeleton.forward(q)
    index = [skeleton.bone_index(bone) for bone, _ in markers.values()]
    places = np.stack([place for _, place in markers.values()], axis=1)
    away = places - pose.positions[:, index]
    offsets = np.einsum("tmji,tmj->tmi", pose.rotations[:, index], away)
    mean = dict(zip(markers, offsets.mean(axis=0), strict=True))
    mean_markers = {marker: (bone, mean[marker]) for marker, (bone, _) in markers.items()}
    figure = Skeleton(skeleton.name, _limit_bones(skeleton, q), mean_markers)
    return Take(name, figure, q, tuple(markers), places, offsets, rate, up_axis, lock)


def _limit_bones(skeleton: Skeleton, q: Array) -> list[Bone]:
    """Return bones with the limits of the paper: least and most of the poses, widened."""
    low, high = q.min(axis=0), q.max(axis=0)
    low, high = low - LIMIT_WIDENING * np.abs(low), high + LIMIT_WIDENING * np.abs(high)
    bones, first = [], 0
    for bone in skeleton.bones:
        dofs = range(first, first + bone.joint.nv)
        first += bone.joint.nv
        if len(dofs) > 0:
            limits = ((-np.inf, np.inf),) * len(dofs)
            if bone.parent is not None:
                pairs = ((float(low[i]), float(high[i])) for i in dofs)
                limits = tuple((a, max(b, a + MIN_LIMIT_RANGE)) for a, b in pairs)
            bone = replace(bone, joint=replace(bone.joint, limits=limits))
        bones.append(bone)
    return bones


def scale_skeleton(skeleton: Skeleton, q: Array, factor: float) -> tuple[Skeleton, Array]:
    """Return a figure in another unit of length, and its poses; only the root may be shifted."""
    bones = [
        replace_offset(bone, tuple(factor * x for x in bone.offset)) for bone in skeleton.bones
    ]
    markers = {
        name: (bone, factor * np.array(point)) for name, (bone, point) in skeleton.markers.items()
    }
    moved = q.copy()
    moved[:, :3] *= factor
    return Skeleton(skeleton.name, bones, markers), moved


def replace_offset(bone: Bone, offset: tuple[float, ...]) -> Bone:
    """Return the bone with another offset."""
    return Bone(
        bone.name,
        parent=bone.parent,
        offset=offset,
        pre=bone.pre,
        joint=bone.joint,
        post=bone.post,
    )


def find_fastest_frames(
    speed: Array, inside: BoolArray, rate: float, count: int = FRAMES_PER_KIND
) -> IntArray:
    """Return the frames where a speed is largest, one after another, `APART` from each other."""
    left = np.where(inside, speed, -np.inf)
    left[0] = -np.inf  # it has no frame before
    frames: list[int] = []
    near = round(MIN_FRAME_SPACING_S * rate)
    while len(frames) < count and np.isfinite(left.max()):
        best = int(np.argmax(left))
        frames.append(best)
        left[max(best - near, 0) : best + near + 1] = -np.inf
    return np.array(sorted(frames), dtype=np.int64)


def spread_frames(inside: BoolArray, count: int = FRAMES_PER_KIND) -> IntArray:
    """Return frames spread evenly over those allowed."""
    allowed = np.flatnonzero(inside)
    allowed = allowed[allowed > 0]
    return allowed[np.linspace(0, len(allowed) - 1, count).round().astype(int)]


def make_synthetic_recording(seconds: float = 20.0) -> Recording:
    """Return our own recording: the built-in human performs, skin slides on its bones by 6 mm."""
    motion = simulate_performance(seconds)
    made = simulate_recording(motion, noise=0.0005, gaps=0.0, swap=False, tissue=0.006)
    skeleton, q = scale_skeleton(motion.skeleton, np.array(made.truth.q), CM)
    places = CM * made.markers.positions
    markers = {
        name: (skeleton.marker(name)[0], places[:, m]) for m, name in enumerate(made.markers.names)
    }
    take = make_take("performance", skeleton, q, markers, motion.rate, "z")
    times, hands = (
        np.arange(len(take)) / take.rate,
        np.maximum(take.speed("LFIN"), take.speed("RFIN")),
    )
    feet = np.maximum(take.speed("LTOE"), take.speed("RTOE"))

    def during(*names: str) -> BoolArray:
        spans = [(a, b) for name, a, b in motion.metadata["acts"] if name in names]
        return np.any([(times >= a) & (times < b) for a, b in spans], axis=0)

    fast = f"frames at least {MIN_FRAME_SPACING_S:g} s apart where {{}} fastest, during the {{}}"
    kinds = {
        "walking": MotionFrames(
            take, spread_frames(during("walk")), "frames spread evenly over the walk"
        ),
        "punching": MotionFrames(
            take,
            find_fastest_frames(hands, during("punch"), take.rate),
            fast.format("a hand is", "punches"),
        ),
        "kicking": MotionFrames(
            take,
            find_fastest_frames(feet, during("kick"), take.rate),
            fast.format("a foot is", "kicks"),
        ),
        "workout": MotionFrames(
            take,
            spread_frames(during("squat", "jack")),
            "frames spread evenly over the squats and jumping jacks",
        ),
    }
    about = (
        f"{len(take)} frames at {take.rate:g} Hz of the built-in human, 58 dofs and "
        f"{len(take.names)} markers, whose skin slides on its bones by 6 mm; made, not recorded"
    )
    return Recording("synthetic", about, {take.name: take}, kinds)
