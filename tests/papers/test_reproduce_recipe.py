"""The experiments of the Recipe: what they rest on, on small settings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik.spatial import cross
from exactik_papers import EXPERIMENTS, Recording
from exactik_papers.recipe import limits as limits
from exactik_papers.recipe import solvers as solvers
from exactik_papers.recipe import trim as trim
from exactik_papers.recipe.counted import count_operations
from exactik_papers.recipe.jacobian_passes import (
    BODY,
    DIFFERENCES,
    WAYS,
    WORLD,
    compute_jacobian,
    operations,
)
from exactik_papers.recipe.jacobian_steps import JT, LAMBDA, PINV, QR, SR, STEPS, SVD
from exactik_papers.recipe.passes import POINT, chain, somewhere

pytest.importorskip("matplotlib")


def nothing(done: int, total: int) -> None:
    assert 0 <= done <= total


@pytest.mark.full
@pytest.mark.parametrize("way", WAYS)
def test_all_ways_lead_to_the_jacobian(way: str):
    for figure, bone in ((ik.human(), "l_hand"), (chain(5), "b4")):
        q = somewhere(figure)
        J = compute_jacobian(way, figure, q, bone, POINT)
        exact = figure.jacobian(q, bone, POINT)
        assert np.abs(J - exact).max() < (1e-9 if way == DIFFERENCES else 1e-12)


def test_what_is_counted_is_what_is_computed():
    figure = chain(4)
    q = somewhere(figure)
    _, J = operations(WORLD, figure, q, ["b3"], POINT)
    assert np.abs(J - figure.jacobian(q, "b3", POINT)).max() < 1e-12


def test_flops_of_a_cross_product():
    def product(a, b, out):
        out[0], out[1], out[2] = cross(a[0], a[1], a[2], b[0], b[1], b[2])

    a, b = np.array([[1.0, 2.0, 3.0], [-2.0, 0.5, 4.0]])
    count, after = count_operations(product, a, b, np.zeros(3))
    assert count.flops == 9 and count.turns == 0
    assert [float(x) for x in after[2]] == np.cross(a, b).tolist()


def test_passes_grow_linearly_and_differences_quadratically():
    flops = {
        (way, n): operations(way, chain(n), somewhere(chain(n)), [f"b{n - 1}"], POINT)[0].flops
        for way in (WORLD, BODY, DIFFERENCES)
        for n in (4, 8)
    }
    assert flops[WORLD, 8] / flops[WORLD, 4] == pytest.approx(2.0, abs=0.05)
    assert flops[BODY, 8] / flops[BODY, 4] == pytest.approx(2.0, abs=0.05)
    assert flops[DIFFERENCES, 8] / flops[DIFFERENCES, 4] == pytest.approx(4.0, abs=0.2)
    assert flops[BODY, 8] < flops[WORLD, 8]


@pytest.mark.parametrize(("joint", "control"), trim.SCENARIOS)
def test_trimmed_adjoints_are_the_jacobian_once_corrected(joint: str, control: str):
    figure, q = trim.figure_with(joint)
    true = figure.jacobian(q, "end", trim.POINT, frame="body", rows="both")[trim.ROWS[control]]
    own = trim.corrected(figure, q, joint)[trim.ROWS[control], trim.COLUMNS[joint]]
    printed = trim.block(figure, q)[trim.ROWS[control], trim.COLUMNS[joint]]
    assert np.abs(own - true).max() < 1e-12
    wrong = bool(np.abs(printed - true).max() > 0.1)
    assert wrong is (joint in ("universal", "ball, Euler XYZ"))


def test_all_inverses_agree_where_rows_are_independent():
    rng = np.random.default_rng(0)
    J, e = rng.normal(size=(6, 20)), rng.normal(size=6)
    exact = np.linalg.lstsq(J, e)[0]
    for name in (SVD, QR, PINV):
        assert np.abs(STEPS[name](J, e) - exact).max() < 1e-12
    damped = np.linalg.solve(J.T @ J + LAMBDA * np.eye(20), J.T @ e)
    assert np.abs(STEPS[SR](J, e) - damped).max() < 1e-12
    d = STEPS[JT](J, e)
    assert np.linalg.norm(e - J @ d) < np.linalg.norm(e - 1.01 * J @ d)
    assert np.linalg.norm(e - J @ d) < np.linalg.norm(e - 0.99 * J @ d)


def test_only_damping_bounds_the_step_of_a_straight_arm():
    J, e = solvers.bent_elbow(1e-5)
    assert np.linalg.norm(STEPS[SVD](J, e)) > 1e3
    assert np.linalg.norm(STEPS[SR](J, e)) <= np.linalg.norm(e) / (2.0 * np.sqrt(LAMBDA))


def test_limits_inside_the_solver_leave_less(recording: Recording, tmp_path: Path):
    found = limits.run(recording, tmp_path, nothing, samples=8, count=30)
    middle = {row[0]: float(str(row[2])) for row in found.tables[0].rows}
    assert middle[limits.KEPT] < 0.5 * middle[limits.OUTSIDE]
    assert middle[limits.ROWS] < 0.5 * middle[limits.FINALLY]


def test_a_transpose_is_too_slow_for_what_the_others_meet(recording: Recording, tmp_path: Path):
    found = solvers.run(recording, tmp_path, nothing, samples=4, count=20)
    met = {row[0]: float(str(row[1])) for row in found.tables[0].rows}
    assert met[SR] == met[SVD] == 100.0 and met[JT] < 50.0
    assert [len(row) for row in found.tables[0].rows] == [10] * 7


def test_all_are_registered():
    names = [name for name in EXPERIMENTS if name.startswith("recipe-")]
    assert names == ["recipe-fig5", "recipe-fig6", "recipe-limits", "recipe-fig8"]
