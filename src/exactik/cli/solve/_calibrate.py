"""`exactik calibrate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from exactik.cli._app import AsJson, app, frames_bar, print_json, say
from exactik.cli._kernels import compile_kernels
from exactik.cli._options import (
    AxesOption,
    EndOption,
    LengthUnitOption,
    LimitsOption,
    LockOption,
    MappingOption,
    RecordingOptions,
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


@app.command()
def calibrate(
    recording: Annotated[Path, typer.Argument(metavar="MARKERS", help="The recording.")],
    skeleton: Annotated[
        str,
        typer.Option(help="The figure: a file (.asf .bvh .npz .glb .urdf .xml), or human, ours."),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Skeleton to write, as .npz: it keeps markers.")
    ],
    mapping: MappingOption = None,
    take: TakeOption = None,
    scale: Annotated[
        str, typer.Option(help="Sizes: symmetric (left as right), bone (each), global, none.")
    ] = "symmetric",
    offsets: Annotated[
        bool, typer.Option("--offsets/--no-offsets", help="Whether markers move on their bones.")
    ] = True,
    anatomical: Annotated[
        list[str] | None, typer.Option(help="Markers that do not move on their bones.")
    ] = None,
    frames: Annotated[int, typer.Option(help="How many frames to use.", min=1)] = 200,
    sigma: Annotated[float | None, typer.Option(help="Noise of the markers in mm.")] = None,
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

    `exactik solve --skeleton subject.npz` then takes it for all recordings of the subject.
    """
    from exactik.calibration import calibrate as fit_to_subject
    from exactik.cli._inputs import read_recording, read_skeleton
    from exactik.cli._outputs import format_entry
    from exactik.cli.solve._marker_tables import parse_mapping
    from exactik.io import files_to_write, load_motion, save_skeleton
    from exactik.io.formats import NPZ
    from exactik.pipeline import attach_from_take

    if output.suffix.lower() != NPZ.suffix:
        text = f"no skeleton with markers can be written so; expected {NPZ.suffix}"
        raise FileError(output, text)
    if scale not in ("symmetric", "bone", "global", "none"):
        raise UsageError(f"--scale is {scale!r}; expected symmetric, bone, global or none")
    files_to_write(str(output), (str(recording), skeleton, take))
    loaded = read_skeleton(skeleton, parse_length_unit(skeleton_unit), skeleton_up)
    # Markers are attached by the whole of a take, and cut in time after that.
    cut = (start, end) if take is None else (None, None)
    options = RecordingOptions(
        up=up, axes=axes, length_unit=parse_length_unit(length_unit), start=cut[0], end=cut[1]
    )
    read = read_recording(recording, loaded.up, options)
    notes = [*loaded.notes, *read.notes]
    if not as_json:
        say(format_entry("read", f"{recording}: {read.words}"))
        for note in notes:
            say(format_entry("note", note))
    compile_kernels()
    by_hand = None if mapping is None else parse_mapping(mapping)
    figure, markers = loaded.skeleton, read.markers
    if take is not None:
        motion = load_motion(take, figure)
        figure, attached = attach_from_take(motion, markers, loaded.up, by_hand, take)
        notes += attached
        by_hand, markers = None, markers.between(start, end)
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
            markers,
            scale=False if scale == "none" else scale,
            offsets=offsets,
            bones=by_hand,
            anatomical=anatomical or (),
            frames=frames,
            limits=limits,
            lock=lock or (),
            sigma=None if sigma is None else 1e-3 * sigma,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    output.parent.mkdir(parents=True, exist_ok=True)
    save_skeleton(fit.skeleton, output, up_axis=loaded.up)
    if as_json:
        print_json({**fit.to_dict(), "written": [str(output)], "notes": notes})
        return
    say(f"\n{fit}\n")
    unused = [match.recorded for match in fit.mapping if match.bone is None]
    if len(unused) > 0:
        names = ", ".join(unused[:MAX_LISTED_NAMES])
        more = " …" if len(unused) > MAX_LISTED_NAMES else ""
        say(format_entry("note", f"Not used: {names}{more}"))
    again = f"exactik solve {recording} --skeleton {output} -o {recording.stem}.bvh"
    say(format_entry("written", f"{output}: {len(fit.skeleton.markers)} markers; next: {again}"))
