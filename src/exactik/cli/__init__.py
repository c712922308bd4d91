"""The command line, one module a command.

Exit codes: 0 done, 1 done but something needs attention, 2 misuse or unreadable input (one line, no
traceback).
"""

from exactik.cli import _check, _convert, _demo, _inspect  # noqa: F401  each adds its command to --help
from exactik.cli._app import main

__all__ = ["main"]
