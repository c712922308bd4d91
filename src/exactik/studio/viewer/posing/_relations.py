"""What holds besides handles while a figure is posed: joined handles, its balance, its bodies."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from exactik.goals import CenterOfMassGoal, Collisions, Goal, OrientationGoal, PositionGoal
from exactik.model import Pose, Skeleton
from exactik.studio.viewer._balance import find_contacts, find_convex_hull
from exactik.studio.viewer._posture_weights import compute_lever
from exactik.studio.viewer.posing._handles import Handle
from exactik.typing import Array

BALANCE, BODIES = "balance", "bodies"  # names of goals
JOINED_WEIGHT, BALANCE_WEIGHT = 100.0, 30.0  # beside the 1 of a dragged handle
# The centre of mass stays inside the polygon of support, made so much smaller about its middle: on
# its edge a figure only just stands.
SUPPORT_SHARE = 0.75
MAX_CORNERS = 6  # of that polygon; each is a goal


class Join(NamedTuple):
    """Two handles that stay as they are to each other, as hands that hold a stick do."""

    first: str  # name of a handle
    second: str
    position: Array  # of the second's point in the frame of the first's bone [m], (3,)
    rotation: Array | None  # R_first_second, (3, 3); None where the second may turn

    @property
    def pair(self) -> frozenset[str]:
        """The names of both."""
        return frozenset((self.first, self.second))


def make_join(pose: Pose, first: Handle, second: Handle) -> Join:
    """Return what two handles are to each other in a pose; turned too if one is oriented."""
    index = pose.skeleton.bone_index
    R_world_first, R_world_second = (pose.rotations[index(h.bone)] for h in (first, second))
    arm = pose.point(second.bone, second.point) - pose.positions[index(first.bone)]
    turned = first.oriented or second.oriented
    return Join(
        first=first.name,
        second=second.name,
        position=R_world_first.T @ arm,
        rotation=R_world_first.T @ R_world_second if turned else None,
    )


def make_join_goals(
    skeleton: Skeleton, joins: Iterable[Join], handles: Mapping[str, Handle]
) -> list[Goal]:
    """Return the goals that hold joined handles together."""
    goals: list[Goal] = []
    for join in joins:
        first, second = handles[join.first], handles[join.second]
        goals.append(
            PositionGoal(
                second.bone,
                join.position,
                point=second.point,
                relative_to=first.bone,
                name=f"{join.second} at {join.first}",
                weight=JOINED_WEIGHT,
            )
        )
        if join.rotation is not None:
            goals.append(
                OrientationGoal(
                    second.bone,
                    join.rotation,
                    relative_to=first.bone,
                    name=f"{join.second} at {join.first}.rotation",
                    weight=JOINED_WEIGHT * compute_lever(skeleton) ** 2,
                )
            )
    return goals


def find_support(pose: Pose, floor: float, moving: Collection[str]) -> Array | None:
    """Return above what polygon a figure keeps its centre of mass [m], (n, 2); None without one.

    Args:
        floor: its height [m].
        moving: bones that are dragged; what hangs on them supports nothing.
    """
    if len(pose.skeleton.masses) == 0:
        return None
    carried = {pose.skeleton.bone_index(name) for name in moving}
    for k, parent in enumerate(pose.skeleton.parents.tolist()):
        if parent in carried and parent >= 0:
            carried.add(k)
    hull = find_convex_hull(find_contacts(pose, floor, without=carried))
    if len(hull) < 3:
        return None
    while len(hull) > MAX_CORNERS:
        before, after = np.roll(hull, 1, axis=0) - hull, np.roll(hull, -1, axis=0) - hull
        areas = np.abs(before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0])
        hull = np.delete(hull, int(np.argmin(areas)), axis=0)
    middle = hull.mean(axis=0)
    return middle + SUPPORT_SHARE * (hull - middle)


def make_balance_goal(support: Array) -> CenterOfMassGoal:
    """Return the goal that the centre of mass stays above a polygon [m], (n, 2)."""
    return CenterOfMassGoal(inside=support, weight=BALANCE_WEIGHT, name=BALANCE)


def make_body_goal(skeleton: Skeleton) -> Collisions:
    """Return the goal that the bodies of a figure do not cross."""
    return Collisions(skeleton, name=BODIES)
