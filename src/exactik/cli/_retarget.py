"""`exactik retarget`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from exactik.cli._app import ANIMATE, AsJson, command, frames_bar, print_json, say
from exactik.cli._kernels import compile_poses, compiling
from exactik.cli._options import EndOption, StartOption, UpOption, check_axis_option
from exactik.cli._outputs import format_entry, plan_outputs
from exactik.cli._play import holds_markers, read_motion
from exactik.cli._pose import load_figure
from exactik.errors import FileError, UsageError

if TYPE_CHECKING:
    from exactik.retargeting import Retargeting

__all__ = ["retarget"]

GAP = 1.2  # [m] between the figure and its source side by side: arms held out hardly touch


@command(ANIMATE)
def retarget(
    motion: Annotated[
        Path, typer.Argument(metavar="MOTION", help="What is taken over: BVH, AMC, GLB, NPZ, MOT.")
    ],
    to: Annotated[
        str,
        typer.Option(
            metavar="FIGURE",
            help="Who takes it over: a skeleton, character or robot file, or human.",
        ),
    ],
    output: Annotated[
        list[str] | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Motion to write: .bvh .glb .npz .csv …; repeatable.",
        ),
    ] = None,
    bones: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Which bone takes over which: a .json of --save-bones."),
    ] = None,
    save_bones: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write which bone takes over which, to be edited."),
    ] = None,
    skeleton: Annotated[
        str | None,
        typer.Option(metavar="FIGURE", help="Skeleton file of MOTION if it holds none (AMC, MOT)."),
    ] = None,
    feet: Annotated[bool, typer.Option("--feet/--no-feet", help="Hold feet that stand.")] = True,
    hands: Annotated[
        bool, typer.Option("--hands/--no-hands", help="Put wrists where the source's are.")
    ] = True,
    start: StartOption = None,
    end: EndOption = None,
    up: UpOption = None,
    to_up: Annotated[
        str | None,
        typer.Option(
            metavar="AXIS",
            help="Which axis is up for the figure of --to.",
            callback=check_axis_option,
        ),
    ] = None,
    play: Annotated[
        bool, typer.Option("--play", help="Show the figure and its source side by side.")
    ] = False,
    report: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Report as an HTML page, with both side by side."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Let another figure or robot take over a motion: feet stand, hands reach, limits hold.

    Shows which bone takes over which and how it went. Exit code 1 if a foot slides, a wrist is off
    or a limb jumps.

    Examples:
        exactik retarget walk.bvh --to hero.glb -o hero-walk.glb
        exactik retarget walk.bvh --to g1.xml -o g1-walk.csv --play
        exactik retarget walk.bvh --to hero.glb --save-bones bones.json
        exactik retarget walk.bvh --to hero.glb -o hero-walk.glb --report walk.html
    """
    from exactik.io import files_to_write
    from exactik.retargeting import load_mapping
    from exactik.retargeting import retarget as take_over
    from exactik.retargeting import save_mapping as write_mapping

    if output is None and not play and not as_json and save_bones is None and report is None:
        raise UsageError(
            "nothing would be written; give -o FILE, --report, --play, --save-bones or --json"
        )
    read = [str(motion), to, *(str(path) for path in (bones, skeleton) if path is not None)]
    (plan,) = plan_outputs([motion], output or (), None, report, read)
    if save_bones is not None:
        files_to_write(str(save_bones), tuple(read))
    if holds_markers(str(motion)):
        command = f"exactik solve {motion} --skeleton human -o {motion.stem}.bvh"
        raise FileError(motion, f"holds markers; `{command}` finds their motion")
    given = None if bones is None else load_mapping(bones)
    figure, figure_up = (None, None) if skeleton is None else load_figure(skeleton)
    source = read_motion(str(motion), figure, up, figure_up, by_custom=False).between(start, end)
    target, _ = load_figure(to)
    compile_poses()
    with frames_bar() as bar:
        task = bar.add_task("taking over", total=len(source))
        result = take_over(
            source,
            target,
            mapping=given,
            feet=feet,
            hands=hands,
            up=up,
            target_up=to_up,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    for path in plan.targets:
        result.motion.save(path)
    if save_bones is not None:
        write_mapping(result.correspondence, save_bones)
    if plan.report is not None:
        command_line = f"exactik {shlex.join(sys.argv[1:])}"
        result.report(plan.report, command=command_line)
    paths = (*plan.targets, save_bones, plan.report)
    written = [str(path) for path in paths if path is not None]
    if as_json:
        print_json({**result.to_dict(), "written": written})
    else:
        _show(result, motion, to, written)
    if play:
        _play_beside(result)
    if result.needs_look:
        raise typer.Exit(1)


def _show(result: Retargeting, motion: Path, to: str, written: list[str]) -> None:
    say(format_entry("read", f"{motion}: {len(result.source)} frames"))
    say(format_entry("to", f"{to}: {len(result.motion.skeleton.bones)} bones"))
    say(f"\n{result.correspondence}\n")
    for note in result.notes:
        say(format_entry("note", note))
    say(format_entry("done", str(result)))
    for path in written:
        say(format_entry("written", path))


def _play_beside(result: Retargeting) -> None:
    from exactik.cli._pose import serve
    from exactik.viewer import MotionViewer, PlaybackData

    with compiling():
        playback = PlaybackData.of(result.motion, references=[result.source], aside=GAP)
        viewer = MotionViewer(playback)
        viewer.play()
    serve(viewer, browser=True)
