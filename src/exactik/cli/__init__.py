"""The command line, one module a command.

Exit codes: 0 done, 1 done but something needs attention, 2 misuse or unreadable input (one line, no
traceback). Other distributions add commands through the entry points `exactik.commands`.
"""

from exactik.cli import (
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
from exactik.cli._app import (
    AsJson,
    add_commands_of_other_distributions,
    app,
    command,
    main,
    place_in_help,
    print_json,
    progress_bar,
    say,
)
from exactik.cli._help import OLD_SPELLINGS, WITHDRAWN
from exactik.cli._play import read_motion
from exactik.cli._pose import load_figure, pose
from exactik.cli._tables import parse_mapping

__all__ = [
    "OLD_SPELLINGS",
    "WITHDRAWN",
    "AsJson",
    "add_commands_of_other_distributions",
    "app",
    "command",
    "load_figure",
    "main",
    "parse_mapping",
    "place_in_help",
    "pose",
    "print_json",
    "progress_bar",
    "read_motion",
    "say",
]
