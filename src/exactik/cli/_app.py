"""What all commands share: the application, the two consoles, progress bars, JSON, errors."""

from __future__ import annotations

import json
import math
import shlex
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
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
from exactik.cli._options import expand_records
from exactik.compile import describe_library
from exactik.errors import ExactikError, UsageError

# Entry points of this group are functions; each becomes a command.
COMMAND_GROUP = "exactik.commands"
# Commands of distributions of ours that may be absent, and how to install them.
OPTIONAL_COMMANDS = {"reproduce": "`pip install ./papers`, from a clone of exactik,"}

LINE_WIDTH = 80  # columns of text

LOOK, SOLVE = "Look at files", "From markers to motion"
ANIMATE, UNDERSTAND = "Pose and animate", "Understand and check"
ORDER = {
    LOOK: ("inspect", "convert"),
    SOLVE: ("solve", "calibrate", "live", "match", "label", "compare"),
    ANIMATE: ("pose", "play", "retarget"),
    UNDERSTAND: ("demo", "check", "map"),
}
"""Groups of commands in the help and their commands, in their order; others come after these."""

MODULES = {
    "inspect": "inspect",
    "solve": "solve._command",
    "compare": "solve._compare",
    "calibrate": "solve._calibrate",
    "match": "solve._match",
    "archive": "solve._archive",
    **{name: f"_{name}" for name in "convert label live pose play retarget demo check map".split()},
}
"""Where each command is; what the others import takes a fifth of a second."""

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


def command(group: str, name: str | None = None, under: typer.Typer = app) -> Callable[[Any], Any]:
    """Return a decorator that makes a function a command, in a group of the help."""
    register = under.command(name, cls=Command, rich_help_panel=group)
    return lambda function: register(expand_records(function))


def command_line() -> str:
    """Return the whole command, as it can be typed again."""
    return f"exactik {shlex.join(sys.argv[1:])}"


def print_json(answer: Any) -> None:
    """Print strict JSON: what is not finite becomes null."""

    def strict(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: strict(x) for key, x in value.items()}
        if isinstance(value, list | tuple):
            return [strict(x) for x in value]
        return None if isinstance(value, float) and not math.isfinite(value) else value

    print(json.dumps(strict(answer), indent=2, allow_nan=False))


class _Speed(ProgressColumn):
    """Frames a second, as they are counted or as they are told."""

    def render(self, task: Task) -> Text:
        told = task.fields.get("speed")
        speed = (task.finished_speed or task.speed) if told is None else told
        return Text("" if speed is None else f"{speed:,.0f} frames/s", "dim")


def progress_bar(*columns: ProgressColumn, wide: bool = False) -> Progress:
    """Return a bar on stderr with a count and the time left, gone when done."""
    first = (TextColumn("{task.description}"), BarColumn(bar_width=None if wide else 40))
    all_columns = (*first, MofNCompleteColumn(), *columns, TimeRemainingColumn())
    return Progress(*all_columns, console=err, transient=True, disable=not err.is_terminal)


@contextmanager
def show_frames(text: str, total: int | None = None) -> Iterator[Callable[..., None]]:
    """Show a bar with frames and frames a second.

    Gives:
        What is called with how much is done and, as keywords, other fields of the bar: `total`,
        `description`, `speed` [frames/s].
    """
    with progress_bar(_Speed(), wide=True) as bar:
        task = bar.add_task(text, total=total)

        def report(done: int, total: int | None = None, **fields: Any) -> None:
            bar.update(task, completed=done, total=total, **fields)

        yield report


def say(text: str = "", style: str = "") -> None:
    """Print to the letter: no markup, no colours for numbers, lines as they are."""
    out.print(text, style=style or None, markup=False, highlight=False, soft_wrap=True)


def complain(text: object, style: str = "red") -> None:
    """Print to stderr, to the letter."""
    err.print(str(text), style=style, markup=False, highlight=False, soft_wrap=True)


def remark(name: str, text: str) -> None:
    """Print a note on a file to stderr."""
    complain(f"{name}: {text}", "dim")


class Entries:
    """Paragraphs with a word in front: "read     take.c3d: …"; none where JSON is asked for."""

    def __init__(self, as_json: bool):
        self._as_json = as_json

    def add(self, head: str, *texts: str) -> None:
        """Print one for each text."""
        for text in texts if not self._as_json else ():
            say(format_entry(head, text))


def format_entry(head: str, text: str) -> str:
    """Return a paragraph with a word in front: "read     take.c3d: …"."""
    # A path is never broken, however long: it is there to be copied.
    return textwrap.fill(
        text,
        LINE_WIDTH,
        initial_indent=head.ljust(9),
        subsequent_indent=" " * 9,
        break_long_words=False,
        break_on_hyphens=False,
    )


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        import exactik

        say(f"exactik {exactik.__version__}, {describe_library()}")
        raise typer.Exit


def load_commands(arguments: list[str]) -> None:
    """Register the command asked for, or all: for --help, and for a word that is none."""
    first = next((word for word in arguments if not word.startswith("-")), None)
    if first in MODULES:
        import_module(f"exactik.cli.{MODULES[first]}")
        return  # looking through what is installed takes time
    for module in MODULES.values():
        import_module(f"exactik.cli.{module}")
    entries = entry_points(group=COMMAND_GROUP)
    for entry in entries:
        if first in (None, entry.name):
            command(UNDERSTAND, entry.name)(entry.load())
    if first in OPTIONAL_COMMANDS and first not in entries.names:
        raise UsageError(f"no command {first}: {OPTIONAL_COMMANDS[first]} adds it")
    app.registered_commands.sort(key=place_in_help)


def place_in_help(info: CommandInfo) -> tuple[int, int]:
    """Return where a command comes in the help: its group, and its place in it."""
    group = str(info.rich_help_panel)
    name = info.name or (info.callback.__name__ if info.callback is not None else "")
    names = ORDER[group]
    return list(ORDER).index(group), names.index(name) if name in names else len(names)


def main() -> None:
    """Run the command line; an error of ours becomes one line and exit code 2."""
    try:
        load_commands(sys.argv[1:])
        app()
    except ExactikError as error:
        complain(f"exactik: {error}")
        sys.exit(2)


# --- where the time of a command went, in one line


STARTING = "starting"


class Stopwatch:
    """Seconds of each stage, by its name, in the order in which they came first.

    The first is what Python took until now: of the processor, since nothing tells when it began.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {STARTING: time.process_time()}

    def add(self, stage: str, seconds: float) -> None:
        """Count seconds for a stage; less than none takes back what another stage counts."""
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds

    @contextmanager
    def measure(self, stage: str) -> Iterator[None]:
        """Count what is done inside for a stage."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.add(stage, time.perf_counter() - began)

    @property
    def total(self) -> float:
        """All of it [s]."""
        return sum(self.seconds.values())

    def describe(self, most: int | None = None) -> str:
        """Return a sentence; what took no tenth of a second is left out.

        Args:
            most: how many stages are named, those that took longest; all if None.
        """
        longest = sorted(self.seconds, key=lambda stage: -self.seconds[stage])[:most]
        shown = {stage: f"{s:.1f}" for stage, s in self.seconds.items() if stage in longest}
        stages = ", ".join(f"{stage} {text}" for stage, text in shown.items() if text != "0.0")
        return f"Took {self.total:.1f} s: {stages}."
