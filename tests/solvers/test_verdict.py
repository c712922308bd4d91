"""What a verdict says: one test per sentence, each on an arm whose answer is known by hand."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import ArrayLike

import exactik as ik
from exactik.solvers import Iterate, PythonMethod, Stepper, View
from exactik.spatial import exp_rotation
from tests.support.problems import Range


def arm(elbow: ArrayLike | None = None) -> ik.Skeleton:
    """Two links of 0.4 and 0.3 m in the plane z = 0, with limits of the elbow."""
    bones = [
        ik.Bone("shoulder", joint=ik.Joint.revolute("z")),
        ik.Bone(
            "elbow",
            parent="shoulder",
            offset=(0.4, 0, 0),
            joint=ik.Joint.revolute("z", limits=elbow),
        ),
    ]
    return ik.Skeleton.build("arm", bones, {"HAND": ("elbow", (0.3, 0, 0))})


def hand(x: float, y: float, z: float = 0.0) -> ik.MarkerGoal:
    return ik.MarkerGoal("HAND", (x, y, z))


# --- the sentences


def test_reached() -> None:
    result = ik.solve(arm(), hand(0.5, 0.2))
    assert result.status == "reached" and result.reached and result.converged
    assert re.fullmatch(
        r"reached: every goal is within its tolerance; worst HAND, \S+ mm of 1 mm", result.why
    )
    assert repr(result) == f"<Result: {result.why}>"


def test_errors_have_as_many_digits_as_anybody_needs() -> None:
    part = ik.solve(arm(), hand(0.5, 0.2)).problem.packed.error_parts[0]
    said = [part.describe(error) for error in (0.0, 9e-7, 1.5e-6, 0.0123, 0.41)]
    assert said == ["<0.001 mm", "<0.001 mm", "0.0015 mm", "12.3 mm", "0.41 m"]
    turn = part._replace(unit="rad")
    assert [turn.describe(e) for e in (1e-6, 0.5e-3, 0.1)] == ["<0.001°", "0.0286°", "5.73°"]
    assert part._replace(unit="").describe(1e-9) == "1e-09"


def test_at_limits() -> None:
    """The elbow bends to 0.5 rad and no further, where the hand can come no nearer than 0.677 m."""
    result = ik.solve(arm((-0.2, 0.5)), hand(0.0, 0.4), q0=(0.5, 0.1))
    assert result.status == "at-limits" and result.converged and not result.reached
    reach = np.sqrt(0.4**2 + 0.3**2 + 2 * 0.4 * 0.3 * np.cos(0.5))
    assert result.goal_errors["HAND"] == pytest.approx(reach - 0.4)
    assert result.why == (
        f"converged, but HAND is {reach - 0.4:.3g} m short: elbow.rz is at its upper limit, "
        "which stops it here; a better pose elsewhere is not excluded, try starts="
    )
    assert result.active_limits == {"elbow.rz": "upper"}


@pytest.mark.parametrize("q0", [(0.3, 0.4), (0.0, 0.0), (2.0, -2.0)])
def test_out_of_reach(q0: ArrayLike) -> None:
    result = ik.solve(arm(), hand(0.9, 0.0), q0=q0)
    assert (result.status, result.why) == (
        "out-of-reach",
        "out of reach: HAND is 0.2 m beyond full stretch",
    )


def test_a_target_in_another_unit_than_metres_is_suspected() -> None:
    for reaches, said in ((10, False), (99, True), (2001, True)):
        why = ik.solve(arm(), hand(0.7 * reaches, 0.0)).why
        assert ("targets are in metres" in why) == said
    assert why.startswith("out of reach: HAND is 1400 m beyond full stretch")


def test_out_of_reach_knows_limits() -> None:
    """An elbow that cannot stretch makes the arm shorter."""
    result = ik.solve(arm((1.0, 2.0)), hand(0.0, 0.9))
    reach = np.sqrt(0.4**2 + 0.3**2 + 2 * 0.4 * 0.3 * np.cos(1.0))
    assert result.why == f"out of reach: HAND is {0.9 - reach:.3g} m beyond full stretch"


@pytest.mark.parametrize("solver", ["newton", "gauss-newton", "levenberg-marquardt", "bfgs", "ccd"])
def test_saddle(solver: str) -> None:
    """A straight arm cannot tell which way to bend for a target on its line; auto bends anyway."""
    result = ik.solve(arm(), hand(0.3, 0.0), solver=solver)
    assert result.status == "saddle" and result.converged
    assert result.certificate.saddle and result.certificate.min_eigenvalue < 0.0
    assert re.fullmatch(
        r"stopped at a saddle \(smallest eigenvalue -\S+\), HAND is 0.4 m short: the cost falls "
        r"from here, go on with solver='auto' or start elsewhere",
        result.why,
    )
    assert ik.solve(arm(), hand(0.3, 0.0)).status == "reached"


@pytest.mark.parametrize("x", [0.1, 0.3, 0.5])
def test_auto_leaves_a_saddle_that_it_is_led_to(x: float) -> None:
    """From a turned but straight chain the gradient leads to the straight one, never out of it."""
    bones = [
        ik.Bone(
            f"b{k}",
            parent=f"b{k - 1}" if k > 0 else None,
            offset=(0.3 if k > 0 else 0.0, 0, 0),
            joint=ik.Joint.revolute("yzz"[k]),
        )
        for k in range(3)
    ]
    chain = ik.Skeleton.build("chain", bones, {"TIP": ("b2", (0.3, 0, 0))})
    assert ik.solve(chain, ik.MarkerGoal("TIP", (x, 0, 0)), q0=(0.3, 0, 0)).status == "reached"


def test_local_minimum() -> None:
    """Hand and elbow are given, and the elbow is on the wrong side; other starts are not."""
    pose = arm().forward((1.0, -1.2))
    place = ik.MarkerGoal("HAND", pose.point("elbow", (0.3, 0, 0)), weight=100.0)
    goals = [place, ik.PositionGoal("elbow", pose.point("elbow"))]
    mirrored = ik.solve(arm(), place, q0=(-1.0, 1.2))
    result = ik.solve(arm(), goals, q0=mirrored.q)
    assert result.status == "local-minimum" and result.converged and not result.certificate.saddle
    assert re.fullmatch(
        r"converged to a local minimum, (HAND|elbow) is \S+ m short; "
        "a better pose elsewhere is not excluded, try starts=",
        result.why,
    )
    assert ik.solve(arm(), goals, q0=mirrored.q, starts=20).status == "reached"


def test_starts_that_found_nothing() -> None:
    """Goals that contradict each other: no start does better, and the sentence says so."""
    goals = [hand(0.5, 0.2), ik.MarkerGoal("HAND", (0.5, 0.3, 0), name="again")]
    result = ik.solve(arm(), goals, starts=5)
    assert result.status == "local-minimum"
    assert re.fullmatch(
        r"converged to a local minimum, (HAND|again) is 50 mm short; "
        "nothing better was found in 5 descents",
        result.why,
    )


@dataclass(frozen=True, kw_only=True)
class Idle(PythonMethod):
    """A method that knows no step."""

    name = "idle"
    control: float = field(default=0.0, init=False)

    def stepper(self, view: View) -> Stepper:
        return self  # pyright: ignore[reportReturnType]

    def step(self, place: Iterate) -> Iterate | None:
        return None


def test_stalled() -> None:
    result = ik.solve(arm(), hand(0.5, 0.2), solver=Idle())
    assert result.status == "stalled" and not result.converged
    assert re.fullmatch(
        r"stalled: no step of 'idle' lowers the cost, HAND is 0.283 m short; "
        r"relative projected gradient \d\.\de-01",
        result.why,
    )


def test_iteration_limit() -> None:
    result = ik.solve(arm(), hand(0.5, 0.2), solver=ik.Auto(max_iterations=2))
    assert result.status == "iteration-limit" and not result.converged
    assert re.fullmatch(
        r"out of iterations after 2, HAND is \S+ m?m short; relative projected gradient \S+",
        result.why,
    )


def test_posture_alone() -> None:
    """A posture is judged where there is nothing else to judge by."""
    result = ik.solve(arm((-0.2, 0.5)), ik.PostureGoal((0.3, 0.4)))
    assert re.fullmatch(r"reached: .*; worst posture, \S+° of 0.573°", result.why)
    result = ik.solve(arm((-0.2, 0.5)), ik.PostureGoal((0.3, 1.5)))
    assert result.why == (
        "converged, but posture is 57.3° off: elbow.rz is at its upper limit, which stops it here; "
        "a better pose elsewhere is not excluded, try starts="
    )


def test_posture_beside_a_goal_is_a_wish() -> None:
    result = ik.solve(arm(), [hand(0.5, 0.2), ik.PostureGoal((2.0, 2.0), weight=1e-9)])
    assert result.status == "reached" and list(result.goal_errors) == ["HAND"]


def test_goal_of_a_users_own() -> None:
    """Nobody knows its unit, so none is given."""
    result = ik.solve(arm(), Range("elbow", (0.0, 0.0, 0.0), (0.3, 0, 0)), q0=(0.3, 0.5))
    assert result.why == (
        "converged to a local minimum, elbow.Range is 0.3 off; "
        "a better pose elsewhere is not excluded, try starts="
    )
    assert ik.solve(arm(), Range("elbow", (0.5, 0.5, 0), (0.3, 0, 0))).status == "reached"


def test_rotation_of_a_pose() -> None:
    """Iterate and rotation of a pose are judged apart: here the place is reached."""
    place = arm().forward((0.4, 0.7))
    target = np.eye(4)
    target[:3, :3] = exp_rotation(np.radians([3.1, 0, 0])) @ place.rotations[1]
    target[:3, 3] = place.positions[1]
    result = ik.solve(arm(), ik.PoseGoal("elbow", target))
    assert result.why == (
        "converged to a local minimum, elbow.rotation is 3.1° off; "
        "a better pose elsewhere is not excluded, try starts="
    )
    assert list(result.goal_errors) == ["elbow", "elbow.rotation"]
    assert result.goal_errors["elbow"] < 1e-3


def test_rows_without_weight_are_not_judged() -> None:
    """A goal on x and y alone is reached wherever z is, and never out of reach by z."""
    goal = ik.MarkerGoal("HAND", (0.5, 0.2, 5.0), weight=(1, 1, 0))
    assert ik.solve(arm(), goal).status == "reached"
