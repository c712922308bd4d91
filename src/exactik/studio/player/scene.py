"""What a player shows: poses of a figure and measured markers at some frames of a recording."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from exactik._text import file_name
from exactik.errors import UsageError
from exactik.model import Pose, Skeleton
from exactik.model.motion import Markers, Motion, axes_matrix, cyclic_axes
from exactik.recordings.tracking import QualityArray
from exactik.studio.player.plates import ShownPlate, show_plates
from exactik.typing import Array, BoolArray, IntArray

# Bytes of poses and markers before they are compressed, which leaves about half as text: a
# minute of 27 bones and 41 markers at 30 Hz takes 0.8 MB, and a report shall stay below 3 MB.
MAX_MOTION_BYTES = 1_600_000
ROTATION_BYTES, POINT_BYTES = 8, 6  # of a bone's rotation, and of a place, in a frame
MAX_OTHERS = 40  # markers that no figure explains: more take the place of frames, and hide it
MAX_AWAY = 2.0  # [m] from where a figure is at any time: what is farther is no marker of this room
MAX_PLACE = 1e6  # [m or rad] of coordinates: single precision, which draws, knows 1e6 m to 6 cm


class Ghost(NamedTuple):
    """Another figure at the same frames."""

    pose: Pose  # of it in the frames that are shown; any where it has none
    present: BoolArray  # whether it has one, (K,)


@dataclass(frozen=True, eq=False)
class PlayerScene:
    """A figure, measured markers, or both, at frames of a recording; z up."""

    name: str  # what it shows
    rate: float  # of the recording [Hz]
    length: int  # of the recording [frames]
    frames: IntArray  # that are shown, ascending, (K,)
    pose: Pose | None = None  # of the figure in them, or None without one
    # Markers in them [m, world], (K, M, 3), NaN where missing, or too far away to be drawn; M may
    # be 0
    measured: Array = field(default_factory=lambda: np.empty((0, 0, 3)))
    marker_names: tuple[str, ...] = ()  # (M,)
    # Bone on which the figure has each marker, −1 where it has none, (M,)
    marker_bones: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    # Place of each on its bone [m], (M, 3), or (K, M, 3) if it differs by frame
    marker_points: Array = field(default_factory=lambda: np.empty((0, 3)))
    first: int = 0  # frame that is shown at first
    first_number: int = 1  # number of the recording's first frame in its file
    ghosts: tuple[Ghost, ...] = ()  # other figures, shown pale
    plates: tuple[ShownPlate, ...] = ()  # force plates
    quality: QualityArray | None = None  # what the values of each bone are worth, (K, n_bones)

    def __post_init__(self) -> None:
        """Leave out measured places that no picture can hold."""
        far = np.abs(self.measured) > MAX_PLACE
        if far.any():
            object.__setattr__(self, "measured", np.where(far, np.nan, self.measured))

    @cached_property
    def model_markers(self) -> Array:
        """Where the figure has the markers [m, world], (K, M, 3); NaN where it has none."""
        places = np.full(self.measured.shape, np.nan)
        on = self.marker_bones >= 0
        if self.pose is not None and on.any():
            bones = self.marker_bones[on]
            points = np.broadcast_to(self.marker_points, self.measured.shape)[:, on]
            arms = np.einsum("tkij,tkj->tki", self.pose.rotations[:, bones], points)
            places[:, on] = self.pose.positions[:, bones] + arms
        return places

    @cached_property
    def extent(self) -> tuple[Array, Array]:
        """Lower and upper corner of all that is seen [m, world], (3,) each."""
        parts = [self.measured] if self.pose is None else [self.measured, self.pose.positions]
        parts += [ghost.pose.positions for ghost in self.ghosts]
        parts += [places for plate in self.plates for places in plate]
        low, high = np.full(3, np.nan), np.full(3, np.nan)
        for places in parts:
            for axis in range(3 if places.size > 0 else 0):  # far quicker than all three at once
                values = places[..., axis].ravel()
                low[axis] = np.fmin(low[axis], np.fmin.reduce(values))
                high[axis] = np.fmax(high[axis], np.fmax.reduce(values))
        if not np.isfinite(low).all():
            return np.zeros(3), np.ones(3)
        return low, high

    def index_of(self, frame: int) -> int:
        """Return which of `frames` is nearest to a frame."""
        return int(np.argmin(np.abs(self.frames - frame)))


def carry_quality(skeleton: Skeleton, quality: QualityArray) -> QualityArray:
    """Return what bones are worth, (…, n_bones), of what their joints are.

    A bone without a joint of its own is worth what the bone is that carries it.
    """
    moving, carried = set(skeleton.dof_bones.tolist()), quality.copy()
    for k, parent in enumerate(skeleton.parents.tolist()):
        if parent >= 0 and k not in moving:
            carried[..., k] = carried[..., parent]
    return carried


def pose_figure(skeleton: Skeleton, q: Array) -> Pose:
    """Return the poses of a figure that is to be shown, of coordinates (K, nq)."""
    far = float(np.abs(q).max(initial=0.0))
    if far > MAX_PLACE:
        raise UsageError(f"a coordinate of the motion is {far:.0e}; nothing as far is shown")
    return skeleton.forward(q)


def choose_frames(
    count: int,
    frame_bytes: float,
    wanted: Iterable[int] = (),
    max_bytes: int = MAX_MOTION_BYTES,
) -> IntArray:
    """Return the frames to show: all, or every n-th if that is too much, and those wanted.

    Args:
        count: of the frames of a recording.
        frame_bytes: that each of them takes, before compression.
        wanted: frames that are shown in any case, such as those that a reader is sent to.
        max_bytes: that all frames take but those wanted.
    """
    most = max(int(max_bytes / max(frame_bytes, 1.0)), 2)
    stride = -(-count // most)
    frames = np.arange(0, count, stride)
    if stride == 1:
        return frames
    more = np.fromiter((f for f in wanted if 0 <= f < count), dtype=np.int64)
    return np.unique(np.concatenate([frames, more[:most], [count - 1]])).astype(np.int64)


def estimate_frame_bytes(bones: int, markers: int) -> float:
    """Return the bytes that a frame takes before compression."""
    return float(ROTATION_BYTES * bones + POINT_BYTES * (markers + 1))


def compose_scene(
    thing: Motion | Markers,
    *,
    markers: Markers | None = None,
    marker_points: Array | None = None,
    wanted: Iterable[int] = (),
    first: int = 0,
    max_bytes: int = MAX_MOTION_BYTES,
    others: Markers | None = None,
) -> PlayerScene:
    """Return what a player shows of a motion with its markers, or of markers alone.

    Args:
        thing: the motion or the markers.
        markers: measured, with the frames of the motion.
        marker_points: places of those markers of the figure that have their names [m, bone],
            (1 or T, M, 3); those of the skeleton if None.
        wanted: frames that are shown in any case.
        first: frame that is shown at first.
        max_bytes: of all frames before compression; of longer recordings every n-th is shown.
        others: what else was recorded in the same frames: force plates, and markers that no figure
            explains.
    """
    if isinstance(thing, Markers):
        return _compose_markers(thing, (first, *wanted), first, max_bytes)
    skeleton, count = thing.skeleton, len(thing)
    if markers is not None and len(markers) != count:
        raise UsageError(f"a motion of {count} frames and markers of {len(markers)}")
    there = np.isfinite(thing.q).all(axis=1)
    if not there.any():
        raise UsageError("the motion has no frame to show")
    others = None if others is None else _keep_most_seen(others)
    shown = sum(len(part.names) for part in (markers, others) if part is not None)
    size = estimate_frame_bytes(len(skeleton.bones), shown)
    frames = choose_frames(count, size, (first, *wanted), max_bytes)
    # A frame without a pose shows that of the last one before it that has one.
    last = np.maximum.accumulate(np.where(there, np.arange(count), int(np.argmax(there))))
    pose = _turn_pose(pose_figure(skeleton, thing.q[last[frames]]), thing.up_axis)
    scene = PlayerScene(
        name=skeleton.name,
        rate=thing.rate,
        length=count,
        frames=frames,
        pose=pose,
        measured=np.empty((len(frames), 0, 3)),
        first=first,
        first_number=thing.first_frame,
    )
    if markers is None:
        return scene
    bones, points = _find_places(skeleton, markers.names)
    if marker_points is not None:
        points = marker_points[0] if len(marker_points) == 1 else marker_points[frames]
    up, names = _up_matrix(thing.up_axis), markers.names
    measured = markers.positions[frames] @ up.T
    if others is not None:
        unused = _keep_near(others.positions[frames] @ up.T, pose.positions)
        measured, names = np.concatenate([measured, unused], axis=1), names + others.names
        bones = np.append(bones, np.full(len(others.names), -1))
        nowhere = np.zeros((*points.shape[:-2], len(others.names), 3))
        points = np.concatenate([points, nowhere], axis=-2)
    return replace(
        scene,
        measured=measured,
        marker_names=names,
        marker_bones=bones,
        marker_points=points,
        plates=() if others is None else show_plates(others, frames, up),
    )


def _keep_most_seen(markers: Markers) -> Markers:
    """Return the markers that are seen at all, those seen most where there are too many."""
    seen = (~markers.missing).sum(axis=0)
    most = np.argsort(-seen, kind="stable")[:MAX_OTHERS]
    kept = np.sort(most[seen[most] > 0])
    names = tuple(markers.names[m] for m in kept)
    return Markers(
        markers.positions[:, kept], names, markers.rate, force_plates=markers.force_plates
    )


def _keep_near(places: Array, positions: Array) -> Array:
    """Return places [m], (K, M, 3), without those that are far from a figure in all its frames."""
    low, high = positions.min(axis=(0, 1)) - MAX_AWAY, positions.max(axis=(0, 1)) + MAX_AWAY
    with np.errstate(invalid="ignore"):
        near = ((places >= low) & (places <= high)).all(axis=2, keepdims=True)
    return np.where(near, places, np.nan)


def _compose_markers(
    markers: Markers, wanted: Iterable[int], first: int, max_bytes: int
) -> PlayerScene:
    size = estimate_frame_bytes(0, len(markers.names))
    frames = choose_frames(len(markers), size, wanted, max_bytes)
    return PlayerScene(
        name=file_name(markers.source),
        rate=markers.rate,
        length=len(markers),
        frames=frames,
        measured=markers.positions[frames] @ _up_matrix(markers.up_axis).T,
        marker_names=markers.names,
        marker_bones=np.full(len(markers.names), -1, dtype=np.int64),
        marker_points=np.zeros((len(markers.names), 3)),
        first=first,
        first_number=markers.first_frame,
        plates=show_plates(markers, frames, _up_matrix(markers.up_axis)),
    )


def _find_places(skeleton: Skeleton, names: tuple[str, ...]) -> tuple[IntArray, Array]:
    """Return bone, −1 for none, (M,), and place on it [m], (M, 3), of markers by their names."""
    bones, points = np.full(len(names), -1, dtype=np.int64), np.zeros((len(names), 3))
    for m, name in enumerate(names):
        if name in skeleton.markers:
            bone, point = skeleton.markers[name]
            bones[m], points[m] = skeleton.bone_index(bone), point
    return bones, points


def _up_matrix(up_axis: str | None) -> Array:
    return axes_matrix(cyclic_axes(up_axis or "z", "z"))


def _turn_pose(pose: Pose, up_axis: str | None) -> Pose:
    if up_axis in (None, "z"):
        return pose
    turn = _up_matrix(up_axis)
    return Pose(pose.skeleton, pose.positions @ turn.T, turn @ pose.rotations)
