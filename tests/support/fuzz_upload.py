"""Requests for fuzzing: what a page, or somebody who is none, may send to a running viewer.

A run sends to the server of `exactik pose` or `exactik play`, over its real port, an HTTP request,
a web socket of a foreign origin, messages that are no messages, or files: sound or damaged ones,
under names that mean harm, whole, in wrong parts, by several at once, or until the line breaks.
After it the server answers its page, nothing is kept of what did not arrive, files are in their
folder and few, and whoever sent a file is told of it in one sentence.
"""

from __future__ import annotations

import logging
import os
import socket
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import msgspec
import numpy as np

import exactik as ik
from exactik.studio.viewer import MotionViewer, PoseViewer
from exactik.studio.viewer.page.upload import MAX_UPLOAD_BYTES
from tests.support.fuzz_files import files_of
from tests.support.fuzz_runs import Wrong
from tests.support.fuzz_scenes import MJCF, URDF, watch_files
from tests.support.fuzzing import mutant

__all__ = ["UploadFuzzer", "ask", "host_of"]

NAMES = (
    "../../up",
    "/etc/cron.d/x",
    "..\\..\\up",
    "C:\\x",
    "a\0b",
    ".hidden",
    "é膝 👩",
    "<b>x",
    "-rf",
)
NAMES += (
    "x" * 900,
    "",
    " ",
    "con",
    "a/../../b",
    "%2e%2e%2fx",
    "\ud800".encode("utf-8", "replace").decode(),
)
PATHS = (
    "/",
    "/index.html",
    "/../../etc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/..%5c..%5cx",
    "//etc",
)
PATHS += (
    "/x?y",
    "/" + "a" * 3000,
    "/%00",
    "*",
    "",
    "http://example.invalid/",
    "/assets/../../../x",
)
FOREIGN = (
    "https://example.invalid",
    "null",
    "http://127.0.0.1:1",
    "http://localhost.evil",
    "file://",
)
SUFFIXES = {
    "pose": (".glb", ".urdf", ".xml", ".bvh", ".npz", ".osim"),
    "play": (".c3d", ".trc", ".bvh", ".glb", ".npz"),
}
TELLING = 15.0  # [s] in which a file is opened, or refused in a sentence
ANSWERING = 5.0  # [s] in which a request is answered, or the line closed
LONGEST = 900  # characters of a sentence, of which escapes of Markdown may be half
MOST_FILES = 64
TEMPORARY = os.path.join(tempfile.gettempdir(), "tmp")  # of Python's own, for key frames


class UploadFuzzer:
    """Two viewers, and who sends them what they did not ask for.

    Attributes:
        name: of this kind of run.
    """

    name = "upload"

    def __init__(self) -> None:
        """Start both servers."""
        self._stack = ExitStack()
        figure = ik.Skeleton("dot", [ik.Bone("a", joint=ik.Joint.free())])
        markers = ik.Markers(np.zeros((3, 2, 3)), ("A", "B"), 30.0)
        self.opened = 0
        for kind in (PoseViewer, MotionViewer):
            self._stack.enter_context(patch.object(kind, "open_file", self._count(kind.open_file)))
        self.viewers: dict[str, Any] = {
            "pose": self._stack.enter_context(PoseViewer(figure)),
            "play": self._stack.enter_context(MotionViewer(markers)),
        }
        folder = self.viewers["pose"].uploads.folder / "sound"
        folder.mkdir()
        sound, _ = files_of(folder)
        for file in sorted(folder.rglob("*"), reverse=True):
            file.rmdir() if file.is_dir() else file.unlink()
        folder.rmdir()
        self.files: dict[str, list[bytes]] = {".urdf": [URDF.encode()], ".xml": [MJCF.encode()]}
        for name, data in sound.items():
            self.files.setdefault(f".{name.partition('/')[0].rpartition('.')[2]}", []).append(data)
        self.most_files, self.largest, self.unhandled = 0, 0, []
        self._folders = [str(viewer.uploads.folder) for viewer in self.viewers.values()]
        self._memory = read_memory()

    def __enter__(self) -> UploadFuzzer:
        self._hook, threading.excepthook = threading.excepthook, self._note
        log = logging.getLogger("exactik.studio.viewer.server")
        self._stack.callback(log.setLevel, log.level)
        log.setLevel(logging.CRITICAL)  # of lines that break
        return self

    def __exit__(self, *_: object) -> None:
        threading.excepthook = self._hook
        self._stack.close()
        left = [viewer.uploads.folder for viewer in self.viewers.values()]
        if any(folder.exists() for folder in left):
            raise Wrong(f"{left} are left behind")

    def _note(self, arguments: Any) -> None:
        self.unhandled.append(f"{arguments.exc_type.__name__}: {arguments.exc_value}")

    def _count(self, open_file: Any) -> Any:
        def counted(viewer: Any, path: Any) -> None:
            try:
                open_file(viewer, path)
            finally:
                self.opened += 1

        return counted

    def run(self, name: str) -> str:
        """Do the run of a name; return what it was, or raise `Wrong`."""
        rng = Random(name)
        kind = rng.choice(["pose", "play"])
        viewer = self.viewers[kind]
        acts = [self._send_request, self._knock, self._babble, self._break_off]
        act = rng.choice([*acts, self._send_files, self._send_files, self._send_files])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with watch_files(
                    (*self._folders, "/proc", "/dev/null", "/etc/mime.types", TEMPORARY)
                ) as strange:
                    outcome = act(viewer, kind, rng)
                if len(strange) > 0:
                    raise Wrong(f"opened {strange[0]}")
                self._check(viewer)
        except Exception as error:
            raise Wrong(
                f"run {name}, {act.__name__}: {type(error).__name__}: {error}"[:1500]
            ) from error
        return outcome

    def describe(self) -> str:
        """Return the most that was kept at any time."""
        grown = read_memory() - self._memory
        kept = f"most files {self.most_files}, {self.largest} bytes"
        return f"{kept}; the process grew by {grown:.0f} MiB"

    def _check(self, viewer: Any) -> None:
        """Look at the server: it answers, and keeps nothing that it should not."""
        answer = ask(viewer, f"GET / HTTP/1.1\r\nHost: {host_of(viewer)}\r\n\r\n".encode())
        if not answer.startswith(b"HTTP/1.1 200"):
            raise Wrong(f"the page is answered by {answer[:80]!r}")
        states = viewer.server.gui._current_file_upload_states
        if not wait_for(lambda: len(states) == 0, ANSWERING):
            raise Wrong(f"{len(states)} transfers are left")
        settle(viewer)
        folder = viewer.uploads.folder
        kept = [path for path in folder.rglob("*") if path.is_file()]
        size = sum(os.path.getsize(path) for path in kept if path.exists())
        self.most_files, self.largest = max(self.most_files, len(kept)), max(self.largest, size)
        if (
            len(kept) > MOST_FILES
            or size > MAX_UPLOAD_BYTES
            or any(p.is_dir() for p in folder.iterdir())
        ):
            raise Wrong(f"{len(kept)} files of {size} bytes are kept")
        if len(self.unhandled) > 0:
            raise Wrong(self.unhandled.pop())

    # --- what is sent

    def _send_request(self, viewer: Any, kind: str, rng: Random) -> str:
        """A request of any shape, whole or not."""
        method = rng.choice([*["GET"] * 9, "POST", "PUT", "HEAD", "OPTIONS", "CONNECT", "\xff", ""])
        hosts = [host_of(viewer)] * 9 + ["example.invalid", "", "127.0.0.1:1", "[::1", "a" * 9000]
        host = rng.choice(hosts)
        lines = [f"{method} {rng.choice(PATHS)} HTTP/{rng.choice([*['1.1'] * 6, '1.0', '9', ''])}"]
        lines += [f"Host: {host}"] * rng.choice([1] * 8 + [0, 2])
        more = [
            "Origin: " + rng.choice(FOREIGN),
            "Content-Length: -1",
            "Content-Length: 99999999999",
        ]
        more += [
            "Transfer-Encoding: chunked",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "x" * 9000,
        ]
        more += [
            "Sec-WebSocket-Key: AAAA",
            "Sec-WebSocket-Version: 13",
            "A: " + "b" * 70_000,
            ":",
            "\0",
        ]
        lines += rng.sample(more, rng.choice([0, 0, 0, 1, 2, 5]))
        body = rng.choice(
            [b"", b"", b"", b"ffffffff\r\nabc\r\n", b"5\r\nhello\r\n0\r\n\r\n", rng.randbytes(2000)]
        )
        data = "\r\n".join(lines).encode("latin-1", "replace") + b"\r\n\r\n" + body
        if rng.random() < 0.3:
            data = mutant(data, ".txt", rng, [data])
        data = data[: rng.choice([len(data)] * 6 + [rng.randrange(1, 60)])]
        answer = ask(viewer, data, patience=0.3)
        own = host.startswith("127.0.0.1:")  # and any port: it may be forwarded
        if answer.startswith(b"HTTP/1.1 200") and (not own or b"\r\nOrigin: " in data):
            raise Wrong(f"answered {data[:200]!r}")
        if b"root:" in answer or answer.startswith(b"HTTP/1.1 500"):
            raise Wrong(f"answered {answer[:80]!r} to {data[:200]!r}")
        return f"request {answer[9:12].decode('latin-1') or 'closed'}"

    def _knock(self, viewer: Any, kind: str, rng: Random) -> str:
        """A web socket of somebody else's page."""
        from websockets.exceptions import WebSocketException

        try:
            with connect(viewer, origin=rng.choice(FOREIGN)):
                raise Wrong("a foreign page was let in")
        except (WebSocketException, OSError) as error:
            if "403" not in str(error):
                raise Wrong(f"a foreign page was answered: {error}") from None
        return "knock 403"

    def _babble(self, viewer: Any, kind: str, rng: Random) -> str:
        """Bytes and messages that mean nothing, from a page of ours."""
        with quiet(), connect(viewer) as page:
            for _ in range(rng.choice([1, 3])):
                start = announce(find_button(viewer, rng), "a.c3d", 9)
                wild = rng.choice([-1, 0, 2**62, 1e308, None, [], {}, "x" * 5000, b"\xff", True])
                start[rng.choice([*start, "more"])] = wild
                part = {"type": "FileTransferPart", "source_component_uuid": wild}
                part |= {
                    "transfer_uuid": start["transfer_uuid"],
                    "part_index": wild,
                    "content": wild,
                }
                whole = msgspec.msgpack.encode(start)
                page.send(
                    rng.choice(
                        [whole, whole, msgspec.msgpack.encode(part), rng.randbytes(40), b"", "text"]
                    )
                )
                page.send(msgspec.msgpack.encode(part))
            time.sleep(0.02)
        return "babble"

    def _break_off(self, viewer: Any, kind: str, rng: Random) -> str:
        """Files that are announced and never, or not as announced, sent."""
        with quiet(), connect(viewer) as page:
            button = find_button(viewer, rng)
            start = announce(button, "a.c3d", 1)
            for _ in range(rng.choice([1, 5, 40])):
                size = rng.choice(
                    [1, 100, 200_000, MAX_UPLOAD_BYTES, MAX_UPLOAD_BYTES + 1, 2**50, -5, 0]
                )
                start = announce(button, rng.choice(NAMES) + ".c3d", size)
                start["part_count"] = rng.choice([start["part_count"], 0, 1, 10**9, -1])
                page.send(msgspec.msgpack.encode(start))
                for k in rng.sample(range(-1, 4), rng.choice([0, 1, 3])):
                    content = bytes(rng.choice([0, 1, 100, 70_000]))
                    page.send(msgspec.msgpack.encode(make_part(start, k, content)))
            with suppress(Exception):
                page.send(msgspec.msgpack.encode(make_part(start, 0, b"x"))[: rng.randrange(1, 40)])
        return "broken off"

    def _send_files(self, viewer: Any, kind: str, rng: Random) -> str:
        """One file, or several at once, each of which is opened or refused in a sentence."""
        count, before = rng.choice([1, 1, 1, 2, 4]), self.opened
        settle(viewer)
        (viewer._say if kind == "pose" else viewer.say)("")
        settle(viewer)
        before_panel = viewer.panel
        with ExitStack() as stack:
            pages = [stack.enter_context(connect(viewer)) for _ in range(count)]
            button = find_button(viewer, rng, opening=True)
            for page in pages:
                suffix = rng.choice(SUFFIXES[kind])
                data = rng.choice(self.files[suffix])
                data = mutant(data, suffix, rng, [data]) if rng.random() < 0.8 else data
                data = data if rng.random() < 0.95 else b""
                name = (rng.choice(NAMES) if rng.random() < 0.5 else "own") + suffix
                start = announce(button, name[-900:], len(data))
                page.send(msgspec.msgpack.encode(start))
                for k in rng.sample(range(start["part_count"]), start["part_count"]):
                    piece = data[k * PART : (k + 1) * PART]
                    page.send(msgspec.msgpack.encode(make_part(start, k, piece)))
            if not wait_for(lambda: self.opened >= before + count, TELLING):
                # A button is replaced when a file is opened: what was sent to the old one is gone.
                if count == 1 or self.opened == before:
                    raise Wrong(f"{self.opened - before} of {count} files were opened or refused")
        wait_for(lambda: viewer.panel is not before_panel or viewer.panel.message.content, 0.3)
        said = viewer.panel.message.content
        if len(said) > LONGEST or "\n" in said or str(viewer.uploads.folder) in said:
            raise Wrong(f"says {said!r}")
        return "refused" if said else "opened"


PART = 1 << 19  # [bytes], as pages send them


def announce(button: str, name: str, size: int) -> dict[str, Any]:
    """The message that begins a file."""
    return {
        "type": "FileTransferStartUpload",
        "source_component_uuid": button,
        "transfer_uuid": os.urandom(8).hex(),
        "filename": name,
        "mime_type": "",
        "part_count": max(-(-size // PART), 0),
        "size_bytes": size,
    }


def make_part(start: dict[str, Any], index: int, content: bytes) -> dict[str, Any]:
    """The message that carries a part of a file."""
    named = {key: start[key] for key in ("source_component_uuid", "transfer_uuid")}
    return {"type": "FileTransferPart", **named, "part_index": index, "content": content}


def find_button(viewer: Any, rng: Random, opening: bool = False) -> str:
    """The button that opens files, or any that takes them."""
    found: list[str] = []

    def look() -> bool:  # while a file is opened there is none
        handles = {**viewer.server.gui._gui_input_handle_from_uuid}.items()
        buttons = {id: h for id, h in handles if type(h).__name__ == "GuiUploadButtonHandle"}
        mine = [id for id, h in buttons.items() if str(h.label).startswith("open")]
        found[:] = mine[:1] if opening else [*buttons]
        return len(found) > 0

    if not wait_for(look, ANSWERING):
        raise Wrong("the page has no button")
    return rng.choice(found)


@contextmanager
def connect(viewer: Any, origin: str | None = None) -> Iterator[Any]:
    """A page without a screen: its web socket, and a thread that reads what comes."""
    import viser
    from websockets.sync.client import connect as open_socket

    host = host_of(viewer)
    with open_socket(
        f"ws://{host}",
        origin=origin or f"http://{host}",  # type: ignore[arg-type]
        subprotocols=[f"viser-v{viser.__version__}"],  # type: ignore[list-item]
        max_size=None,
        compression=None,
    ) as page:
        reader = threading.Thread(target=drain, args=(page,), daemon=True)
        reader.start()
        before = set(viewer.server.get_clients())
        camera = {
            "wxyz": (1.0, 0.0, 0.0, 0.0),
            "position": (3.0, 0.0, 1.0),
            "fov": 1.0,
            "near": 0.1,
        }
        camera |= {"far": 99.0, "image_height": 400, "image_width": 500, "look_at": (0.0, 0.0, 0.0)}
        camera |= {"type": "ViewerCameraMessage", "up_direction": (0.0, 0.0, 1.0)}
        page.send(msgspec.msgpack.encode(camera))
        wait_for(lambda: len(set(viewer.server.get_clients()) - before) > 0, ANSWERING)
        yield page


@contextmanager
def quiet() -> Iterator[None]:
    """Let the server close the line: what was sent then fails."""
    from websockets.exceptions import WebSocketException

    with suppress(WebSocketException, OSError):
        yield


def settle(viewer: Any) -> None:
    """Wait until what was opened is shown."""
    if isinstance(viewer, PoseViewer):
        with viewer._replacing:
            return
    shown = threading.Event()
    viewer.change(shown.set)
    if not shown.wait(TELLING):
        raise Wrong("nothing is shown any more")


def drain(page: Any) -> None:
    with suppress(Exception):
        while True:
            page.recv()


def ask(viewer: Any, data: bytes, patience: float = ANSWERING) -> bytes:
    """Send bytes and return the beginning of what comes back, empty if nothing does."""
    name, _, port = host_of(viewer).rpartition(":")
    answer = b""
    with socket.create_connection((name, int(port)), patience) as line, suppress(OSError):
        line.sendall(data)
        while len(answer) < 4096 and (more := line.recv(4096)):
            answer += more
    return answer


def host_of(viewer: Any) -> str:
    return viewer.url.removeprefix("http://")


def wait_for(condition: Any, seconds: float) -> bool:
    end = time.perf_counter() + seconds
    while not condition():
        if time.perf_counter() > end:
            return False
        time.sleep(0.005)
    return True


def read_memory() -> float:
    """Return what the process has in memory [MiB], or 0 where nobody tells."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * 4096 / 2**20 if statm.exists() else 0.0
