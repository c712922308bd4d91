"""From a source to the sinks: order, losses, faults, files that outlive a killed process."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from shutil import copyfile

import numpy as np
import pytest

import exactik as ik
from exactik.errors import FileError
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.recordings.live import (
    LOOPBACK,
    FileSource,
    LiveFrame,
    LiveReport,
    LiveSession,
    LiveSolver,
    MotionFile,
    PoseSink,
    SourceLostError,
    UdpSink,
    UdpSource,
    format_frame,
    parse_frame,
    read_part,
)

RATE = 100.0


@pytest.fixture(scope="module")
def take() -> tuple[ik.Skeleton, ik.Markers]:
    motion = simulate_performance(2.0, RATE, seed=3, acts=("punch",))
    rec = simulate_recording(motion, noise=0.001, gaps=0.0, swap=False, seed=1)
    return rec.truth.skeleton, rec.markers


class ListSource:
    """Frames as they stand in a list; where an error stands, the source fails, and goes on."""

    title, rate, up_axis, waits = "a list", RATE, None, True

    def __init__(self, frames: list[LiveFrame | Exception]):
        self.frames = frames

    def run(self, deliver, say, stop) -> None:
        while len(self.frames) > 0:
            frame = self.frames.pop(0)
            if isinstance(frame, Exception):
                raise frame
            deliver(frame._replace(arrival=time.perf_counter()))


def frames_of(markers: ik.Markers, numbers: list[int]) -> list[LiveFrame | Exception]:
    return [
        LiveFrame(markers.names, markers.positions[n % len(markers)], n, n / RATE) for n in numbers
    ]


def run(source, take, sinks=None, heard: list[str] | None = None) -> LiveReport:
    say = (lambda text: None) if heard is None else heard.append
    return LiveSession(source, LiveSolver(take[0], rate=RATE), sinks, say).run()


class Keep:
    """Keeps the poses."""

    def __init__(self) -> None:
        self.poses = []

    def write(self, pose) -> None:
        self.poses.append(pose)

    def close(self) -> str:
        return "kept"


@pytest.mark.parametrize(
    ("numbers", "solved", "late", "missed"),
    [
        ([0, 1, 2, 3], [0, 1, 2, 3], 0, 0),
        ([7, 8, 10, 9, 11], [0, 1, 3, 4], 1, 1),  # 9 comes late, and is missed by then
        ([0, 1, 1, 2, 0, 3], [0, 1, 2, 3], 2, 0),
        ([900, 901, 2, 3, 4], [0, 1, 2, 3, 4], 0, 0),  # the source has begun anew
        ([0, 1, 10**9, 10**9 + 1], [0, 1, 2, 3], 0, 0),  # a number that makes no sense
    ],
)
def test_frames_are_put_in_order(take, numbers: list[int], solved, late: int, missed: int):
    keep = Keep()
    report = run(ListSource(frames_of(take[1], numbers)), take, lambda _: [keep])
    assert [pose.number for pose in keep.poses] == solved
    times = [pose.time for pose in keep.poses]
    assert times == sorted(set(times))
    assert (report.late, report.missed, report.solved) == (late, missed, len(solved))


def test_a_file_is_replayed_at_its_rate_and_written(take, tmp_path: Path):
    skeleton, markers = take
    path = tmp_path / "out.npz"
    source = FileSource(markers.between(0.0, 0.5), 250.0)
    report = run(source, take, lambda s: [MotionFile(path, s.skeleton, s.rate, "z")])
    assert report.solved == report.frames == 51 and report.late == report.dropped == 0
    assert report.seconds > 0.9 * 50 / 250.0
    motion = ik.load_motion(path)
    assert len(motion) == 51 and motion.rate == 250.0 and motion.up_axis == "z"
    assert [p.name for p in tmp_path.iterdir()] == ["out.npz"]
    track = ik.track(skeleton, markers.between(0.0, 0.5), smooth=None, branches=False, robust=None)
    assert np.abs(skeleton.difference(motion.q, track.motion.q)).max() < 1e-9


def test_frames_that_never_came_are_missing_in_the_file(take, tmp_path: Path):
    path = tmp_path / "out.npz"
    frames = frames_of(take[1], [0, 1, 2, 5, 6, 7])
    run(ListSource(frames), take, lambda s: [MotionFile(path, s.skeleton, s.rate, "z")])
    q = ik.load_motion(path).q
    assert len(q) == 8 and np.isnan(q[[3, 4]]).all() and np.isfinite(q[[0, 1, 2, 5, 6, 7]]).all()


def test_a_source_that_is_lost_is_looked_for_again(take):
    frames = frames_of(take[1], list(range(12)))
    frames[4:4] = [SourceLostError("gone"), OSError("broken pipe"), ZeroDivisionError("a fault")]
    heard: list[str] = []
    solver = LiveSolver(take[0], rate=RATE)
    session = LiveSession(ListSource(frames), solver, say=heard.append, retry_seconds=0.01)
    report = session.run()
    assert report.solved == 12 and report.restarts == 3 and report.said["lost source"] == 2
    assert heard == [
        "gone; it is looked for again",
        "a list: ZeroDivisionError a fault",
    ]


def test_a_sink_that_fails_does_not_end_it(take):
    class Broken(Keep):
        def write(self, pose) -> None:
            raise OSError("full")

    keep, heard = Keep(), []
    sinks: list[PoseSink] = [Broken(), keep]
    report = run(ListSource(frames_of(take[1], list(range(9)))), take, lambda _: sinks, heard)
    assert report.solved == len(keep.poses) == 9 and heard == ["a pose could not be given: full"]


def make_fault(rng: np.random.Generator, markers: ik.Markers, n: int) -> list[bytes]:
    """One of the faults that a network or a person makes, as datagrams."""
    good = format_frame(LiveFrame(markers.names, markers.positions[n % len(markers)], n, n / RATE))
    record = json.loads(good)
    names = list(record["markers"])
    renamed = {rng.choice(["?", "Ada:", ""]) + k[::-1]: v for k, v in record["markers"].items()}
    few = dict(list(record["markers"].items())[: int(rng.integers(0, 4))])
    kinds = [
        lambda: [good[: int(rng.integers(0, len(good)))]],  # cut
        lambda: [rng.bytes(int(rng.integers(0, 900)))],  # garbage
        lambda: [json.dumps({**record, "frame": n - int(rng.integers(1, 90))}).encode()],  # late
        lambda: [good, good],  # twice
        lambda: [],  # lost
        lambda: [json.dumps({**record, "markers": renamed}).encode()],
        lambda: [json.dumps({**record, "markers": few}).encode()],
        lambda: [json.dumps({**record, "markers": {names[0]: rng.choice([1, "x"])}}).encode()],
        lambda: [json.dumps({**record, "time": "noon"}).encode()],
        lambda: [json.dumps({**record, "frame": 1 << 70}).encode()],
        lambda: [json.dumps({**record, "markers": [[0, 0, 0]]}).encode()],
        lambda: [good.replace(b"0.", b"1e300", 3), good.replace(b"0.", b"NaN", 2)],
        lambda: [json.dumps({**record, "frame": None, "time": None}).encode()],
        lambda: [json.dumps({"markers": {k: [9e9, 0, 0] for k in names}, "frame": n}).encode()],
        lambda: [b"[" * 20_000, b"{}", b"null", b'"', b"\xff\xfe"],
    ]
    return kinds[int(rng.integers(len(kinds)))]()


def test_a_hundred_faults_end_nothing(take):
    """Cut, late, doubled, lost, renamed, thrown about: between them frames are solved as ever."""
    skeleton, markers = take
    source, keep, rng = UdpSource(), Keep(), np.random.default_rng(5)
    heard: list[str] = []
    session = LiveSession(source, LiveSolver(skeleton, rate=RATE), lambda _: [keep], heard.append)

    def send() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
            for n in range(405):
                places = markers.positions[n % len(markers)]
                good = [format_frame(LiveFrame(markers.names, places, n, n / RATE))]
                for data in make_fault(rng, markers, n) if n % 4 == 3 and n < 400 else good:
                    out.sendto(data, (LOOPBACK, source.port))
                time.sleep(0.001)
        time.sleep(0.3)
        session.stop.set()

    threading.Thread(target=send, daemon=True).start()
    report = session.run()
    assert report.solved >= 295 and report.said.total() > 20
    last = keep.poses[-1]
    assert np.nanmax(last.errors) < 0.02 and last.quality == "measured"
    assert all(np.isfinite(pose.q).all() for pose in keep.poses)


def test_what_makes_no_sense_is_refused_in_a_sentence():
    for data, text in (
        (b"{", "not JSON"),
        (b"[1]", 'expected {"frame"'),
        (b'{"markers": {"A": [1, 2]}}', "not three numbers"),
        (b'{"markers": {"A": [1, 2], "B": [1, 2, 3, 4]}}', "not three numbers"),
        (b'{"frame": "x", "markers": {}}', "frame is 'x'"),
        (b'{"time": true, "markers": {}}', "time is True"),
    ):
        with pytest.raises(ValueError, match=re.escape(text)):
            parse_frame(data)


def test_poses_go_out_as_json(take):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.bind((LOOPBACK, 0))
        listening.settimeout(2.0)
        port = listening.getsockname()[1]
        source = ListSource(frames_of(take[1], [0, 1, 2]))
        report = run(source, take, lambda s: [UdpSink(s.skeleton, port)])
        said = [json.loads(listening.recv(65535)) for _ in range(3)]
    assert [record["frame"] for record in said] == [0, 1, 2]
    assert said[0]["quality"] == "measured" and said[0]["error"] < 0.005
    assert set(said[0]["values"]) == set(take[0].dof_names)
    assert report.written == [f"3 datagrams to 127.0.0.1:{port}"]


def test_what_a_killed_session_leaves_behind_is_read(take, tmp_path: Path):
    skeleton, markers = take
    path = tmp_path / "out.bvh"
    sink, solver = MotionFile(path, skeleton, RATE, "z"), LiveSolver(skeleton, rate=RATE)
    frames = [f for f in frames_of(markers, list(range(40))) if isinstance(f, LiveFrame)]
    poses = [solver.step(frame)[0] for frame in frames]
    for pose in poses:
        sink.write(pose)
    sink.flush()
    for ending in (".part", ".part.npz"):
        copyfile(f"{path}{ending}", f"{tmp_path}/copy{ending}")
    sink.close()
    part = tmp_path / "copy.part"
    with part.open("ab") as file:
        file.write(b"half a row")
    motion = read_part(part)
    assert len(motion) == 40 and motion.rate == RATE
    assert np.abs(motion.q[-1] - poses[-1].q).max() == 0.0
    for content in (b"", b"{}\n", b'{"coordinates": 58, "rate": 1, "up_axis": null}\n'):
        part.write_bytes(content)
        with pytest.raises(FileError, match=r"holds no pose|leaves behind"):
            read_part(part)


@pytest.mark.full
@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_loses_no_more_than_a_second(take, tmp_path: Path, number: int):
    _, markers = take
    long = np.concatenate([markers.positions, markers.positions[::-1]] * 20)
    ik.Markers(long, markers.names, RATE, up_axis="z").save(tmp_path / "take.c3d")
    command = [sys.executable, "-m", "exactik", "live", "take.c3d", "--skeleton", "human"]
    process = subprocess.Popen([*command, "-o", "out.npz"], cwd=tmp_path)
    part = tmp_path / "out.npz.part"
    while not part.exists():
        assert process.poll() is None
        time.sleep(0.02)
    time.sleep(3.0)
    process.send_signal(number)
    process.wait(timeout=30)
    if number == signal.SIGKILL:
        assert not (tmp_path / "out.npz").exists()
        back = [sys.executable, "-m", "exactik", "live", "out.npz.part"]
        assert subprocess.run(back, cwd=tmp_path).returncode == 0
    assert not part.exists() and not Path(f"{part}.npz").exists()
    assert len(ik.load_motion(tmp_path / "out.npz")) > 1.5 * RATE
