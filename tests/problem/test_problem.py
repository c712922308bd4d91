"""Problems: derivatives agree with each other; locks, limits and weights mean what they say."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from exactik import (
    Bone,
    CenterOfMassGoal,
    Joint,
    MarkerGoal,
    OrientationGoal,
    PoseGoal,
    PositionGoal,
    PostureGoal,
    Problem,
    Skeleton,
    SoftLimitGoal,
    UsageError,
    check_derivatives,
    human,
)
from exactik.errors import CoordinateError, GoalError, NonFiniteError, ShapeError, UnknownNameError
from exactik.typing import Array
from tests.support.models import EVERY_JOINT, chain_of, configuration, planar_arm
from tests.support.problems import (
    assert_same,
    goals_between_bodies,
    goals_of_every_kind,
    make_pose_and_goals,
    menagerie,
    positive,
    quantities,
)

FIGURE = menagerie()


def dof(name: str) -> int:
    return FIGURE.dof_names.index(name)


# --- derivatives


@pytest.mark.parametrize("joint", EVERY_JOINT)
def test_every_goal_has_right_derivatives_on_every_joint(joint: str):
    """By differences along `integrate`: goal by goal, all together, and coupled."""
    figure = chain_of([EVERY_JOINT[joint], Joint.revolute("y"), EVERY_JOINT[joint]])
    q, goals = make_pose_and_goals(figure, 2)
    sets = [*([goal] for goal in goals), goals]
    problems = [Problem(figure, chosen, limits="off") for chosen in sets]
    size = problems[-1].residual_size
    problems.append(Problem(figure, goals, limits="off", weight_matrix=positive(1, size)))
    for problem in problems:
        report = check_derivatives(problem, q)
        assert report.ok and report.worst.error <= 1e-8, f"{problem}\n{report}"


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("coupled", [False, True], ids=["apart", "coupled"])
def test_the_hessian_is_symmetric_and_its_product_is_its_product(seed: int, coupled: bool):
    q, goals = make_pose_and_goals(FIGURE, seed)
    size = Problem(FIGURE, goals).residual_size
    problem = Problem(FIGURE, goals, weight_matrix=positive(2, size) if coupled else None)
    hessian = problem.hessian(q)
    assert np.abs(hessian - hessian.T).max() <= 1e-14 * np.abs(hessian).max()
    for x in np.random.default_rng(seed).normal(size=(5, FIGURE.nv)):
        expected = hessian @ x
        assert np.abs(problem.hessian_product(q, x) - expected).max() <= 1e-13 * np.abs(
            hessian
        ).max() * np.linalg.norm(x)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("coupled", [False, True], ids=["apart", "coupled"])
def test_cost_gradient_and_gauss_newton_follow_from_residual_and_jacobian(seed: int, coupled: bool):
    """½ rᵀWr, −JᵀWr and JᵀWJ for the weights of the goals and for a matrix over all rows."""
    q, goals = make_pose_and_goals(FIGURE, seed)
    own = Problem(FIGURE, goals)
    weight = positive(3, own.residual_size)
    problem = Problem(FIGURE, goals, weight_matrix=weight) if coupled else own
    w = weight.copy() if coupled else np.zeros_like(weight)
    for goal, rows in zip(goals, own.rows.values(), strict=True):
        if not coupled:
            given = np.asarray(goal.weight, dtype=float)
            m = rows.stop - rows.start
            w[rows, rows] = given if given.ndim == 2 else np.diag(np.broadcast_to(given, m))
    r, jacobian = problem.residual(q), problem.jacobian(q)
    x = np.random.default_rng(5).normal(size=FIGURE.nv)
    hessian = problem.hessian(q)
    expected = {
        "cost": np.asarray(0.5 * r @ w @ r),
        "gradient": -jacobian.T @ w @ r,
        "gauss_newton": jacobian.T @ w @ jacobian,
        "hessian": hessian,
        "hessian_product": hessian @ x,
    }
    assert_same(quantities(problem, q), expected, 1e-13)


@pytest.mark.parametrize("seed", range(5))
def test_subtree_sums_and_dense_matrices_are_one(seed: int):
    """The weights of the goals written as a weight_matrix take the other path."""
    q, goals = make_pose_and_goals(FIGURE, seed)
    options: dict[str, Any] = {"limits": "soft", "lock": ("swing", "*.ey")}
    sums = Problem(FIGURE, goals, **options)
    dense = Problem(FIGURE, goals, weight_matrix=sums.packed.weight, **options)
    assert not sums.packed.coupled and dense.packed.coupled
    assert_same(quantities(dense, q), quantities(sums, q), 1e-12)
    np.testing.assert_allclose(dense.residual(q), sums.residual(q), rtol=0, atol=1e-15)
    np.testing.assert_allclose(dense.jacobian(q), sums.jacobian(q), rtol=0, atol=1e-15)


def test_a_weight_matrix_takes_the_place_of_the_goals_own_weights():
    q, goals = make_pose_and_goals(FIGURE, 1)
    heavier = [type(g)(**{**vars(g), "weight": 5.0}) for g in goals]
    weight = positive(4, Problem(FIGURE, goals).residual_size)
    one, other = (Problem(FIGURE, g, weight_matrix=weight) for g in (goals, heavier))
    assert_same(quantities(one, q), quantities(other, q), 0.0)


def test_where_nothing_is_left_to_do_gauss_newton_is_exact():
    """At a pose that meets all goals the residual's own curvature has no say; elsewhere it has."""
    q = configuration(FIGURE, 6)
    pose = FIGURE.forward(q)
    goals = [MarkerGoal(m, p) for m, p in zip(FIGURE.markers, pose.markers, strict=True)]
    k = FIGURE.bone_index("quat")
    transform = np.eye(4)
    transform[:3, :3], transform[:3, 3] = pose.rotations[k], pose.positions[k]
    turned = OrientationGoal("pair", pose.rotations[-1])
    problem = Problem(FIGURE, [*goals, PoseGoal("quat", transform), turned, PostureGoal(q)])
    exact, newton = problem.hessian(q), problem.gauss_newton(q)
    assert np.abs(exact - newton).max() <= 1e-13 * np.abs(newton).max()
    assert np.abs(problem.gradient(q)).max() <= 1e-13
    away = FIGURE.integrate(q, np.full(FIGURE.nv, 0.1))
    difference = problem.hessian(away) - problem.gauss_newton(away)
    assert np.abs(difference).max() >= 1e-2 * np.abs(newton).max()


def branch(name: str) -> str:
    """The child of the root that a dof hangs on."""
    bone = FIGURE.bones[FIGURE.bone_index(name.split(".")[0])]
    while bone.parent not in (None, "root"):
        bone = FIGURE.bones[FIGURE.bone_index(str(bone.parent))]
    return bone.name


def test_dofs_on_different_branches_do_not_see_each_other():
    """Exactly zero between branches, and nowhere else for goals on every bone."""
    q = configuration(FIGURE, 7)
    goals = [MarkerGoal(marker, (0.3, -0.4, 0.5)) for marker in FIGURE.markers]
    goals += [OrientationGoal(bone, np.eye(3), weight=(1, 2, 3)) for bone in FIGURE.bone_names]
    problem = Problem(FIGURE, goals)
    names = [branch(name) for name in FIGURE.dof_names]
    apart = np.array([[a != b and "root" not in (a, b) for b in names] for a in names])
    assert apart.sum() == 2 * (7 * 7 + 7 * 9 + 7 * 9)
    for matrix in (problem.hessian(q), problem.gauss_newton(q)):
        assert not matrix[apart].any()
        assert (np.abs(matrix[~apart]) > 1e-12).mean() > 0.9


def test_a_figure_without_dofs_has_a_cost_and_nothing_to_change_it():
    bones = [Bone("a", offset=(1, 0, 0)), Bone("b", parent="a", offset=(0, 1, 0))]
    statue = Skeleton.build("statue", bones, {"M": ("b", (0, 0, 1))})
    goals = [MarkerGoal("M", (1, 1, 3)), PostureGoal([]), SoftLimitGoal()]
    for weight in (None, np.eye(3)):
        problem = Problem(statue, goals, weight_matrix=weight)
        assert problem.cost([]) == 2.0
        assert problem.residual([]).tolist() == [0, 0, 2]
        assert problem.gradient([]).shape == problem.hessian_product([], []).shape == (0,)
        assert problem.hessian([]).shape == problem.gauss_newton([]).shape == (0, 0)
        assert problem.jacobian([]).shape == (3, 0)


@pytest.mark.parametrize("scale", [2.0, 1e-3, 1e5])
def test_the_length_of_a_quaternion_does_not_matter(scale: float):
    q, goals = make_pose_and_goals(FIGURE, 3)
    longer = q.copy()
    longer[3:7] *= scale
    problem = Problem(FIGURE, goals)
    assert_same(quantities(problem, longer), quantities(problem, q), 1e-13)


# --- locks


def columns(*names: str) -> list[bool]:
    return [name in names for name in FIGURE.dof_names]


@pytest.mark.parametrize(
    ("lock", "expected"),
    [
        ("hinge", columns("hinge.ry")),
        (("hinge", "slide"), columns("hinge.ry", "slide.t")),
        ("ball.ey", columns("ball.ey")),
        (["ball.e?", "root.t[xz]"], columns("ball.ex", "ball.ey", "ball.ez", "root.tx", "root.tz")),
        ("*.rz", columns("euler.rz", "proper.rz", "pair.rz")),
        ("s*", [name.startswith("s") for name in FIGURE.dof_names]),
        ("*", [True] * FIGURE.nv),
        ("plate", [False] * FIGURE.nv),  # a bone that has no dofs
        ((), [False] * FIGURE.nv),
        (("hinge", "hinge.ry", "h*"), columns("hinge.ry")),
    ],
)
def test_a_lock_names_bones_or_dofs_or_patterns_of_them(lock: Any, expected: list[bool]):
    problem = Problem(FIGURE, [MarkerGoal("BALL1", (0, 0, 0))], lock=lock)
    assert problem.locked.tolist() == expected


@pytest.mark.parametrize("coupled", [False, True], ids=["apart", "coupled"])
def test_locked_dofs_are_zero_and_the_others_as_before(coupled: bool):
    q, goals = make_pose_and_goals(FIGURE, 8)
    size = Problem(FIGURE, goals).residual_size
    weight = positive(5, size) if coupled else None
    open_, held = (
        Problem(FIGURE, goals, weight_matrix=weight, lock=lock)
        for lock in ((), ("ball.ey", "swing", "root.t*", "quat.w*"))
    )
    free = ~held.locked
    assert 0 < free.sum() < FIGURE.nv
    both = np.outer(free, free)
    x = np.random.default_rng(5).normal(size=FIGURE.nv)
    expected = quantities(open_, q)
    expected["gradient"] = expected["gradient"] * free
    expected["gauss_newton"] = expected["gauss_newton"] * both
    expected["hessian"] = expected["hessian"] * both
    expected["hessian_product"] = expected["hessian"] @ x
    actual = quantities(held, q)
    assert_same(actual, expected, 1e-14)
    for name in ("gradient", "gauss_newton", "hessian", "hessian_product"):
        assert not actual[name][held.locked].any(), name
    assert np.array_equal(held.residual(q), open_.residual(q))
    assert np.array_equal(held.jacobian(q), open_.jacobian(q) * free)


@pytest.mark.parametrize("pattern", ["hnige", "ball.rx", "x*", ""])
def test_a_lock_or_strength_that_fits_nothing_is_refused(pattern: str):
    goal = MarkerGoal("BALL1", (0, 0, 0))
    with pytest.raises(UnknownNameError, match="no bone or dof named"):
        Problem(FIGURE, [goal], lock=("hinge", pattern))
    with pytest.raises(UnknownNameError, match="no bone or dof named"):
        Problem(FIGURE, [goal], strength={pattern: 0.5})


def test_an_unknown_lock_is_answered_by_near_misses():
    with pytest.raises(KeyError, match="'hnige'; did you mean 'hinge'"):
        Problem(FIGURE, [MarkerGoal("BALL1", (0, 0, 0))], lock="hnige")


# --- strengths


def test_strength_is_reported_and_never_part_of_the_cost():
    q, goals = make_pose_and_goals(FIGURE, 9)
    plain = Problem(FIGURE, goals)
    strong = Problem(FIGURE, goals, strength={"b*": 0.2, "ball.ex": 3.0, "root": 10.0})
    assert (plain.strength == 1.0).all()
    expected = np.ones(FIGURE.nv)
    expected[:6] = 10.0
    expected[dof("ball.ex")] = 3.0
    expected[[dof("ball.ey"), dof("ball.ez")]] = 0.2
    np.testing.assert_array_equal(strong.strength, expected)
    assert_same(quantities(strong, q), quantities(plain, q), 0.0)
    assert np.array_equal(strong.residual(q), plain.residual(q))


@pytest.mark.parametrize("value", [0.0, -1.0, np.inf, np.nan])
def test_a_strength_is_positive_and_finite(value: float):
    with pytest.raises(UsageError, match=f"strength of 'ball' is {value}"):
        Problem(FIGURE, [MarkerGoal("BALL1", (0, 0, 0))], strength={"ball": value})


# --- limits


def test_hard_limits_are_kept_soft_ones_paid_and_others_forgotten():
    goals = [MarkerGoal("BALL1", (0, 0, 0))]
    hard, soft, off = (Problem(FIGURE, goals, limits=m) for m in ("hard", "soft", "off"))
    assert np.array_equal(hard.lower, FIGURE.lower) and np.array_equal(hard.upper, FIGURE.upper)
    for problem in (soft, off):
        assert (problem.lower == -np.inf).all() and (problem.upper == np.inf).all()
    assert [len(p.goals) for p in (hard, soft, off)] == [1, 2, 1]
    assert list(soft.rows) == ["BALL1", "soft limits"]
    q = configuration(FIGURE, 9)
    assert_same(quantities(hard, q), quantities(off, q), 0.0)
    asked = Problem(FIGURE, [*goals, SoftLimitGoal()])
    assert_same(quantities(soft, q), quantities(asked, q), 0.0)
    assert soft.cost(q) > off.cost(q) + 0.1


@pytest.mark.parametrize("limits", ["firm", "", None, True])
def test_other_words_for_limits_are_refused(limits: Any):
    with pytest.raises(UsageError, match="it must be 'hard', 'soft' or 'off'"):
        Problem(FIGURE, [MarkerGoal("BALL1", (0, 0, 0))], limits=limits)


@pytest.mark.parametrize(
    ("angle", "residual"), [(0.5, 0.0), (-1.0, 0.0), (2.0, 0.0), (2.75, -0.75), (-1.5, 0.5)]
)
def test_a_soft_limit_pushes_from_outside_only(angle: float, residual: float):
    """½ w r²: force −w r and stiffness w outside, nothing inside or on the limit."""
    hinge = Skeleton.build("hinge", [Bone("h", joint=Joint.revolute(limits=(-1, 2)))])
    problem = Problem(hinge, [SoftLimitGoal(weight=3.0)])
    outside = float(residual != 0.0)
    assert problem.residual([angle]).tolist() == [residual]
    assert problem.cost([angle]) == 1.5 * residual**2
    assert problem.gradient([angle]).tolist() == [-3.0 * residual]
    assert problem.jacobian([angle]).tolist() == [[outside]]
    assert problem.hessian([angle]).tolist() == [[3.0 * outside]]
    assert problem.gauss_newton([angle]).tolist() == [[3.0 * outside]]
    assert problem.hessian_product([angle], [2.0]).tolist() == [6.0 * outside]


def test_dofs_without_limits_pay_nothing():
    q = configuration(FIGURE, 9)
    q[:3], q[7:] = 1e3, 50.0
    residual = Problem(FIGURE, [SoftLimitGoal()]).residual(q)
    limited = np.isfinite(FIGURE.lower)
    assert (residual[limited] != 0.0).all()
    assert not residual[~limited].any()


# --- misuse


METHODS = ("cost", "gradient", "gauss_newton", "hessian", "residual", "jacobian")


@pytest.mark.parametrize("method", METHODS)
def test_a_bad_configuration_is_named(method: str):
    problem = Problem(FIGURE, [MarkerGoal("BALL1", (0, 0, 0))])
    call = getattr(problem, method)
    q = FIGURE.neutral()
    for value, word in ((np.nan, "nan"), (np.inf, "inf"), (-np.inf, "-inf")):
        bad = q.copy()
        bad[8] = value
        with pytest.raises(NonFiniteError, match=rf"q\[8\] is {word}"):
            call(bad)
    for shape in ((), (FIGURE.nq - 1,), (FIGURE.nq + 1,), (2, FIGURE.nq)):
        with pytest.raises(ShapeError, match="q has shape"):
            call(np.ones(shape))
    bad = q.copy()
    bad[3:7] = 0.0
    with pytest.raises(CoordinateError, match="zero quaternion for bone 'root'"):
        call(bad)


def test_a_bad_direction_is_named():
    problem = Problem(FIGURE, [MarkerGoal("BALL1", (0, 0, 0))])
    q = FIGURE.neutral()
    with pytest.raises(NonFiniteError, match=r"x\[2\] is nan"):
        problem.hessian_product(q, np.where(np.arange(FIGURE.nv) == 2, np.nan, 0.0))
    with pytest.raises(ShapeError, match="x has shape"):
        problem.hessian_product(q, np.zeros(FIGURE.nv + 1))
    with pytest.raises(NonFiniteError, match=r"q\[0\] is nan"):
        problem.hessian_product(np.full(FIGURE.nq, np.nan), np.zeros(FIGURE.nv))


def test_a_problem_needs_a_goal():
    with pytest.raises(GoalError, match="at least one goal"):
        Problem(FIGURE, [])


@pytest.mark.parametrize(
    ("weight", "error", "message"),
    [
        (np.eye(5), ShapeError, r"weight_matrix has shape \(5, 5\); expected \(6, 6\)"),
        (np.ones(6), ShapeError, "weight_matrix has shape"),
        (np.diag([1, 1, np.nan, 1, 1, 1]), NonFiniteError, r"weight_matrix\[2, 2\] is nan"),
        (np.eye(6) + 0.1 * np.eye(6, k=1), GoalError, "weight_matrix is not symmetric"),
        (np.diag([1.0, 1, 1, 1, 1, -1]), GoalError, "weight_matrix has a negative eigenvalue"),
    ],
)
def test_a_bad_weight_matrix_is_refused(weight: Array, error: type[Exception], message: str):
    goals = [MarkerGoal("BALL1", (0, 0, 0)), PositionGoal("quat", (0, 0, 1))]
    with pytest.raises(error, match=message):
        Problem(FIGURE, goals, weight_matrix=weight)


# --- as an object


def test_one_goal_need_not_be_a_list():
    q = np.array([0.3, 0.4])
    goal: Any = MarkerGoal("HAND", (0.1, 0.5, 0))
    assert Problem(planar_arm(), goal).cost(q) == Problem(planar_arm(), [goal]).cost(q)


def test_printing_names_figure_goals_and_limits():
    goals = [MarkerGoal("HAND", (0.1, 0.5, 0)), PositionGoal("lower", (0, 0, 0), name="elbow")]
    expected = "<Problem: 'planar arm', 6 residuals (HAND, elbow), limits off>"
    assert repr(Problem(planar_arm(), goals, limits="off")) == expected


def test_what_is_asked_cannot_be_changed_through_the_arrays():
    problem = Problem(FIGURE, [MarkerGoal("BALL1", (0, 0, 0))])
    for name in ("lower", "upper", "locked", "strength"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(problem, name)[0] = 1


def test_targets_are_copied():
    target = np.array([0.1, 0.5, 0.0])
    problem = Problem(planar_arm(), [MarkerGoal("HAND", target)])
    before = problem.cost([0.3, 0.4])
    target[:] = 9.0
    assert problem.cost([0.3, 0.4]) == before


def test_results_belong_to_the_caller():
    """Later evaluations do not write into arrays that were handed out."""
    q, goals = make_pose_and_goals(FIGURE, 3)
    problem = Problem(FIGURE, goals)
    first = quantities(problem, q)
    kept = {name: value.copy() for name, value in first.items()}
    quantities(problem, FIGURE.integrate(q, np.ones(FIGURE.nv)))
    assert_same(first, kept, 0.0)


def options() -> Iterator[dict[str, Any]]:
    size = Problem(FIGURE, make_pose_and_goals(FIGURE, 3)[1]).residual_size
    yield {}
    yield {"limits": "soft", "lock": ("ball", "*.rz"), "strength": {"root": 0.5}}
    yield {"limits": "off", "lock": "ball", "weight_matrix": positive(6, size)}
    yield {"lock": (name for name in ("ball", "hinge"))}  # read once, as any iterable


@pytest.mark.parametrize("which", range(4))
def test_pickling_keeps_the_problem(which: int):
    q, goals = make_pose_and_goals(FIGURE, 3)
    problem = Problem(FIGURE, goals, **list(options())[which])
    copy = pickle.loads(pickle.dumps(problem))
    assert_same(quantities(copy, q), quantities(problem, q), 0.0)
    assert repr(copy) == repr(problem)
    assert copy.limits == problem.limits
    for name in ("lower", "upper", "locked", "strength"):
        assert np.array_equal(getattr(copy, name), getattr(problem, name)), name


@pytest.fixture
def hasty_threads() -> Iterator[None]:
    """Threads that take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hasty_threads")
@pytest.mark.parametrize("coupled", [False, True], ids=["apart", "coupled"])
def test_many_threads_get_the_numbers_of_one(coupled: bool):
    """One problem shared by eight threads; a goal written in Python lets them interleave."""
    q, goals = make_pose_and_goals(FIGURE, 4)
    size = Problem(FIGURE, goals).residual_size
    problem = Problem(FIGURE, goals, weight_matrix=positive(7, size) if coupled else None)
    steps = np.random.default_rng(4).normal(scale=0.5, size=(60, FIGURE.nv))
    poses = FIGURE.integrate(q, steps)
    alone = [quantities(problem, q) for q in poses]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda q: quantities(problem, q), poses))
    for ours, theirs in zip(together, alone, strict=True):
        assert_same(ours, theirs, 0.0)


def test_goals_of_every_kind_are_what_they_say():
    """What these tests share has every public goal in it."""
    import exactik

    kinds = {n for n in exactik.__all__ if n.endswith("Goal")} - {"Goal", "FrameGoal"}
    goals = goals_of_every_kind(FIGURE, FIGURE.neutral())
    goals += [*goals_between_bodies("ball", "pair"), CenterOfMassGoal((0, 0, 0))]
    assert {type(g).__name__ for g in goals} == kinds | {"Range"}


def test_a_problem_does_not_follow_what_its_maker_writes_later():
    """Neither itself nor a copy through a pickle: goals and weights are its own."""
    target, W = np.array([0.4, -0.2, 1.0]), np.eye(3)
    figure = human()
    goal = PositionGoal("r_hand", target)
    for problem in (Problem(figure, [goal]), Problem(figure, [goal], weight_matrix=W)):
        before = problem.cost(figure.neutral())
        target += 9.0
        W *= 4.0
        assert problem.cost(figure.neutral()) == before
        assert pickle.loads(pickle.dumps(problem)).cost(figure.neutral()) == before
        target -= 9.0
        W /= 4.0


def test_a_name_with_a_bracket_can_be_locked():
    """A name is itself before it is a pattern."""
    bones = [Bone("a[1]", joint=Joint.revolute("x")), Bone("b", parent="a[1]", joint=Joint.euler())]
    figure = Skeleton.build("brackets", bones)
    problem = Problem(figure, [PositionGoal("b", (1, 0, 0))], lock=["a[1]"])
    assert problem.locked.tolist() == [True, False, False, False]


def test_cost_gradient_and_hessian_come_at_once():
    q, goals = make_pose_and_goals(FIGURE, 2)
    problem = Problem(FIGURE, goals)
    cost, gradient, hessian = problem.evaluate(q)
    assert cost == problem.cost(q)
    assert np.array_equal(gradient, problem.gradient(q))
    assert np.array_equal(hessian, problem.hessian(q))
