"""Problems with every kind of joint and goal, and the comparison of what two of them compute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from exactik import (
    AimGoal,
    Bone,
    DirectionGoal,
    DistanceGoal,
    FrameGoal,
    Goal,
    Joint,
    LineGoal,
    MarkerGoal,
    OrientationGoal,
    PlaneGoal,
    PoseGoal,
    PositionGoal,
    PostureGoal,
    Problem,
    Skeleton,
    SoftLimitGoal,
)
from exactik.spatial import exp_rotation, skew
from exactik.typing import Array
from tests.support.models import configuration, random_rotation

__all__ = [
    "Range",
    "assert_same",
    "goals_of_every_kind",
    "make_pose_and_goals",
    "menagerie",
    "quantities",
    "transform",
    "worst_difference",
]


@dataclass(frozen=True, eq=False)
class Range(FrameGoal):
    """A user's goal with exact derivatives: a tool point should be 1 m away from a place."""

    place: ArrayLike = (0.0, 0.0, 0.0)
    point: ArrayLike = (0.0, 0.0, 0.0)

    def residual(self, rotation: Array, position: Array) -> Array:
        arm = position - np.asarray(self.place) + rotation @ np.asarray(self.point)
        return np.array([1.0 - float(np.linalg.norm(arm))])

    def derivatives(self, rotation: Array, position: Array) -> tuple[Array, Array]:
        y = rotation @ np.asarray(self.point)
        arm = position - np.asarray(self.place) + y
        rho = float(np.linalg.norm(arm))
        u = arm / rho
        move = np.hstack([-skew(y), np.eye(3)])  # of the tool point, by (ω, δ)
        bend = np.zeros((6, 6))  # u · ω × (ω × y)
        bend[:3, :3] = 0.5 * (np.outer(u, y) + np.outer(y, u)) - (u @ y) * np.eye(3)
        second = bend + move.T @ (np.eye(3) - np.outer(u, u)) @ move / rho
        return -(u @ move)[None], -second[None]


@cache
def menagerie() -> Skeleton:
    """A moving root and three branches with all kinds of joints, limits on some; 29 dofs."""
    rng = np.random.default_rng(71)
    parts: list[tuple[str, str | None, Joint]] = [
        ("root", None, Joint.free("quaternion")),
        ("euler", "root", Joint.euler("ZYX", limits=[(-1, 1), (-2, 0.5), (-0.5, 3)])),
        ("hinge", "euler", Joint.revolute("y", limits=(0, 1))),
        ("ball", "hinge", Joint.exp_map(limits=[(-1, 1)] * 3)),
        ("swing", "root", Joint.swing_twist("x", limits=[(-1, 1), (-1, 1), (-2, 2)])),
        ("slide", "swing", Joint.prismatic((0.0, 0.6, 0.8), limits=(-0.2, 0.2))),
        ("plate", "slide", Joint.fixed()),
        ("quat", "plate", Joint.quaternion()),
        ("proper", "root", Joint.euler("XZX")),
        ("shift", "proper", Joint.translation(limits=[(-0.3, 0.3)] * 3)),
        ("oblique", "shift", Joint.revolute((0.6, 0.0, -0.8))),
        ("pair", "oblique", Joint.euler("XZ")),
    ]
    bones = [
        Bone(
            name,
            parent=parent,
            offset=rng.normal(scale=0.3, size=3),
            pre=random_rotation(rng),
            joint=joint,
            post=random_rotation(rng),
        )
        for name, parent, joint in parts
    ]
    markers = {
        f"{name.upper()}{m}": (name, rng.normal(scale=0.1, size=3))
        for name, _, _ in parts
        for m in range(3)
    }
    return Skeleton.build("menagerie", bones, markers)


def goals_of_every_kind(
    skeleton: Skeleton, q: Array, seed: int = 0, *, isotropic: bool = False
) -> list[Goal]:
    """One goal of every kind on bones chosen by chance, about 0.5 m and 1 rad from where they are.

    The markers are on the first bones in the order of the markers, so that some share a bone.
    """
    rng = np.random.default_rng(seed)
    pose = skeleton.forward(q)

    def bone() -> tuple[str, int]:
        k = int(rng.integers(len(skeleton.bones)))
        return skeleton.bone_names[k], k

    def near(k: int, point: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
        place = pose.point(skeleton.bone_names[k], point)
        return place + rng.normal(scale=0.3, size=3)

    def turned(k: int) -> Array:
        return exp_rotation(rng.uniform(-0.7, 0.7, size=3)) @ pose.rotations[k]

    def weight(rows: int) -> ArrayLike:
        form = 0 if isotropic else int(rng.integers(3))
        if form == 2 and rows == 3:
            a = rng.normal(size=(3, 3))
            return a @ a.T + 0.2 * np.eye(3)
        return rng.uniform(0.2, 2.0, size=rows) if form > 0 else float(rng.uniform(0.2, 2.0))

    goals: list[Goal] = []
    for marker, place in list(zip(skeleton.markers, pose.markers, strict=True))[:4]:
        target = place + rng.normal(scale=0.2, size=3)
        goals.append(MarkerGoal(marker, target, weight=float(rng.uniform(0.2, 2.0))))
    (name, k), point = bone(), rng.normal(scale=0.2, size=3)
    goals.append(PositionGoal(name, near(k, point), point, weight=weight(3)))
    name, k = bone()
    goals.append(DirectionGoal(name, rng.normal(size=3), rng.normal(size=3), weight=weight(3)))
    (name, k), point = bone(), rng.normal(scale=0.2, size=3)
    aim = pose.point(name, point) + np.array([0.4, -0.7, 0.5])
    goals.append(AimGoal(name, rng.normal(size=3), aim, point, weight=weight(3)))
    name, k = bone()
    goals.append(OrientationGoal(name, turned(k), weight=weight(3)))
    name, k = bone()
    goals.append(OrientationGoal(name, turned(k), kind="axes", weight=weight(9)))
    (name, k), point = bone(), rng.normal(scale=0.2, size=3)
    wanted = np.eye(4)
    wanted[:3, :3], wanted[:3, 3] = turned(k), near(k, point)
    goals.append(PoseGoal(name, wanted, point, weight=weight(6)))
    rest = skeleton.integrate(q, rng.uniform(-0.7, 0.7, size=skeleton.nv))
    goals.append(PostureGoal(rest, weight=0.3 if isotropic else weight(skeleton.nv)))
    goals.append(SoftLimitGoal(weight=weight(skeleton.nv)))
    (name, k), point = bone(), rng.normal(scale=0.2, size=3)
    away = pose.point(name, point) + np.array([0.5, 0.9, -0.6])
    goals.append(Range(name, away, point, weight=weight(1)))
    return goals


def goals_between_bodies(bone: str, other: str) -> list[Goal]:
    """One goal of every kind between two bodies."""
    turn = exp_rotation(np.array([0.3, -0.8, 0.5]))
    rigid = np.eye(4)
    rigid[:3, :3], rigid[:3, 3] = turn, (0.3, 0.1, 0)
    points = ((0.1, 0.2, 0.0), (0.0, 0.1, 0.3))
    return [
        PositionGoal(bone, (0.1, 0.2, -0.1), (0.05, 0, 0), relative_to=other, weight=(1, 2, 3)),
        OrientationGoal(bone, turn, relative_to=other, weight=0.2),
        OrientationGoal(bone, turn, kind="axes", relative_to=other, weight=(0.1, 0.2, 0.3)),
        PoseGoal(bone, rigid, relative_to=other, weight=(1.0, 0.1)),
        DirectionGoal(bone, (0, 1, 0), (1, 0, 1), relative_to=other),
        AimGoal(bone, (0, 1, 0), (0.3, 0.4, 0.5), (0, 0.1, 0), relative_to=other),
        PlaneGoal(bone, (0.2, 0, 0), (1, 0, 0.3), relative_to=other),
        LineGoal(bone, (0.2, 0, 0), (1, 0, 0.3), relative_to=other),
        DistanceGoal(bone, other, distance=0.3, points=points),
        DistanceGoal(bone, other, at_least=9.0, points=points, name="far"),
        DistanceGoal(bone, other, at_most=0.01, points=points, band=0.5, name="near"),
    ]


def make_pose_and_goals(skeleton: Skeleton, seed: int = 0) -> tuple[Array, list[Goal]]:
    """A configuration and goals of every kind around it."""
    q = configuration(skeleton, seed)
    return q, goals_of_every_kind(skeleton, q, seed)


def positive(seed: int, m: int) -> Array:
    """A random symmetric positive definite matrix."""
    a = np.random.default_rng(seed).normal(size=(m, m)) / np.sqrt(m)
    return a @ a.T + 0.1 * np.eye(m)


def unit(vector: ArrayLike) -> Array:
    return np.asarray(vector) / np.linalg.norm(vector)


def quantities(problem: Problem, q: Array) -> dict[str, Array]:
    """Everything that a problem computes at q."""
    x = np.random.default_rng(5).normal(size=problem.skeleton.nv)
    return {
        "cost": np.asarray(problem.cost(q)),
        "gradient": problem.gradient(q),
        "gauss_newton": problem.gauss_newton(q),
        "hessian": problem.hessian(q),
        "hessian_product": problem.hessian_product(q, x),
    }


def worst_difference(ours: Mapping[str, Array], theirs: Mapping[str, Array]) -> tuple[float, str]:
    """The largest difference relative to the largest entry of a quantity, and whose it is."""
    assert ours.keys() == theirs.keys()
    actual = [(0.0, "")]
    for name, a in ours.items():
        b = theirs[name]
        assert a.shape == b.shape, f"{name}: {a.shape} and {b.shape}"
        assert np.isfinite(a).all() and np.isfinite(b).all(), name
        scale = float(np.abs(b).max(initial=0.0))
        gap = float(np.abs(a - b).max(initial=0.0))
        actual.append((gap / scale if scale > 0.0 else gap, name))
    return max(actual)


def assert_same(ours: Mapping[str, Array], theirs: Mapping[str, Array], tolerance: float) -> None:
    """Every quantity of both agrees, relative to its largest entry."""
    error, name = worst_difference(ours, theirs)
    assert error <= tolerance, f"{name} differs by {error:.1e}"


def transform(goals: Sequence[Goal], rotation: Array, shift: Array) -> list[Goal]:
    """The same goals in a world that is turned, then shifted; weights must be isotropic."""

    def place(target: ArrayLike) -> Array:
        return rotation @ np.asarray(target) + shift

    moved: list[Goal] = []
    for goal in goals:
        named = {"name": goal.name, "weight": goal.weight}
        match goal:
            case MarkerGoal():
                goal = MarkerGoal(goal.marker, place(goal.target), **named)
            case PositionGoal():
                goal = PositionGoal(goal.bone, place(goal.target), goal.point, **named)
            case DirectionGoal():
                turned = rotation @ np.asarray(goal.target)
                goal = DirectionGoal(goal.bone, goal.axis, turned, **named)
            case AimGoal():
                goal = AimGoal(goal.bone, goal.axis, place(goal.target), goal.point, **named)
            case OrientationGoal():
                goal = OrientationGoal(goal.bone, rotation @ goal.rotation, goal.kind, **named)
            case PoseGoal():
                carried = np.eye(4)
                carried[:3, :3], carried[:3, 3] = rotation, shift
                goal = PoseGoal(goal.bone, carried @ np.asarray(goal.target), goal.point, **named)
            case Range():
                goal = Range(goal.bone, place(goal.place), goal.point, **named)
            case PostureGoal() | SoftLimitGoal():
                pass
            case _:
                raise NotImplementedError(type(goal).__name__)
        moved.append(goal)
    return moved
