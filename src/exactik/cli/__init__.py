"""The command line, one module a command, loaded when the command is called.

Exit codes: 0 done, 1 done but something needs attention, 2 misuse or unreadable input (one line, no
traceback). Other distributions add commands through the entry points `exactik.commands`.
"""

from __future__ import annotations

import typing as _typing

from exactik.cli._app import (
    AsJson,
    app,
    command,
    load_commands,
    main,
    place_in_help,
    print_json,
    progress_bar,
    say,
)
from exactik.cli._help import OLD_SPELLINGS, WITHDRAWN

if _typing.TYPE_CHECKING:
    from exactik.cli._options import parse_mapping
    from exactik.cli._play import read_motion
    from exactik.cli._pose import load_figure

__all__ = [
    "OLD_SPELLINGS",
    "WITHDRAWN",
    "AsJson",
    "app",
    "command",
    "load_commands",
    "load_figure",
    "main",
    "parse_mapping",
    "place_in_help",
    "print_json",
    "progress_bar",
    "read_motion",
    "say",
]

_LATE = {
    "_play": "read_motion",
    "_pose": "load_figure",
    "_options": "parse_mapping",
}


def __getattr__(name: str) -> _typing.Any:
    """Load what belongs to a command."""
    from importlib import import_module

    for module, names in _LATE.items():
        if name in names.split():
            return getattr(import_module(f"exactik.cli.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
