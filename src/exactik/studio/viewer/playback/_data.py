"""What is played: a motion, or markers alone, and what is shown with it; without a browser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from exactik.errors import FileError, UsageError
from exactik.model import Pose, Skeleton
from exactik.model.motion import Markers, Motion, Swap, choose_even_frames, find_swaps, turn_to_up
from exactik.recordings.diagnosis import CLEARLY_NEARER, measure_exchange
from exactik.recordings.pipeline import align_up_axis, find_motion_up, find_upright_person, stand_up
from exactik.recordings.tracking import (
    QualityArray,
    Track,
    TrackingProblem,
    compute_standard_deviations,
    estimate_noise,
    make_tracking_problem,
    match_markers,
    measure_frame_errors,
)
from exactik.studio.viewer.playback._bookmarks import (
    Bookmark,
    find_attention_bookmarks,
    find_error_peaks,
    find_missing_poses,
    find_suspicion_bookmarks,
    merge_bookmarks,
)
from exactik.studio.viewer.recording import CloudPath, RecordingOverview, measure_cloud
from exactik.typing import Array, BoolArray, IntArray

MAX_SWAP_FRAMES = 50  # of a swap that are compared with the motion


class TimeAligned(NamedTuple):
    """A motion or markers, aligned in time with the motion that is played."""

    content: Any  # a motion or markers
    shift: float  # number of its frames before the first one of the motion

    @classmethod
    def align(cls, motion: Motion, content: Motion | Markers) -> TimeAligned:
        """Align a motion or markers with the motion that is played.

        By frame numbers where the motion has kept those of its recording (they do not begin with 1)
        and the rates are the same, else both begin together.
        """
        numbered = motion.first_frame != 1 and abs(motion.rate / content.rate - 1.0) < 1e-3
        return cls(content, float(motion.first_frame - content.first_frame) if numbered else 0.0)

    def frame_at(self, seconds: float) -> int | None:
        """Return the frame at a time of the motion [s from its first frame], None outside."""
        k = round(seconds * self.content.rate + self.shift)
        return k if 0 <= k < len(self.content) else None


class UnsolvedRecording(NamedTuple):
    """Markers as they were read, which can be solved from the page.

    Attributes:
        markers: in the axes and under the names of the file.
        up_origin: who says which axis is up in them, see `solve_recording`.
        notes: what is odd about the file, a sentence each.
    """

    markers: Markers
    up_origin: str = "file"
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class PlaybackData:
    """A motion, z up, with its references, measured markers, errors; or markers alone.

    Frames are those of the motion; where there is none, those of the recorded markers.

    Attributes:
        motion: what is played; None for markers alone.
        references: other motions at the same times.
        recorded: measured markers at the same times, or None.
        track: what `motion` comes from, if it was solved here.
        swaps: pairs of markers that were exchanged back, because the motion fits them so.
        aside: how far to the left of the motion the references are shown at first [m].
        unsolved: the recording as it was read, where it can be solved from the page.
        verdict: on the track, in words; empty if nobody asked for it.
        notes: what is to be said about the files, a sentence each.
    """

    motion: Motion | None = None
    references: tuple[TimeAligned, ...] = ()
    recorded: TimeAligned | None = None
    track: Track | None = None
    swaps: tuple[Swap, ...] = ()
    aside: float = 0.0
    unsolved: UnsolvedRecording | None = None
    verdict: str = ""
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        thing: Motion | Track | Markers | UnsolvedRecording | PlaybackData,
        *,
        markers: Markers | None = None,
        references: Sequence[Motion] = (),
        aside: float = 0.0,
    ) -> PlaybackData:
        """Return what is to be played.

        Args:
            thing: a motion; a solved recording, which has its markers with it; or markers alone.
            references: other motions, shown as ghosts.
            aside: how far to the left of the motion the ghosts are shown at first [m].
        """
        if isinstance(thing, PlaybackData):
            return thing
        if isinstance(thing, Markers):
            thing = UnsolvedRecording(thing)
        if isinstance(thing, UnsolvedRecording):
            if markers is not None or len(references) > 0:
                raise UsageError("nothing is shown beside markers alone; expected a motion")
            return cls._of_recording(thing)
        track = thing if isinstance(thing, Track) else None
        played = thing.motion if isinstance(thing, Track) else thing
        up = find_motion_up(played)
        motion: Motion = turn_to_up(replace(played, up_axis=up), "z")
        for shown in (motion, *references):
            if not np.isfinite(shown.q).all(axis=1).any():
                which = "the motion" if shown is motion else "a motion beside it"
                raise UsageError(f"{which} has no frame to show")
        aligned = tuple(TimeAligned.align(motion, stand_up(other)) for other in references)
        recorded = None
        if markers is not None:
            # Where neither says what is up, both are taken to have the same axis up.
            markers_up = markers.up_axis or (up if played.up_axis is None else None)
            turned: Markers = turn_to_up(replace(markers, up_axis=markers_up), "z")
            recorded = TimeAligned.align(motion, turned)
        if track is not None:
            if markers is not None:
                raise UsageError("a track has its markers with it; others cannot be shown")
            recorded = TimeAligned(_markers_of_track(track, up), 0.0)
        data = cls(motion=motion, references=aligned, recorded=recorded, track=track, aside=aside)
        return data if track is not None else _exchange_swapped(data)

    @classmethod
    def _of_recording(cls, recording: UnsolvedRecording) -> PlaybackData:
        """Return markers alone, turned to z up as `exactik solve` turns them."""
        markers, notes = recording.markers, recording.notes
        if not np.isfinite(markers.positions).any():
            raise FileError(markers.source or "markers", "no marker is ever seen")
        if markers.up_axis is not None:
            markers = turn_to_up(markers, "z")
        elif recording.up_origin != "axes":
            aligned = align_up_axis(markers, "z", find_upright_person(markers))
            markers, notes = aligned.markers, (*notes, *aligned.notes)
        return cls(recorded=TimeAligned(markers, 0.0), unsolved=recording, notes=notes)

    @property
    def played(self) -> Motion | Markers:
        """What the frames are of: the motion, or else the markers."""
        if self.motion is not None:
            return self.motion
        assert self.recorded is not None
        return self.recorded.content

    def __len__(self) -> int:
        """Number of frames."""
        return len(self.played)

    @property
    def rate(self) -> float:
        """Frames a second [Hz]."""
        return self.played.rate

    @property
    def title(self) -> str:
        """What it is called: the file of the markers, the figure, or both."""
        file = "" if self.unsolved is None else Path(self.unsolved.markers.source).name
        if self.motion is None:
            return file or "markers"
        return f"{self.skeleton.name}, {file}" if file else self.skeleton.name

    @property
    def has_figure(self) -> bool:
        """Whether there is a figure; without one, nothing may be asked that is about it."""
        return self.motion is not None

    @property
    def figure_motion(self) -> Motion:
        """The motion, of data that has a figure."""
        assert self.motion is not None
        return self.motion

    @property
    def skeleton(self) -> Skeleton:
        """The figure."""
        return self.figure_motion.skeleton

    @cached_property
    def present(self) -> BoolArray:
        """Which frames have a pose, (T,)."""
        return np.asarray(np.isfinite(self.figure_motion.q).all(axis=1))

    @cached_property
    def _last_present(self) -> IntArray:
        """For each frame the last one up to it that has a pose, else the first that has, (T,)."""
        last = np.maximum.accumulate(np.where(self.present, np.arange(len(self)), -1))
        return np.where(last < 0, int(np.argmax(self.present)), last)

    def frame_with_pose(self, frame: int) -> int:
        """Return the frame whose pose is shown at a frame, which may have none."""
        return int(self._last_present[frame])

    def pose(self, frame: int) -> Pose:
        """Return the pose of a frame; if it has none, that of the last frame before that has."""
        return self.skeleton.forward(self.figure_motion.q[self.frame_with_pose(frame)])

    def reference(self, k: int, frame: int) -> Pose | None:
        """Return the pose of a reference at the time of a frame, None where it has none."""
        timed = self.references[k]
        t = timed.frame_at(frame / self.rate)
        if t is None or not np.isfinite(timed.content.q[t]).all():
            return None
        return timed.content.skeleton.forward(timed.content.q[t])

    # --- markers

    @cached_property
    def marker_matches(self) -> dict[str, str]:
        """Recorded marker → marker of the figure, by their names."""
        if self.recorded is None or self.motion is None:
            return {}
        if self.track is not None:
            return {name: name for name in self.track.names}
        return match_markers(self.skeleton, self.recorded.content)

    @property
    def names(self) -> tuple[str, ...]:
        """Markers of the figure that were recorded, (K,)."""
        return tuple(self.marker_matches.values())

    @cached_property
    def _columns(self) -> IntArray:
        assert self.recorded is not None
        index = [self.recorded.content.names.index(name) for name in self.marker_matches]
        return np.array(index, dtype=np.int64)

    @cached_property
    def _on_bones(self) -> tuple[IntArray, Array]:
        """Bones of the markers, (K,), and places on them [m], (1 or T, K, 3)."""
        where = [self.skeleton.marker(name) for name in self.names]
        bones = np.array([self.skeleton.bone_index(bone) for bone, _ in where], dtype=np.int64)
        if self.track is not None:
            return bones, self.track.marker_points
        return bones, np.array([point for _, point in where], dtype=float).reshape(1, -1, 3)

    def model_markers(self, frame: int, pose: Pose) -> Array:
        """Return where the markers of the figure are in a pose [m, world], (K, 3)."""
        bones, points = self._on_bones
        point = points[frame if len(points) > 1 else 0]
        return pose.positions[bones] + np.einsum("kij,kj->ki", pose.rotations[bones], point)

    @cached_property
    def overview(self) -> RecordingOverview | None:
        """Names, gaps and suspicions of the recorded markers, None without any."""
        return None if self.recorded is None else RecordingOverview(self.recorded.content)

    @cached_property
    def cloud(self) -> CloudPath | None:
        """Where the recorded markers are and go, None without any."""
        if self.recorded is None or self.overview is None:
            return None
        return measure_cloud(self.recorded.content, self.overview.measured)

    def recorded_frame(self, frame: int) -> int | None:
        """Return the frame of the recording that is shown at a frame; None outside of it."""
        return None if self.recorded is None else self.recorded.frame_at(frame / self.rate)

    def targets(self, frame: int) -> Array:
        """Return all recorded markers of a frame [m, world], (M, 3), NaN where missing."""
        if self.recorded is None:
            return np.empty((0, 3))
        t = self.recorded_frame(frame)
        positions = self.recorded.content.positions
        return np.full(positions.shape[1:], np.nan) if t is None else positions[t]

    def matched_targets(self, frame: int) -> Array:
        """Return the recorded places of the markers of the figure [m, world], (K, 3)."""
        return (
            self.targets(frame)[self._columns] if len(self.marker_matches) > 0 else np.empty((0, 3))
        )

    @cached_property
    def errors(self) -> Array:
        """Distance of every marker from its place on the figure [m], (T, K), NaN where missing."""
        if self.track is not None:
            return self.track.marker_errors
        errors = np.full((len(self), len(self.names)), np.nan)
        if self.recorded is None or len(self.names) == 0:
            return errors
        frames = np.flatnonzero(self.present)
        times = frames / self.rate * self.recorded.content.rate + self.recorded.shift
        recorded_frames = np.rint(times).astype(np.int64)
        inside = (recorded_frames >= 0) & (recorded_frames < len(self.recorded.content))
        problem = self._make_problem(recorded_frames[inside])
        residuals = problem.residuals(np.array(self.figure_motion.q[frames[inside]]))
        errors[frames[inside]] = np.linalg.norm(residuals, axis=2)
        return errors

    @cached_property
    def frame_errors(self) -> tuple[Array, Array]:
        """Mean and largest marker error of each frame [m], (T,) each; NaN without markers."""
        return measure_frame_errors(self.errors)

    # --- what to look at, and how certain it is

    @cached_property
    def bookmarks(self) -> list[Bookmark]:
        """Frames to look at, each once, the worst first."""
        if self.overview is not None and not self.has_figure:
            return merge_bookmarks(find_suspicion_bookmarks(self.overview))
        bookmarks = find_missing_poses(self.present)
        if self.track is not None:
            bookmarks += find_attention_bookmarks(self.track, self.frame_errors[1])
        peaks = find_error_peaks(self.errors, self.names, self.rate)
        return merge_bookmarks([*bookmarks, *peaks])

    @cached_property
    def joint_quality(self) -> QualityArray | None:
        """What each joint's values are worth, (T, n_bones); None of what was not solved here."""
        return None if self.track is None else self.track.joint_quality

    @cached_property
    def _noise_model(self) -> tuple[TrackingProblem, float] | None:
        """Tracking problem and noise of markers [m] that were not solved here, for error bars."""
        if self.recorded is None or len(self.names) == 0:
            return None
        return self._make_problem([0]), estimate_noise(self.errors, self.skeleton.nv)

    def _make_problem(self, recorded_frames: Sequence[int] | IntArray) -> TrackingProblem:
        """Return the tracking problem of some frames of the recorded markers."""
        assert self.recorded is not None
        matched: Markers = self.recorded.content.chosen(list(self.marker_matches))
        chosen = replace(matched, positions=matched.positions[recorded_frames], others={})
        return make_tracking_problem(self.skeleton, chosen)

    @property
    def knows_deviations(self) -> bool:
        """Whether there are error bars."""
        return self.track is not None or self._noise_model is not None

    def deviations(self, frame: int) -> Array | None:
        """Return the standard deviation of every dof [rad or m], (nv,); None if unknown."""
        if self.track is not None:
            return self.track.compute_sd(np.array([frame]))[0]
        if self._noise_model is None:
            return None
        problem, sigma = self._noise_model
        targets = np.ascontiguousarray(self.matched_targets(frame)[None])
        q = np.ascontiguousarray(self.figure_motion.q[[self.frame_with_pose(frame)]])
        return compute_standard_deviations(problem.with_targets(position=targets), q, sigma, 1)[0]


def _exchange_swapped(data: PlaybackData) -> PlaybackData:
    """Return the same with swapped markers exchanged back, where the motion tells that they are.

    The motion may come from a solve that did so: against the names in the file it would be wrong.
    """
    if data.recorded is None or len(data.names) < 2:
        return data
    markers, shift = data.recorded
    positions, swaps = np.array(markers.positions), []
    for swap in find_swaps(markers):
        if not all(name in data.marker_matches for name in swap.names):
            continue
        columns = [markers.names.index(name) for name in swap.names]
        rows = [data.names.index(data.marker_matches[name]) for name in swap.names]
        frames = np.arange(swap.first, swap.last + 1)
        played = np.rint((frames - shift) / markers.rate * data.rate).astype(np.int64)
        inside = (played >= 0) & (played < len(data))
        few = choose_even_frames(int(inside.sum()), MAX_SWAP_FRAMES)
        shown = played[inside][few].tolist()
        places = np.array([data.model_markers(t, data.pose(t))[rows] for t in shown])
        measured = positions[np.ix_(frames[inside][few], columns)]
        if not np.isfinite(measured).any():
            continue
        as_named, exchanged = measure_exchange(measured, places)
        if exchanged < CLEARLY_NEARER * as_named:
            positions[np.ix_(frames, columns)] = positions[np.ix_(frames, columns[::-1])]
            swaps.append(swap)
    if len(swaps) == 0:
        return data
    repaired = TimeAligned(replace(markers, positions=positions), shift)
    return replace(data, recorded=repaired, swaps=tuple(swaps))


def _markers_of_track(track: Track, up: str | None) -> Markers:
    """Return the markers of a track, z up, as they were used, followed by those that were not.

    Swapped markers are back in their places, and ignored ones are missing.
    """
    place = np.array(track.solved_positions)
    place[~np.isfinite(track.marker_errors)] = np.nan
    used = set(match_markers(track.skeleton, track.markers))
    others = [name for name in track.markers.names if name not in used]
    labels = [name if name not in track.names else f"{name} (recorded)" for name in others]
    columns = [track.markers.names.index(name) for name in others]
    positions = np.concatenate([place, track.markers.positions[:, columns]], axis=1)
    names = (*track.names, *labels)
    shown = Markers(
        positions,
        names,
        track.markers.rate,
        first_frame=track.markers.first_frame,
        up_axis=up,
        force_plates=track.markers.force_plates,
    )
    return turn_to_up(shown, "z")
