"""Measure archives: what a take costs beside being solved, and what a second worker brings.

    python tools/archive_scale.py overhead [--takes 100000]   writes docs/scale-memory.svg
    python tools/archive_scale.py workers [--takes 200]
    python tools/archive_scale.py stages [--frames 6000]

`overhead` sends takes through queue, ledger, hashing, staging and provenance that are read and not
solved. `workers` solves takes of the built-in human with one worker and with two, by turns, and
beside them with one and two plain processes; it tells whose processor time it was.
`stages` takes a single take apart: processor time and bytes a frame of reading, solving, writing.
Processor time is printed throughout, for wall time is worth little on a machine that is shared.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import exactik as ik
from exactik.archive import _archive as archive_module
from exactik.archive.tasks import TakeTask, TaskResult
from exactik.archive.tasks import _provenance as provenance
from exactik.archive.tasks import _storage as storage_module
from exactik.io import open_atomic

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "scale-memory.svg"
SAMPLE_SECONDS = 2.0  # [s] between looks at the memory
OUTPUT_BYTES = 4096  # of a take that is not solved: a motion of a dozen frames


@dataclass(frozen=True, kw_only=True)
class UnsolvedTask(TakeTask):
    """A take that is read, hashed, staged and published with its provenance, and not solved."""

    def perform(self) -> TaskResult:
        """Do all that an archive does for a take but the solve itself."""
        began = time.perf_counter()
        storage, place = storage_module.Storage(self.outputs), f"takes/{self.name}"
        found = provenance.read_provenance(storage, place)
        with storage_module.fetch_file(self.address) as path:
            sha256 = storage_module.hash_file(path)
        key = self.make_key(sha256)
        assert provenance.find_result(storage, found, key) is None
        with storage.stage() as folder:
            file = folder / f"{self.name.rpartition('/')[2]}.bvh"
            with open_atomic(file, "wb") as out:
                out.write(bytes(OUTPUT_BYTES))
            result = TaskResult(
                state="done",
                solved=True,
                key=key,
                verdict="good",
                frames=1,
                seconds=time.perf_counter() - began,
                facts={"curve": [1.0] * 12, "files": [file.name], "mean_mm": 1.0},
            )
            facts: dict[str, Any] = {"input": {"address": self.address, "sha256": sha256}}
            return provenance.publish_result(storage, place, [file], result, facts)


def measure_overhead(takes: int, workers: int) -> None:
    """Print what a take costs that is not solved, and draw the memory over the takes."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as name:
        folder = Path(name)
        source = folder / "in"
        for k in range(takes):
            path = source / f"{k // 1000:04d}" / f"{k:07d}.c3d"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(k.to_bytes(8, "little") * 64)
        make_task = archive_module.Plan.make_task

        def make_unsolved(plan: Any, row: Any) -> UnsolvedTask:
            task = make_task(plan, row)
            assert isinstance(task, TakeTask)
            return UnsolvedTask(**{f: getattr(task, f) for f in task.__dataclass_fields__})

        archive_module.Plan.make_task = make_unsolved  # type: ignore[method-assign]
        watch = MemoryWatch()
        began, spent = time.perf_counter(), os.times()
        result = ik.solve_archive(
            source,
            folder / "out",
            skeleton="human",
            calibrate=False,
            workers=workers,
            progress=watch.note,
        )
        wall, after = time.perf_counter() - began, os.times()
        watch.close()
        shutil.rmtree(folder / "out/takes")
    assert result.states == {"done": takes}, result.states
    own = after.user - spent.user + after.system - spent.system
    ended = after.children_user - spent.children_user
    ended += after.children_system - spent.children_system
    print(
        f"{takes} takes, {workers} workers, {wall:.0f} s: {1e3 * wall / takes:.2f} ms a take; "
        f"processor time a take: {1e3 * own / takes:.2f} ms of client, scheduler and ledger, "
        f"{1e3 * ended / takes:.2f} ms of the workers (with their start)"
    )
    print(f"memory [MB]: {json.dumps(watch.summary())}")
    PICTURE.write_text(draw_memory(watch.samples), encoding="utf-8")
    print(f"written: {PICTURE}")


class MemoryWatch:
    """Looks at the memory of this process and its workers every few seconds."""

    def __init__(self) -> None:
        """Begin to look."""
        import psutil

        self._process, self._done, self._ended = psutil.Process(), 0, threading.Event()
        self.samples: list[tuple[int, float, float]] = []
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def note(self, progress: Any) -> None:
        """Keep how many takes are done."""
        self._done = progress.done if progress.done < progress.total else 0  # then workers end

    def close(self) -> None:
        """Stop looking."""
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        import psutil

        while not self._ended.wait(SAMPLE_SECONDS):
            largest = 0.0
            for child in self._process.children(recursive=True):
                try:
                    largest = max(largest, child.memory_info().rss / 1e6)
                except psutil.Error:
                    continue
            if self._done > 0:
                self.samples.append((self._done, self._process.memory_info().rss / 1e6, largest))

    def summary(self) -> Mapping[str, float]:
        """Return the memory after a tenth of the takes and at the end."""
        tenth = self.samples[len(self.samples) // 10]
        last = self.samples[-1]
        return {
            "main_at_tenth": round(tenth[1], 1),
            "main_at_end": round(last[1], 1),
            "worker_at_tenth": round(tenth[2], 1),
            "worker_at_end": round(last[2], 1),
        }


def draw_memory(samples: list[tuple[int, float, float]]) -> str:
    """Return a picture: memory of the main process and of the largest worker over takes done."""
    width, height, left, bottom, top = 640, 300, 60, 40, 20
    last = max(s[0] for s in samples)
    step = 10 ** max(len(str(last)) - 2, 0)
    most_takes = -(-last // step) * step  # round numbers on the axis
    most_memory = 100.0 * np.ceil(max(max(s[1], s[2]) for s in samples) / 100.0)

    def place(takes: float, memory: float) -> str:
        x = left + (width - left - 20) * takes / most_takes
        y = height - bottom - (height - bottom - top) * memory / most_memory
        return f"{x:.1f},{y:.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12" role="img" '
        'aria-label="Memory of the main process and of a worker over takes done">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for k in range(5):
        memory, takes = most_memory * k / 4, most_takes * k / 4
        a, b = place(0, memory), place(most_takes, memory)
        parts.append(f'<polyline points="{a} {b}" stroke="#ddd" fill="none"/>')
        y = float(a.split(",")[1]) + 4
        parts.append(f'<text x="{left - 6}" y="{y:.0f}" text-anchor="end">{memory:.0f}</text>')
        x = float(place(takes, 0).split(",")[0])
        parts.append(
            f'<text x="{x:.0f}" y="{height - 22}" text-anchor="middle">{takes:,.0f}</text>'
        )
    parts.append(f'<text x="{width / 2}" y="{height - 5}" text-anchor="middle">takes done</text>')
    parts.append(f'<text x="6" y="{top - 6}">MB</text>')
    for column, colour, label in (
        (1, "#0969da", "client, scheduler, ledger"),
        (2, "#bc4c00", "a worker"),
    ):
        line = " ".join(place(s[0], s[column]) for s in samples)
        parts.append(f'<polyline points="{line}" stroke="{colour}" fill="none" stroke-width="2"/>')
        y = float(place(0, samples[-1][column]).split(",")[1]) - 6
        parts.append(
            f'<text x="{width - 24}" y="{y:.0f}" text-anchor="end" fill="{colour}">{label}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


def write_walks(folder: Path, takes: int, frames: int) -> None:
    """Write recordings of the built-in human, with a millimetre of noise."""
    figure, rng = ik.human(), np.random.default_rng(0)
    folder.mkdir(parents=True)
    moving = np.arange(6, figure.nq)
    times = np.arange(frames) / 100.0
    for k in range(takes):
        q = np.tile(figure.neutral(), (frames, 1))
        for dof in rng.choice(moving, 8, replace=False):
            q[:, dof] += 0.1 * np.sin(2.0 * np.pi * rng.uniform(0.3, 1.0) * times)
        q[:, 0] += 0.5 * times
        places = figure.forward(q).markers
        places = places + 0.001 * rng.standard_normal(places.shape)
        markers = ik.Markers(places, tuple(figure.markers), 100.0, up_axis="z")
        ik.save_markers(markers, folder / f"take{k:04d}.c3d")
    ik.save_skeleton(figure, folder.parent / "figure.npz", up_axis="z")


def measure_workers(takes: int, frames: int, rounds: int) -> None:
    """Print frames a second with one worker and with two, by turns, and where the time goes.

    Beside them two plain processes solve the same takes, each its half, without Dask: what the
    machine itself gives, for two cores may share memory, caches and clock.
    """
    runs: dict[str, list[Span]] = {"1 worker": [], "2 workers": []}
    plain: dict[int, list[float]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_walks(folder / "in", takes, frames)
        for turn in range(rounds):
            for workers, label in enumerate(runs, start=1):
                out = folder / f"out{turn}{workers}"
                watch = Stopwatch()
                ik.solve_archive(
                    folder / "in",
                    out,
                    skeleton=folder / "figure.npz",
                    workers=workers,
                    progress=watch.note,
                )
                span = watch.measure()
                runs[label].append(span)
                print(f"{label}: {span.describe()}", flush=True)
                shutil.rmtree(out)
            for count in (1, 2):
                plain[count].append(measure_plain(folder, takes, count))
                print(f"{count} plain: {plain[count][-1]:.0f} frames/s", flush=True)
    one, two = ([span.speed for span in runs[label]] for label in runs)
    first, second = (runs[label][-1] for label in runs)
    bound = 2.0 * first.worker / (second.worker + second.main + second.threads)
    machine = np.median(plain[2]) / np.median(plain[1])
    print(f"1 -> 2 workers: {np.median(two) / np.median(one):.2f} x frames/s (wall time)")
    print(f"1 -> 2 plain processes: {machine:.2f} x: what the machine gives")
    print(f"by processor time, two cores with nothing else to do: {bound:.2f} x")


@dataclass(frozen=True, kw_only=True)
class Span:
    """Part of a run, from its tenth take to its last.

    Attributes:
        takes: that ended in it.
        frames: of these.
        wall: that it lasted [s].
        worker: processor time of all workers together, a take [s].
        main: of the thread that keeps ledger and queue, a take [s].
        threads: of all other threads of this process, a take [s]: client and scheduler.
    """

    takes: int
    frames: int
    wall: float
    worker: float
    main: float
    threads: float

    @property
    def speed(self) -> float:
        """Frames a second."""
        return self.frames / self.wall

    def describe(self) -> str:
        """Return all of it in a line."""
        cores = self.takes * (self.worker + self.main + self.threads) / self.wall
        return (
            f"{self.speed:.0f} frames/s; processor time a take: {1e3 * self.worker:.1f} ms workers,"
            f" {1e3 * self.main:.1f} ms ledger and queue, {1e3 * self.threads:.1f} ms client and"
            f" scheduler; {cores:.2f} cores used; load of the machine {os.getloadavg()[0]:.1f}"
        )


class Stopwatch:
    """Takes the times of a run from its tenth take on, when kernels are loaded, to its last."""

    def __init__(self) -> None:
        """Wait for the tenth take."""
        import psutil

        self._process = psutil.Process()
        self._first: dict[str, float] | None = None
        self._last: dict[str, float] = {}

    def note(self, progress: Any) -> None:
        """Keep what was spent until now."""
        if progress.solved < 10 or (self._first is not None and progress.done < progress.total):
            return
        now = {"wall": time.perf_counter(), "takes": progress.solved, "frames": progress.frames}
        now |= self._read_processor_times()
        if self._first is None:
            self._first = now
        self._last = now

    def _read_processor_times(self) -> dict[str, float]:
        main = threading.main_thread().native_id
        threads = {t.id: t.user_time + t.system_time for t in self._process.threads()}
        workers = sum(
            sum(child.cpu_times()[:2]) for child in self._process.children(recursive=True)
        )
        spent = threads.pop(main or 0, 0.0)
        return {"worker": workers, "main": spent, "threads": sum(threads.values())}

    def measure(self) -> Span:
        """Return what lies between."""
        assert self._first is not None
        gone = {name: self._last[name] - self._first[name] for name in self._last}
        takes = int(gone["takes"])
        return Span(
            takes=takes,
            frames=int(gone["frames"]),
            wall=gone["wall"],
            worker=gone["worker"] / takes,
            main=gone["main"] / takes,
            threads=gone["threads"] / takes,
        )


def measure_plain(folder: Path, takes: int, count: int) -> float:
    """Return frames a second of processes that solve the takes without Dask, a share each."""
    from multiprocessing import get_context

    spawn = get_context("spawn")
    barrier, results = spawn.Barrier(count), spawn.SimpleQueue()
    processes = [
        spawn.Process(
            target=solve_plainly,
            args=(folder, range(k, takes, count), f"{folder}/plain{count}{k}", barrier, results),
        )
        for k in range(count)
    ]
    for process in processes:
        process.start()
    told = [results.get() for _ in processes]
    for process in processes:
        process.join()
    for k in range(count):
        shutil.rmtree(folder / f"plain{count}{k}")
    return sum(frames for _, _, frames in told) / (
        max(t[1] for t in told) - min(t[0] for t in told)
    )


def solve_plainly(folder: Path, numbers: range, out: str, barrier: Any, results: Any) -> None:
    """Solve takes by their numbers in this process; put begin, end [s] and frames."""
    from exactik.archive._plan import keep_figure
    from exactik.archive.tasks import Storage, TakeOptions
    from exactik.recordings.pipeline import read_skeleton

    figure = keep_figure(Storage(out), read_skeleton(str(folder / "figure.npz")))
    tasks = [
        TakeTask(
            name=f"take{n:04d}",
            address=str(folder / f"in/take{n:04d}.c3d"),
            fingerprint="",
            figure=figure,
            options=TakeOptions(),
            outputs=out,
        )
        for n in numbers
    ]
    tasks[0].perform()  # kernels are loaded
    barrier.wait()
    began = time.perf_counter()
    frames = sum(task.perform().frames or 0 for task in tasks[1:])
    results.put((began, time.perf_counter(), frames))


def measure_stages(frames: int) -> None:
    """Print processor time [µs] and bytes a frame of each stage of a take, and peak memory."""
    import resource

    from exactik.recordings.pipeline import (
        RecordingOptions,
        read_recording,
        solve_recording,
        write_motion,
    )
    from exactik.studio.report import summary_of, write_report

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_walks(folder / "in", 1, frames)
        path = folder / "in/take0000.c3d"
        figure = ik.load_skeleton(folder / "figure.npz")
        recording = read_recording(path, None, RecordingOptions(), align=False)
        short = ik.Markers(recording.markers.positions[:100], recording.markers.names, 100.0)
        warm = solve_recording(short, figure, fit=False, threads=1)[0].track
        write_report(
            warm, str(folder / "warm.html"), summary=summary_of(warm)
        )  # kernels are loaded

        def measure(label: str, act: Any, file: Path | None = None) -> Any:
            before = time.process_time()
            made = act()
            spent = time.process_time() - before
            size = "" if file is None else f", {file.stat().st_size / frames:.0f} bytes a frame"
            print(f"{label:28} {1e6 * spent / frames:8.1f} us a frame{size}", flush=True)
            return made

        measure("read C3D, inspect", lambda: read_recording(path, None, align=False), path)
        solved = {}
        variants: dict[str, dict[str, Any]] = {
            "solve": {},
            "solve, smooth=None": {"smooth": None},
            "… and branches=False": {"smooth": None, "branches": False},
        }
        for label, options in variants.items():
            solved[label] = measure(
                label,
                lambda options=options: solve_recording(
                    recording.markers, figure, fit=False, threads=1, **options
                ),
            )
        track = solved["solve"][0].track
        for suffix in (".bvh", ".npz", ".csv", ".glb"):
            file = folder / f"out{suffix}"
            measure(f"write {suffix}", lambda file=file: write_motion(track.motion, file), file)
        page = folder / "out.html"
        measure("report", lambda: write_report(track, str(page), summary=summary_of(track)), page)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(f"{frames} frames, {len(recording.markers.names)} markers: peak memory {peak:.0f} MB")


def main() -> None:
    """Measure what the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("what", choices=("overhead", "workers", "stages"))
    parser.add_argument("--takes", type=int)
    parser.add_argument("--frames", type=int)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    if given.what == "overhead":
        measure_overhead(given.takes or 100_000, given.workers)
    elif given.what == "workers":
        measure_workers(given.takes or 200, given.frames or 200, given.rounds)
    else:
        measure_stages(given.frames or 6000)


if __name__ == "__main__":
    main()
