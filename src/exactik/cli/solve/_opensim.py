"""Set-up files of OpenSim: inverse kinematics under `solve`, the scale tool under `calibrate`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from exactik._text import count_noun
from exactik.cli._app import err, frames_bar, print_json, say
from exactik.cli._outputs import OutputPlan, format_entry, print_solved
from exactik.cli.solve._solve_options import SolveOptions
from exactik.errors import ExactikError, Note, UsageError
from exactik.io import collect_warnings, is_imu_setup
from exactik.pipeline import (
    SolvedSetup,
    scale_model,
    solve_ik_setup,
    solve_imu_setup,
    write_ik_results,
    write_imu_results,
    write_motion,
)
from exactik.report import headline_of, summary_of, write_report
from exactik.verdict import EXIT_CODES

__all__ = ["run_scale_setup", "solve_setups"]


def solve_setups(plans: Sequence[OutputPlan], options: SolveOptions) -> int:
    """Run set-up files, each as it says; return the exit code, that of the gravest verdict."""
    solved: list[dict[str, Any]] = []
    failed: list[dict[str, str]] = []
    for plan in plans:
        try:
            run = _run_imu if is_imu_setup(plan.source) else _run
            solved.append(run(plan, options))
        except ExactikError as error:
            if len(plans) == 1:
                raise
            failed.append({"source": str(plan.source), "error": str(error)})
            err.print(f"exactik: {error}", style="red", markup=False, soft_wrap=True)
    if options.as_json:
        print_json({"solved": solved, "failed": failed})
    if len(failed) > 0:
        return 2
    return max((EXIT_CODES[s["verdict"]] for s in solved if "verdict" in s), default=0)


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


def _run_imu(plan: OutputPlan, options: SolveOptions) -> dict[str, Any]:
    """Run one set-up file of inertial sensors; without markers there is no verdict."""
    if plan.report is not None:
        raise UsageError(f"{plan.source} is about inertial sensors; expected no --report")
    warned: list[Note] = []
    with collect_warnings(warned, str(plan.source)):
        result = solve_imu_setup(plan.source)
    written = [(Path(path), words) for path, words in write_imu_results(result)]
    for path in plan.targets:
        written += write_motion(result.motion, path, options.angles, options.rotations)
    errors = np.degrees(result.errors)
    worst = result.names[int(np.nanargmax(np.nanmax(errors, axis=0)))]
    notes = [*map(str, warned), *result.notes]
    summary: dict[str, Any] = {
        "subject": result.setup.name,
        "frames": len(result.times),
        "mean_error_deg": float(np.nanmean(errors)),
        "largest_error_deg": float(np.nanmax(errors)),
        "written": [str(path) for path, _ in written],
        "notes": notes,
    }
    if not options.as_json:
        sensors = count_noun(len(result.names), "sensor")
        say(format_entry("read", f"{plan.source}: {sensors}, {len(result.times)} frames"))
        for note in notes:
            say(format_entry("note", note))
        mean, largest = summary["mean_error_deg"], summary["largest_error_deg"]
        say(f"\nSensors are {mean:.2f}° off on average, {worst} by {largest:.2f}° at most.\n")
        for path, words in written:
            say(format_entry("written", f"{path}: {words}"))
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


def run_scale_setup(path: str, as_json: bool) -> None:
    """Scale a model and place its markers as a set-up file says, and say so."""
    warned: list[Note] = []
    with collect_warnings(warned, path):
        scaled = scale_model(path)
    notes = [*map(str, warned), *scaled.notes]
    if as_json:
        print_json(
            {
                "factors": {body: list(values) for body, values in scaled.factors.items()},
                "moved_m": dict(scaled.moved),
                "mass_kg": scaled.model.mass,
                "written": [path for path, _ in scaled.written],
                "notes": notes,
            }
        )
        return
    say(format_entry("read", f"{path}: {os.path.relpath(scaled.setup.generic_path)}"))
    for note in notes:
        say(format_entry("note", note))
    say()
    for body, (x, y, z) in scaled.factors.items():
        same = x == y == z
        say(
            f"  {body.ljust(20)} {x:.4f}" if same else f"  {body.ljust(20)} {x:.4f} {y:.4f} {z:.4f}"
        )
    if scaled.pose is not None and len(scaled.moved) > 0:
        rms = 1e3 * float(np.sqrt(np.nanmean(scaled.pose.marker_errors**2)))
        worst = max(scaled.moved, key=lambda name: scaled.moved[name])
        say()
        say(
            format_entry(
                "markers",
                f"{len(scaled.moved)} moved to where they were recorded, {rms:.1f} mm in the mean "
                f"square before that, at most {worst} by {1e3 * scaled.moved[worst]:.0f} mm",
            )
        )
    for written, words in scaled.written:
        say(format_entry("written", f"{written}: {words}"))
