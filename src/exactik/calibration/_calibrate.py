"""The size of a subject and the places of the markers, from a few seconds of motion."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from exactik.calibration._calibration import Calibration
from exactik.calibration._fit import Prior, Progress, fit_skeleton
from exactik.calibration._mapping import HandMapping, MarkerMapping, Match
from exactik.calibration._mapping_propose import propose_mapping
from exactik.calibration._scaled_skeleton import SCALE_KINDS
from exactik.errors import UnknownNameError, UsageError
from exactik.marker_sets import strip_prefix
from exactik.model import Skeleton
from exactik.motion import Markers
from exactik.tracking import match_markers

__all__ = ["calibrate"]

UNKNOWN_POINT_SD = 0.1  # [m] of a marker of which only the bone is known: anywhere on it


def calibrate(
    skeleton: Skeleton,
    markers: Markers,
    *,
    scale: bool | str = True,
    offsets: bool = True,
    anatomical: Sequence[str] = (),
    bones: MarkerMapping | HandMapping | None = None,
    frames: int = 200,
    offset_sd: float = 0.03,
    scale_sd: float = 0.1,
    sigma: float | None = None,
    limits: str = "hard",
    lock: str | Sequence[str] = (),
    progress: Progress | None = None,
) -> Calibration:
    """Fit the size of a figure and the places of its markers to a recording.

    Scales and places are found together with the poses of frames that differ as much as can be, a
    few seconds in which every joint moves. What the markers do not tell (the scale of a bone whose
    markers may all move, the place of a joint that stays still) remains as it was, thanks to
    `offset_sd` and `scale_sd`; the result says how sure it is of each.

    A bone's scale multiplies what is attached to it, its children's offsets and its markers'
    places, so that a bone grows about its own joint.

    Args:
        skeleton: the figure, with markers where they should be, roughly.
        markers: the recording, in the world of the skeleton: z up for `human`.
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
        limits: "hard", "soft" or "off".
        lock: names or patterns of bones or dofs that stay where they are.
        progress: is called with what is done and to do.
    """
    started = time.perf_counter()
    kind = _scale_kind(scale)
    _check_options(frames, offset_sd, scale_sd, sigma)
    lock = (lock,) if isinstance(lock, str) else tuple(lock)
    mapping = (
        bones if isinstance(bones, MarkerMapping) else propose_mapping(skeleton, markers, bones)
    )
    if len(mapping.used) == 0:
        raise UsageError(
            f"no recorded marker can be used on the skeleton {skeleton.name!r}: "
            f"{mapping.describe_unused() or 'there is none'}; say which bone each is on: "
            "bones={'LFHD': 'head', …}"
        )
    before = mapping.applied()
    names = {match.recorded: mapping.name_of(match) for match in mapping.used}
    used = markers.chosen(tuple(names)).renamed(names)
    marker_names = tuple(match_markers(before, used).values())
    fixed = _find_fixed_markers(anatomical, names, marker_names) if offsets else marker_names
    sd_of = {mapping.name_of(match): _find_offset_sd(match, offset_sd) for match in mapping.used}
    offset_sds = [sd_of[name] for name in marker_names]
    fit = fit_skeleton(
        before,
        used,
        Prior(scale_sd=float(scale_sd), offset_sd=np.array(offset_sds), sigma=sigma),
        kind=kind,
        fixed=fixed,
        frames=frames,
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
        markers=used,
        limits=limits,
        lock=lock,
        seconds=time.perf_counter() - started,
    )


def _find_offset_sd(match: Match, usual: float) -> float:
    """Return how far a marker may be from its place, along each axis [m]."""
    if match.offset_sd is not None:
        return match.offset_sd
    is_placed = match.marker is not None or match.point is not None
    return usual if is_placed else max(UNKNOWN_POINT_SD, usual)


def _scale_kind(scale: bool | str) -> str:
    if isinstance(scale, bool):
        return "symmetric" if scale else "none"
    if scale not in SCALE_KINDS:
        expected = ", ".join(map(repr, SCALE_KINDS))
        raise UsageError(f"scale is {scale!r}; it must be True, False, {expected}")
    return scale


def _check_options(frames: int, offset_sd: float, scale_sd: float, sigma: float | None) -> None:
    if not isinstance(frames, int | np.integer) or frames < 1:
        raise UsageError(f"frames is {frames!r}; it must be a whole number ≥ 1")
    positive = {
        "offset_sd": offset_sd,
        "scale_sd": scale_sd,
        "sigma": 1.0 if sigma is None else sigma,
    }
    for name, value in positive.items():
        if not 0.0 < value < np.inf:
            raise UsageError(f"{name} is {value!r}; it must be more than 0")


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
