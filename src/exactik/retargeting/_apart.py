"""Limbs kept off the body: the nearest poses in which no shapes of a robot cross.

A robot is broader than the one that moved, so that a hand beside the thigh is inside of its hip.
From a frame in which nothing crosses, frames are solved one after the other, on and back, each from
the one beside it: an arm that comes near a hip stays on the side from which it came. Feet stay
where they stand; wrists give way, and go back to their places as soon as these are free.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.anatomy import LIMBS, SIDES
from exactik.errors import GoalError
from exactik.goals import Collisions, Goal, OrientationGoal, PositionGoal, PostureGoal, ShapePair
from exactik.model import Skeleton
from exactik.model.shapes import Capsule, find_segment_distances
from exactik.problem import Problem
from exactik.retargeting._jumps import find_limb_jumps, spread_jumps
from exactik.retargeting._reach import LIMB_TURN_WEIGHT, REST_WEIGHT
from exactik.retargeting.body import (
    BodyFigure,
    SourceBody,
    find_bones_below,
    find_limb,
    find_moving_coordinates,
    find_other_bones,
    find_stretching_dofs,
    is_robot,
)
from exactik.solvers import Auto, Solver
from exactik.spatial import exp_rotation, log_rotation
from exactik.typing import Array

MARGIN = 0.005  # [m] that is left between shapes: what is drawn and built differs by that
FIT, MAX_FIT_HINGES = 0.015, 2
"""[m] between links, two hinges apart at most, that are built to fit: they touch by no fault."""
NEAR = 0.1  # [m] beyond which shapes of a motion are not looked at again
APART_WEIGHT = 1e4
"""Of a gap that is too small [1/m²]: a wrist a decimetre away presses into the body by less than
the margin."""
FOOT_WEIGHT = 1e7
"""Of a foot's place [1/m²]: a crossing by a centimetre moves it by a hundredth of a millimetre."""
WRIST_WEIGHT = 100.0
"""Of a wrist's place [1/m²]: its arm goes round what is in the way; turns follow it."""
BAND = 1e-3  # [m] over which shapes begin to press each other
CHANGE_SECONDS = 0.1
"""[s] in which what a frame has changed fades in the next ones: where a hand slips off a hip, its
arm does not fall back at once."""
UNCHANGED = 1e-3  # [rad] of all dofs, within which a frame is as it was
METHOD = Auto(metric="dof", tolerance=1e-6, max_iterations=60, detour=False, escape=False)


class Crossings(NamedTuple):
    """How deep shapes cross in each frame."""

    gaps: Array  # the least of a frame [m], (T,); negative where they cross
    pairs: tuple[tuple[str, str], ...]  # the bones of that pair, a pair for each frame


def find_pairs(skeleton: Skeleton) -> tuple[ShapePair, ...]:
    """Return the shapes of a robot that should not cross; none where its file has no shapes."""
    if not is_robot(skeleton) or skeleton.shapes.source not in ("file", "meshes"):
        return ()
    try:
        pairs = Collisions(skeleton, margin=MARGIN).contacts
        loose = {(id(p.a), id(p.b)) for p in Collisions(skeleton, margin=FIT).contacts}
    except GoalError:
        return ()
    return tuple(p for p in pairs if (id(p.a), id(p.b)) in loose or not _are_next(skeleton, p))


def _are_next(skeleton: Skeleton, pair: ShapePair) -> bool:
    """Whether two hinges at most are between the bones of two shapes."""
    up, down = (skeleton.find_ancestors(shape.bone or "") for shape in (pair.a, pair.b))
    return len(set(up) ^ set(down)) <= MAX_FIT_HINGES


def measure_crossings(skeleton: Skeleton, q: Array, pairs: tuple[ShapePair, ...]) -> Crossings:
    """Return the least gap of each frame and whose it is; only those below `NEAR` are looked at."""
    gaps, names = np.full(len(q), np.inf), [("", "")] * len(q)
    for pair, values in _measure_gaps(skeleton, q, pairs):
        for t in np.flatnonzero(values < gaps):
            gaps[t], names[t] = values[t], pair.names
    return Crossings(gaps, tuple(names))


def _measure_gaps(
    skeleton: Skeleton, q: Array, pairs: tuple[ShapePair, ...]
) -> list[tuple[ShapePair, Array]]:
    """Return the gaps [m], (T,), of pairs that come near each other."""
    pose = skeleton.forward(q)
    shapes = {id(s): s for pair in pairs for s in pair if isinstance(s, Capsule)}
    ends = {}
    for key, shape in shapes.items():
        k = skeleton.bone_index(shape.bone or "")
        ends[key] = pose.positions[:, k, None] + np.einsum(
            "tij,nj->tni", pose.rotations[:, k], shape.ends
        )
    middles = {key: places.mean(axis=1) for key, places in ends.items()}
    reach = {
        key: shape.radius + 0.5 * float(np.linalg.norm(shape.ends[1] - shape.ends[0]))
        for key, shape in shapes.items()
    }
    found = []
    for pair in pairs:
        a, b = id(pair[0]), id(pair[1])
        away = middles[a] - middles[b]
        least = np.einsum("ti,ti->t", away, away).min()
        if least < (reach[a] + reach[b] + NEAR) ** 2:
            gaps = find_segment_distances(ends[a], ends[b]) - shapes[a].radius - shapes[b].radius
            if gaps.min() < NEAR:
                found.append((pair, gaps))
    return found


def keep_apart(source: SourceBody, target: BodyFigure, q: Array) -> Array:
    """Return the nearest poses, (T, nq), whose limbs do not cross anything."""
    skeleton = target.skeleton
    moving = {bone for name in LIMBS for bone in find_limb(target, name).moving}
    hanging = find_bones_below(skeleton, list(moving))
    near, gaps = [], np.full(len(q), np.inf)
    for pair, values in _measure_gaps(skeleton, q, find_pairs(skeleton)):
        if {pair.a.bone, pair.b.bone} & hanging:
            near.append(pair)
            gaps = np.minimum(gaps, values)
    if len(near) == 0 or gaps.min() >= MARGIN:
        return q
    path = _Path(target, q, near, moving, source.rate)
    apart, start = q.copy(), int(np.argmax(gaps))
    if gaps[start] < MARGIN:
        apart[start] = path.solve(start, q[start])
    for frames in (range(start + 1, len(q)), range(start - 1, -1, -1)):
        before = start
        for t in frames:
            change = skeleton.difference(apart[before], q[before])
            if gaps[t] < MARGIN or np.abs(change).max() > UNCHANGED:
                apart[t] = path.solve(t, skeleton.clip(skeleton.integrate(q[t], change)))
            before = t
    return _undo_jumps(source, target, q, apart)


def _undo_jumps(source: SourceBody, target: BodyFigure, q: Array, apart: Array) -> Array:
    """Return poses whose arms change over where they jump; legs that jump are as they were."""
    skeleton = target.skeleton
    for name in LIMBS:
        limb = find_limb(target, name)
        jumps = find_limb_jumps(source, target, skeleton.forward(apart), name)
        if name.endswith("arm"):
            apart, _ = spread_jumps(skeleton, apart, limb, jumps, source.rate)
        elif len(jumps) > 0:
            others = find_other_bones(skeleton, set(limb.moving))
            apart = np.where(find_moving_coordinates(skeleton, others), q, apart)
    return apart


def measure_held_off(target: BodyFigure, q: Array, apart: Array) -> dict[str, Array]:
    """Return how far wrists are from where they were [m]: side → (T,)."""
    poses = target.skeleton.forward(q), target.skeleton.forward(apart)
    hands = {side: target.anatomy.parts[f"{side}_hand"].start for side in SIDES}
    return {
        side: np.linalg.norm(poses[1].point(hand) - poses[0].point(hand), axis=1)
        for side, hand in hands.items()
    }


class _Path:
    """Poses with limbs that give way; all else stays."""

    def __init__(
        self, target: BodyFigure, q: Array, near: list[ShapePair], moving: set[str], rate: float
    ):
        skeleton = self.skeleton = target.skeleton
        pose = skeleton.forward(q)
        goals: list[Goal] = [
            Collisions(skeleton, near, MARGIN, band=BAND, weight=APART_WEIGHT, name="apart"),
            PostureGoal(skeleton.neutral(), weight=np.where(skeleton.turns, REST_WEIGHT, 0.0)),
        ]
        lasting = rate * CHANGE_SECONDS
        self.share = lasting / (1.0 + lasting)
        self.feet: dict[str, Array] = {}
        self.wrists: dict[str, Array] = {}
        for side in SIDES:
            foot, hand = target.bone_of(f"{side}_foot"), target.anatomy.parts[f"{side}_hand"].start
            for n, point in enumerate((np.zeros(3), target.toe_points[side])):
                places = self.feet[f"{side} {n}"] = pose.point(foot, point)
                options = {"name": f"{side} {n}", "weight": FOOT_WEIGHT}
                goals.append(PositionGoal(foot, places[0], point, **options))
            self.wrists[hand] = pose.point(hand)
            weight = WRIST_WEIGHT * (1.0 + lasting)
            name = f"{side} wrist"
            goals.append(PositionGoal(hand, self.wrists[hand][0], name=name, weight=weight))
        self.bones = [bone for name in LIMBS for bone in find_limb(target, name).bones]
        self.turns = pose.rotations[:, [skeleton.bone_index(bone) for bone in self.bones]]
        weight = LIMB_TURN_WEIGHT * target.leg_length**2 * (1.0 + lasting)
        for n, bone in enumerate(self.bones):
            goals.append(OrientationGoal(bone, self.turns[0, n], name=bone, weight=weight))
        lock = [*find_other_bones(skeleton, moving), *find_stretching_dofs(skeleton)]
        self.solver = Solver(Problem(skeleton, goals, lock=lock), solver=METHOD)

    def solve(self, t: int, start: Array) -> Array:
        """Return the pose of a frame, (nq,), from a start whose change fades."""
        pose = self.skeleton.forward(start)
        targets = {name: places[t] for name, places in self.feet.items()}
        for side, (hand, places) in zip(SIDES, self.wrists.items(), strict=True):
            targets[f"{side} wrist"] = places[t] + self.share * (pose.point(hand) - places[t])
        for n, bone in enumerate(self.bones):
            own = self.turns[t, n]
            away = log_rotation(own.T @ pose.rotations[self.skeleton.bone_index(bone)])
            targets[bone] = own @ exp_rotation(self.share * away)
        return self.solver.solve(start, targets)
