"""`exactik calibrate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from exactik.cli._app import SOLVE, AsJson, command, frames_bar, print_json, say
from exactik.cli._kernels import compile_kernels
from exactik.cli._options import (
    AxesOption,
    EndOption,
    LengthUnitOption,
    LimitsOption,
    LockOption,
    MappingOption,
    SigmaOption,
    SkeletonUnitOption,
    SkeletonUpOption,
    StartOption,
    TakeOption,
    UpOption,
    parse_length_unit,
)
from exactik.errors import FileError, UsageError

__all__ = ["calibrate"]

MAX_LISTED_NAMES = 8


@command(SOLVE)
def calibrate(
    recordings: Annotated[
        list[str],
        typer.Argument(
            metavar="MARKERS...",
            help="Recordings of the subject: a static and walks, for instance; or a set-up file of "
            "OpenSim's scale tool.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Skeleton to write: .npz, which keeps markers, or .osim if the figure is one.",
        ),
    ] = None,
    skeleton: Annotated[
        str,
        typer.Option(
            metavar="FIGURE",
            help="The figure: a file (.asf .bvh .npz .glb .osim .urdf .xml), or human, ours.",
        ),
    ] = "human",
    marker_set: Annotated[
        str | None,
        typer.Option(metavar="SET", help="Marker set of OpenSim (.xml) to put on an .osim figure."),
    ] = None,
    mapping: MappingOption = None,
    take: TakeOption = None,
    subject: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Whom to fit the figure to, if several were recorded."),
    ] = None,
    scale: Annotated[
        str,
        typer.Option(
            metavar="WORD", help="Sizes: symmetric (left as right), bone (each), global, none."
        ),
    ] = "symmetric",
    offsets: Annotated[
        bool, typer.Option("--offsets/--no-offsets", help="Whether markers move on their bones.")
    ] = True,
    anatomical: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Markers that do not move on their bones."),
    ] = None,
    frames: Annotated[int, typer.Option(metavar="N", help="How many frames to use.", min=1)] = 200,
    sigma: SigmaOption = None,
    trust_all: Annotated[
        bool, typer.Option("--trust-all", help="Markers far off count as much as the others.")
    ] = False,
    start: StartOption = None,
    end: EndOption = None,
    limits: LimitsOption = "hard",
    lock: LockOption = None,
    up: UpOption = None,
    skeleton_up: SkeletonUpOption = None,
    axes: AxesOption = None,
    length_unit: LengthUnitOption = None,
    skeleton_unit: SkeletonUnitOption = None,
    as_json: AsJson = False,
) -> None:
    """Fit the size of a figure and the places of its markers to a subject, and keep the result.

    All recordings are used together; what they do not tell is said. `exactik solve --skeleton
    subject.npz` then takes the figure for every recording of the subject.

    Examples:
        exactik calibrate static.c3d walk.c3d -o subject.npz
        exactik calibrate static.trc --skeleton model.osim --marker-set set.xml -o subject.osim
        exactik calibrate subject01_Setup_Scale.xml
    """
    from exactik.calibration import calibrate as fit_to_subject
    from exactik.cli._inputs import find_recordings
    from exactik.cli._outputs import format_entry
    from exactik.cli.solve._marker_tables import parse_mapping
    from exactik.cli.solve._opensim import run_scale_setup
    from exactik.io import (
        files_to_write,
        is_ik_setup,
        is_imu_setup,
        is_scale_setup,
        load_motion,
        save_skeleton,
    )
    from exactik.io.formats import BVH, MOT, NPZ, OSIM
    from exactik.pipeline import (
        RecordingOptions,
        attach_from_take,
        load_marked_skeleton,
        read_skeleton,
        read_trial,
        save_calibrated_model,
    )

    if len(recordings) == 1 and is_scale_setup(recordings[0]):
        if output is not None:
            raise UsageError(f"{recordings[0]} names the files to write; expected no --output")
        run_scale_setup(recordings[0], as_json)
        return
    if is_ik_setup(recordings[0]) or is_imu_setup(recordings[0]):
        tool = "a set-up file of OpenSim's IK tool"
        raise UsageError(f"{recordings[0]} is {tool}; `exactik solve {recordings[0]}` runs it")
    if output is None:
        raise UsageError("nothing to write; expected -o with a skeleton to write, as .npz")
    is_opensim = Path(skeleton).suffix.lower() == OSIM.suffix
    if output.suffix.lower() not in (NPZ.suffix, OSIM.suffix if is_opensim else ""):
        also = f", or {OSIM.suffix} for a figure that is one"
        text = f"no skeleton with markers can be written so; expected {NPZ.suffix}{also}"
        raise FileError(output, text)
    if marker_set is not None and not is_opensim:
        raise UsageError(f"--marker-set is for .osim figures; --skeleton is {skeleton!r}")
    if scale not in ("symmetric", "bone", "global", "none"):
        raise UsageError(f"--scale is {scale!r}; expected symmetric, bone, global or none")
    sources = find_recordings(recordings)
    if take is not None and len(sources) > 1:
        raise UsageError("--take is the motion of one recording; expected no other with it")
    files_to_write(str(output), (*map(str, sources), skeleton, take))
    loaded = read_skeleton(skeleton, parse_length_unit(skeleton_unit), skeleton_up)
    # Markers are attached by the whole of a take, and cut in time after that.
    cut = (start, end) if take is None else (None, None)
    options = RecordingOptions(
        up=up, axes=axes, length_unit=parse_length_unit(length_unit), start=cut[0], end=cut[1]
    )
    by_hand = None if mapping is None else parse_mapping(mapping)
    notes = [*loaded.notes]
    trials = []
    for source in sources:
        words, trial, said = read_trial(source, loaded.up, options, subject, by_hand)
        notes += said
        trials.append(trial)
        if not as_json:
            say(format_entry("read", f"{source}: {words}"))
            for note in said:
                say(format_entry("note", note))
    compile_kernels()
    figure = loaded.skeleton
    if marker_set is not None:
        figure = load_marked_skeleton(skeleton, marker_set)
    if take is not None:
        motion = load_motion(take, figure)
        figure, attached = attach_from_take(motion, trials[0], loaded.up, by_hand, take)
        notes += attached
        by_hand, trials = None, [trials[0].between(start, end)]
        if not as_json:
            say("\n".join(format_entry("note", note) for note in attached))
    if len(figure.markers) == 0 and by_hand is None:
        raise FileError(
            skeleton, "has no markers; give --mapping, the bone of each marker, or --take"
        )
    with frames_bar() as bar:
        task = bar.add_task("fitting the figure", total=100)
        fit = fit_to_subject(
            figure,
            trials,
            scale=False if scale == "none" else scale,
            offsets=offsets,
            bones=by_hand,
            anatomical=anatomical or (),
            frames=frames,
            robust=not trust_all,
            limits=limits,
            lock=lock or (),
            sigma=None if sigma is None else 1e-3 * sigma,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    output.parent.mkdir(parents=True, exist_ok=True)
    facts = fit.to_dict()
    if output.suffix.lower() == OSIM.suffix:
        save_calibrated_model(fit, skeleton, output)
    else:
        save_skeleton(fit.skeleton, output, up_axis=loaded.up, metadata={"calibration": facts})
    if as_json:
        notes += fit.warnings
        print_json({**facts, "written": [str(output)], "notes": notes})
        return
    say(f"\n{fit}\n")
    unused = [match.recorded for match in fit.mapping if match.bone is None]
    if len(unused) > 0:
        names = ", ".join(unused[:MAX_LISTED_NAMES])
        more = " …" if len(unused) > MAX_LISTED_NAMES else ""
        say(format_entry("note", f"Not used: {names}{more}"))
    last = sources[-1]
    motion_suffix = (BVH if output.suffix.lower() == NPZ.suffix else MOT).suffix
    again = f"exactik solve {last} --skeleton {output} -o {last.stem}{motion_suffix}"
    say(format_entry("written", f"{output}: {len(fit.skeleton.markers)} markers; next: {again}"))
