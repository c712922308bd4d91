"""`exactik solve`: its arguments; `_solve_all` does the work."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from exactik.cli._app import SOLVE, AsJson, command, err
from exactik.cli._options import (
    AnglesOption,
    AxesOption,
    BranchesOption,
    ComputedOption,
    EndOption,
    LengthUnitOption,
    LimitsOption,
    LockOption,
    MappingOption,
    RobustOption,
    RotationsOption,
    SigmaOption,
    SkeletonUnitOption,
    SkeletonUpOption,
    SmoothOption,
    StartOption,
    SubjectOption,
    TakeOption,
    UpOption,
    WeightsOption,
    parse_length_unit,
)
from exactik.cli.solve._solve_options import (
    SolveOptions,
    check_word,
    parse_loss,
    parse_smooth,
)
from exactik.errors import UsageError

__all__ = ["solve"]


@command(SOLVE)
def solve(
    recordings: Annotated[
        list[str],
        typer.Argument(
            metavar="MARKERS...",
            help="Recordings: files, patterns, folders; or set-up files of OpenSim's IK tool.",
        ),
    ],
    skeleton: Annotated[
        str | None,
        typer.Option(
            metavar="FIGURE",
            help="The figure: a file (.asf .bvh .npz .glb .osim .urdf .xml), or human, ours. "
            "Set-up files name their own.",
        ),
    ] = None,
    output: Annotated[
        list[str] | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write, or folder; may be given repeatedly.",
        ),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="HTML report to write; a folder for many recordings."),
    ] = None,
    formats: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="FORMATS", help="Some of bvh, amc, glb, npz, mot, csv: bvh,glb."
        ),
    ] = None,
    calibrate: Annotated[
        bool | None,
        typer.Option(
            "--calibrate/--no-calibrate",
            help="Fit size and markers of the figure to the subject first; human always is.",
            show_default=False,
        ),
    ] = None,
    angles: AnglesOption = None,
    rotations: RotationsOption = None,
    take: TakeOption = None,
    mapping: MappingOption = None,
    computed: ComputedOption = False,
    subject: SubjectOption = None,
    start: StartOption = None,
    end: EndOption = None,
    robust: RobustOption = "none",
    smooth: SmoothOption = "auto",
    weights: WeightsOption = None,
    limits: LimitsOption = "hard",
    lock: LockOption = None,
    sigma: SigmaOption = None,
    branches: BranchesOption = True,
    threads: Annotated[
        int | None,
        typer.Option(metavar="N", help="Number of threads; one per processor without it.", min=1),
    ] = None,
    up: UpOption = None,
    skeleton_up: SkeletonUpOption = None,
    axes: AxesOption = None,
    length_unit: LengthUnitOption = None,
    skeleton_unit: SkeletonUnitOption = None,
    everything: Annotated[
        bool, typer.Option("--all", help="List all frames that need attention.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Find the motion that recorded markers show, and say how far to trust it.

    Ends with 0 if it is good, 1 if it is usable with care, 3 if it should not be used, and 2 if
    something could not be read; of several recordings with the gravest: 2, 3, 1, 0.

    Examples:
        exactik solve walk.c3d --skeleton human -o walk.bvh --report walk.html
        exactik solve walk.c3d run.c3d --skeleton subject.npz -o takes/ --format bvh,glb
        exactik solve subject01_Setup_IK.xml
    """
    from exactik.cli._inputs import find_recordings
    from exactik.cli._outputs import plan_outputs
    from exactik.cli.solve._opensim import solve_setups
    from exactik.cli.solve._solve_all import solve_all
    from exactik.pipeline import RecordingOptions, TrackOptions, read_skeleton

    sources = find_recordings(recordings)
    outputs = output or []
    are_setups = _are_setups(sources, skeleton)
    if len(outputs) == 0 and report is None and not as_json and not are_setups:
        raise UsageError("nothing to write; expected -o with a file or folder, --report or --json")
    plans = plan_outputs(sources, outputs, formats, report, [n for n in (skeleton, take) if n])
    loaded = None
    if skeleton is not None:
        loaded = read_skeleton(skeleton, parse_length_unit(skeleton_unit), skeleton_up)
    options = SolveOptions(
        recording=RecordingOptions(
            up=up, axes=axes, length_unit=parse_length_unit(length_unit), start=start, end=end
        ),
        tracking=TrackOptions(
            robust=parse_loss(robust),
            smooth=parse_smooth(smooth),
            limits=limits,
            lock=tuple(lock or ()),
            sigma=None if sigma is None else 1e-3 * sigma,
            branches=branches,
            threads=threads,
        ),
        weights=weights,
        mapping=mapping,
        take=take,
        computed=computed,
        fit=(loaded is not None and loaded.built_in) if calibrate is None else calibrate,
        subject=subject,
        command=f"exactik {shlex.join(sys.argv[1:])}",
        as_json=as_json,
        list_all=everything,
        angles=check_word("--angles", angles, ("clinical", "joints", "both")),
        rotations=check_word("--rotations", rotations, ("coordinates", "wxyz", "swing-twist")),
    )
    try:
        if loaded is None:
            raise typer.Exit(solve_setups(plans, options))
        raise typer.Exit(solve_all(plans, loaded, options))
    except KeyboardInterrupt:
        err.print("Stopped. Files that were written are complete; there are no others.")
        raise typer.Exit(130) from None


def _are_setups(sources: list[Path], skeleton: str | None) -> bool:
    """Whether the sources are set-up files, which name a model; else a skeleton has to be given."""
    from exactik.io import is_ik_setup, is_imu_setup, is_scale_setup
    from exactik.io.formats import reader_of

    for source in sources:
        if is_scale_setup(source):
            tool = "a set-up file of OpenSim's scale tool"
            raise UsageError(f"{source} is {tool}; `exactik calibrate {source}` runs it")
    setups = [source for source in sources if is_ik_setup(source) or is_imu_setup(source)]
    if len(setups) == 0 and skeleton is None:
        reader_of(sources[0], "markers")  # a model or a motion in its place is the first mistake
        raise UsageError("no figure; expected --skeleton with a file, or human")
    if len(setups) > 0 and len(setups) < len(sources):
        raise UsageError(f"{setups[0]} is a set-up file; expected such files alone, or recordings")
    if len(setups) > 0 and skeleton is not None:
        raise UsageError(f"{setups[0]} names its model; expected no --skeleton beside it")
    return len(setups) > 0
