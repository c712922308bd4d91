"""`exactik play`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from exactik.cli._app import ANIMATE, command, compiling, err, frames_bar, say
from exactik.cli._options import (
    AxesOption,
    LengthUnitOption,
    parse_length_unit,
)
from exactik.cli._pose import (
    BrowserOption,
    PortOption,
    load_figure,
    serve,
)
from exactik.errors import FileError

if TYPE_CHECKING:
    from exactik.model import Skeleton
    from exactik.motion import Markers, Motion
    from exactik.viewer import PlaybackData

__all__ = ["play", "read_motion"]


@command(ANIMATE)
def play(
    motions: Annotated[
        list[str],
        typer.Argument(
            metavar="MOTION...", help="BVH, GLB, AMC, NPZ or MOT; those after the first are ghosts."
        ),
    ],
    markers: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Recording to show beside it, with residuals: C3D, TRC, TSV or NPZ.",
        ),
    ] = None,
    reference: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Motion to show as a ghost; may be given repeatedly."),
    ] = None,
    skeleton: Annotated[
        str | None,
        typer.Option(
            metavar="FIGURE", help="Skeleton file, for motions that hold none (AMC, MOT)."
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write an .html that plays by itself, or a .glb, and end.",
        ),
    ] = None,
    aside: Annotated[
        float,
        typer.Option(metavar="METRES", help="How far to the left ghosts are shown: side by side."),
    ] = 0.0,
    output_rate: Annotated[
        float, typer.Option(metavar="HZ", help="Frames a second to write, at most.")
    ] = 30.0,
    up: Annotated[
        str | None,
        typer.Option(metavar="AXIS", help="Which axis is up in the motions, whatever they say."),
    ] = None,
    axes: AxesOption = None,
    length_unit: LengthUnitOption = None,
    port: PortOption = 0,
    browser: BrowserOption = True,
) -> None:
    """Play a motion in the browser, or write a file that plays it.

    Examples:
        exactik play walk.bvh
        exactik play take.glb --markers capture.c3d
        exactik play take.glb -o take.html
    """
    from exactik.io import files_to_write
    from exactik.viewer import MotionViewer, PlaybackData, check_export_path

    files = (*motions, *(reference or ()))
    if output is not None:
        files_to_write(check_export_path(output), (*files, markers, skeleton))
    figure, figure_up = (None, None) if skeleton is None else load_figure(skeleton)
    with compiling():
        motion, *ghosts = (read_motion(name, figure, up, figure_up) for name in files)
        recorded = None if markers is None else _read_markers(markers, axes, length_unit)
        playback = PlaybackData.of(motion, markers=recorded, references=ghosts, aside=aside)
        if recorded is not None and len(playback.names) == 0:
            _print_note(
                markers or "",
                "the skeleton has none of these markers: they are shown without "
                "residuals. NPZ and GLB keep the markers of a skeleton, BVH and AMC do not.",
            )
        for swap in playback.swaps:
            where = f"frames {swap.first + 1}–{swap.last + 1}"
            text = f"{' and '.join(swap.names)} have exchanged their names in {where}: shown as "
            _print_note(markers or "", text + "the motion has them")
    if output is not None:
        _write(playback, output, output_rate)
        return
    with compiling():
        viewer = MotionViewer(playback, port=port)
        viewer.play()
    serve(viewer, browser)


def read_motion(
    name: str,
    figure: Skeleton | None,
    up: str | None,
    figure_up: str | None = None,
    by_custom: bool = True,
) -> Motion:
    """Return the motion in a file, with the axis that is up in it.

    Args:
        name: the file.
        figure: skeleton, for files that hold none.
        up: which axis is up, in place of what the file or custom says.
        figure_up: which axis is up in the skeleton's file; holds where the motion does not tell.
        by_custom: whether what is usual for such files holds where nothing tells.
    """
    from exactik.io import (
        Note,
        check_axis,
        collect_warnings,
        find_format,
        find_skeleton_beside,
        find_up_axis,
        load_motion,
        load_skeleton,
    )

    form = find_format(name)
    if form is not None and "markers" in form.readers and "motion" not in form.readers:
        raise FileError(name, "holds markers; expected a motion, and markers behind --markers")
    needs_skeleton = form is not None and form.needs_skeleton and figure is None
    if form is not None and needs_skeleton and form.companion == "":
        raise FileError(name, "holds no skeleton; expected --skeleton with the file that does")
    notes: list[Note] = []
    with collect_warnings(notes, name):
        if needs_skeleton:
            figure = load_skeleton(find_skeleton_beside(name))
        unstated = form is not None and form.length_unit is None
        motion = load_motion(name, figure, length_unit="auto" if unstated else None)
    for note in notes:
        _print_note(name, note)
    known = motion.up_axis or (find_up_axis(name) if by_custom else None) or figure_up
    return replace(motion, up_axis=check_axis(up) if up is not None else known)


def _read_markers(name: str, axes: str | None, unit: str | None) -> Markers:
    """Return the recording in a file with z up, as motions are shown."""
    from exactik.pipeline import RecordingOptions, read_recording

    options = RecordingOptions(axes=axes, length_unit=parse_length_unit(unit))
    recording = read_recording(Path(name), "z", options)
    for text in recording.notes:
        _print_note(name, text)
    return recording.markers


def _print_note(name: str, text: str) -> None:
    err.print(f"{name}: {text}", style="dim", markup=False, highlight=False, soft_wrap=True)


def _write(playback: PlaybackData, path: str, fps: float) -> None:
    from exactik.viewer import export_playback

    with frames_bar() as bar:
        task = bar.add_task("exporting", total=len(playback))

        def progress(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        export_playback(playback, path, fps=fps, progress=progress)
    size = Path(path).stat().st_size / 1e6
    hint = ", opens in a browser" if Path(path).suffix.lower() in (".html", ".htm") else ""
    say(f"written {path}: {size:.1f} MB{hint}")
