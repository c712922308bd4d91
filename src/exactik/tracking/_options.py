"""What `track` decides by: every threshold with its unit, its reason and what holds it.

A class for each stage. "By hand" says that no sweep is on record: the value was set while the stage
was written, and the named tests and `make bench ARGS=tracking` hold the result (times, costs, jumps
and the share of frames near the best known cost, on two takes of HDM05 and a synthetic
performance). Shares and ratios have no unit.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from exactik.solvers import Auto, CompiledMethod

__all__ = [
    "DEFAULT_OPTIONS",
    "AssessmentOptions",
    "BranchOptions",
    "FirstPassOptions",
    "GapOptions",
    "JumpOptions",
    "PreparationOptions",
    "SmoothingOptions",
    "TrackingOptions",
]


@dataclass(frozen=True)
class PreparationOptions:
    """Outliers, the first estimate of the noise, and markers filled in.

    Held by tests/tracking/test_track_bad_data.py and test_track_gaps.py.

    Attributes:
        spike_min_distance: [m] that a spike stands out from the line through its neighbours in
            time; several times the noise of cameras. By hand;
            test_spikes_are_told_from_fast_motion.
        spike_max_acceleration: [m/s²] beyond what bodies do: a sample that needs more is a spike.
            A marker that circles at 8 m/s half a metre from its axis, in the same test, has 128.
        swap_max_misfit: share of its old misfit that a pair may keep for its names to be exchanged
            back, if it never changes back in the recording: only clear cases. By hand;
            test_without_errors_a_robust_loss_changes_little.
        returning_swap_max_misfit: the same, if the pair changes back, which is evidence by itself;
            above 1, since among markers in line either way fits. By hand;
            test_markers_on_two_sides_of_a_wrist_are_exchanged_back.
        huber_width: c of the Huber loss, in standard deviations of the markers along each axis.
            Textbooks have 1.345 for one coordinate; residuals here are lengths in space. By hand.
        tukey_width: c of the Tukey loss, likewise; textbooks have 4.685. By hand.
        min_loss_noise: [m] standard deviation of the markers below which a robust loss gets no
            narrower, where it is estimated: better than any camera. Markers that a program made fit
            to rounding, and all that a descent passes on its way to them would be outliers; see
            test_a_robust_loss_does_no_harm_where_there_is_no_noise.
        initial_loss_width: [m] c of the Huber loss that gives the first estimate of the noise: wide
            enough for a figure that fits badly. By hand.
        initial_noise_frames: spread over the recording, from which the noise is first estimated.
        initial_noise_starts: cold starts of each of these.
        assumed_noise: [m] standard deviation of the markers along each axis where residuals do not
            tell. By hand.
        half_trust_noise: [m] noise of the markers that are seen, at which a filled-in marker counts
            half: a figure that fits to a millimetre knows better than neighbours on skin
            (docs/maths.md §15). By hand, between
            test_gaps_do_no_harm_where_the_others_determine_the_pose and
            test_a_fifth_hidden_of_a_performance.
        neighbour_count: markers to look for around a missing one. Three tell a rigid motion; two
            more let one of them be lost or in line.
        neighbour_max_bones: bones between a marker and its neighbours at most: further ones do not
            move rigidly with it.
        brief_gap_max_bones: the same in brief gaps, in which also more distant bones hardly move.
        brief_gap_seconds: [s] length up to which a gap is brief. By hand, with the one before;
            test_a_fifth_of_the_markers_hidden_in_bursts.
        neighbour_softening: [m] distance up to which neighbours count about the same; further ones
            count less, by 1/(d² + softening²). By hand.
        min_neighbour_spread: [m²] singular value below which neighbours are too near a line to tell
            a rotation: 1 cm.
    """

    spike_min_distance: float = 0.02
    spike_max_acceleration: float = 400.0
    swap_max_misfit: float = 0.5
    returning_swap_max_misfit: float = 1.2
    huber_width: float = 2.5
    tukey_width: float = 7.0
    min_loss_noise: float = 1e-4
    initial_loss_width: float = 0.05
    initial_noise_frames: int = 16
    initial_noise_starts: int = 6
    assumed_noise: float = 0.002
    half_trust_noise: float = 0.002
    neighbour_count: int = 5
    neighbour_max_bones: int = 2
    brief_gap_max_bones: int = 3
    brief_gap_seconds: float = 1.0
    neighbour_softening: float = 0.03
    min_neighbour_spread: float = 1e-4


@dataclass(frozen=True)
class FirstPassOptions:
    """Cold starts, and how the segments that they begin are joined.

    Held by tests/tracking/test_track.py and, from nothing, test_track_hdm05.py
    (test_frames_from_nothing).

    Attributes:
        cold_start_spread: share of the limits, or of a whole turn where there are none, over which
            cold starts are spread: people seldom are at the ends of their range. By hand;
            test_frames_from_nothing.
        seam_marker_distance: [m] that no marker may jump at a seam between two segments for them to
            be one solution. By hand.
        seam_dof_step: [rad or m] likewise for every dof: 3°. By hand.
    """

    cold_start_spread: float = 0.3
    seam_marker_distance: float = 2e-3
    seam_dof_step: float = 0.05


@dataclass(frozen=True)
class BranchOptions:
    """Better solutions beside the path.

    Held by tests/tracking/test_branches.py and test_continuity.py, by
    test_better_solutions_are_found_and_jumps_are_listed of test_track_hdm05.py (shares of frames
    near the best known cost) and, for time, by "track" of `make bench ARGS=tracking`.

    Attributes:
        crossing_seconds: [s] for which a change of solution is charged with what the pose half-way
            between the two costs more (docs/maths.md §15): an estimate of what smoothing pays
            there. Of 1, 4 and 12 ms, on ten recordings smoothed at 12 Hz, 4 ms gave the least cost
            where most is at stake, by 4 %, and nowhere more than 0.3 % above no branches at all
            (1 ms: 0.7 %).
        worthwhile_cost: share of a frame's cost below which a solution is followed: gains of less
            than half a percent do not show. Following all takes three times as long.
        same_solution_distance: [m] of the markers below which two solutions are one: as far as
            markers can tell.
        max_lost_frames: cost, in usual frames, that a branch may lose after its best moment before
            it is given up. By hand; ten times as many find a little more in a quarter more time.
        unlimited_range: [rad or m] how far from neutral to look where there is no limit. By hand;
            limits leave little of it.
        min_limb_dofs: below which a branch of the tree is no limb of its own, as a thumb.
        interval_frames: between two frames at which other solutions are looked for: a quarter of a
            second at 120 Hz. The time of the stage is inversely proportional to it. By hand.
        rounds: of looking, each at frames between those before and with other ends of segments.
        poor_cost: in the median cost of a frame: above it a path has gone wrong and its frames are
            solved first, from other poses, once: of 48 recordings a second round gained 0.1 % of
            the cost in one. By hand; test_a_path_gone_wrong_is_mended_without_branches.
        max_poor_segments: that are, the longest first: where there are more, the markers are wrong,
            not the path. Bounds the time; test_the_longest_of_many_wrong_stretches_are_mended.
    """

    crossing_seconds: float = 0.004
    worthwhile_cost: float = 0.995
    same_solution_distance: float = 1e-3
    max_lost_frames: float = 3.0
    unlimited_range: float = 1.5
    min_limb_dofs: int = 4
    interval_frames: int = 28
    rounds: int = 2
    poor_cost: float = 8.0
    max_poor_segments: int = 80


@dataclass(frozen=True)
class GapOptions:
    """Frames in which some joints have lost their markers.

    Held by tests/tracking/test_track_gaps.py, on two takes, four seeds of bursts and four places of
    a lost arm.

    Attributes:
        max_lost_share: of what determines a dof (Σ w |∂x/∂v|²), up to which it goes by the markers
            that are left. By hand; test_an_arm_lost_for_two_seconds_is_flagged.
        course_pull: of the curvature that was lost: how firmly a dof is pulled to its course from
            before to after the gap. By hand; test_an_arm_lost_for_two_seconds_goes_on.
        information_poses: over which what markers say about dofs is averaged.
    """

    max_lost_share: float = 0.6
    course_pull: float = 0.3
    information_poses: int = 24


@dataclass(frozen=True)
class JumpOptions:
    """Which steps from frame to frame are jumps (docs/maths.md §15).

    Only said, never changed. Held by tests/tracking/test_continuity.py.

    Attributes:
        max_turn_rate: [rad/s] beyond its neighbours in time, above which a bone's turn is a jump.
            By hand.
        max_marker_rate: [m/s] likewise, of a marker against its target. By hand.
        neighbour_ratio: times as much as in the steps before and after, that is no jump either, so
            that fast motions are none. By hand.
    """

    max_turn_rate: float = 60.0
    max_marker_rate: float = 3.0
    neighbour_ratio: float = 1.5


@dataclass(frozen=True)
class SmoothingOptions:
    """All frames together. Held by tests/tracking/test_track_smooth.py.

    Attributes:
        chunk_frames: solved together; fixed, so that results do not depend on the number of
            threads.
        overlap_frames: to each side that are solved with them and not used: what lies beyond them
            has no influence any more. test_seams_between_chunks_do_not_show.
        relaxation: times the accelerations that are allowed in the first steps, one each. By hand:
            with larger ratios the steps grow beyond what their linear model holds for, and take
            dofs that markers leave open, such as those of a neck of three joints, against their
            limits: after 10 and 3 alone heads were up to 64 mm beside their markers;
            test_smoothing_leaves_no_limb_beside_its_markers, test_a_lower_cut_off_is_smoother.
        rounds: of steps with the accelerations as estimated. While they are estimated, again after
            each, and one more step follows.
        max_iterations: of conjugate gradients in a step.
        tolerance: of these: share of what they have gained below which one more is not worth it.
        step_sd: [rad or m] size of a step: keeps it short along what neither markers nor
            accelerations determine.
        max_halvings: of a step that does not lower the sum.
        lag_seconds: [s] over which accelerations are first estimated: 0.1 s takes the noise of
            frames at 120 Hz down by 144, and motion of 3 Hz by a quarter.
        update_lag_seconds: [s] the same for later estimates: what the steps have not smoothed yet
            has no part in them, and motion of 8 Hz has its full one.
        max_growth: times the first estimates, up to which later ones may grow. Motion of 4 Hz has
            0.6 of its accelerations over 0.1 s; a jump that is left has far more than it had.
        least_turn: [rad/s²] angular acceleration of a bone that hardly moves: a seventh of that of
            a trunk at a walk.
        least_shift: [m/s²] the same of the root.
        least_count: number of accelerations that these count for in estimates.
        noise_lag_seconds: [s] within which residuals change by noise, and hardly by the motion: a
            third of a step of a run.
        noise_frames: by which that is judged, spread over the recording.
        white_noise_samples: of every marker, each of five frames in a row, spread over the
            recording, by which its noise is judged: bounds the memory, and the median of so many is
            right to a hundredth. A tenth of them would do, ten times as many only cost memory.
        assumed_noise: [m] of markers from frame to frame where no marker is seen five frames long.
    """

    chunk_frames: int = 400
    overlap_frames: int = 30
    relaxation: tuple[float, ...] = (100.0, 30.0, 10.0, 3.0)
    rounds: int = 2
    max_iterations: int = 6
    tolerance: float = 0.02
    step_sd: float = 0.1
    max_halvings: int = 6
    lag_seconds: float = 0.1
    update_lag_seconds: float = 0.03
    max_growth: float = 1.5
    least_turn: float = 2.0
    least_shift: float = 1.0
    least_count: float = 5.0
    noise_lag_seconds: float = 0.05
    noise_frames: int = 500
    white_noise_samples: int = 10_000
    assumed_noise: float = 0.001


@dataclass(frozen=True)
class AssessmentOptions:
    """What is said about the result; nothing here changes a pose.

    Held by tests/tracking/test_track.py, test_track_hdm05.py and test_report.py.

    Attributes:
        converged_gradient: relative gradient up to which a frame whose descent stalled counts as
            converged: ten times the tolerance of warm starts.
        open_sd: [rad or m] median standard deviation above which a dof counts as never determined.
        open_sd_frames: by which that is judged.
        poor_fit: times the usual error of a frame, above which it fits badly.
        poor_fit_min: [m] error below which no frame does: recordings without noise.
        cost_above_best: share by which a frame costs more than the best solution found for it,
            above which that is said: "within 1 %" of the benchmarks.
        segment_cost_above_best: the same at the worst frame of a segment, for the segment to be
            listed.
        ignored_weight: weight of a robust loss below which a marker was as good as left out.
    """

    converged_gradient: float = 1e-3
    open_sd: float = 0.5
    open_sd_frames: int = 24
    poor_fit: float = 3.0
    poor_fit_min: float = 1e-4
    cost_above_best: float = 0.01
    segment_cost_above_best: float = 0.05
    ignored_weight: float = 0.2


WARM_START = Auto(metric="dof", tolerance=1e-4, initial_damping=1e-3, detour=False, escape=False)
COLD_START = Auto(metric="dof", tolerance=1e-3, max_iterations=60, detour=False, escape=False)


@dataclass(frozen=True)
class TrackingOptions:
    """Everything that `track` decides by beyond its own arguments, stage by stage.

    Attributes:
        warm_start: method of descents from the pose of a frame nearby, for solver="auto". Tolerance
            1e-4: errors of poses far below the noise. A first damping of 1e-3 because such starts
            are near: chosen with the race of `make bench ARGS=tracking`. A detour or an escape
            would leave the solution that is followed.
        cold_start: method of descents from elsewhere: only the best is solved on, so that a
            tolerance of 1e-3 and 60 iterations are enough.
        segment_frames: length of the segments that are solved by themselves in the first pass and
            while looking for branches; fixed, so that results do not depend on the number of
            threads. Long enough that seams are rare.
        preparation: outliers, noise, markers filled in.
        first_pass: cold starts and seams.
        branches: better solutions beside the path.
        gaps: joints that have lost their markers.
        jumps: which steps are jumps.
        smoothing: all frames together.
        assessment: what is said about the result.
    """

    warm_start: CompiledMethod = WARM_START
    cold_start: CompiledMethod = COLD_START
    segment_frames: int = 2000
    preparation: PreparationOptions = field(default_factory=PreparationOptions)
    first_pass: FirstPassOptions = field(default_factory=FirstPassOptions)
    branches: BranchOptions = field(default_factory=BranchOptions)
    gaps: GapOptions = field(default_factory=GapOptions)
    jumps: JumpOptions = field(default_factory=JumpOptions)
    smoothing: SmoothingOptions = field(default_factory=SmoothingOptions)
    assessment: AssessmentOptions = field(default_factory=AssessmentOptions)


DEFAULT_OPTIONS = TrackingOptions()
