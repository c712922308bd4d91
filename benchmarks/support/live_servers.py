"""Servers that speak enough of the protocols of motion capture for their real clients.

python -m benchmarks.support.live_servers KIND PORT RECORDING RATE SECONDS   plays a recording
"""

from __future__ import annotations

import contextlib
import json
import select
import socket
import struct
import sys
import threading
import time
from importlib import import_module
from typing import Any, Protocol

import numpy as np

import exactik as ik
from exactik.recordings.live import LiveFrame, format_frame
from exactik.typing import Array, IntArray

LOOPBACK = "127.0.0.1"
WAIT_S = 0.05
LSL_LOCAL = "[multicast]\nResolveScope = machine\n[log]\nlevel = -3\n"


class Server(Protocol):
    """Sends frames to whoever listens."""

    port: int

    @property
    def is_heard(self) -> bool: ...

    def send(self, number: int, moment: float, positions: Array) -> None: ...

    def rename(self, names: tuple[str, ...]) -> None: ...

    def send_garbage(self, data: bytes) -> None: ...

    def drop(self) -> None: ...

    def close(self) -> None: ...


class QualisysServer:
    """The RT protocol of Qualisys: commands, settings and the 3D component, over TCP."""

    COMMAND, XML, DATA, EVENT, COMPONENT_3D = 1, 2, 3, 6, 1

    def __init__(self, names: tuple[str, ...], rate: float, port: int = 0):
        self.names, self.rate = names, rate
        self._listener = socket.create_server((LOOPBACK, port))
        self.port = int(self._listener.getsockname()[1])
        self._streaming: list[socket.socket] = []
        self._closed = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def is_heard(self) -> bool:
        return len(self._streaming) > 0

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError, ValueError, struct.error):
            self._answer(client, self.COMMAND, b"QTM RT Interface connected\0")
            while True:
                size, _ = struct.unpack("<II", self._read(client, 8))
                command = self._read(client, size - 8).rstrip(b"\0").decode().lower()
                if command.startswith("version"):
                    self._answer(client, self.COMMAND, b"Version set to 1.25\0")
                elif command.startswith("getparameters"):
                    self._answer(client, self.XML, self._settings().encode() + b"\0")
                elif command == "streamframes stop":
                    self._streaming.remove(client)
                elif command.startswith("streamframes"):
                    self._streaming.append(client)
                else:
                    self._answer(client, self.COMMAND, b"Parse error\0")
        with contextlib.suppress(ValueError):
            self._streaming.remove(client)

    @staticmethod
    def _read(client: socket.socket, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = client.recv(count - len(data))
            if part == b"":
                raise OSError
            data += part
        return data

    @staticmethod
    def _answer(client: socket.socket, kind: int, body: bytes) -> None:
        client.sendall(struct.pack("<II", 8 + len(body), kind) + body)

    def _settings(self) -> str:
        labels = "".join(
            f"<Label><Name>{n}</Name><RGBColor>1</RGBColor></Label>" for n in self.names
        )
        return (
            "<QTM_Parameters_Ver_1.25><General><Frequency>"
            f"{self.rate:g}</Frequency></General><The_3D><AxisUpwards>+Y</AxisUpwards>"
            f"<Labels>{len(self.names)}</Labels>{labels}</The_3D></QTM_Parameters_Ver_1.25>"
        )

    def send(self, number: int, moment: float, positions: Array) -> None:
        with np.errstate(over="ignore"):
            body = (1e3 * positions).astype("<f4").tobytes()
        part = struct.pack("<IIIhh", 16 + len(body), self.COMPONENT_3D, len(positions), 0, 0) + body
        self.send_garbage(
            struct.pack("<IIqII", 24 + len(part), self.DATA, int(1e6 * moment), number, 1) + part
        )

    def send_garbage(self, data: bytes) -> None:
        for client in list(self._streaming):
            try:
                client.sendall(data)
            except OSError:
                with contextlib.suppress(ValueError):
                    self._streaming.remove(client)

    def rename(self, names: tuple[str, ...]) -> None:
        self.names = names

    def drop(self) -> None:
        for client in self._streaming:
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        self._streaming = []

    def close(self) -> None:
        self.drop()
        self._listener.close()


class OptiTrackServer:
    """NatNet 4.1 to one client: server info, descriptions and frames of marker sets, over UDP."""

    CONNECT, INFO, ASK_MODEL, MODEL, FRAME, ALIVE = 0, 1, 4, 5, 7, 10

    def __init__(self, names: tuple[str, ...], rate: float, port: int = 0):
        self.names = names
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((LOOPBACK, port))
        self.port = int(self._socket.getsockname()[1])
        self._client: Any = None
        self._closed, self._has_described = threading.Event(), False
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def is_heard(self) -> bool:
        return self._client is not None and self._has_described

    def _serve(self) -> None:
        while not self._closed.is_set():
            if len(select.select([self._socket], [], [], WAIT_S)[0]) == 0:
                continue
            try:
                data, client = self._socket.recvfrom(65535)
            except OSError:
                continue
            kind = struct.unpack_from("<H", data)[0]
            if kind == self.CONNECT:
                name = b"Motive".ljust(256, b"\0")
                self._send(self.INFO, name + bytes((3, 1, 0, 0, 4, 1, 0, 0)), client)
            elif kind == self.ASK_MODEL:
                self._send(self.MODEL, self._describe(), client)
                self._has_described = True
            self._client = client

    def _describe(self) -> bytes:
        sets = b""
        for name in ("Subject", "all"):
            body = name.encode() + b"\0" + struct.pack("<I", len(self.names))
            body += b"".join(n.encode() + b"\0" for n in self.names)
            sets += struct.pack("<II", 0, len(body)) + body
        return struct.pack("<I", 2) + sets

    def _send(self, kind: int, body: bytes, client: Any) -> None:
        self.send_garbage(struct.pack("<HH", kind, len(body)) + body, client)

    def send(self, number: int, moment: float, positions: Array) -> None:
        with np.errstate(over="ignore"):  # what is hidden is at zero
            places = np.nan_to_num(positions).astype("<f4").tobytes()
        sets = b"".join(
            name + b"\0" + struct.pack("<I", len(positions)) + places
            for name in (b"Subject", b"all")
        )
        nothing = struct.pack("<II", 0, 0)
        body = struct.pack("<I", number) + struct.pack("<II", 2, len(sets)) + sets
        body += nothing * 7 + struct.pack("<IIdQQQH", 0, 0, moment, 0, 0, 0, 0)
        self._send(self.FRAME, body, self._client)

    def send_garbage(self, data: bytes, client: Any = None) -> None:
        client = client or self._client
        if client is not None:
            with contextlib.suppress(OSError):
                self._socket.sendto(data, client)

    def rename(self, names: tuple[str, ...]) -> None:
        self.names = names
        if self._client is not None:
            self._send(self.MODEL, self._describe(), self._client)

    def drop(self) -> None:
        time.sleep(1.2)  # nothing comes, which is all that is seen of it

    def close(self) -> None:
        self._closed.set()
        self._socket.close()


class UdpServer:
    """A line of JSON per frame."""

    is_heard = True

    def __init__(self, names: tuple[str, ...], rate: float, port: int = 0):
        self.names, self.port = names, port
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def send(self, number: int, moment: float, positions: Array) -> None:
        self.send_garbage(format_frame(LiveFrame(self.names, positions, number, moment)))

    def send_garbage(self, data: bytes) -> None:
        with contextlib.suppress(OSError):
            self._socket.sendto(data, (LOOPBACK, self.port))

    def rename(self, names: tuple[str, ...]) -> None:
        self.names = names

    def drop(self) -> None:
        time.sleep(1.2)

    def close(self) -> None:
        self._socket.close()


class LslServer:
    """A stream of the Lab Streaming Layer."""

    port = 0

    def __init__(self, names: tuple[str, ...], rate: float, port: int = 0):
        pylsl: Any = import_module("pylsl")
        with contextlib.suppress(Exception):
            pylsl.set_config_content(LSL_LOCAL)
        self._pylsl, self._rate, self._port = pylsl, rate, port
        self.rename(names)

    @property
    def is_heard(self) -> bool:
        return bool(self._outlet.have_consumers())

    def send(self, number: int, moment: float, positions: Array) -> None:
        with np.errstate(over="ignore"):
            self._outlet.push_sample(positions.ravel().astype("f4"), moment + 1000.0)

    def send_garbage(self, data: bytes) -> None:
        """It has no packets of its own."""

    def rename(self, names: tuple[str, ...]) -> None:
        pylsl = self._pylsl
        self.names = names
        name = f"markers-{self._port}"
        info = pylsl.StreamInfo(name, "MoCap", 3 * len(names), self._rate, "float32", name)
        channels = info.desc().append_child("channels")
        for marker in names:
            for axis in "XYZ":
                channel = channels.append_child("channel")
                channel.append_child_value("label", f"{marker}_{axis}")
                channel.append_child_value("marker", marker)
                channel.append_child_value("type", f"Position{axis}")
                channel.append_child_value("unit", "meters")
        self._outlet: Any = None
        self._outlet = pylsl.StreamOutlet(info, chunk_size=1)

    def drop(self) -> None:
        self.rename(self.names)

    def close(self) -> None:
        self._outlet = None


SERVERS: dict[str, Any] = {
    "qualisys": QualisysServer,
    "optitrack": OptiTrackServer,
    "lsl": LslServer,
    "udp": UdpServer,
}


def play(server: Server, markers: ik.Markers, rate: float, seconds: float) -> int:
    """Send a recording to and fro at a rate for some time; return how many frames."""
    frames, begin = go_to_and_fro(len(markers), round(rate * seconds)), time.perf_counter()
    for n, k in enumerate(frames):
        time.sleep(max(begin + n / rate - time.perf_counter(), 0.0))
        server.send(n, n / rate, markers.positions[k])
    return len(frames)


def go_to_and_fro(frames: int, count: int) -> IntArray:
    """Return so many frames of a recording: to its end, back to its start, and so on."""
    k = np.arange(count) % (2 * frames - 2)
    return np.minimum(k, 2 * frames - 2 - k)


def main() -> None:
    kind, port, path, rate, seconds = sys.argv[1:]
    markers = ik.load_markers(path)
    server = SERVERS[kind](markers.names, float(rate), int(port))
    print(json.dumps({"port": server.port}), flush=True)
    sys.stdin.readline()  # until the client is there
    while not server.is_heard:
        time.sleep(WAIT_S)
    time.sleep(2 * WAIT_S)
    print(json.dumps({"sent": play(server, markers, float(rate), float(seconds))}), flush=True)
    sys.stdin.readline()
    server.close()


if __name__ == "__main__":
    main()
