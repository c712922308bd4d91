"""`exactik play`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from exactik.cli._app import ANIMATE, command, remark, say, show_frames
from exactik.cli._options import argument, output_option, to_flag, value_option
from exactik.cli._pose import PageOptions, read_figure, serve
from exactik.errors import FileError, Note
from exactik.io import files_to_write, find_content, find_format
from exactik.model import Skeleton
from exactik.model.motion import Motion
from exactik.recordings import pipeline
from exactik.recordings.pipeline import (
    LoadedRecording,
    LoadedSkeleton,
    RecordingOptions,
    read_recording,
)

if TYPE_CHECKING:
    from exactik.studio.viewer import PlaybackData

SmplModelFile = Annotated[
    str | None,
    value_option("FILE", "Your .npz model file, for motions of AMASS, SMPL, SMPL-H or SMPL-X."),
]


@command(ANIMATE)
def play(
    motions: Annotated[
        list[str],
        argument(
            "FILE...",
            "BVH, FBX, GLB, AMC, NPZ or MOT, those after the first are ghosts; or C3D, TRC, TSV: "
            "markers alone.",
        ),
    ],
    *,
    markers: Annotated[
        str | None,
        value_option("FILE", "Recording to show beside it, with residuals: C3D, TRC, TSV or NPZ."),
    ] = None,
    reference: Annotated[
        list[str] | None,
        value_option("FILE", "Motion to show as a ghost; may be given repeatedly."),
    ] = None,
    skeleton: Annotated[
        str | None,
        value_option(
            "FIGURE",
            "Skeleton file, for motions that hold none (AMC, MOT), or to solve markers with.",
        ),
    ] = None,
    smpl_model: SmplModelFile = None,
    output: Annotated[
        str | None,
        output_option("FILE", "Write an .html that plays by itself, or a .glb, and end."),
    ] = None,
    aside: Annotated[
        float, value_option("METRES", "How far to the left ghosts are shown, for side by side.")
    ] = 0.0,
    output_rate: Annotated[float, value_option("HZ", "Frames a second to write, at most.")] = 30.0,
    reading: Annotated[RecordingOptions, ("up", "axes", "length_unit")],
    page: PageOptions,
) -> None:
    """Look at markers, or play a motion, in the browser; or write a file that plays it.

    Examples:
        exactik play capture.c3d
        exactik play walk.bvh
        exactik play take.glb --markers capture.c3d
        exactik play take.glb -o take.html
    """
    from exactik.studio.viewer import MotionViewer, check_export_path

    files = (*motions, *(reference or ()))
    if output is not None:
        files_to_write(check_export_path(output), (*files, markers, skeleton))
    figure = None if skeleton is None else read_figure(skeleton)
    alone = holds_markers(motions[0])
    if alone:
        others = (*files[1:], *(() if markers is None else (markers,)))
        playback = _read_markers_alone(motions[0], others, reading)
    else:
        playback = _read_motions(files, figure, markers, smpl_model, reading, aside)
    if output is not None:
        _write(playback, output, output_rate)
        return
    viewer = MotionViewer(playback, figures=() if figure is None else (figure,), port=page.port)
    viewer.play()
    serve(viewer, page.browser)


def _read_motions(
    files: Sequence[str],
    figure: LoadedSkeleton | None,
    markers: str | None,
    smpl_model: str | None,
    reading: RecordingOptions,
    aside: float,
) -> PlaybackData:
    """Return a motion with those that stand beside it, and a recording."""
    from exactik.studio.viewer import PlaybackData

    skeleton, figure_up = (None, None) if figure is None else (figure.skeleton, figure.up)
    motion, *ghosts = (
        read_motion(name, skeleton, reading.up, figure_up, smpl_model=smpl_model) for name in files
    )
    recorded = None
    if markers is not None:  # the axis that is up was said of the motions
        recorded = _read_markers(markers, replace(reading, up=None)).markers
    playback = PlaybackData.of(motion, markers=recorded, references=ghosts, aside=aside)
    if recorded is not None and len(playback.names) == 0:
        remark(
            markers or "",
            "the skeleton has none of these markers: they are shown without "
            "residuals. NPZ and GLB keep the markers of a skeleton, BVH and AMC do not.",
        )
    for swap in playback.swaps:
        where = f"frames {swap.first + 1}–{swap.last + 1}"
        text = f"{' and '.join(swap.names)} have exchanged their names in {where}: shown as "
        remark(markers or "", text + "the motion has them")
    return playback


def read_motion(
    name: str,
    figure: Skeleton | None,
    up: str | None,
    figure_up: str | None = None,
    *,
    by_custom: bool = True,
    smpl_model: str | None = None,
) -> Motion:
    """Return the motion in a file, with the axis that is up in it.

    Args:
        figure: skeleton, for files that hold none.
        up: which axis is up, in place of what the file or custom says.
        figure_up: which axis is up in the skeleton's file; holds where the motion does not tell.
        by_custom: whether what is usual for such files holds where nothing tells.
        smpl_model: file of the model, for parameters of the SMPL family.
    """
    if holds_markers(name):
        raise FileError(name, "holds markers; expected a motion, and markers behind --markers")
    try:
        loaded = pipeline.read_motion(
            name, figure, up, figure_up, by_custom=by_custom, smpl_model=smpl_model
        )
    except FileError as error:
        raise error.renamed(to_flag) from None
    for note in loaded.notes:
        remark(name, Note.of(note).renamed(to_flag))
    return loaded.motion


def _read_markers(name: str, options: RecordingOptions, *, align: bool = True) -> LoadedRecording:
    """Return the recording in a file, with z up as motions are shown if it is aligned."""
    recording = read_recording(Path(name), "z", options, align=align)
    for text in recording.notes:
        remark(name, text)
    return recording


def holds_markers(name: str) -> bool:
    """Return whether a file is shown as markers alone; a file that cannot be read is not."""
    form = find_format(name)
    if form is None or "markers" not in form.readers:
        return False
    return "motion" not in form.readers or find_content(name) == "markers"


def _read_markers_alone(
    name: str, others: Sequence[str], options: RecordingOptions
) -> PlaybackData:
    """Return a recording as it is shown without a figure."""
    from exactik.studio.viewer import PlaybackData, UnsolvedRecording

    if len(others) > 0:
        text = "holds markers, which are shown alone; expected a motion, and these behind --markers"
        raise FileError(name, text)
    loaded = _read_markers(name, options, align=False)
    unsolved = UnsolvedRecording(loaded.markers, options.up_origin, tuple(loaded.notes))
    return PlaybackData.of(unsolved)


def _write(playback: PlaybackData, path: str, fps: float) -> None:
    from exactik.studio.viewer import export_playback

    with show_frames("exporting", len(playback)) as report:
        export_playback(playback, path, fps=fps, progress=report)
    size = Path(path).stat().st_size / 1e6
    hint = ", opens in a browser" if Path(path).suffix.lower() in (".html", ".htm") else ""
    say(f"written {path}: {size:.1f} MB{hint}")
