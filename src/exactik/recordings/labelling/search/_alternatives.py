"""Other labellings to try against one that has been found.

Poses bend to the labels that they are given, so that a wrong one may look right at its pose. Every
alternative is therefore fitted anew before it is compared.
"""

from __future__ import annotations

from itertools import combinations, product

import numpy as np

from exactik.model import Skeleton
from exactik.recordings.labelling.search._assignment import assign
from exactik.recordings.labelling.search._template import Template
from exactik.spatial import axis_rotation
from exactik.typing import Array, IntArray

MAX_SWAP_DISTANCE = 0.32
"""[m] at rest between two labels that might be taken for each other: a forearm's length."""
MAX_CYCLE_DISTANCE = 0.25
"""[m] likewise, from each to the next of three that might be taken in a row: half a shank."""
TURNS = tuple(np.radians([60.0, 90.0, 120.0, 180.0, 240.0, 270.0, 300.0]).tolist())
"""By which the markers of a bone may be turned against their names: those of a head or a pelvis
form a square or a triangle."""
MAX_TURNED_LABELS = 8  # on a bone or the end of a limb: more are a body, whose turns seeds try
MAX_MIRROR_DISTANCE = (
    0.06  # [m] at rest, of a label's mirror image from the label on the other side
)


def find_mirror_labels(places: Array) -> IntArray:
    """Return the label on the other side of each, (M,); itself if there is none.

    Args:
        places: of the labels at rest [m], (M, 3), y to the left.
    """
    mirrored = places * (1.0, -1.0, 1.0)
    distance = np.linalg.norm(mirrored[:, None] - places, axis=2)
    nearest = np.argmin(distance, axis=1)
    every = np.arange(len(places))
    is_pair = (nearest[nearest] == every) & (distance[every, nearest] < MAX_MIRROR_DISTANCE)
    return np.where(is_pair, nearest, every)


def list_alternatives(template: Template) -> list[IntArray]:
    """Return permutations of the labels, (M,) each: what each label would be instead, each once."""
    orders = [
        *_list_neighbour_swaps(template),
        *_list_neighbour_cycles(template),
        *_list_turned_bones(template),
        *_list_limb_mirrors(template),
    ]
    once = {tuple(order.tolist()): order for order in orders}
    once.pop(tuple(range(len(template.names))), None)
    return list(once.values())


def _list_neighbour_swaps(template: Template) -> list[IntArray]:
    """Return the exchanges of two labels that are near at rest."""
    places, count = template.rest_places, len(template.names)
    return [
        _exchange(count, [(a, b)])
        for a, b in combinations(range(count), 2)
        if np.linalg.norm(places[a] - places[b]) < MAX_SWAP_DISTANCE
    ]


def _list_neighbour_cycles(template: Template) -> list[IntArray]:
    """Return the circles of three labels in a row of neighbours at rest, both ways round."""
    places, count = template.rest_places, len(template.names)
    near = np.linalg.norm(places[:, None] - places, axis=2) < MAX_CYCLE_DISTANCE
    cycles = []
    for a, b, c in combinations(range(count), 3):
        if near[[a, b, a], [b, c, c]].sum() >= 2:
            for first, second, third in ((a, b, c), (a, c, b)):
                order = np.arange(count)
                order[[first, second, third]] = second, third, first
                cycles.append(order)
    return cycles


def _list_turned_bones(template: Template) -> list[IntArray]:
    """Return what the labels of a bone, or of the end of a limb, become if it is turned."""
    places, skeleton, orders = template.rest_places, template.skeleton, []
    for k in range(len(skeleton.bones)):
        for bones in ([k], _find_subtree(skeleton, k)):
            labels = np.flatnonzero(np.isin(template.bones, bones))
            if not 3 <= len(labels) <= MAX_TURNED_LABELS:
                continue
            local = places[labels] - places[labels].mean(axis=0)
            for axis, angle in product("xyz", TURNS):
                turned = local @ axis_rotation(axis, angle).T
                square = ((turned[:, None] - local) ** 2).sum(axis=2)
                order = np.arange(len(template.names))
                order[labels] = labels[assign(square, np.inf)]
                orders.append(order)
    return orders


def _list_limb_mirrors(template: Template) -> list[IntArray]:
    """Return the exchanges of left and right from some bone on."""
    mirror, orders = find_mirror_labels(template.rest_places), []
    for k in range(len(template.skeleton.bones)):
        below = _find_subtree(template.skeleton, k)
        labels = np.flatnonzero(np.isin(template.bones, below))
        pairs = [(int(a), int(mirror[a])) for a in labels if mirror[a] != a]
        orders.append(_exchange(len(template.names), pairs))
    return orders


def _exchange(count: int, pairs: list[tuple[int, int]]) -> IntArray:
    order = np.arange(count)
    for a, b in pairs:
        order[a], order[b] = b, a
    return order


def _find_subtree(skeleton: Skeleton, bone: int) -> list[int]:
    """Return a bone and all that hang on it."""
    inside = {bone}
    for k, parent in enumerate(skeleton.parents):
        if int(parent) in inside:
            inside.add(k)
    return sorted(inside)
