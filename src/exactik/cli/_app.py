"""What all commands share: the application, the two consoles, progress bars, JSON, errors."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text
from typer.models import CommandInfo

from exactik.cli._help import Command, CommandGroup
from exactik.errors import ExactikError, UsageError

__all__ = [
    "ANIMATE",
    "LOOK",
    "SOLVE",
    "UNDERSTAND",
    "AsJson",
    "app",
    "command",
    "err",
    "frames_bar",
    "main",
    "out",
    "print_json",
    "progress_bar",
    "say",
]

# Entry points of this group are functions; each becomes a command.
COMMAND_GROUP = "exactik.commands"
# Commands of distributions of ours that may be absent, and how to install them.
OPTIONAL_COMMANDS = {"reproduce": "`pip install ./papers`, from a clone of exactik,"}

LOOK, SOLVE = "Look at files", "From markers to motion"
ANIMATE, UNDERSTAND = "Pose and animate", "Understand and check"
ORDER = {
    LOOK: ("inspect", "convert"),
    SOLVE: ("solve", "calibrate", "match", "label"),
    ANIMATE: ("pose", "play", "retarget"),
    UNDERSTAND: ("demo", "check", "map"),
}
"""Groups of commands in the help and their commands, in their order; others come after these."""

EXAMPLES = """
Examples:

exactik inspect walk.c3d

exactik solve walk.c3d --skeleton human -o walk.bvh

exactik pose human

exactik play walk.bvh

exactik retarget walk.bvh --to hero.glb -o hero-walk.glb
"""

app = typer.Typer(
    cls=CommandGroup,
    help="Exact second-order inverse kinematics of articulated figures.",
    epilog=EXAMPLES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
out, err = Console(), Console(stderr=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print machine-readable results.")]


def command(group: str, name: str | None = None) -> Callable[[Any], Any]:
    """Return a decorator that makes a function a command, in a group of the help."""
    return app.command(name, cls=Command, rich_help_panel=group)


def print_json(answer: Any) -> None:
    """Print strict JSON: what is not finite becomes null."""

    def strict(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: strict(x) for key, x in value.items()}
        if isinstance(value, list | tuple):
            return [strict(x) for x in value]
        return None if isinstance(value, float) and not math.isfinite(value) else value

    print(json.dumps(strict(answer), indent=2, allow_nan=False))


def progress_bar() -> Progress:
    """Return a bar on stderr with a count and the time left, gone when done."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=err, transient=True, disable=not err.is_terminal)


class _Speed(ProgressColumn):
    """Frames a second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f} frames/s", "dim")


def frames_bar() -> Progress:
    """Return a bar on stderr with frames, frames a second and the time left, gone when done."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        _Speed(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=err, transient=True, disable=not err.is_terminal)


def say(text: str = "", style: str = "") -> None:
    """Print to the letter: no markup, no colours for numbers, lines as they are."""
    out.print(text, style=style or None, markup=False, highlight=False, soft_wrap=True)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        import exactik

        out.print(f"exactik {exactik.__version__}")
        raise typer.Exit


def _add_commands_of_other_distributions(arguments: list[str]) -> None:
    """Register the command asked for, or all for --help, unless it is one of this package's."""
    first = next((word for word in arguments if not word.startswith("-")), None)
    ours = {c.name or c.callback.__name__ for c in app.registered_commands if c.callback}
    ours |= {group.name for group in app.registered_groups if group.name}
    if first in ours:
        return  # looking through what is installed takes time
    entries = entry_points(group=COMMAND_GROUP)
    for entry in entries:
        if first in (None, entry.name):
            command(UNDERSTAND, entry.name)(entry.load())
    if first in OPTIONAL_COMMANDS and first not in entries.names:
        raise UsageError(f"no command {first}: {OPTIONAL_COMMANDS[first]} adds it")


def _place_in_help(info: CommandInfo) -> tuple[int, int]:
    """Return where a command comes in the help: its group, and its place in it."""
    group = str(info.rich_help_panel)
    name = info.name or (info.callback.__name__ if info.callback is not None else "")
    names = ORDER[group]
    return list(ORDER).index(group), names.index(name) if name in names else len(names)


def main() -> None:
    """Run the command line; an error of ours becomes one line and exit code 2."""
    try:
        _add_commands_of_other_distributions(sys.argv[1:])
        app.registered_commands.sort(key=_place_in_help)
        app()
    except ExactikError as error:
        err.print(f"exactik: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
        sys.exit(2)
