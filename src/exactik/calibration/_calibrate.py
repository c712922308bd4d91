"""The size of a subject and the places of the markers, from a few seconds of motion."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

import numpy as np

from exactik._arguments import require_instance, require_names
from exactik._arrays import is_number
from exactik.calibration._calibration import Calibration
from exactik.calibration._trials import join_trials, name_markers_alike
from exactik.calibration.fitting import SCALE_KINDS, Prior, Progress, fit_skeleton
from exactik.calibration.mapping import HandMapping, MarkerMapping, Match, propose_mapping
from exactik.errors import UnknownNameError, UsageError
from exactik.marker_sets import strip_prefix
from exactik.model import Skeleton
from exactik.motion import Markers
from exactik.tracking import match_markers

__all__ = ["calibrate"]

MIN_SCALE_SD = 1e-6  # beside a metre, what rounding leaves of a covariance that can be inverted
UNKNOWN_POINT_SD = 0.1  # [m] of a marker of which only the bone is known: anywhere on it


def calibrate(
    skeleton: Skeleton,
    markers: Markers | Sequence[Markers],
    *,
    scale: bool | str = True,
    offsets: bool = True,
    anatomical: Sequence[str] = (),
    bones: MarkerMapping | HandMapping | None = None,
    frames: int = 200,
    offset_sd: float = 0.03,
    scale_sd: float = 0.1,
    sigma: float | None = None,
    robust: bool = True,
    limits: str = "hard",
    lock: str | Sequence[str] = (),
    progress: Progress | None = None,
) -> Calibration:
    """Fit the size of a figure and the places of its markers to recordings of a subject.

    Scales and places are found together with the poses of frames that differ as much as can be, a
    few seconds in which every joint moves. Several trials, such as a static and some walks, are
    used together; a marker that only some of them have counts where it is. What the markers do not
    tell (the scale of a bone whose markers may all move, the place of a joint that stays still)
    remains as it was, thanks to `offset_sd` and `scale_sd`; the result says how sure it is of each.

    A bone's scale multiplies what is attached to it, its children's offsets and its markers'
    places, so that a bone grows about its own joint.

    Args:
        skeleton: the figure, with markers where they should be, roughly.
        markers: the recording, or several trials of the subject, in the world of the skeleton: z up
            for `human`. Names, rates and lengths of trials may differ; a marker is the same if its
            name is, but for a prefix.
        scale: "symmetric" or True: a scale for each bone, left and right alike, as far as names
            tell them; "bone": for each bone; "global": one for all; False: none.
        offsets: whether markers may move on their bones.
        anatomical: markers that may not, apart from growing with their bone.
        bones: what the recorded markers are, by hand, see `propose_mapping`; those not named, and
            all if it is None, are proposed.
        frames: how many to use.
        offset_sd: how far markers may be from where they should be, one standard deviation along
            each axis [m].
        scale_sd: how far bones may be from the size of the whole figure, as a share.
        sigma: standard deviation of a recorded coordinate from a figure that is right [m], each
            frame by itself. None: as it turns out, regarding that errors of skin markers repeat.
        robust: whether markers that are far off, swapped or misplaced, count less.
        limits: "hard", "soft" or "off".
        lock: names or patterns of bones or dofs that stay where they are.
        progress: is called with what is done and to do.
    """
    started = time.perf_counter()
    kind = _scale_kind(scale)
    _check_options(frames, offset_sd, scale_sd, sigma)
    require_instance("skeleton", skeleton, Skeleton)
    lock = require_names("lock", lock)
    recordings = markers if isinstance(markers, Iterable) else (markers,)
    trials = name_markers_alike([require_instance("markers", each, Markers) for each in recordings])
    if len(trials) == 0:
        raise UsageError("no recording is given; calibration needs one or more")
    joined = join_trials(trials)
    mapping = (
        bones if isinstance(bones, MarkerMapping) else propose_mapping(skeleton, joined, bones)
    )
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
    fixed = _find_fixed_markers(anatomical, names, marker_names) if offsets else marker_names
    by_name = {mapping.name_of(match): match for match in mapping.used}
    offset_sds = [_offset_sd(by_name[name], offset_sd) for name in marker_names]
    fit = fit_skeleton(
        before,
        used,
        Prior(scale_sd=float(scale_sd), offset_sd=np.array(offset_sds), sigma=sigma),
        kind=kind,
        fixed=fixed,
        frames=frames,
        robust=robust,
        limits=limits,
        lock=lock,
        progress=progress,
    )
    if progress is not None:
        progress(100, 100)
    return Calibration(
        mapping=mapping,
        before=before,
        fit=fit,
        trials=used,
        limits=limits,
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


def _check_options(frames: int, offset_sd: float, scale_sd: float, sigma: float | None) -> None:
    if not isinstance(frames, int | np.integer) or isinstance(frames, bool) or frames < 1:
        raise UsageError(f"frames is {frames!r}; it must be a whole number ≥ 1")
    positive = {
        "offset_sd": offset_sd,
        "scale_sd": scale_sd,
        "sigma": 1.0 if sigma is None else sigma,
    }
    for name, value in positive.items():
        if not is_number(value) or not 0.0 < value < np.inf:
            raise UsageError(f"{name} is {value!r}; it must be more than 0")
    if scale_sd < MIN_SCALE_SD:
        raise UsageError(
            f"scale_sd is {scale_sd!r}; it must be {MIN_SCALE_SD:g} or more, or scale='global' for "
            "one scale of all bones"
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
