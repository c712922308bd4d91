"""Section end-to-end: what a user waits for, in fresh processes; alone, and beside busy ones.

Recordings are cut from the performance that `exactik demo` makes. With OpenSim (its Python named
by EXACTIK_OPENSIM_PYTHON) and its models in ../shared, its scale and inverse kinematics tools run
the set-up files of gait2354, and so do we. The least of some rounds, taken in turns.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.support.report import Metric, Report
from tests.support.opensim_files import JUDGE, find_judge

ROUNDS = 3
BUSY = 2  # processes beside it
BUSY_FACTOR = 2.2  # times as long beside them, at most
DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "opensim" / "gait2354"
NUMPY = "import numpy"
POSE = """
import exactik as ik
figure = ik.human()
goal = ik.PositionGoal("r_hand", (0.45, -0.20, 1.05))
result = ik.solve(figure, [goal], lock="pelvis")
assert result.reached
"""
BATCH = f"""
import numpy as np
{POSE}
places = np.random.default_rng(0).uniform((0.2, -0.4, 0.9), (0.4, 0.0, 1.3), (1000, 3))
assert ik.solve_batch(result.problem, {{"r_hand": places}}).reached.mean() > 0.9
"""
CUT = """
import sys
from dataclasses import replace
import exactik as ik
markers = ik.load_markers(sys.argv[1])
for frames in map(int, sys.argv[2:]):
    ik.save_markers(replace(markers, positions=markers.positions[:frames]), f"{frames}.c3d")
"""


@dataclass
class Task:
    """Commands that run one after the other, and what they took [s]."""

    name: str
    commands: list[list[str]]
    bar: float | None = None
    alone: list[float] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)


def run(report: Report) -> None:
    report.title("end-to-end: fresh processes, nothing to compile, s")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tasks = _list_tasks(report, folder)
        base = Task(name="import numpy", commands=[[sys.executable, "-c", NUMPY]])
        for _ in range(ROUNDS):
            for task in (base, *tasks):
                spent, worked = _time(task, folder)
                task.alone.append(spent)
                task.processor.append(worked)
            with _busy_machine():
                for task in tasks:
                    task.busy.append(_time(task, folder)[0])
    tasks[0].alone = [spent - min(base.alone) for spent in tasks[0].alone]
    tasks[0].busy = [spent - min(base.alone) for spent in tasks[0].busy]
    rows = [
        [t.name, *(f"{min(each):.2f}" for each in (t.alone, t.processor, t.busy))] for t in tasks
    ]
    report.table(["", "alone", "of processor", f"{BUSY} busy beside"], rows)
    for task in tasks:
        report.add(Metric(task.name, min(task.alone), "s", task.bar))
    for task in tasks[1:]:
        factor = min(task.busy) / min(task.alone)
        ours = task.commands[0][0] == sys.executable
        bar = BUSY_FACTOR if ours else None
        report.add(Metric(f"{task.name}: times as long, busy", factor, "", bar))


def _list_tasks(report: Report, folder: Path) -> list[Task]:
    """Lay out the files in the folder, and return what is measured."""
    python, exactik = [sys.executable, "-c"], [sys.executable, "-m", "exactik"]
    demo = [*exactik, "demo", "-o", "demo"]
    for command in (
        [*exactik, "demo", "--seconds", "30", "-o", "long"],
        [*python, CUT, "long/performance.c3d", "202", "3498"],
    ):
        subprocess.run(command, cwd=folder, check=True, capture_output=True)

    def solve(frames: int) -> list[str]:
        files = ["-o", f"{frames}.csv", "--report", f"{frames}.html"]
        return [*exactik, "solve", f"{frames}.c3d", "--skeleton", "human", *files]

    tasks = [
        Task("import exactik, beyond NumPy", [[*python, "import exactik"]], 0.4),
        Task("import and first pose", [[*python, POSE]], 0.8),
        Task("import, pose and batch of 1,000", [[*python, BATCH]], 1.2),
        Task("exactik demo", [demo], 5.0),
        Task("exactik solve, 202 frames, calibrated, report", [solve(202)], 2.0),
        Task("exactik solve, 3,498 frames, calibrated, report", [solve(3498)], 4.0),
    ]
    if not DATA.is_dir():
        report.console.print("  gait2354 is not there: no folder ../shared beside the checkout")
        return tasks
    scale, ik = "subject01_Setup_Scale.xml", "subject01_Setup_IK.xml"
    ours, theirs = (_lay_out_gait(folder / who) for who in ("ours", "theirs"))
    commands = [[*exactik, "calibrate", f"{ours}/{scale}"], [*exactik, "solve", f"{ours}/{ik}"]]
    tasks.append(Task("gait2354, scaled and solved: exactik", commands))
    judge = find_judge()
    if judge is None:
        report.console.print("  OpenSim is not installed (EXACTIK_OPENSIM_PYTHON)")
        return tasks
    out = str(theirs / "seconds.npz")
    judged = [["scale", f"{theirs}/{scale}"], ["ik", f"{theirs}/{ik}", out]]
    commands = [[judge, str(JUDGE), *words] for words in judged]
    tasks.append(Task("gait2354, scaled and solved: OpenSim", commands))
    return tasks


def _lay_out_gait(folder: Path) -> Path:
    shutil.copytree(DATA, folder)
    (folder / "gait2354_simbody_generic.osim").rename(folder / "gait2354_simbody.osim")
    return folder


def _time(task: Task, folder: Path) -> tuple[float, float]:
    """Run a task; return how long it took and what it took of processors [s]."""
    settings = {**os.environ, "EXACTIK_COMPILED": "strict"}
    # As after an installation, also where Python is told to keep no bytecode.
    settings |= {"PYTHONPYCACHEPREFIX": str(folder / "bytecode"), "PYTHONDONTWRITEBYTECODE": ""}
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    for command in task.commands:
        done = subprocess.run(command, cwd=folder, env=settings, capture_output=True, check=False)
        usable = done.returncode == 1 and "exactik" in command  # with care
        if done.returncode != 0 and not usable:
            raise RuntimeError(f"{' '.join(command)[:80]}: {done.stderr.decode()[-400:]}")
    spent, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


@contextlib.contextmanager
def _busy_machine() -> Iterator[None]:
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()
