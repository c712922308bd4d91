"""The motion found for a recording, and how far to trust it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from exactik._arguments import require_html_path
from exactik._registry import find
from exactik.model import Skeleton
from exactik.model.motion import Markers, Motion, Swap, choose_even_frames
from exactik.recordings.angles import (
    GaitCycles,
    JointAngles,
    compute_angle_rates,
    compute_joint_angles,
    find_body_segments,
    find_gait_cycles,
    is_body,
    read_normal_gait,
)
from exactik.recordings.tracking._continuity import find_jumping_bones
from exactik.recordings.tracking._error_bars import (
    FigureErrors,
    QualityArray,
    are_minima,
    compute_combination_deviations,
    compute_standard_deviations,
    find_worst_quality,
    measure_frame_errors,
)
from exactik.recordings.tracking._options import TrackingOptions
from exactik.recordings.tracking._problem import UNKNOWN_SD, TrackingProblem, match_markers
from exactik.recordings.tracking.smoothing import Smoothing
from exactik.typing import Array, BoolArray, IntArray

if TYPE_CHECKING:
    from exactik.recordings.diagnosis import (
        Diagnosis,
        Finding,
        RecordingContext,
        RecordingVerdict,
    )

ANGLE_POSES = 16  # by which it is judged which dofs an angle changes with
MIN_ANGLE_RATE = 0.1  # of an angle to a dof, from which it does: a tenth of its error


@dataclass(frozen=True, eq=False, repr=False)
class Track:
    """What `track` found.

    Attributes:
        motion: the poses, inside the limits, angles without whole turns from frame to frame.
        names: of the markers that were used, (M,), as the skeleton has them.
        marker_errors: distance of every marker from its place on the figure [m], (T, M); not a
            number where it is missing.
        cost: ½ Σ w |r|² of the markers, (T,).
        projected_gradient: relative, of the last solve of each frame, (T,).
        ended: how that solve ended, (T,): "converged", "stalled" or "iteration-limit".
        iterations: of it, (T,).
        undetermined: dofs that had lost their markers and went by their course, (T, nv).
        excess_cost: share by which each frame costs more than the best solution that was found for
            it alone, (T,): what a continuous motion costs there; before smoothing.
        marker_weights: that a robust loss gave to the markers, 0 to 1, (T, M), else None.
        swaps: pairs of markers that were exchanged back, if the loss is robust.
        spikes: samples that were left out, (T, M): gross outliers if the loss is "auto", those that
            stand out from their neighbours in time if it is another; else empty.
        sigma: standard deviation of the markers along each axis [m]: given, or estimated.
        seconds: that it took.
        solver: name of the method.
        markers: the recording, as it was given.
        settings: arguments that `track` was called with, by name.
        options: thresholds of the stages.
        problem: what was solved: the markers without outliers, their weights and places on the
            figure, limits and locks.
        threads: that it was solved with.
        device: what the first pass ran on: "cpu", or "cuda" and the name of the GPU.
        smoothing: how firmly accelerations were held; None if frames were solved by themselves.
        frame_q: solutions of the frames by themselves, (T, nq), before they were smoothed.
        figure_errors: what is wrong with the figure and lasts, if it was fitted; None where it is
            taken to be right.
        context: what is known of the recording beyond this, such as which markers were left out
            and why; None unless `exactik.recordings.pipeline` made the track.
    """

    motion: Motion
    names: tuple[str, ...]
    marker_errors: Array
    cost: Array
    projected_gradient: Array
    ended: NDArray[np.str_]
    iterations: IntArray
    undetermined: BoolArray
    excess_cost: Array
    marker_weights: Array | None
    swaps: tuple[Swap, ...]
    spikes: BoolArray
    sigma: float
    seconds: float
    solver: str
    markers: Markers
    settings: Mapping[str, Any]
    options: TrackingOptions
    problem: TrackingProblem
    threads: int
    device: str = "cpu"
    smoothing: Smoothing | None = None
    frame_q: Array | None = None
    figure_errors: FigureErrors | None = None
    context: RecordingContext | None = None

    def __len__(self) -> int:
        """Number of frames."""
        return len(self.cost)

    def __repr__(self) -> str:
        error = 1e3 * self.mean_error
        return f"<Track of {self.skeleton.name!r}: {len(self)} frames, {error:.1f} mm a marker>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the verdict, and the motion with its markers."""
        return find("render_card")(self)

    @property
    def skeleton(self) -> Skeleton:
        """The figure."""
        return self.motion.skeleton

    @cached_property
    def recorded_names(self) -> dict[str, str]:
        """Name in the recording of each marker in use."""
        matches = match_markers(self.skeleton, self.markers)
        return {mine: name for name, mine in matches.items() if mine in self.names}

    @property
    def solved_positions(self) -> Array:
        """Markers as they were solved [m, world], (T, M, 3).

        Spikes are missing and swapped markers exchanged back, if the loss is robust.
        """
        return self.problem.targets.position

    @property
    def left_out(self) -> BoolArray:
        """Which samples were left out as gross outliers, (T, M); see `spikes`."""
        shape = self.marker_errors.shape
        return self.spikes if self.spikes.shape == shape else np.zeros(shape, dtype=bool)

    def measure_recorded_errors(self, m: int, frames: IntArray) -> Array:
        """Return how far marker m was recorded from its place [m], (n,), left out or not.

        By its name in the recording, whoever was exchanged with it.
        """
        column = self.markers.names.index(self.recorded_names[self.names[m]])
        at_origin = self.problem.select(frames).with_targets(
            position=np.zeros((len(frames), len(self.names), 3))
        )
        place = -at_origin.residuals(np.array(self.motion.q[frames]))[:, m]
        return np.linalg.norm(self.markers.positions[frames, column] - place, axis=1)

    @property
    def marker_points(self) -> Array:
        """Places of the markers in their bones [m], (1, M, 3), or (T, M, 3) if given by frame."""
        return self.problem.targets.point

    @property
    def errors_that_count(self) -> Array:
        """The same as `marker_errors` [m], (T, M), not a number for markers of weight 0 either."""
        counts = self.problem.counts
        return self.marker_errors if counts.all() else np.where(counts, self.marker_errors, np.nan)

    @cached_property
    def frame_errors(self) -> tuple[Array, Array]:
        """Mean and largest of `marker_errors` of each frame [m], (T,) each; NaN without markers."""
        return measure_frame_errors(self.marker_errors)

    @property
    def mean_error(self) -> float:
        """Mean of `errors_that_count` [m]."""
        errors = self.errors_that_count
        seen = np.isfinite(errors)
        return float(errors[seen].mean()) if seen.any() else float("nan")

    @property
    def converged(self) -> BoolArray:
        """Whether each frame's pose is a stationary point within the limits, (T,)."""
        limit = self.options.assessment.converged_gradient
        return (self.ended == "converged") | (self.projected_gradient <= limit)

    @cached_property
    def at_limits(self) -> BoolArray:
        """Which dofs sit on a limit, (T, nv)."""
        problem = self.problem.frame_problem
        coordinate = problem.box.coordinate
        q = self.motion.q[:, np.maximum(coordinate, 0)]
        on_limit = (q <= problem.lower) | (q >= problem.upper)
        return on_limit & (coordinate >= 0) & ~problem.locked

    @cached_property
    def status(self) -> NDArray[np.str_]:
        """One word a frame, (T,).

        "no-markers" (fewer than three), "not-converged", "gap", "at-limits" or "converged"; the
        first that holds.
        """
        words = np.full(len(self), "converged", dtype="U13")
        words[self.at_limits.any(axis=1)] = "at-limits"
        words[self.undetermined.any(axis=1)] = "gap"
        words[~self.converged] = "not-converged"
        words[np.isfinite(self.errors_that_count).sum(axis=1) < 3] = "no-markers"
        return words

    @cached_property
    def jumping_bones(self) -> BoolArray:
        """Which bones jump from each frame to the next, (T, B), see `find_jumps`."""
        return find_jumping_bones(self.problem, np.array(self.motion.q), self.options)

    @property
    def jumps(self) -> BoolArray:
        """Whether the pose jumps from each frame to the next though no marker does, (T,)."""
        return np.asarray(self.jumping_bones.any(axis=1))

    @cached_property
    def sd(self) -> Array:
        """Standard deviation of every dof [rad or m], (T, nv), from the truth.

        Of what changes from frame to frame, `noise_sd`, and of what is wrong with the figure and
        lasts: markers beside their landmarks, sizes, joints. Of a figure that was not fitted
        here, only the former is known. A dof at a limit has none.
        """
        return self.add_figure_errors(self.noise_sd, np.array(self.motion.q), self.at_limits)

    @cached_property
    def noise_sd(self) -> Array:
        """The part of `sd` that comes of the markers' noise [rad or m], (T, nv).

        By the exact Hessian of each frame; smoothing lessens what noise has part in it. What no
        marker determines has that of an angle of which nothing is known, 1.8 rad. Differences
        between frames are known so well.
        """
        q = np.array(self.motion.q)
        return compute_standard_deviations(
            self.problem, q, self.sigma, self.threads, self.smoothing
        )

    def compute_sd(self, frames: IntArray) -> Array:
        """Return `sd` of some frames (n,) [rad or m], (n, nv)."""
        if "sd" in vars(self):
            return self.sd[frames]
        some, q = self.problem.select(frames), np.ascontiguousarray(self.motion.q[frames])
        smoothing = None if self.smoothing is None else self.smoothing.select(frames)
        noise = compute_standard_deviations(some, q, self.sigma, self.threads, smoothing)
        return self.add_figure_errors(noise, q, self.at_limits[frames])

    def add_figure_errors(self, noise_sd: Array, q: Array, at_limits: BoolArray) -> Array:
        """Return standard deviations of dofs (n, nv) at poses (n, nq) with those of the figure.

        No more than that of an angle of which nothing is known; none for dofs at limits (n, nv).
        """
        if self.figure_errors is None:
            return noise_sd
        lasting = self.figure_errors.compute_dof_variances(q)
        sd = np.minimum(np.sqrt(noise_sd**2 + lasting), UNKNOWN_SD)
        return np.where(at_limits | self.problem.frame_problem.locked, noise_sd, sd)

    @cached_property
    def never_determined(self) -> tuple[str, ...]:
        """Dofs that the markers hardly determine in any frame, see `AssessmentOptions.open_sd`.

        Judged by some frames spread over those that have three markers or more.
        """
        options, problem = self.options.assessment, self.problem
        seen = np.flatnonzero(np.isfinite(self.errors_that_count).sum(axis=1) >= 3)
        there = seen if len(seen) > 0 else np.arange(len(self))
        frames = there[choose_even_frames(len(there), options.open_sd_frames)]
        q = np.array(self.motion.q[frames])
        sd = compute_standard_deviations(problem.select(frames), q, self.sigma, 1)
        is_open = (np.median(sd, axis=0) > options.open_sd) & ~problem.frame_problem.locked
        return tuple(np.array(self.skeleton.dof_names)[is_open].tolist())

    @cached_property
    def certified(self) -> BoolArray:
        """Whether the solution of each frame by itself is at a minimum, (T,).

        Stationary, and the exact Hessian of the free dofs without negative curvature.
        """
        q = self.motion.q if self.frame_q is None else self.frame_q
        return self.converged & are_minima(self.problem, np.array(q))

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """All that was found out about the recording, the gravest first.

        What was measured and is fine, too, with severity "good". `verdict` and `attention` are
        views of it, as are the report, the bookmarks of the player and the summary as JSON.
        """
        return self._diagnosis.findings

    @cached_property
    def _diagnosis(self) -> Diagnosis:
        return find("diagnose")(self)

    @property
    def quality(self) -> QualityArray:
        """What every value is worth: a `Quality` for each dof in each frame, (T, nv)."""
        return self._diagnosis.quality

    @property
    def quality_finding(self) -> NDArray[np.int32]:
        """Which of `findings` made each value what it is, (T, nv); −1 where none did."""
        return self._diagnosis.quality_finding

    @cached_property
    def joint_quality(self) -> QualityArray:
        """The worst quality of the dofs of each joint, (T, B), in the order of `GRAVITY`."""
        bones = np.arange(len(self.skeleton.bones))[:, None]
        return find_worst_quality(self.quality, bones == np.asarray(self.skeleton.dof_bones))

    @cached_property
    def angle_quality(self) -> QualityArray:
        """The worst quality of the dofs that each of the `angles` changes with, (T, count)."""
        names, segments = self.angles().names, find_body_segments(self.skeleton)
        q = np.array(self.motion.q[choose_even_frames(len(self), ANGLE_POSES)])
        rates = np.abs(compute_angle_rates(segments, names, q)).mean(axis=0)
        return find_worst_quality(self.quality, rates > MIN_ANGLE_RATE)

    @cached_property
    def attention(self) -> list[Finding]:
        """Segments of frames that deserve a look, with the reason, the worst first."""
        return find("list_stretches")(self.findings)

    @cached_property
    def verdict(self) -> RecordingVerdict:
        """Whether the recording as a whole is good, usable with care or not to be used; why."""
        return find("judge_findings")(self.findings)

    @property
    def why(self) -> list[str]:
        """One sentence a frame; `status` has the same in a word."""
        return find("explain_frames")(self)

    def angles(self) -> JointAngles:
        """Return the joint angles, as they are published, with their standard deviations.

        See docs/angles.md for names and signs. Deviations are those of `sd` and `noise_sd`,
        propagated with the correlations between dofs.
        """
        return self._angles

    @cached_property
    def _angles(self) -> JointAngles:
        angles, q = compute_joint_angles(self.motion), np.array(self.motion.q)
        segments = find_body_segments(self.skeleton)
        shares = np.ones((len(q), self.skeleton.nv))
        if self.smoothing is not None:
            # Correlations are those of each frame alone; smoothing narrows the dofs they are of.
            alone = compute_standard_deviations(self.problem, q, self.sigma, self.threads)
            np.divide(self.noise_sd, alone, out=shares, where=alone > 0.0)

        def compute_rows(frames: IntArray) -> Array:
            return compute_angle_rates(segments, angles.names, q[frames]) * shares[frames, None]

        noise_sd = compute_combination_deviations(
            self.problem, q, self.sigma, self.threads, len(angles.names), compute_rows
        )
        return angles.with_sd(self.add_angle_errors(noise_sd, angles.names, q), noise_sd)

    def add_angle_errors(self, noise_sd: Array, names: tuple[str, ...], q: Array) -> Array:
        """Return standard deviations of angles [rad], (n, a), at poses (n, nq) with the figure's.

        No more than that of an angle of which nothing is known.
        """
        if self.figure_errors is None:
            return noise_sd
        rows = compute_angle_rates(find_body_segments(self.skeleton), names, self.figure_errors.q)
        lasting = self.figure_errors.compute_combination_variances(rows, q)
        return np.minimum(np.sqrt(noise_sd**2 + lasting), UNKNOWN_SD)

    def gait(self) -> GaitCycles:
        """Return the strides of the motion; none, and why, if it is no gait."""
        return self._gait

    @cached_property
    def _gait(self) -> GaitCycles:
        return find_gait_cycles(self.motion, known=self._know_feet())

    def _know_feet(self) -> BoolArray:
        """Return in which frames the markers tell where each foot is, (T, 2), right and left."""
        skeleton, known = self.skeleton, np.ones((len(self), 2), dtype=bool)
        bones = find_body_segments(skeleton).bones if is_body(skeleton) else {}
        is_told = ~self.undetermined.all(axis=0)  # other dofs are at rest throughout
        for k, foot in enumerate(("foot_r", "foot_l")):
            if foot in bones:
                carries = np.isin(skeleton.dof_bones, skeleton.find_ancestors(bones[foot]))
                known[:, k] = ~self.undetermined[:, carries & is_told].any(axis=1)
        return known

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        command: str = "",
        normal: str | os.PathLike[str] | None = None,
    ) -> None:
        """Write a report: one HTML file that needs nothing else.

        Args:
            path: of the file.
            command: that repeats the solve, to be printed in it.
            normal: .csv file with the laboratory's normal range of walking, see docs/report.md.
        """
        path = require_html_path("report", path)
        healthy = None if normal is None else read_normal_gait(normal)
        find("write_report")(self, path, command, normal=healthy)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the motion, see `Motion.save`."""
        self.motion.save(path)
