"""Locks over time in the panel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exactik.errors import UsageError
from exactik.studio.viewer.keyframes import BoneLock, Keyframes, PlayClock
from exactik.studio.viewer.page.widgets import on_press
from exactik.studio.viewer.posing._scene import HandleScene
from exactik.studio.viewer.posing._session import PosingSession

TO_NEXT, TO_LAST = SPANS = ("next key", "last key")


def find_lock_span(times: list[float], now: float, to: str) -> tuple[float, float]:
    """Return from which key to which a lock goes that is set at a time [s].

    From the key at or before the time, to the next one or to the last.
    """
    before = [time for time in times if time <= now + 1e-3]
    after = [time for time in times if time > now + 1e-3]
    if len(before) == 0 or len(after) == 0:
        raise UsageError("a lock goes from one key to another: put the playhead between two keys")
    return before[-1], after[-1] if to == TO_LAST else after[0]


class LockPanel:
    """Widgets that lock the selected bone from a key to another."""

    def __init__(
        self,
        server: Any,
        keys: Keyframes,
        clock: PlayClock,
        handles: HandleScene,
        post: Callable[[Callable[..., None]], None],
    ):
        """Add the widgets; `post` runs a function with the session, and shows its errors."""
        self.keys, self._clock, self._handles = keys, clock, handles
        gui = server.gui
        self.to = gui.add_dropdown("lock until", SPANS)
        self.oriented = gui.add_checkbox("with orientation", True)
        run = {"lock": self.lock, "unlock": self.unlock}
        on_press(gui.add_button_group("", tuple(run)), lambda name: post(run[name]))
        self.text = gui.add_markdown("")

    def lock(self, session: PosingSession) -> None:
        """Hold the selected bone from the key at or before the playhead."""
        bone, point = self._find_selected(session)
        first, last = find_lock_span(self.keys.times.tolist(), self._clock.time, self.to.value)
        self.keys.lock(bone, first, last, point=point, oriented=bool(self.oriented.value))

    def unlock(self, session: PosingSession) -> None:
        """Remove the lock of the selected bone at the playhead."""
        bone, _ = self._find_selected(session)
        self.keys.unlock(bone, self._clock.time)

    def show(self) -> None:
        """Name all locks."""
        lines = [
            f"`{o.bone}` {o.first:g}–{o.last:g} s" for o in sorted(self.keys.locks, key=_start)
        ]
        self.text.content = "locked: " + ", ".join(lines) if len(lines) > 0 else "no locks"

    def _find_selected(self, session: PosingSession) -> tuple[str, tuple[float, float, float]]:
        if self._handles.gizmo.bone is not None:
            return self._handles.gizmo.bone, (0.0, 0.0, 0.0)
        handle = session.handles.get(self._handles.selected)
        if handle is None:
            raise UsageError("select a handle or click a bone first")
        return handle.bone, handle.point


def _start(lock: BoneLock) -> float:
    return lock.first
