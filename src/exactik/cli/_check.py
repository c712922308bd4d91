"""`exactik check`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from exactik.cli._app import UNDERSTAND, AsJson, command, out, print_json, progress_bar
from exactik.cli._options import value_option


@command(UNDERSTAND)
def check(
    trees: Annotated[int, value_option("N", "Number of random figures.", min=1)] = 200,
    seed: Annotated[int, value_option("N", "Seed of the random figures.", min=0)] = 1,
    as_json: AsJson = False,
) -> None:
    """Check all derivatives on random figures against an oracle that shares no code with them.

    Examples:
        exactik check
        exactik check --trees 2000 --seed 7
    """
    from exactik.lab.check import run_campaign

    run_campaign(trees=8, seed=0)  # few trees have all kinds of joints and goals
    with progress_bar() as bar:
        task = bar.add_task("checking random figures", total=trees)
        report = run_campaign(trees, seed, lambda done, _: bar.update(task, completed=done))
    if as_json:
        print_json({"ok": report.ok, **asdict(report)})
    else:
        out.print(str(report), highlight=False, soft_wrap=True)
    raise typer.Exit(0 if report.ok else 1)
