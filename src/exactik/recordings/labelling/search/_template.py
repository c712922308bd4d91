"""The labels that points may get: places on a figure, and how sure they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from exactik.errors import UnknownNameError, UsageError
from exactik.model import Skeleton
from exactik.typing import Array, BoolArray, IntArray

PLACE_SD = 0.03
"""[m] of a marker from its place on the figure along each axis, where nothing else is known: where
people put it, and how they differ from the figure (as `calibrate` assumes)."""
MIN_PLACE_SD = 0.02
"""[m] at least: bones of the figure are not the subject's, wherever hands feel them."""
POSE_SD_SHARE = 0.5
"""Standard deviation of a dof in shares of half of its range: people are within the middle half of
it most of the time."""
MAX_DOF_SD = 1.0  # [rad] of dofs with no limits or wide ones
MIN_DOF_SD = 0.05  # [rad] of dofs with hardly any range
SIZE_SD = 0.15
"""Of the logarithm of a subject's size over the figure's: adults differ by 0.06, and children must
not be out of reach."""
MIN_LEG = 0.3  # [m] below the root that a branch reaches to be lower: a leg does, a back does not
MIN_LABELS = 4  # of fewer no shape is told


@dataclass(frozen=True, eq=False)
class Template:
    """A figure whose markers are the labels."""

    skeleton: Skeleton  # the figure; z up, x forward, y to the left at rest
    names: tuple[str, ...]  # of the labels, (M,)
    bones: IntArray  # of the labels, (M,)
    points: Array  # of the labels on their bones [m], (M, 3)
    sd: Array  # of each from there, along each axis [m], (M,)

    @property
    def dof_precision(self) -> Array:
        """1/σ² of each dof from rest [1/rad² or 1/m²], (nv,); 0 for those of the root."""
        skeleton = self.skeleton
        half_range = 0.5 * (skeleton.upper - skeleton.lower)
        sd = np.clip(POSE_SD_SHARE * half_range, MIN_DOF_SD, MAX_DOF_SD)
        precision, first = 1.0 / sd**2, skeleton.tree.first_v
        for k in np.flatnonzero(skeleton.parents < 0):
            precision[int(first[k + 1]) : int(first[k + 2])] = 0.0
        return precision

    @cached_property
    def are_neighbours(self) -> BoolArray:
        """Whether two labels are on the same bone or on two that are joined, (M, M)."""
        parents = self.skeleton.parents[self.bones]
        joined = parents[:, None] == self.bones
        return (self.bones[:, None] == self.bones) | joined | joined.T

    def count_missing(self, found: BoolArray) -> int:
        """Return how many labels are not found, (M,), although neighbours of theirs are.

        Sets are often worn in part, but then whole limbs are left out.
        """
        return int(np.count_nonzero(~found & (self.are_neighbours & found).any(axis=1)))

    @property
    def rest_places(self) -> Array:
        """Where the labels are at rest [m], (M, 3)."""
        pose = self.skeleton.forward(self.skeleton.neutral())
        turned = np.einsum("mij,mj->mi", pose.rotations[self.bones], self.points)
        return pose.positions[self.bones] + turned


def split_template(template: Template) -> dict[str, Template]:
    """Return parts of a template that are often worn alone, "lower" and "upper", with the root.

    They are what hangs below the root at rest and what stands above it. A part with too few labels,
    or with all of them, is left out.
    """
    skeleton = template.skeleton
    pose = skeleton.forward(skeleton.neutral())
    height = pose.positions[:, 2] - pose.positions[0, 2]
    branch = np.arange(len(skeleton.bones))  # the root's child that each bone hangs on
    for k, parent in enumerate(skeleton.parents):
        if parent > 0:
            branch[k] = branch[parent]
    is_lower = np.array([height[branch == branch[k]].min() < -MIN_LEG for k in range(len(branch))])
    sd = dict(zip(template.names, template.sd.tolist(), strict=True))
    parts = {}
    for part, inside in (("lower", is_lower), ("upper", ~is_lower)):
        of_part = (branch[template.bones] == 0) | inside[template.bones]
        names = [name for name, has in zip(template.names, of_part, strict=True) if has]
        if MIN_LABELS <= len(names) < len(template.names):
            parts[part] = make_template(skeleton, names, {name: sd[name] for name in names})
    return parts


def size_cost(scale: float) -> float:
    """Return what it costs that a subject is of another size than the figure."""
    return 0.5 * float(np.log(scale) / SIZE_SD) ** 2


def make_template(
    skeleton: Skeleton,
    labels: Sequence[str] | None = None,
    place_sd: Mapping[str, float] | None = None,
) -> Template:
    """Return the template of a skeleton's markers.

    Args:
        skeleton: whose markers are the labels.
        labels: which of them; None for all.
        place_sd: how far a marker may be from its place [m], by name; 0.03 for those not named.
    """
    names = tuple(skeleton.markers) if labels is None else tuple(labels)
    for name in (*names, *(place_sd or {})):
        if name not in skeleton.markers:
            raise UnknownNameError("marker", name, tuple(skeleton.markers))
    if len(names) < MIN_LABELS:
        raise UsageError(f"{len(names)} labels are too few to tell points apart by shape")
    chosen = skeleton.with_markers({name: skeleton.marker(name) for name in names})
    sd = [max((place_sd or {}).get(name, PLACE_SD), MIN_PLACE_SD) for name in names]
    return Template(
        skeleton=chosen,
        names=names,
        bones=np.array([chosen.bone_index(chosen.marker(name)[0]) for name in names]),
        points=np.array([chosen.marker(name)[1] for name in names]),
        sd=np.array(sd),
    )
