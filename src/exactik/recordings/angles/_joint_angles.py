"""Joint angles of a motion, from the orientations of its segments.

Angles come from where the bones are, not from coordinates of joints, so they mean the same whatever
the joints are made of.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from exactik._arrays import freeze
from exactik.errors import UnknownNameError, UsageError
from exactik.io.tables import write_csv
from exactik.model import Pose
from exactik.model.motion import Motion, find_segments
from exactik.recordings.angles._body_segments import SIDES, BodySegments, find_body_segments
from exactik.recordings.angles._definitions import JOINTS, AngleName, JointDefinition
from exactik.spatial import euler_angles, other_euler_angles, wrap_angles
from exactik.typing import Array, BoolArray

CHUNK_FRAMES = 8192  # whose poses are in memory together; no effect on results
LOCK_SINE = 0.1  # sine from gimbal lock (5.7°) below which outer angles are poorly defined
PROBE_POSES = 3  # random: what changes in none of them, the joints cannot change
PROBE_TOLERANCE = 1e-9  # [rad] by which rounding may change it


@dataclass(frozen=True, eq=False, repr=False)
class JointAngles:
    """Angles of joints over time, as they are published; see docs/angles.md for names and signs."""

    names: tuple[str, ...]  # of the angles, (n,), such as "hip_flexion_r"
    # [rad], (T, n), without whole turns from frame to frame; not a number where the motion is
    # missing
    values: Array
    rate: float  # frames a second [Hz]
    first_frame: int  # number of the first frame in the file
    # Where an angle is poorly defined because the first and last axis of its joint nearly agree
    # (the shoulder's plane and rotation of a hanging arm), (T, n)
    near_lock: BoolArray
    sd: Array | None = None  # standard deviation [rad], (T, n), or None where it is not known
    # The part of it that comes of noise, (T, n): what is wrong with the figure lasts, and
    # differences between frames do not have it
    noise_sd: Array | None = None
    start_time: float = 0.0  # of the first frame [s], as the file counts

    def __post_init__(self) -> None:
        """Keep arrays read-only."""
        for name in ("values", "near_lock", "sd", "noise_sd"):
            array = getattr(self, name)
            if array is not None:
                object.__setattr__(self, name, freeze(array))

    def __len__(self) -> int:
        """Number of frames."""
        return len(self.values)

    def __repr__(self) -> str:
        return f"<JointAngles: {len(self)} frames at {self.rate:g} Hz, {len(self.names)} angles>"

    @property
    def times(self) -> Array:
        """Time of each frame [s], as the file counts, (T,)."""
        return self.start_time + np.arange(len(self)) / self.rate

    @property
    def degrees(self) -> Array:
        """The angles in degrees, (T, n)."""
        return np.degrees(self.values)

    def angle(self, name: str) -> Array:
        """Return an angle over time [rad], (T,)."""
        if name not in self.names:
            raise UnknownNameError("angle", name, self.names)
        return self.values[:, self.names.index(name)]

    def table(self) -> dict[str, Array]:
        """Return columns by name, as for a data frame: "time" [s], then angles [degrees].

        Standard deviations, where known, follow as "sd_…" [degrees].
        """
        columns = {"time": self.times}
        columns |= {name: self.degrees[:, k] for k, name in enumerate(self.names)}
        if self.sd is not None:
            sd = np.degrees(self.sd)
            columns |= {f"sd_{name}": sd[:, k] for k, name in enumerate(self.names)}
        return columns

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to .csv: frame, time [s], angles and standard deviations [degrees]."""
        if not os.fspath(path).lower().endswith(".csv"):
            raise UsageError(f"angles are written to .csv files; expected one, not {path!r}")
        names, rows = [f"{name} [deg]" for name in self.names], self.degrees
        if self.sd is not None:
            names += [f"sd {name} [deg]" for name in self.names]
            rows = np.concatenate([rows, np.degrees(self.sd)], axis=1)
        write_csv(os.fspath(path), names, rows, self.times, self.first_frame)

    def with_sd(self, sd: Array, noise_sd: Array | None = None) -> JointAngles:
        """Return the same with standard deviations, and the part of noise [rad], (T, n) each."""
        return replace(self, sd=sd, noise_sd=noise_sd)


def compute_joint_angles(motion: Motion, bones: Mapping[str, str] | None = None) -> JointAngles:
    """Return the joint angles of a motion, see docs/angles.md.

    Angles that the figure's joints cannot change are left out, such as the adduction of a knee that
    is a hinge.

    Args:
        motion: of a person.
        bones: segment → bone where the names of the bones do not tell, see `find_body_segments`.

    Raises:
        UsageError: the skeleton is no body that is known.
    """
    segments = find_body_segments(motion.skeleton, bones)
    joints = find_joints(segments)
    euler = np.empty((len(joints), len(motion), 3))
    for frames, pose in iterate_poses(motion):
        for k, (joint, side) in enumerate(joints):
            euler[k, frames] = compute_euler_angles(segments, joint, side, pose.rotations)
    names: list[str] = []
    columns, locks = [], []
    probe_rotations = _compute_probe_rotations(segments)
    for j, (joint, side) in enumerate(joints):
        is_movable = _find_movable(segments, joint, side, probe_rotations)
        lock = _find_lock(joint, euler[j])
        angles = _make_continuous(joint, euler[j], lock)
        for k, (angle, sign) in enumerate(list_angles(joint, side)):
            if angle is not None and is_movable[k]:
                names.append(name_angle(angle, side))
                columns.append(sign * angles[:, k])
                locks.append(lock & (k != 1))
    shape = (len(motion), len(names))
    return JointAngles(
        names=tuple(names),
        values=np.stack(columns, axis=1) if columns else np.empty(shape),
        rate=motion.rate,
        first_frame=motion.first_frame,
        near_lock=np.stack(locks, axis=1) if locks else np.empty(shape, dtype=bool),
        start_time=motion.start_time,
    )


def iterate_poses(motion: Motion) -> Iterator[tuple[slice, Pose]]:
    """Yield the poses of a motion in chunks: all bones of an hour would take a gigabyte."""
    for first in range(0, len(motion), CHUNK_FRAMES):
        frames = slice(first, min(first + CHUNK_FRAMES, len(motion)))
        yield frames, replace(motion, q=motion.q[frames]).forward()


def find_joints(segments: BodySegments) -> list[tuple[JointDefinition, str]]:
    """Return the joints with both segments on the skeleton, and their side: "r", "l" or ""."""
    known = {"lab", *segments.bones}
    found = []
    for joint in JOINTS:
        for side in SIDES if joint.paired else ("",):
            ends = {name_segment(end, side, known) for end in (joint.proximal, joint.distal)}
            if ends <= known:
                found.append((joint, side))
    return found


def name_segment(segment: str, side: str, known: Mapping[str, object] | set[str]) -> str:
    """Return the name of a segment on a side; those of the middle have none."""
    return segment if side == "" or segment in known else f"{segment}_{side}"


def compute_euler_angles(
    segments: BodySegments, joint: JointDefinition, side: str, rotations: Array
) -> Array:
    """Return the Euler angles of a joint [rad], (…, 3), as they come: unsigned for the side.

    Args:
        segments: of the skeleton.
        joint: which angles.
        side: "r", "l" or "".
        rotations: R_world_bone of all bones, (…, n_bones, 3, 3).
    """
    ends = [name_segment(end, side, segments.bones) for end in (joint.proximal, joint.distal)]
    R_world_proximal, R_world_distal = (segments.compute_rotations(e, rotations) for e in ends)
    R_proximal_distal = np.swapaxes(R_world_proximal, -1, -2) @ R_world_distal
    angles = euler_angles(joint.order, R_proximal_distal)
    if joint.is_proper_euler:
        # Elevation is positive by name: on the right a turn by −β about x (Wu et al. 2005), so the
        # other of the two equal triplets there.
        _, sign = list_angles(joint, side)[1]
        angles = np.where(sign < 0, other_euler_angles(joint.order, angles), angles)
    return angles


def name_angle(angle: AngleName, side: str) -> str:
    """Return the name of an angle with its side."""
    return f"{angle.name}_{side}" if side != "" else angle.name


def list_angles(joint: JointDefinition, side: str) -> list[tuple[AngleName | None, int]]:
    """Return the three angles of a joint and their signs on a side; 0 where there is none."""
    signed = []
    for angle in joint.angles:
        sign = 0 if angle is None else angle.left if side == "l" else angle.right
        signed.append((angle, sign))
    return signed


def _find_lock(joint: JointDefinition, angles: Array) -> BoolArray:
    """Return in which frames angles (T, 3) [rad] are near gimbal lock, (T,)."""
    middle = angles[:, 1]
    distance = np.sin(middle) if joint.is_proper_euler else np.cos(middle)
    return np.abs(distance) < LOCK_SINE


def _make_continuous(joint: JointDefinition, angles: Array, lock: BoolArray) -> Array:
    """Return angles without whole turns between frames, (T, 3).

    Where the two triplets of one rotation cross, the one nearer to the frame before is taken; not
    for the shoulder, whose elevation is never negative: its outer angles are continuous only as
    long as the arm stays away from hanging.
    """
    present = np.flatnonzero(np.isfinite(angles).all(axis=1))
    if len(present) == 0:
        return angles
    values = angles[present]
    if joint.is_proper_euler:
        for segment in find_segments(~lock[present]):
            part = slice(segment.first, segment.last + 1)
            values[part] = _unwrap(values[part])
    else:
        other = other_euler_angles(joint.order, values)
        stay = np.abs(wrap_angles(values[1:] - values[:-1])).sum(axis=1)
        change = np.abs(wrap_angles(other[1:] - values[:-1])).sum(axis=1)
        is_other = np.logical_xor.accumulate(np.append(False, change < stay))
        values = _unwrap(np.where(is_other[:, None], other, values))
    angles = angles.copy()
    angles[present] = values
    return angles


def _unwrap(values: Array) -> Array:
    """Return values (T, 3) without whole turns between frames, their median within half a turn."""
    values = np.unwrap(values, axis=0)
    return values - 2.0 * np.pi * np.round(np.median(values, axis=0) / (2.0 * np.pi))


def _compute_probe_rotations(segments: BodySegments) -> Array:
    """Return R_world_bone of the rest pose and of random ones near it, (n, n_bones, 3, 3)."""
    skeleton = segments.skeleton
    v = np.random.default_rng(0).uniform(-0.3, 0.3, (1 + PROBE_POSES, skeleton.nv))
    v[0] = 0.0
    return skeleton.forward(skeleton.integrate(skeleton.neutral(), v)).rotations


def _find_movable(
    segments: BodySegments, joint: JointDefinition, side: str, rotations: Array
) -> BoolArray:
    """Return which of the three angles the joints of the figure can change, (3,)."""
    angles = compute_euler_angles(segments, joint, side, rotations)
    return np.abs(wrap_angles(angles[1:] - angles[0])).max(axis=0) > PROBE_TOLERANCE
