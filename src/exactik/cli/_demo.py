"""`exactik demo`."""

from __future__ import annotations

import textwrap
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.table import Table

from exactik.cli._app import (
    LINE_WIDTH,
    UNDERSTAND,
    AsJson,
    Entries,
    command,
    out,
    print_json,
    say,
    show_frames,
)
from exactik.cli._options import output_option, value_option
from exactik.cli._outputs import MotionOutputs, plan_outputs
from exactik.io.formats import GLB
from exactik.lab.synthetic import (
    SyntheticRecording,
    simulate_performance,
    simulate_recording,
    solve_reach,
)
from exactik.recordings.pipeline import (
    TruthComparison,
    compare_with_truth,
    read_recording,
    write_motion,
)
from exactik.recordings.tracking import track
from exactik.studio.report import headline_of, summary_of, write_report

NOISE_M = 0.001  # of each coordinate of a marker
GAP_SHARE = 0.05  # of the samples that are missing
NAME = "performance"


@command(UNDERSTAND)
def demo(
    folder: Annotated[
        Path, output_option("FOLDER", "Folder for what is written; it may exist.")
    ] = Path("exactik-demo"),
    seconds: Annotated[
        float, value_option("SECONDS", "Length of the performance.", min=2.0)
    ] = 20.0,
    reach: Annotated[
        bool, typer.Option("--reach", help="Pose one figure instead, and show the solver's steps.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a recording with faults that are known, solve it, and compare with the truth.

    Examples:
        exactik demo
        exactik demo --seconds 5 -o short
        exactik demo --reach
    """
    if reach:
        _show_reach(as_json)
        return
    began = time.perf_counter()
    source, entries = folder / f"{NAME}.c3d", Entries(as_json)
    outputs = MotionOutputs(
        output=(str(folder),), formats=("bvh", "glb"), report=str(folder / f"{NAME}.html")
    )
    (plan,) = plan_outputs([source], outputs)
    recording = simulate_recording(simulate_performance(seconds), noise=NOISE_M, gaps=GAP_SHARE)
    recording.markers.save(source)
    if not as_json:
        acts = ", ".join(name for name, _, _ in recording.truth.metadata["acts"])
        count, rate = len(recording.markers.names), recording.markers.rate
        text = f"The built-in human performs for {seconds:g} s ({acts}). {count} markers record it "
        text += f"at {rate:g} Hz, {_describe_faults(recording)}."
        say(f"{textwrap.fill(text, LINE_WIDTH)}\n")
    entries.add("written", f"{source}: the recording")
    markers = read_recording(source, "z").markers
    # The solver gets no part of the truth: it estimates the noise, too.
    command = f"exactik solve {source} --skeleton human --no-calibrate"
    with show_frames("solving", len(markers)) as report:
        figure = recording.truth.skeleton
        solved = track(figure, markers, threads=None, progress=report)
    written = [line for path in plan.targets for line in write_motion(solved.motion, path)]
    assert plan.report is not None
    summary = summary_of(solved, command)
    page_facts = {**summary, "command": f"{command} --report {plan.report}"}
    write_report(solved, str(plan.report), summary=page_facts)
    written.append((plan.report, "the report; open it in a browser"))
    verdict = compare_with_truth(solved, recording.truth)
    took = time.perf_counter() - began
    if as_json:
        files = [str(source), *(str(path) for path, _ in written)]
        print_json({**asdict(verdict), "seconds": took, "written": files, "summary": summary})
        return
    entries.add("written", *(f"{path}: {words}" for path, words in written))
    say(f"\n{textwrap.fill(headline_of(summary), LINE_WIDTH)}\n")
    say(f"{textwrap.fill(_describe_verdict(verdict), LINE_WIDTH)}\n")
    glb = next(path for path in plan.targets if path.suffix == GLB.suffix)
    say("To see it play, with its markers (needs pip install '.[viewer]', in a clone):")
    say(f"  exactik play {glb} --markers {source}")
    say(f"The same by hand:\n  {command} -o take.bvh")
    say("With a recording of your own, fitted to its subject first:")
    say("  exactik solve capture.c3d --skeleton human -o take.bvh --report take.html")
    say(f"All of it took {took:.1f} s.")


def _describe_verdict(verdict: TruthComparison) -> str:
    """Return how near the solution is to the truth, in words."""
    return (
        f"Beside the truth: joints are off by {1e3 * verdict.joint_error:.1f} mm on average (95 % "
        f"by less than {1e3 * verdict.joint_error_95:.1f} mm), angles that the markers determine "
        f"by {np.degrees(verdict.angle_error):.1f}° in the middle. The 90 % error bars hold the "
        f"truth in {100.0 * verdict.within_band:.0f} % of the cases."
    )


def _describe_faults(recording: SyntheticRecording) -> str:
    """Return what is wrong with a recording, in words."""
    text = f"with {1e3 * NOISE_M:g} mm of noise, {100.0 * recording.missing.mean():.0f} % missing"
    if recording.swapped is None:
        return text
    frames = np.flatnonzero(recording.swapped_frames)
    first, second = recording.swapped
    return f"{text}, {first} and {second} swapped in frames {frames[0]}–{frames[-1]}"


def _show_reach(as_json: bool = False) -> None:
    """Pose the built-in human inside its limits and say what happened."""
    result = solve_reach()
    figure, history = result.problem.skeleton, result.history
    assert history is not None
    if as_json:
        answer = {
            "reached": result.reached,
            "why": result.why,
            "errors": result.goal_errors,
            "iterations": result.iterations,
            "evaluations": result.evaluations,
            "cost": result.cost,
            "projected_gradient": result.projected_gradient,
            "seconds": result.seconds,
            "active_limits": dict(result.active_limits),
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
