"""Section posing, second part: from a drag in the browser to the pose on its way back.

The viewer runs in a process of its own; this one talks to it as the page does, over its socket.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks.support.report import Metric, Report
from exactik.typing import Array

DRAG_COUNT, PAUSE_S, STREAM_S, UPDATE_COUNT = 80, 0.08, 8.0, 20_000
SERVER_CODE = """
import os
import sys
import numpy as np
import exactik as ik
from exactik.studio.viewer import PoseViewer

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

with PoseViewer(ik.human()) as viewer:
    for name in viewer.session.handles:
        viewer.session.pin(name)
    viewer.handles.select("r_hand")
    viewer.session.glide = float(sys.argv[1])
    print(viewer.url, *viewer.session.handles["r_hand"].position, flush=True)
    sys.stdin.readline()
    start = viewer.session.handles["r_hand"].position
    for k in range(int(sys.argv[2])):
        viewer.session.drag("r_hand", start + 0.1 * np.sin([k / 20, k / 30, k / 40]))
        viewer._show(viewer.session.advance())
        if k % 1000 == 999:
            print(resident(), flush=True)
"""


class Client:
    """A page as the server sees it: a socket that sends gizmo moves and is sent poses."""

    def __init__(self, url: str):
        """Connect, as a page of the same version does, and say where its camera is."""
        import viser
        from websockets.sync.client import connect

        protocol: Any = f"viser-v{viser.__version__}"
        socket_url = url.replace("http", "ws", 1)
        origin: Any = url
        self.socket = connect(socket_url, subprotocols=[protocol], origin=origin, max_size=None)
        sizes = {"fov": 1.0, "near": 0.1, "far": 100.0, "image_height": 600, "image_width": 800}
        views = {"look_at": (0.0, 0.0, 1.0), "up_direction": (0.0, 0.0, 1.0)}
        turn, place = (1.0, 0.0, 0.0, 0.0), (3.0, 0.0, 1.0)
        self.send("ViewerCameraMessage", wxyz=turn, position=place, **sizes, **views)

    def send(self, kind: str, **fields: Any) -> None:
        """Send a message."""
        import msgspec

        self.socket.send(msgspec.msgpack.encode({"type": kind, **fields}))

    def drag(self, place: Array) -> None:
        """Move the gizmo [m, world]."""
        turn = (1.0, 0.0, 0.0, 0.0)
        where = tuple(place.tolist())
        self.send("TransformControlsUpdateMessage", name="/gizmo", wxyz=turn, position=where)

    def count_poses(self, timeout: float) -> int:
        """Wait for a message [s]; return how many poses are in it, -1 if none comes."""
        import msgspec
        import zstandard
        from websockets.exceptions import ConnectionClosed

        try:
            raw = self.socket.recv(timeout)
        except (TimeoutError, ConnectionClosed):
            return -1
        assert isinstance(raw, bytes)
        size = int.from_bytes(raw[8:16], "little")
        text = zstandard.ZstdDecompressor().decompress(raw[16 : 16 + size])
        messages = msgspec.msgpack.decode(text)["messages"]
        figure_messages = [
            m for m in messages if m.get("name") == "/figure/bones" and "updates" in m
        ]
        return sum("batched_positions" in message["updates"] for message in figure_messages)

    def wait_for_quiet(self, seconds: float) -> None:
        """Return when nothing has been sent for so long [s]."""
        while self.count_poses(seconds) >= 0:
            pass


@contextmanager
def run_viewer(glide: float, updates: int = 0) -> Iterator[tuple[Client, Array, Any]]:
    """Run the viewer; give a client, where the hand is [m], and the process.

    In the end, when its input closes, it makes so many updates as fast as it can.
    """
    command = [sys.executable, "-c", SERVER_CODE, str(glide), str(updates)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        url, *place = process.stdout.readline().split()
        client = Client(url)
        client.wait_for_quiet(1.0)
        client.send("TransformControlsDragStartMessage", name="/gizmo")
        client.drag(np.array(place, dtype=float))
        client.wait_for_quiet(0.5)
        yield client, np.array(place, dtype=float), process
        process.stdin.close()
        client.socket.close()


def read_cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process has used [s]."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure_latencies() -> Array:
    """Return seconds from sending a drag to a figure at rest until its first pose is here."""
    seconds = []
    with run_viewer(0.0) as (client, start, _):
        for k in range(DRAG_COUNT):
            client.wait_for_quiet(PAUSE_S)
            way = np.array([np.sin(k / 5), np.cos(k / 4) - 1.0, np.sin(k / 7)])
            begin = time.perf_counter()
            client.drag(start + 0.1 * way)
            while client.count_poses(1.0) == 0:
                pass
            seconds.append(time.perf_counter() - begin)
    return np.array(seconds[10:])


def measure_stream() -> tuple[float, float, float]:
    """Drag without a pause; return poses a second, cores used, and drags a second."""
    with run_viewer(0.035) as (client, start, process):
        begin, spent, poses, drags = time.perf_counter(), read_cpu_seconds(process.pid), 0, 0
        while (now := time.perf_counter() - begin) < STREAM_S:
            if now * 20.0 >= drags:  # as often as a page sends
                way = np.array([np.sin(4 * now), np.cos(5 * now) - 1.0, np.sin(3 * now)])
                client.drag(start + 0.1 * way)
                drags += 1
            poses += max(client.count_poses(0.005), 0)
        return (
            poses / STREAM_S,
            (read_cpu_seconds(process.pid) - spent) / STREAM_S,
            drags / STREAM_S,
        )


def measure_memory() -> tuple[float, float]:
    """Return the memory of a server after 2,000 and after 20,000 updates, with a page [MB]."""
    with run_viewer(0.035, UPDATE_COUNT) as (client, _, process):
        process.stdin.close()
        while client.count_poses(20.0) >= 0:
            pass
        sizes = [float(line) for line in process.stdout]
    return sizes[1], sizes[-1]


def run(report: Report) -> None:
    """Measure and print the section."""
    report.title("posing over the socket: human, 6 goals")
    wait, (poses, cores, drags), (early, late) = (
        1e3 * measure_latencies(),
        measure_stream(),
        measure_memory(),
    )
    rows = [
        ["drag to pose, median", f"{np.median(wait):.2f} ms"],
        ["drag to pose, 95 %", f"{np.percentile(wait, 95):.2f} ms"],
        [f"poses a second, at {drags:.0f} drags a second", f"{poses:.0f}"],
        ["cores that the server uses for it", f"{cores:.2f}"],
        [f"its memory after 2,000 and {UPDATE_COUNT:,} updates", f"{early:.1f}, {late:.1f} MB"],
    ]
    report.table(["what", "measured"], rows)
    report.add(
        Metric("drag to pose, median", float(np.median(wait)), "ms", 5.0),
        Metric("poses a second", poses, "1/s", 60.0, at_least=True),
        Metric("cores used", cores, "", 0.5),
        Metric("memory gained in 18,000 updates", late - early, "MB", 2.0),
    )
