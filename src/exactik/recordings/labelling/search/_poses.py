"""Poses of the figure in chosen frames under given labels, and where every point is on every bone.

A point of label j stays at one place of j's bone. How far that is from the marker's own place, and
how much it moves about, is what the label costs:

    C_ij = (ν + 3)/2 · log(1 + |b_ij − p_j|² / νσ_j²) + 3 log(σ_j / σ_0) + v_ij² / 2σ_v²

with b_ij the mean place of trajectory i in the frame of j's bone, v_ij its spread over time, p_j
the place of marker j on the figure and σ_j how far it may be from there; in sizes of the figure.
The first two parts are the negative logarithm of Student's t: most markers are where they should
be, some (on thighs, shanks, arms) anywhere along their bone. Poses cost what they are away from
rest, ½ Σ (q_d / σ_d)² with σ_d a share of the range of the dof, so that a head turned backwards
loses against one whose markers are named otherwise.

The figure is brought to the size of the subject bone by bone, once most labels are known. A subject
whose trunk is long and whose legs are short has markers centimetres from where a figure
of one size for all has them, as far as the next marker.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from exactik.model.motion import Markers, choose_even_frames
from exactik.recordings.calibration import calibrate, propose_mapping
from exactik.recordings.labelling.search._seed import Seed, move_roots
from exactik.recordings.labelling.search._template import (
    PLACE_SD,
    Template,
    make_template,
    size_cost,
)
from exactik.recordings.labelling.search._trajectories import Trajectory
from exactik.recordings.tracking import (
    TrackingProblem,
    follow_frames,
    make_tracking_problem,
    solve_frames,
)
from exactik.solvers import Auto
from exactik.typing import Array, BoolArray, IntArray

SPREAD_SD = 0.015
"""[m] of a point on its bone over time: skin, and poses found with markers that are not in place.
On the wrong side of a joint a point moves by several centimetres."""
PLACE_TAIL = 4.0  # ν, degrees of freedom of Student's t
ROBUST_WIDTH = 0.06  # [m] from where on a point pulls less: twice what places are off
MISSING_COST = 2.0
"""Of a label that is missing beside others: some are hidden or left out, so that it must weigh less
than two points that are a little out of place."""
MIN_TRUSTED, MIN_TRUSTED_SHARE = 4, 0.5
"""Labels, and their share of the most in any frame, that tell the pose of a frame."""
MAX_CARRY_S = 0.06  # [s] that a pose holds beyond them: a walking foot moves by one of its lengths
MAX_COST = 12.0
"""Of a trajectory and a label, at most, and of a trajectory without: 20 cm from its place, or 7 cm
of spread."""
DESCENT = Auto(
    metric="dof",
    tolerance=1e-3,
    max_iterations=40,
    initial_damping=1e-3,
    detour=False,
    escape=False,
)
FIT_FRAMES = 16  # of the poses that are known
MAX_FIT_MISFIT = 6.0  # cost of a label that takes part: beyond it the label itself is in question
MIN_FIT_LABELS = 8  # of fewer, bones are not told apart


@dataclass(frozen=True, eq=False)
class LabelState:
    """Labels and the poses that go with them."""

    labels: IntArray  # of each trajectory, (n,); −1 for none
    q: Array  # poses in the chosen frames, (F, nq)
    scale: float  # of the subject in sizes of the figure
    cost: Array  # C of each trajectory and label, (n, M)
    weight: Array  # share of the frames in which each trajectory is seen, (n,)
    seen: IntArray  # frames in which each tells something, as the pose is known, (n,)
    pose_cost: float  # mean over the frames of what poses cost
    template: Template  # the labels

    @property
    def missing(self) -> int:
        """Labels that are missing beside others."""
        return self.template.count_missing(np.isin(np.arange(self.cost.shape[1]), self.labels))

    @property
    def total(self) -> float:
        """Cost of all labels, those that are missing included, of the poses and of the size."""
        has = self.labels >= 0
        cost = np.full(len(self.labels), MAX_COST)
        cost[has] = np.minimum(self.cost[np.flatnonzero(has), self.labels[has]], MAX_COST)
        rest = self.pose_cost + MISSING_COST * self.missing + size_cost(self.scale)
        return float(cost @ self.weight) + rest


@dataclass(frozen=True, eq=False)
class LabelProblem:
    """What labels are sought for."""

    template: Template  # the labels, on a figure of its own size
    trajectories: list[Trajectory]  # of the recording
    frames: IntArray  # in which poses are found, (F,), in the order of time
    # Of the trajectories in these frames [m], (n, F, 3); not a number where not seen
    positions: Array
    problem: TrackingProblem  # of following labels, with no targets yet

    @property
    def label_count(self) -> int:
        """Number of labels."""
        return len(self.template.names)

    def select(self, rows: IntArray) -> LabelProblem:
        """Return the problem of some of its frames alone, by their rows, (n,)."""
        return replace(self, frames=self.frames[rows], positions=self.positions[:, rows])

    def with_figure(self, template: Template) -> LabelProblem:
        """Return the same with another figure that has the same labels."""
        problem = _make_tracking_problem(template, self.problem.rate)
        return replace(self, template=template, problem=problem)

    def make_targets(self, labels: IntArray, scale: float) -> TrackingProblem:
        """Return the problem of following these labels, over the scale."""
        position = np.full((len(self.frames), self.label_count, 3), np.nan)
        for k in np.flatnonzero(labels >= 0):
            there = np.isfinite(self.positions[k, :, 0])
            position[there, labels[k]] = self.positions[k, there] / scale
        return self.problem.with_targets(
            position=position, robust_weight=np.ones(position.shape[:2])
        )

    def spread_from_seed(self, labels: IntArray, seed: Seed) -> LabelState:
        """Return the poses of all frames, followed from a seed's in both directions of time."""
        asked = self.make_targets(labels, seed.scale)
        options = DESCENT.options(asked.frame_problem)
        middle = int(np.argmin(np.abs(self.frames - seed.frame)))
        q = np.empty((len(self.frames), len(seed.q)))
        for rows in (np.arange(middle, len(q)), np.arange(middle, -1, -1)):
            q[rows] = follow_frames(asked, options, rows, seed.q).q
        return self.judge(labels, q, seed.scale)

    def refit(self, labels: IntArray, state: LabelState) -> LabelState:
        """Return the state with other labels, each frame solved from the pose that it has."""
        asked = self.make_targets(labels, state.scale)
        every, options = np.arange(len(self.frames)), DESCENT.options(asked.frame_problem)
        return self.judge(labels, solve_frames(asked, options, every, state.q).q, state.scale)

    def judge(self, labels: IntArray, q: Array, scale: float) -> LabelState:
        """Return the state of poses: what every trajectory costs as every label."""
        template = self.template
        pose = template.skeleton.forward(q)
        bones, column_of = np.unique(template.bones, return_inverse=True)
        mean = np.full((len(self.trajectories), len(bones), 3), np.nan)
        spread = np.full((len(self.trajectories), len(bones)), np.nan)
        seen = np.isfinite(self.positions[:, :, 0])
        trusted = self._find_trusted(labels, seen)
        for k in range(len(self.trajectories)):
            rows = np.flatnonzero(seen[k] & trusted)
            if len(rows) == 0:
                continue
            from_bone = self.positions[k, rows, None] / scale - pose.positions[rows][:, bones]
            local = np.einsum("fbji,fbj->fbi", pose.rotations[rows][:, bones], from_bone)
            mean[k] = local.mean(axis=0)
            spread[k] = np.sqrt(local.var(axis=0).sum(axis=1))
        miss = mean[:, column_of] - template.points
        off = np.log1p((miss**2).sum(axis=2) / (PLACE_TAIL * template.sd**2))
        cost = 0.5 * (PLACE_TAIL + 3.0) * off + 3.0 * np.log(template.sd / PLACE_SD)
        cost += spread[:, column_of] ** 2 / (2.0 * SPREAD_SD**2)
        return LabelState(
            labels=labels,
            q=q,
            scale=scale,
            cost=np.where(np.isnan(cost), MAX_COST, cost),
            weight=seen.mean(axis=1),
            seen=(seen & trusted).sum(axis=1),
            pose_cost=self._pose_cost(q[trusted]),
            template=template,
        )

    def _pose_cost(self, q: Array) -> float:
        if len(q) == 0:
            return 0.0
        skeleton = self.template.skeleton
        away = skeleton.difference(q, np.tile(skeleton.neutral(), (len(q), 1)))
        return float(0.5 * (away**2 @ self.template.dof_precision).mean())

    def _find_trusted(self, labels: IntArray, seen: BoolArray) -> BoolArray:
        """Return the frames whose pose enough labels tell, (F,)."""
        labelled = seen[labels >= 0].sum(axis=0)
        trusted = labelled >= max(MIN_TRUSTED, MIN_TRUSTED_SHARE * labelled.max(initial=0))
        # A pose holds for some hundredths of a second more: enough to name what is seen again.
        reach = max(1, round(MAX_CARRY_S * self.problem.rate))
        known = self.frames[trusted]
        if len(known) == 0:
            return trusted
        after = np.clip(np.searchsorted(known, self.frames), 0, len(known) - 1)
        before = np.maximum(after - 1, 0)
        away = np.minimum(np.abs(known[after] - self.frames), np.abs(known[before] - self.frames))
        return trusted | (away <= reach)


def make_label_problem(
    template: Template, markers: Markers, trajectories: list[Trajectory], frames: IntArray
) -> LabelProblem:
    """Return the problem of labelling trajectories by poses in these frames."""
    positions = np.stack([t.positions_at(markers, frames) for t in trajectories])
    return LabelProblem(
        template=template,
        trajectories=trajectories,
        frames=frames,
        positions=positions,
        problem=_make_tracking_problem(template, markers.rate),
    )


def _make_tracking_problem(template: Template, rate: float) -> TrackingProblem:
    nothing = Markers(np.zeros((1, len(template.names), 3)), template.names, rate)
    problem = make_tracking_problem(
        template.skeleton,
        nothing,
        robust="huber",
        width=ROBUST_WIDTH,
        weights=(PLACE_SD / template.sd) ** 2,
    )
    return problem.with_targets(rest_weight=PLACE_SD**2 * template.dof_precision[None])


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
