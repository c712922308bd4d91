"""Left and right of a figure: the plane between them, and markers without a partner."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

import numpy as np

from exactik.anatomy import find_partners, find_symmetry, list_mirrored_names
from exactik.anatomy.marker_sets import strip_prefix
from exactik.model import Skeleton
from exactik.typing import Array

PAIR_TOLERANCE = 0.05
"""[share of the figure's height] between a marker and the mirror image of its partner, at rest:
8 cm. Partners are put to landmarks within 2 cm; clusters on the two thighs may differ by a hand;
markers of different landmarks on a long bone are 15 cm and more apart."""
CENTRAL_DISTANCE = 0.02
"""[share of the figure's height] from the middle plane up to which a marker on a bone of no side is
itself of none: 3 cm, C7 or the sternum as badly placed as they come."""

MIN_NAMED_PAIRS = 2
"""Pairs that are called alike, from which on the names of a set tell sides: one is a chance."""


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
