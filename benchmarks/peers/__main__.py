"""`python -m benchmarks.peers [tool …]`: measure all tools, or those named; write the page.

A tool that is not named keeps what it said before. `--page` only writes the page again.
"""

from __future__ import annotations

import argparse

import numpy as np
from rich.console import Console

from benchmarks.peers import environments, page, scores, tasks
from benchmarks.peers.environments import FOLDER, Answers, Skipped, Tool, tools
from benchmarks.peers.page import Results
from benchmarks.peers.protocol import Arm, Figure, save
from benchmarks.peers.tasks import Task

BUDGET = {"arm": 20.0, "figure": 240.0}  # [s] of the processor for a row


def kind(task: Task) -> str:
    return "arm" if isinstance(task.asked, Arm) else "figure"


def said(task: Task, everybody: list[Tool], results: Results) -> list[Answers]:
    """Answers to a task; the reasons of those who gave none go to the results."""
    found: list[Answers] = []
    for tool in everybody:
        if kind(task) not in tool.tasks:
            continue
        try:
            found += environments.answers(tool, task.name)
        except Skipped as reason:
            results.skipped.append((tool.title, task.title, str(reason)))
    return found


def search(task: Task) -> tuple[np.ndarray, np.ndarray]:
    """The search for the best objectives, kept between runs."""
    assert isinstance(task.asked, Figure)
    kept = FOLDER / "answers" / f"{task.name}-search.npz"
    if not kept.is_file():
        tracked, cold = scores.searched(task.asked)
        np.savez(kept, tracked=tracked, cold=cold)
    with np.load(kept) as file:
        return file["tracked"], file["cold"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.peers", description=__doc__)
    everybody = tools()
    names = [tool.name for tool in everybody]
    parser.add_argument("tools", nargs="*", help=f"of {', '.join(names)}; all by default")
    parser.add_argument("--task", action="append", help="measure only this; may be repeated")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page")
    asked = parser.parse_args()
    unknown = set(asked.tools) - set(names)
    if unknown:
        parser.error(f"no tool {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    console = Console()
    folder = FOLDER / "tasks"
    folder.mkdir(parents=True, exist_ok=True)
    (FOLDER / "answers").mkdir(exist_ok=True)
    given = [*tasks.arms(folder), *tasks.figures(folder)]
    if len(given) == 0:
        console.print("skipped: the robots and the recordings are not beside this checkout")
        return
    for task in given:
        path = folder / f"{task.name}.npz"
        save(path, task.asked)
        for tool in everybody:
            chosen = (not asked.tools or tool.name in asked.tools) and (
                not asked.task or task.name in asked.task
            )
            if asked.page or not chosen or kind(task) not in tool.tasks:
                continue
            console.print(f"{task.title}: {tool.title} …")
            environments.measure(tool, path, BUDGET[kind(task)])
    results = Results(everybody)
    for task in given:
        answers = said(task, everybody, results)
        if len(answers) == 0:
            continue
        if isinstance(task.asked, Arm):
            results.arms[task.title] = [scores.arm_score(task.asked, own) for own in answers]
        else:
            both = scores.figure_scores(task.asked, answers, search(task))
            results.figures[task.title] = both
    page.write(results)
    console.print(f"wrote {page.PAGE.relative_to(environments.ROOT)}")


if __name__ == "__main__":
    main()
