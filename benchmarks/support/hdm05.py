"""The takes of HDM05 that papers use: 41 markers on a figure of 58 dofs, 120 frames a second.

The skeleton's 62 dofs without the thumbs, which no marker shows: they are to be locked. Markers sit
where they are on average over a take, in the bone frames of the pose that comes with it.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import exactik as ik
from exactik.typing import Array
from exactik_papers.hdm05 import BONES, LOCK, TAKES

__all__ = ["LOCK", "TAKES", "Take", "find_hdm05_folder", "find_take_folder", "load_take"]


LIMIT_MARGIN = 0.05  # by which limits from data are widened, of their absolute value


@dataclass(frozen=True, eq=False)
class Take:
    """A take.

    Attributes:
        name: such as "03-05_02".
        skeleton: with the markers where they are on average.
        markers: as recorded, in the axes of the skeleton.
        q: poses that come with the take, (T, nq).
        offsets: of the markers in their bones at these poses [m], (T, 41, 3).
    """

    name: str
    skeleton: ik.Skeleton
    markers: ik.Markers
    q: Array
    offsets: Array

    def __len__(self) -> int:
        return len(self.markers)

    @property
    def limited(self) -> ik.Skeleton:
        """The same figure with limits from the poses: least and most, widened; the root is free."""
        low, high = self.q.min(axis=0), self.q.max(axis=0)
        low, high = low - LIMIT_MARGIN * np.abs(low), high + LIMIT_MARGIN * np.abs(high)
        bones, first = [], 0
        for bone in self.skeleton.bones:
            dofs = range(first, first + bone.joint.nv)
            first += bone.joint.nv
            if bone.parent is not None and len(dofs) > 0:
                limits = tuple((float(low[i]), float(max(high[i], low[i] + 1e-6))) for i in dofs)
                bone = replace(bone, joint=replace(bone.joint, limits=limits))
            bones.append(bone)
        return ik.Skeleton(self.skeleton.name, tuple(bones), dict(self.skeleton.markers))

    def between(self, first: int, end: int) -> Take:
        """Frames `first` to `end`, which is excluded, with the figure of the whole take."""
        frames = slice(first, end)
        markers = replace(self.markers, positions=self.markers.positions[frames])
        return replace(self, markers=markers, q=self.q[frames], offsets=self.offsets[frames])


def find_hdm05_folder() -> Path | None:
    """Return the folder of the takes: EXACTIK_HDM05, or beside the checkout; None without."""
    beside_checkout = (
        Path(__file__).resolve().parents[3] / "shared" / "data" / "asf_amc" / "hdm05_dg"
    )
    folder = Path(os.environ.get("EXACTIK_HDM05", beside_checkout))
    return folder if (folder / "HDM_dg.asf").is_file() else None


def find_take_folder(name: str) -> Path | None:
    """Return the folder that holds a take: that of the others or one beside it; None without."""
    folder = find_hdm05_folder()
    if folder is None:
        return None
    candidates = (folder, folder.with_name(f"{folder.name}_crlf"))
    return next((f for f in candidates if (f / f"HDM_dg_{name}_120.c3d").is_file()), None)


def load_take(folder: Path, name: str) -> Take:
    """Read a take from a folder with HDM_dg.asf and the take's AMC and C3D."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ik.FileWarning)  # limits that the data do not keep
        skeleton = ik.load_skeleton(folder / "HDM_dg.asf")
        motion = ik.load_motion(folder / f"HDM_dg_{name}_120.amc", skeleton)
        markers = ik.load_markers(folder / f"HDM_dg_{name}_120.c3d", axes="YZX").without_prefix()
    bone_of = {marker: bone for bone, names in BONES.items() for marker in names.split()}
    names = [marker for marker in markers.names if marker in bone_of]
    assert len(names) == 41, names
    count = min(len(motion), len(markers))
    place, pose = markers.chosen(names).positions[:count], skeleton.forward(motion.q[:count])
    index = [skeleton.bone_index(bone_of[marker]) for marker in names]
    away = place - pose.positions[:, index]
    offsets = np.einsum("tmji,tmj->tmi", pose.rotations[:, index], away)
    mean = offsets.mean(axis=0)
    marked = skeleton.with_markers({n: (bone_of[n], mean[m]) for m, n in enumerate(names)})
    recording = ik.Markers(place, tuple(names), markers.rate, up_axis=markers.up_axis)
    return Take(
        name=name,
        skeleton=marked,
        markers=recording,
        q=np.array(motion.q[:count]),
        offsets=offsets,
    )
