"""A labelling against its alternatives: the best is taken, and what each label wins by is kept.

Poses bend to the labels that they are given, so that a wrong one may look right at its pose. Every
alternative is therefore fitted anew before it is compared.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from exactik.model import Skeleton
from exactik.model.motion import choose_even_frames
from exactik.recordings.labelling.search._assignment import assign, assign_trajectories
from exactik.recordings.labelling.search._poses import MAX_COST, LabelProblem, LabelState
from exactik.recordings.labelling.search._seed import Seed, turn_seed
from exactik.recordings.labelling.search._template import Template
from exactik.spatial import axis_rotation
from exactik.typing import Array, IntArray

MAX_ROUNDS = 10  # of labels and poses in turn; each reaches into stretches beside what is known
ALTERNATIVE_FRAMES = 12  # in which other labellings are compared
MAX_LOSS_AT_POSE = 6.0
"""For each trajectory that an alternative changes, by which it may be worse before the poses are
fitted to it: more than a fit has ever won back."""
MAX_SEARCH_ROUNDS = 4  # of taking the best alternative
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


class Comparison(NamedTuple):
    """The best of a labelling and its alternatives."""

    state: LabelState  # labels and poses
    # By how much the best alternative that changes each label is worse, (M,); infinite where none
    # came near
    margins: Array
    mirror_margin: float  # by how much the mirror image is


def settle(problem: LabelProblem, seed: Seed, state: LabelState, fixed: IntArray) -> LabelState:
    """Return labels and poses that go with each other.

    Args:
        problem: what is sought.
        seed: from whose pose poses are followed.
        state: to begin with.
        fixed: labels that are given, (n,); −1 for none.
    """
    for _ in range(MAX_ROUNDS):
        found = assign_trajectories(
            state.cost, problem.trajectories, state.seen > 0, fixed, MAX_COST
        )
        if (found.labels == state.labels).all():
            break
        state = problem.spread_from_seed(found.labels, seed)
    return state


def compare_alternatives(
    problem: LabelProblem, seed: Seed, state: LabelState, fixed: IntArray
) -> Comparison:
    """Return the best of a labelling and its alternatives; arguments as for `settle`."""
    rows = choose_even_frames(len(problem.frames), ALTERNATIVE_FRAMES)
    small, orders = problem.select(rows), _list_alternatives(problem.template)

    def measure_losses(state: LabelState) -> tuple[LabelState, list[float]]:
        own = small.refit(state.labels, replace(state, q=state.q[rows]))
        return own, [_measure_loss(small, own, order, fixed) for order in orders]

    own, losses = measure_losses(state)
    for _ in range(MAX_SEARCH_ROUNDS):
        if min(losses, default=0.0) >= 0.0:
            break
        best = int(np.argmin(losses))
        labels = _apply(problem, state, orders[best], fixed)
        tried = settle(problem, seed, problem.refit(labels, state), fixed)
        if tried.total >= state.total:
            break
        state = tried
        own, losses = measure_losses(state)
    margins = np.full(problem.label_count, np.inf)
    for order, loss in zip(orders, losses, strict=True):
        changed = order != np.arange(len(order))
        margins[changed] = np.minimum(margins[changed], loss)
    return Comparison(state, margins, _measure_mirror_loss(small, seed, own, fixed))


def _measure_loss(
    problem: LabelProblem, own: LabelState, order: IntArray, fixed: IntArray
) -> float:
    """Return by how much the labelling is worse that a permutation of the labels makes."""
    if (_permute(own.labels, order, fixed) == own.labels).all():
        return np.inf
    labels = _apply(problem, own, order, fixed)
    changed = np.count_nonzero(labels != own.labels)
    if replace(own, labels=labels).total - own.total > MAX_LOSS_AT_POSE * changed:
        return np.inf
    return problem.refit(labels, own).total - own.total


def _measure_mirror_loss(
    problem: LabelProblem, seed: Seed, own: LabelState, fixed: IntArray
) -> float:
    """Return by how much the mirror image is worse: sides exchanged, the figure turned round."""
    mirror = _find_mirror_labels(problem.template.rest_places)
    if (mirror == np.arange(len(mirror))).all() or (fixed >= 0).any():
        return np.inf
    turned = turn_seed(problem.template.skeleton, seed, mirror)
    other = problem.spread_from_seed(_permute(own.labels, mirror, fixed), turned)
    return other.total - own.total


def _apply(problem: LabelProblem, state: LabelState, order: IntArray, fixed: IntArray) -> IntArray:
    """Return permuted labels; trajectories that had none get one that the others leave."""
    labels = _permute(state.labels, order, fixed)
    if (labels >= 0).all():
        return labels
    able = state.seen > 0
    return assign_trajectories(state.cost, problem.trajectories, able, labels, MAX_COST).labels


def _permute(labels: IntArray, order: IntArray, fixed: IntArray) -> IntArray:
    permuted = np.where(labels >= 0, order[labels], -1)
    return np.where(fixed >= 0, fixed, permuted)


def _find_mirror_labels(places: Array) -> IntArray:
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


def _list_alternatives(template: Template) -> list[IntArray]:
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
    mirror, orders = _find_mirror_labels(template.rest_places), []
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
