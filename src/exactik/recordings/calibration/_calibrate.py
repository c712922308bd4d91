"""The size of a subject and the places of the markers, from a few seconds of motion."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from exactik._arguments import require_instance, require_names
from exactik._arrays import is_number
from exactik._options import accepts_options, option
from exactik._threads import keep_blas_on_one_thread
from exactik.anatomy.marker_sets import strip_prefix
from exactik.errors import UnknownNameError, UsageError
from exactik.model import Skeleton
from exactik.model.motion import Markers
from exactik.problem import DofOptions
from exactik.recordings.calibration._calibration import Calibration
from exactik.recordings.calibration.fitting import SCALE_KINDS, Prior, Progress, fit_skeleton
from exactik.recordings.calibration.mapping import (
    HandMapping,
    MarkerMapping,
    Match,
    propose_mapping,
)
from exactik.recordings.tracking import match_markers
from exactik.solvers import count_threads

MIN_SCALE_SD = 1e-6  # beside a metre, what rounding leaves of a covariance that can be inverted
UNKNOWN_POINT_SD = 0.1  # [m] of a marker of which only the bone is known: anywhere on it
# Frames of all trials together that are joined to see what each marker is; no fit uses more.
MAX_JOINED_FRAMES = 2400


@dataclass(frozen=True, kw_only=True)
class CalibrateOptions(DofOptions):
    """How a figure is fitted to a subject."""

    scale: bool | str = option(
        True,
        "Sizes to fit: symmetric (left as right), bone (each), global (one for all) or none.",
        more='True is "symmetric", as far as names tell left from right; False is none.',
        why="What one side does not show, the other may.",
        metavar="WORD",
        words={"symmetric": True, "bone": "bone", "global": "global", "none": False},
    )
    offsets: bool = option(
        True,
        "Fit where markers are on their bones.",
        why="Nobody puts them where a figure has them.",
        flags="--offsets/--no-offsets",
    )
    anatomical: Sequence[str] = option(
        (),
        "Markers that stay where they are on their bones; may be given repeatedly.",
        more="They only grow with them.",
        metavar="NAME",
    )
    bones: MarkerMapping | HandMapping | None = option(
        None,
        "What the recorded markers are, by hand, see `propose_mapping`.",
        more="Those not named are proposed.",
    )
    frames: int = option(
        200,
        "How many frames to use.",
        why="By hand: a few seconds in which every joint moves tell all, more take longer.",
        metavar="N",
        least=1,
    )
    offset_sd: float = option(
        0.03,
        "How far markers may be from where they should be, one standard deviation along each axis.",
        why="By hand: markers are placed within 1 to 2 cm, on bodies of another shape.",
        unit="m",
    )
    scale_sd: float = option(
        0.1,
        "How far bones may be from the size of the whole figure, as a share.",
        why="By hand.",
    )
    sigma: float | None = option(
        None,
        "Noise of the markers; estimated if not given.",
        more="Standard deviation of a recorded coordinate from a figure that is right, each frame "
        "by itself. None: as it turns out, regarding that errors of skin markers repeat.",
        why="The residuals tell it.",
        unit="m",
        metavar="MM",
    )
    robust: bool = option(
        True,
        "Count markers far from the figure as much as the others.",
        more="False says so; True: they count less.",
        why="A swapped marker would spoil a size.",
        flags="--trust-all",
    )
    threads: int | None = option(
        1,
        "Number of threads; one per processor if None.",
        more="The result does not depend on it.",
        why="The caller knows what else runs.",
    )
    progress: Progress | None = option(None, "Is called with what is done and to do.")


@accepts_options(CalibrateOptions)
@keep_blas_on_one_thread()
def calibrate(
    skeleton: Skeleton, markers: Markers | Sequence[Markers], options: CalibrateOptions
) -> Calibration:
    """Fit the size of a figure and the places of its markers to recordings of a subject.

    Scales and places are found together with the poses of frames that differ as much as can be, a
    few seconds in which every joint moves. Several trials, such as a static and some walks, are
    used together; a marker that only some of them have counts in these. What the markers do not
    determine (the scale of a bone whose markers may all move, the place of a joint that stays
    still) remains as it was, by `offset_sd` and `scale_sd`; the result has error bars of each.

    A bone's scale multiplies what is attached to it, its children's offsets and its markers'
    places, so that a bone grows about its own joint.

    Args:
        skeleton: the figure, with markers where they should be, roughly.
        markers: the recording, or several trials of the subject, in the world of the skeleton: z up
            for `human`. Names, rates and lengths of trials may differ; a marker is the same if its
            name is, but for a prefix.
        options: fields of `CalibrateOptions`, as keywords.
    """
    started = time.perf_counter()
    kind = _scale_kind(options.scale)
    _check_options(options)
    require_instance("skeleton", skeleton, Skeleton)
    lock = require_names("lock", options.lock)
    recordings = markers if isinstance(markers, Iterable) else (markers,)
    trials = name_markers_alike([require_instance("markers", each, Markers) for each in recordings])
    if len(trials) == 0:
        raise UsageError("no recording is given; calibration needs one or more")
    joined = join_trials(trials)
    mapping = options.bones
    if not isinstance(mapping, MarkerMapping):
        mapping = propose_mapping(skeleton, joined, mapping)
    if len(mapping.used) == 0:
        raise UsageError(
            f"no recorded marker can be used on the skeleton {skeleton.name!r}: "
            f"{mapping.describe_unused() or 'there is none'}; say which bone each is on: "
            "bones={'LFHD': 'head', …}"
        )
    before = mapping.applied()
    names = mapping.names
    used = tuple(_choose_markers(trial, names) for trial in trials)
    used = tuple(trial for trial in used if len(trial.names) > 0 and len(trial) > 0)
    joined_names = dict.fromkeys(name for trial in used for name in trial.names)
    empty = Markers(np.empty((0, len(joined_names), 3)), tuple(joined_names), trials[0].rate)
    marker_names = tuple(match_markers(before, empty).values())
    fixed = marker_names
    if options.offsets:
        fixed = _find_fixed_markers(options.anatomical, names, marker_names)
    by_name = {mapping.name_of(match): match for match in mapping.used}
    offset_sds = [_offset_sd(by_name[name], options.offset_sd) for name in marker_names]
    fit = fit_skeleton(
        before,
        used,
        Prior(
            scale_sd=float(options.scale_sd), offset_sd=np.array(offset_sds), sigma=options.sigma
        ),
        kind=kind,
        fixed=fixed,
        frames=options.frames,
        robust=options.robust,
        limits=options.limits,
        lock=lock,
        threads=count_threads(options.threads),
        progress=options.progress,
    )
    if options.progress is not None:
        options.progress(100, 100)
    return Calibration(
        mapping=mapping,
        before=before,
        fit=fit,
        trials=used,
        limits=options.limits,
        lock=lock,
        seconds=time.perf_counter() - started,
    )


def _choose_markers(trial: Markers, names: dict[str, str]) -> Markers:
    """Return the markers of a trial that are in use, under the skeleton's names."""
    chosen = trial.chosen([name for name in trial.names if name in names])
    return chosen.renamed({name: names[name] for name in chosen.names})


def _offset_sd(match: Match, offset_sd: float) -> float:
    """Return how far a marker may be from where it should be [m]."""
    if match.offset_sd is not None:
        return match.offset_sd
    only_bone_known = match.marker is None and match.point is None
    return max(UNKNOWN_POINT_SD, offset_sd) if only_bone_known else offset_sd


def _scale_kind(scale: bool | str) -> str:
    if isinstance(scale, bool):
        return "symmetric" if scale else "none"
    if scale not in SCALE_KINDS:
        expected = ", ".join(map(repr, SCALE_KINDS))
        raise UsageError(f"scale is {scale!r}; it must be True, False, {expected}")
    return scale


def _check_options(options: CalibrateOptions) -> None:
    frames = options.frames
    if not isinstance(frames, int | np.integer) or isinstance(frames, bool) or frames < 1:
        raise UsageError(f"frames is {frames!r}; it must be a whole number ≥ 1")
    positive = {
        "offset_sd": options.offset_sd,
        "scale_sd": options.scale_sd,
        "sigma": 1.0 if options.sigma is None else options.sigma,
    }
    for name, value in positive.items():
        if not is_number(value) or not 0.0 < value < np.inf:
            raise UsageError(f"{name} is {value!r}; it must be more than 0")
    if options.scale_sd < MIN_SCALE_SD:
        least = f"it must be {MIN_SCALE_SD:g} or more"
        raise UsageError(
            f"scale_sd is {options.scale_sd!r}; {least}, or scale='global' for one scale of all "
            "bones"
        )


def _find_fixed_markers(
    anatomical: Sequence[str], names: dict[str, str], marker_names: tuple[str, ...]
) -> list[str]:
    """Return the skeleton's names of markers given by these or by recorded names.

    Args:
        anatomical: markers that may not move on their bones.
        names: recorded name → the skeleton's.
        marker_names: of all markers in use, the skeleton's.
    """
    if isinstance(anatomical, str):
        anatomical = (anatomical,)
    without_prefix = {strip_prefix(recorded): marker for recorded, marker in names.items()}
    fixed = []
    for name in anatomical:
        marker = name if name in marker_names else names.get(name, without_prefix.get(name))
        if marker is None:
            raise UnknownNameError("marker", name, marker_names)
        fixed.append(marker)
    return fixed


def name_markers_alike(trials: Sequence[Markers]) -> tuple[Markers, ...]:
    """Return the trials with each marker called as in the first trial that has it.

    The same marker is one of the same name, or of the same name after a prefix ("Subject 2:LANK"),
    if no other marker of either trial has that name too.
    """
    known: dict[str, str] = {}
    alike = []
    for trial in trials:
        short = [strip_prefix(name) for name in trial.names]
        names = {
            name: known[bare]
            for name, bare in zip(trial.names, short, strict=True)
            if name not in known.values() and bare in known and short.count(bare) == 1
        }
        trial = trial.renamed(names)
        alike.append(trial)
        for name in trial.names:
            known.setdefault(strip_prefix(name) if name not in known.values() else name, name)
    return tuple(alike)


def join_trials(trials: Sequence[Markers]) -> Markers:
    """Return trials with common names one after the other; evenly spread frames of long ones."""
    if len(trials) == 1:
        return trials[0]
    names = tuple(dict.fromkeys(name for trial in trials for name in trial.names))
    parts = []
    for trial in trials:
        rows = np.arange(0, len(trial), max(len(trial) * len(trials) // MAX_JOINED_FRAMES, 1))
        part = np.full((len(rows), len(names), 3), np.nan)
        part[:, [names.index(name) for name in trial.names]] = trial.positions[rows]
        parts.append(part)
    first = trials[0]
    return Markers(
        np.concatenate(parts), names, first.rate, up_axis=first.up_axis, source=first.source
    )
