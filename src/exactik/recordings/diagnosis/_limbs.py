"""Parts of the body, judged each by itself: one bad leg must not hide in a good mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exactik.anatomy import find_limbs, find_partners
from exactik.model import Skeleton

if TYPE_CHECKING:
    from exactik.recordings.tracking import Track


@dataclass(frozen=True, kw_only=True)
class LimbFacts:
    """A limb of the body, its trunk or its head."""

    bones: tuple[str, ...]  # from the trunk outwards
    mirrored: str | None  # first bone of the same part on the other side, None if there is none
    mean_error: float  # of the markers that were used and seen [m]

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


def measure_limbs(track: Track, frames: slice) -> tuple[LimbFacts, ...]:
    """Return the parts of a track's figure that have markers, in the frames of its subject."""
    skeleton, errors = track.skeleton, track.errors_that_count[frames]
    marker_bones = np.array([skeleton.marker(name)[0] for name in track.names])
    limbs, partners = [], find_partners(skeleton)
    for bones in find_limbs(skeleton):
        samples = errors[:, np.isin(marker_bones, bones)]
        samples = samples[np.isfinite(samples)]
        if len(samples) > 0:
            mirrored, mean_error = partners.get(bones[0]), float(samples.mean())
            limbs.append(LimbFacts(bones=bones, mirrored=mirrored, mean_error=mean_error))
    return tuple(limbs)
