"""Labels of unnamed or wrongly named markers, by shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from exactik.errors import UsageError
from exactik.labelling._alternatives import (
    find_mirror_labels,
    list_alternatives,
)
from exactik.labelling._distances import choose_frames
from exactik.labelling._fragments import Fragment, cut_into_fragments
from exactik.labelling._labelling import LabelledFragment, Labelling
from exactik.labelling._overlaps import assign_fragments
from exactik.labelling._poses import MAX_COST, LabelProblem, LabelState, make_label_problem
from exactik.labelling._seed import Seed, find_seeds, turn_seed
from exactik.labelling._size import fit_size
from exactik.labelling._template import Template, make_template
from exactik.model import Skeleton
from exactik.motion import Markers
from exactik.typing import Array, IntArray

__all__ = ["label_markers"]

MIN_POINTS = 6  # in a frame: of fewer no shape is told
SEED_FRAMES = 10  # in which labels are sought from nothing; one in an ordinary pose is enough
SEED_MIN_SEEN = 0.8  # of the most points that any frame has, which a seed frame must have
SEEDS_PER_FRAME = 2
SEEDS_FOLLOWED = 8  # the best ones are followed through all frames
POSE_FRAMES = 120  # in which poses are found: places of points on bones settle with fewer
FRAMES_PER_FRAGMENT = 3  # at least, of those that are longer
MAX_POSE_FRAMES = 600
MAX_ROUNDS = 10  # of labels and poses in turn; each reaches into stretches beside what is known
ALTERNATIVE_FRAMES = 12  # in which other labellings are compared
MAX_LOSS_AT_POSE = 6.0
"""For each fragment that an alternative changes, by which it may be worse before the poses are
fitted to it: more than a fit has ever won back."""
MAX_SEARCH_ROUNDS = 4  # of taking the best alternative


def label_markers(
    skeleton: Skeleton,
    markers: Markers,
    *,
    known: Sequence[str] = (),
    marker_set: Sequence[str] | None = None,
    place_sd: Mapping[str, float] | None = None,
) -> Labelling:
    """Find out which point of a recording is which marker of a skeleton, whatever they are called.

    Paths are cut where they may change from one marker to another; the figure is bent into the
    points of some frames; the best labels are followed through the recording, compared with others,
    and every fragment gets the label on whose bone and at whose place it rests.

    Args:
        skeleton: whose markers are the labels, where they should be, roughly; z up, x forward.
        markers: the recording of one subject, in the world of the skeleton: "up" must be the same.
        known: points whose names are right as they are.
        marker_set: the labels to choose from; None for all markers of the skeleton.
        place_sd: how far a marker may be from its place on the skeleton, along each axis [m], by
            name; 0.03 for those not named.
    """
    template = make_template(skeleton, marker_set, place_sd)
    labels = template.names
    fragments = cut_into_fragments(markers)
    fixed = _fix_known(markers, fragments, known, labels)
    seeds = _search_seeds(template, markers)
    frames = _choose_pose_frames(markers, fragments, [seed.frame for seed in seeds])
    problem = make_label_problem(template, markers, fragments, frames)
    starts = [
        (seed, _settle(problem, seed, _spread_seed(problem, seed, fixed), fixed)) for seed in seeds
    ]
    seed, state = min(starts, key=lambda start: start[1].total)
    problem, seed, state = fit_size(problem, seed, state, markers)
    state = _settle(problem, seed, state, fixed)
    seed, state, margins, mirror_margin = _compare_alternatives(problem, seed, state, fixed)
    found = assign_fragments(state.cost, fragments, state.seen > 0, fixed, MAX_COST)
    return Labelling(
        recording=markers,
        skeleton=problem.template.skeleton,
        scale=state.scale,
        fragments=tuple(
            LabelledFragment(
                point=markers.names[fragment.point],
                label=None if found.labels[k] < 0 else labels[found.labels[k]],
                first=fragment.first,
                last=fragment.last,
                margin=float(min(found.margins[k], margins[found.labels[k]], mirror_margin))
                if found.labels[k] >= 0
                else 0.0,
                misfit=float(state.cost[k, found.labels[k]]) if found.labels[k] >= 0 else MAX_COST,
            )
            for k, fragment in enumerate(fragments)
        ),
        mirror_margin=mirror_margin,
    )


def _fix_known(
    markers: Markers, fragments: list[Fragment], known: Sequence[str], labels: tuple[str, ...]
) -> IntArray:
    fixed = np.full(len(fragments), -1)
    for name in known:
        markers.marker(name)
        bare = name.rpartition(":")[2] or name
        label = name if name in labels else bare
        if label not in labels:
            raise UsageError(f"{name!r} is said to be known, but is none of the labels")
        for k, fragment in enumerate(fragments):
            if markers.names[fragment.point] == name:
                fixed[k] = labels.index(label)
    return fixed


def _search_seeds(template: Template, markers: Markers) -> list[Seed]:
    count = np.isfinite(markers.positions).all(axis=2).sum(axis=1)
    most = int(count.max(initial=0))
    if most < MIN_POINTS:
        raise UsageError(
            f"no frame of the recording has {MIN_POINTS} points; labels by shape need as many"
        )
    good = np.flatnonzero(count >= max(MIN_POINTS, SEED_MIN_SEEN * most))
    frames = good[choose_frames(len(good), SEED_FRAMES)]
    seeds: list[Seed] = []
    for frame in frames.tolist():
        seeds += find_seeds(template, markers.positions[frame], frame)[:SEEDS_PER_FRAME]
    return sorted(seeds, key=lambda seed: seed.cost)[:SEEDS_FOLLOWED]


def _choose_pose_frames(
    markers: Markers, fragments: list[Fragment], seed_frames: list[int]
) -> IntArray:
    """Return frames evenly spread, with some of every fragment among them."""
    frames = set(choose_frames(len(markers), POSE_FRAMES).tolist()) | set(seed_frames)
    for fragment in sorted(fragments, key=lambda f: f.first - f.last):
        wanted = min(fragment.last - fragment.first + 1, FRAMES_PER_FRAGMENT)
        inside = [t for t in frames if fragment.first <= t <= fragment.last]
        if len(inside) < wanted and len(frames) < MAX_POSE_FRAMES:
            span = fragment.first + choose_frames(fragment.last - fragment.first + 1, wanted)
            frames |= set(span.tolist())
    return np.array(sorted(frames))


def _spread_seed(problem: LabelProblem, seed: Seed, fixed: IntArray) -> LabelState:
    """Return the state of a seed's labels, for fragments that are seen in its frame."""
    labels = fixed.copy()
    for k, fragment in enumerate(problem.fragments):
        if fixed[k] < 0 and fragment.first <= seed.frame <= fragment.last:
            labels[k] = seed.columns[fragment.point]
    return problem.spread_from_seed(labels, seed)


def _settle(problem: LabelProblem, seed: Seed, state: LabelState, fixed: IntArray) -> LabelState:
    """Return labels and poses that go with each other."""
    for _ in range(MAX_ROUNDS):
        found = assign_fragments(state.cost, problem.fragments, state.seen > 0, fixed, MAX_COST)
        if (found.labels == state.labels).all():
            break
        state = problem.spread_from_seed(found.labels, seed)
    return state


def _compare_alternatives(
    problem: LabelProblem, seed: Seed, state: LabelState, fixed: IntArray
) -> tuple[Seed, LabelState, Array, float]:
    """Return the best of the labelling and its alternatives, and by how much each label wins."""
    rows = choose_frames(len(problem.frames), ALTERNATIVE_FRAMES)
    small = problem.select(rows)
    mirror = find_mirror_labels(problem.template.rest_places)
    orders = list_alternatives(problem.template)
    margins = np.full(problem.label_count, np.inf)
    mirror_margin = np.inf
    for _ in range(MAX_SEARCH_ROUNDS):
        own = small.refit(state.labels, replace(state, q=state.q[rows]))
        margins = np.full(problem.label_count, np.inf)
        best_gain, best_order = 0.0, None
        for order in orders:
            labels = _permute(state.labels, order, fixed)
            count_changed = np.count_nonzero(labels != state.labels)
            if count_changed == 0:
                continue
            if _loss_at_pose(own, labels) > MAX_LOSS_AT_POSE * count_changed:
                continue
            other = _complete(small, small.refit(labels, own))
            loss = other.total - own.total
            changed = np.flatnonzero(order != np.arange(len(order)))
            margins[changed] = np.minimum(margins[changed], loss)
            if -loss > best_gain:
                best_gain, best_order = -loss, order
        if best_order is None:
            break
        labels = _permute(state.labels, best_order, fixed)
        state = _settle(problem, seed, problem.refit(labels, state), fixed)
    if (mirror != np.arange(len(mirror))).any() and (fixed < 0).all():
        turned = turn_seed(problem.template.skeleton, seed, mirror)
        other = small.spread_from_seed(_permute(state.labels, mirror, fixed), turned)
        own = small.refit(state.labels, replace(state, q=state.q[rows]))
        mirror_margin = other.total - own.total
    return seed, state, margins, float(mirror_margin)


def _loss_at_pose(state: LabelState, labels: IntArray) -> float:
    """Return by how much other labels are worse at the poses of a state."""
    return replace(state, labels=labels).total - state.total


def _complete(problem: LabelProblem, state: LabelState) -> LabelState:
    """Return the state with labels for fragments that have none, where the others leave some."""
    if (state.labels >= 0).all():
        return state
    able = state.seen > 0
    found = assign_fragments(state.cost, problem.fragments, able, state.labels, MAX_COST)
    return replace(state, labels=found.labels)


def _permute(labels: IntArray, order: IntArray, fixed: IntArray) -> IntArray:
    permuted = np.where(labels >= 0, order[labels], -1)
    return np.where(fixed >= 0, fixed, permuted)
