"""The bones of a skeleton as a tree, with what their names say and where they are at rest."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from exactik.errors import ModelError
from exactik.model import Skeleton
from exactik.retargeting.body._anatomy import BodyPart
from exactik.retargeting.body._bone_names import BoneName, read_bone_name
from exactik.typing import Array

__all__ = ["SAME_PLACE", "BoneTree"]

SAME_PLACE = 0.05
"""Share of a limb's stretch within which two joints are one: hinges of an ankle are 2 cm apart, a
foot or a hip's distance from the middle are more than a tenth of a leg."""


class BoneTree:
    """One skeleton; bones are told by their index.

    Attributes:
        skeleton: the figure.
        names: what the name of each bone says.
        parents: of each bone; −1 for a root.
        positions: of the bones at rest [m, world], (n_bones, 3).
    """

    def __init__(self, skeleton: Skeleton, q_rest: Array):
        self.skeleton = skeleton
        self.names: list[BoneName] = [read_bone_name(name) for name in skeleton.bone_names]
        self.parents: list[int] = skeleton.parents.tolist()
        self.positions = skeleton.forward(q_rest).positions

    def index(self, part: BodyPart) -> int:
        """Return the index of a part's bone."""
        return self.skeleton.bone_index(part.bone)

    def is_bone(self, k: int) -> bool:
        """Whether it is no end of a chain and no dummy."""
        return not self.names[k].is_helper

    def measure_distance(self, a: int, b: int) -> float:
        """Return how far two bones are apart at rest [m]."""
        return float(np.linalg.norm(self.positions[a] - self.positions[b]))

    def find_ancestors(self, bone: int) -> list[int]:
        """Return the bone and those above it, upwards."""
        path = [bone]
        while (bone := self.parents[bone]) >= 0:
            path.append(bone)
        return path

    def find_common_bone(
        self, left: list[int], right: list[int], given: Mapping[str, BodyPart], part: str
    ) -> int:
        """Return the bone that two limbs hang on: the lowest strictly above both."""
        if part in given:
            return self.index(given[part])
        above = set(self.find_ancestors(right[0])[1:])
        found = next((k for k in self.find_ancestors(left[0])[1:] if k in above), -1)
        if found < 0:
            raise ModelError(f"limbs of {self.skeleton.name!r} hang on no common bone, its {part}")
        return found

    def find_path(self, a: int, b: int) -> list[int]:
        """Return the bones from a to b, both included, over their common ancestor."""
        up, down = self.find_ancestors(a), self.find_ancestors(b)
        top = next(k for k in up if k in down)
        return [*up[: up.index(top) + 1], *reversed(down[: down.index(top)])]

    def drop_hinges(self, path: list[int]) -> list[int]:
        """Return a path without the first hinges of joints that are several at one place."""
        steps = [self.measure_distance(a, b) for a, b in pairwise(path)]
        near = SAME_PLACE * max(steps, default=0.0)
        kept = [k for n, k in enumerate(path[1:-1], 1) if steps[n] > near]
        return [path[0], *kept, *path[1:][-1:]]
