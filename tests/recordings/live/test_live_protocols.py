"""Other people's clients against servers of ours on this machine: poses come, and faults pass."""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Callable
from importlib import import_module

import numpy as np
import pytest

import exactik as ik
from benchmarks.support.live_servers import SERVERS, Server
from exactik.errors import UsageError
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.recordings.live import (
    FrameSource,
    LiveSession,
    LslSink,
    LslSource,
    OptiTrackSource,
    QualisysSource,
    prepare_live,
)

RATE = 200.0
PACKAGES = {"qualisys": "qtm_rt", "optitrack": "natnet", "lsl": "pylsl"}
pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def take() -> tuple[ik.Skeleton, ik.Markers]:
    motion = simulate_performance(2.0, RATE, seed=3, acts=("punch",))
    rec = simulate_recording(motion, noise=0.001, gaps=0.0, swap=False, seed=1)
    # As such systems have it by default: y up.
    return rec.truth.skeleton, rec.markers.turned("YZX")


def connect(kind: str, markers: ik.Markers) -> tuple[Server, FrameSource]:
    pytest.importorskip(PACKAGES[kind])
    if kind == "lsl":
        name = f"markers-{time.time_ns()}"
        server = SERVERS[kind](markers.names, RATE, name.removeprefix("markers-"))
        return server, LslSource(name)
    server = SERVERS[kind](markers.names, RATE)
    source = {"qualisys": QualisysSource, "optitrack": OptiTrackSource}[kind]
    return server, source(port=server.port)


def run_beside(session: LiveSession, act: Callable[[], None]) -> list[BaseException]:
    """Run a session while something acts in another thread; return what it raised."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            act()
            time.sleep(0.4)
        except BaseException as error:
            raised.append(error)
        session.stop.set()

    threading.Thread(target=run, daemon=True).start()
    session.run()
    return raised


def wait_for(server: Server) -> None:
    begin = time.perf_counter()
    while not server.is_heard:
        assert time.perf_counter() - begin < 10.0
        time.sleep(0.02)
    time.sleep(0.2)


class Keep:
    def __init__(self) -> None:
        self.poses = []

    def write(self, pose) -> None:
        self.poses.append(pose)

    def close(self) -> str:
        return ""


def make_session(source: FrameSource, skeleton: ik.Skeleton, keep: Keep) -> LiveSession:
    def prepare(frames):
        return prepare_live(frames, skeleton, rate=source.rate, up_axis=source.up_axis)[0]

    return LiveSession(source, prepare, lambda _: [keep], lambda text: None, retry_seconds=0.1)


@pytest.mark.parametrize("kind", PACKAGES)
def test_every_frame_of_a_stream_is_solved(take, kind: str):
    skeleton, markers = take
    server, source = connect(kind, markers)
    keep = Keep()

    def act() -> None:
        wait_for(server)
        begin = time.perf_counter()
        for n, places in enumerate(markers.positions):
            time.sleep(max(begin + n / RATE - time.perf_counter(), 0.0))
            hidden = places.copy()
            hidden[n % 41 : n % 41 + 2] = np.nan
            server.send(n + 1000, n / RATE, hidden)

    session = make_session(source, skeleton, keep)
    assert run_beside(session, act) == []
    server.close()
    report = session.report
    assert report.solved == report.frames == len(markers) and report.missed == report.late == 0
    assert np.nanmax([pose.errors for pose in keep.poses]) < 0.05
    upright = markers.turned("ZXY")
    track = ik.track(skeleton, upright, smooth=None, branches=False, robust=None)
    last = skeleton.forward(np.array([pose.q for pose in keep.poses])).positions
    feet = [skeleton.bone_index(bone) for bone in ("l_foot", "r_foot", "l_forearm")]
    assert np.abs(last - track.motion.forward().positions)[:, feet].max() < 0.02


@pytest.mark.parametrize("kind", PACKAGES)
def test_a_hundred_faults_end_nothing(take, kind: str):
    """Packets that are cut, late, doubled or garbage, names that change, a source that goes."""
    skeleton, markers = take
    server, source = connect(kind, markers)
    keep, rng = Keep(), np.random.default_rng(2)
    good = 0

    def fault(n: int, places) -> None:
        what = int(rng.integers(6 if kind == "lsl" else 8))
        if what == 0:
            server.send(n - int(rng.integers(1, 30)), n / RATE, places)
        elif what == 1:
            server.send(n, n / RATE, places)
            server.send(n, n / RATE, places)
        elif what == 2:
            server.send(n, n / RATE, np.full_like(places, rng.choice([np.nan, 1e30, np.inf])))
        elif what == 3:
            server.send(n, n / RATE, places[rng.permutation(len(places))])
        elif what == 4:
            server.send(int(rng.integers(1 << 31)), n / RATE, places)
        elif what == 6:
            garbage = rng.bytes(int(rng.integers(8, 300)))
            # What comes over TCP is whole: a packet of the right length with nonsense in it.
            head = struct.pack("<II", 8 + len(garbage), 3) if kind == "qualisys" else b""
            server.send_garbage(head + garbage)
        elif what == 7 and kind == "optitrack":
            server.send(n, n / RATE, places[:-1])

    def act() -> None:
        nonlocal good
        wait_for(server)
        for n in range(500):
            places = markers.positions[n % len(markers)]
            if n % 5 == 4 and n < 490:
                fault(n, places)
            elif n == 250:
                server.rename(tuple(f"P:{name}" for name in markers.names))
            elif n == 380:
                server.drop()
                wait_for(server)
            else:
                server.send(n, n / RATE, places)
                good += 1
            if not server.is_heard:  # it has hung up at garbage, and comes back
                wait_for(server)
            time.sleep(1.0 / RATE)

    session = make_session(source, skeleton, keep)
    assert run_beside(session, act) == []
    server.close()
    assert session.report.solved > 0.5 * good
    last = keep.poses[-1]
    assert last.quality == "measured" and np.nanmax(last.errors) < 0.03
    assert all(np.isfinite(pose.q).all() for pose in keep.poses)


def test_poses_go_out_through_lsl(take):
    pylsl = pytest.importorskip("pylsl")
    skeleton, _ = take
    name = f"poses-{time.time_ns()}"
    sink = LslSink(skeleton, name)
    found = pylsl.resolve_byprop("name", name, timeout=5.0)
    inlet = pylsl.StreamInlet(found[0])
    inlet.open_stream(5.0)
    from exactik.recordings.live import LiveFrame, LiveSolver

    solver = LiveSolver(skeleton, rate=RATE)
    markers = take[1].turned("ZXY")
    frame = LiveFrame(markers.names, markers.positions[0], 0, 0.0, time.perf_counter())
    pose = solver.step(frame)[0]
    sink.write(pose)
    sample, _ = inlet.pull_sample(timeout=5.0)
    assert np.abs(np.array(sample) - pose.q).max() == 0.0
    assert (
        inlet.info().desc().child("channels").child("channel").child_value("label")
        == (skeleton.dof_names[0])
    )
    inlet.close_stream()
    assert sink.close() == f"1 samples of the LSL stream {name}"


@pytest.mark.parametrize("kind", PACKAGES)
def test_who_lacks_a_package_is_told_how_to_install_it(monkeypatch, kind: str):
    sources = {"qualisys": QualisysSource, "optitrack": OptiTrackSource, "lsl": LslSource}
    monkeypatch.setitem(import_module("sys").modules, PACKAGES[kind], None)
    with pytest.raises(UsageError, match=r"\.\[live\]"):
        sources[kind]()
