"""The solved figure: its stature, which way it looks while it goes, whether its sides are alike.

A fit moves markers on their bones to where the recording has them, and so hides a leg that is not
where it should be, the more the less moves. How far a marker moved says little: the place that a
landmark has on the figure may be wrong by several centimetres, but then it is on both sides.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from exactik.anatomy import find_limbs, find_partners, find_symmetry, list_mirrored_names
from exactik.anatomy.marker_sets import list_landmarks, strip_prefix
from exactik.model import Skeleton, human
from exactik.recordings.calibration import compare_with_anthropometry, has_landmarks
from exactik.recordings.calibration.mapping import find_landmark_point
from exactik.recordings.diagnosis._context import MarkerUse
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.recordings.tracking import Track

STEP_SECONDS = 0.25  # [s] over which a direction is taken: half a step, so that sway does not count
MIN_TRAVEL = 1.0
"""[statures] of way before it has a direction: two steps; who stands or works on the spot goes
nowhere."""

PAIR_TOLERANCE = 0.05
"""[share of the figure's height] between a marker and the mirror image of its partner, at rest:
8 cm. Partners are put to landmarks within 2 cm; clusters on the two thighs may differ by a hand;
markers of different landmarks on a long bone are 15 cm and more apart."""
CENTRAL_DISTANCE = 0.02
"""[share of the figure's height] from the middle plane up to which a marker on a bone of no side is
itself of none: 3 cm, C7 or the sternum as badly placed as they come."""

MIN_NAMED_PAIRS = 2
"""Pairs that are called alike, from which on the names of a set tell sides: one is a chance."""

MIN_PLACE_SD = 0.02
"""[m, of a figure of 1.75 m] to which a bony landmark is found alike on both sides, at best: hands
differ by 1 to 2 cm, and the bone's frame turns by some degrees. Landmarks of the pelvis have a
smaller sd, for the sake of the hips."""
MIN_PLACES = 3  # markers of a limb, by which it is judged how far they are from their landmarks
MIRROR = np.array([1.0, -1.0, 1.0])
"""From a place on a left bone to that on the right one: the frames of `human` have y to the left on
both sides."""


def measure_stature(skeleton: Skeleton) -> float:
    """Return the stature of a figure [m]: what its bones suggest, else its longest extent."""
    stature = compare_with_anthropometry(skeleton).stature
    if np.isfinite(stature):
        return float(stature)
    pose = skeleton.forward(skeleton.neutral())
    points = np.concatenate([pose.positions, pose.markers])
    return float(np.ptp(points, axis=0).max())


def measure_heading(track: Track, span: slice, stature: float) -> float | None:
    """Return the mean cosine of where the root looks with where it goes, weighted by the way.

    1 for who walks forwards, −1 backwards; None for who goes nowhere, or if the figure has no sides
    or no axis that is up.

    Args:
        track: the solved recording.
        span: frames to look at.
        stature: of the figure [m].
    """
    skeleton, up_axis = track.skeleton, track.motion.up_axis
    rest = skeleton.forward(skeleton.neutral())
    plane = find_middle_plane(skeleton)
    if plane is None or up_axis is None:
        return None
    up = np.eye(3)["xyz".index(up_axis)]
    _, to_the_right = plane
    forward_at_rest = np.cross(up, to_the_right)
    step = max(1, round(STEP_SECONDS * track.motion.rate))
    pose = skeleton.forward(np.asarray(track.motion.q)[span][::step])
    way = np.diff(pose.positions[:, 0], axis=0)
    way -= np.outer(way @ up, up)
    length = float(np.linalg.norm(way, axis=1).sum())
    net = float(np.linalg.norm(way.sum(axis=0)))
    if net < MIN_TRAVEL * stature:
        return None
    forward_in_root = rest.rotations[0].T @ forward_at_rest
    forward = pose.rotations[:-1, 0] @ forward_in_root
    return float((way * forward).sum() / length)


def find_unpaired_markers(skeleton: Skeleton, names: Sequence[str]) -> tuple[list[str], int]:
    """Return markers without a partner on the other side, and the number of markers with a side.

    Partners are on mirrored bones, or on the same bone of no side, and are called alike but for the
    letter of the side; where names do not tell sides, they are mirror images on the figure at rest.

    Args:
        skeleton: the figure, with the markers where they are.
        names: of the markers that are there.
    """
    pose = skeleton.forward(skeleton.neutral())
    plane, partners = find_middle_plane(skeleton), find_partners(skeleton)
    if plane is None:
        return [], 0
    middle, normal = plane
    height = float(np.ptp(np.concatenate([pose.positions, pose.markers]), axis=0).max())
    order = list(skeleton.markers)
    places = {name: pose.markers[order.index(name)] for name in names}
    bones = {name: skeleton.marker(name)[0] for name in names}
    sided: list[str] = []
    for name in names:
        is_off = abs(float((places[name] - middle) @ normal)) > CENTRAL_DISTANCE * height
        if is_off or bones[name] in partners:
            sided.append(name)
    opposites = {name: partners.get(bones[name], bones[name]) for name in sided}
    short = _shorten(names)
    mirrored = {name: _mirror_name(text) for name, text in short.items()}
    called = {text.casefold(): name for name, text in short.items()}
    alike = {
        name
        for name in sided
        if any(bones.get(called.get(other, "")) == opposites[name] for other in mirrored[name])
    }
    says_side = len(alike) >= MIN_NAMED_PAIRS * 2
    free, unpaired = set(sided) - alike, []
    for name in sided:
        if name not in free:
            continue
        free.discard(name)
        image = places[name] - 2.0 * float((places[name] - middle) @ normal) * normal
        others = sorted(n for n in free if bones[n] == opposites[name])
        distances = {n: float(np.linalg.norm(places[n] - image)) for n in others}
        partner = min(distances, key=lambda n: distances[n], default=None)
        is_far = partner is None or distances[partner] > PAIR_TOLERANCE * height
        if is_far or (says_side and len(mirrored[name]) > 0):
            unpaired.append(name)
        elif partner is not None:
            free.discard(partner)
    return unpaired, len(sided)


def _shorten(names: Sequence[str]) -> dict[str, str]:
    """Return names without subjects' prefixes and without a beginning that all have."""
    short = {name: strip_prefix(name) for name in names}
    columns = zip(*short.values(), strict=False) if len(short) > 1 else ()
    shared = len(list(takewhile(lambda letters: len(set(letters)) == 1, columns)))
    return {name: text[shared:] for name, text in short.items()}


def _mirror_name(text: str) -> set[str]:
    """Return what the partner of a marker may be called, in lower case; nothing without a side."""
    return {other.casefold() for other in list_mirrored_names(text)}


def find_middle_plane(skeleton: Skeleton) -> tuple[Array, Array] | None:
    """Return a point of the plane between left and right at rest [m], and its normal; or None.

    The normal points from left to right. None too where names do not tell which is which.
    """
    symmetry = find_symmetry(skeleton)
    if symmetry is None or not symmetry.named.any():
        return None
    return symmetry.middle, symmetry.normal


class PlaceDifference(NamedTuple):
    """How far the markers of a landmark are from being mirror images of each other."""

    left: str  # marker of the skeleton
    right: str  # its partner
    distance: float  # of the one's place on its bone from the mirror image of the other's [m]
    z: float  # the same in standard deviations of such a place, at the figure's size


def find_place_differences(
    skeleton: Skeleton, uses: Sequence[MarkerUse], seen: Collection[str]
) -> tuple[PlaceDifference, ...]:
    """Return how left and right markers differ in their places on their bones, the worst first.

    Nothing on a figure without the bones of `human`, whose left and right frames are not known to
    be mirror images.

    Args:
        skeleton: the figure, with markers where a fit has put them.
        uses: what each marker is.
        seen: markers of the skeleton that the recording has.
    """
    landmarks, markers = list_landmarks(), _find_landmarks(skeleton, uses, seen)
    markers = {name: one for name, one in markers.items() if not landmarks[name].is_cluster}
    size = measure_stature(skeleton) / measure_stature(human())
    found = []
    for landmark, left in markers.items():
        right = markers.get(f"r_{landmark[2:]}") if landmarks[landmark].side == "l" else None
        if left is None or right is None:
            continue
        image = MIRROR * skeleton.marker(left)[1]
        distance = float(np.linalg.norm(image - skeleton.marker(right)[1]))
        sd = size * max(landmarks[landmark].sd, MIN_PLACE_SD)
        found.append(PlaceDifference(left, right, distance, distance / sd))
    return tuple(sorted(found, key=lambda difference: -difference.z))


def measure_places(
    skeleton: Skeleton, uses: Sequence[MarkerUse], seen: Collection[str]
) -> dict[str, float]:
    """Return how far the markers of each limb were put from their landmarks, rms in their sds.

    Limb → that; see `find_place_differences`.
    """
    landmarks, size = list_landmarks(), measure_stature(skeleton) / measure_stature(human())
    squares: dict[str, list[float]] = {}
    limbs = {bone: bones[0] for bones in find_limbs(skeleton) for bone in bones}
    for name, marker in _find_landmarks(skeleton, uses, seen).items():
        landmark = landmarks[name]
        away = np.subtract(skeleton.marker(marker)[1], find_landmark_point(skeleton, landmark))
        z = float(np.linalg.norm(away)) / (size * landmark.sd)
        squares.setdefault(limbs[landmark.bone], []).append(z**2)
    return {limb: float(np.sqrt(np.mean(z))) for limb, z in squares.items() if len(z) >= MIN_PLACES}


def _find_landmarks(
    skeleton: Skeleton, uses: Sequence[MarkerUse], seen: Collection[str]
) -> dict[str, str]:
    """Return landmark → marker of the skeleton, of those that are on the bones of theirs."""
    landmarks = list_landmarks() if has_landmarks(skeleton) else {}
    return {
        use.landmark: use.marker
        for use in uses
        if use.marker is not None
        and use.marker in seen
        and use.landmark in landmarks
        and landmarks[use.landmark].bone == use.bone
    }
