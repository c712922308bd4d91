"""`exactik calibrate`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from exactik._options import to_arguments
from exactik._text import join_names
from exactik.cli._app import SOLVE, AsJson, Entries, command, print_json, say, show_frames
from exactik.cli._options import TakeOption, argument, output_option, value_option
from exactik.cli._outputs import find_recordings
from exactik.cli.solve._opensim import run_scale_setup
from exactik.errors import FileError, UsageError
from exactik.io import files_to_write, load_motion, save_skeleton
from exactik.io.formats import BVH, MOT, NPZ, OSIM
from exactik.io.opensim import is_ik_setup, is_imu_setup
from exactik.io.opensim.scaling import is_scale_setup
from exactik.model.motion import Markers
from exactik.recordings.calibration import CalibrateOptions, Calibration
from exactik.recordings.calibration import calibrate as fit_to_subject
from exactik.recordings.pipeline import (
    FigureOptions,
    LoadedSkeleton,
    RecordingOptions,
    attach_from_take,
    load_marked_skeleton,
    read_skeleton,
    read_trial,
    save_calibrated_model,
)

MAX_LISTED_NAMES = 8


@command(SOLVE)
def calibrate(
    recordings: Annotated[
        list[str],
        argument(
            "MARKERS...",
            "Recordings of the subject: a static and walks, for instance; or a set-up file of "
            "OpenSim's scale tool.",
        ),
    ],
    *,
    output: Annotated[
        Path | None,
        output_option(
            "FILE", "Skeleton to write: .npz, which keeps markers, or .osim if the figure is one."
        ),
    ] = None,
    skeleton: Annotated[
        str,
        value_option(
            "FIGURE", "The figure: a file (.asf .bvh .npz .glb .osim .urdf .xml), or human, ours."
        ),
    ] = "human",
    marker_set: Annotated[
        str | None, value_option("SET", "Marker set of OpenSim (.xml) to put on an .osim figure.")
    ] = None,
    take: TakeOption = None,
    subject: Annotated[
        str | None,
        value_option("NAME", "Name of the person to fit the figure to, if several were recorded."),
    ] = None,
    fitting: CalibrateOptions,
    reading: Annotated[RecordingOptions, ("mapping", "start", "end", "up", "axes", "length_unit")],
    figure: FigureOptions,
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
    if len(recordings) == 1 and is_scale_setup(recordings[0]):
        return run_scale_setup(recordings[0], output, as_json)
    output = _check_output(recordings[0], output, skeleton, marker_set)
    sources = _find_sources(recordings, take)
    files_to_write(str(output), (*map(str, sources), skeleton, take))
    loaded = read_skeleton(skeleton, figure.skeleton_unit, figure.skeleton_up)
    entries = Entries(as_json)
    trials, notes = _read_trials(sources, loaded, reading, take, subject, entries)
    fitted, by_hand = loaded.skeleton, reading.mapping
    if marker_set is not None:
        fitted = load_marked_skeleton(skeleton, marker_set)
    if take is not None:
        motion, trial = load_motion(take, fitted), trials[0]
        fitted, attached = attach_from_take(motion, trial, loaded.up, by_hand, take)
        by_hand, trials = None, [trial.between(reading.start, reading.end)]
        notes += attached
        entries.add("note", *attached)
    if len(fitted.markers) == 0 and by_hand is None:
        text = "has no markers; give --mapping, the bone of each marker, or --take"
        raise FileError(skeleton, text)
    with show_frames("fitting the figure", 100) as report:
        asked = replace(fitting, bones=by_hand, progress=report)
        fit = fit_to_subject(fitted, trials, **to_arguments(asked))
    _save(fit, output, skeleton, loaded.up)
    _print_fit(fit, output, sources[-1], notes, as_json)


def _find_sources(recordings: Sequence[str], take: str | None) -> list[Path]:
    sources = find_recordings(recordings)
    if take is not None and len(sources) > 1:
        raise UsageError("--take is the motion of one recording; expected no other with it")
    return sources


def _read_trials(
    sources: Sequence[Path],
    loaded: LoadedSkeleton,
    reading: RecordingOptions,
    take: str | None,
    subject: str | None,
    entries: Entries,
) -> tuple[list[Markers], list[str]]:
    """Return the markers of the subject in each recording, and notes on figure and recordings."""
    # Markers are attached by the whole of a take, and cut in time after that.
    options = reading if take is None else replace(reading, start=None, end=None)
    trials, notes = [], [*loaded.notes]
    for source in sources:
        words, trial, said = read_trial(source, loaded.up, options, subject, reading.mapping)
        notes += said
        trials.append(trial)
        entries.add("read", f"{source}: {words}")
        entries.add("note", *said)
    return trials, notes


def _save(fit: Calibration, output: Path, skeleton: str, up: str | None) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    if output.suffix.lower() == OSIM.suffix:
        save_calibrated_model(fit, skeleton, output)
    else:
        save_skeleton(fit.skeleton, output, up_axis=up, metadata=fit.to_metadata())


def _check_output(
    recording: str, output: Path | None, skeleton: str, marker_set: str | None
) -> Path:
    """Return the skeleton to write; refuse what is no recording, and no such skeleton."""
    if is_ik_setup(recording) or is_imu_setup(recording):
        tool = "a set-up file of OpenSim's IK tool"
        raise UsageError(f"{recording} is {tool}; `exactik solve {recording}` runs it")
    if output is None:
        raise UsageError("nothing to write; expected -o with a skeleton to write, as .npz")
    is_opensim = Path(skeleton).suffix.lower() == OSIM.suffix
    if output.suffix.lower() not in (NPZ.suffix, OSIM.suffix if is_opensim else ""):
        also = f", or {OSIM.suffix} for a figure that is one"
        text = f"no skeleton with markers can be written so; expected {NPZ.suffix}{also}"
        raise FileError(output, text)
    if marker_set is not None and not is_opensim:
        raise UsageError(f"--marker-set is for .osim figures; --skeleton is {skeleton!r}")
    return output


def _print_fit(
    fit: Calibration, output: Path, last: Path, notes: Sequence[str], as_json: bool
) -> None:
    if as_json:
        told = [*notes, *fit.warnings]
        print_json({**fit.to_dict(), "written": [str(output)], "notes": told})
        return
    entries = Entries(False)
    say(f"\n{fit}\n")
    unused = [match.recorded for match in fit.mapping if match.bone is None]
    if len(unused) > 0:
        names = join_names(unused, MAX_LISTED_NAMES, last=", ", rest=" …")
        entries.add("note", f"Not used: {names}")
    motion_suffix = (BVH if output.suffix.lower() == NPZ.suffix else MOT).suffix
    again = f"exactik solve {last} --skeleton {output} -o {last.stem}{motion_suffix}"
    entries.add("written", f"{output}: {len(fit.skeleton.markers)} markers; next: {again}")
