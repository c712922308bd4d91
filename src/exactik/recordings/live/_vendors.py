"""Frames from other people's systems, by the packages that speak with them.

Qualisys          `qtm-rt`: the 3D component of the RT protocol, millimetres, labels from the
settings
OptiTrack         `natnet` reads the packets; the sockets are ours, for its client ends at the
first packet that makes no sense, and asks for frames by asking without pause
Lab Streaming     `pylsl`: a stream of type MoCap, whose channels are places of markers
Layer
"""

from __future__ import annotations

import asyncio
import math
import re
import select
import socket
import struct
import threading
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from defusedxml.ElementTree import fromstring

from exactik.errors import UsageError
from exactik.recordings.live._frames import LiveFrame, SourceLostError
from exactik.recordings.live._sources import (
    LARGEST_DATAGRAM,
    LOOPBACK,
    RECEIVE_BUFFER,
    WAKE_SECONDS,
)
from exactik.typing import IntArray

QTM_PORT = 22223  # of the RT protocol, little endian
SILENCE_SECONDS = 2.0  # [s] without a frame, after which a stream is asked for again
CONNECT_SECONDS = 5.0  # [s] for which an answer is waited for
NATNET_PORT, NATNET_DATA_PORT = 1510, 1511  # commands; frames to all
NATNET_GROUP = "239.255.42.99"  # where Motive sends frames to all
NATNET_CONNECT, NATNET_SERVERINFO, NATNET_REQUEST_MODELDEF, NATNET_MODELDEF = 0, 1, 4, 5
NATNET_FRAME, NATNET_KEEPALIVE = 7, 10
ASK_SECONDS = 0.1  # [s] between two questions for names that are not known
KEEPALIVE_SECONDS = 1.0  # [s] between two signs of life, as Motive wants them
_PARTS = ("data_descriptions", "data_frame", "exceptions", "packet_buffer", "server_info")
NATNET = ("natnet", *(f"natnet.{part}" for part in _PARTS))
ALL_MARKERS = "all"  # a marker set of Motive's, which has every marker once more
LSL_LOCAL = "[multicast]\nResolveScope = machine\n[log]\nlevel = -3\n"
LSL_UNITS = {"mm": 1e-3, "mi": 1e-3, "cm": 1e-2, "ce": 1e-2}  # by their first letters [m]
LSL_NAME_ENDS = re.compile(r"(.+?)[ _.:-]?([xyzXYZ])$")


def require_package(package: str, *modules: str) -> Any:
    """Return the first of some modules, all imported; say how to install what is missing."""
    try:
        package_itself, *_ = [import_module(name) for name in modules]
    except (ImportError, RuntimeError) as error:  # pylsl without its library
        hint = f"it takes {package} ({error}); in a clone of exactik: pip install '.[live]'"
        raise UsageError(hint) from None
    return package_itself


class QualisysSource:
    """A Qualisys Track Manager that measures, or plays a file in real time."""

    waits = False
    rate: float | None = None
    up_axis: str | None = None

    def __init__(self, host: str = LOOPBACK, port: int = QTM_PORT):
        """Remember where it is."""
        self._qtm, self._host, self._port = require_package("qtm-rt", "qtm_rt"), host, port
        self.title = f"Qualisys at {host}:{port}"
        self._names: tuple[str, ...] = ()

    def run(
        self,
        deliver: Callable[[LiveFrame], object],
        say: Callable[[str], object],
        stop: threading.Event,
    ) -> None:
        """Deliver frames until the connection ends."""
        asyncio.run(self._stream(deliver, say, stop))

    async def _stream(
        self,
        deliver: Callable[[LiveFrame], object],
        say: Callable[[str], object],
        stop: threading.Event,
    ) -> None:
        ended = asyncio.Event()
        # A packet that makes no sense ends the connection: that is told, and not its traceback.
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        connection = await self._qtm.connect(
            self._host,
            self._port,
            timeout=CONNECT_SECONDS,
            on_disconnect=lambda _: ended.set(),
        )
        if connection is None:
            raise SourceLostError(f"no answer from {self.title}")
        renew, heard = asyncio.Event(), math.inf

        def take(packet: Any) -> None:
            nonlocal heard
            heard = arrival = time.perf_counter()
            try:
                _, markers = packet.get_3d_markers()
            except (TypeError, struct.error):  # no 3D in it
                return
            if len(markers) != len(self._names):
                renew.set()
                return
            positions = 1e-3 * np.array(markers, dtype=float).reshape(-1, 3)
            moment = 1e-6 * packet.timestamp
            deliver(LiveFrame(self._names, positions, packet.framenumber, moment, arrival))

        try:
            await self._read_settings(connection)
            await connection.stream_frames(components=["3d"], on_packet=take)
            while not stop.is_set() and not ended.is_set():
                await asyncio.sleep(WAKE_SECONDS)
                if time.perf_counter() - heard > SILENCE_SECONDS:  # or a packet that does not end
                    raise SourceLostError(f"{self.title} has fallen silent")
                if renew.is_set():
                    renew.clear()
                    say("the number of markers has changed: labels are read again")
                    await connection.stream_frames_stop()
                    await self._read_settings(connection)
                    await connection.stream_frames(components=["3d"], on_packet=take)
        except (TimeoutError, self._qtm.QRTCommandException) as error:
            raise SourceLostError(f"{self.title}: {error or 'no answer'}") from None
        finally:
            if connection.has_transport():
                connection.disconnect()
        if ended.is_set() and not stop.is_set():
            raise SourceLostError(f"{self.title} has closed the connection")

    async def _read_settings(self, connection: Any) -> None:
        settings = await connection.get_parameters(["general", "3d"])
        try:
            root = fromstring(settings)
        except (SyntaxError, ValueError, TypeError) as error:
            raise SourceLostError(f"{self.title}: settings that are no XML ({error})") from None
        labels = [label.findtext("Name") or "" for label in root.iter("Label")]
        self._names = make_unique(labels)
        up = (root.findtext(".//AxisUpwards") or "").lower()[-1:]
        self.up_axis = up if up in ("x", "y", "z") else None
        try:
            self.rate = float(root.findtext(".//Frequency") or "nan")
        except ValueError:
            self.rate = None


def make_unique(names: list[str]) -> tuple[str, ...]:
    """Return names, each once: what comes twice becomes "NAME#2"."""
    counts: dict[str, int] = {}
    unique = []
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        unique.append(name if counts[name] == 1 else f"{name}#{counts[name]}")
    return tuple(unique)


class OptiTrackSource:
    """A Motive that streams labelled markers, to this machine alone or to all."""

    waits = False
    rate: float | None = None
    up_axis: str | None = None  # it can be y or z, and does not say which

    def __init__(self, host: str = LOOPBACK, port: int = NATNET_PORT):
        """Remember where it is."""
        self._natnet, self._host, self._port = require_package("natnet", *NATNET), host, port
        self.title = f"OptiTrack at {host}:{port}"
        self._version: Any = None
        self._names: dict[str, tuple[str, ...]] = {}  # marker set → its markers
        self._asked = -math.inf
        self._known: tuple[Any, tuple[str, ...]] = ((), ())

    def run(
        self,
        deliver: Callable[[LiveFrame], object],
        say: Callable[[str], object],
        stop: threading.Event,
    ) -> None:
        """Deliver frames until nothing more comes."""
        command = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        data = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            command.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
            command.connect((self._host, self._port))
            own = command.getsockname()[0]
            listening = [command, *([data] if _join_group(data, own) else [])]
            natnet_error = self._natnet.exceptions.NatNetError
            while not stop.is_set():
                quiet = time.perf_counter() - self._asked
                if quiet > (ASK_SECONDS if len(self._names) == 0 else KEEPALIVE_SECONDS):
                    self._ask(command)
                for ready in select.select(listening, [], [], WAKE_SECONDS)[0]:
                    packet = ready.recv(LARGEST_DATAGRAM)
                    arrival = time.perf_counter()
                    try:
                        self._read(packet, arrival, deliver, command)
                    except (struct.error, ValueError, TypeError, AssertionError, natnet_error):
                        say(f"a packet of {len(packet)} bytes makes no sense")
        finally:
            command.close()
            data.close()

    def _ask(self, command: socket.socket) -> None:
        self._asked = time.perf_counter()
        kinds = [NATNET_KEEPALIVE if self._version is not None else NATNET_CONNECT]
        kinds += [NATNET_REQUEST_MODELDEF] if self._version is not None and not self._names else []
        for kind in kinds:
            text = b"Ping\0" if kind == NATNET_CONNECT else b"\0"
            command.send(struct.pack("<HH", kind, len(text)) + text)

    def _read(
        self,
        packet: bytes,
        arrival: float,
        deliver: Callable[[LiveFrame], object],
        command: socket.socket,
    ) -> None:
        natnet = self._natnet
        kind, size = struct.unpack_from("<HH", packet)
        if size != len(packet) - 4:
            raise ValueError("cut")
        buffer = natnet.packet_buffer.PacketBuffer(packet)
        buffer.pointer = 4
        if kind == NATNET_SERVERINFO:
            info = natnet.server_info.ServerInfo.read_from_buffer(buffer, self._version)
            self._version = info.nat_net_protocol_version
            self._names = {}
            self._ask(command)  # for the names, now that the version is known
        elif self._version is None:
            return
        elif kind == NATNET_MODELDEF:
            described = natnet.data_descriptions.DataDescriptions.read_from_buffer(
                buffer, self._version
            )
            self._names = {one.name: one.marker_names for one in described.marker_sets}
        elif kind == NATNET_FRAME:
            frame = natnet.data_frame.DataFrame.read_from_buffer(buffer, self._version)
            self._deliver(frame, arrival, deliver)
            if frame.suffix.tracked_models_changed:
                self._names = {}  # asked for again

    def _deliver(self, frame: Any, arrival: float, deliver: Callable[[LiveFrame], object]) -> None:
        sets = [one for one in frame.marker_sets if one.model_name != ALL_MARKERS]
        key = tuple((one.model_name, len(one.marker_pos_list)) for one in sets)
        if self._known[0] != key or len(self._names) == 0:
            named = [(one, self._names.get(one.model_name, ())) for one in sets]
            if any(len(names) != len(one.marker_pos_list) for one, names in named):
                self._names = {}
                return
            several = len(sets) > 1
            names = [f"{one.model_name}:{n}" if several else n for one, ns in named for n in ns]
            self._known = key, make_unique(names)
        places = [place for one in sets for place in one.marker_pos_list]
        positions = np.array(places, dtype=float).reshape(-1, 3)
        positions[(positions == 0.0).all(axis=1)] = np.nan  # what Motive sends for hidden ones
        number, moment = frame.prefix.frame_number, frame.suffix.timestamp
        deliver(LiveFrame(self._known[1], positions, number, moment, arrival))


def _join_group(data: socket.socket, own: str) -> bool:
    """Listen to what Motive sends to all, on the one interface that leads to it."""
    try:
        data.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        data.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        data.bind((NATNET_GROUP, NATNET_DATA_PORT))
        group = socket.inet_aton(NATNET_GROUP) + socket.inet_aton(own)
        data.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group)
    except OSError:  # no such interface, or a system that binds to no group
        return False
    return True


def import_lsl(is_open: bool) -> Any:
    """Return `pylsl`; streams of this machine alone are seen unless it is open to others."""
    pylsl = require_package("pylsl", "pylsl")
    if not is_open:
        pylsl.set_config_content(LSL_LOCAL)  # holds if nothing of LSL was called before
    return pylsl


class LslSource:
    """A stream of the Lab Streaming Layer."""

    waits = False
    rate: float | None = None
    up_axis: str | None = None

    def __init__(self, name: str = "", *, is_open: bool = False):
        """Remember which one: of a name, or the first of type MoCap."""
        self._pylsl, self._name = import_lsl(is_open), name
        self.title = f"the LSL stream {name}" if name else "LSL streams of type MoCap"

    def run(
        self,
        deliver: Callable[[LiveFrame], object],
        say: Callable[[str], object],
        stop: threading.Event,
    ) -> None:
        """Deliver samples until the stream is lost."""
        pylsl = self._pylsl
        key = ("name", self._name) if self._name else ("type", "MoCap")
        found = pylsl.resolve_byprop(*key, minimum=1, timeout=CONNECT_SECONDS)
        if len(found) == 0:
            raise SourceLostError(f"{self.title}: none is there")
        inlet = pylsl.StreamInlet(found[0], max_chunklen=1, recover=False, as_numpy=True)
        try:
            info = inlet.info(CONNECT_SECONDS)
            names, columns, unit = read_channels(info)
            self.rate = info.nominal_srate() or None
            while not stop.is_set():
                sample, moment = inlet.pull_sample(timeout=WAKE_SECONDS)
                if sample is None:
                    continue
                arrival = time.perf_counter()
                positions = unit * np.asarray(sample, dtype=float)[columns]
                # Samples have no number; the time tells what was lost.
                deliver(LiveFrame(names, positions, None, moment, arrival))
        except (pylsl.util.LostError, pylsl.util.TimeoutError) as error:
            raise SourceLostError(f"{self.title}: {error or 'lost'}") from None
        finally:
            inlet.close_stream()


def read_channels(info: Any) -> tuple[tuple[str, ...], IntArray, float]:
    """Return the markers of a stream, their columns (n, 3), and the metres in its unit.

    By the description of its channels: the marker and PositionX, Y, Z of each, or labels such as
    LANK_X.
    """
    places: dict[str, dict[str, int]] = {}
    unit = 1.0
    channel = info.desc().child("channels").child("channel")
    for k in range(info.channel_count()):
        label, kind = channel.child_value("label"), channel.child_value("type")
        marker = channel.child_value("marker")
        ends = LSL_NAME_ENDS.match(label)
        axis = kind[-1:].lower() if kind.lower().startswith("position") else ""
        if axis == "" and ends is not None:
            marker, axis = ends[1], ends[2].lower()
        if marker != "" and axis in ("x", "y", "z"):
            places.setdefault(marker, {})[axis] = k
            unit = LSL_UNITS.get(channel.child_value("unit").lower()[:2], unit)
        channel = channel.next_sibling()
    whole = {name: [axes[a] for a in "xyz"] for name, axes in places.items() if len(axes) == 3}
    if len(whole) == 0:
        text = "its channels are no markers; expected labels such as LANK_X, LANK_Y, LANK_Z"
        raise UsageError(f"the LSL stream {info.name()}: {text}")
    return tuple(whole), np.array(list(whole.values())), unit
