"""What is on the desk, kept in a file, so that a killed program or a closed page loses no work.

A file is a project of keys, which the page can load as any other, with the pose beside them. Every
program writes one of its own; the newest few of a figure are kept.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from exactik.errors import ExactikError, FileError
from exactik.model import Skeleton
from exactik.studio.viewer.keyframes import Keyframes
from exactik.studio.viewer.posing._session import PosingSession

PERIOD_S = 2.0  # between two looks whether something has changed
KEPT = 5  # files of a figure

log = logging.getLogger(__name__)


def find_state_folder() -> Path | None:
    """Return where programs of this user keep what they were doing, for ours; None without any."""
    home, setting = Path(os.path.expanduser("~")), os.environ.get("XDG_STATE_HOME", "")
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        base = Path(setting) if setting else home / ".local" / "state"
    return base / "exactik" / "desk" if base.is_absolute() else None


class Autosave:
    """Keeps what is on the desk in a file.

    Attributes:
        last: the file of an earlier program with this figure, if there is one.
    """

    def __init__(self, folder: Path, session: PosingSession, keys: Keyframes):
        """Look for an earlier file; `start` begins to write one."""
        self._session, self._keys = session, keys
        skeleton = session.skeleton
        name = re.sub(r"\W+", "-", skeleton.name).strip("-")[:40]
        self._stem = f"{name}-{_hash(skeleton)}"
        self._folder = folder
        self._path = folder / f"{self._stem}-{time.time_ns()}.json"
        earlier = self._list_files()
        self.last = earlier[-1] if len(earlier) > 0 else None
        self._saved = session.state, keys.state
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="exactik autosave", daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def stop(self) -> None:
        """Write once more, if something has changed, and end."""
        if self._thread.is_alive():
            self._stop.set()
            self._thread.join(5.0)

    def describe_last(self) -> str:
        """Return when the earlier file was written, in words."""
        assert self.last is not None
        when = time.localtime(self.last.stat().st_mtime)
        return time.strftime("Unsaved work of %d %B, %H:%M.", when)

    def restore(self) -> None:
        """Take what the earlier file holds: keys, the pose, its pins."""
        if self.last is None:
            return
        loaded = Keyframes.load(self.last, self._session.skeleton)
        _lay_out(self._session, self.last)
        self._keys.replace(loaded)

    def save(self) -> None:
        """Write the file, if something has changed since it was written."""
        now = self._session.state, self._keys.state
        if now == self._saved:
            return
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._keys.save(self._path, desk=_describe(self._session))
        self._saved = now
        for old in self._list_files()[:-KEPT]:
            old.unlink(missing_ok=True)

    def _list_files(self) -> list[Path]:
        """Return the files of this figure, the oldest first."""
        return sorted(self._folder.glob(f"{self._stem}-*.json"))

    def _run(self) -> None:
        while True:
            ends = self._stop.wait(PERIOD_S)
            try:
                self.save()
            except (OSError, ExactikError) as error:
                log.warning("work is not kept: %s", error)
                return
            if ends:
                return


def _hash(skeleton: Skeleton) -> str:
    """Return eight letters that tell figures of one name apart."""
    text = json.dumps([skeleton.dof_names, np.round(skeleton.rest_offsets, 5).tolist()])
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _describe(session: PosingSession) -> dict[str, Any]:
    """Return the pose and what is pinned, for JSON."""
    state = session.state
    pins = {name: [h.pinned, h.oriented] for name, h in state.handles.items() if h.kind != "grab"}
    joins = [[join.first, join.second] for join in state.joins]
    kept = {"balanced": state.balanced, "apart": state.apart}
    return {"q": state.q.tolist(), "pins": pins, "joins": joins, **kept}


def _lay_out(session: PosingSession, path: Path) -> None:
    """Take pose and pins from a file."""
    try:
        desk = json.loads(path.read_text(encoding="utf-8"))["desk"]
        q = np.array(desk["q"], dtype=float)
        if not np.isfinite(q).all():
            raise ValueError("a coordinate is not finite")
        session.set_pose(q)
        for name, (pinned, oriented) in desk["pins"].items():
            session.pin(name, bool(pinned), oriented=bool(oriented))
        for first, second in desk["joins"]:
            session.join(first, second)
        if desk["balanced"]:
            session.keep_balance()
        session.keep_apart(bool(desk["apart"]))
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(path, f"its pose cannot be read: {error}") from None
