"""Markers solved as they come, through each protocol: from arrival to the last sink, and losses.

Each server is a process of its own on this machine; the clients are the real ones. As long as
`EXACTIK_LIVE_SECONDS` says, 20 s by default.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import exactik as ik
from benchmarks.robots import SHARED
from benchmarks.support.hdm05 import LOCK, TAKES, load_take
from benchmarks.support.live_servers import go_to_and_fro
from benchmarks.support.report import Metric, Report
from exactik.recordings.live import (
    FileSource,
    FrameSource,
    LiveReport,
    LiveSession,
    LiveSolver,
    LslSource,
    MotionFile,
    OptiTrackSource,
    QualisysSource,
    UdpSink,
    UdpSource,
)
from exactik.recordings.tracking import TrackOptions

RATES = (100.0, 250.0, 1000.0)  # [Hz]
SECONDS = float(os.environ.get("EXACTIK_LIVE_SECONDS", "20"))
KINDS = ("file", "qualisys", "optitrack", "lsl", "udp")
MEDIAN_BAR, TAIL_BAR = 2.0, 10.0  # [ms] at 250 Hz, of the issue
END_S = 0.5  # [s] for the last frames to come


def open_source(kind: str, port: int) -> FrameSource:
    if kind == "qualisys":
        return QualisysSource(port=port)
    if kind == "optitrack":
        return OptiTrackSource(port=port)
    return LslSource(f"markers-{port}")


def measure(kind: str, path: Path, rate: float, solver: LiveSolver) -> tuple[int, LiveReport]:
    """Return how many frames were sent, and what came of them: to a file and by UDP."""
    folder = path.parent

    def open_sinks(solver: LiveSolver) -> list[UdpSink | MotionFile]:
        beside = MotionFile(folder / "live.npz", solver.skeleton, rate, None)
        return [UdpSink(solver.skeleton, 9), beside]  # port 9 throws away

    if kind == "file":
        markers = ik.load_markers(path)
        frames = go_to_and_fro(len(markers), round(rate * SECONDS))
        long = replace(markers, positions=markers.positions[frames])
        session = LiveSession(FileSource(long, rate), solver, open_sinks)
        report = session.run()
        return report.frames, report
    listening = UdpSource() if kind == "udp" else None
    port = listening.port if listening is not None else 0
    if kind == "lsl":
        port = os.getpid()
    command = [sys.executable, "-m", "benchmarks.support.live_servers"]
    command += [kind, str(port), str(path), str(rate), str(SECONDS)]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as server:
        assert server.stdin is not None and server.stdout is not None
        port = json.loads(server.stdout.readline())["port"] or port
        source = listening or open_source(kind, port)
        session = LiveSession(source, solver, open_sinks, say=lambda text: print(f"  {text}"))
        sent = []

        def wait_for_the_end() -> None:
            assert server.stdin is not None and server.stdout is not None
            server.stdin.write("\n")
            server.stdin.flush()
            sent.append(json.loads(server.stdout.readline())["sent"])
            threading.Event().wait(END_S)
            session.stop.set()

        threading.Thread(target=wait_for_the_end, daemon=True).start()
        report = session.run()
        server.stdin.close()
    return sent[0], report


def run(report: Report) -> None:
    report.title(f"live: 41 markers on 58 dofs for {SECONDS:g} s each, from arrival to the sinks")
    take = load_take(SHARED / "data" / "asf_amc" / "hdm05_dg", TAKES[1])
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "take.c3d"
        take.markers.save(path)
        for kind in KINDS:
            for rate in RATES:
                solver = LiveSolver(take.skeleton, TrackOptions(lock=LOCK), rate=rate)
                sent, came = measure(kind, path, rate, solver)
                median, tail = (1e3 * came.latency(share) for share in (0.5, 0.999))
                lost = sent - came.solved
                rows.append(
                    [kind, f"{rate:g}", f"{sent}", f"{lost}", f"{median:.2f}", f"{tail:.2f}"]
                )
                name = f"{kind}, {rate:g} Hz"
                bars = (MEDIAN_BAR, TAIL_BAR) if rate == RATES[1] else (None, None)
                report.add(
                    Metric(f"{name}: latency, median", median, "ms", bars[0]),
                    Metric(f"{name}: latency, 99.9 %", tail, "ms", bars[1]),
                    Metric(f"{name}: frames without a pose", lost, "", 0.0),
                )
    report.table(["source", "Hz", "sent", "lost", "median, ms", "99.9 %, ms"], rows)
