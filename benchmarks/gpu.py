"""Section gpu: batches and recordings on a GPU, beside the CPU and a solver in JAX.

Needs a GPU of NVIDIA's, numba-cuda, and JAX for the peer; parts whose packages or files are missing
are left out, and said to be. `--part` of `python -m benchmarks.gpu` runs one part alone.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import exactik as ik
from benchmarks.support.hdm05 import LOCK, TAKES, find_hdm05_folder, load_take
from benchmarks.support.report import Metric, Report, describe_machine
from exactik.kernels.cuda import find_gpu
from exactik.recordings.tracking import TrackingOptions, make_tracking_problem
from exactik.solvers.batch import BatchResult
from exactik.typing import Array

PANDA = Path(__file__).resolve().parents[2] / "shared" / "peers" / "panda.urdf"
PROBLEMS = 524_288
DISTINCT = 16_384  # poses that batches repeat
COMPARED = 10_000  # problems that the CPU solves, too
FRAMES = 64  # of a course: consecutive frames that a thread solves
RECORDING_FRAMES = 4096  # that courses are windows of
COURSES = 202_752  # four times what an H200 follows at once: some take longer than others
BATCH_SIZES = (256, 1024, 4096, 16_384, 65_536, 262_144)
CHAINS = (7, 14, 28, 56)  # dofs


def run(report: Report) -> None:
    """Run all parts that can be run here."""
    gpu = find_gpu()
    report.title(f"GPU: {gpu or 'none'}")
    if gpu is None:
        report.console.print("  needs a GPU of NVIDIA's and exactik\\[gpu]: left out")
        return
    for part in PARTS.values():
        part(report)


def make_human_batch(
    count: int, spread: float, noise: float
) -> tuple[ik.Problem, dict[str, Array]]:
    """Return a human with all its markers, and where they are in random poses with noise [m]."""
    figure, rng = ik.human(), np.random.default_rng(1)
    steps = rng.normal(scale=spread, size=(min(count, DISTINCT), figure.nv))
    poses = figure.clip(figure.integrate(figure.neutral(), steps))
    places = figure.forward(poses).markers
    places = places + rng.normal(scale=noise, size=places.shape)
    places = np.tile(places, (-(-count // len(places)), 1, 1))[:count]
    goals = [ik.MarkerGoal(m, x) for m, x in zip(figure.markers, places[0], strict=True)]
    targets = {m: np.ascontiguousarray(places[:, k]) for k, m in enumerate(figure.markers)}
    return ik.Problem(figure, goals), targets


def solve_timed(
    problem: ik.Problem, targets: dict[str, Array], repeats: int = 2, **options: Any
) -> tuple[BatchResult, float]:
    """Return a batch solved on the GPU, and the least time of several [s]."""
    times, batches = [], []
    for _ in range(repeats):
        begin = time.perf_counter()
        batches = [ik.solve_batch(problem, targets, device="cuda", **options)]
        times.append(time.perf_counter() - begin)
    return batches[0], min(times)


def measure_human(report: Report) -> None:
    """Passes a second of the human with hard limits, and the time to compile."""
    problem, targets = make_human_batch(PROBLEMS, 0.3, 0.01)
    few = {name: values[:64] for name, values in targets.items()}
    begin = time.perf_counter()
    ik.solve_batch(problem, few, device="cuda")
    report.add(
        Metric("first call (compiles unless kept on disk)", time.perf_counter() - begin, "s")
    )
    for label, solver, bar in (
        ("human, hard limits", ik.Auto(), 10.0),
        ("human, hard limits, one start alone", ik.Auto(detour=False), None),
    ):
        with time_transfers_and_kernel() as spent:
            batch, seconds = solve_timed(problem, targets, solver=solver)
        passes = batch.evaluations.sum() / 1e6
        report.add(
            Metric(f"{label}, host to host", passes / min(spent), "M/s", bar=bar, at_least=True),
            Metric("  whole call of solve_batch", passes / seconds, "M/s"),
            Metric("  problems/s, whole call", PROBLEMS / seconds / 1e3, "k/s"),
            Metric("  passes a problem", batch.evaluations.mean()),
        )


@contextlib.contextmanager
def time_transfers_and_kernel() -> Iterator[list[float]]:
    """Collect the times [s] from packed arrays on the host to results on the host."""
    from exactik.kernels.cuda import launch

    spent: list[float] = []
    solve = launch.solve_problems_on_gpu

    def solve_timed_too(*arguments: Any) -> None:
        begin = time.perf_counter()
        solve(*arguments)
        spent.append(time.perf_counter() - begin)

    launch.solve_problems_on_gpu = solve_timed_too
    try:
        yield spent
    finally:
        launch.solve_problems_on_gpu = solve


def measure_agreement(report: Report) -> None:
    """Whether CPU and GPU find the same poses, for joints and goals of every kind."""
    rows = []
    for name, problem, targets in make_agreement_cases():
        gpu, cpu = (ik.solve_batch(problem, targets, device=d) for d in ("cuda", "cpu"))
        distance = np.abs(gpu.q - cpu.q).max(axis=1)
        gap = np.abs(gpu.cost - cpu.cost) / np.maximum(cpu.cost, 1e-12)
        apart = distance > 1e-10
        flat, other = apart & (gap < 1e-9), apart & (gap >= 1e-9)
        skeleton = problem.skeleton
        plain = np.asarray(skeleton.plain_q)
        held = gpu.q[:, plain[plain >= 0]]
        outside = (held < skeleton.lower[plain >= 0]) | (held > skeleton.upper[plain >= 0])
        rows.append(
            [
                name,
                f"{len(gpu)}",
                f"{100 * (~apart).mean():.2f} %",
                f"{flat.sum()}",
                f"{other.sum()}",
                f"{100 * (gpu.evaluations == cpu.evaluations).mean():.2f} %",
                f"{(gpu.ended != cpu.ended).sum()}",
                f"{(gpu.reached != cpu.reached).sum()}",
                f"{outside.any(axis=1).sum()}",
            ]
        )
        report.add(Metric(f"{name}: q within 1e-10", 100 * (~apart).mean(), "%", 99.9, True))
    headers = ["case", "problems", "within", "flat", "elsewhere"]
    headers += ["passes=", "ended≠", "reached≠", "outside"]
    report.table(headers, rows)


def make_agreement_cases() -> list[tuple[str, ik.Problem, dict[str, Array]]]:
    """Return batches of `COMPARED` problems: each joint with marker goals, each goal on one figure.

    The human with its noisy markers comes first.
    """
    human, targets = make_human_batch(COMPARED, 0.3, 0.01)
    cases = [("human, markers", human, targets)]
    joints = {
        "revolute": ik.Joint.revolute((0.0, 0.6, 0.8), limits=(-1.0, 1.2)),
        "prismatic": ik.Joint.prismatic((0.6, 0.0, 0.8), limits=(-0.2, 0.2)),
        "screw": ik.Joint.screw("x", 0.05),
        "Euler": ik.Joint.euler("ZYX"),
        "exponential map": ik.Joint.exp_map(),
        "swing-twist": ik.Joint.swing_twist("z"),
        "quaternion": ik.Joint.quaternion(),
    }
    for name, joint in joints.items():
        figure = make_tree(joint)
        cases.append((name, *make_batch(figure, "markers")))
    figure = make_tree(joints["Euler"])
    for goal in ("position", "orientation", "pose", "posture", "soft limits"):
        cases.append((goal, *make_batch(figure, goal)))
    return cases


def make_tree(joint: ik.Joint) -> ik.Skeleton:
    """Return a free root with two limbs of three such joints, and three markers on each bone."""
    bones = [ik.Bone("root", joint=ik.Joint.free("ZYX"))]
    for limb, side in (("a", 0.1), ("b", -0.1)):
        for k in range(3):
            parent = "root" if k == 0 else f"{limb}{k - 1}"
            offset = (0.05, side, 0.25) if k == 0 else (0.05, 0.02, 0.25)
            bones.append(ik.Bone(f"{limb}{k}", parent=parent, offset=offset, joint=joint))
    corners = {"P": (0.1, 0.0, 0.0), "Q": (0.0, 0.1, 0.0), "R": (0.0, 0.0, 0.1)}
    markers = {f"{b.name}{m}": (b.name, x) for b in bones for m, x in corners.items()}
    return ik.Skeleton.build("tree", bones, markers)


def make_batch(figure: ik.Skeleton, kind: str) -> tuple[ik.Problem, dict[str, Array]]:
    """Return noisy targets of random poses: of all markers, or of one kind of goal at the tips."""
    rng = np.random.default_rng(7)
    steps = rng.normal(scale=0.3, size=(COMPARED, figure.nv))
    poses = figure.forward(figure.clip(figure.integrate(figure.neutral(), steps)))
    places = poses.markers + rng.normal(scale=0.003, size=poses.markers.shape)
    names = tuple(figure.markers)
    rest: ik.Goal = ik.PostureGoal(figure.neutral(), weight=1e-3)
    if kind in ("markers", "posture", "soft limits"):
        goals: list[ik.Goal] = [ik.MarkerGoal(m, x) for m, x in zip(names, places[0], strict=True)]
        if kind == "posture":
            goals.append(ik.PostureGoal(figure.neutral(), weight=0.1))
        limits = "soft" if kind == "soft limits" else "hard"
        targets = {m: np.ascontiguousarray(places[:, k]) for k, m in enumerate(names)}
        return ik.Problem(figure, goals, limits=limits), targets
    tips = [figure.bone_index(tip) for tip in ("a2", "b2")]
    positions = poses.positions[:, tips] + rng.normal(scale=0.003, size=(COMPARED, 2, 3))
    rotations = poses.rotations[:, tips]
    goals = [rest]
    targets = {}
    for k, tip in enumerate(("a2", "b2")):
        if kind == "position":
            goals.append(ik.PositionGoal(tip, positions[0, k]))
            targets[tip] = np.ascontiguousarray(positions[:, k])
        elif kind == "orientation":
            goals.append(ik.OrientationGoal(tip, rotations[0, k]))
            targets[f"{tip}.orientation"] = np.ascontiguousarray(rotations[:, k])
        else:
            X_world_tip = np.tile(np.eye(4), (COMPARED, 1, 1))
            X_world_tip[:, :3, :3], X_world_tip[:, :3, 3] = rotations[:, k], positions[:, k]
            goals.append(ik.PoseGoal(tip, X_world_tip[0]))
            targets[tip] = X_world_tip
    return ik.Problem(figure, goals), targets


def measure_tracking(report: Report) -> None:
    """Warm frames a second, from and to pinned memory; and whole calls of `track_many`."""
    figure, recording, poses = make_recording(RECORDING_FRAMES)
    measure_warm_frames(report, "all dofs swing", figure, recording, poses)
    folder = find_hdm05_folder()
    takes = [] if folder is None else [load_take(folder, name) for name in TAKES]
    for take in takes:
        measure_warm_frames(
            report, f"HDM05 {take.name}, limits", take.limited, take.markers, take.q, lock=LOCK
        )
    stages = TrackingOptions(segment_frames=512)
    seconds, tracks = {}, {}
    for device, count in (("cuda", 64), ("cpu", 16)):
        begin = time.perf_counter()
        tracks[device] = ik.track_many(
            figure,
            [recording] * count,
            device=device,
            smooth=None,
            branches=False,
            options=stages,
        )
        seconds[device] = (time.perf_counter() - begin) / (count * RECORDING_FRAMES)
    distance = np.abs(tracks["cuda"][0].motion.q - tracks["cpu"][0].motion.q).max(axis=1)
    gap = tracks["cuda"][0].cost.sum() / tracks["cpu"][0].cost.sum() - 1.0
    report.add(
        Metric("track_many on the GPU", 1e-3 / seconds["cuda"], "k/s"),
        Metric("track_many on all cores", 1e-3 / seconds["cpu"], "k/s"),
        Metric("  frames within 1e-6 of the CPU's", 100 * float((distance < 1e-6).mean()), "%"),
        Metric("  total cost, share above the CPU's", float(gap)),
    )


def measure_warm_frames(
    report: Report,
    name: str,
    figure: ik.Skeleton,
    recording: ik.Markers,
    poses: Array,
    **settings: Any,
) -> None:
    """Frames a second of windows of a recording, each from the solution before it.

    The first of a window starts from its row of `poses`.
    """
    from numba import cuda

    from exactik.kernels.cuda.follow import Courses, follow_courses_on_gpu

    problem = make_tracking_problem(figure, recording, **settings)
    options = TrackingOptions().warm_start.options(problem.frame_problem)
    position = cuda.pinned_array((FRAMES * COURSES, *problem.targets.position.shape[1:]))
    q = cuda.pinned_array((FRAMES * COURSES, figure.nq))
    results = cuda.pinned_array((FRAMES * COURSES, 5))
    windows = np.random.default_rng(4).integers(0, len(recording) - FRAMES, COURSES)
    for k, first_frame in enumerate(windows):
        shown = problem.targets.position[first_frame : first_frame + FRAMES]
        position[k * FRAMES : (k + 1) * FRAMES] = shown
    targets = problem.targets._replace(position=position)
    first = FRAMES * np.arange(COURSES + 1)
    courses = Courses(
        first=first, frame=np.arange(FRAMES * COURSES), warm_start=np.ones(1, dtype=np.int64)
    )
    best = np.inf
    for _ in range(2):
        q[first[:-1]] = poses[windows]
        begin = time.perf_counter()
        follow_courses_on_gpu(
            figure.tree,
            problem.frame_problem.packed.arrays,
            problem.frame_problem.box,
            options,
            targets,
            courses,
            q,
            results,
        )
        best = min(best, time.perf_counter() - begin)
    rate = FRAMES * COURSES / best / 1e6
    report.add(
        Metric(f"warm frames, {name}, host to host", rate, "M/s", 2.0, True),
        Metric("  passes a frame", float(results[:, 4].mean())),
        Metric("  M passes/s", float(results[:, 4].sum()) / best / 1e6, "M/s"),
    )


def make_recording(frames: int) -> tuple[ik.Skeleton, ik.Markers, Array]:
    """Return the human, a motion of it at 120 Hz, and its poses.

    As in recordings, markers are off by what lasts, 5 mm, and jitter, 0.2 mm.
    """
    figure, rng = ik.human(), np.random.default_rng(3)
    t = np.arange(frames)[:, None] / 120.0
    phase, pace = rng.uniform(0, 2 * np.pi, figure.nv), rng.uniform(0.5, 1.5, figure.nv)
    steps = 0.3 * np.sin(2 * np.pi * pace * t + phase)
    poses = figure.clip(figure.integrate(figure.neutral(), steps))
    places = figure.forward(poses).markers
    places = places + rng.normal(scale=0.005, size=places.shape[1:])
    places = places + rng.normal(scale=0.0002, size=places.shape)
    return figure, ik.Markers(places, tuple(figure.markers), rate=120.0), poses


def measure_arm(report: Report) -> None:
    """Panda, poses from anywhere within its limits, up to 30 starts."""
    if not PANDA.exists():
        report.console.print(f"  Panda: no {PANDA.name}; left out")
        return
    arm = ik.load_skeleton(PANDA)
    rng, tool = np.random.default_rng(0), "panda_hand_tcp"
    q = rng.uniform(arm.lower, arm.upper, (PROBLEMS, arm.nq))
    pose, k = arm.forward(q), arm.bone_index(tool)
    X_world_tool = np.tile(np.eye(4), (PROBLEMS, 1, 1))
    X_world_tool[:, :3, :3], X_world_tool[:, :3, 3] = pose.rotations[:, k], pose.positions[:, k]
    problem = ik.Problem(arm, ik.PoseGoal(tool, X_world_tool[0]))
    q0 = rng.uniform(arm.lower, arm.upper, (PROBLEMS, arm.nq))
    with time_transfers_and_kernel() as spent:
        batch, seconds = solve_timed(problem, {tool: X_world_tool}, q0=q0, starts=30)
    solved = batch.reached.sum() / 1e6
    report.add(
        Metric("Panda, 30 starts, solved, host to host", solved / min(spent), "M/s", 0.3, True),
        Metric("  whole call of solve_batch", solved / seconds, "M/s"),
        Metric("  reached", 100 * float(batch.reached.mean()), "%", 99.9, True),
        Metric("  passes a problem", float(batch.evaluations.mean())),
    )


def measure_jax(report: Report) -> None:
    """The same human problems in JAX on the same card: poses a second that are as good as ours."""
    try:
        from benchmarks.support.jax_peer import make_solver

        count = DISTINCT
        problem, targets = make_human_batch(count, 0.3, 0.01)
        places = np.stack([targets[m] for m in problem.skeleton.markers], axis=1)
        solve = make_solver(problem.skeleton)
    except ImportError as error:
        report.console.print(f"  JAX: {error}; left out")
        return
    q0 = np.tile(problem.skeleton.neutral(), (count, 1))
    solve(places, q0)
    begin = time.perf_counter()
    _, cost, passes = solve(places, q0)
    seconds = time.perf_counter() - begin
    many = {m: np.tile(x, (8, 1)) for m, x in targets.items()}
    ours, our_seconds = solve_timed(problem, many, solver=ik.Auto(detour=False))
    as_good = cost <= ours.cost[:count] * (1 + 1e-6)
    report.add(
        Metric("JAX, k problems/s", count / seconds / 1e3, "k/s"),
        Metric("  M passes/s", passes.sum() / seconds / 1e6, "M/s"),
        Metric("  at our cost or below", 100 * float(as_good.mean()), "%"),
        Metric("ours, one start, k problems/s", len(ours) / our_seconds / 1e3, "k/s"),
        Metric("ours / JAX", len(ours) / our_seconds / (count / seconds), "×"),
    )


def measure_growth(report: Report) -> None:
    """M passes/s by size of the batch (human), and by dofs (chains of hinges with limits)."""
    problem, targets = make_human_batch(max(BATCH_SIZES, default=1), 0.3, 0.01)
    for count in BATCH_SIZES:
        some = {name: values[:count] for name, values in targets.items()}
        batch, seconds = solve_timed(problem, some)
        report.add(Metric(f"batch of {count}", batch.evaluations.sum() / seconds / 1e6, "M/s"))
    for dofs in CHAINS:
        problem, targets = make_chain_batch(dofs, 131_072)
        batch, seconds = solve_timed(problem, targets)
        report.add(Metric(f"chain of {dofs}", batch.evaluations.sum() / seconds / 1e6, "M/s"))


def make_chain_batch(dofs: int, count: int) -> tuple[ik.Problem, dict[str, Array]]:
    """Return a chain of hinges about x, y and z in turn with two markers a bone, and targets."""
    rng, bones, markers = np.random.default_rng(2), [], {}
    for k in range(dofs):
        joint = ik.Joint.revolute("xyz"[k % 3], limits=(-1.0, 1.0))
        parent, offset = (None, (0.0, 0.0, 0.0)) if k == 0 else (f"b{k - 1}", (0.0, 0.0, 0.1))
        bones.append(ik.Bone(f"b{k}", parent=parent, offset=offset, joint=joint))
        markers[f"p{k}"], markers[f"q{k}"] = (f"b{k}", (0.05, 0, 0.05)), (f"b{k}", (0, 0.05, 0.1))
    figure = ik.Skeleton.build("chain", bones, markers)
    q = figure.clip(rng.normal(scale=0.3, size=(8192, dofs)))
    places = figure.forward(q).markers
    places = np.tile(places + rng.normal(scale=0.003, size=places.shape), (count // 8192, 1, 1))
    goals = [ik.MarkerGoal(m, x) for m, x in zip(figure.markers, places[0], strict=True)]
    targets = {m: np.ascontiguousarray(places[:, k]) for k, m in enumerate(figure.markers)}
    return ik.Problem(figure, goals), targets


PARTS: dict[str, Callable[[Report], None]] = {
    "human": measure_human,
    "agreement": measure_agreement,
    "tracking": measure_tracking,
    "arm": measure_arm,
    "growth": measure_growth,
    "jax": measure_jax,
}


def draw_growth(metrics: list[Metric], path: Path) -> None:
    """Draw what `measure_growth` measured, as two plots side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 3.0), layout="constrained")
    for k, (prefix, label) in enumerate(
        (("batch of ", "problems in a batch (human)"), ("chain of ", "dofs (chain of hinges)"))
    ):
        chosen = [m for m in metrics if m.name.startswith(prefix)]
        axes = figure.add_subplot(1, 2, k + 1)
        sizes = [float(m.name.removeprefix(prefix)) for m in chosen]
        axes.plot(sizes, [m.value for m in chosen], "o-", color="#2a6f97")
        axes.set_xlabel(label)
        axes.set_ylabel("M passes/s, whole call")
        axes.set_ylim(bottom=0.0)
        if prefix == "batch of ":
            axes.set_xscale("log")
    figure.savefig(path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="benchmarks.gpu", description=__doc__)
    parser.add_argument("--part", choices=PARTS, action="append", help="all by default")
    parser.add_argument("--json", type=Path, help="also write every metric to this file")
    parser.add_argument("--plot", type=Path, help="also draw the growth into this file (.svg)")
    arguments = parser.parse_args()
    own_report = Report()
    own_report.console.print(json.dumps({"gpu": find_gpu(), **describe_machine()}))
    for chosen in arguments.part or PARTS:
        PARTS[chosen](own_report)
    if arguments.json is not None:
        own_report.save(arguments.json)
    if arguments.plot is not None:
        draw_growth(own_report.metrics, arguments.plot)
