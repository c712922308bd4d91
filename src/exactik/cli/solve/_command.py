"""`exactik solve`: its arguments; `_solve_all` does the work."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from exactik.cli._app import SOLVE, AsJson, command, complain
from exactik.cli._options import TakeOption, argument, value_option
from exactik.cli._outputs import MotionOutputs, find_recordings, plan_outputs
from exactik.cli.solve._opensim import solve_setups
from exactik.cli.solve._solve_all import SolveRequest, solve_all
from exactik.errors import FileError, UsageError
from exactik.io.formats import reader_of
from exactik.io.opensim import is_ik_setup, is_imu_setup
from exactik.io.opensim.scaling import is_scale_setup
from exactik.recordings.pipeline import FigureOptions, RecordingOptions, read_skeleton


@command(SOLVE)
def solve(
    recordings: Annotated[
        list[str],
        argument(
            "MARKERS...",
            "Recordings: files, patterns, folders; or set-up files of OpenSim's IK tool.",
        ),
    ],
    *,
    skeleton: Annotated[
        str | None,
        value_option(
            "FIGURE",
            "The figure: a file (.asf .bvh .npz .glb .osim .urdf .xml), or human, ours. Set-up "
            "files name their own.",
        ),
    ] = None,
    outputs: MotionOutputs,
    calibrate: Annotated[
        bool | None,
        typer.Option(
            "--calibrate/--no-calibrate",
            help="Fit size and markers of the figure to the subject first; human always is fitted.",
            show_default=False,
        ),
    ] = None,
    take: TakeOption = None,
    options: RecordingOptions,
    figure: FigureOptions,
    threads: Annotated[
        int | None, value_option("N", "Number of threads; one per processor if not given.", min=1)
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Say all that was read, assumed and found.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="The same, with all frames that need attention.")
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
    sources = find_recordings(recordings)
    _check_figure(sources, skeleton)
    plans = plan_outputs(sources, outputs, [n for n in (skeleton, take) if n])
    loaded = None
    if skeleton is not None:
        loaded = read_skeleton(skeleton, figure.skeleton_unit, figure.skeleton_up)
    fit = loaded is not None and loaded.built_in if calibrate is None else calibrate
    request = SolveRequest(
        options=replace(options, threads=threads, fit=fit),
        take=take,
        as_json=as_json,
        verbose=verbose or everything,
        list_all=everything,
    )
    try:
        run = solve_setups(plans, request) if loaded is None else solve_all(plans, loaded, request)
        raise typer.Exit(run)
    except KeyboardInterrupt:
        complain("Stopped. Files that were written are complete; there are no others.", "")
        raise typer.Exit(130) from None


def _check_figure(sources: list[Path], skeleton: str | None) -> None:
    """Refuse recordings without a skeleton, and one beside set-up files, which name their own."""
    for source in sources:
        if is_scale_setup(source):
            tool = "a set-up file of OpenSim's scale tool"
            raise UsageError(f"{source} is {tool}; `exactik calibrate {source}` runs it")
    setups = [source for source in sources if is_ik_setup(source) or is_imu_setup(source)]
    if len(setups) == 0 and skeleton is None:
        reader_of(sources[0], "markers")  # a model or a motion in its place is the first mistake
        if not sources[0].exists():
            raise FileError(sources[0], "no such file or folder")
        raise UsageError("no figure; expected --skeleton with a file, or human")
    if len(setups) > 0 and len(setups) < len(sources):
        raise UsageError(f"{setups[0]} is a set-up file; expected such files alone, or recordings")
    if len(setups) > 0 and skeleton is not None:
        raise UsageError(f"{setups[0]} names its model; expected no --skeleton beside it")
