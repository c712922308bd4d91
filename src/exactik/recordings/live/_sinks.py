"""Where poses go: a file, datagrams of JSON, a stream of the Lab Streaming Layer."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from pathlib import Path

import numpy as np

from exactik.errors import FileError
from exactik.io import load_skeleton, save_skeleton
from exactik.io.tables import list_coordinate_columns
from exactik.model import Skeleton
from exactik.model.motion import Motion
from exactik.recordings.live._frames import LivePose
from exactik.recordings.live._sources import LOOPBACK
from exactik.recordings.live._vendors import import_lsl
from exactik.recordings.pipeline import write_motion

PART, PART_SKELETON = ".part", ".part.npz"  # endings of what is written until the end
FLUSH_SECONDS = 0.5  # [s] after which poses are with the system, and outlive this process
MAX_GAP_SECONDS = 60.0  # [s] of missing frames that are written as such; a longer pause is closed


class MotionFile:
    """A file of a motion, written when all poses are there; until then they lie beside it."""

    def __init__(self, path: str | Path, skeleton: Skeleton, rate: float, up_axis: str | None):
        """Begin with none.

        Args:
            path: of the motion.
            skeleton: whose poses they are.
            rate: frames a second [Hz], where their times do not tell.
            up_axis: which axis is up for the skeleton, if it is known.
        """
        self.path, self.skeleton = Path(path), skeleton
        self._part = Path(f"{path}{PART}")
        try:
            save_skeleton(skeleton, f"{path}{PART_SKELETON}")
            self._file = self._part.open("wb")
        except OSError as error:
            raise FileError(path, f"cannot be written: {error.strerror or error}") from None
        head = {"coordinates": skeleton.nq, "rate": rate, "up_axis": up_axis}
        self._file.write(json.dumps(head).encode() + b"\n")
        self._flushed = time.perf_counter()

    def write(self, pose: LivePose) -> None:
        """Take a pose; one that is lost is not a number."""
        q = np.full_like(pose.q, np.nan) if pose.is_lost else pose.q
        self._file.write(np.concatenate([(pose.number, pose.time), q]).tobytes())
        if time.perf_counter() - self._flushed > FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Hand the poses to the system: they are there if this process is killed."""
        self._file.flush()
        self._flushed = time.perf_counter()

    def close(self) -> str:
        """Write the motion, and take away what lay beside it."""
        self._file.close()
        motion = read_part(self._part, self.skeleton)
        words = write_motion(motion, self.path)[0][1]
        remove_part(self._part)
        return f"{self.path}: {words}"


def read_part(part: str | Path, skeleton: Skeleton | None = None) -> Motion:
    """Return the motion whose poses lie in a file beside it; missing frames are not a number.

    Args:
        part: the file, "walk.bvh.part".
        skeleton: whose poses they are; that beside it if None.
    """
    path = Path(part)
    try:
        head, _, body = path.read_bytes().partition(b"\n")
    except OSError as error:
        raise FileError(part, f"cannot be read: {error.strerror or error}") from None
    try:
        said = json.loads(head)
        count, rate, up = int(said["coordinates"]), float(said["rate"]), said["up_axis"]
    except (ValueError, KeyError, TypeError):
        raise FileError(part, "not what `exactik live` leaves behind", "line 1") from None
    if skeleton is None:
        skeleton = load_skeleton(str(path.with_suffix("")) + PART_SKELETON)
    width = count + 2
    if count != skeleton.nq:
        raise FileError(part, f"{count} coordinates a pose; the skeleton has {skeleton.nq}")
    whole = len(body) // (8 * width)  # the last row may be cut
    rows = np.frombuffer(body, dtype=float, count=whole * width).reshape(whole, width)
    if whole == 0:
        raise FileError(part, "holds no pose")
    numbers, times = rows[:, 0], rows[:, 1]
    steps, spans = np.diff(numbers), np.diff(times)
    regular = (steps == 1.0) & (spans > 0.0)
    if regular.any():
        rate = _round_rate(1.0 / float(np.median(spans[regular])))
    index = np.cumsum(np.append(0, np.where(steps > MAX_GAP_SECONDS * rate, 1.0, steps)))
    q = np.full((int(index[-1]) + 1, count), np.nan)
    q[index.astype(int)] = rows[:, 2:]
    return Motion(skeleton, q, rate, up_axis=up)


def _round_rate(rate: float) -> float:
    """Return a whole number of frames a second where it is one within what clocks tell."""
    return float(round(rate)) if rate > 1.0 and abs(rate - round(rate)) < 2e-3 * rate else rate


def remove_part(part: str | Path) -> None:
    """Take away what lay beside a motion that has been written."""
    for path in (str(part), str(Path(part).with_suffix("")) + PART_SKELETON):
        with contextlib.suppress(OSError):
            os.remove(path)


class UdpSink:
    """Datagrams of JSON, a pose each.

    {"frame": 12, "time": 0.048, "quality": "measured", "error": 0.004,
     "values": {"l_shin.rx": 0.31}}

    Values of coordinates in radians and metres; the error is the mean distance of markers [m].
    """

    def __init__(self, skeleton: Skeleton, port: int, host: str = LOOPBACK):
        """Send to a port, of this machine if no other is given."""
        columns = [c for c in list_coordinate_columns(skeleton) if c.q_index >= 0]
        self._names, self._index = [c.name for c in columns], [c.q_index for c in columns]
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._address, self._count = (host, port), 0

    def write(self, pose: LivePose) -> None:
        """Send a pose."""
        seen = pose.errors[np.isfinite(pose.errors)]
        record = {
            "frame": pose.number,
            "time": round(pose.time, 6),
            "quality": pose.quality,
            "error": round(float(seen.mean()), 6) if len(seen) > 0 else None,
            "values": dict(zip(self._names, pose.q[self._index].round(6).tolist(), strict=True)),
        }
        self._socket.sendto(json.dumps(record).encode(), self._address)
        self._count += 1

    def close(self) -> str:
        """End."""
        self._socket.close()
        return f"{self._count} datagrams to {self._address[0]}:{self._address[1]}"


class LslSink:
    """A stream of the Lab Streaming Layer, a channel a coordinate, in radians and metres."""

    def __init__(
        self, skeleton: Skeleton, name: str = "exactik", rate: float = 0.0, *, is_open: bool = False
    ):
        """Open the stream."""
        self._pylsl, self._name, self._count = import_lsl(is_open), name, 0
        columns = [c for c in list_coordinate_columns(skeleton) if c.q_index >= 0]
        self._index = [c.q_index for c in columns]
        info = self._pylsl.StreamInfo(
            name, "JointAngles", len(columns), rate, self._pylsl.cf_double64, f"exactik-{name}"
        )
        channels = info.desc().append_child("channels")
        for column in columns:
            channel = channels.append_child("channel")
            channel.append_child_value("label", column.name)
            channel.append_child_value("unit", "radians" if column.is_angle else "meters")
        self._outlet = self._pylsl.StreamOutlet(info, chunk_size=1)

    def write(self, pose: LivePose) -> None:
        """Send a pose, at the time when its frame came."""
        age = time.perf_counter() - pose.arrival
        self._outlet.push_sample(pose.q[self._index], self._pylsl.local_clock() - age)
        self._count += 1

    def close(self) -> str:
        """End the stream."""
        del self._outlet
        return f"{self._count} samples of the LSL stream {self._name}"
