"""A figure made ready for a recording: markers on it, of the right names, and of the right size."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exactik._text import join_names
from exactik.calibration import (
    Calibration,
    MarkerMapping,
    attach_markers,
    calibrate,
    is_unlabelled,
    propose_mapping,
    strip_prefix,
    to_bone_frame,
)
from exactik.cli.solve._inputs import Figure
from exactik.cli.solve._tables import ByHand
from exactik.errors import FileError
from exactik.io import load_motion
from exactik.model import Skeleton
from exactik.motion import Markers, Motion
from exactik.typing import Array, IntArray

__all__ = ["Dressed", "dressed", "renamed", "says_what_fitted"]


LONG = 2.0  # [s] of a recording in which joints may have moved
LOOK = 300  # frames at which to see on which bone a marker is
ASTRAY = 0.15  # [m] that a marker spreads on its bone; with more it is on none
NEARLY = 1.3  # times the least spread, with which the nearest bone counts


@dataclass
class Dressed:
    """A skeleton with markers.

    Attributes:
        skeleton: itself.
        names: recorded name → the skeleton's, where these differ.
        fit: how it was fitted to the subject, if it was.
        notes: what was done, a sentence each.
    """

    skeleton: Skeleton
    names: Mapping[str, str]
    fit: Calibration | None
    notes: list[str]


def dressed(
    figure: Figure,
    markers: Markers,
    source: Path,
    *,
    by_hand: ByHand | None,
    take: str | None,
    fitted: bool,
    progress: Callable[[int, int], object],
    limits: str = "hard",
    lock: Sequence[str] = (),
) -> Dressed:
    """Return the figure with its markers.

    Args:
        figure: as read.
        markers: a recording, all of it, in the axes of the figure.
        source: its file.
        by_hand: what recorded markers are, see `propose_mapping`.
        take: file of a motion of the same recording, to put markers on the figure.
        fitted: whether to fit the size of the figure and the places of its markers.
        progress: is called with what is done and to do.
        limits: while it is fitted.
        lock: while it is fitted.
    """
    skeleton, notes = figure.skeleton, []
    options: dict[str, Any] = {"limits": limits, "lock": lock, "progress": progress}
    if take is not None:
        skeleton = _from_take(figure, markers, take, by_hand, notes)
        if not fitted:
            return Dressed(skeleton, {}, None, notes)
    if len(skeleton.markers) == 0 and by_hand is None:
        raise FileError(
            figure.name,
            "has no markers; give --take, a motion of the same recording, or --mapping, the bone "
            "of each marker, or a skeleton that `exactik calibrate` made",
        )
    # Places tell what a marker is only if the joints have moved.
    long = len(markers) >= LONG * markers.rate
    mapping = propose_mapping(skeleton, markers, by_hand, geometry=fitted and long)
    if len(mapping.used) == 0:
        raise FileError(
            source,
            f"no marker is known on the skeleton {skeleton.name!r}: the recording has "
            f"{join_names(markers.names, 6, spare=1)}; give --mapping, what each of them is",
        )
    _say_names(mapping, notes)
    guessed = [m for m in mapping.used if m.marker is None and m.point is None]
    if fitted or len(guessed) > 0:
        fit = calibrate(skeleton, markers, bones=mapping, scale=fitted, **options)
        notes.append(says_what_fitted(fit, source, sizes=fitted))
        return Dressed(fit.skeleton, _names(mapping), fit, notes)
    if by_hand is None and all(match.reason.startswith("same name") for match in mapping.used):
        return Dressed(skeleton, {}, None, notes)  # to the letter what `track` does by itself
    return Dressed(mapping.applied(), _names(mapping), None, notes)


def renamed(markers: Markers, names: Mapping[str, str]) -> Markers:
    """Return markers as the figure calls them; where that is a figure's own, others are left out.

    Names of another recording of the same subject may have another prefix.
    """
    if len(names) == 0:
        return markers
    short = {strip_prefix(name): own for name, own in names.items()}
    own = {name: names.get(name, short.get(strip_prefix(name))) for name in markers.names}
    known = {name: new for name, new in own.items() if new is not None}
    return markers.chosen(tuple(known)).renamed(known) if len(known) > 0 else markers


def says_what_fitted(fit: Calibration, source: Path, sizes: bool) -> str:
    """Return what a calibration did, in a sentence."""
    before, after = (1e3 * float(np.nanmean(e)) for e in (fit.errors_before, fit.errors))
    what = "size and markers were" if sizes else "places of the markers were"
    return (
        f"The figure's {what} fitted to the subject on {source.name}, in {fit.seconds:.0f} s: "
        f"markers are off by {after:.1f} mm on average, {before:.1f} mm before."
    )


def _names(mapping: MarkerMapping) -> dict[str, str]:
    return {match.recorded: mapping.name_of(match) for match in mapping.used}


def _say_names(mapping: MarkerMapping, notes: list[str]) -> None:
    """Note which markers were taken for others, and which are not used."""
    guesses = [
        f"{strip_prefix(match.recorded)} for {match.marker or match.bone}"
        for match in mapping.used
        if match.confidence < 0.95
    ]
    if len(guesses) > 0:
        notes.append(
            f"Taken by name or place: {join_names(guesses, 6, spare=1)}. --mapping says otherwise."
        )
    unused = [strip_prefix(m.recorded) for m in mapping.matches if m.bone is None]
    if len(unused) > 0:
        count = (
            "1 recorded marker is" if len(unused) == 1 else f"{len(unused)} recorded markers are"
        )
        notes.append(f"{count} not on the figure and not used: {join_names(unused, 6, spare=1)}.")


# --- from a take that has both


def _from_take(
    figure: Figure, markers: Markers, take: str, by_hand: ByHand | None, notes: list[str]
) -> Skeleton:
    """Return the skeleton with the markers of the recording, put on it by a motion of it."""
    motion = load_motion(take, figure.skeleton)
    if len(motion) != len(markers):
        raise FileError(
            take,
            f"has {len(motion)} frames and {Path(markers.source).name} {len(markers)}; expected a "
            "motion of the same recording",
        )
    which = np.unique(np.linspace(0, len(motion) - 1, LOOK).astype(int))
    best: tuple[float, str, dict[str, tuple[str, float]]] = (np.inf, "XYZ", {})
    for axes in _headings(figure.up):
        found = _steadiest(figure.skeleton, motion, markers.turned(axes), which)
        middle = float(np.median([spread for _, spread in found.values()] or [np.inf]))
        best = min(best, (middle, axes, found), key=lambda each: each[0])
    _, axes, found = best
    bones = {name: bone for name, (bone, spread) in found.items() if spread < ASTRAY}
    for name, what in (by_hand or {}).items():
        full = next((own for own in markers.names if name in (own, strip_prefix(own))), name)
        bones.pop(full, None)
        if what is not None:
            bones[full] = what if isinstance(what, str) else what[0]
    if len(bones) == 0:
        raise FileError(take, "no marker keeps to a bone: not a motion of the same recording")
    short = {name: strip_prefix(name) for name in bones}
    if len(set(short.values())) < len(short):
        short = {name: name for name in bones}
    own = markers.chosen(tuple(bones)).turned(axes).renamed(short)
    skeleton = attach_markers(
        figure.skeleton, own, motion, {short[name]: bone for name, bone in bones.items()}
    )
    notes.append(f"{len(bones)} markers were put on the skeleton where {Path(take).name} has them.")
    left = [strip_prefix(name) for name in markers.names if name not in bones]
    if len(left) > 0:
        notes.append(f"Not put on it: {join_names(left, 6, spare=1)}.")
    return skeleton


def _headings(up: str | None) -> list[str]:
    """Return the four quarter turns about the axis that is up, see `Markers.turned`."""
    if up is None:
        return ["XYZ"]
    u = "xyz".index(up)
    a, b = (u + 1) % 3, (u + 2) % 3
    found = []
    for new_a, new_b in ((a, b), (b, ~a), (~a, ~b), (~b, a)):
        row = [""] * 3
        row[u] = "XYZ"[u]
        for place, axis in ((a, new_a), (b, new_b)):
            row[place] = "XYZ"[axis] if axis >= 0 else f"-{'XYZ'[~axis]}"
        found.append("".join(row))
    return found


def _steadiest(
    skeleton: Skeleton, motion: Motion, markers: Markers, which: IntArray
) -> dict[str, tuple[str, float]]:
    """Return for each marker with a name the bone that it is on, and how much it spreads there [m].

    The nearest of those on which it spreads hardly more than on any: joints that did not move leave
    a choice, and motions made of markers have errors of their own.
    """
    pose = Motion(skeleton, motion.q[which], motion.rate).forward()
    own = [k for k, bone in enumerate(skeleton.bones) if bone.joint.nv > 0]
    found = {}
    for name in markers.names:
        places = markers.marker(name)[which]
        if is_unlabelled(name) or np.isfinite(places).all(axis=1).sum() < 2:
            continue
        local = np.stack([to_bone_frame(pose, k, places) for k in own])
        spread = np.sqrt(np.nanvar(local, axis=1).sum(axis=1))
        good = np.flatnonzero(spread <= NEARLY * spread.min())
        middle = np.nanmean(local, axis=1)
        j = min(good, key=lambda j: _away(skeleton, skeleton.bones[own[j]].name, middle[j]))
        found[name] = (skeleton.bones[own[j]].name, float(spread[j]))
    return found


def _away(skeleton: Skeleton, bone: str, point: Array) -> float:
    """Return the distance of a point in a bone's frame from the lines to the joints that follow."""
    ends = [np.asarray(b.offset) for b in skeleton.bones if b.parent == bone] or [np.zeros(3)]
    apart = []
    for end in ends:
        share = float(np.clip(point @ end / max(float(end @ end), 1e-12), 0.0, 1.0))
        apart.append(float(np.linalg.norm(point - share * end)))
    return min(apart)
