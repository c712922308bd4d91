"""What the criteria share: a solved recording, cut to the frames in which its subject is seen."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from exactik.model.motion import choose_even_frames
from exactik.recordings.diagnosis._attention import find_stretches
from exactik.recordings.diagnosis._context import MarkerUse, RecordingContext, UpAxis
from exactik.recordings.diagnosis._far_markers import count_moment_frames, find_marker_jumps
from exactik.recordings.diagnosis._figure import measure_stature
from exactik.recordings.diagnosis._finding import Finding
from exactik.recordings.diagnosis._influence import MarkerInfluence, measure_influence
from exactik.recordings.diagnosis._limbs import LimbFacts, find_instrumented_bones, measure_limbs
from exactik.recordings.diagnosis._swaps import examine_swaps
from exactik.recordings.diagnosis._thresholds import THRESHOLDS
from exactik.recordings.tracking import (
    ASSUMED_NOISE,
    NEIGHBOUR_RATIO,
    compute_lost_share,
    compute_marker_information,
    compute_standard_deviations,
)
from exactik.typing import Array, BoolArray, IntArray

if TYPE_CHECKING:
    from exactik.recordings.tracking import Track

MAX_POSES = 30
"""Different poses after which a recording counts as one of movement: with 41 markers, thirty poses
have 3,690 coordinates, twelve times the dofs and parameters that are fitted to one."""
MIN_POSES = 3  # different ones, below which it is a static trial
POSE_STEP = 0.01
"""[statures] rms change of the distances between markers from which two poses differ: 17 mm. Who
stands still sways and breathes by a third of it; legs in a stride change them by 60 mm and more."""
POSE_FRAMES = 120  # looked at, spread over the recording
LEVER = 0.3  # [m] at which a turn moves things as far as a shift: a forearm
BARS_PER_SECOND = 15.0  # error bars that are computed: joints turn little in between
NOT_ON_THE_SUBJECT = ("computed", "object", "other-subject", "never-seen")
"""Codes of markers that nobody would expect on the figure."""
MIN_SEEN_SHARE = 0.2
"""Of the frames in which an unused marker must be seen to be missed: what cameras see for a moment
and nobody has named are reflections and fragments."""


class Evidence:
    """A solved recording, in the frames in which three markers or more are seen.

    Attributes:
        track: the recording.
        context: what is known of it; of a track that was made without one, names alone.
        span: first and last of these frames.
        frames: the same as a slice.
        errors: of the markers that count [m], (n, M), not a number where missing.
        seen: where there is one, (n, M).
        names: of the markers that are seen.
        stature: of the figure [m]: what its bones suggest, else its longest extent.
        instrumented: bones with markers on them or beyond them.
    """

    def __init__(self, track: Track):
        """Cut a track."""
        errors = track.errors_that_count
        self.track, self.skeleton = track, track.skeleton
        self.context = track.context if track.context is not None else _make_context(track)
        self.span = find_span(np.isfinite(errors))
        self.frames = slice(self.span[0], self.span[1] + 1)
        self.errors: Array = errors[self.frames]
        self.seen: BoolArray = np.isfinite(self.errors)
        ever_seen = np.asarray(self.seen.any(axis=0))
        self.names = [n for n, there in zip(track.names, ever_seen, strict=True) if there]
        self.stature = measure_stature(self.skeleton)
        self.instrumented = find_instrumented_bones(self.skeleton, self.names)

    @property
    def mean_error(self) -> float:
        """Of all markers in all frames [m]."""
        return float(self.errors[self.seen].mean())

    @cached_property
    def ignored(self) -> BoolArray:
        """Which samples nothing goes by, (n, M): of no weight, or left out by a robust loss."""
        weights, ignored = self.track.marker_weights, ~self.seen
        if weights is not None:
            ignored |= weights[self.frames] < self.track.options.assessment.ignored_weight
        return ignored

    @cached_property
    def has_markers(self) -> BoolArray:
        """Which dofs have markers on their bone or beyond it, and are not locked, (nv,)."""
        bones = [name.rpartition(".")[0] for name in self.skeleton.dof_names]
        locked = np.asarray(self.track.problem.frame_problem.locked)
        return np.isin(bones, sorted(self.instrumented)) & ~locked

    @cached_property
    def is_open(self) -> BoolArray:
        """Which dofs nothing determines, (nv,)."""
        return np.isin(self.skeleton.dof_names, self.track.never_determined)

    @cached_property
    def bars(self) -> tuple[Array, IntArray]:
        """Error bars by noise of some poses, (k, nv), and which of them each frame has, (T,).

        Of poses by themselves, and wherever a marker comes or goes: in between they change little.
        """
        key_frames, bar_of_frame = self._key_frames
        track = self.track
        q, problem = np.array(track.motion.q[key_frames]), track.problem.select(key_frames)
        # Where as much is fitted as was measured, what is left over says nothing of the noise.
        is_told = self.redundancy >= THRESHOLDS["redundancy"].care
        sigma = track.sigma if is_told else max(track.sigma, ASSUMED_NOISE)
        return compute_standard_deviations(problem, q, sigma, track.threads), bar_of_frame

    @cached_property
    def is_wide(self) -> BoolArray:
        """Which values have an error bar that is too wide for a measurement, (T, nv)."""
        track, (sd, bar_of_frame) = self.track, self.bars
        # A dof that is at a limit in such a frame need not be there in those it speaks for.
        frames, nowhere = self._key_frames[0], np.zeros(sd.shape, dtype=bool)
        sd = track.add_figure_errors(sd, np.array(track.motion.q[frames]), nowhere)
        return (sd > self.measured_sd)[bar_of_frame]

    @cached_property
    def _key_frames(self) -> tuple[IntArray, IntArray]:
        """Frames whose error bars are computed, and which of them speaks for each frame, (T,)."""
        track = self.track
        seen, count = track.problem.seen, len(track)
        is_key = np.arange(count) % max(round(track.motion.rate / BARS_PER_SECOND), 1) == 0
        is_key[1:] |= (seen[1:] != seen[:-1]).any(axis=1)
        return np.flatnonzero(is_key), np.cumsum(is_key) - 1

    @cached_property
    def usual_sd(self) -> Array:
        """Median of the error bars of each dof where it is determined, (nv,)."""
        sd, bar_of_frame = self.bars
        sd = sd[np.unique(bar_of_frame[self.frames])]
        is_known = sd < self.track.options.assessment.open_sd
        sd = np.where(is_known | ~is_known.any(axis=0), sd, np.nan)
        return np.asarray(np.nanmedian(sd, axis=0))

    @cached_property
    def lost(self) -> BoolArray:
        """Which dofs have lost the markers that determine them for a while, (T, nv)."""
        track = self.track
        seen, limit = track.problem.seen, track.options.max_lost_share
        information = compute_marker_information(track.problem, np.array(track.motion.q))
        lost = track.undetermined.copy()
        frames = np.flatnonzero(~seen.all(axis=1))
        lost[frames] |= compute_lost_share(seen[frames], information) > limit
        return lost & self.has_markers & ~self.is_open

    @cached_property
    def limbs(self) -> tuple[LimbFacts, ...]:
        """Parts of the body that have markers."""
        return measure_limbs(self.track, self.frames)

    @property
    def measured_sd(self) -> Array:
        """Standard deviation of each dof up to which it counts as measured [rad or m], (nv,)."""
        angle = self.track.options.assessment.measured_sd
        return np.where(self.skeleton.turns, angle, angle * LEVER)

    @cached_property
    def influence(self) -> MarkerInfluence:
        """What faults of the markers move."""
        return measure_influence(self.track, self.frames)

    @cached_property
    def stretches(self) -> list[Finding]:
        """Frames that deserve a look, the worst first."""
        return find_stretches(self.track, self.lost)

    @cached_property
    def swaps(self) -> list[Finding]:
        """Markers that may have exchanged their names, in order of time."""
        return examine_swaps(self.track)

    @cached_property
    def marker_jumps(self) -> list[Finding]:
        """Markers that are elsewhere after a jump that no exchange of names explains."""
        track = self.track
        likely = [swap for swap in self.swaps if swap.details["verdict"] == "likely"]
        positions, rate = track.solved_positions[self.frames], track.markers.rate
        moment, found = count_moment_frames(rate), []
        for jump in find_marker_jumps(
            positions, self.ignored, track.names, rate, NEIGHBOUR_RATIO, self.stature, self.span[0]
        ):
            name = track.recorded_names[jump.names[0]]
            ends = [end for s in likely if name in s.names for end in (s.first, s.last + 1)]
            if all(abs(jump.details["frame"] - end) > moment for end in ends):
                found.append(jump)
        return found

    @cached_property
    def on_subject(self) -> list[MarkerUse]:
        """Recorded markers that somebody would expect to be used."""
        return [use for use in self.context.uses if is_on_subject(use)]

    @cached_property
    def poses(self) -> int:
        """How many poses differ, up to `MAX_POSES`."""
        return count_poses(self.track, self.frames, self.names, self.stature)

    @property
    def is_still(self) -> bool:
        """Whether hardly anything moves, as in a static trial."""
        return self.poses < MIN_POSES

    @cached_property
    def redundancy(self) -> float:
        """Share of the measured coordinates that is left after what is fitted to them."""
        coordinates = 3.0 * self.seen.sum(axis=1).mean()
        # Equal poses tell nothing new of the parameters that are fitted to all frames together.
        fitted = int(self.has_markers.sum()) + self.context.parameters / self.poses
        return float(1.0 - fitted / max(coordinates, 1.0))


def is_on_subject(use: MarkerUse) -> bool:
    """Whether somebody would expect a recorded marker to be used."""
    if use.code in NOT_ON_THE_SUBJECT:
        return False
    return use.marker is not None or use.seen_share >= MIN_SEEN_SHARE


def find_span(seen: BoolArray) -> tuple[int, int]:
    """Return the first and the last frame that have three markers or more; all if none has."""
    there = np.flatnonzero(seen.sum(axis=1) >= 3)
    return (int(there[0]), int(there[-1])) if len(there) > 0 else (0, len(seen) - 1)


def _make_context(track: Track) -> RecordingContext:
    """Return what is known of a track that was made without a context."""
    used = {name: marker for marker, name in track.recorded_names.items()}
    shares = 1.0 - track.markers.missing.mean(axis=0)
    uses = []
    for name, seen_share in zip(track.markers.names, shares, strict=True):
        marker = used.get(name)
        code = "unknown-name" if marker is None else "same-name"
        uses.append(
            MarkerUse(
                name=name,
                marker=marker,
                bone=None if marker is None else track.skeleton.marker(marker)[0],
                code="never-seen" if seen_share == 0.0 else code,
                confidence=0.0 if marker is None else 1.0,
                seen_share=seen_share,
            )
        )
    up = UpAxis(axis=None, origin="user", custom=None, cosine=None)
    return RecordingContext(uses=tuple(uses), up=up)


def count_poses(track: Track, span: slice, names: Sequence[str], stature: float) -> int:
    """Return how many poses of a recording differ, up to `MAX_POSES`.

    By the distances between the markers on the figure, so that neither a figure that is carried
    about nor joints that nothing determines count. The first frame counts; each next one if these
    distances differ by `POSE_STEP` or more, rms, from those of all that count.
    """
    skeleton, q = track.skeleton, np.asarray(track.motion.q)[span]
    frames = choose_even_frames(len(q), POSE_FRAMES)
    order = list(skeleton.markers)
    columns = [order.index(name) for name in names]
    places = skeleton.forward(q[frames]).markers[:, columns]
    first, second = np.triu_indices(len(columns), k=1)
    if len(first) == 0:
        return 1
    distances = np.linalg.norm(places[:, first] - places[:, second], axis=2)
    different = distances[:1]
    for shape in distances[1:]:
        change = np.sqrt(np.mean((different - shape) ** 2, axis=1))
        if (change >= POSE_STEP * stature).all():
            different = np.concatenate([different, shape[None]])
            if len(different) == MAX_POSES:
                break
    return len(different)
