"""The command line, one module a command.

Exit codes: 0 done, 1 done but something needs attention, 2 misuse or unreadable input (one line, no
traceback). Other distributions add commands through the entry points `exactik.commands`.
"""

from exactik.cli import (  # noqa: F401
    _check,
    _convert,
    _demo,
    _label,
    _map,
    _play,
    _pose,
    _retarget,
    inspect,
    solve,
)
from exactik.cli._app import AsJson, main, print_json, progress_bar, say
from exactik.cli._kernels import compiling

__all__ = ["AsJson", "compiling", "main", "print_json", "progress_bar", "say"]
