"""Files that are opened from the page: bounded in size, kept in a folder of their own.

viser takes files of any size, also longer ones than they were said to be. `limit_uploads` refuses
what is too large before it is taken; the page's script (_uploads.js) refuses it before it is sent.
What has arrived is written to a temporary folder under its own name, or what of that name can do no
harm, so that readers find suffixes and companions, and errors name the file that the user knows.
"""

from __future__ import annotations

import os
import re
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from exactik.errors import ExactikError, FileError, one_line

MAX_UPLOAD_BYTES = 256 << 20
"""Of a file, and of all that arrive at once. Twenty minutes of 60 markers at 200 Hz are 230 MB as
C3D; while it arrives a file is in memory twice. What is larger is for the command line."""
MAX_NAME_LENGTH = 120  # characters; file systems take 255 bytes
MAX_FILES = 64  # that are kept: a scene is a few, and a page may send many that are empty
MAX_TRANSFERS = 16  # that arrive at once: a page sends one at a time
MAX_SENT_NAME = 1000  # characters of a name as it is sent
MIN_PART_BYTES = 1 << 16  # of a part, on average: pages send half a MiB in each
_UNSAFE = re.compile(r"[^\w .()+=@,-]")


def make_safe_name(name: str) -> str:
    """Return a file name without folders, leading dots or signs that mean something to a system."""
    base = re.split(r"[/\\]", name)[-1]
    safe = _UNSAFE.sub("_", base).strip(" .")
    stem, suffix = os.path.splitext(safe)
    return f"{stem[: MAX_NAME_LENGTH - len(suffix)]}{suffix}"[:MAX_NAME_LENGTH] or "file"


class Uploads:
    """A temporary folder for files from the page, gone when it is closed."""

    def __init__(self) -> None:
        """Make the folder, which only this user can read."""
        self._temporary = tempfile.TemporaryDirectory(prefix="exactik-")
        # One level down: what a file may refer to is in its folder or the one above, which is ours.
        self.folder = Path(self._temporary.name) / "files"
        self.folder.mkdir()
        self._storing = threading.Lock()  # pages open files in threads

    def store(self, name: str, content: bytes) -> Path:
        """Write a file, over one of the same name; others go, oldest first, if they are too many.

        Args:
            name: as the page says; only what is safe of it is used.
        """
        path = self.folder / make_safe_name(name)
        with self._storing:
            path.unlink(missing_ok=True)
            kept = sorted(self.folder.iterdir(), key=lambda file: file.stat().st_mtime_ns)
            total = len(content) + sum(file.stat().st_size for file in kept)
            for n, file in enumerate(kept):
                if total > MAX_UPLOAD_BYTES or len(kept) - n >= MAX_FILES:
                    total -= file.stat().st_size
                    file.unlink()
            path.write_bytes(content)
        return path

    def close(self) -> None:
        """Delete the folder."""
        self._temporary.cleanup()


def describe_error(error: Exception) -> str:
    """Return an error in one line, in which a file has the name that its user knows."""
    if isinstance(error, FileError):
        error = error.about(Path(error.path).name)
    return one_line(str(error))


def add_open_button(
    gui: Any,
    uploads: Uploads,
    label: str,
    suffixes: Sequence[str],
    open_file: Callable[[Path], object],
    say: Callable[[str], object],
) -> Any:
    """Add a button that opens a file from the page.

    Args:
        open_file: is called with the file, in a thread of its own.
        say: is called with one sentence if the file cannot be opened.
    """
    kinds = ",".join(suffixes)
    button = gui.add_upload_button(label, mime_type=kinds, hint=" ".join(suffixes), color="gray")

    @button.on_upload
    def _(event: Any) -> None:
        file = event.target.value
        try:
            path = uploads.store(file.name, file.content)
            open_file(path)
        except (ExactikError, OSError) as error:
            say(describe_error(error))
        except Exception as error:  # whoever waits must be told
            say(f"{make_safe_name(file.name)} cannot be opened: {describe_error(error)}")
            raise

    return button


def limit_uploads(server: Any) -> None:
    """Let a viser server refuse files that are too large, or not sent as they were said to be."""
    from viser import _messages as messages

    gui = server.gui
    start, part = gui._handle_file_transfer_start, gui._handle_file_transfer_part
    states = gui._current_file_upload_states

    def check_start(client: int, message: Any) -> None:
        arriving = sum(state["total_bytes"] for state in [*states.values()])
        if not is_transfer_sound(message):
            return
        if message.size_bytes > MAX_UPLOAD_BYTES - arriving or len(states) >= MAX_TRANSFERS:
            handle = server.get_clients().get(client)
            if handle is not None:
                text = describe_refusal(message.filename, message.size_bytes)
                handle.add_notification("Not opened", text)
            return
        start(client, message)

    def check_part(client: int, message: Any) -> None:
        id, content = message.transfer_uuid, message.content
        state = states.get(id) if isinstance(id, str) else None
        if state is None or state["client_id"] != client:
            return
        is_sound = isinstance(content, bytes) and isinstance(message.part_index, int)
        if not is_sound or state["transferred_bytes"] + len(content) > state["total_bytes"]:
            states.pop(id, None)
            return
        part(client, message)

    interface = gui._websock_interface
    for kind, theirs, ours in (
        (messages.FileTransferStartUpload, start, check_start),
        (messages.FileTransferPart, part, check_part),
    ):
        interface.unregister_handler(kind, theirs)
        interface.register_handler(kind, ours)


def is_transfer_sound(message: Any) -> bool:
    """Return whether what announces a file is what a page sends: no message is checked by viser."""
    names = (message.source_component_uuid, message.transfer_uuid, message.filename)
    names += (message.mime_type,)
    size, parts = message.size_bytes, message.part_count
    return (
        all(isinstance(name, str) and len(name) <= MAX_SENT_NAME for name in names)
        and size >= 0
        and (size > 0) <= parts <= -(-size // MIN_PART_BYTES)
    )


def describe_refusal(name: str, size: int) -> str:
    """Return why a file of so many bytes is not opened."""
    if size <= MAX_UPLOAD_BYTES:
        return f"{one_line(name)} has to wait: other files are still arriving."
    return (
        f"{one_line(name)} has {size / 1e6:.0f} MB; a page opens files of up to "
        f"{MAX_UPLOAD_BYTES / 1e6:.0f} MB. Give it to the command instead: exactik play FILE."
    )
