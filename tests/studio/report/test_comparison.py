"""Two sets of strides against each other: what is called a change, and how it is shown."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import exactik as ik
from exactik.errors import UsageError
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.recordings.angles import CurvePair, GaitCurve, compare_curves
from exactik.studio.report.comparison import (
    compare_sides,
    compare_tracks,
    describe_change,
    write_comparison,
    write_cycles,
)
from tests.support.gait import walk_evenly

STRIDES = 6
DOFS = {
    "l_shin.ry": "knee_flexion_l",
    "r_thigh.rx": "hip_adduction_r",
    "l_foot.ry": "ankle_dorsiflexion_l",
    "r_thigh.ry": "hip_flexion_r",
}


def draw_strides(rng: np.random.Generator, offset: float, spread: float) -> GaitCurve:
    """Strides whose differences are smooth along the cycle [°]."""
    knots = rng.standard_normal((STRIDES, 7)) * spread
    knots[:, -1] = knots[:, 0]
    wander = CubicSpline(np.linspace(0, 100, 7), knots, axis=1, bc_type="periodic")(np.arange(101))
    cycles = np.radians(20.0 * np.sin(np.linspace(0, 2 * np.pi, 101)) + offset + wander)
    sd = cycles.std(axis=0, ddof=1)
    return GaitCurve(name="a", side="r", cycles=cycles, mean=cycles.mean(axis=0), sd=sd)


@pytest.mark.parametrize(("spread", "lasting"), [(1.5, 0.0), (1.0, 0.8)])
def test_of_twenty_pairs_one_has_a_false_alarm_and_five_degrees_are_found(
    spread: float, lasting: float
):
    """200 pairs of sixteen curves whose strides, and what lasts, are drawn [°].

    What lasts is told to the comparison, which then finds less: 5° are found without it.
    """
    rng = np.random.default_rng(round(100 * spread))
    alarms = found = 0
    for _ in range(200):
        levels = lasting * rng.standard_normal((2, 16))
        first, second = ([draw_strides(rng, x, spread) for x in level] for level in levels)
        sd = float(np.radians(np.sqrt(2.0) * lasting))
        pairs = [
            CurvePair(str(k), a, b, sd) for k, (a, b) in enumerate(zip(first, second, strict=True))
        ]
        alarms += any(one.changed.any() for one in compare_curves(pairs))
        moved = draw_strides(rng, levels[1, 0] + 5.0, spread)
        pairs[0] = pairs[0]._replace(after=moved)
        found += bool(compare_curves(pairs)[0].changed.any())
    assert alarms <= 10, alarms
    if lasting == 0.0:
        assert found >= 190, found


def solve_walk(seed: int, shifts: dict[str, float] | None = None) -> ik.Track:
    motion = walk_evenly(seed, STRIDES + 1, 1.0, shifts)
    record = simulate_recording(
        motion, seed=seed + 50_000, noise=0.001, swap=False, gaps=0.01, tissue=0.003
    )
    return ik.track(motion.skeleton, replace(record.markers, source=f"/data/walk{seed}.c3d"))


def count_calls(seeds: range) -> tuple[int, int]:
    """Return how many pairs of equal walks have an alarm, and in how many 5° are found."""
    alarms = found = 0
    for n, seed in enumerate(seeds):
        before, after = solve_walk(2 * seed), solve_walk(2 * seed + 1)
        alarms += len(compare_tracks(before, after, same_figure=True).changes) > 0
        dof, angle = list(DOFS.items())[n % len(DOFS)]
        moved = solve_walk(2 * seed + 1, {dof: 5.0 if n % 2 == 0 else -5.0})
        changes = compare_tracks(before, moved, same_figure=True).changes
        found += angle in [one.pair.name for one in changes]
    return alarms, found


def test_recordings_without_a_change_have_none_and_five_degrees_are_found():
    assert count_calls(range(300, 303)) == (0, 3)


@pytest.mark.full
def test_forty_recordings_twice():
    alarms, found = count_calls(range(600, 640))
    assert alarms <= 2 and found >= 38, (alarms, found)


@pytest.fixture(scope="module")
def pair() -> tuple[ik.Track, ik.Track]:
    return solve_walk(1), solve_walk(2, {"l_shin.ry": 8.0})


def test_the_page_says_what_changed(pair: tuple[ik.Track, ik.Track], tmp_path: Path):
    comparison = compare_tracks(*pair, same_figure=True)
    (change,) = comparison.changes
    assert describe_change(change, comparison).startswith("left knee flexion in the second: up to ")
    assert np.degrees(change.difference).mean() == pytest.approx(8.0, abs=1.5)
    write_comparison(comparison, tmp_path / "ab.html", "exactik compare a.c3d b.c3d -o ab.html")
    text = (tmp_path / "ab.html").read_text("utf-8")
    words = " ".join(re.sub(r"<style>.*?</style>|<[^>]+>", " ", text, flags=re.S).split())
    assert "walk1.c3d → walk2.c3d" in words and "Left knee flexion in the second" in words
    assert "/data" not in text and "<script" not in text
    assert text.count('class="changed"') == len(change.stretches)
    assert "stride length, left" in words and "exactik compare a.c3d b.c3d" in words
    assert re.search(r"https?://|url\(|\b(nan|inf)\b", words) is None


def test_figures_that_were_fitted_apart_need_a_larger_change(pair: tuple[ik.Track, ik.Track]):
    """What lasts counts, and more strides do not help: here 4° of each figure's knee."""
    comparison = compare_tracks(*pair, same_figure=True)
    assert len(comparison.changes) == 1
    apart = [
        one.pair._replace(lasting_sd=np.radians(np.hypot(4.0, 4.0)))
        for one in comparison.differences
    ]
    assert not any(one.changed.any() for one in compare_curves(apart))


def test_the_sides_of_a_recording(pair: tuple[ik.Track, ik.Track]):
    limping = compare_sides(solve_walk(5, {"l_shin.ry": 20.0}))
    changed = {one.pair.name: describe_change(one, limping) for one in limping.changes}
    assert "knee flexion on the left: up to" in changed["knee_flexion"]
    assert limping.names == ("right", "left") and len(limping.differences) == 8


def test_one_stride_each_tells_nothing():
    curve = draw_strides(np.random.default_rng(1), 0.0, 1.0)
    one = curve._replace(cycles=curve.cycles[:1], mean=curve.cycles[0])
    other = one._replace(cycles=one.cycles + 0.5, mean=one.mean + 0.5)
    (found,) = compare_curves([CurvePair("a", one, other, 0.0)])
    assert np.isinf(found.bar).all() and not found.changed.any()


def test_the_table_has_every_stride(pair: tuple[ik.Track, ik.Track], tmp_path: Path):
    comparison = compare_tracks(*pair, same_figure=True)
    write_cycles(comparison, tmp_path / "strides.csv")
    with open(tmp_path / "strides.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["percent"]) for row in rows] == list(range(101))
    knee = next(one for one in comparison.differences if one.pair.name == "knee_flexion_r")
    strides = len(knee.pair.after.cycles)
    for n in range(1, strides + 1):
        column = [float(row[f"walk2.c3d knee_flexion_r {n} [deg]"]) for row in rows]
        np.testing.assert_allclose(column, np.degrees(knee.pair.after.cycles[n - 1]), atol=1e-3)
    assert f"walk2.c3d knee_flexion_r {strides + 1} [deg]" not in rows[0]


def test_what_is_no_gait_is_refused(pair: tuple[ik.Track, ik.Track]):
    squats = simulate_recording(simulate_performance(2.0, 60.0, acts=("squat",)), swap=False)
    solved = ik.track(ik.human(), squats.markers, branches=False)
    with pytest.raises(UsageError, match=r"no strides to compare\. No foot swings"):
        compare_tracks(pair[0], solved, same_figure=True)
