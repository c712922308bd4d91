"""The command line, one module a command.

Exit codes: 0 done, 1 done but something needs attention, 2 misuse or unreadable input (one line, no
traceback).
"""

# Each adds its command to --help.
from exactik.cli import (  # noqa: F401
    _calibrate,
    _check,
    _convert,
    _demo,
    _inspect,
    _map,
    _play,
    _reproduce,
    _solve,
    _view,
)
from exactik.cli._app import main

__all__ = ["main"]
