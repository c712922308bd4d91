"""Section servo: control loops of an arm, through singular poses and along its limits.

Beside mink and Pink, which solve a quadratic program for every step (`support.servo_peers` has what
they get). A loop is frozen while no joint moves faster than a hundredth of its bound although a
tool is more than 1 cm off, and the targets of a step count where they can be reached. Times are the
processor's, of peers that take their steps in turns. Hands tied together: section tied.
"""

from __future__ import annotations

import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

import exactik as ik
from benchmarks.robots import SHARED
from benchmarks.support.report import Metric, Report
from benchmarks.support.servo_peers import Loop, Ours, find_peers, list_headers, measure
from benchmarks.support.urdf import strip_urdf
from exactik.solvers.control import DAMPING

TOOL = "panda_hand_tcp"
STEP_COUNT = 100_000
DAMPINGS = (10 * DAMPING, DAMPING / 10)  # beside the one that `Servo` has


def make_single_arm(path: Path) -> list[Loop]:
    """Return a Panda's loops: through its singular poses and out of reach, and along its limits."""
    figure, dt = ik.load_skeleton(path), 0.002
    start = [0.3, -0.2, 0.1, -1.8, 0.1, 1.7, 0.8]
    q0 = np.array(start + [0.0] * (figure.nq - 7))
    home = figure.forward(q0)
    k = figure.bone_index(TOOL)
    R, p = home.rotations[k], home.positions[k]
    t = np.linspace(0.0, 1.0, 5000)
    far = np.array([0.95, 0.1, 0.45])  # 0.93 m from the shoulder at (0, 0, 0.333): full stretch
    above = np.array([0.0, 0.0, 0.95])  # over the shoulder, where the first joint turns nothing
    stations = np.array([p, far, p, above, p])
    s = 4.0 * (t - np.sin(8.0 * np.pi * t) / (8.0 * np.pi))
    leg = np.minimum(s.astype(int), 3)
    u = (s - leg)[:, None]
    line = np.tile(np.eye(4), (len(t), 1, 1))
    line[:, :3, :3], line[:, :3, 3] = R, (1 - u) * stations[leg] + u * stations[leg + 1]
    names = [f"panda_joint{i}" for i in range(1, 8)]
    lower, upper = figure.lower[:7], figure.upper[:7]
    swing = np.sin(2 * np.pi * (t[:, None] * [1, 2, 1, 2, 1, 3, 2] + 0.1 * np.arange(7)))
    wide = np.clip(0.5 * (lower + upper) + 0.65 * (upper - lower) * swing, lower, upper)
    rate = np.abs(np.diff(wide, axis=0)).max() / dt
    stretch = max(rate / (0.5 * float(figure.max_speed[:7].min())), 1.0)
    times = np.arange(0.0, 1.0, 1.0 / (len(t) * stretch))
    wide = np.column_stack([np.interp(times, t, column) for column in wide.T])
    poses = figure.forward(np.hstack([wide, np.zeros((len(wide), figure.nq - 7))]))
    along = np.tile(np.eye(4), (len(wide), 1, 1))
    along[:, :3, :3], along[:, :3, 3] = poses.rotations[:, k], poses.positions[:, k]
    return [
        Loop(
            "one arm, through singular poses and to full stretch",
            path,
            dict(zip(names, start, strict=True)),
            dt,
            {TOOL: line},
        ),
        Loop(
            "one arm, along its limits",
            path,
            dict(zip(names, wide[0].tolist(), strict=True)),
            dt,
            {TOOL: along},
        ),
    ]


def measure_steps(report: Report, loop: Loop) -> None:
    """Measure 10⁵ steps of ours along a loop, there and back."""
    servo = Ours(loop).servo
    ((tool, poses),) = loop.hands.items()
    there_and_back = np.concatenate([np.arange(len(poses)), np.arange(len(poses))[::-1]])
    seconds = np.empty(STEP_COUNT)
    for n in range(STEP_COUNT):
        target = {tool: poses[there_and_back[n % len(there_and_back)]]}
        begin = time.thread_time()
        servo.step(target)
        seconds[n] = time.thread_time() - begin
    median, most = (1e3 * np.percentile(seconds, [50, 99.9])).tolist()
    report.add(
        Metric("servo: median of 1e5 steps, Panda", median, "ms", 0.1),
        Metric("servo: 99.9 % of 1e5 steps, Panda", most, "ms"),
    )


def run(report: Report) -> None:
    """Measure and print the section."""
    path = SHARED / "peers" / "panda.urdf"
    if not path.exists():
        report.title("servo")
        report.console.print("skipped: no ../shared")
        return
    with tempfile.TemporaryDirectory() as name:
        plain = Path(name) / "panda.urdf"
        plain.write_text(strip_urdf(path, mujoco=False), "utf-8")
        loops = make_single_arm(plain)
        for loop in loops:
            report.title(f"servo: {loop.name}; {loop.count} steps at {1.0 / loop.dt:.0f} Hz")
            others = [partial(Ours, damping=d) for d in DAMPINGS] if loop is loops[0] else []
            peers = [make(loop) for make in (*find_peers(report), *others)]
            report.table(list_headers(loop), measure(loop, peers))
        measure_steps(report, loops[0])
