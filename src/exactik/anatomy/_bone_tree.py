"""The bones of a skeleton as a tree, with what their names say and where they are at rest."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from exactik.anatomy._body import BodyPart
from exactik.anatomy._names import BoneName, read_bone_name
from exactik.model import Skeleton
from exactik.typing import Array

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

    def find_bone_above(self, limbs: list[list[int]]) -> int:
        """Return the bone that limbs hang on: the lowest strictly above all; −1 for none."""
        above = [self.find_ancestors(limb[0])[1:] for limb in limbs if len(limb) > 0]
        return next((k for k in above[0] if all(k in other for other in above)), -1)

    def is_joined(self, a: int, b: int) -> bool:
        """Whether two bones hang on the same root."""
        return self.find_ancestors(a)[-1] == self.find_ancestors(b)[-1]

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
