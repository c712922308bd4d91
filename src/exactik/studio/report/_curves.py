"""Angles over time with their error bars: joint angles as published, and coordinates of dofs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from exactik.recordings.angles import (
    JointAngles,
    compute_angle_rates,
    compute_joint_angles,
    find_body_segments,
    is_body,
)
from exactik.recordings.tracking import compute_combination_deviations
from exactik.studio.plots.axes import Bins
from exactik.studio.report._series import encode_bytes
from exactik.typing import Array, BoolArray, IntArray

if TYPE_CHECKING:
    from exactik.recordings.tracking import Track


MIN_MAX_ANGLE_BYTES = 1_000_000, 5_000_000  # for short and for long recordings, as text
MIN_SEEN = 3  # markers without which a pose is a guess, as `Track.status` has it
ANGLE_BYTES_PER_FRAME = 120  # bytes of angles that a frame adds, between these two


class AngleCurves(NamedTuple):
    """Joint angles, then coordinates of all dofs, with their error bars, in degrees or metres."""

    bins: Bins  # of the frames
    names: tuple[str, ...]  # of the joint angles, (a,); none of a figure that is no body
    low: Array  # least of each bin, (n, a + nv)
    high: Array  # most of each bin
    sd: Array  # standard deviation, (n, a + nv)
    # Bins in which the subject is seen: three markers or more in some frame, (n,); all if there is
    # none
    seen: BoolArray
    angles: JointAngles | None  # the joint angles of every frame; None of a figure that is no body

    def compute_usual_sd(self, columns: Sequence[int]) -> Array:
        """Return the median of standard deviations while the subject is seen, of each column."""
        return np.median(self.sd[self.seen][:, list(columns)], axis=0)

    def encode(self, k: int) -> dict[str, Any]:
        """Return a column as text."""
        low, high = float(self.low[:, k].min()), float(self.high[:, k].max())
        step = max(high - low, 1e-9) / 65535.0
        wide = float(self.sd[:, k].max())
        root = np.round(255.0 * np.sqrt(self.sd[:, k] / max(wide, 1e-12)))
        data = {"low": low, "step": step, "wide": wide, "sd": encode_bytes(root.astype(np.uint8))}
        data["a"] = encode_bytes(np.round((self.low[:, k] - low) / step).astype("<u2"))
        if len(self.bins) < self.bins.frames:
            data["b"] = encode_bytes(np.round((self.high[:, k] - low) / step).astype("<u2"))
        return data


def make_angle_curves(track: Track) -> AngleCurves:
    """Return all angles over time, in so many bins that the file stays small."""
    skeleton, count = track.skeleton, len(track)
    angles = compute_joint_angles(track.motion) if is_body(skeleton) else None
    names = () if angles is None else angles.names
    width = max(len(names) + skeleton.nv, 1)
    budget = int(np.clip(ANGLE_BYTES_PER_FRAME * count, *MIN_MAX_ANGLE_BYTES))
    whole = count * width * 4 <= budget  # three bytes are four letters
    bins = Bins.of(count, count if whole else max(200, (3 * budget) // (4 * 5 * width)))
    unit = np.where(skeleton.turns, 180.0 / np.pi, 1.0)
    low, high = np.empty((2, len(bins), len(names) + skeleton.nv))
    values = _dof_values(track, unit)
    for k in range(len(names) + skeleton.nv):
        if angles is not None and k < len(names):
            column = np.degrees(angles.values[:, k])
        else:
            column = values(k - len(names))
        low[:, k], high[:, k] = bins.least(column), bins.most(column)
    frames = _choose_frames(track, bins)
    clinical_sd = np.degrees(_compute_angle_deviations(track, names, bins, frames))
    sd = np.concatenate([clinical_sd, unit * _compute_deviations(track, bins, frames)], axis=1)
    count_seen = np.isfinite(track.marker_errors).sum(axis=1)
    seen = bins.most(count_seen.astype(float)) >= MIN_SEEN
    return AngleCurves(
        bins=bins,
        names=names,
        low=low,
        high=high,
        sd=sd,
        seen=seen if seen.any() else np.ones(len(bins), dtype=bool),
        angles=angles,
    )


def _dof_values(track: Track, unit: Array) -> Callable[[int], Array]:
    """Return a function from a dof to its values; of quaternions turns from the rest pose."""
    skeleton, q = track.skeleton, track.motion.q
    plain = skeleton.plain_q
    turned = np.empty((0, 0))
    if (plain < 0).any():
        turned = skeleton.difference(q, np.broadcast_to(skeleton.neutral(), q.shape))
    return lambda k: unit[k] * (q[:, plain[k]] if plain[k] >= 0 else turned[:, k])


def _choose_frames(track: Track, bins: Bins) -> IntArray:
    """Return of each bin the frame with the fewest markers, where error bars are widest, (n,)."""
    seen = np.isfinite(track.marker_errors).sum(axis=1)
    pairs = zip(bins.edges, bins.ends, strict=True)
    return np.array([a + int(np.argmin(seen[a:b])) for a, b in pairs], dtype=np.int64)


def _compute_deviations(track: Track, bins: Bins, frames: IntArray) -> Array:
    """Return the error bars of the dofs [rad or m], (n, nv)."""
    if len(bins) == bins.frames:
        return track.sd
    return bins.most(track.sd) if "sd" in vars(track) else track.compute_sd(frames)


def _compute_angle_deviations(
    track: Track, names: tuple[str, ...], bins: Bins, frames: IntArray
) -> Array:
    """Return the error bars of the joint angles [rad], (n, a); of bins without smoothing."""
    if len(names) == 0:
        return np.empty((len(frames), 0))
    if len(bins) == bins.frames:
        sd = track.angles().sd
        assert sd is not None  # of a track they are known
        return sd
    segments = find_body_segments(track.skeleton)
    some, q = track.problem.select(frames), np.ascontiguousarray(track.motion.q[frames])
    noise_sd = compute_combination_deviations(
        some,
        q,
        track.sigma,
        track.threads,
        len(names),
        lambda chosen: compute_angle_rates(segments, names, q[chosen]),
    )
    return track.add_angle_errors(noise_sd, names, q)
