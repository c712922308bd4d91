"""What all commands share: the application, the two consoles, progress bars, JSON, errors."""

from __future__ import annotations

import json
import math
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from exactik.errors import ExactikError

__all__ = ["AsJson", "app", "compiling", "err", "main", "out", "print_json", "progress_bar"]

app = typer.Typer(
    help="Exact second-order inverse kinematics of articulated figures.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
out, err = Console(), Console(stderr=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print machine-readable results.")]


@contextmanager
def compiling() -> Iterator[None]:
    """Say so if what follows takes so long that it must be compiling, and how long it took."""
    notice = "Compiling kernels, up to a minute; kept for the next time …"
    timer = threading.Timer(1.5, lambda: err.print(f"[dim]{notice}[/dim]"))
    timer.daemon = True
    timer.start()
    start = time.perf_counter()
    try:
        yield
    finally:
        timer.cancel()
    if not timer.is_alive() and time.perf_counter() - start > 1.5:
        err.print(f"[dim]… ready after {time.perf_counter() - start:.0f} s.[/dim]")


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


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        import exactik

        out.print(f"exactik {exactik.__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line; an error of ours becomes one line and exit code 2."""
    try:
        app()
    except ExactikError as error:
        err.print(f"exactik: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
        sys.exit(2)
