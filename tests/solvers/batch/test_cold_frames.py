"""One descent from afar: the pose at rest, brought to the markers as a rigid body."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from benchmarks.peers.tasks import find_free_dofs, make_figure
from benchmarks.support.hdm05 import LOCK, load_take

FRAMES = slice(2, None, 4)  # of the 60 cold frames of the peers' task
NEAR_EXCESS = 0.01  # share above the best cost known


@pytest.mark.full
def test_one_descent_ends_at_the_best_minimum_of_nearly_all_frames(
    shared_data: Path, tmp_path: Path
):
    """14 of 15; with damping that is lowered tenfold after every good step 11."""
    take = load_take(shared_data / "data" / "asf_amc" / "hdm05_dg_crlf", "06-03_03")
    task, free = make_figure(take, tmp_path / "figure.urdf"), find_free_dofs(take.skeleton)
    goals = [ik.MarkerGoal(name, (0, 0, 0), name=name) for name in task.markers]
    blank = ik.Problem(take.skeleton, goals, limits="off", lock=LOCK)
    near = []
    for places, start in zip(task.cold_places[FRAMES], task.starts[FRAMES], strict=True):
        problem = blank.with_targets(dict(zip(task.markers, places, strict=True)))
        q0 = np.array(take.skeleton.neutral())
        q0[free] = start
        found = ik.solve(problem, q0=q0, solver=ik.Auto(tolerance=1e-4))
        best = ik.solve(problem, q0=q0, starts=24)
        near.append(found.cost <= (1.0 + NEAR_EXCESS) * best.cost)
    assert sum(near) >= 14


def test_one_descent_poses_the_human_from_its_neutral_pose():
    """What was moved at random, within the limits, is found again: all costs can vanish."""
    figure, rng = ik.human(), np.random.default_rng(0)
    names = list(figure.markers)
    blank = ik.Problem(figure, [ik.MarkerGoal(name, (0, 0, 0), name=name) for name in names])
    found = []
    for _ in range(10):
        q = figure.clip(figure.integrate(figure.neutral(), rng.normal(0.0, 0.3, figure.nv)))
        targets = dict(zip(names, figure.forward(q).markers, strict=True))
        result = ik.solve(blank.with_targets(targets), solver=ik.Auto(tolerance=1e-4))
        found.append(result.cost < 1e-9)
    assert sum(found) >= 9
