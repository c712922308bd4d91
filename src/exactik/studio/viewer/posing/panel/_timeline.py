"""The timeline below the scene: what it shows as JSON, which the page's script draws."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from exactik.errors import UsageError
from exactik.model import Skeleton
from exactik.studio.viewer.keyframes import BoneLock, Key, Keyframes, PlayClock
from exactik.studio.viewer.page.channel import PageChannel
from exactik.studio.viewer.page.colours import GHOST_COLOUR, GHOST_OPACITIES, MARKER_COLOUR
from exactik.studio.viewer.page.scene import FigureScene, add_translucent_poses
from exactik.studio.viewer.page.widgets import on_press
from exactik.studio.viewer.posing._scene import HandleScene
from exactik.studio.viewer.posing._session import PosingSession

MAX_TIME_S = 1e5  # of what a page may ask for: a day


def describe_timeline(keys: Keyframes, clock: PlayClock) -> dict[str, Any]:
    """Return what the timeline shows, in the words of `_timeline.js`."""
    return {
        "keys": [round(time, 6) for time in keys.times.tolist()],
        "now": round(clock.time, 4),
        "locks": [
            {"bone": lock.bone, "first": lock.first, "last": lock.last} for lock in keys.locks
        ],
        "playing": clock.playing,
        "loop": clock.loop,
    }


class TimelineBar:
    """An element that describes the timeline, and the events that come back."""

    def __init__(self, server: Any, channel: PageChannel):
        """Add the element to the panel of a viser server, outside of tabs: they come and go."""
        self._html = server.gui.add_html("")
        self._shown = ""
        self._run: Callable[..., None] = lambda *_: None
        channel.on("play", lambda event: self._run("play or pause"))
        channel.on("loop", lambda event: self._run("loop"))
        channel.on("scrub", lambda event: self._run("scrub", read_time(event, "time")))
        channel.on("key-chosen", lambda event: self._run("scrub", read_time(event, "time")))
        channel.on("key-added", lambda event: self._run("add", read_time(event, "time")))
        channel.on(
            "key-moved",
            lambda event: self._run("move", read_time(event, "time"), read_time(event, "to")),
        )

    def on_command(self, run: Callable[..., None]) -> None:
        """Call a function with every command and its times [s]."""
        self._run = run

    def show(self, keys: Keyframes, clock: PlayClock) -> None:
        """Show keys, locks and time."""
        text = json.dumps(describe_timeline(keys, clock))
        if text != self._shown:
            self._shown = text
            self._html.content = f'<div data-exactik-timeline="{html.escape(text)}"></div>'


def read_time(event: dict[str, Any], name: str) -> float:
    """Return a time [s] of an event; raise `ValueError` for what is none."""
    time = float(event[name])
    if not 0.0 <= time <= MAX_TIME_S:
        raise ValueError(f"{name} is {time}")
    return time


# --- onion skins: the poses of keys as translucent figures


NEIGHBOURS, ALL, NONE = ONION_CHOICES = ("neighbours", "all", "none")
BEFORE_COLOUR, AFTER_COLOUR = GHOST_COLOUR, MARKER_COLOUR
MAX_SHOWN_KEYS = 30  # more would hide each other
SAME_TIME_S = 1e-3  # a key so near to the playhead is the pose itself


def choose_keys(keys: tuple[Key, ...], time: float, choice: str) -> list[tuple[Key, bool]]:
    """Return the keys that are shown at a time [s], and whether each is before it."""
    others = [(key, key.time < time) for key in keys if abs(key.time - time) > SAME_TIME_S]
    if choice == NONE or (len(others) > MAX_SHOWN_KEYS and choice == ALL):
        return []
    if choice == ALL:
        return others
    before = [pair for pair in others if pair[1]][-1:]
    return before + [pair for pair in others if not pair[1]][:1]


class OnionSkins:
    """Ghosts of neighbouring keys, blue before the playhead and green after it, or of all keys.

    Two neighbours are whole figures, with their skins; all keys are sticks.
    """

    def __init__(self, server: Any, skeleton: Skeleton):
        """Begin with none."""
        self._server, self._skeleton = server, skeleton
        self._sticks: Any = None
        self._figures: dict[bool, FigureScene] = {}
        self._shown: tuple[object, ...] = ()
        self._opacity = GHOST_OPACITIES[False]

    def set_dark(self, dark: bool) -> None:
        """Choose how much is seen of ghosts, for a light page or for a dark one."""
        self._opacity = GHOST_OPACITIES[dark]
        for figure in self._figures.values():
            figure.set_opacity(self._opacity)

    def show(self, keys: Keyframes, time: float, choice: str) -> None:
        """Show the keys that belong to a time [s], in the poses that locks leave them."""
        chosen = choose_keys(keys.solved_keys().keys, time, choice)
        shown = (choice, *((id(key.q), before) for key, before in chosen))
        if shown == self._shown:
            return
        self.clear()
        self._shown = shown
        if choice == ALL and len(chosen) > 0:
            colours = [BEFORE_COLOUR if before else AFTER_COLOUR for _, before in chosen]
            poses = [np.array(key.q) for key, _ in chosen]
            self._sticks = add_translucent_poses(
                self._server, self._skeleton, poses, colours, "/keys"
            )
        elif choice == NEIGHBOURS:
            for key, before in chosen:
                figure = self._get_figure(before)
                with self._server.atomic():
                    figure.draw(self._skeleton.forward(key.q))
                    figure.node.visible = True

    def clear(self) -> None:
        """Remove all ghosts."""
        if self._sticks is not None:
            self._sticks.remove()
            self._sticks = None
        for figure in self._figures.values():
            figure.node.visible = False
        self._shown = ()

    def _get_figure(self, before: bool) -> FigureScene:
        """Return the figure of a neighbour; made when it is first needed."""
        if before not in self._figures:
            name = "/key_before" if before else "/key_after"
            figure = FigureScene(self._server, self._skeleton, name, self._opacity)
            colour = BEFORE_COLOUR if before else AFTER_COLOUR
            figure.paint(np.tile(colour, (len(self._skeleton.bones), 1)))
            self._figures[before] = figure
        return self._figures[before]


# --- locks over time in the panel


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
