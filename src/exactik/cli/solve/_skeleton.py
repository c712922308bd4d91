"""A skeleton prepared for a recording: with markers of the right names, fitted to the subject."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from exactik._text import count_noun, join_names
from exactik.calibration import (
    Calibration,
    MarkerBone,
    MarkerMapping,
    attach_markers,
    calibrate,
    find_marker_bones,
    propose_mapping,
)
from exactik.cli._inputs import LoadedSkeleton
from exactik.cli.solve._marker_tables import ManualMapping
from exactik.errors import FileError
from exactik.io import load_motion
from exactik.marker_sets import strip_prefix
from exactik.model import Skeleton
from exactik.motion import Markers, heading_axes

__all__ = ["PreparedSkeleton", "prepare_skeleton"]

MIN_SECONDS_FOR_GEOMETRY = 2.0  # [s] of a recording in which joints may have moved
ATTACH_FRAMES = 300  # at which to see on which bone a marker is
MAX_SPREAD_M = 0.15  # that a marker spreads on its bone; with more it is on none
SURE_CONFIDENCE = 0.95  # of a match, from which it goes without saying
MAX_LISTED_NAMES = 6


@dataclass(frozen=True)
class PreparedSkeleton:
    """A skeleton with markers.

    Attributes:
        skeleton: itself.
        names: recorded name → the skeleton's, where these differ.
        notes: what was done, a sentence each.
    """

    skeleton: Skeleton
    names: Mapping[str, str]
    notes: list[str]

    def rename_markers(self, markers: Markers) -> Markers:
        """Return markers under the skeleton's names, without those that it does not know.

        Names of another recording of the same subject may have another prefix.
        """
        if len(self.names) == 0:
            return markers
        by_short_name = {strip_prefix(name): mine for name, mine in self.names.items()}
        known = {}
        for name in markers.names:
            mine = self.names.get(name, by_short_name.get(strip_prefix(name)))
            if mine is not None:
                known[name] = mine
        return markers.chosen(tuple(known)).renamed(known) if len(known) > 0 else markers


def prepare_skeleton(
    loaded: LoadedSkeleton,
    markers: Markers,
    source: Path,
    *,
    by_hand: ManualMapping | None,
    take: str | None,
    fit: bool,
    progress: Callable[[int, int], object],
    limits: str = "hard",
    lock: Sequence[str] = (),
) -> PreparedSkeleton:
    """Return the skeleton with its markers.

    Args:
        loaded: the skeleton as read.
        markers: a recording, all of it, in the axes of the skeleton.
        source: its file.
        by_hand: what recorded markers are, see `propose_mapping`.
        take: file of a motion of the same recording, to put markers on the skeleton.
        fit: whether to fit the size of the skeleton and the places of its markers.
        progress: is called with what is done and to do.
        limits: while it is fitted.
        lock: while it is fitted.
    """
    skeleton, notes = loaded.skeleton, []
    if take is not None:
        skeleton = _attach_from_take(loaded, markers, take, by_hand, notes)
        if not fit:
            return PreparedSkeleton(skeleton, {}, notes)
    if len(skeleton.markers) == 0 and by_hand is None:
        raise FileError(
            loaded.name,
            "has no markers; give --take, a motion of the same recording, or --mapping, the bone "
            "of each marker, or a skeleton that `exactik calibrate` made",
        )
    if not fit and by_hand is None and set(markers.names) <= set(skeleton.markers):
        return PreparedSkeleton(skeleton, {}, notes)  # names agree: nothing to propose
    # Places tell what a marker is only if the joints have moved.
    long = len(markers) >= MIN_SECONDS_FOR_GEOMETRY * markers.rate
    mapping = propose_mapping(skeleton, markers, by_hand, geometry=fit and long)
    if len(mapping.used) == 0:
        raise FileError(
            source,
            f"no marker can be used on the skeleton {skeleton.name!r}: "
            f"{mapping.describe_unused() or 'there is none'}; give --mapping, what each of them is "
            "(`exactik match` writes a file to begin with)",
        )
    _note_matches(mapping, notes)
    names = {match.recorded: mapping.name_of(match) for match in mapping.used}
    only_bone_known = [m for m in mapping.used if m.marker is None and m.point is None]
    if fit or len(only_bone_known) > 0:
        calibration = calibrate(
            skeleton,
            markers,
            bones=mapping,
            scale=fit,
            limits=limits,
            lock=lock,
            progress=progress,
        )
        notes.append(_describe_fit(calibration, source, sizes=fit))
        return PreparedSkeleton(calibration.skeleton, names, notes)
    if by_hand is None and all(match.has_same_name for match in mapping.used):
        return PreparedSkeleton(skeleton, {}, notes)  # exactly what `track` does by itself
    return PreparedSkeleton(mapping.applied(), names, notes)


def _describe_fit(fit: Calibration, source: Path, sizes: bool) -> str:
    """Return what a calibration did, in a sentence."""
    before, after = (1e3 * float(np.nanmean(e)) for e in (fit.errors_before, fit.errors))
    what = "size and markers were" if sizes else "places of the markers were"
    return (
        f"The figure's {what} fitted to the subject on {source.name}, in {fit.seconds:.0f} s: "
        f"markers are off by {after:.1f} mm on average, {before:.1f} mm before."
    )


def _note_matches(mapping: MarkerMapping, notes: list[str]) -> None:
    """Note which markers were taken for others, and which are not used."""
    guesses = [
        f"{strip_prefix(match.recorded)} for {match.marker or match.bone}"
        for match in mapping.used
        if match.confidence < SURE_CONFIDENCE
    ]
    if len(guesses) > 0:
        names = join_names(guesses, MAX_LISTED_NAMES, spare=1)
        notes.append(f"Taken by name or place: {names}. --mapping says otherwise.")
    unused = [match.recorded for match in mapping.matches if match.bone is None]
    if len(unused) > 0:
        points = count_noun(len(unused), "recorded point")
        notes.append(f"{points} not used: {mapping.describe_unused()}.")


def _attach_from_take(
    loaded: LoadedSkeleton,
    markers: Markers,
    take: str,
    by_hand: ManualMapping | None,
    notes: list[str],
) -> Skeleton:
    """Return the skeleton with the markers of the recording, put on it by a motion of it."""
    motion = load_motion(take, loaded.skeleton)
    if len(motion) != len(markers):
        raise FileError(
            take,
            f"has {len(motion)} frames and {Path(markers.source).name} {len(markers)}; expected a "
            "motion of the same recording",
        )
    frames = np.unique(np.linspace(0, len(motion) - 1, ATTACH_FRAMES).astype(int))
    best: tuple[float, str, dict[str, MarkerBone]] = (np.inf, "XYZ", {})
    for axes in heading_axes(loaded.up):
        marker_bones = find_marker_bones(motion, markers.turned(axes), frames)
        spreads = [place.spread for place in marker_bones.values()]
        candidate = float(np.median(spreads or [np.inf])), axes, marker_bones
        best = min(best, candidate, key=lambda other: other[0])
    _, axes, marker_bones = best
    bones = {name: p.bone for name, p in marker_bones.items() if p.spread < MAX_SPREAD_M}
    for name, what in (by_hand or {}).items():
        full = next((n for n in markers.names if name in (n, strip_prefix(n))), name)
        bones.pop(full, None)
        if what is not None:
            bones[full] = what if isinstance(what, str) else what[0]
    if len(bones) == 0:
        raise FileError(take, "no marker keeps to a bone: not a motion of the same recording")
    short = {name: strip_prefix(name) for name in bones}
    if len(set(short.values())) < len(short):
        short = {name: name for name in bones}
    attached = markers.chosen(tuple(bones)).turned(axes).renamed(short)
    skeleton = attach_markers(
        loaded.skeleton, attached, motion, {short[name]: bone for name, bone in bones.items()}
    )
    notes.append(f"{len(bones)} markers were put on the skeleton where {Path(take).name} has them.")
    unused = [strip_prefix(name) for name in markers.names if name not in bones]
    if len(unused) > 0:
        notes.append(f"Not put on it: {join_names(unused, MAX_LISTED_NAMES, spare=1)}.")
    return skeleton
