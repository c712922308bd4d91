"""A way for the elbow while the wrist is where it should be.

With shoulder and wrist given, the elbow of an arm can only go round a circle; where on it, is the
swivel angle. Limits leave some of the circle in each frame. Whether an arm can get from its pose at
the beginning of a window to that at its end without its wrist leaving its place is then a question
in two dimensions, time and swivel, which a shortest path answers: of candidates all round the
circle in each frame, one each is chosen so that the arm turns least from frame to frame.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from exactik.anatomy import ARM_PARTS
from exactik.goals import Goal, OrientationGoal, PositionGoal, PostureGoal
from exactik.model import Bone, Skeleton
from exactik.problem import Problem
from exactik.retargeting._reach import PLACE_WEIGHT, REACH_METHOD, REST_WEIGHT
from exactik.retargeting.body import (
    BodyFigure,
    Limb,
    find_limb,
    find_moving_coordinates,
    find_stretching_dofs,
)
from exactik.solvers.batch import solve_batch
from exactik.spatial import angle_between
from exactik.typing import Array, BoolArray, IntArray

SWIVEL_ANGLES = 24
"""Of candidates all round: 15° apart, which is smoothed away afterwards."""
ELBOW_WEIGHT = 10.0
"""Of the elbow's place on the circle [1/m²], where limits may not let it be: far below that of the
wrist, far above how the hand is turned."""
HAND_TURN_WEIGHT = 0.01
"""[m²/rad²] of how forearm and hand are turned: as copied, where nothing else is asked."""
MISS_COST = 100.0
"""[rad²] of a frame whose wrist is off by as much as it may be: more than any way round."""
COORDINATE_SHARE = 0.05
"""Of the squared changes of coordinates among those of the bones' turns: a robot's hinges should
not turn by half while the arm stays as it is."""
CANDIDATE_METHOD = replace(REACH_METHOD, max_iterations=30)
"""Not to the end: what is chosen is placed exactly afterwards, from there."""
COPY_SHARE = 0.01
"""Of the squared turns from the copied arm, in each frame, among those from frame to frame."""


def find_elbow_path(
    target: BodyFigure,
    side: str,
    q: Array,
    places: Array,
    max_miss: float,
    copied: Array,
    *,
    fix_first: bool,
    fix_last: bool,
    threads: int,
) -> Array:
    """Return poses, (T, nq), whose wrist is at its places and whose arm turns little in between.

    Args:
        target: the figure.
        side: "left" or "right".
        q: poses of a window, (T, nq); only the arm changes.
        places: of the wrist [m, world], (T, 3).
        max_miss: of the wrist [m], below which it is where it should be.
        copied: poses with the arm as the source has it, near which the elbow stays, (T, nq).
        fix_first: whether the first pose stays as it is.
        fix_last: likewise the last.
        threads: number of threads.
    """
    limb = find_limb(target, f"{side}_arm")
    arm, moves = extract_arm(target, limb)
    if arm.nq != moves.sum():
        return q  # some of its dofs follow others: it cannot be looked at by itself
    own, wanted = q[:, moves], arm.forward(copied[:, moves]).rotations
    circle, wrists = find_elbow_circle(target, limb, side, q, places)
    search = ArmSearch(target, limb, side, arm, wanted, threads)
    candidates, misses = search.sweep(own, copied[:, moves], circle, wrists, max_miss)
    ends = [t for t, fixed in ((0, fix_first), (len(q) - 1, fix_last)) if fixed]
    candidates[ends], misses[ends] = own[ends][:, None], 0.0
    bones = [arm.bone_index(bone) for bone in limb.bones]
    turned = arm.forward(candidates).rotations[:, :, bones]
    coordinates = candidates[:, :, arm.plain_q[arm.plain_q >= 0]]
    chosen = choose_candidates(misses / max_miss, turned, coordinates, wanted[:, bones])
    found = q.copy()
    found[:, moves] = candidates[np.arange(len(q)), chosen]
    return found


def choose_candidates(misses: Array, turned: Array, coordinates: Array, wanted: Array) -> IntArray:
    """Return which candidate of each frame is on the shortest path through all, (T,).

    Args:
        misses: of the wrist, in what it may be off, (T, K).
        turned: how the bones of the arm are turned, (T, K, n, 3, 3).
        coordinates: of its joints [rad], (T, K, m).
        wanted: how the copied arm is turned, (T, n, 3, 3).
    """
    node_costs = MISS_COST * np.maximum(misses - 1.0, 0.0)
    node_costs += COPY_SHARE * (angle_between(turned, wanted[:, None]) ** 2).sum(axis=-1)
    cost, origins = node_costs[0], []
    for t in range(1, len(turned)):
        turns = angle_between(turned[t - 1][:, None], turned[t][None])
        changes = coordinates[t][None] - coordinates[t - 1][:, None]
        step = (turns**2).sum(axis=-1) + COORDINATE_SHARE * (changes**2).sum(axis=-1)
        total = cost[:, None] + step
        origins.append(np.argmin(total, axis=0))
        cost = total.min(axis=0) + node_costs[t]
    chosen = [int(np.argmin(cost))]
    for origin in reversed(origins):
        chosen.append(int(origin[chosen[-1]]))
    return np.array(chosen[::-1])


def extract_arm(target: BodyFigure, limb: Limb) -> tuple[Skeleton, BoolArray]:
    """Return an arm by itself, whose root is what carries it, and which coordinates it has, (nq,).

    Solved by itself it has few dofs.
    """
    skeleton, moving = target.skeleton, set(limb.moving)
    bones = [Bone(limb.body)] + [bone for bone in skeleton.bones if bone.name in moving]
    others = [bone.name for bone in skeleton.bones if bone.name not in moving]
    return Skeleton.build("arm", bones), find_moving_coordinates(skeleton, others)


class ArmSearch:
    """Looks for poses of an arm with its elbow all round and its wrist in place."""

    def __init__(
        self,
        target: BodyFigure,
        limb: Limb,
        side: str,
        arm: Skeleton,
        wanted: Array,
        threads: int,
    ):
        parts = target.anatomy.parts
        _, elbow, self.wrist = (parts[f"{side}_{part}"].start for part in ARM_PARTS)
        self.arm, self.wanted, self.bones, self.threads = arm, wanted, limb.bones[1:], threads
        goals: list[Goal] = [
            PositionGoal(self.wrist, np.zeros(3), name="wrist", weight=PLACE_WEIGHT),
            PositionGoal(elbow, np.zeros(3), name="elbow", weight=ELBOW_WEIGHT),
            PostureGoal(arm.neutral(), weight=np.where(arm.turns, REST_WEIGHT, 0.0)),
        ]
        goals += [
            OrientationGoal(bone, np.eye(3), name=bone, weight=HAND_TURN_WEIGHT)
            for bone in self.bones
        ]
        self.problem = Problem(arm, goals, lock=find_stretching_dofs(arm))

    def sweep(
        self, own: Array, copied: Array, circle: Array, wrists: Array, max_miss: float
    ) -> tuple[Array, Array]:
        """Return poses of the arm, (T, 2 K, n), and how far its wrist is off [m], (T, 2 K).

        Each angle is followed forwards from the first pose and backwards from the last, so that
        solutions that the arm has at either end go on as long as they can; from the copied pose
        where they end.

        Args:
            own: poses of the arm, (T, n).
            copied: as the source has it, (T, n).
            circle: places of the elbow against what carries the arm [m], (T, K, 3).
            wrists: likewise of the wrist [m], (T, 3).
            max_miss: of the wrist [m], below which it is where it should be.
        """
        solved = np.empty((len(own), 2, SWIVEL_ANGLES, self.arm.nq))
        misses = np.empty((len(own), 2, SWIVEL_ANGLES))
        for sweep, order in enumerate((range(len(own)), range(len(own) - 1, -1, -1))):
            poses = _repeat(own[order[0]], SWIVEL_ANGLES)
            for t in order:
                poses, off = self._solve(t, poses, circle[t], wrists[t])
                lost = np.flatnonzero(off > max_miss)
                if len(lost) > 0:
                    start = _repeat(copied[t], len(lost))
                    again, again_off = self._solve(t, start, circle[t][lost], wrists[t])
                    better = again_off < off[lost]
                    poses[lost[better]], off[lost[better]] = again[better], again_off[better]
                solved[t, sweep], misses[t, sweep] = poses, off
        flat = (len(own), 2 * SWIVEL_ANGLES)
        return solved.reshape(*flat, -1), misses.reshape(flat)

    def _solve(self, t: int, start: Array, elbows: Array, wrist: Array) -> tuple[Array, Array]:
        """Return poses from starts (n, nq) for places of the elbow (n, 3), and misses [m], (n,)."""
        count = len(start)
        targets = {
            bone: _repeat(self.wanted[t, self.arm.bone_index(bone)], count) for bone in self.bones
        }
        targets |= {"wrist": _repeat(wrist, count), "elbow": elbows}
        poses = solve_batch(
            self.problem, targets, q0=start, solver=CANDIDATE_METHOD, threads=self.threads
        ).q.copy()
        off = np.linalg.norm(self.arm.forward(poses).point(self.wrist) - wrist, axis=1)
        return poses, off


def _repeat(value: Array, count: int) -> Array:
    return np.repeat(value[None], count, axis=0)


def find_elbow_circle(
    target: BodyFigure, limb: Limb, side: str, q: Array, places: Array
) -> tuple[Array, Array]:
    """Return places of elbow, (T, K, 3), and wrist, (T, 3), against what carries the arm [m]."""
    skeleton, pose, parts = target.skeleton, target.skeleton.forward(q), target.anatomy.parts
    shoulder, elbow, _ = (parts[f"{side}_{part}"].start for part in ARM_PARTS)
    rest, body = skeleton.forward(target.q_rest), skeleton.bone_index(limb.body)
    upper = float(np.linalg.norm(rest.point(elbow) - rest.point(shoulder)))
    R_world_body, p_world_body = pose.rotations[:, body], pose.positions[:, body]
    shoulders, wrists = (
        np.einsum("tji,tj->ti", R_world_body, points - p_world_body)
        for points in (pose.point(shoulder), places)
    )
    lower = target.arm_lengths[side] - upper
    return place_elbows(shoulders, wrists, upper, lower), wrists


def place_elbows(shoulders: Array, wrists: Array, upper: float, lower: float) -> Array:
    """Return places of the elbow [m], (T, K, 3), on its circle; from where is all the same."""
    away = wrists - shoulders
    distance = np.linalg.norm(away, axis=1, keepdims=True)
    along = away / np.maximum(distance, 1e-12)
    share = (upper**2 - lower**2 + distance**2) / np.maximum(2.0 * distance, 1e-12)
    share = np.clip(share, -upper, upper)
    radius = np.sqrt(upper**2 - share**2)
    # Carried along from frame to frame, so that an angle means the same in all.
    across = np.eye(3)[np.argmin(np.abs(along[0]))]
    tops = []
    for direction in along:
        across = across - (across @ direction) * direction
        across = across / max(float(np.linalg.norm(across)), 1e-12)
        tops.append(across)
    top = np.array(tops)
    beside = np.cross(along, top)
    swivel = 2.0 * np.pi * np.arange(SWIVEL_ANGLES) / SWIVEL_ANGLES
    round_it = np.cos(swivel)[:, None] * top[:, None] + np.sin(swivel)[:, None] * beside[:, None]
    centre = shoulders + share * along
    return centre[:, None] + radius[:, None] * round_it
