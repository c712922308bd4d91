"""The figure brought to the size of the subject, bone by bone, once most labels are known.

A subject whose trunk is long and whose legs are short has markers centimetres from where a figure
of one size for all has them, as far as the next marker.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from exactik.model.motion import Markers, choose_even_frames
from exactik.recordings.calibration import calibrate, propose_mapping
from exactik.recordings.labelling.search._poses import LabelProblem, LabelState
from exactik.recordings.labelling.search._seed import Seed, move_roots
from exactik.recordings.labelling.search._template import PLACE_SD, make_template
from exactik.typing import Array

FIT_FRAMES = 16  # of the poses that are known
MAX_FIT_MISFIT = 6.0  # cost of a label that takes part: beyond it the label itself is in question
MIN_FIT_LABELS = 8  # of fewer, bones are not told apart


def fit_size(
    problem: LabelProblem, seed: Seed, state: LabelState
) -> tuple[LabelProblem, Seed, LabelState]:
    """Return problem, seed and state with a figure of the subject's size, at scale 1."""
    template = problem.template
    rows = choose_even_frames(len(problem.frames), FIT_FRAMES)
    position = np.full((len(rows), problem.label_count, 3), np.nan)
    for k, label in enumerate(state.labels):
        if label >= 0 and state.cost[k, label] < MAX_FIT_MISFIT:
            there = np.isfinite(problem.positions[k, rows, 0])
            position[there, label] = problem.positions[k, rows][there]
    used = np.isfinite(position[:, :, 0]).any(axis=0)
    enough = np.isfinite(position[:, :, 0]).sum(axis=1) >= MIN_FIT_LABELS
    if np.count_nonzero(used) < MIN_FIT_LABELS or not enough.any():
        return problem, seed, state
    names = [template.names[k] for k in np.flatnonzero(used)]
    rate = problem.problem.rate * len(rows) / (problem.frames[-1] - problem.frames[0] + 1)
    markers = Markers(position[enough][:, used], tuple(names), rate)
    # Places of markers are off in the same way in every frame: all frames count as one.
    fitted = calibrate(
        template.skeleton,
        markers,
        bones=propose_mapping(template.skeleton, markers, geometry=False),
        offsets=False,
        robust=False,
        frames=len(markers),
        sigma=PLACE_SD * float(np.sqrt(len(markers))),
    ).skeleton
    sd = dict(zip(template.names, template.sd.tolist(), strict=True))
    sized = problem.with_figure(make_template(fitted, template.names, sd))
    q = _grow(problem, sized, state.q, state.scale)
    grown = seed._replace(q=_grow(problem, sized, seed.q[None], seed.scale)[0], scale=1.0)
    return sized, grown, sized.refit(state.labels, replace(state, q=q, scale=1.0))


def _grow(old: LabelProblem, new: LabelProblem, q: Array, scale: float) -> Array:
    """Return poses of the figure of the subject's size, roots where they were in the world."""
    place = old.template.skeleton.forward(q).positions[:, 0] * scale
    pivot = new.template.skeleton.forward(q).positions[:, 0]
    no_turn = np.broadcast_to(np.eye(3), (len(q), 3, 3))
    return move_roots(new.template.skeleton, q, no_turn, pivot, place)
