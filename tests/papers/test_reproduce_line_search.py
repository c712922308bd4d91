"""The experiments of the projected line-search paper: what they rest on, on small settings."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik_papers import EXPERIMENTS, Recording, format_cell
from exactik_papers.blender import find_blender_python
from exactik_papers.line_search import jitter as jitters
from exactik_papers.line_search import jump as jumps
from exactik_papers.line_search import leg as legs
from exactik_papers.line_search import objective as left
from exactik_papers.line_search import redundancy as redundancy
from exactik_papers.line_search import step as steps
from exactik_papers.sampled import (
    FOLLOWERS,
    LINE_SEARCH,
    STRICT,
    SVD,
    TRANSPOSE,
    follow_samples,
    sample_take,
)

pytest.importorskip("matplotlib")


def nothing(done: int, total: int) -> None:
    assert 0 <= done <= total


def test_the_take_meets_its_own_goals_inside_its_limits(recording: Recording):
    data = sample_take(recording, 0.7)
    for n in range(len(data.q)):
        assert data.at(n).cost(data.q[n]) < 1e-20
        assert (data.q[n] >= data.skeleton.lower).all() and (data.q[n] <= data.skeleton.upper).all()


def test_the_figure_is_nine_units_tall(recording: Recording):
    """0.05 units are about a centimetre for a person of 1.80 m."""
    skeleton = sample_take(recording, 1.0).skeleton
    height = np.ptp(skeleton.forward(skeleton.neutral()).positions[:, 2])
    assert 7.5 < height < 9.0  # from toes to the base of the skull


def test_the_line_search_beats_both_others_with_as_many_gradients(recording: Recording):
    found, work = left.measure_objectives(recording, 0.7, 20, 1, (TRANSPOSE, LINE_SEARCH, SVD))
    middle = {name: float(np.median(values)) for name, values in found.items()}
    assert middle[LINE_SEARCH] < 0.8 * middle[TRANSPOSE]
    assert middle[LINE_SEARCH] < 0.5 * middle[SVD]
    assert work[TRANSPOSE][0] == 21  # the start, and one for each step


def test_every_method_keeps_the_limits_and_the_strict_one_its_budget(recording: Recording):
    data = sample_take(recording, 1.0)
    for name, follower in FOLLOWERS.items():
        found = follow_samples(data, follower, 20)
        assert (found.q >= data.skeleton.lower - 1e-12).all(), name
        assert (found.q <= data.skeleton.upper + 1e-12).all(), name
        if name == STRICT:
            assert found.evaluations <= 20


def test_a_step_above_the_bound_flips_and_one_below_settles(recording: Recording):
    data = sample_take(recording, 0.175)
    n = 20
    bound = steps.largest_stable_step(data, n)
    f = [2.0 * data.at(n).cost(q) for q in steps.record_iterates(data, n, 0.7 * bound, 60)]
    assert all(b <= a for a, b in pairwise(f))
    poses = steps.record_iterates(data, n, 3.0 * bound, 60)
    one, two = steps.measure_flips(poses)
    assert two < 0.1 * one  # there and back again
    assert 2.0 * data.at(n).cost(poses[-1]) > 2.0 * f[0]


def test_following_at_a_constant_distance_is_no_jitter():
    off = np.ones((6, 2, 3))
    assert jitters.compute_jitter(off).max() == 0.0
    off[3, 1, 0] += 1.0
    assert jitters.compute_jitter(off).max() == 2.0


def test_the_nearest_pose_is_nearer_than_the_take(recording: Recording):
    data = sample_take(recording, 0.7)
    for n in (2, 5):
        start = data.q[n - 1]
        found = redundancy.find_nearest_pose(data, n, start, data.q[n])
        assert 2.0 * data.at(n).cost(found) < 0.05**2
        here, there = (
            np.linalg.norm(data.skeleton.difference(q, start)) for q in (found, data.q[n])
        )
        assert here < there


def test_a_leg_at_its_limits(recording: Recording, tmp_path: Path):
    found = legs.run(recording, tmp_path, nothing)
    assert {row[3] for row in found.tables[1].rows} == {"holds"}
    inside, goal = legs.solved(legs.GOALS["3 behind, high"], "hard")
    figure = ik.human()
    assert (inside.q >= figure.lower).all() and (inside.q <= figure.upper).all()
    assert np.linalg.norm(goal - figure.forward(inside.q).point("l_foot")) > 0.05


def test_the_jump_can_be_played(recording: Recording, tmp_path: Path):
    found = jumps.run(recording, tmp_path, nothing)
    assert len(found.tables[0].rows) == 11
    read = ik.load_motion(tmp_path / "pls-fig5.bvh", length_unit="cm")
    assert len(read) == 109
    made = jumps.pose_jump()[0].bake(jumps.RATE)
    ways = [
        own.skeleton.forward(np.array(own.q)).point("pelvis") for own in (read, made)
    ]  # axes and origin may differ
    far = [np.linalg.norm(way - way[0], axis=1) for way in ways]
    assert np.abs(far[0] - far[1]).max() < 1e-4
    up = ways[1][:, 2]
    assert np.ptp(up) > 0.5 and np.argmax(up) == pytest.approx(57, abs=4)
    assert (tmp_path / "pls-fig5.glb").stat().st_size > 1000


def test_a_box_plot_has_its_numbers_in_the_table(recording: Recording, tmp_path: Path):
    found = left.run(
        recording, tmp_path, nothing, name="pls-fig10", interval=1.0, samples=1, budgets=(5,)
    )
    table, _, values = found.tables
    assert (table.rows[-1][1] == "Blender, not run") == (find_blender_python() is None)
    for row in table.rows:
        if row[2] is None:
            continue
        own = [value for _, name, _, value in values.rows if name == row[1]]
        assert format_cell(row[5]) == format_cell(float(np.median(np.array(own, dtype=float))))


def test_all_are_registered():
    names = [name for name in EXPERIMENTS if name.startswith("pls-")]
    assert names == [f"pls-fig{k}" for k in (2, 4, 5, 6, 8, 9, 10, 11)]
