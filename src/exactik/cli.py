"""The command line: `exactik demo`, `exactik check`.

Exit codes: 0 done, 1 done but something needs attention, 2 misuse or unreadable input (one line, no traceback).
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

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
    notice = "Compiling the kernels for this machine: once, for up to half a minute …"
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
    """Pose the built-in human by plain Newton iteration with exact Hessians, and say what happened."""
    from exactik.demo import reach

    with compiling():
        result = reach()
    figure, history = result.problem.skeleton, result.history
    steps = len(history) - 1
    reached = [name for name, error in result.errors.items() if error < 0.005]
    asked = [name for name in result.errors if name != "stay relaxed"]
    if as_json:
        answer = {
            "iterations": steps,
            "seconds": result.seconds,
            "cost": float(history[-1, 0]),
            "gradient": float(history[-1, 1]),
            "errors": result.errors,
        }
        out.print_json(json.dumps(answer))
        return
    out.print(
        f"[bold]{figure.name}[/bold]: {len(figure.bones)} bones, {figure.nv} degrees of freedom, "
        f"{len(figure.markers)} markers"
    )
    out.print(f"asked for: {', '.join(asked)}\n")
    table = Table("iteration", "cost", "max |gradient|", "damping", box=None, pad_edge=False)
    for column in table.columns:
        column.justify = "right"
    for n, (cost, slope, damping) in enumerate(history):
        table.add_row(
            str(n), f"{cost:.3e}", f"{slope:.1e}", f"{damping:.0e}" if damping > 0 else "–"
        )
    out.print(table)
    out.print()
    for name in asked:
        out.print(f"  {name:26} off by {1000 * result.errors[name]:6.2f} [dim]mm or mrad[/dim]")
    kind = "Reached" if len(set(asked) & set(reached)) == len(asked) else "Not all reached"
    out.print(
        f"\n[bold]{kind}[/bold] in {steps} Newton iterations, {1e6 * result.seconds / max(steps, 1):.0f} µs each; "
        f"the gradient fell to {history[-1, 1]:.0e}."
    )


@app.command()
def check(
    trees: Annotated[int, typer.Option(help="Number of random figures.", min=1)] = 200,
    seed: Annotated[int, typer.Option(help="Seed of the random figures.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Check every derivative on random figures against automatic differentiation that shares no code."""
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
        out.print_json(json.dumps(report.as_dict()))
    else:
        out.print(str(report), highlight=False, soft_wrap=True)
    raise typer.Exit(0 if report.ok else 1)


def main() -> None:
    """Run the command line; an error of ours becomes one line and exit code 2."""
    try:
        app()
    except ExactikError as error:
        err.print(f"exactik: {error}", style="red", highlight=False)
        sys.exit(2)
