"""Labels of unnamed or wrongly named markers, by shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from exactik.anatomy.marker_sets import strip_prefix
from exactik.errors import UsageError
from exactik.model import Skeleton
from exactik.model.motion import Markers, choose_even_frames
from exactik.recordings.labelling._known_sets import make_set_template
from exactik.recordings.labelling._labelling import (
    MAX_MISFIT,
    MIN_MARGIN,
    LabelledFragment,
    Labelling,
)
from exactik.recordings.labelling.search import (
    MAX_COST,
    Comparison,
    LabelProblem,
    LabelState,
    Seed,
    Template,
    Trajectory,
    TrajectoryLabels,
    assign_trajectories,
    choose_seed_frames,
    compare_alternatives,
    cut_into_fragments,
    find_copies,
    find_seeds,
    fit_size,
    join_fragments,
    make_label_problem,
    make_template,
    settle,
)
from exactik.typing import IntArray

SEED_FRAMES = 10  # in which labels are sought from nothing; one in an ordinary pose is enough
SEEDS_PER_FRAME = 2
SEEDS_FOLLOWED = 8  # the best ones are followed through all frames
POSE_FRAMES = 120  # in which poses are found: places of points on bones settle with fewer
MIN_LABELLED_SHARE = 0.7
"""Of the marker-frames, below which no label is sure: the set is another one, or the pose is wrong
from the first frame on."""
MAX_MEDIAN_MISFIT = 4.5
"""Of the labels, above which none is sure. Recordings of ten sets are between −1 and 2.5."""
FRAMES_PER_FRAGMENT = 3  # at least, of those that are longer
MAX_POSE_FRAMES = 600


def label_markers(
    skeleton: Skeleton,
    markers: Markers,
    *,
    known: Sequence[str] = (),
    marker_set: str | Sequence[str] | Template | None = None,
) -> Labelling:
    """Find out which point of a recording is which marker of a skeleton, whatever they are called.

    Paths are cut where they may change from one marker to another. The figure is bent into the
    points of some frames; the best labels are followed through the recording and compared with
    others; every fragment gets the label on whose bone and at whose place it rests.

    Args:
        skeleton: whose markers are the labels, where they should be, roughly; z up, x forward.
        markers: the recording of one subject, in the world of the skeleton: z up.
        known: points whose names are right as they are.
        marker_set: the labels to choose from: a known set ("plug_in_gait", see
            `list_marker_sets`), names of the skeleton's markers, or a template; all markers of the
            skeleton if None.
    """
    template = _choose_template(skeleton, marker_set)
    copies = find_copies(markers)
    own = markers.chosen([name for name in markers.names if name not in copies])
    is_there = np.isfinite(own.positions).all(axis=2, keepdims=True)
    own = replace(own, positions=np.where(is_there, own.positions, np.nan))
    trajectories = join_fragments(own, cut_into_fragments(own))
    fixed = _fix_known(own, trajectories, known, template.names)
    seeds = _search_seeds(template, own)
    frames = _choose_pose_frames(own, trajectories, [seed.frame for seed in seeds])
    problem = make_label_problem(template, own, trajectories, frames)
    starts = [
        (seed, settle(problem, seed, _spread_seed(problem, seed, fixed), fixed)) for seed in seeds
    ]
    seed, state = min(starts, key=lambda start: start[1].total)
    problem, seed, state = fit_size(problem, seed, state)
    comparison = compare_alternatives(problem, seed, settle(problem, seed, state, fixed), fixed)
    state = comparison.state
    found = assign_trajectories(state.cost, trajectories, state.seen > 0, fixed, MAX_COST)
    labelled = _doubt_poor_fit(_describe(own, problem, comparison, found, fixed))
    labelled += [
        LabelledFragment(name, None, 0, len(markers) - 1, 0.0, MAX_COST, "copy") for name in copies
    ]
    order = {name: k for k, name in enumerate(markers.names)}
    return Labelling(
        recording=markers,
        skeleton=problem.template.skeleton,
        fragments=tuple(sorted(labelled, key=lambda f: (order[f.point], f.first))),
        mirror_margin=comparison.mirror_margin,
    )


def _choose_template(
    skeleton: Skeleton, marker_set: str | Sequence[str] | Template | None
) -> Template:
    if isinstance(marker_set, Template):
        return marker_set
    if isinstance(marker_set, str):
        return make_set_template(skeleton, marker_set)
    return make_template(skeleton, marker_set)


def _fix_known(
    markers: Markers,
    trajectories: list[Trajectory],
    known: Sequence[str],
    labels: tuple[str, ...],
) -> IntArray:
    """Return the label of each trajectory of a point whose name is right, −1 for the others."""
    fixed = np.full(len(trajectories), -1)
    for name in known:
        markers.marker(name)
        label = name if name in labels else strip_prefix(name)
        if label not in labels:
            raise UsageError(f"{name!r} is said to be known, but is none of the labels")
        for k, trajectory in enumerate(trajectories):
            if any(markers.names[piece.point] == name for piece in trajectory.pieces):
                fixed[k] = labels.index(label)
    return fixed


def _search_seeds(template: Template, markers: Markers) -> list[Seed]:
    seeds: list[Seed] = []
    for frame in choose_seed_frames(markers, SEED_FRAMES).tolist():
        seeds += find_seeds(template, markers.positions[frame], frame)[:SEEDS_PER_FRAME]
    return sorted(seeds, key=lambda seed: seed.cost)[:SEEDS_FOLLOWED]


def _choose_pose_frames(
    markers: Markers, trajectories: list[Trajectory], seed_frames: list[int]
) -> IntArray:
    """Return frames evenly spread, with some of every trajectory among them."""
    frames = set(choose_even_frames(len(markers), POSE_FRAMES).tolist()) | set(seed_frames)
    pieces = [piece for trajectory in trajectories for piece in trajectory.pieces]
    for piece in sorted(pieces, key=lambda piece: piece.first - piece.last):
        length = piece.last - piece.first + 1
        wanted = min(length, FRAMES_PER_FRAGMENT)
        inside = sum(piece.first <= t <= piece.last for t in frames)
        if inside < wanted and len(frames) < MAX_POSE_FRAMES:
            frames |= set((piece.first + choose_even_frames(length, wanted)).tolist())
    return np.array(sorted(frames))


def _spread_seed(problem: LabelProblem, seed: Seed, fixed: IntArray) -> LabelState:
    """Return the state of a seed's labels, for trajectories that are seen in its frame."""
    labels = fixed.copy()
    taken = set(fixed[fixed >= 0].tolist())
    for k, trajectory in enumerate(problem.trajectories):
        point = trajectory.point_at(seed.frame)
        label = -1 if point is None else int(seed.columns[point])
        if fixed[k] < 0 and label not in taken:
            labels[k] = label
    return problem.spread_from_seed(labels, seed)


def _describe(
    markers: Markers,
    problem: LabelProblem,
    comparison: Comparison,
    found: TrajectoryLabels,
    fixed: IntArray,
) -> list[LabelledFragment]:
    names, rows = problem.template.names, []
    for k, trajectory in enumerate(problem.trajectories):
        label = int(found.labels[k])
        margin, misfit, code = 0.0, MAX_COST, "unlabelled"
        if label >= 0:
            margin = min(found.margins[k], comparison.margins[label], comparison.mirror_margin)
            misfit = float(comparison.state.cost[k, label])
            code = "near-tie" if margin < MIN_MARGIN else "sure"
            code = "misfit" if misfit > MAX_MISFIT else code
            code = "known" if fixed[k] >= 0 else code
        rows += [
            LabelledFragment(
                point=markers.names[piece.point],
                label=names[label] if label >= 0 else None,
                first=piece.first,
                last=piece.last,
                margin=float(margin),
                misfit=misfit,
                code=code,
            )
            for piece in trajectory.pieces
        ]
    return rows


def _doubt_poor_fit(fragments: list[LabelledFragment]) -> list[LabelledFragment]:
    """Return the same, with no sure label if too few points got one or most are out of place."""
    labelled = [fragment for fragment in fragments if fragment.label is not None]
    total = sum(fragment.frame_count for fragment in fragments)
    share = sum(fragment.frame_count for fragment in labelled) / max(total, 1)
    misfits = [fragment.misfit for fragment in labelled]
    if share >= MIN_LABELLED_SHARE and np.median(misfits) <= MAX_MEDIAN_MISFIT:
        return fragments
    return [f._replace(code="poor-fit") if f.code == "sure" else f for f in fragments]
