"""Problems whose best answer is known, one for each situation that a solver can meet.

An answer is right if it reaches all goals, or where that cannot be, if its cost is the least. That
cost is known in closed form, or found by scipy from the same start.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.optimize
from numpy.typing import ArrayLike

import exactik as ik
from exactik import Bone, Joint, MarkerGoal, PositionGoal, Problem, Skeleton, human
from exactik.spatial import axis_rotation, exp_rotation
from exactik.typing import Array
from tests.support.models import exp_map_arm, gantry, planar_arm
from tests.support.problems import Range, positive

__all__ = ["CASES", "Case", "case", "panda", "planar_chain", "quaternion_arm"]
FREE, ONE = (-np.inf, np.inf), (-1, 1)


@dataclass(frozen=True, eq=False)
class Case:
    """A problem and its best answer."""

    problem: Problem
    q0: Array  # where to start; may be outside the limits
    best: float | None = None  # least cost, if the goals cannot be reached
    status: str = "reached"  # what a method that finds it says


def planar_chain(links: int, limits: Sequence[ArrayLike] | None = None) -> Skeleton:
    """Hinges about z and equal links along x in the plane z = 0, 1 m in all; HAND at the end."""
    each = 1.0 / links
    bones = [
        Bone(
            f"b{k}",
            parent=f"b{k - 1}" if k > 0 else None,
            offset=(each if k > 0 else 0.0, 0, 0),
            joint=Joint.revolute("z", limits=None if limits is None else limits[k]),
        )
        for k in range(links)
    ]
    return Skeleton.build("chain", bones, {"HAND": (f"b{links - 1}", (each, 0, 0))})


@cache
def panda() -> Skeleton:
    """A robot's arm: seven hinges with its lengths [m] and limits [rad], TOOL at the flange."""
    rows = (  # turn about x before the hinge [quarters], shift along x, along the hinge, limits
        (0, 0.0, 0.333, (-2.8973, 2.8973)),
        (-1, 0.0, 0.0, (-1.7628, 1.7628)),
        (1, 0.0, 0.316, (-2.8973, 2.8973)),
        (1, 0.0825, 0.0, (-3.0718, -0.0698)),
        (-1, -0.0825, 0.384, (-2.8973, 2.8973)),
        (1, 0.0, 0.0, (-0.0175, 3.7525)),
        (1, 0.088, 0.0, (-2.8973, 2.8973)),
    )
    bones, parent = [], None
    for k, (quarters, along_x, along_z, limits) in enumerate(rows, start=1):
        pre = axis_rotation("x", 0.5 * np.pi * quarters)
        offset, joint = pre @ (along_x, 0.0, along_z), Joint.revolute("z", limits=limits)
        bones.append(Bone(f"link{k}", parent=parent, offset=offset, pre=pre, joint=joint))
        parent = f"link{k}"
    return Skeleton.build("panda", bones, {"TOOL": ("link7", (0, 0, 0.107))})


def quaternion_arm() -> Skeleton:
    """Quaternions at shoulder and wrist, a hinge of 0 to 2.5 rad between; FINGER 0.7 m away."""
    elbow = Joint.revolute("y", limits=(0, 2.5))
    bones = [
        Bone("upper", joint=Joint.quaternion()),
        Bone("lower", parent="upper", offset=(0.3, 0, 0), joint=elbow),
        Bone("hand", parent="lower", offset=(0.25, 0, 0), joint=Joint.quaternion()),
    ]
    return Skeleton.build("quaternion arm", bones, {"FINGER": ("hand", (0.15, 0, 0))})


def least(problem: Problem, q0: ArrayLike) -> float:
    """The cost that sequential quadratic programming of scipy finds from a start."""
    asked, options = problem.to_scipy(), {"ftol": 1e-16, "maxiter": 500}
    return scipy.optimize.minimize(
        asked.fun, q0, jac=asked.jac, method="SLSQP", bounds=asked.bounds, options=options
    ).fun


def make_case(
    figure: Skeleton,
    goals: Sequence[ik.Goal],
    q0: ArrayLike | None = None,
    best: float | None = None,
    status: str = "reached",
    **more: Any,
) -> Case:
    """Without a cost, what cannot be reached has that of scipy."""
    problem = Problem(figure, goals, **more)
    start = figure.neutral() if q0 is None else np.array(q0, float)
    if best is None and status != "reached":
        best = least(problem, start)
    return Case(problem, start, best, status)


def marker(figure: Skeleton, name: str, place: ArrayLike, *best: Any, **more: Any) -> Case:
    return make_case(figure, [MarkerGoal(name, place)], *best, **more)


def hand(figure: Skeleton, x: float, y: float, q0: ArrayLike, *best: Any, **more: Any) -> Case:
    """The end of a planar figure should be at a place."""
    return marker(figure, "HAND", (x, y, 0), q0, *best, **more)


def two_places() -> Case:
    """The end and the bone before should be where they are in a pose, with weights 1 : 1e6."""
    figure = planar_chain(5)
    pose = figure.forward((0.3, 0.6, -0.4, 0.9, 0.5))
    bone = PositionGoal("b4", pose.positions[4], weight=1e6)
    return make_case(figure, [bone, MarkerGoal("HAND", pose.markers[0])], np.full(5, 0.2))


def at_odds() -> Case:
    goals = [MarkerGoal("HAND", (0.5, 0.6, 0), weight=1e6), PositionGoal("b2", (0.55, 0.3, 0))]
    return make_case(planar_chain(3), goals, (0.4, 0.5, 0.2), None, "local-minimum")


def coupled() -> Case:
    goals = [MarkerGoal("HAND", (0.2, 0.9, 0)), PositionGoal("b2", (0.35, 0.3, 0))]
    weight, q0 = positive(3, 6), (0.3, 0.2, 0.4, 0.1)
    return make_case(planar_chain(4), goals, q0, None, "local-minimum", weight_matrix=weight)


def tug_of_war() -> Case:
    """Two places for one hook, weights 1e6 : 1: the best is between them, 1 : 1e6 of the way."""
    strong = MarkerGoal("HOOK", (0.5, 0.2, -1), weight=1e6, name="strong")
    goals = [strong, MarkerGoal("HOOK", (1.5, -0.2, -2), name="weak")]
    return make_case(gantry(), goals, None, 0.5 * 2.16e6 / (1e6 + 1), "local-minimum")


def pose_of(figure: Skeleton, bone: str, q: ArrayLike, point: ArrayLike = (0, 0, 0)) -> Case:
    """A bone should be where it is at q; from the neutral pose."""
    pose, T = figure.forward(q), np.eye(4)
    T[:3, :3], T[:3, 3] = pose.rotations[figure.bone_index(bone)], pose.point(bone, point)
    return make_case(figure, [ik.PoseGoal(bone, T, point, weight=(1, 0.1))])


def move_from_neutral(figure: Skeleton, v: ArrayLike) -> Array:
    return figure.integrate(figure.neutral(), v)


def finger(figure: Skeleton, v: ArrayLike, place: ArrayLike, *best: Any, **more: Any) -> Case:
    """FINGER should be at a place; from the neutral pose moved by v."""
    return marker(figure, "FINGER", place, move_from_neutral(figure, v), *best, **more)


def folded() -> Case:
    """The elbow bends by 2.5 rad at most, so that the wrist cannot come near the shoulder."""
    figure, goal = quaternion_arm(), PositionGoal("hand", (0.0, 0.05, 0.0))
    nearest = math.sqrt(0.3**2 + 0.25**2 + 2 * 0.3 * 0.25 * math.cos(2.5))
    return make_case(
        figure, [goal], move_from_neutral(figure, BENT), 0.5 * (nearest - 0.05) ** 2, "at-limits"
    )


def distant(place: ArrayLike, q0: ArrayLike, *best: Any) -> Case:
    """The end of the planar arm should be 1 m away from a place."""
    return make_case(planar_arm(), [Range("lower", place, (0.3, 0, 0))], q0, *best)


HOME = (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785)
OUT = (0.4, 0.6, 0.1, -0.9, 0.2, 1.8, 0.3)
NEAR = (0.8, 0.3, -0.5, -1.6, 0.4, 2.0, 0.2)
BENT = (0.3, 0.5, 0.2, 0.7, 0.1, 0.2, 0.3)


def tool(q: ArrayLike, q0: ArrayLike = HOME) -> Case:
    """The tool of the Panda should be where it is at q."""
    return Case(pose_of(panda(), "link7", q, (0, 0, 0.107)).problem, np.array(q0))


def all_markers(noise: float) -> Case:
    """All markers of the human near a pose in the middle of its limits, and a start near it."""
    figure, rng = human(), np.random.default_rng(10)
    low, high = np.maximum(figure.lower, -1.0), np.minimum(figure.upper, 1.0)
    q = low + (high - low) * rng.uniform(0.4, 0.6, figure.nv)
    places = figure.forward(q).markers + noise * rng.normal(size=(len(figure.markers), 3))
    goals = [MarkerGoal(name, place) for name, place in zip(figure.markers, places, strict=True)]
    q0 = q + rng.normal(scale=0.05, size=figure.nv)
    return make_case(figure, goals, q0, None, "reached" if noise == 0.0 else "local-minimum")


def human_reaches() -> Case:
    places = {"l_hand": (0.45, 0.25, 1.35), "l_foot": (0, 0.09, 0.07), "r_foot": (0, -0.09, 0.07)}
    return make_case(human(), [PositionGoal(bone, place) for bone, place in places.items()])


def human_tied_down() -> Case:
    """A hand behind the back, the trunk locked: limits decide."""
    posture = ik.PostureGoal(human().neutral(), weight=1e-3)
    goals, lock = (
        [PositionGoal("r_hand", (-0.5, 0.3, 1.2)), posture],
        ("pelvis", "*_back", "thorax"),
    )
    return make_case(human(), goals, None, None, "at-limits", lock=lock)


def human_turns() -> Case:
    head = ik.OrientationGoal("head", exp_rotation((0, 0, 0.6)), weight=0.1)
    goals = [head, PositionGoal("l_hand", (0.3, 0.3, 1.4))]
    return make_case(human(), goals, lock="*_toes", strength={"pelvis": 0.05, "head": 3.0})


arm, chain, TURN = planar_arm, planar_chain, 2.0 * np.pi
MIN, LIM, FAR = "local-minimum", "at-limits", "out-of-reach"
CASES: dict[str, Callable[[], Case]] = {
    "planar reachable": lambda: hand(arm(), 0.2, 0.45, (0.3, 0.5)),
    "planar 12 links": lambda: hand(chain(12), -0.2, 0.3, np.full(12, 0.1)),
    # 1 m away, for an arm of 0.7 m; then nearer than 0.1 m, the difference of its links.
    "planar beyond reach": lambda: hand(arm(), 0.6, 0.8, (0.2, 0.4), 0.5 * 0.3**2, FAR),
    "planar too near": lambda: hand(arm(), 0.03, 0.04, (0.2, 2.0), 0.5 * 0.05**2, MIN),
    "planar straight start": lambda: hand(chain(3), 0.3, 0.5, (0, 0, 0)),
    "planar saddle start": lambda: hand(chain(3), 0.3, 0.0, (0, 0, 0)),
    # The greatest cost of all, within reach and beyond.
    "planar turned away": lambda: hand(chain(1), -1.0, 0.0, (0,)),
    "planar stretched away": lambda: hand(arm(), -0.9, 0.0, (0, 0), 0.5 * 0.2**2, FAR),
    # No curvature at the start: exactly none, and rounding errors.
    "planar quarter turn": lambda: hand(chain(1), 0.0, 1.0, (0,)),
    "planar quarter turn back": lambda: hand(chain(1), 1.0, 0.0, (0.25 * TURN,)),
    "planar all locked": lambda: hand(arm(), 0.2, 0.1, (0, 0), 0.13, FAR, lock="*"),
    # An elbow of 1 rad at most: the end comes as near to the shoulder as cos ½ m.
    "planar at a limit": lambda: hand(
        chain(2, [FREE, (0, 1)]), 0.3, 0.4, (0.1, 0.3), 0.5 * (math.cos(0.5) - 0.5) ** 2, LIM
    ),
    "planar starts outside limits": lambda: hand(
        chain(3, [(-1, 2), (0, 2), (0, 2)]), 0.2, 0.5, (-3.0, -1.0, 4.0)
    ),
    "planar limits on the way": lambda: hand(
        chain(2, [(-3, 3), (-2.5, 2.5)]), -0.8, -0.54, (2.6, -0.3)
    ),
    "planar limits on one side": lambda: hand(
        chain(3, [(-np.inf, 1), (0, np.inf), ONE]), -0.5, -0.5, (3.0, -2.0, 0.1)
    ),
    "planar saddle on a limit": lambda: hand(
        chain(3, [(0, np.inf), (0.3, TURN), (0.3, 2)]), 0.3, 0.0, (0.0, 0.3, 0.3)
    ),
    "planar one locked": lambda: hand(chain(4), 0.1, 0.6, (0.2, 0.1, 0.7, -0.3), lock="b2"),
    # Locked more than half a turn away from the middle of its range.
    "planar locked far out": lambda: hand(
        chain(3, [(-TURN, TURN), ONE, ONE]), 0.2, 0.1, (4, 0, 0), None, LIM, lock="b0"
    ),
    "planar a million to one": two_places,
    "planar a million to one, at odds": at_odds,
    "planar coupled weights": coupled,
    # 1 m away from a place 1.2 m away; and from one 2 m away, where the nearest point is 1.3 m off.
    "planar goal in Python": lambda: distant((1.2, 0, 0), (1.0, 1.0)),
    "planar goal in Python, too far": lambda: distant((1.2, 1.6, 0), (0.2, 0.6), 0.5 * 0.3**2, MIN),
    "planar strengths": lambda: hand(
        chain(4), 0.2, 0.6, (0.1, 0.2, 0.1, 0.2), strength={"b0": 0.1, "b3": 3.0}
    ),
    "gantry reachable": lambda: marker(gantry(), "HOOK", (1.5, -0.7, -2.1), (0, 0, 0)),
    "gantry starts outside limits": lambda: marker(gantry(), "HOOK", (0.5, -0.7, -2), (7, -9, 2)),
    "gantry at two limits": lambda: marker(gantry(), "HOOK", (2.5, 0.3, 0.9), None, 0.625, LIM),
    "gantry a million to one": tug_of_war,
    "exp-map pose": lambda: pose_of(exp_map_arm(), "hand", (0.5, -0.8, 0.3, 1.1, 0.2, 0.4, -0.6)),
    "exp-map beyond reach": lambda: finger(
        exp_map_arm(), BENT, (0.6, 0, 0.8), 0.5 * (0.45 - math.hypot(0.15, 0.02)) ** 2, FAR
    ),
    "exp-map saddle start": lambda: make_case(exp_map_arm(), [PositionGoal("hand", (0.2, 0, 0))]),
    "exp-map starts at a whole turn": lambda: finger(
        exp_map_arm(), (0, 0, TURN, 0.5, 0.1, 0.1, 0.1), (0.1, 0.2, 0.4)
    ),
    "quaternion pose": lambda: pose_of(
        quaternion_arm(),
        "hand",
        move_from_neutral(quaternion_arm(), (0.9, -0.5, 1.2, 1.4, 0.2, -0.7, 0.3)),
    ),
    "quaternion beyond reach": lambda: finger(
        quaternion_arm(), BENT, (0, 0.6, -0.8), 0.5 * 0.3**2, FAR
    ),
    "quaternion at a limit": folded,
    "quaternion locked": lambda: finger(quaternion_arm(), BENT, (0.1, 0.3, 0.3), lock="hand"),
    "Panda pose": lambda: tool(NEAR),
    "Panda far pose": lambda: tool((-2.0, 1.2, 1.8, -0.6, -1.5, 2.9, -2.0)),
    "Panda pose on limits": lambda: tool((0.5, 1.7628, 0.3, -0.0698, 0.4, 3.7525, 0.1)),
    "Panda starts outside limits": lambda: tool(NEAR, (4.0, -3.0, 0.3, 0.5, 0.0, -1.0, 5.0)),
    "Panda beyond reach": lambda: marker(panda(), "TOOL", (0.9, 0.5, 0.8), OUT, None, FAR),
    "Panda locked elbow": lambda: marker(panda(), "TOOL", (0.4, 0.3, 0.5), HOME, lock="link4"),
    "human reaches": human_reaches,
    "human all markers": lambda: all_markers(0.0),
    "human noisy markers": lambda: all_markers(0.01),
    "human tied down": human_tied_down,
    "human turns": human_turns,
}


@cache
def case(name: str) -> Case:
    return CASES[name]()
