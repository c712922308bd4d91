"""A labelling against its alternatives: the best is taken, and what each label wins by is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from exactik.model.motion import choose_even_frames
from exactik.recordings.labelling.search._alternatives import find_mirror_labels, list_alternatives
from exactik.recordings.labelling.search._assignment import assign_trajectories
from exactik.recordings.labelling.search._poses import MAX_COST, LabelProblem, LabelState
from exactik.recordings.labelling.search._seed import Seed, turn_seed
from exactik.typing import Array, IntArray

MAX_ROUNDS = 10  # of labels and poses in turn; each reaches into stretches beside what is known
ALTERNATIVE_FRAMES = 12  # in which other labellings are compared
MAX_LOSS_AT_POSE = 6.0
"""For each trajectory that an alternative changes, by which it may be worse before the poses are
fitted to it: more than a fit has ever won back."""
MAX_SEARCH_ROUNDS = 4  # of taking the best alternative


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
    small, orders = problem.select(rows), list_alternatives(problem.template)

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
    mirror = find_mirror_labels(problem.template.rest_places)
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
