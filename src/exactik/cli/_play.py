"""`exactik play`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from exactik.cli._app import ANIMATE, command, err, frames_bar, say
from exactik.cli._kernels import compiling
from exactik.cli._options import (
    AxesOption,
    LengthUnitOption,
    check_axis_option,
    parse_length_unit,
)
from exactik.cli._pose import (
    BrowserOption,
    PortOption,
    read_figure,
    serve,
)
from exactik.errors import FileError, Note
from exactik.pipeline import RecordingOptions

if TYPE_CHECKING:
    from exactik.model import Skeleton
    from exactik.motion import Motion
    from exactik.pipeline import LoadedRecording, LoadedSkeleton
    from exactik.viewer import PlaybackData

__all__ = ["holds_markers", "play", "read_motion"]


@command(ANIMATE)
def play(
    motions: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="BVH, GLB, AMC, NPZ or MOT, those after the first are ghosts; or C3D, TRC, TSV: "
            "markers alone.",
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
            metavar="FIGURE",
            help="Skeleton file, for motions that hold none (AMC, MOT), or to solve markers with.",
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
        typer.Option(
            metavar="AXIS",
            help="Which axis is up in the files, whatever they say.",
            callback=check_axis_option,
        ),
    ] = None,
    axes: AxesOption = None,
    length_unit: LengthUnitOption = None,
    port: PortOption = 0,
    browser: BrowserOption = True,
) -> None:
    """Look at markers, or play a motion, in the browser; or write a file that plays it.

    Examples:
        exactik play capture.c3d
        exactik play walk.bvh
        exactik play take.glb --markers capture.c3d
        exactik play take.glb -o take.html
    """
    from exactik.io import files_to_write
    from exactik.viewer import MotionViewer, check_export_path

    files = (*motions, *(reference or ()))
    if output is not None:
        files_to_write(check_export_path(output), (*files, markers, skeleton))
    figure = None if skeleton is None else read_figure(skeleton)
    alone = holds_markers(motions[0])
    options = RecordingOptions(
        up=up if alone else None, axes=axes, length_unit=parse_length_unit(length_unit)
    )
    with compiling():
        if alone:
            others = (*files[1:], *(() if markers is None else (markers,)))
            playback = _read_markers_alone(motions[0], others, options)
        else:
            playback = _read_motions(files, figure, up, markers, options, aside)
    if output is not None:
        _write(playback, output, output_rate)
        return
    with compiling():
        viewer = MotionViewer(playback, figures=() if figure is None else (figure,), port=port)
        viewer.play()
    serve(viewer, browser)


def _read_motions(
    files: Sequence[str],
    figure: LoadedSkeleton | None,
    up: str | None,
    markers: str | None,
    options: RecordingOptions,
    aside: float,
) -> PlaybackData:
    """Return a motion with those that stand beside it, and a recording."""
    from exactik.viewer import PlaybackData

    skeleton, figure_up = (None, None) if figure is None else (figure.skeleton, figure.up)
    motion, *ghosts = (read_motion(name, skeleton, up, figure_up) for name in files)
    recorded = None if markers is None else _read_markers(markers, options).markers
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
    return playback


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
    from exactik import pipeline

    if holds_markers(name):
        raise FileError(name, "holds markers; expected a motion, and markers behind --markers")
    try:
        loaded = pipeline.read_motion(name, figure, up, figure_up, by_custom=by_custom)
    except FileError as error:
        raise error.renamed(lambda argument: f"--{argument}") from None
    for note in loaded.notes:
        _print_note(name, Note.of(note).renamed(lambda argument: f"--{argument}"))
    return loaded.motion


def _read_markers(name: str, options: RecordingOptions, *, align: bool = True) -> LoadedRecording:
    """Return the recording in a file, with z up as motions are shown if it is aligned."""
    from exactik.pipeline import read_recording

    recording = read_recording(Path(name), "z", options, align=align)
    for text in recording.notes:
        _print_note(name, text)
    return recording


def holds_markers(name: str) -> bool:
    """Return whether a file is shown as markers alone; a file that cannot be read is not."""
    from exactik.io import find_content, find_format

    form = find_format(name)
    if form is None or "markers" not in form.readers:
        return False
    return "motion" not in form.readers or find_content(name) == "markers"


def _read_markers_alone(
    name: str, others: Sequence[str], options: RecordingOptions
) -> PlaybackData:
    """Return a recording as it is shown without a figure."""
    from exactik.viewer import PlaybackData, UnsolvedRecording

    if len(others) > 0:
        text = "holds markers, which are shown alone; expected a motion, and these behind --markers"
        raise FileError(name, text)
    loaded = _read_markers(name, options, align=False)
    origin = "file" if options.up is None else "user"
    origin = origin if options.axes is None else "axes"
    return PlaybackData.of(UnsolvedRecording(loaded.markers, origin, tuple(loaded.notes)))


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
