"""Robots: which bones are their tools, and a first pose that is neither folded nor singular.

A robot is a figure of hinges and slides. Its zero is whatever its file chose, often outside the
limits, or stretched out so that the tool cannot be moved in every direction.
"""

from __future__ import annotations

from itertools import combinations, pairwise, product

import numpy as np

from exactik.model import Skeleton
from exactik.player import compute_reach
from exactik.typing import Array

__all__ = ["TOOL_DOFS", "choose_first_pose", "count_dofs_above", "find_tools", "is_robot"]

ROBOT_JOINTS = frozenset(("revolute", "prismatic", "screw", "fixed"))
TOOL_DOFS = 6  # of a bone that can be placed and turned at will
MAX_FINGER_DOFS = 4  # below a tool, to the tip of a finger: Shadow's hand has as many, an arm more
NEAR_SHARE = 0.05  # of its range: a dof of an arm so near to a limit begins in its middle
# Least singular value of a tool's Jacobian, lengths over the reach, below which it is singular,
SINGULAR, DEXTEROUS = 0.02, 0.1  # and above which more does not count
BEND_RAD = 0.8  # of a hinge: 46°, far from straight and from folded
MAX_BENDS = 3  # hinges: shoulder, elbow and wrist
# What another bent hinge must add to the singular value; less is as good, since beyond `DEXTEROUS`
# nothing is added.
BEND_COST = 0.01


def is_robot(skeleton: Skeleton) -> bool:
    """Return whether a figure is made of hinges and slides, whatever its root does."""
    inner = [bone for bone in skeleton.bones if bone.parent is not None]
    moving = [bone for bone in inner if bone.joint.nv > 0]
    return len(moving) > 0 and all(bone.joint.kind in ROBOT_JOINTS for bone in inner)


def count_dofs_above(skeleton: Skeleton) -> dict[str, int]:
    """Return the number of dofs of all joints from the root to each bone, driven ones as well."""
    counts: dict[str, int] = {}
    for bone in skeleton.bones:
        counts[bone.name] = bone.joint.nv + (0 if bone.parent is None else counts[bone.parent])
    return counts


def find_tools(skeleton: Skeleton) -> dict[str, str]:
    """Return the last bone of each chain of a robot that ends in a gripper → its tool.

    A gripper is where short fingers part from an arm. Its tool is a bone without children that is
    rigid with the palm, as files have it for the tool's centre, else the palm itself.
    """
    dofs, chains = count_dofs_above(skeleton), skeleton.chains()
    tools: dict[str, str] = {}
    for chain in chains:
        for palm, child in reversed(list(pairwise(chain))):
            below = [other for other in chains if palm in other]
            parting = any(child not in other for other in below)
            longest = max(dofs[other[-1]] - dofs[palm] for other in below)
            if parting and dofs[palm] >= TOOL_DOFS and 0 < longest <= MAX_FINGER_DOFS:
                rigid = [other[-1] for other in below if dofs[other[-1]] == dofs[palm]]
                tools[chain[-1]] = (rigid or [palm])[0]
                break
    return tools


def choose_first_pose(skeleton: Skeleton) -> Array:
    """Return the pose that a figure is opened in, (nq,): its home, else the neutral one.

    Dofs of a robot without a home whose zero is not inside their limits are in the middle of these;
    so are those of a single arm that are near a limit. An arm that is singular there is bent.
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
    return q if tool is None else bend_arm(skeleton, q, tool)


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
