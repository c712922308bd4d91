"""The page of `exactik live`: figure and markers as they move."""

from __future__ import annotations

import time

import numpy as np
import pytest

from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.recordings.live import LiveFrame, LiveSolver

pytest.importorskip("viser")
pytestmark = pytest.mark.viewer


def test_the_last_pose_is_drawn():
    from exactik.studio.viewer import LiveViewer

    motion = simulate_performance(2.0, 50.0, seed=3, acts=("punch",))
    markers = simulate_recording(motion, gaps=0.0, swap=False).markers
    solver = LiveSolver(motion.skeleton, rate=50.0)
    poses = [
        solver.step(LiveFrame(markers.names, places, n))[0]
        for n, places in enumerate(markers.positions[:5])
    ]
    with LiveViewer(motion.skeleton, lambda: "5 poses", up_axis="y") as viewer:
        before = np.array(viewer.figure.bones.batched_positions)
        viewer.write(poses[-1])
        deadline = time.perf_counter() + 5.0
        while np.array_equal(viewer.figure.bones.batched_positions, before):
            assert time.perf_counter() < deadline
            time.sleep(0.02)
        assert viewer.url.startswith("http://127.0.0.1:")
