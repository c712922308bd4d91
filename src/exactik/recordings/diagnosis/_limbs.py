"""Parts of the body, judged each by itself: one bad leg must not hide in a good mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exactik.anatomy import find_limbs, find_partners
from exactik.model import Skeleton
from exactik.typing import BoolArray

if TYPE_CHECKING:
    from exactik.recordings.tracking import Track


@dataclass(frozen=True, kw_only=True)
class LimbFacts:
    """A limb of the body, its trunk or its head."""

    bones: tuple[str, ...]  # from the trunk outwards
    mirrored: str | None  # first bone of the same part on the other side, None if there is none
    markers: tuple[str, ...]  # that were used and seen
    mean_error: float  # of these [m]; not a number without markers
    p95_error: float  # that 95 % of their samples keep below [m]
    gap_share: float  # of the frames in which a dof of it had lost its markers, mean of its dofs
    dofs: int  # number of dofs with markers on their bone or beyond it
    open_dofs: tuple[str, ...]  # those of them that nothing determines

    @property
    def name(self) -> str:
        """What to call it: its first bone, "l_thigh" for the left leg."""
        return self.bones[0]


def find_instrumented_bones(skeleton: Skeleton, markers: Sequence[str]) -> set[str]:
    """Return the bones that have some of the markers on them or on bones beyond them."""
    parents = {bone.name: bone.parent for bone in skeleton.bones}
    found: set[str] = set()
    for name in markers:
        bone: str | None = skeleton.marker(name)[0]
        while bone is not None and bone not in found:
            found.add(bone)
            bone = parents[bone]
    return found


def measure_limbs(
    track: Track, frames: slice, with_markers: BoolArray, is_open: BoolArray
) -> tuple[LimbFacts, ...]:
    """Return the parts of a track's figure that have markers.

    Args:
        frames: in which the subject is there.
        with_markers: dofs with markers on their bone or beyond it, (nv,).
        is_open: dofs that nothing determines, (nv,).
    """
    skeleton, errors = track.skeleton, track.errors_that_count[frames]
    seen, undetermined = np.isfinite(errors), track.undetermined[frames]
    marker_bones = np.array([skeleton.marker(name)[0] for name in track.names])
    names, dof_names = np.array(track.names), np.array(skeleton.dof_names)
    dof_bones = np.array([name.rpartition(".")[0] for name in skeleton.dof_names])
    limbs, partners = [], find_partners(skeleton)
    for bones in find_limbs(skeleton):
        here = np.isin(marker_bones, bones) & seen.any(axis=0)
        samples = errors[:, here][seen[:, here]]
        dofs = np.isin(dof_bones, bones) & with_markers
        if not here.any():
            continue
        limbs.append(
            LimbFacts(
                bones=bones,
                mirrored=partners.get(bones[0]),
                markers=tuple(names[here].tolist()),
                mean_error=float(samples.mean()),
                p95_error=float(np.percentile(samples, 95.0)),
                gap_share=float(undetermined[:, dofs].mean()) if dofs.any() else 0.0,
                dofs=int(dofs.sum()),
                open_dofs=tuple(dof_names[dofs & is_open].tolist()),
            )
        )
    return tuple(limbs)
