"""What the page's script (_desk.js) tells the server: which tab is seen, where time is clicked.

viser has no messages of our own, but a text field whose text the script sets, hidden, goes the way
of all widgets: through the socket that the server guards. The text holds the last few events with
their numbers, so that none is lost where two come at once and none is heard twice.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

SEEK_AREA = "data-exactik-seek"
"""Attribute of elements that are as wide as all of time is long: a press in them, or a drag, is an
event "seek" with its `share` of the width, from 0 to 1. Where its value is "rows", the press is an
event "row", too, with its `share` of the height."""

PREFIX = "exactik:"  # the script looks for a field whose text begins so
MAX_LENGTH = 20_000  # characters of a text that is looked at: 16 events of 1 kB

log = logging.getLogger(__name__)


def parse_events(text: str, last: int) -> list[dict[str, Any]]:
    """Return the events in a text of the page whose numbers are above `last`, in order.

    Whatever is no list of numbered events of a kind is nothing.
    """
    if len(text) > MAX_LENGTH:
        return []
    try:
        events = json.loads(text.removeprefix(PREFIX))
    except (ValueError, RecursionError):
        return []
    if not isinstance(events, list):
        return []
    known = [
        event
        for event in events
        if isinstance(event, dict)
        and isinstance(event.get("number"), int)
        and isinstance(event.get("kind"), str)
    ]
    return sorted((e for e in known if e["number"] > last), key=lambda event: event["number"])


class PageChannel:
    """Events of the page's script, by their kinds."""

    def __init__(self, server: Any):
        """Add the hidden field to the panel of a viser server."""
        self._last: dict[int, int] = {}
        self._listeners: dict[str, Callable[[dict[str, Any]], None]] = {}
        self._field = server.gui.add_text("", PREFIX)
        self._field.on_update(self._changed)

    def on(self, kind: str, listener: Callable[[dict[str, Any]], None]) -> None:
        """Call a function with every event of a kind."""
        self._listeners[kind] = listener

    async def _changed(self, event: Any) -> None:
        if event.client is None:
            return
        client = int(event.client.client_id)
        events = parse_events(self._field.value, self._last.get(client, 0))
        # A page that came back after it lost its link has the number of another client, and events
        # that were heard before.
        for told in events if client in self._last else events[-1:]:
            self._last[client] = told["number"]
            listener = self._listeners.get(told["kind"])
            if listener is not None:
                try:
                    listener(told)
                except (TypeError, ValueError, KeyError) as error:
                    log.warning("the page said %r, which makes no sense: %s", told, error)
