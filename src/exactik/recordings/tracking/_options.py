"""What `track` decides by: settings with their units, reasons and what holds them.

Thresholds that nobody changes are constants of the stage that they belong to. "By hand" says that
no sweep is on record: the value was set while the stage was written, and its tests and
`make bench ARGS=tracking` hold the result (times, costs, jumps and the share of frames near the
best known cost, on two takes of HDM05 and a synthetic performance). Shares and ratios have no unit.
"""

from __future__ import annotations

from dataclasses import dataclass

from exactik.solvers import Auto, CompiledMethod


@dataclass(frozen=True)
class AssessmentOptions:
    """What is said about the result; nothing here changes a pose.

    Held by tests/tracking/test_track.py, test_track_hdm05.py and test_report.py.
    """

    # Relative gradient up to which a frame whose descent stalled counts as converged: what is left
    # of the pose to find is far below the noise
    converged_gradient: float = 1e-3
    # [rad or m] standard deviation up to which a value counts as measured: 95 % of such values are
    # within 8° of the truth, and nearly all within 10° (docs/verdict.md has how many are)
    measured_sd: float = 0.071
    # [rad or m] standard deviation above which nothing determines a value; in the median over the
    # recording, that of a dof which is never determined
    open_sd: float = 0.5
    open_sd_frames: int = 24  # by which that is judged
    # Share by which a frame costs more than the best solution found for it, above which that is
    # said: "within 1 %" of the benchmarks
    cost_above_best: float = 0.01
    # The same at the worst frame of a segment, for the segment to be listed
    segment_cost_above_best: float = 0.05
    # Weight of a robust loss below which a marker was as good as left out
    ignored_weight: float = 0.2


WARM_START = Auto(metric="dof", tolerance=1e-7, initial_damping=1e-3, detour=False, escape=False)
COLD_START = Auto(metric="dof", tolerance=1e-3, max_iterations=60, detour=False, escape=False)


@dataclass(frozen=True)
class TrackingOptions:
    """What `track` decides by beyond its own arguments; seldom worth a change.

    Attributes:
        warm_start: method of descents from the pose of a frame nearby, for solver="auto". Tolerance
            1e-7: at 1e-4 errors are far below the noise, but not of what markers hardly determine,
            such as the bends of a neck against each other. Where a descent stopped there, rounding
            grew from frame to frame by extrapolation, to 1 rad after 200 frames; now frames forget
            it (test_rounding_does_not_choose_the_pose). That costs 2 to 15 % of the time. A first
            damping of 1e-3 because such starts are near: chosen with the race of `make bench
            ARGS=tracking`. A detour or an escape would leave the solution that is followed.
        cold_start: method of descents from elsewhere: only the best is solved on, so that a
            tolerance of 1e-3 and 60 iterations are enough.
        segment_frames: length of the segments that are solved by themselves in the first pass and
            while looking for branches; fixed, so that results do not depend on the number of
            threads. Long enough that seams are rare.
        spike_min_distance: [m] that a spike stands out from the line through its neighbours in
            time; several times the noise of cameras. By hand;
            test_spikes_are_told_from_fast_motion.
        spike_max_acceleration: [m/s²] beyond what bodies do: a sample that needs more is a spike. A
            marker that circles at 8 m/s half a metre from its axis, in the same test, has 128.
        huber_width: c of the Huber loss, in standard deviations of the markers along each axis.
            Textbooks have 1.345 for one coordinate; residuals here are lengths in space. By hand.
        tukey_width: c of the Tukey loss, likewise; textbooks have 4.685. By hand.
        neighbour_count: markers to look for around a missing one; 0 leaves gaps as they are. Three
            tell a rigid motion; two more let one of them be lost or in line.
        crossing_seconds: [s] for which a change of solution is charged with what the pose half-way
            between the two costs more (docs/maths.md §15): an estimate of what smoothing pays
            there. Of 1, 4 and 12 ms, on ten recordings smoothed at 12 Hz, 4 ms gave the least cost
            where most is at stake, by 4 %, and nowhere more than 0.3 % above no branches at all (1
            ms: 0.7 %).
        interval_frames: between two frames at which branches are looked for: a quarter of a second
            at 120 Hz. The time of the stage is inversely proportional to it. By hand.
        poor_cost: in the median cost of a frame: above it a path has gone wrong and its frames are
            solved first, from other poses, once: of 48 recordings a second round gained 0.1 % of
            the cost in one. By hand; test_a_path_gone_wrong_is_mended_without_branches.
        max_poor_segments: that are, the longest first: where there are more, the markers are wrong,
            not the path. Bounds the time; test_the_longest_of_many_wrong_stretches_are_mended.
        max_lost_share: of what determines a dof (Σ w |∂x/∂v|²), up to which it goes by the markers
            that are left. By hand; test_an_arm_lost_for_two_seconds_is_flagged.
        course_pull: of the curvature that was lost: how firmly a dof is pulled to its course from
            before to after the gap. By hand; test_an_arm_lost_for_two_seconds_goes_on.
        max_turn_rate: [rad/s] beyond its neighbours in time, above which a bone's turn is a jump.
            By hand.
        max_marker_rate: [m/s] likewise, of a marker against its target. By hand.
        chunk_frames: that are smoothed together; fixed, so that results do not depend on the number
            of threads.
        assessment: what is said about the result.
    """

    warm_start: CompiledMethod = WARM_START
    cold_start: CompiledMethod = COLD_START
    segment_frames: int = 2000
    spike_min_distance: float = 0.02
    spike_max_acceleration: float = 400.0
    huber_width: float = 2.5
    tukey_width: float = 7.0
    neighbour_count: int = 5
    crossing_seconds: float = 0.004
    interval_frames: int = 28
    poor_cost: float = 8.0
    max_poor_segments: int = 80
    max_lost_share: float = 0.6
    course_pull: float = 0.3
    max_turn_rate: float = 60.0
    max_marker_rate: float = 3.0
    chunk_frames: int = 400
    assessment: AssessmentOptions = AssessmentOptions()


DEFAULT_OPTIONS = TrackingOptions()
