"""`exactik reproduce`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from exactik.cli import AsJson, print_json, progress_bar, say

__all__ = ["reproduce"]


def reproduce(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A table or figure, such as table4, or all.")
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder of HDM05; if not given, our own synthetic recording is used.",
        ),
    ] = None,
    folder: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FOLDER", help="Folder for what is written; it may exist."
        ),
    ] = Path("exactik-reproduce"),
    as_json: AsJson = False,
) -> None:
    """Measure the tables and figures of the papers again, beside what was published.

    Examples:
        exactik reproduce table4
        exactik reproduce all --data HDM05 -o measured
    """
    from exactik_papers import find_experiments
    from exactik_papers import reproduce as run

    find_experiments(name)  # before the first one runs
    began = time.perf_counter()
    with progress_bar() as bar:
        tasks = {
            experiment.name: bar.add_task(experiment.name) for experiment in find_experiments(name)
        }
        sections = run(
            name,
            folder,
            data=data,
            progress=lambda name, done, total: bar.update(tasks[name], completed=done, total=total),
        )
    took = time.perf_counter() - began
    page = folder / "index.html"
    if as_json:
        results = {
            section.experiment.name: {
                "title": section.experiment.title,
                "seconds": section.seconds,
                "files": [str(path) for path in section.paths],
                "tables": {
                    written.table.name: [
                        dict(zip(written.table.columns, row, strict=True)) for row in written.cells
                    ]
                    for written in section.tables
                    if written.table.shown
                },
            }
            for section in sections
        }
        print_json({"seconds": took, "page": str(page), "experiments": results})
        return
    for section in sections:
        count = len(section.paths)
        say(f"{section.experiment.name:10} {section.seconds:6.1f} s  {count} files")
    say(f"\nWritten to {folder} in {took:.0f} s; open {page} in a browser.")
