"""`exactik demo`."""

from __future__ import annotations

import textwrap
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from exactik.cli._app import AsJson, app, frames_bar, print_json, say
from exactik.cli._demo_reach import show_reach
from exactik.cli._kernels import compile_kernels
from exactik.synthetic import SyntheticRecording

__all__ = ["demo"]

NOISE, GAPS = 0.001, 0.05  # [m] of each coordinate; share of samples
NAME = "performance"


@app.command()
def demo(
    folder: Annotated[
        Path, typer.Option("--out", help="Folder for what is written; it may exist.")
    ] = Path("exactik-demo"),
    seconds: Annotated[float, typer.Option(help="Length of the performance.", min=2.0)] = 20.0,
    reach: Annotated[
        bool, typer.Option("--reach", help="Pose one figure instead, and show the solver's steps.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a recording with faults that are known, solve it, and compare with the truth."""
    if reach:
        show_reach(as_json)
        return
    from exactik.cli.solve._inputs import read_recording
    from exactik.cli.solve._outputs import plan_outputs, write_motion
    from exactik.cli.solve._words import LINE_WIDTH, format_entry
    from exactik.report import headline_of, summary_of
    from exactik.synthetic import compare_with_truth, simulate_performance, simulate_recording
    from exactik.tracking import track

    began = time.perf_counter()
    source = folder / f"{NAME}.c3d"
    (plan,) = plan_outputs([source], [str(folder)], "bvh,glb", str(folder / f"{NAME}.html"))
    compile_kernels("huber")
    ready = time.perf_counter()
    made = simulate_recording(simulate_performance(seconds), noise=NOISE, gaps=GAPS)
    made.markers.save(source)
    if not as_json:
        acts = ", ".join(name for name, _, _ in made.truth.metadata["acts"])
        fault = _faults(made)
        text = f"The built-in human performs for {seconds:g} s ({acts}). {len(made.markers.names)} "
        text += f"markers record it at {made.markers.rate:g} Hz, {fault}."
        say(f"{textwrap.fill(text, LINE_WIDTH)}\n")
        say(format_entry("written", f"{source}: the recording"))
    reading = read_recording(source, "z")
    # The solver is told nothing of the truth: the noise too is for it to find out.
    command = f"exactik solve {source} --skeleton human --no-calibrate --robust huber"
    with frames_bar() as bar:
        task = bar.add_task("solving", total=len(reading.markers))
        solved = track(
            *(made.truth.skeleton, reading.markers),
            robust="huber",
            threads=None,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    written = [line for path in plan.targets for line in write_motion(solved.motion, path)]
    assert plan.report is not None
    solved.report(plan.report, command=f"{command} --report {plan.report}")
    written.append((plan.report, "the report; open it in a browser"))
    verdict, summary = compare_with_truth(solved, made), summary_of(solved, command)
    took = time.perf_counter() - began
    if as_json:
        files = [str(source), *(str(path) for path, _ in written)]
        times = {"seconds": took, "seconds_of_kernels": ready - began}
        print_json({**asdict(verdict), **times, "written": files, "summary": summary})
        return
    for path, words in written:
        say(format_entry("written", f"{path}: {words}"))
    say(f"\n{textwrap.fill(headline_of(summary), LINE_WIDTH)}\n")
    share = f"{100.0 * verdict.within_band:.0f} %"
    text = (
        f"Beside the truth: joints are off by {1e3 * verdict.joint_error:.1f} mm on average (95 % "
        f"by less than {1e3 * verdict.joint_error_95:.1f} mm), angles that the markers determine "
        f"by {np.degrees(verdict.angle_error):.1f}° in the middle. The 90 % error bars hold the "
        f"truth in {share} of the cases."
    )
    say(f"{textwrap.fill(text, LINE_WIDTH)}\n")
    glb = next(path for path in plan.targets if path.suffix == ".glb")
    say("To see it play, with its markers, if exactik[viewer] is installed:")
    say(f"  exactik play {glb} --markers {source}")
    say(f"The same by hand:\n  {command} -o take.bvh")
    say("With a recording of your own, fitted to its subject first:")
    say("  exactik solve capture.c3d --skeleton human -o take.bvh --report take.html")
    say(f"All of it took {took:.0f} s, {ready - began:.0f} of them to make the kernels ready.")


def _faults(made: SyntheticRecording) -> str:
    """Return what is wrong with a recording, in words."""
    text = f"with {1e3 * NOISE:g} mm of noise, {100.0 * made.missing.mean():.0f} % missing"
    if made.swapped is None:
        return text
    frames = np.flatnonzero(made.swapped_frames)
    one, other = made.swapped
    return f"{text}, {one} and {other} swapped in frames {frames[0]}–{frames[-1]}"
