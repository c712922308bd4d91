"""Set-up files of OpenSim: inverse kinematics under `solve`, the scale tool under `calibrate`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from exactik._text import count_noun
from exactik.cli._app import Entries, print_json, say, show_frames
from exactik.cli._outputs import OutputPlan, print_solved, run_each, write_tracked
from exactik.cli.solve._solve_all import SolveRequest
from exactik.errors import Note, UsageError
from exactik.io import collect_warnings
from exactik.io.opensim import is_imu_setup
from exactik.recordings.pipeline import (
    SolvedSetup,
    scale_model,
    solve_ik_setup,
    solve_imu_setup,
    write_ik_results,
    write_imu_results,
    write_motion,
)


def solve_setups(plans: Sequence[OutputPlan], request: SolveRequest) -> int:
    """Run set-up files, each as it says; return the exit code, that of the gravest verdict."""

    def solve(_: int, plan: OutputPlan) -> list[dict[str, Any]]:
        return [(_run_imu if is_imu_setup(plan.source) else _run)(plan, request)]

    return run_each(plans, solve, request.watch, as_json=request.as_json, verbose=request.verbose)[
        1
    ]


def _run(plan: OutputPlan, request: SolveRequest) -> dict[str, Any]:
    """Run one set-up file, write its files, say so; return the summary."""
    warned: list[Note] = []
    options = request.options
    watch = request.watch
    with collect_warnings(warned, str(plan.source)), show_frames("solving") as report:
        with watch.measure("reading"):
            result = solve_ik_setup(
                plan.source, branches=options.branches, threads=options.threads, progress=report
            )
        watch.add("reading", -result.track.seconds)
        watch.add("solving", result.track.seconds)
    notes = [*warned, *result.notes]
    with watch.measure("writing"):
        by_setup = [(Path(path), words) for path, words in write_ik_results(result)]
    summary, written = write_tracked(result.track, plan, options, result.setup.name, request.watch)
    written = [*by_setup, *written]
    summary["written"] = [str(path) for path, _ in written]
    summary["notes"] = [str(note) for note in notes]
    if request.verbose and not request.as_json:
        _print_inputs(plan, result, notes)
    if not request.as_json:
        print_solved(summary, written, verbose=request.verbose, list_all=request.list_all)
    return summary


def _run_imu(plan: OutputPlan, request: SolveRequest) -> dict[str, Any]:
    """Run one set-up file of inertial sensors; without markers there is no verdict."""
    if plan.report is not None:
        raise UsageError(f"{plan.source} is about inertial sensors; expected no --report")
    warned: list[Note] = []
    options, entries = request.options, request.entries
    with collect_warnings(warned, str(plan.source)), request.watch.measure("solving"):
        result = solve_imu_setup(plan.source)
    with request.watch.measure("writing"):
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
    sensors = count_noun(len(result.names), "sensor")
    entries.add("read", f"{plan.source}: {sensors}, {len(result.times)} frames")
    entries.add("note", *notes)
    if not request.as_json:
        mean, largest = summary["mean_error_deg"], summary["largest_error_deg"]
        say(f"error    sensors are {mean:.2f}° off on average, {worst} by {largest:.2f}° at most")
        say(f"written  {', '.join(str(path) for path, _ in written)}")
    return summary


def _print_inputs(plan: OutputPlan, result: SolvedSetup, notes: Sequence[str]) -> None:
    setup, model, entries = result.setup, result.model, Entries(False)
    tasks = [count_noun(len(result.track.names), "marker")]
    if len(setup.coordinate_tasks) > 0:
        tasks.append(count_noun(len(setup.coordinate_tasks), "coordinate"))
    entries.add("read", f"{plan.source}: tasks for {' and '.join(tasks)}")
    counts = f"{count_noun(len(model.bodies), 'body', 'bodies')}, {len(model.coordinates)}"
    entries.add("model", f"{os.path.relpath(setup.model_path)}: {counts} coordinates")
    times = f"{result.times[0]:g} to {result.times[-1]:g} s"
    frames = count_noun(len(result.times), "frame")
    entries.add("markers", f"{os.path.relpath(setup.marker_path)}: {frames}, {times}")
    entries.add("note", *notes)


def run_scale_setup(path: str, output: Path | None, as_json: bool) -> None:
    """Scale a model and place its markers as a set-up file says, and say so."""
    if output is not None:
        raise UsageError(f"{path} names the files to write; expected no --output")
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
    entries = Entries(False)
    entries.add("read", f"{path}: {os.path.relpath(scaled.setup.generic_path)}")
    entries.add("note", *notes)
    say()
    for body, factors in scaled.factors.items():
        shown = factors[:1] if len(set(factors)) == 1 else factors
        say(f"  {body.ljust(20)} {' '.join(f'{factor:.4f}' for factor in shown)}")
    if scaled.pose is not None and len(scaled.moved) > 0:
        rms = 1e3 * float(np.sqrt(np.nanmean(scaled.pose.marker_errors**2)))
        worst = max(scaled.moved, key=lambda name: scaled.moved[name])
        say()
        entries.add(
            "markers",
            f"{len(scaled.moved)} moved to where they were recorded, {rms:.1f} mm in the mean "
            f"square before that, at most {worst} by {1e3 * scaled.moved[worst]:.0f} mm",
        )
    entries.add("written", *(f"{written}: {words}" for written, words in scaled.written))
