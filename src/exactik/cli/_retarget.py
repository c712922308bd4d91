"""`exactik retarget`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from exactik._options import option, to_arguments
from exactik.cli._app import (
    ANIMATE,
    AsJson,
    Entries,
    command,
    command_line,
    print_json,
    say,
    show_frames,
)
from exactik.cli._options import argument, value_option
from exactik.cli._outputs import MotionOutputs, plan_outputs
from exactik.cli._play import SmplModelFile, holds_markers, read_motion
from exactik.cli._pose import load_figure, serve
from exactik.errors import FileError, UsageError
from exactik.io import files_to_write
from exactik.recordings.pipeline import RecordingOptions
from exactik.retargeting import Retargeting, RetargetOptions, load_mapping, save_mapping
from exactik.retargeting import retarget as take_over

GAP = 1.2  # [m] between the figure and its source side by side: arms held out hardly touch


@dataclass(frozen=True, kw_only=True)
class _Outputs:
    """What comes of it."""

    output: tuple[str, ...] = option(
        (),
        "Motion to write: .bvh .glb .npz …, for trainers .mjlab.npz .beyondmimic.npz .unitree.csv "
        ".gmr.pkl .mimickit.pkl .motion; may be given repeatedly.",
        metavar="FILE",
        flags="--output -o",
    )
    output_rate: float | None = option(
        None,
        "Frames a second, if not those of MOTION: many trainers want 50.",
        unit="Hz",
        metavar="HZ",
    )
    save_bones: str | None = option(
        None, "File to write which bone takes over which, to be edited.", metavar="FILE"
    )
    play: bool = option(False, "Show the figure and its source side by side.", flags="--play")
    report: str | None = option(
        None, "HTML report to write, with both side by side.", metavar="FILE"
    )


@command(ANIMATE)
def retarget(
    motion: Annotated[
        Path, argument("MOTION", "What is taken over: BVH, FBX, AMC, GLB, NPZ, MOT.")
    ],
    *,
    to: Annotated[
        str,
        value_option(
            "FIGURE",
            "Who takes it over: a skeleton, character or robot file, human, or a robot by name: "
            "unitree_g1.",
        ),
    ],
    bones: Annotated[
        Path | None,
        value_option("FILE", "Which bone takes over which: a .json that --save-bones wrote."),
    ] = None,
    skeleton: Annotated[
        str | None, value_option("FIGURE", "Skeleton file of MOTION if it holds none (AMC, MOT).")
    ] = None,
    smpl_model: SmplModelFile = None,
    options: RetargetOptions,
    cut: Annotated[RecordingOptions, ("start", "end")],
    outputs: _Outputs,
    as_json: AsJson = False,
) -> None:
    """Let another figure or robot take over a motion: feet stand, hands reach, limits hold.

    Shows which bone takes over which and how it went. Exit code 1 if a foot slides, a wrist is off
    or a limb jumps.

    Examples:
        exactik retarget walk.bvh --to hero.glb -o hero-walk.glb
        exactik retarget walk.bvh --to unitree_g1 -o g1.npz -o g1.mjlab.npz --output-rate 50
        exactik retarget walk.bvh --to hero.glb --save-bones bones.json
        exactik retarget walk.bvh --to hero.glb -o hero-walk.glb --report walk.html
    """
    if not as_json and replace(outputs, output_rate=None) == _Outputs():
        raise UsageError(
            "nothing would be written; give -o FILE, --report, --play, --save-bones or --json"
        )
    read = [str(motion), to, *(str(path) for path in (bones, skeleton) if path is not None)]
    motions = MotionOutputs(output=outputs.output, report=outputs.report)
    (plan,) = plan_outputs([motion], motions, read)
    if outputs.save_bones is not None:
        files_to_write(outputs.save_bones, tuple(read))
    if holds_markers(str(motion)):
        command = f"exactik solve {motion} --skeleton human -o {motion.stem}.bvh"
        raise FileError(motion, f"holds markers; `{command}` finds their motion")
    mapping = None if bones is None else load_mapping(bones)
    figure, figure_up = (None, None) if skeleton is None else load_figure(skeleton)
    source = read_motion(
        str(motion), figure, options.up, figure_up, by_custom=False, smpl_model=smpl_model
    )
    source = source.between(cut.start, cut.end)
    if outputs.output_rate is not None:  # before feet are put down, so that they stand
        source = source.resampled(outputs.output_rate)
    target, _ = load_figure(to)
    with show_frames("taking over", len(source)) as report:
        asked = replace(options, mapping=mapping, progress=report)
        result = take_over(source, target, **to_arguments(asked))
    for path in plan.targets:
        result.motion.save(path)
    if outputs.save_bones is not None:
        save_mapping(result.correspondence, outputs.save_bones)
    if plan.report is not None:
        result.report(plan.report, command=command_line())
    paths = (*plan.targets, outputs.save_bones, plan.report)
    written = [str(path) for path in paths if path is not None]
    if as_json:
        print_json({**result.to_dict(), "written": written})
    else:
        _show(result, motion, to, written)
    if outputs.play:
        _play_beside(result)
    if result.needs_look:
        raise typer.Exit(1)


def _show(result: Retargeting, motion: Path, to: str, written: list[str]) -> None:
    entries = Entries(False)
    entries.add("read", f"{motion}: {len(result.source)} frames")
    entries.add("to", f"{to}: {len(result.motion.skeleton.bones)} bones")
    say(f"\n{result.correspondence}\n")
    entries.add("note", *result.notes)
    entries.add("done", str(result))
    entries.add("written", *written)


def _play_beside(result: Retargeting) -> None:
    from exactik.studio.viewer import MotionViewer, PlaybackData

    playback = PlaybackData.of(result.motion, references=[result.source], aside=GAP)
    viewer = MotionViewer(playback)
    viewer.play()
    serve(viewer, browser=True)
