"""Robots: which bones are their tools, and a first pose that is neither folded nor singular.

A robot is a figure of hinges and slides. Its zero is whatever its file chose, often outside the
limits, or stretched out so that the tool cannot be moved in every direction.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise, product

import numpy as np
from numpy.typing import NDArray

from exactik.anatomy import describe_body
from exactik.model import Joint, Skeleton
from exactik.studio.player.proportions import compute_reach
from exactik.typing import Array

ROBOT_JOINTS = frozenset(("revolute", "prismatic", "screw", "fixed"))
TOOL_DOFS = 6  # of a bone that can be placed and turned at will
MAX_FINGER_DOFS = 4  # below a tool, to the tip of a finger: Shadow's hand has as many, an arm more
NEAR_SHARE = 0.05  # of its range: a dof of an arm so near to a limit begins in its middle
# Least singular value of a tool's Jacobian, lengths over the reach, below which it is singular,
SINGULAR, DEXTEROUS = 0.02, 0.1  # and above which more does not count
BEND_RAD = 0.8  # of a hinge: 46°, far from straight and from folded
MAX_BENDS = 3  # hinges: shoulder, elbow and wrist
PARALLEL = 0.99  # cosine between the axes of a knee and of the hinge above it
MIN_SHANK_SHARE = 0.1  # of the thigh: what is shorter below a knee says not where its foot is
# What animals of metal stand on: tips below so many dofs and so much below the root, of the reach.
MIN_LEGS, LEG_DOFS, LEG_SHARE = 4, 2, 0.3
# What another bent hinge must add to the singular value; less is as good, since beyond `DEXTEROUS`
# nothing is added.
BEND_COST = 0.01


def is_robot(skeleton: Skeleton) -> bool:
    """Return whether a figure is made of hinges and slides, whatever its root does."""
    inner = [bone for bone in skeleton.bones if bone.parent is not None]
    moving = [bone for bone in inner if bone.joint.nv > 0]
    return len(moving) > 0 and all(bone.joint.kind in ROBOT_JOINTS for bone in inner)


def release_walker(skeleton: Skeleton) -> Skeleton:
    """Return a robot that stands on legs with a root that moves freely, so that it can squat.

    Its file leaves that to the simulator. Others, arms and hands, stay on their base.
    """
    root, *others = skeleton.bones
    if root.joint.nv > 0 or not is_robot(skeleton) or not _stands_on_legs(skeleton):
        return skeleton
    free = skeleton.with_bones([replace(root, joint=Joint.free()), *others])
    if skeleton.home is None:
        return free
    return free.with_home(np.concatenate([free.neutral()[: free.nq - skeleton.nq], skeleton.home]))


def _stands_on_legs(skeleton: Skeleton) -> bool:
    q = choose_first_pose(skeleton)
    if {"left_leg", "right_leg"} <= describe_body(skeleton, q).limbs.keys():
        return True
    heights, dofs = skeleton.forward(q).positions[:, 2], count_dofs_above(skeleton)
    tips = [chain[-1] for chain in skeleton.chains() if dofs[chain[-1]] >= LEG_DOFS]
    drop = heights[0] - np.array([heights[skeleton.bone_index(tip)] for tip in tips])
    return int((drop > LEG_SHARE * compute_reach(skeleton)).sum()) >= MIN_LEGS


def count_dofs_above(skeleton: Skeleton) -> dict[str, int]:
    """Return the number of dofs of all joints from the root to each bone, driven ones as well."""
    counts: dict[str, int] = {}
    for bone in skeleton.bones:
        counts[bone.name] = bone.joint.nv + (0 if bone.parent is None else counts[bone.parent])
    return counts


def find_tools(skeleton: Skeleton) -> dict[str, str]:
    """Return the last bone of each chain of a robot that ends in a gripper → its tool.

    A gripper is where short fingers part from an arm, which a free base is not. Its tool is a bone
    without children that is rigid with the palm, as files have it for the tool's centre, else the
    palm itself.
    """
    dofs, chains = count_dofs_above(skeleton), skeleton.chains()
    tools: dict[str, str] = {}
    for chain in chains:
        for palm, child in reversed(list(pairwise(chain))):
            below = [other for other in chains if palm in other]
            parting = any(child not in other for other in below)
            longest = max(dofs[other[-1]] - dofs[palm] for other in below)
            if (
                parting
                and dofs[palm] - dofs[chain[0]] >= TOOL_DOFS
                and 0 < longest <= MAX_FINGER_DOFS
            ):
                rigid = [other[-1] for other in below if dofs[other[-1]] == dofs[palm]]
                tools[chain[-1]] = (rigid or [palm])[0]
                break
    return tools


def choose_first_pose(skeleton: Skeleton) -> Array:
    """Return the pose that a figure is opened in, (nq,): its home, else the neutral one.

    Dofs of a robot without a home whose zero is not inside their limits are in the middle of these;
    so are those of a single arm that are near a limit. An arm that is singular there is bent. Legs
    whose knees are bent so have their feet below their hips.
    """
    if skeleton.home is not None:
        return skeleton.clip(skeleton.home)
    q = skeleton.neutral()
    if not is_robot(skeleton):
        return q
    dofs = count_dofs_above(skeleton)
    tool = _find_only_tool(skeleton, dofs)
    is_arm = tool is not None
    limited = np.isfinite(skeleton.lower) & np.isfinite(skeleton.upper) & (skeleton.plain_q >= 0)
    lower, upper = np.where(limited, skeleton.lower, -0.5), np.where(limited, skeleton.upper, 0.5)
    middle = 0.5 * (lower + upper)
    # How far zero is inside the limits, as a share of the range.
    room = np.where(limited, np.minimum(-lower, upper), np.inf) / (upper - lower)
    moved = room < (NEAR_SHARE if is_arm else -NEAR_SHARE)
    q[skeleton.plain_q[moved]] = middle[moved]
    return _swing_legs(skeleton, q, moved) if tool is None else bend_arm(skeleton, q, tool)


def _swing_legs(skeleton: Skeleton, q: Array, moved: NDArray[np.bool_]) -> Array:
    """Return q, (nq,), with each foot in the direction from its hip that a straight knee gives it.

    A knee is a hinge that was moved, (nv,), right below one with a parallel axis that was not.
    """
    q = q.copy()
    hinges = skeleton.turns & (skeleton.plain_q >= 0)
    swung: set[int] = set()
    for chain in sorted(skeleton.chains(), key=len, reverse=True):
        axes = skeleton.jacobian(q, chain[-1], rows="angular").T
        on_chain = np.flatnonzero(hinges & axes.any(axis=1)).tolist()
        for hip, knee in pairwise(on_chain):
            is_parallel = abs(axes[hip] @ axes[knee]) > PARALLEL
            if is_parallel and moved[knee] and not moved[hip] and knee not in swung:
                angle = _find_swing(skeleton, q, hip, knee, chain[-1], axes[hip])
                if angle is not None:
                    swung.add(knee)
                    q[skeleton.plain_q[hip]] += angle
    return skeleton.clip(q)


def _find_swing(
    skeleton: Skeleton, q: Array, hip: int, knee: int, foot: str, axis: Array
) -> float | None:
    """Return the angle [rad] about a hip's axis that a bent knee takes; None if no foot is below.

    Args:
        q: its pose, (nq,), in which the knee is bent.
        hip: number of the dof.
        foot: name of the last bone of the leg.
        axis: of the hip [world], (3,).
    """
    straight = q.copy()
    straight[skeleton.plain_q[knee]] = 0.0
    bones = [*skeleton.dof_bones[[hip, knee]], skeleton.bone_index(foot)]
    at_hip, at_knee, at_foot = skeleton.forward(q).positions[bones]
    shank, thigh = np.linalg.norm(at_foot - at_knee), np.linalg.norm(at_knee - at_hip)
    if shank < MIN_SHANK_SHARE * thigh:
        return None
    bent_leg = at_foot - at_hip
    straight_leg = skeleton.forward(straight).positions[bones[2]] - at_hip
    cosine = bent_leg @ straight_leg - (bent_leg @ axis) * (straight_leg @ axis)
    return float(np.arctan2(np.cross(bent_leg, straight_leg) @ axis, cosine))


def _find_only_tool(skeleton: Skeleton, dofs: dict[str, int]) -> str | None:
    """Return the tool of a single arm on a fixed base; None if the robot is something else."""
    tools = find_tools(skeleton)
    tips = [tools.get(chain[-1], chain[-1]) for chain in skeleton.chains()]
    tool = max(tips, key=lambda tip: dofs[tip])
    rest = sum(bone.joint.nv for bone in skeleton.bones) - dofs[tool]  # of its fingers
    fixed = skeleton.bones[0].joint.nv == 0 or skeleton.bones[0].joint.kind in ROBOT_JOINTS
    return tool if fixed and dofs[tool] >= TOOL_DOFS and rest <= MAX_FINGER_DOFS else None


def measure_dexterity(skeleton: Skeleton, q: Array, tool: str) -> float:
    """Return the least singular value of a tool's Jacobian, lengths over the figure's reach."""
    jacobian = skeleton.jacobian(q, tool, rows="both")
    jacobian[:3] /= compute_reach(skeleton)
    shifts = ~skeleton.turns
    jacobian[:, shifts] *= compute_reach(skeleton)
    return float(np.linalg.svd(jacobian, compute_uv=False)[-1])


def bend_arm(skeleton: Skeleton, q: Array, tool: str) -> Array:
    """Return the pose q, (nq,), with as few hinges bent as let the tool be moved every way.

    q itself where it can be already, or where no pose that was tried is better. No bone goes below
    the base.
    """
    if measure_dexterity(skeleton, q, tool) >= SINGULAR:
        return q
    best, best_score = q, 0.0
    hinges = np.flatnonzero(skeleton.turns & (skeleton.plain_q >= 0))
    for count in range(1, MAX_BENDS + 1):
        for bent in combinations(hinges.tolist(), count):
            for signs in product((1.0, -1.0), repeat=count):
                tried = q.copy()
                tried[skeleton.plain_q[list(bent)]] += BEND_RAD * np.array(signs)
                pose = skeleton.forward(tried)
                low = pose.positions[:, 2].min() < pose.positions[0, 2] - 1e-9
                if low or not np.array_equal(skeleton.clip(tried), tried):
                    continue
                score = min(measure_dexterity(skeleton, tried, tool), DEXTEROUS) - BEND_COST * count
                if score > best_score + 1e-9:
                    best, best_score = tried, score
    return best
