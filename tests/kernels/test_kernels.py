"""The rules of the kernels: no allocation, nothing read that was not written, plain Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numba.core.errors import NumbaError

from exactik import DirectionGoal, FrameGoal, MarkerGoal, Problem, Skeleton
from exactik.compile import Kernel, jit, jit_forceinline, load_library
from exactik.kernels.calculus import dense
from exactik.kernels.calculus import evaluate as kernel
from exactik.kernels.calculus.workspace import Workspace, new_workspace
from exactik.kernels.goals import clouds
from exactik.kernels.goals.sums import EXACT, GAUSS_NEWTON, GRADIENT, VALUE
from exactik.kernels.linear.ltdl import factor, solve
from exactik.typing import Array
from tests.support.checkout import ROOT
from tests.support.every_kernel import answers
from tests.support.models import configuration
from tests.support.problems import assert_same, make_pose_and_goals, menagerie, quantities
from tests.support.quadratics import spoil

FIGURE = menagerie()
compiled_only = pytest.mark.skipif(
    not isinstance(kernel.evaluate, Kernel), reason="nothing is compiled"
)


# --- nothing is read that was not written


def spoilt_work(skeleton: Skeleton) -> Workspace:
    """Scratch space without a number in it."""
    work = new_workspace(skeleton.tree)
    spoil(work)
    return work


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("order", [VALUE, GRADIENT, GAUSS_NEWTON, EXACT])
def test_results_do_not_depend_on_what_the_scratch_space_held(order: int, seed: int):
    """To the last bit, whether it holds zeros, not-a-numbers or the evaluation of another pose."""
    q, goals = make_pose_and_goals(FIGURE, seed)
    tree, arrays = FIGURE.tree, Problem(FIGURE, goals[:-1]).packed.arrays
    clean, spoilt, used = new_workspace(tree), spoilt_work(FIGURE), new_workspace(tree)
    kernel.evaluate(tree, arrays, configuration(FIGURE, 99), EXACT, used)
    costs = [kernel.evaluate(tree, arrays, q, order, work) for work in (clean, spoilt, used)]
    assert np.isfinite(costs[0]) and costs[0] == costs[1] == costs[2]
    for work in (spoilt, used):
        if order >= GRADIENT:
            assert np.array_equal(work.g, clean.g)
        if order > GRADIENT:
            for i, level in enumerate(tree.dof_level.astype(int)):
                assert np.array_equal(work.H[i, : level + 1], clean.H[i, : level + 1])
    assert order < GRADIENT or np.isfinite(spoilt.g).all()


def test_factor_and_solve_never_read_padding():
    """From the Hessian of a spoilt scratch space to the step, no not-a-number gets through."""
    q, goals = make_pose_and_goals(FIGURE, 1)
    problem = Problem(FIGURE, goals[:-1])
    tree, work = FIGURE.tree, spoilt_work(FIGURE)
    kernel.evaluate(tree, problem.packed.arrays, q, GAUSS_NEWTON, work)
    assert np.isnan(work.H).any()  # the padding
    assert factor(tree, work.H) > 0.0
    step = -work.g
    scratch = np.full(work.H.shape[1], np.nan)
    solve(tree, work.H, step, scratch)
    expected = np.linalg.solve(problem.gauss_newton(q), -problem.gradient(q))
    np.testing.assert_allclose(step, expected, atol=1e-10 * np.abs(expected).max())


def test_the_hessian_product_reads_only_what_it_wrote():
    q, goals = make_pose_and_goals(FIGURE, 2)
    problem = Problem(FIGURE, goals[:-1])
    tree, arrays, work = FIGURE.tree, problem.packed.arrays, spoilt_work(FIGURE)
    x, y = np.random.default_rng(0).normal(size=FIGURE.nv), np.full(FIGURE.nv, np.nan)
    V, A = (np.full((len(tree.parent), 6), np.nan) for _ in range(2))
    kernel.begin_evaluation(tree, arrays, q, EXACT, work)
    kernel.multiply_hessian(tree, arrays, q, EXACT, x, V, A, y, work)
    assert np.array_equal(y, problem.hessian_product(q, x))


def test_rows_and_forces_read_only_what_they_wrote():
    """The dense path: residual, Jacobian, and what forces on the rows bend."""
    q, goals = make_pose_and_goals(FIGURE, 2)
    problem = Problem(FIGURE, goals[:-1])
    tree, arrays = FIGURE.tree, problem.packed.arrays
    m = problem.residual_size
    force = np.random.default_rng(0).normal(size=m)
    bends = []
    for work in (new_workspace(tree), spoilt_work(FIGURE)):
        r, J = np.zeros(m), np.zeros((m, FIGURE.nv))
        dense.write_residual_and_jacobian(tree, arrays, q, work, r, J)
        assert np.array_equal(r, problem.residual(q))
        assert np.array_equal(J, problem.jacobian(q))
        dense.begin_residual_curvature(arrays, force, work)
        dense.finish_residual_curvature(tree, arrays, q, force, work)
        levels = tree.dof_level.astype(int)
        bends.append(np.concatenate([work.H[i, : n + 1] for i, n in enumerate(levels)]))
    assert np.isfinite(bends[0]).all() and np.array_equal(*bends)


def test_arguments_are_not_written_to():
    q, goals = make_pose_and_goals(FIGURE, 2)
    problem = Problem(FIGURE, goals[:-1])
    arrays, before = problem.packed.arrays, q.copy()
    kept = [np.copy(a) for part in (arrays.terms, arrays.clouds, arrays.coordinates) for a in part]
    kernel.evaluate(FIGURE.tree, arrays, q, EXACT, new_workspace(FIGURE.tree))
    now = [a for part in (arrays.terms, arrays.clouds, arrays.coordinates) for a in part]
    assert np.array_equal(q, before)
    assert all(np.array_equal(a, b) for a, b in zip(kept, now, strict=True))


# --- clouds, once per frame


def test_clouds_of_new_targets_are_those_of_another_problem():
    """Targets may change between frames; what an earlier frame left behind does not count."""
    rng = np.random.default_rng(4)
    q = configuration(FIGURE, 4)
    first, second = rng.normal(size=(2, len(FIGURE.markers) + 1, 3))

    def problem_of(targets: Array) -> Problem:
        goals = [MarkerGoal(m, t) for m, t in zip(FIGURE.markers, targets[:-1], strict=True)]
        return Problem(FIGURE, [*goals, DirectionGoal("ball", (1, 0, 0), targets[-1])])

    old, new = problem_of(first), problem_of(second)
    arrays, work = old.packed.arrays, new_workspace(FIGURE.tree)
    targets = second - arrays.origin
    targets[-1] = second[-1] / np.linalg.norm(second[-1])
    arrays = arrays._replace(terms=arrays.terms._replace(target=targets))
    for _ in range(2):
        clouds.reduce_to_clouds(arrays.terms, arrays.cloud_of_frame, arrays.clouds)
        cost = kernel.evaluate(FIGURE.tree, arrays, q, EXACT, work)
        assert cost == pytest.approx(new.cost(q), rel=1e-13)
        np.testing.assert_allclose(work.g, new.gradient(q), atol=1e-12)


# --- compilation


@compiled_only
@pytest.mark.parametrize("decorator", [jit, jit_forceinline])
def test_a_kernel_that_allocates_does_not_compile(decorator: Any):
    @decorator
    def frugal(x, out):
        for i in range(x.shape[0]):
            out[i] = 2.0 * x[i]

    @decorator
    def wasteful(x, out):
        y = np.zeros(x.shape[0])
        for i in range(x.shape[0]):
            y[i] = 2.0 * x[i]
            out[i] = y[i]

    out = np.zeros(3)
    frugal(np.ones(3), out)
    assert out.tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(NumbaError, match="zeros"):
        wasteful(np.ones(3), out)


def read_only(array: Array) -> Array:
    array = array.copy()
    array.flags.writeable = False
    return array


def make_strided(array: Array) -> Array:
    return np.repeat(array[..., None], 2, axis=-1)[..., 0]


class Transposed(FrameGoal):
    """Its derivatives come as transposed and read-only arrays."""

    def residual(self, rotation: Array, position: Array) -> Array:
        return position

    def derivatives(self, rotation: Array, position: Array) -> tuple[Array, Array]:
        first = np.vstack([np.zeros((3, 3)), np.eye(3)]).T
        return read_only(first), np.zeros((6, 6, 3)).T


@pytest.mark.skipif(load_library() is None, reason="no library was built")
@pytest.mark.parametrize("make", [np.copy, read_only, make_strided])
def test_arrays_of_any_layout_need_no_compiler(make: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("EXACTIK_COMPILED", "strict")
    q, goals = make_pose_and_goals(FIGURE, 1)
    many, v = make(np.tile(q, (3, 1))), make(np.ones(FIGURE.nv))
    q = make(q)
    for chosen in (goals, goals[:-1], [Transposed("ball")]):
        problem = Problem(FIGURE, chosen)
        quantities(problem, q)
        problem.jacobian(q)
        problem.hessian_product(q, v)
    for one, other, step in ((q, q, v), (many, q, v), (q, many, make(np.tile(v, (3, 1))))):
        FIGURE.forward(one)
        FIGURE.integrate(one, step)
        FIGURE.difference(one, other)


# --- kernels are plain Python


def test_without_compilation_the_numbers_are_the_same():
    """All joints and goals, sums and dense path, locks, steps: the kernels are plain Python."""
    answer = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            str(ROOT / "tests" / "support" / "every_kernel.py"),
        ],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    pure, compiled = json.loads(answer.stdout), answers()
    assert pure.keys() == compiled.keys()
    for name, ours in pure.items():
        assert_same({key: np.array(value) for key, value in ours.items()}, compiled[name], 1e-12)
