"""Widgets of viser that call functions of ours: with their values, or when they are pressed.

The functions are called in the thread of the server; what takes long must go elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def on_value(widget: Any, action: Callable[[Any], object], *, by_page: bool = False) -> Any:
    """Call a function with every new value of a widget; return the widget.

    Args:
        by_page: whether only values count that somebody chose on a page, not those set from here.
    """

    async def changed(event: Any) -> None:
        if event.client is not None or not by_page:
            action(widget.value)

    widget.on_update(changed)
    return widget


def on_press(buttons: Any, action: Callable[[Any], object]) -> Any:
    """Call a function with the label of the button of a group that is pressed; return the group."""

    async def pressed(event: Any) -> None:
        action(event.target.value)

    buttons.on_click(pressed)
    return buttons


def add_hotkey(
    gui: Any, name: str, key: str, action: Callable[[], object], modifier: str | None = None
) -> None:
    """Add a command that a key runs, with its modifiers as viser has them."""

    async def triggered(_: Any) -> None:
        action()

    gui.add_command(name, hotkey=key, modifier=modifier).on_trigger(triggered)


def escape_markdown(text: str) -> str:
    """Return a text in which nothing is markup."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>#|!" else c for c in text)
