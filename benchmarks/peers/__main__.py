"""`python -m benchmarks.peers [tool …]`: measure all tools, or those named; write the page.

A tool that is not named keeps its earlier answers. `--page` only writes the page again.
"""

from __future__ import annotations

import argparse

import numpy as np
from rich.console import Console

from benchmarks.peers import environments, page, scores, tasks
from benchmarks.peers.environments import FOLDER, Answers, Skipped, Tool, read_tools
from benchmarks.peers.page import Results
from benchmarks.peers.protocol import Arm, Figure, save
from benchmarks.peers.tasks import Task

BUDGET_S = {"arm": 20.0, "figure": 240.0}  # processor time for a row


def get_kind(task: Task) -> str:
    return "arm" if isinstance(task.definition, Arm) else "figure"


def collect_answers(task: Task, everybody: list[Tool], results: Results) -> list[Answers]:
    """Return the answers to a task; reasons of tools without one go to the results."""
    collected: list[Answers] = []
    for tool in everybody:
        if get_kind(task) not in tool.tasks:
            continue
        try:
            collected += environments.load_answers(tool, task.name)
        except Skipped as reason:
            results.skipped.append((tool.title, task.title, str(reason)))
    return collected


def load_search(task: Task) -> tuple[np.ndarray, np.ndarray]:
    """Return the search for the best objectives, from the cache where it was run before."""
    assert isinstance(task.definition, Figure)
    kept = FOLDER / "answers" / f"{task.name}-search.npz"
    if not kept.is_file():
        tracked, cold = scores.search_best(task.definition)
        np.savez(kept, tracked=tracked, cold=cold)
    with np.load(kept) as file:
        return file["tracked"], file["cold"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.peers", description=__doc__)
    everybody = read_tools()
    names = [tool.name for tool in everybody]
    parser.add_argument("tools", nargs="*", help=f"of {', '.join(names)}; all by default")
    parser.add_argument("--task", action="append", help="measure only this; may be repeated")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page")
    arguments = parser.parse_args()
    unknown = set(arguments.tools) - set(names)
    if unknown:
        parser.error(f"no tool {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    console = Console()
    folder = FOLDER / "tasks"
    folder.mkdir(parents=True, exist_ok=True)
    (FOLDER / "answers").mkdir(exist_ok=True)
    all_tasks = [*tasks.make_arm_tasks(folder), *tasks.make_figure_tasks(folder)]
    if len(all_tasks) == 0:
        console.print("skipped: the robots and the recordings are not beside this checkout")
        return
    for task in all_tasks:
        path = folder / f"{task.name}.npz"
        save(path, task.definition)
        for tool in everybody:
            chosen = (not arguments.tools or tool.name in arguments.tools) and (
                not arguments.task or task.name in arguments.task
            )
            if arguments.page or not chosen or get_kind(task) not in tool.tasks:
                continue
            console.print(f"{task.title}: {tool.title} …")
            environments.measure(tool, path, BUDGET_S[get_kind(task)])
    results = Results(everybody)
    for task in all_tasks:
        answers = collect_answers(task, everybody, results)
        if len(answers) == 0:
            continue
        if isinstance(task.definition, Arm):
            results.arms[task.title] = [scores.score_arm(task.definition, row) for row in answers]
        else:
            both = scores.score_figures(task.definition, answers, load_search(task))
            results.figures[task.title] = both
    page.write_page(results)
    console.print(f"wrote {page.PAGE.relative_to(environments.ROOT)}")


if __name__ == "__main__":
    main()
