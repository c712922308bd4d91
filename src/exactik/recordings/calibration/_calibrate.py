"""The size of a subject and the places of the markers, from a few seconds of motion."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

import numpy as np

from exactik._arguments import require_instance, require_names
from exactik._arrays import is_number
from exactik._options import accepts_options
from exactik._threads import keep_blas_on_one_thread
from exactik.anatomy.marker_sets import strip_prefix
from exactik.errors import UnknownNameError, UsageError
from exactik.model import Skeleton
from exactik.model.motion import Markers
from exactik.recordings.calibration._calibrate_options import CalibrateOptions
from exactik.recordings.calibration._calibration import Calibration
from exactik.recordings.calibration._trials import join_trials, name_markers_alike
from exactik.recordings.calibration.fitting import SCALE_KINDS, Prior, fit_skeleton
from exactik.recordings.calibration.mapping import (
    MarkerMapping,
    Match,
    propose_mapping,
)
from exactik.recordings.tracking import count_threads, match_markers

MIN_SCALE_SD = 1e-6  # beside a metre, what rounding leaves of a covariance that can be inverted
UNKNOWN_POINT_SD = 0.1  # [m] of a marker of which only the bone is known: anywhere on it


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
