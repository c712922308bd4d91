"""A skeleton's coordinates over time."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from exactik._arguments import require_instance
from exactik._arrays import as_floats, freeze
from exactik._registry import find
from exactik.errors import ShapeError
from exactik.model import Pose, Skeleton
from exactik.model.motion._segments import (
    axes_matrix,
    check_rate,
    check_up_axis,
    compute_resampled_positions,
    permute_axis,
    slice_frames,
    turn_skeleton,
)
from exactik.typing import Array


@dataclass(frozen=True, eq=False, repr=False)
class Motion:
    """A recording of a skeleton.

    Attributes:
        skeleton: whose coordinates they are.
        q: coordinates [rad or m], (T, nq); quaternions wxyz of unit length. A frame that is missing
            is not a number throughout.
        rate: frames a second [Hz].
        first_frame: number of the first frame in the file.
        start_time: of the first frame [s], as the file counts.
        up_axis: "x", "y" or "z" where the file or the user says so, else None.
        source: path of the file.
        metadata: what else the file says, such as its length unit.
        notes: what is odd about the file, a sentence each.
    """

    skeleton: Skeleton
    q: Array
    rate: float
    first_frame: int = 1
    up_axis: str | None = None
    source: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    start_time: float = 0.0

    def without_couplings(self) -> Motion:
        """Return the same motion with all dofs of the joints free, see the skeleton's."""
        if len(self.skeleton.couplings) == 0:
            return self
        present = np.isfinite(self.q).all(axis=1)
        free = self.skeleton.without_couplings()
        q = np.full((len(self.q), free.nq), np.nan)
        q[present] = self.skeleton.joint_coordinates(self.q[present])
        return replace(self, skeleton=free, q=q)

    def __post_init__(self) -> None:
        """Check shapes; keep arrays read-only."""
        require_instance("skeleton", self.skeleton, Skeleton)
        q = as_floats("q", self.q)
        if q.ndim != 2 or q.shape[1] != self.skeleton.nq:
            raise ShapeError(f"q has shape {q.shape}; expected (T, {self.skeleton.nq})")
        object.__setattr__(self, "q", freeze(np.array(q, dtype=float)))
        object.__setattr__(self, "rate", check_rate(self.rate))
        if self.up_axis is not None:
            object.__setattr__(self, "up_axis", check_up_axis(self.up_axis))
        object.__setattr__(self, "metadata", MappingProxyType(dict(self.metadata)))

    def __len__(self) -> int:
        """Number of frames."""
        return len(self.q)

    def __repr__(self) -> str:
        counts = f"{len(self)} frames at {self.rate:g} Hz, {self.skeleton.nv} dofs"
        return f"<Motion of {self.skeleton.name!r}: {counts}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the motion as it plays."""
        return find("render_card")(self)

    def __reduce__(self) -> tuple[Any, ...]:
        head = (self.skeleton, self.q, self.rate, self.first_frame, self.up_axis)
        tail = (self.source, dict(self.metadata), self.notes, self.start_time)
        return type(self), (*head, *tail)

    @property
    def times(self) -> Array:
        """Time of each frame [s], as the file counts, (T,)."""
        return self.start_time + np.arange(len(self)) / self.rate

    def forward(self) -> Pose:
        """Return the pose of all bones in all frames, positions (T, n_bones, 3).

        Not a number in frames that are missing.
        """
        missing = np.asarray(np.isnan(self.q).any(axis=1))
        pose = self.skeleton.forward(np.where(missing[:, None], self.skeleton.neutral(), self.q))
        pose.positions[missing], pose.rotations[missing] = np.nan, np.nan
        return pose

    def between(self, start: float | None = None, end: float | None = None) -> Motion:
        """Return the frames from `start` to `end`, both included [s from the first frame]."""
        part = slice_frames(len(self), self.rate, start, end)
        return replace(
            self,
            q=self.q[part],
            first_frame=self.first_frame + part.start,
            start_time=self.start_time + part.start / self.rate,
        )

    def resampled(self, rate: float) -> Motion:
        """Return the same at another rate [Hz]: straight in q, shortest arcs for quaternions.

        Gaps stay gaps, and are never bridged.
        """
        times = compute_resampled_positions(len(self), self.rate, rate)  # [frames of this motion]
        if len(times) == 0:
            return replace(self, rate=rate)
        low = np.minimum(times.astype(int), len(self) - 1)
        share = times - low
        # A gap in the next frame does not touch a frame that is one of the old ones.
        high = np.where(share < 1e-9, low, np.minimum(low + 1, len(self) - 1))
        present = np.asarray(np.isfinite(self.q).all(axis=1))
        known = present[low] & present[high]
        low, high, share = low[known], high[known], share[known, None]
        q = np.full((len(times), self.skeleton.nq), np.nan)
        step = self.skeleton.difference(self.q[high], self.q[low])
        q[known] = self.skeleton.integrate(self.q[low], share * step)
        return replace(self, q=q, rate=rate)

    def turned(self, axes: str) -> Motion:
        """Return the same in permuted axes of the world, see `Markers.turned`.

        Every bone is where it was, seen from the new axes; so is the skeleton at rest. Coordinates
        and limits stay: what is turned is the constant part of the root bones (offset and `pre`),
        which works for any joint. Writers of BVH and ASF make rest poses and angles in the new axes
        of it, as other programs expect them.
        """
        up = permute_axis(self.up_axis, axes_matrix(axes))
        return replace(self, skeleton=turn_skeleton(self.skeleton, axes), up_axis=up)

    def save(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write to .bvh, .amc, .glb, .npz, .mot or .csv; see `exactik.io.save_motion`."""
        find("save_motion")(self, path, **options)
