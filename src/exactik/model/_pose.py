"""Where all bones are: the result of forward kinematics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import require_shape
from exactik.errors import ModelError
from exactik.model._mass import weigh_positions
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.model._skeleton import Skeleton


@dataclass(frozen=True, eq=False)
class Pose:
    """Frames of all bones in the world, for one configuration or a batch of them.

    Attributes:
        skeleton: the figure.
        positions: origins of the bones [m], shape (…, n_bones, 3), world frame.
        rotations: R_world_bone, shape (…, n_bones, 3, 3).
    """

    skeleton: Skeleton
    positions: Array
    rotations: Array

    def point(self, bone: str, point: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
        """Return a point given in the bone's frame [m] in the world, shape (…, 3)."""
        k = self.skeleton.bone_index(bone)
        return self.positions[..., k, :] + self.rotations[..., k, :, :] @ require_shape(
            "point", point, 3
        )

    @property
    def markers(self) -> Array:
        """All markers in the world [m], (…, n_markers, 3), in the order of `skeleton.markers`."""
        bones = [self.skeleton.bone_index(bone) for bone, _ in self.skeleton.markers.values()]
        points = np.array([point for _, point in self.skeleton.markers.values()]).reshape(-1, 3)
        R_world_bone, p_world_bone = self.rotations[..., bones, :, :], self.positions[..., bones, :]
        return p_world_bone + np.einsum("...mij,mj->...mi", R_world_bone, points)

    @property
    def center_of_mass(self) -> Array:
        """The centre of mass [m, world], (…, 3), of all bones that have one.

        Raises:
            ModelError: nothing is known about the figure's masses.
        """
        masses = self.skeleton.masses
        if len(masses) == 0:
            reason = f" ({self.skeleton.masses_note})" if self.skeleton.masses_note != "" else ""
            raise ModelError(
                f"{self.skeleton.name!r} has no masses{reason}; Skeleton.with_masses gives it some"
            )
        bones = [self.skeleton.bone_index(bone) for bone in masses]
        centers = np.array([entry.center for entry in masses.values()])
        R_world_bone, p_world_bone = self.rotations[..., bones, :, :], self.positions[..., bones, :]
        places = p_world_bone + np.einsum("...mij,mj->...mi", R_world_bone, centers)
        return weigh_positions(np.array([entry.mass for entry in masses.values()]), places)
