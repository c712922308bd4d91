"""The command line: `exactik demo`, `exactik check`.

Exit codes: 0 done, 1 done but something needs attention, 2 misuse or unreadable input (one line, no
traceback).
"""

from __future__ import annotations

import json
import math
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from exactik.errors import ExactikError

__all__ = ["main"]

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


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        import exactik

        out.print(f"exactik {exactik.__version__}")
        raise typer.Exit


@app.command()
def demo(as_json: AsJson = False) -> None:
    """Pose the built-in human inside its limits and say what happened."""
    from exactik.demo import reach

    with compiling():
        result = reach()
    figure, history = result.problem.skeleton, result.history
    assert history is not None
    if as_json:
        answer = {
            **{"reached": result.reached, "why": result.why, "errors": result.goal_errors},
            **{"iterations": result.iterations, "evaluations": result.evaluations},
            **{"cost": result.cost, "projected_gradient": result.projected_gradient},
            **{"seconds": result.seconds, "active_limits": dict(result.active_limits)},
        }
        print_json(answer)
        return
    sizes = f"{len(figure.bones)} bones, {figure.nv} dofs, {len(figure.markers)} markers"
    out.print(f"[bold]{figure.name}[/bold]: {sizes}\n", highlight=False)
    table = Table("step", "cost", "relative gradient", "damping", box=None, pad_edge=False)
    for column in table.columns:
        column.justify = "right"
    rows = zip(history.cost, history.projected_gradient, history.control, strict=True)
    for n, (cost, slope, damping) in enumerate(rows):
        shown = f"{damping:.0e}" if damping > 0 else "–"
        table.add_row(str(n), f"{cost:.3e}", f"{slope:.1e}", shown)
    out.print(table)
    out.print()
    for name, error in result.errors_in_words.items():
        out.print(f"  {name:28} off by {error}", highlight=False)
    limits = ", ".join(f"{dof} ({side})" for dof, side in result.active_limits.items())
    out.print(f"  at a limit: {limits if limits != '' else 'no dof'}", highlight=False)
    effort = f"{result.evaluations} evaluations, {1e3 * result.seconds:.1f} ms"
    out.print(f"\n[bold]{result.why}[/bold] ({effort})", highlight=False, soft_wrap=True)


@app.command()
def check(
    trees: Annotated[int, typer.Option(help="Number of random figures.", min=1)] = 200,
    seed: Annotated[int, typer.Option(help="Seed of the random figures.", min=0)] = 1,
    as_json: AsJson = False,
) -> None:
    """Check all derivatives on random figures against an oracle that shares no code with them."""
    from exactik.check import run

    with compiling():
        run(trees=8, seed=0)  # few trees have all kinds of joints and goals
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("checking random figures", total=trees)
        report = run(trees, seed, lambda done, _: bar.update(task, completed=done))
    if as_json:
        print_json({"ok": report.ok, **asdict(report)})
    else:
        out.print(str(report), highlight=False, soft_wrap=True)
    raise typer.Exit(0 if report.ok else 1)


def main() -> None:
    """Run the command line; an error of ours becomes one line and exit code 2."""
    try:
        app()
    except ExactikError as error:
        err.print(f"exactik: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
        sys.exit(2)
