"""`exactik reproduce`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from exactik.cli import AsJson, compiling, print_json, progress_bar, say

__all__ = ["reproduce"]


def reproduce(
    name: Annotated[str, typer.Argument(help="A table or figure, such as table4, or all.")],
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of HDM05; without, our own synthetic recording is used."),
    ] = None,
    folder: Annotated[
        Path, typer.Option("-o", "--out", help="Folder for what is written; it may exist.")
    ] = Path("exactik-reproduce"),
    as_json: AsJson = False,
) -> None:
    """Measure the tables and figures of the papers again, beside what was published."""
    from exactik.synthetic import solve_reach
    from exactik_papers import find_experiments
    from exactik_papers import reproduce as run

    find_experiments(name)  # before anything is compiled
    with compiling():
        solve_reach()
    began = time.perf_counter()
    with progress_bar() as bar:
        tasks = {own.name: bar.add_task(own.name) for own in find_experiments(name)}
        sections = run(
            name,
            folder,
            data=data,
            progress=lambda own, done, total: bar.update(tasks[own], completed=done, total=total),
        )
    took = time.perf_counter() - began
    page = folder / "index.html"
    if as_json:
        found = {
            section.experiment.name: {
                "title": section.experiment.title,
                "seconds": section.seconds,
                "files": [str(path) for path in section.paths],
                "tables": {
                    own.table.name: [
                        dict(zip(own.table.columns, row, strict=True)) for row in own.cells
                    ]
                    for own in section.tables
                    if own.table.shown
                },
            }
            for section in sections
        }
        print_json({"seconds": took, "page": str(page), "experiments": found})
        return
    for section in sections:
        count = len(section.paths)
        say(f"{section.experiment.name:10} {section.seconds:6.1f} s  {count} files")
    say(f"\nWritten to {folder} in {took:.0f} s; open {page} in a browser.")
