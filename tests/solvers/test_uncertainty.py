"""Error bars against Monte Carlo, sensitivities against solving again, and what is undetermined."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik.errors import CoordinateError
from exactik.spatial import exp_rotation
from exactik.typing import Array
from tests.support.models import chain_of, configuration, gantry, planar_arm
from tests.support.problems import goals_of_every_kind, menagerie, positive

SIGMA = 2e-4  # [m] noise of the Monte Carlo draws: the pose follows it nearly linearly
DRAWS = 2000  # a standard deviation is then known to 1.6 %
TIGHT = ik.Newton(tolerance=1e-14)


# --- error bars


def solve_noisy_markers(seed: int, limits: str) -> ik.Result:
    """The human fitted to 41 markers, each a few millimetres off, of weights 0.3 to 2.

    With limits, the figure that wore the markers bent four joints beyond them.
    """
    human, rng = ik.human(), np.random.default_rng(seed)
    low = np.where(np.isfinite(human.lower), human.lower, -0.5)
    high = np.where(np.isfinite(human.upper), human.upper, 0.5)
    q = low + (high - low) * rng.uniform(0.3, 0.7, human.nv)
    bent = {"l_fingers.rx": -1.2, "r_fingers.rx": 1.2}  # a stretched finger reacts with a kink
    if limits == "hard":
        bent |= {"l_shin.ry": -0.35, "r_forearm.rz": -0.4, "l_foot.ry": 1.2, "head.rz": 0.9}
    for name, angle in bent.items():
        q[human.dof_names.index(name)] = angle
    seen = human.forward(q).markers + rng.normal(scale=4e-3, size=(41, 3))
    pairs = zip(human.markers, seen, rng.uniform(0.3, 2.0, 41), strict=True)
    goals = [ik.MarkerGoal(marker, place, weight=weight) for marker, place, weight in pairs]
    return ik.solve(human, goals, q0=q, limits=limits)


def estimate_sd(result: ik.Result, seed: int) -> Array:
    """Standard deviation of each dof over solves with noise on every target."""
    targets = {name: result.problem.goals[k] for k, name in enumerate(result.problem.rows)}
    rng = np.random.default_rng(seed)
    drawn = {
        name: np.asarray(goal.target) + rng.normal(scale=SIGMA, size=(DRAWS, 3))
        for name, goal in targets.items()
        if isinstance(goal, ik.MarkerGoal)
    }
    method = ik.Auto(detour=False)
    batch = ik.solve_batch(result.problem, drawn, q0=result.q, solver=method, threads=1)
    assert np.max(batch.projected_gradient) < 1e-5
    return batch.q.std(axis=0)


@pytest.mark.parametrize(("seed", "limits"), [(3, "off"), (6, "off"), (6, "hard"), (8, "hard")])
def test_error_bars_are_those_of_2000_noisy_recordings(seed: int, limits: str) -> None:
    result = solve_noisy_markers(seed, limits)
    bars = result.covariance(SIGMA)
    seen = estimate_sd(result, seed + 100)
    held = bars.sd == 0.0
    known = np.isfinite(bars.sd) & ~held
    assert known.sum() > 40
    assert held.sum() >= 3 if limits == "hard" else not held.any()
    np.testing.assert_allclose(seen[known], bars.sd[known], rtol=0.1)
    assert seen[held].max(initial=0.0) < 1e-12
    names = np.array(result.problem.skeleton.dof_names)
    assert set(names[held]) <= set(result.active_limits)
    # The inverse Hessian alone is not it: weights are not one, and the markers disagree.
    free = np.ix_(known, known)
    plain = SIGMA * np.sqrt(np.diag(np.linalg.inv(result.problem.hessian(result.q)[free])))
    assert np.abs(seen[known] / plain - 1.0).max() > 0.25


def test_error_bars_sum_the_sensitivities_to_places() -> None:
    """Also of pose goals; directions and rotations have no noise."""
    skeleton = chain_of([ik.Joint.quaternion(), ik.Joint.exp_map(), ik.Joint.euler("ZYX")], 5)
    q = configuration(skeleton, 5)
    goals = [g for g in goals_of_every_kind(skeleton, q, 5) if not isinstance(g, ik.AimGoal)]
    result = ik.solve(skeleton, goals, q0=q, limits="off")
    moved = result.sensitivity()
    placed = (ik.MarkerGoal, ik.PositionGoal, ik.PoseGoal)
    pairs = zip(result.problem.rows, result.problem.goals, strict=True)
    names = [name for name, goal in pairs if isinstance(goal, placed)]
    assert len(names) == 3 and len(moved) == 6
    expected = 4e-4 * np.sum([moved[n][:, :3] @ moved[n][:, :3].T for n in names], axis=0)
    bars = result.covariance(0.02)
    np.testing.assert_allclose(bars.matrix, expected, rtol=1e-12, atol=1e-18)
    np.testing.assert_allclose(bars.sd**2, np.diag(bars.matrix), rtol=1e-12)
    assert np.linalg.eigvalsh(bars.matrix)[0] > -1e-12
    assert bars.undetermined == []
    assert (result.covariance(0.0).matrix == 0.0).all()


# --- what is undetermined


def test_dofs_that_no_marker_sees_are_named_and_their_bars_infinite() -> None:
    human = ik.human()
    q = solve_noisy_markers(3, "hard").q
    seen = dict(zip(human.markers, human.forward(q).markers, strict=True))
    blind = ("r_toes", "r_fingers", "r_hand", "l_shin", "l_foot", "l_toes")
    markers = [name for name, (bone, _) in human.markers.items() if bone not in blind]
    result = ik.solve(human, [ik.MarkerGoal(m, seen[m]) for m in markers], q0=q, limits="off")
    bars = result.covariance(1e-3)
    bones = [name.partition(".")[0] for name in human.dof_names]
    unseen = np.array([bone in blind for bone in bones])
    neck = np.array([bone.endswith("neck") or bone == "head" for bone in bones])
    assert np.isinf(bars.sd[unseen]).all()
    assert np.isfinite(bars.sd[~unseen & ~neck]).all()
    alone = [text for text in bars.undetermined if " " not in text]
    assert sorted(alone) == sorted(np.array(human.dof_names)[unseen])
    # Between a marker on the neck and those of the head a motion is left, by several dofs at once.
    others = [text for text in bars.undetermined if " " in text]
    assert len(others) == 1 and "head.rz" in others[0] and "upper_neck.rz" in others[0]


def redundant_arm(links: int) -> ik.Skeleton:
    bones = [
        ik.Bone(
            f"b{k}",
            parent=f"b{k - 1}" if k > 0 else None,
            offset=(0.3, 0, 0) if k > 0 else (0, 0, 0),
            joint=ik.Joint.revolute("z"),
        )
        for k in range(links)
    ]
    return ik.Skeleton.build("planar", bones, {"TIP": (f"b{links - 1}", (0.3, 0, 0))})


def test_motion_that_keeps_the_hand_is_spelled_as_a_sum_of_dofs() -> None:
    arm, q = redundant_arm(3), np.array([0.3, 0.8, 0.5])
    result = ik.solve(arm, ik.MarkerGoal("TIP", arm.forward(q).markers[0]), q0=q + 0.01)
    bars = result.covariance(1e-3)
    assert np.isinf(bars.sd).all() and np.isinf(np.diag(bars.matrix)).all()
    assert np.isnan(bars.matrix[~np.eye(3, dtype=bool)]).all()
    assert len(bars.undetermined) == 1
    direction = np.zeros(3)
    text = bars.undetermined[0].replace("− ", "-").replace("+ ", "")
    words = text.replace(" b", "*b").split()
    for word in words:
        size, _, name = word.rpartition("*")
        sign = -1.0 if word.startswith("-") else 1.0
        factor = float(size) if size not in ("", "-") else sign
        direction[arm.dof_names.index(name.lstrip("-"))] = factor
    J = result.problem.jacobian(result.q)
    assert np.abs(direction).max() == 1.0
    assert np.linalg.norm(J @ direction) < 0.01 * np.linalg.norm(J)  # written to two digits


def test_a_shift_that_no_goal_sees_has_no_covariance_with_the_others() -> None:
    result = ik.solve(gantry(), ik.PositionGoal("trolley", (0.5, 0.2, 0.3)), q0=[1, 0, -1])
    bars = result.covariance(1e-3)
    assert bars.undetermined == ["hoist.tz"]
    np.testing.assert_allclose(bars.sd, [1e-3, 1e-3, np.inf], rtol=1e-12)
    np.testing.assert_allclose(bars.matrix[:2, :2], 1e-6 * np.eye(2), rtol=1e-12, atol=1e-20)
    assert np.isnan(bars.matrix[2, :2]).all() and np.isnan(bars.matrix[:2, 2]).all()
    np.testing.assert_allclose(result.sensitivity()["trolley"], np.diag([1.0, 1.0, 0.0]))


@pytest.mark.parametrize("noise", [0.0, 0.02])
@pytest.mark.parametrize("seed", range(3))
def test_a_twist_about_the_only_marker_is_undetermined(seed: int, noise: float) -> None:
    """Its curvature is rounding, of either sign: neither a saddle nor an error bar."""
    bones = [
        ik.Bone("upper", joint=ik.Joint.euler("ZYX")),
        ik.Bone("lower", parent="upper", offset=(0.3, 0, 0), joint=ik.Joint.revolute("y")),
        ik.Bone("wrist", parent="lower", offset=(0.25, 0, 0), joint=ik.Joint.revolute("x")),
        ik.Bone("hand", parent="wrist", offset=(0.1, 0, 0)),
    ]
    markers = {"HAND": ("hand", (0.05, 0, 0)), "ELBOW": ("lower", (0.01, 0.02, 0.03))}
    arm, rng = ik.Skeleton.build("arm", bones, markers), np.random.default_rng(seed)
    q = rng.uniform(-1.0, 1.0, arm.nv)
    places = arm.forward(q).markers + noise * rng.normal(size=(2, 3))
    goals = [ik.MarkerGoal(m, place) for m, place in zip(markers, places, strict=True)]
    result = ik.solve(arm, goals, q0=q + 0.1)
    assert result.converged
    bars = result.covariance(1e-3)
    assert bars.undetermined == ["wrist.rx"]
    assert np.isfinite(bars.sd[:4]).all() and np.isinf(bars.sd[4])


# --- sensitivity


def shift_target(goal: ik.Goal, axis: int, step: float) -> Array:
    """The goal's target, moved or turned by a step along one axis."""
    move = np.zeros(6)
    move[axis] = step
    if isinstance(goal, ik.PoseGoal):
        target = np.array(goal.target)
        target[:3, 3] += move[:3]
        target[:3, :3] = exp_rotation(move[3:]) @ target[:3, :3]
        return target
    if isinstance(goal, ik.OrientationGoal):
        return exp_rotation(move[:3]) @ goal.rotation
    assert isinstance(goal, ik.PositionGoal | ik.MarkerGoal | ik.DirectionGoal | ik.AimGoal)
    return np.asarray(goal.target) + move[:3]


def differentiate_by_target(result: ik.Result, name: str, axis: int, step: float = 2e-3) -> Array:
    """dq*/dtarget by fourth-order central differences of poses solved for again."""
    problem, skeleton = result.problem, result.problem.skeleton
    goal = dict(zip(problem.rows, problem.goals, strict=True))[name]

    def at(step: float) -> Array:
        moved = problem.with_targets({name: shift_target(goal, axis, step)})
        return skeleton.difference(ik.solve(moved, q0=result.q, solver=TIGHT).q, result.q)

    near, far = at(step) - at(-step), at(2 * step) - at(-2 * step)
    return (8.0 * near - far) / (12.0 * step)


@cache
def chain() -> ik.Skeleton:
    """Ball joints of both kinds, a hinge and a slider with limits."""
    joints = [
        ik.Joint.quaternion(),
        ik.Joint.revolute("y", limits=(-1.0, 1.0)),
        ik.Joint.exp_map(),
        ik.Joint.prismatic("x", limits=(-0.3, 0.3)),
        ik.Joint.euler("ZYX"),
    ]
    return chain_of(joints, 3)


def conflicting(skeleton: ik.Skeleton, seed: int, **options: Any) -> ik.Result:
    """Two goals of every kind that cannot all be met, solved as exactly as numbers allow."""
    q = skeleton.clip(configuration(skeleton, 4))
    goals = goals_of_every_kind(skeleton, q, seed) + goals_of_every_kind(skeleton, q, seed + 100)
    goals = [g for g in goals if not isinstance(g, ik.SoftLimitGoal)]
    rows = ik.Problem(skeleton, goals).residual_size
    if options.pop("dense", False):
        options["weight_matrix"] = positive(3, rows)
    problem = ik.Problem(skeleton, goals, **options)
    result = ik.solve(problem, q0=ik.solve(problem, q0=q).q, solver=TIGHT)
    assert result.projected_gradient < 1e-12 and result.certificate.min_eigenvalue > 0.1
    return result


CASES: dict[str, dict[str, Any]] = {
    "free": {"limits": "off"},
    "limits": {},
    "soft limits": {"limits": "soft"},
    "locked": {"lock": ("b0", "b2.ey")},
    "dense weights": {"dense": True},
    "menagerie": {"skeleton": menagerie(), "lock": "oblique"},
}


@pytest.mark.parametrize("case", CASES)
def test_the_pose_follows_every_target_as_predicted(case: str) -> None:
    options = dict(CASES[case])
    result = conflicting(options.pop("skeleton", chain()), 8, **options)
    problem = result.problem
    predicted = result.sensitivity()
    named = dict(zip(problem.rows, problem.goals, strict=True))
    assert [name for name in named if hasattr(named[name], "target")] == list(predicted)
    held = np.array([name in result.active_limits for name in problem.skeleton.dof_names])
    assert held.any() == (case not in ("free", "soft limits", "dense weights"))
    stays = held | problem.locked
    H, G = problem.hessian(result.q), problem.gauss_newton(result.q)
    free = np.ix_(~stays, ~stays)
    wrong = []
    for name, ours in predicted.items():
        theirs = np.stack(
            [differentiate_by_target(result, name, axis) for axis in range(ours.shape[1])], axis=1
        )
        assert ours.shape == (problem.skeleton.nv, 6 if isinstance(named[name], ik.PoseGoal) else 3)
        scale = np.abs(theirs).max()
        assert np.abs(ours - theirs).max() <= 1e-6 * scale, name
        assert (ours[stays] == 0.0).all() and np.abs(theirs[stays]).max(initial=0.0) < 1e-12
        # Goals in conflict: without second derivatives of the residual the answer is another.
        first_order = np.linalg.solve(G[free], H[free] @ ours[~stays])
        if scale > 0.0:
            wrong.append(np.abs(first_order - theirs[~stays]).max() / scale)
    assert min(wrong) > 1e-3 and max(wrong) > 0.1


def test_directions_follow_the_vector_as_given_whatever_its_length() -> None:
    arm = planar_arm()
    goals = [ik.DirectionGoal("lower", (1, 0, 0), (0, 5, 0)), ik.PostureGoal([0, 0])]
    result = ik.solve(arm, goals, solver=TIGHT)
    moved = result.sensitivity()["lower.direction"]
    near = np.stack(
        [differentiate_by_target(result, "lower.direction", axis) for axis in range(3)], axis=1
    )
    np.testing.assert_allclose(moved, near, atol=1e-9)
    np.testing.assert_allclose(moved[:, 1], 0.0, atol=1e-15)  # along the vector


@pytest.mark.parametrize("seed", range(20))
def test_what_one_place_determines_of_a_figure_that_floats(seed: int) -> None:
    """A solve stops where the cost is next to nothing; the little that is left bends no minimum."""
    rng = np.random.default_rng(seed)
    elbow = ik.Bone("lower", parent="upper", offset=(0.4, 0, 0), joint=ik.Joint.revolute("y"))
    arm = ik.Skeleton.build("arm", [ik.Bone("upper", joint=ik.Joint.free()), elbow])
    result = ik.solve(arm, ik.PositionGoal("lower", rng.normal(size=3)))
    assert result.reached
    error_bars = result.covariance(1e-3)
    J = arm.jacobian(result.q, "lower")
    assert len(error_bars.undetermined) == arm.nv - np.linalg.matrix_rank(J)
    assert error_bars.sd[-1] == np.inf  # the elbow does not move its own centre
    np.testing.assert_allclose(J @ result.sensitivity()["lower"], np.eye(3), atol=1e-9)


def test_dofs_that_no_goal_asks_for_are_undetermined_and_no_saddle() -> None:
    """Where all that is left of their curvature is the rounding of a large cost."""
    elbow = ik.Bone("lower", parent="upper", offset=(0.4, 0, 0), joint=ik.Joint.revolute("y"))
    arm = ik.Skeleton.build("arm", [ik.Bone("upper", joint=ik.Joint.free()), elbow])
    result = ik.solve(arm, ik.PositionGoal("lower", (9.0, 0.2, 0.3)), lock="upper")
    assert result.status == "out-of-reach"
    assert result.covariance(1e-3).undetermined == ["lower.ry"]


# --- misuse


def test_only_a_minimum_has_error_bars() -> None:
    arm = planar_arm()
    far = ik.MarkerGoal("HAND", (0.3, 0.3, 0.0))
    unfinished = ik.solve(arm, far, solver=ik.Auto(max_iterations=1))
    for ask in (unfinished.sensitivity, lambda: unfinished.covariance(1e-3)):
        with pytest.raises(CoordinateError, match=r"need a minimum; .* did not converge"):
            ask()
    saddle = ik.solve(arm, ik.MarkerGoal("HAND", (0.4, 0, 0)), solver="levenberg-marquardt")
    assert saddle.status == "saddle"
    with pytest.raises(CoordinateError, match="saddle"):
        saddle.covariance(1e-3)


@pytest.mark.parametrize("sigma", [-1.0, np.nan, np.inf])
def test_noise_has_a_size(sigma: float) -> None:
    result = ik.solve(planar_arm(), ik.MarkerGoal("HAND", (0.3, 0.3, 0.0)))
    with pytest.raises(CoordinateError, match=r"sigma is .*; it must be a length ≥ 0 \[m\]"):
        result.covariance(sigma)
