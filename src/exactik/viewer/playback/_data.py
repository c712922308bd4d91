"""What is played: a motion, and what stands beside it at the same time. No browser in here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from exactik.errors import ModelError
from exactik.model import Pose, Skeleton
from exactik.motion import Markers, Motion, turn_to_up
from exactik.tracking import (
    Track,
    TrackingProblem,
    compute_standard_deviations,
    estimate_noise,
    make_tracking_problem,
    match_markers,
)
from exactik.typing import Array, BoolArray, IntArray
from exactik.viewer.playback._bookmarks import Bookmark, find_attention_bookmarks, find_missing_poses, find_error_peaks

__all__ = ["PlaybackData", "TimeAligned"]


AT_ONCE = 4096  # frames


class TimeAligned(NamedTuple):
    """Something that runs beside the motion.

    Attributes:
        thing: a motion or markers.
        shift: frames of it before the first one of the motion.
    """

    thing: Any
    shift: float

    @classmethod
    def beside(cls, motion: Motion, thing: Motion | Markers) -> TimeAligned:
        """Put something beside a motion.

        By the numbers of frames where the motion has kept those of its recording (they do not begin
        with 1) and the rates are the same, else both begin together.
        """
        numbered = motion.first_frame != 1 and abs(motion.rate / thing.rate - 1.0) < 1e-3
        return cls(thing, float(motion.first_frame - thing.first_frame) if numbered else 0.0)

    def frame_at(self, seconds: float) -> int | None:
        """Return the frame at a time of the motion [s from its first frame], None outside."""
        k = round(seconds * self.thing.rate + self.shift)
        return k if 0 <= k < len(self.thing) else None


@dataclass(frozen=True, eq=False)
class PlaybackData:
    """A motion, z up, with all that is known about it.

    Attributes:
        motion: what is played.
        references: other motions at the same times.
        recorded: measured markers at the same times, or None.
        track: what `motion` comes from, if it was solved here.
    """

    motion: Motion
    references: tuple[TimeAligned, ...] = ()
    recorded: TimeAligned | None = None
    track: Track | None = None

    @classmethod
    def of(
        cls,
        thing: Motion | Track | PlaybackData,
        *,
        markers: Markers | None = None,
        references: Sequence[Motion] = (),
    ) -> PlaybackData:
        """Return what is to be played.

        Args:
            thing: a motion or a solved recording, which has its markers with it.
            markers: measured, to be shown beside a motion.
            references: other motions, shown as ghosts.
        """
        if isinstance(thing, PlaybackData):
            return thing
        track = thing if isinstance(thing, Track) else None
        motion: Motion = turn_to_up(thing.motion if isinstance(thing, Track) else thing, "z")
        if not np.isfinite(motion.q).all(axis=1).any():
            raise ModelError("the motion has no frame to show")
        beside = tuple(TimeAligned.beside(motion, turn_to_up(other, "z")) for other in references)
        recorded = None if markers is None else TimeAligned.beside(motion, turn_to_up(markers, "z"))
        if track is not None:
            if markers is not None:
                raise ModelError("a track has its markers with it; others cannot be shown")
            recorded = TimeAligned(_of_track(track), 0.0)
        return cls(motion, beside, recorded, track)

    def __len__(self) -> int:
        """Number of frames."""
        return len(self.motion)

    @property
    def skeleton(self) -> Skeleton:
        """The figure."""
        return self.motion.skeleton

    @cached_property
    def present(self) -> BoolArray:
        """Which frames have a pose, (T,)."""
        return np.asarray(np.isfinite(self.motion.q).all(axis=1))

    @cached_property
    def _last_present(self) -> IntArray:
        """For each frame the last one up to it that has a pose, else the first that has, (T,)."""
        own = np.maximum.accumulate(np.where(self.present, np.arange(len(self)), -1))
        return np.where(own < 0, int(np.argmax(self.present)), own)

    def shown(self, frame: int) -> int:
        """Return the frame whose pose stands for a frame that may have none."""
        return int(self._last_present[frame])

    def pose(self, frame: int) -> Pose:
        """Return the pose of a frame; that of the frame before which is there, if it is missing."""
        return self.skeleton.forward(self.motion.q[self.shown(frame)])

    def reference(self, k: int, frame: int) -> Pose | None:
        """Return the pose of a reference at the time of a frame, None where it has none."""
        timed = self.references[k]
        t = timed.frame_at(frame / self.motion.rate)
        if t is None or not np.isfinite(timed.thing.q[t]).all():
            return None
        return timed.thing.skeleton.forward(timed.thing.q[t])

    # --- markers

    @cached_property
    def pairs(self) -> dict[str, str]:
        """Which recorded marker is which of the figure: recorded name → own name."""
        if self.recorded is None:
            return {}
        if self.track is not None:
            return {name: name for name in self.track.names}
        return match_markers(self.skeleton, self.recorded.thing)

    @property
    def names(self) -> tuple[str, ...]:
        """Markers of the figure that were recorded, (K,)."""
        return tuple(self.pairs.values())

    @cached_property
    def _columns(self) -> IntArray:
        assert self.recorded is not None
        index = [self.recorded.thing.names.index(name) for name in self.pairs]
        return np.array(index, dtype=np.int64)

    @cached_property
    def _on_bones(self) -> tuple[IntArray, Array]:
        """Bones of the markers, (K,), and places on them [m], (1 or T, K, 3)."""
        where = [self.skeleton.marker(name) for name in self.names]
        bones = np.array([self.skeleton.bone_index(bone) for bone, _ in where], dtype=np.int64)
        if self.track is not None:
            return bones, self.track.problem.targets.point
        return bones, np.array([point for _, point in where], dtype=float).reshape(1, -1, 3)

    def model_markers(self, frame: int, pose: Pose) -> Array:
        """Return where the markers of the figure are in a pose [m, world], (K, 3)."""
        bones, points = self._on_bones
        point = points[frame if len(points) > 1 else 0]
        return pose.positions[bones] + np.einsum("kij,kj->ki", pose.rotations[bones], point)

    def targets(self, frame: int) -> Array:
        """Return all recorded markers of a frame [m, world], (M, 3), NaN where missing."""
        if self.recorded is None:
            return np.empty((0, 3))
        t = self.recorded.frame_at(frame / self.motion.rate)
        positions = self.recorded.thing.positions
        return np.full(positions.shape[1:], np.nan) if t is None else positions[t]

    def matched_targets(self, frame: int) -> Array:
        """Return the recorded places of the markers of the figure [m, world], (K, 3)."""
        return self.targets(frame)[self._columns] if len(self.pairs) > 0 else np.empty((0, 3))

    @cached_property
    def errors(self) -> Array:
        """Distance of every marker from its place on the figure [m], (T, K), NaN where missing."""
        if self.track is not None:
            return self.track.marker_errors
        errors = np.full((len(self), len(self.names)), np.nan)
        if self.recorded is None or len(self.names) == 0:
            return errors
        bones, points = self._on_bones
        frames = np.flatnonzero(self.present)
        times = frames / self.motion.rate * self.recorded.thing.rate + self.recorded.shift
        there = np.rint(times).astype(np.int64)
        inside = (there >= 0) & (there < len(self.recorded.thing))
        frames, there = frames[inside], there[inside]
        for at in range(0, len(frames), AT_ONCE):
            own, then = frames[at : at + AT_ONCE], there[at : at + AT_ONCE]
            pose = self.skeleton.forward(self.motion.q[own])
            turned = np.einsum("tkij,kj->tki", pose.rotations[:, bones], points[0])
            off = self.recorded.thing.positions[then][:, self._columns] - turned
            errors[own] = np.linalg.norm(off - pose.positions[:, bones], axis=2)
        return errors

    @cached_property
    def frame_errors(self) -> tuple[Array, Array]:
        """Mean and largest marker error of each frame [m], (T,) each; NaN without markers."""
        seen = np.isfinite(self.errors)
        known, count = np.where(seen, self.errors, 0.0), seen.sum(axis=1)
        mean = np.where(count > 0, known.sum(axis=1) / np.maximum(count, 1), np.nan)
        return mean, np.where(count > 0, known.max(axis=1, initial=0.0), np.nan)

    # --- how far to trust it

    @cached_property
    def bookmarks(self) -> list[Bookmark]:
        """Frames to look at, the worst first."""
        found = find_missing_poses(self.present)
        if self.track is not None:
            found += find_attention_bookmarks(self.track, self.frame_errors[1])
        return found + find_error_peaks(self.errors, self.names, self.motion.rate)

    @cached_property
    def _uncertain(self) -> tuple[TrackingProblem, float] | None:
        """What error bars are made of: a recording, and the noise of its markers [m]."""
        if self.track is not None:
            return self.track.problem, self.track.sigma
        if self.recorded is None or len(self.names) == 0:
            return None
        still: Markers = self.recorded.thing.chosen(list(self.pairs))
        first = replace(still, positions=still.positions[:1], others={})
        sigma = estimate_noise(self.errors, self.skeleton.nv)
        return make_tracking_problem(self.skeleton, first), sigma

    @property
    def knows_deviations(self) -> bool:
        """Whether there are error bars."""
        return self._uncertain is not None

    def deviations(self, frame: int) -> Array | None:
        """Return the standard deviation of every dof [rad or m], (nv,); None if nobody knows."""
        if self._uncertain is None:
            return None
        recording, sigma = self._uncertain
        own = np.array([frame])
        if self.track is None:
            one = recording.with_targets(
                place=np.ascontiguousarray(self.matched_targets(frame)[None])
            )
        else:
            one = recording.select(own)
        q = np.ascontiguousarray(self.motion.q[[self.shown(frame)]])
        return compute_standard_deviations(one, q, sigma, 1)[0]


def _of_track(track: Track) -> Markers:
    """Return the markers of a track as they were used, and behind them those that were not.

    Swapped ones are back in their places, and what was left out is missing.
    """
    place = np.array(track.problem.targets.place)
    place[~np.isfinite(track.marker_errors)] = np.nan
    used = set(match_markers(track.skeleton, track.markers))
    others = [name for name in track.markers.names if name not in used]
    free = {name: name if name not in track.names else f"{name} (recorded)" for name in others}
    columns = [track.markers.names.index(name) for name in others]
    positions = np.concatenate([place, track.markers.positions[:, columns]], axis=1)
    names = (*track.names, *free.values())
    up = track.motion.up_axis
    return turn_to_up(Markers(positions, names, track.markers.rate, up_axis=up), "z")
