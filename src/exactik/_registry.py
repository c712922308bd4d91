"""Functions of upper packages that lower ones ask for by name.

A figure shows itself in a notebook, and the page that it shows is made of figures: what draws is
above what is drawn. So a lower package asks here for a name; the facade, which loads before any
other module of the package, says where the function is. Its module loads when first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PLACES: dict[str, str] = {}


def provide(name: str, place: str) -> None:
    """Say where a function is.

    Args:
        name: that others ask for.
        place: "module:function".
    """
    _PLACES[name] = place


def find(name: str) -> Any:
    """Return what has that name, mostly a function; its module is loaded if it is not yet."""
    module, _, function = _PLACES[name].partition(":")
    return getattr(import_module(module), function)
