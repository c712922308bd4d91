"""Labels of one frame from nothing: the figure is bent into the cloud of points.

From several headings and postures the figure is brought to the points and bent towards them, every
marker to the mean of the points that it may be, each by its share (`assign_softly`). The shares
sharpen as the figure comes nearer, until each marker has one point or none. A mirror image loses:
knees and feet have one direction, and limits keep it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.errors import UsageError
from exactik.model import Skeleton
from exactik.model.motion import Markers, choose_even_frames
from exactik.recordings.labelling.search._assignment import assign, assign_softly
from exactik.recordings.labelling.search._template import PLACE_SD, Template, size_cost
from exactik.recordings.tracking import TrackingProblem, make_tracking_problem, solve_frames
from exactik.solvers import Auto
from exactik.spatial import axis_rotation
from exactik.typing import Array, IntArray

ALIGNMENTS = ("whole", "bottom", "top")
"""How the figure is brought to the points: as a whole, of the size that they are tall, or at its
own size by its lowest or its highest marker, as of many sets only legs or arms are worn."""
HEADINGS = 8  # from which the figure starts: 45° apart, half of it is within the reach of a descent
SIGMAS = tuple(np.geomspace(0.22, 0.03, 14).tolist())
"""[m] that the shares sharpen through: from the size of a limb, as a start may be off by one, to
how far a marker is from its place on a figure of the right size."""
PRUNE_STEP, STARTS_KEPT = 7, 4  # after so many steps only the best headings of each alignment go on
OUTLIER_SIGMAS = 3.0  # σ beyond which a point is none of the markers
MAX_LABEL_DISTANCE = 0.15  # [m] at the end, of a point from the place of its marker
MISSING_LABEL_SHARE = 0.15
"""What a label costs that is missing beside others, in shares of a point without a label: some are
hidden or left out, but points are seldom none of the set."""
MIN_SCALE, MAX_SCALE = 0.45, 1.4  # of the figure: from a small child to a tall man, for 1.75 m
DESCENT = Auto(
    metric="dof",
    tolerance=1e-3,
    max_iterations=12,
    initial_damping=1e-2,
    detour=False,
    escape=False,
)
MIN_POINTS = 6  # in a frame: of fewer no shape is told
MIN_SEEN_SHARE = 0.8  # of the most points that any frame has, which a frame must have


class Seed(NamedTuple):
    """The labels of one frame."""

    frame: int  # counted from 0
    columns: IntArray  # label of each point, (N,); −1 for none
    q: Array  # pose of the figure, (nq,), fitted to points over `scale`
    scale: float  # of the subject in sizes of the figure
    # Mean over the points of squared distances, with what the pose costs; points without a label
    # count as if they were at the largest distance, labels that are missing beside others a share
    # of that [m²]
    cost: float


def find_seeds(template: Template, positions: Array, frame: int) -> list[Seed]:
    """Return labellings of a frame, the best first, each label set once.

    Args:
        template: the labels; z up.
        positions: of the points of the frame [m], (N, 3), not a number where missing.
        frame: its number.
    """
    starts = np.tile(template.skeleton.neutral(), (HEADINGS * len(ALIGNMENTS), 1))
    problem = _make_problem(template, len(starts))
    vagueness = (template.sd / PLACE_SD) ** 2
    # Of a normal distribution, its width counts as well: what may be anywhere says little.
    vague_cost = 6.0 * PLACE_SD**2 * np.log(template.sd / PLACE_SD)
    seen = np.isfinite(positions[:, 0])
    points = positions[seen]
    q, scale = _bring_to_points(problem, starts, points)
    for step, sigma in enumerate(SIGMAS):
        model = place_markers(problem, q)
        square = _square_distances(points / scale[:, None, None], model)
        if step == PRUNE_STEP:
            best = _choose_starts(square)
            q, scale, square = q[best], scale[best], square[best]
        share = assign_softly(square / vagueness, sigma, OUTLIER_SIGMAS * sigma)
        q, scale = _fit(problem, q, scale, points, share)
    seeds: dict[tuple[int, ...], Seed] = {}
    model = place_markers(problem, q)
    away = template.skeleton.difference(q, np.tile(template.skeleton.neutral(), (len(q), 1)))
    for k in range(len(q)):
        square = _square_distances(points / scale[k], model[k]) / vagueness
        chosen = assign(square, MAX_LABEL_DISTANCE**2)
        columns = np.full(len(positions), -1)
        columns[seen] = chosen
        cost = _cost(template, square + vague_cost, chosen)
        pose_and_size = float(away[k] ** 2 @ template.dof_precision) + 2.0 * size_cost(scale[k])
        cost += PLACE_SD**2 * pose_and_size / len(points)
        seed = Seed(frame=frame, columns=columns, q=q[k], scale=float(scale[k]), cost=cost)
        key = tuple(columns.tolist())
        if key not in seeds or seed.cost < seeds[key].cost:
            seeds[key] = seed
    return sorted(seeds.values(), key=lambda seed: seed.cost)


def turn_seed(skeleton: Skeleton, seed: Seed, mirror: IntArray) -> Seed:
    """Return the seed with left and right exchanged and the figure turned round where it stands."""
    pelvis = skeleton.forward(seed.q[None]).positions[:, 0]
    q = move_roots(skeleton, seed.q[None], axis_rotation("z", np.pi)[None], pelvis, pelvis)[0]
    columns = np.where(seed.columns >= 0, mirror[seed.columns], -1)
    return seed._replace(columns=columns, q=q)


def _choose_starts(square: Array) -> IntArray:
    """Return the best starts of each alignment, by squared distances [m²], (K, N, M).

    From points to markers and back: a start in the wrong place leaves some of both alone.
    """
    apart = square.min(axis=2).mean(axis=1) + square.min(axis=1).mean(axis=1)
    by_alignment = np.argsort(apart.reshape(-1, HEADINGS), axis=1, kind="stable")[:, :STARTS_KEPT]
    return (by_alignment + HEADINGS * np.arange(len(by_alignment))[:, None]).ravel()


def place_markers(problem: TrackingProblem, q: Array) -> Array:
    """Return where the markers of poses are [m], (n, M, 3)."""
    frames = np.zeros(len(q), dtype=int)
    zero = problem.with_targets(position=np.zeros((1, len(problem.names), 3)))
    return -zero.residuals(np.ascontiguousarray(q), frames)


def _make_problem(template: Template, count: int) -> TrackingProblem:
    nothing = Markers(np.zeros((count, len(template.names), 3)), template.names, 1.0)
    weight = (PLACE_SD / template.sd) ** 2
    problem = make_tracking_problem(template.skeleton, nothing, weights=weight)
    return problem.with_targets(rest_weight=PLACE_SD**2 * template.dof_precision[None])


def _bring_to_points(problem: TrackingProblem, starts: Array, points: Array) -> tuple[Array, Array]:
    """Return poses turned to their headings and moved onto the points, and scales."""
    model = place_markers(problem, starts)
    height = np.std(points[:, 2]) / np.maximum(np.std(model[0, :, 2]), 1e-3)
    scale, target = np.ones(len(starts)), np.tile(points.mean(axis=0), (len(starts), 1))
    for k in range(len(starts)):
        z, alignment = model[k, :, 2], ALIGNMENTS[k // HEADINGS]
        if alignment == "whole":
            scale[k] = np.clip(height, MIN_SCALE, MAX_SCALE)
        elif alignment == "bottom":
            target[k, 2] = points[:, 2].min() - z.min() + z.mean()
        else:
            target[k, 2] = points[:, 2].max() - z.max() + z.mean()
    angles = 2.0 * np.pi * (np.arange(len(starts)) % HEADINGS) / HEADINGS
    turns = np.stack([axis_rotation("z", angle) for angle in angles])
    pivot, target = model.mean(axis=1), target / scale[:, None]
    return move_roots(problem.skeleton, starts, turns, pivot, target), scale


def move_roots(skeleton: Skeleton, q: Array, turns: Array, pivot: Array, target: Array) -> Array:
    """Return poses, (n, nq), each turned about a point that then comes to its target.

    Args:
        skeleton: whose roots are free to move.
        q: (n, nq).
        turns: rotations, (n, 3, 3).
        pivot: [m], (n, 3).
        target: [m], (n, 3).
    """
    moved, pose, tree = q.copy(), skeleton.forward(q), skeleton.tree
    for k in np.flatnonzero(skeleton.parents < 0):
        bone = skeleton.bones[k]
        coordinates = slice(int(tree.first_q[k + 1]), int(tree.first_q[k + 2]))
        pre, post = bone.constant_rotations
        p_world_root = np.einsum("nij,nj->ni", turns, pose.positions[:, k] - pivot) + target
        moved[:, coordinates] = bone.joint.coordinates_for(
            (p_world_root - bone.offset) @ pre, pre.T @ turns @ pose.rotations[:, k] @ post.T
        )
    return moved


def _fit(
    problem: TrackingProblem, q: Array, scale: Array, points: Array, share: Array
) -> tuple[Array, Array]:
    """Return poses and scales bent towards the points by their shares, (K, N, M)."""
    confidence = share.sum(axis=1)
    target = np.einsum("knm,ni->kmi", share, points) / np.maximum(confidence, 1e-9)[..., None]
    asked = problem.with_targets(
        position=np.ascontiguousarray(target / scale[:, None, None]),
        confidence=np.ascontiguousarray(confidence),
    )
    every = np.arange(len(q))
    q = solve_frames(asked, DESCENT.options(problem.frame_problem), every, q).q
    # The size that brings the figure nearest to its targets, about their common centre.
    model = place_markers(problem, q)
    weight = confidence / np.maximum(confidence.sum(axis=1, keepdims=True), 1e-9)
    model_centered = model - np.einsum("km,kmi->ki", weight, model)[:, None]
    target_centered = target - np.einsum("km,kmi->ki", weight, target)[:, None]
    above = np.einsum("km,kmi,kmi->k", weight, model_centered, target_centered)
    below = np.einsum("km,kmi,kmi->k", weight, model_centered, model_centered)
    new_scale = np.clip(above / np.maximum(below, 1e-9), MIN_SCALE, MAX_SCALE)
    # Poses are of points over scale: with another scale the root must be elsewhere.
    center = np.einsum("km,kmi->ki", weight, target) / new_scale[:, None]
    pivot = np.einsum("km,kmi->ki", weight, model)
    no_turn = np.broadcast_to(np.eye(3), (len(q), 3, 3))
    return move_roots(problem.skeleton, q, no_turn, pivot, center), new_scale


def _square_distances(points: Array, model: Array) -> Array:
    return ((points[..., :, None, :] - model[..., None, :, :]) ** 2).sum(axis=-1)


def _cost(template: Template, square: Array, chosen: IntArray) -> float:
    """Return the mean squared distance over the points, see `Seed`."""
    rows = np.flatnonzero(chosen >= 0)
    pairs = np.minimum(square[rows, chosen[rows]], MAX_LABEL_DISTANCE**2).sum()
    found = np.isin(np.arange(square.shape[1]), chosen)
    alone = len(square) - len(rows) + MISSING_LABEL_SHARE * template.count_missing(found)
    return float((pairs + alone * MAX_LABEL_DISTANCE**2) / len(square))


def choose_seed_frames(markers: Markers, count: int) -> IntArray:
    """Return frames, evenly spread, that have most of the points that any frame has, (n,)."""
    seen = np.isfinite(markers.positions).all(axis=2).sum(axis=1)
    most = int(seen.max(initial=0))
    if most < MIN_POINTS:
        raise UsageError(
            f"no frame of the recording has {MIN_POINTS} points; labels by shape need as many"
        )
    good = np.flatnonzero(seen >= max(MIN_POINTS, MIN_SEEN_SHARE * most))
    return good[choose_even_frames(len(good), count)]
