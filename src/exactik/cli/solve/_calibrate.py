"""`exactik calibrate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from exactik.cli._app import AsJson, app, frames_bar, print_json, say
from exactik.cli._kernels import prepare
from exactik.cli._options import (
    AxesOption,
    EndOption,
    LengthUnitOption,
    LimitsOption,
    LockOption,
    MappingOption,
    SkeletonUnitOption,
    SkeletonUpOption,
    StartOption,
    TakeOption,
    UpOption,
)
from exactik.cli.solve._command import number_or_name
from exactik.errors import FileError, ModelError

__all__ = ["calibrate"]


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
    from exactik.calibration import calibrate as fitted
    from exactik.cli.solve._figure import dressed
    from exactik.cli.solve._inputs import read_figure, read_recording
    from exactik.cli.solve._tables import mapping_of
    from exactik.cli.solve._words import entry
    from exactik.io import files_to_write, save_skeleton
    from exactik.io.formats import NPZ

    if output.suffix.lower() != NPZ.suffix:
        text = f"no skeleton with markers can be written so; expected {NPZ.suffix}"
        raise FileError(output, text)
    if scale not in ("symmetric", "bone", "global", "none"):
        raise ModelError(f"--scale is {scale!r}; expected symmetric, bone, global or none")
    files_to_write(str(output), (str(recording), skeleton, take))
    figure = read_figure(skeleton, number_or_name(skeleton_unit), skeleton_up)
    unit = number_or_name(length_unit)
    cut = {"start": start, "end": end} if take is None else {}
    reading = read_recording(recording, figure.up, up=up, axes=axes, unit=unit, **cut)
    notes = [*figure.notes, *reading.notes]
    if not as_json:
        say(entry("read", f"{recording}: {reading.words}"))
        for note in notes:
            say(entry("note", note))
    prepare()
    by_hand = None if mapping is None else mapping_of(mapping)
    markers = reading.markers
    if take is not None:
        idle = {"fitted": False, "progress": lambda done, total: None}
        ready = dressed(figure, markers, recording, by_hand=by_hand, take=take, **idle)
        notes += ready.notes
        figure.skeleton, by_hand, markers = ready.skeleton, None, markers.between(start, end)
        if not as_json:
            say("\n".join(entry("note", note) for note in ready.notes))
    if len(figure.skeleton.markers) == 0 and by_hand is None:
        raise FileError(
            skeleton, "has no markers; give --mapping, the bone of each marker, or --take"
        )
    with frames_bar() as bar:
        task = bar.add_task("fitting the figure", total=100)
        fit = fitted(
            *(figure.skeleton, markers),
            **{"scale": False if scale == "none" else scale, "offsets": offsets, "bones": by_hand},
            **{"anatomical": anatomical or (), "frames": frames, "limits": limits},
            **{"lock": lock or (), "sigma": None if sigma is None else 1e-3 * sigma},
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    output.parent.mkdir(parents=True, exist_ok=True)
    save_skeleton(fit.skeleton, output, up_axis=figure.up)
    if as_json:
        print_json({**fit.to_dict(), "written": [str(output)], "notes": notes})
        return
    say(f"\n{fit}\n")
    left = [match.recorded for match in fit.mapping if match.bone is None]
    if len(left) > 0:
        say(entry("note", f"Not used: {', '.join(left[:8])}{' …' if len(left) > 8 else ''}"))
    again = f"exactik solve {recording} --skeleton {output} -o {recording.stem}.bvh"
    say(entry("written", f"{output}: {len(fit.skeleton.markers)} markers; next: {again}"))
