"""A way for the elbow while the wrist is where it should be.

With shoulder and wrist given, the elbow of an arm can only go round a circle; where on it, is the
swivel angle. Limits leave some of the circle in each frame. Whether an arm can get from its pose at
the beginning of a window to that at its end without its wrist leaving its place is then a question
in two dimensions, time and swivel, which a shortest path answers: of candidates all round the
circle in each frame, one each is chosen so that the arm turns least from frame to frame.
"""

from __future__ import annotations

import numpy as np

from exactik.batch import solve_batch
from exactik.goals import Goal, OrientationGoal, PositionGoal, PostureGoal
from exactik.model import Pose
from exactik.problem import Problem
from exactik.retargeting._reach import (
    PLACE_WEIGHT,
    REST_WEIGHT,
)
from exactik.retargeting.body import (
    ARM_PARTS,
    BodyFigure,
    Limb,
    find_moving_coordinates,
    find_other_bones,
    find_stretching_dofs,
)
from exactik.solvers import Auto
from exactik.spatial import angle_between
from exactik.typing import Array

__all__ = ["find_elbow_path"]

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
CANDIDATE_METHOD = Auto(
    metric="dof",
    tolerance=1e-5,
    max_iterations=30,
    initial_damping=1e-3,
    detour=False,
    escape=False,
)
"""Not to the end: what is chosen is placed exactly afterwards, from there."""
COPY_SHARE = 0.01
"""Of the squared turns from the copied arm, in each frame, among those from frame to frame: elbows
are where the source's are, unless that needs a quarter of a turn within a tenth of a second."""


def find_elbow_path(
    target: BodyFigure,
    limb: Limb,
    side: str,
    q: Array,
    places: Array,
    max_miss: float,
    copied: Pose,
    threads: int,
    fix_first: bool = True,
    fix_last: bool = True,
) -> Array:
    """Return poses, (T, nq), whose wrist is at its places and whose arm turns little in between.

    Args:
        target: the figure.
        limb: its arm.
        side: "left" or "right".
        q: poses of a window, (T, nq); only the arm changes.
        places: of the wrist [m, world], (T, 3).
        max_miss: of the wrist [m], below which it is where it should be.
        copied: the arm as the source has it, near which the elbow stays.
        threads: number of threads.
        fix_first: whether the first pose stays as it is.
        fix_last: likewise the last.
    """
    skeleton = target.skeleton
    candidates, misses = _solve_candidates(target, limb, side, q, places, threads)
    ends = [t for t, fixed in ((0, fix_first), (len(q) - 1, fix_last)) if fixed]
    candidates[ends], misses[ends] = q[ends][:, None], 0.0
    pose = skeleton.forward(candidates)
    body = skeleton.bone_index(limb.body)
    bones = [skeleton.bone_index(bone) for bone in limb.bones]
    R_body_bone = np.einsum(
        "tkji,tkbjl->tkbil", pose.rotations[:, :, body], pose.rotations[:, :, bones]
    )
    moves = np.isin(np.array(skeleton.bone_names)[skeleton.dof_bones], list(limb.moving))
    coordinates = candidates[:, :, skeleton.plain_q[moves & (skeleton.plain_q >= 0)]]
    R_copied = np.einsum("tji,tbjl->tbil", copied.rotations[:, body], copied.rotations[:, bones])
    node_costs = MISS_COST * np.maximum(misses / max_miss - 1.0, 0.0)
    node_costs += COPY_SHARE * (angle_between(R_body_bone, R_copied[:, None]) ** 2).sum(axis=-1)
    cost, origins = node_costs[0], []
    for t in range(1, len(q)):
        turns = angle_between(R_body_bone[t - 1][:, None], R_body_bone[t][None])
        changes = coordinates[t][None] - coordinates[t - 1][:, None]
        step = (turns**2).sum(axis=-1) + COORDINATE_SHARE * (changes**2).sum(axis=-1)
        total = cost[:, None] + step
        origins.append(np.argmin(total, axis=0))
        cost = total.min(axis=0) + node_costs[t]
    chosen = [int(np.argmin(cost))]
    for origin in reversed(origins):
        chosen.append(int(origin[chosen[-1]]))
    return candidates[np.arange(len(q)), chosen[::-1]]


def _solve_candidates(
    target: BodyFigure, limb: Limb, side: str, q: Array, places: Array, threads: int
) -> tuple[Array, Array]:
    """Return poses with elbows all round, (T, K, nq), and how far wrists are off [m], (T, K)."""
    skeleton, parts = target.skeleton, target.anatomy.parts
    pose = skeleton.forward(q)
    shoulder, elbow, wrist = (parts[f"{side}_{part}"].start for part in ARM_PARTS)
    rest = skeleton.forward(target.q_rest)
    upper = float(np.linalg.norm(rest.point(elbow) - rest.point(shoulder)))
    lower = target.arm_lengths[side] - upper
    up = pose.rotations[:, target.index_of(target.chest)] @ target.part_frames[target.chest][:, 2]
    circle = _place_elbows(pose.point(shoulder), places, up, upper, lower)
    goals: list[Goal] = [
        PositionGoal(wrist, places[0], name="wrist", weight=PLACE_WEIGHT),
        PositionGoal(elbow, circle[0, 0], name="elbow", weight=ELBOW_WEIGHT),
        PostureGoal(skeleton.neutral(), weight=np.where(skeleton.turns, REST_WEIGHT, 0.0)),
    ]
    targets = {"wrist": places, "elbow": circle}
    for bone in limb.bones[1:]:
        turned = pose.rotations[:, skeleton.bone_index(bone)]
        goals.append(OrientationGoal(bone, turned[0], name=bone, weight=HAND_TURN_WEIGHT))
        targets[bone] = turned
    lock = [*find_other_bones(skeleton, set(limb.moving)), *find_stretching_dofs(skeleton)]
    problem = Problem(skeleton, goals, lock=lock)
    moves = find_moving_coordinates(skeleton, lock)
    solved = np.empty((len(q), 2, SWIVEL_ANGLES, skeleton.nq))
    for sweep, order in enumerate((range(len(q)), range(len(q) - 1, -1, -1))):
        arms = np.repeat(q[order[:1]], SWIVEL_ANGLES, axis=0)
        for t in order:
            now = {name: _repeat(value[t]) for name, value in targets.items() if name != "elbow"}
            start = np.where(moves, arms, q[t])
            arms = solve_batch(
                problem,
                {**now, "elbow": circle[t]},
                q0=start,
                solver=CANDIDATE_METHOD,
                threads=threads,
            ).q
            solved[t, sweep] = arms
    solved = solved.reshape(len(q), 2 * SWIVEL_ANGLES, skeleton.nq)
    wrists = skeleton.forward(solved).positions[:, :, skeleton.bone_index(wrist)]
    return solved, np.linalg.norm(wrists - places[:, None], axis=-1)


def _repeat(value: Array) -> Array:
    return np.repeat(value[None], SWIVEL_ANGLES, axis=0)


def _place_elbows(shoulders: Array, wrists: Array, up: Array, upper: float, lower: float) -> Array:
    """Return places of the elbow [m, world], (T, K, 3), on its circle, from the highest round."""
    away = wrists - shoulders
    distance = np.linalg.norm(away, axis=1, keepdims=True)
    along = away / np.maximum(distance, 1e-12)
    share = (upper**2 - lower**2 + distance**2) / np.maximum(2.0 * distance, 1e-12)
    share = np.clip(share, -upper, upper)
    radius = np.sqrt(upper**2 - share**2)
    top = up - np.einsum("ti,ti->t", up, along)[:, None] * along
    top = top / np.maximum(np.linalg.norm(top, axis=1, keepdims=True), 1e-12)
    beside = np.cross(along, top)
    swivel = 2.0 * np.pi * np.arange(SWIVEL_ANGLES) / SWIVEL_ANGLES
    round_it = np.cos(swivel)[:, None] * top[:, None] + np.sin(swivel)[:, None] * beside[:, None]
    centre = shoulders + share * along
    return centre[:, None] + radius[:, None] * round_it
