"""The timeline below the scene: what it shows as JSON, which the page's script draws."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from typing import Any

from exactik.studio.viewer.keyframes import Keyframes, PlayClock
from exactik.studio.viewer.page.channel import PageChannel

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
