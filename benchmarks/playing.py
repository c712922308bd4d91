"""Section playing: a frame of playback, its memory over ten minutes, and exports."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.support.report import Metric, Report
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.model.motion import Markers, Motion
from exactik.recordings.tracking import Track, track
from exactik.studio.viewer import MotionViewer, PlaybackData, export_playback
from exactik.studio.viewer.page.server import read_page
from exactik.studio.viewer.recording import ALL
from tests.support.visuals import make_skinned_arm

MINUTES, SHOWN_RATE = 10, 60  # of playback, and frames a second that are shown
LONG_PERFORMANCE_S = 134.0  # of a performance that does not repeat itself
# What a page does with the socket, without drawing: it reads all that comes.
PAGE_CODE = """
import sys
from websockets.sync.client import connect
host, version = sys.argv[1:]
with connect(f"ws://{host}", subprotocols=[f"viser-v{version}"], origin=f"http://{host}",
             max_size=None, compression=None) as socket:
    print("open", flush=True)
    try:
        while True:
            socket.recv()
    except Exception:
        pass
"""


def solve_performance(seconds: float = 8.0) -> Track:
    """Return a solved recording of the built-in human, 41 markers at 120 Hz."""
    made = simulate_recording(simulate_performance(seconds), noise=0.001, gaps=0.05)
    return track(made.truth.skeleton, made.markers)


def measure_memory() -> float:
    """Return the memory of this process [MB]; Linux tells it without further packages."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@contextmanager
def connect_page(viewer: MotionViewer) -> Iterator[None]:
    """Connect a process that reads what a page would."""
    import viser

    host = viewer.url.removeprefix("http://")
    command = [sys.executable, "-c", PAGE_CODE, host, viser.__version__]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as page:
        try:
            assert page.stdout is not None and page.stdout.readline() == "open\n"
            yield
        finally:
            page.terminate()


def show_frames(viewer: MotionViewer, frames: int) -> tuple[float, float]:
    """Show frames as fast as possible, with texts every sixth frame as at 60 Hz.

    Returns the CPU time per frame [s] of the drawing thread, and that of the whole process.
    """
    thread_start, process_start = time.thread_time(), time.process_time()
    for k in range(frames):
        viewer.show(k % len(viewer.data), details=k % 6 == 0)
    thread_seconds = time.thread_time() - thread_start
    return thread_seconds / frames, (time.process_time() - process_start) / frames


def measure_memory_growth(viewer: MotionViewer) -> tuple[float, float]:
    """Return the memory [MB] after a first minute, and after ten."""
    show_frames(viewer, 60 * SHOWN_RATE)
    before = measure_memory()
    show_frames(viewer, (MINUTES - 1) * 60 * SHOWN_RATE)
    return before, measure_memory()


def make_crowd(seconds: float = 8.0, count: int = 100) -> Markers:
    """Return a recording of many markers: three people side by side, some markers left out."""
    made = simulate_recording(simulate_performance(seconds), noise=0.001, gaps=0.05).markers
    aside = np.array([0.0, 1.5, 0.0])  # [m]
    people = [made.positions + k * aside for k in range(-(-count // len(made.names)))]
    names = [f"{chr(65 + k)}:{name}" for k in range(len(people)) for name in made.names]
    positions = np.concatenate(people, axis=1)[:, :count]
    return replace(made, positions=positions, names=tuple(names[:count]), up_axis="z")


def measure_markers(trail_s: float) -> tuple[float, float]:
    """Return the CPU of a frame of 100 markers with labels and trails [s], and of opening them."""
    crowd, start = make_crowd(), time.process_time()
    with MotionViewer(crowd) as viewer, connect_page(viewer):
        opening = time.process_time() - start
        scene = viewer.scene.markers.recording
        assert scene is not None
        scene.set_trails(trail_s)
        scene.labels = ALL
        show_frames(viewer, 60)
        return show_frames(viewer, 600)[1], opening


def measure_skin(bones: int = 60, frames: int = 2000) -> tuple[float, float, float]:
    """Return of a pose of a skin of so many bones its CPU time [s] and its share of the wall's.

    And the wall time [s] from a figure to a page that can be opened.
    """
    figure = make_skinned_arm(bones)
    angles = 0.2 * np.sin(np.arange(60)[:, None] / 10.0 + np.arange(figure.nv))
    q = [figure.integrate(figure.neutral(), step) for step in angles]
    start = time.perf_counter()
    with MotionViewer(Motion(figure, np.array(q), 60.0)) as viewer:
        opening = time.perf_counter() - start
        with connect_page(viewer):
            viewer.play(False)
            begin, spent = time.perf_counter(), time.process_time()
            for k in range(frames):
                viewer.show(k % len(viewer.data), details=False)
            whole, busy = time.perf_counter() - begin, time.process_time() - spent
    return busy / frames, whole / frames, opening


def run(report: Report) -> None:
    """Measure and print the section."""
    report.title("playing: the human with 41 markers, their residuals and a ghost")
    take = solve_performance()
    rows, metrics = [], []
    with MotionViewer(take, references=[take.motion]) as viewer, connect_page(viewer):
        show_frames(viewer, 300)
        drawing, whole = show_frames(viewer, 3000)
        rows.append(["CPU of a frame, drawing", f"{1e3 * drawing:.2f} ms"])
        rows.append(["CPU of a frame, with the server", f"{1e3 * whole:.2f} ms"])
        before, after = measure_memory_growth(viewer)
        rows.append([f"memory after 1 and {MINUTES} minutes", f"{before:.0f}, {after:.0f} MB"])
    crowd, opening = measure_markers(1.0)
    rows.append(["CPU of a frame of 100 markers, labels, trails of 1 s", f"{1e3 * crowd:.2f} ms"])
    rows.append(["CPU to open them", f"{opening:.2f} s"])
    busy, whole_pose, page_s = measure_skin()
    rows.append(["CPU of a pose of 60 skinned bones", f"{1e3 * busy:.2f} ms"])
    rows.append(["such poses sent to a page, a second", f"{1.0 / whole_pose:.0f}"])
    rows.append(["from that figure to a page", f"{page_s:.2f} s"])
    rows.append(["the page itself, all scripts", f"{len(read_page()) / 1e6:.2f} MB"])
    metrics.append(Metric("a frame of 100 markers", 1e3 * crowd, "ms", None))
    metrics.append(Metric("a frame, with the server", 1e3 * whole, "ms", None))
    metrics.append(Metric("memory gained in nine minutes", after - before, "MB", None))
    made = simulate_recording(simulate_performance(LONG_PERFORMANCE_S), noise=0.001, gaps=0.05)
    q = np.resize(made.truth.q, (100_000, take.skeleton.nq))
    places = np.resize(made.markers.positions, (100_000, *made.markers.positions.shape[1:]))
    longer = PlaybackData.of(
        replace(made.truth, q=q), markers=replace(made.markers, positions=places)
    )
    start = time.process_time()
    with MotionViewer(longer):
        rows.append(["CPU to open 100,000 frames", f"{time.process_time() - start:.2f} s"])
    with TemporaryDirectory() as folder:
        for count in (300, 4000):
            end = 4 * count  # of 120 Hz; what is written has 30
            motion = replace(made.truth, q=made.truth.q[:end])
            some = replace(made.markers, positions=made.markers.positions[:end])
            for suffix in (".html", ".glb"):
                path, start = Path(folder) / f"motion{suffix}", time.process_time()
                export_playback(PlaybackData.of(motion, markers=some), path)
                took, size = time.process_time() - start, path.stat().st_size / 1e6
                rows.append([f"{count} frames to {suffix}", f"{size:.1f} MB, {took:.1f} s of CPU"])
    report.table(["what", "measured"], rows)
    report.add(*metrics)
