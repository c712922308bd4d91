"""Frames from files and from datagrams of JSON."""

from __future__ import annotations

import json
import math
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from exactik.errors import UsageError
from exactik.model.motion import Markers
from exactik.recordings.live._frames import LiveFrame

LOOPBACK = "127.0.0.1"
LARGEST_DATAGRAM = 65535  # [bytes] by UDP
WAKE_SECONDS = 0.2  # [s] after which a receiver looks whether it is to end
RECEIVE_BUFFER = 1 << 22  # [bytes] asked of the system: a second of frames, if the solver is busy


@dataclass(frozen=True)
class FileSource:
    """A recording that is played.

    Attributes:
        markers: the recording.
        speed: frames a second [Hz]; its own rate if None; infinite: as fast as they are solved.
    """

    markers: Markers
    speed: float | None = None

    @property
    def title(self) -> str:
        """What it is, in words."""
        return f"the recording {self.markers.source}"

    @property
    def rate(self) -> float | None:
        """Of what is played [Hz]."""
        return self.markers.rate if self.waits else self.speed or self.markers.rate

    @property
    def up_axis(self) -> str | None:
        """As the file says."""
        return self.markers.up_axis

    @property
    def waits(self) -> bool:
        """Whether there is no clock."""
        return self.speed == math.inf

    def run(
        self,
        deliver: Callable[[LiveFrame], object],
        say: Callable[[str], object],
        stop: threading.Event,
    ) -> None:
        """Deliver all frames, each at its time."""
        rate = self.rate or 1.0
        begin = time.perf_counter()
        for n, positions in enumerate(self.markers.positions):
            if not self.waits:
                time.sleep(max(begin + n / rate - time.perf_counter(), 0.0))
            if stop.is_set():
                return
            deliver(LiveFrame(self.markers.names, positions, n, n / rate, time.perf_counter()))


class UdpSource:
    """Datagrams of JSON, a frame each; see `parse_frame`."""

    rate: float | None = None
    up_axis: str | None = None
    waits = False

    def __init__(self, port: int = 0, host: str = LOOPBACK):
        """Listen at a port; 0 for any that is free."""
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        try:
            self._socket.bind((host, port))
        except (OSError, OverflowError) as error:
            self._socket.close()
            raise UsageError(f"cannot listen on {host}:{port}: {error}") from None
        self._socket.settimeout(WAKE_SECONDS)
        self.port = int(self._socket.getsockname()[1])
        self.title = f"UDP at {host}:{self.port}"

    def run(
        self,
        deliver: Callable[[LiveFrame], object],
        say: Callable[[str], object],
        stop: threading.Event,
    ) -> None:
        """Deliver what comes; say once in a while what makes no sense."""
        while not stop.is_set():
            try:
                data = self._socket.recv(LARGEST_DATAGRAM)
            except TimeoutError:
                continue
            arrival = time.perf_counter()
            try:
                deliver(parse_frame(data, arrival))
            except ValueError as error:
                say(f"a datagram makes no sense: {error}")
        self._socket.close()


def parse_frame(data: bytes | str, arrival: float = 0.0) -> LiveFrame:
    """Return the frame in a line of JSON; raise `ValueError` where it is none.

    {"frame": 12, "time": 0.048, "markers": {"LANK": [0.11, 0.2, 0.09], "RANK": null}}

    Places in metres; a marker that is null or not there is missing; "frame" (a whole number) and
    "time" [s] may be left out.
    """
    try:
        record = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON ({error})") from None
    markers = record.get("markers") if isinstance(record, dict) else None
    if not isinstance(markers, dict):
        raise ValueError('expected {"frame": 1, "markers": {"NAME": [x, y, z]}}')
    missing = (math.nan,) * 3
    try:
        rows = [missing if place is None else place for place in markers.values()]
        positions = np.array(rows, dtype=float).reshape(-1, 3)
    except (TypeError, ValueError):
        raise ValueError("a marker is not three numbers") from None
    if len(positions) != len(markers):
        raise ValueError("a marker is not three numbers")
    number, moment = record.get("frame"), record.get("time")
    return LiveFrame(
        names=tuple(markers),
        positions=positions,
        number=int(_require_number("frame", number)) if number is not None else None,
        time=_require_number("time", moment) if moment is not None else None,
        arrival=arrival,
    )


def _require_number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 2**53:
        raise ValueError(f"{name} is {value!r:.40}; expected a number")
    return float(value)


def format_frame(frame: LiveFrame) -> bytes:
    """Return a frame as `parse_frame` reads it."""
    markers = {
        name: None if place[0] != place[0] else place
        for name, place in zip(frame.names, frame.positions.tolist(), strict=True)
    }
    record: dict[str, Any] = {"frame": frame.number, "time": frame.time, "markers": markers}
    return json.dumps({k: v for k, v in record.items() if v is not None}).encode()
