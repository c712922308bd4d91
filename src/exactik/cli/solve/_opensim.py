"""`exactik solve subject01_Setup_IK.xml`: what OpenSim's inverse kinematics tool would do."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from exactik._text import count_noun
from exactik.cli._app import err, frames_bar, print_json, say
from exactik.cli._outputs import OutputPlan, format_entry, print_solved, write_motion
from exactik.cli.solve._solve_options import SolveOptions
from exactik.errors import ExactikError, Note
from exactik.io import collect_warnings
from exactik.pipeline import SolvedSetup, solve_ik_setup, write_ik_results
from exactik.report import headline_of, summary_of, write_report
from exactik.verdict import EXIT_CODES

__all__ = ["solve_setups"]


def solve_setups(plans: Sequence[OutputPlan], options: SolveOptions) -> int:
    """Run set-up files, each as it says; return the exit code, that of the gravest verdict."""
    solved: list[dict[str, Any]] = []
    failed: list[dict[str, str]] = []
    for plan in plans:
        try:
            solved.append(_run(plan, options))
        except ExactikError as error:
            if len(plans) == 1:
                raise
            failed.append({"source": str(plan.source), "error": str(error)})
            err.print(f"exactik: {error}", style="red", markup=False, soft_wrap=True)
    if options.as_json:
        print_json({"solved": solved, "failed": failed})
    if len(failed) > 0:
        return 2
    return max((EXIT_CODES[summary["verdict"]] for summary in solved), default=0)


def _run(plan: OutputPlan, options: SolveOptions) -> dict[str, Any]:
    """Run one set-up file, write its files, say so; return the summary."""
    warned: list[Note] = []
    with collect_warnings(warned, str(plan.source)), frames_bar() as bar:
        task = bar.add_task("solving", total=None)
        result = solve_ik_setup(
            plan.source,
            branches=options.tracking.branches,
            threads=options.tracking.threads,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    notes = [*warned, *result.notes]
    written = [(Path(path), words) for path, words in write_ik_results(result)]
    for path in plan.targets:
        written += write_motion(result.track.motion, path, options.angles, options.rotations)
    summary = summary_of(result.track, options.command)
    if plan.report is not None:
        write_report(result.track, str(plan.report), summary=summary)
        written.append((plan.report, "the report"))
    summary["subject"] = result.setup.name
    summary["written"] = [str(path) for path, _ in written]
    summary["notes"] = [str(note) for note in notes]
    if not options.as_json:
        _print_inputs(plan, result, notes)
        print_solved(summary, headline_of(summary), written, options.list_all)
    return summary


def _print_inputs(plan: OutputPlan, result: SolvedSetup, notes: Sequence[str]) -> None:
    setup, model = result.setup, result.model
    tasks = [count_noun(len(result.track.names), "marker")]
    if len(setup.coordinate_tasks) > 0:
        tasks.append(count_noun(len(setup.coordinate_tasks), "coordinate"))
    say(format_entry("read", f"{plan.source}: tasks for {' and '.join(tasks)}"))
    counts = f"{count_noun(len(model.bodies), 'body', 'bodies')}, {len(model.coordinates)}"
    say(format_entry("model", f"{os.path.relpath(setup.model_path)}: {counts} coordinates"))
    times = f"{result.times[0]:g} to {result.times[-1]:g} s"
    frames = count_noun(len(result.times), "frame")
    say(format_entry("markers", f"{os.path.relpath(setup.marker_path)}: {frames}, {times}"))
    for note in notes:
        say(format_entry("note", note))
