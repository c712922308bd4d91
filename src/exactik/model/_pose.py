"""Where all bones are, the result of forward kinematics; their masses and the centre of these.

Nothing that solves looks at masses: they tell whether a figure would fall. Where they follow from
meshes they are worked out when somebody asks, so that to load a figure costs no more for them.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import is_number, require_shape
from exactik.errors import ExactikError, ModelError, UnknownNameError
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.model._skeleton import Skeleton

Point = tuple[float, float, float]


class BoneMass(NamedTuple):
    """The mass of a bone.

    Attributes:
        mass: [kg], not negative.
        center: its centre in the bone's frame [m].
    """

    mass: float
    center: Point = (0.0, 0.0, 0.0)


class LazyMasses:
    """A function that works masses out, and what it found once it was called.

    Figures that come from one another share it. Masses that cannot be found are no error, since
    nothing that moves depends on them: there are none then, and `note` says why.
    """

    def __init__(self, find: Callable[[], Mapping[str, BoneMass]]):
        """Keep the function, which can be sent to another process."""
        self._find = find
        self._masses: Mapping[str, BoneMass] | None = None
        self._note = ""
        self._lock = threading.Lock()

    def load(self) -> Mapping[str, BoneMass]:
        """Return the masses by bone; the first call works them out."""
        with self._lock:
            if self._masses is None:
                try:
                    self._masses = self._find()
                except ExactikError as error:
                    self._masses, self._note = {}, str(error)
            return self._masses

    @property
    def note(self) -> str:
        """Why there are none; empty if there are."""
        self.load()
        return self._note

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._find,)


Masses = Mapping[str, BoneMass] | LazyMasses


def map_masses(masses: Masses, T_new_old: Mapping[str, Array]) -> Masses:
    """Return masses whose centres are mapped in the frames of their bones.

    Args:
        masses: by bone.
        T_new_old: affine maps by bone, (4, 4); bones without one stay as they are.
    """
    if isinstance(masses, LazyMasses):
        return LazyMasses(partial(_map_loaded, masses, T_new_old))
    mapped = dict(masses)
    for bone, T in T_new_old.items():
        if bone in masses:
            x, y, z = (T[:3, :3] @ masses[bone].center + T[:3, 3]).tolist()
            mapped[bone] = BoneMass(masses[bone].mass, (x, y, z))
    return mapped


def _map_loaded(masses: LazyMasses, T_new_old: Mapping[str, Array]) -> Mapping[str, BoneMass]:
    loaded = masses.load()
    if masses.note != "":
        raise ModelError(masses.note)
    mapped = map_masses(loaded, T_new_old)
    assert not isinstance(mapped, LazyMasses)
    return mapped


def scale_masses(masses: Mapping[str, BoneMass], total: float) -> dict[str, BoneMass]:
    """Return masses in the same proportions with this sum [kg]."""
    if len(masses) == 0:
        raise ModelError("the figure has no masses to scale")
    if not (is_number(total) and math.isfinite(total) and total > 0.0):
        raise ModelError(f"the total mass is {total}; it must be finite and positive")
    factor = total / sum(entry.mass for entry in masses.values())
    return {bone: entry._replace(mass=factor * entry.mass) for bone, entry in masses.items()}


def check_masses(
    masses: Mapping[str, BoneMass] | None, bones: Mapping[str, int]
) -> dict[str, BoneMass]:
    """Return masses by bone, checked; without those that are zero."""
    checked: dict[str, BoneMass] = {}
    for bone, entry in (masses or {}).items():
        if bone not in bones:
            raise UnknownNameError("bone", bone, bones)
        if not isinstance(entry, tuple | list) or len(entry) != 2:
            raise ModelError(f"the mass of bone {bone!r} is {entry!r}; expected BoneMass")
        mass, center = entry
        if not (is_number(mass) and math.isfinite(mass) and mass >= 0.0):
            raise ModelError(f"the mass of bone {bone!r} is {mass}; it must be finite and ≥ 0")
        x, y, z = require_shape(f"centre of mass of bone {bone!r}", center, 3).tolist()
        if mass > 0.0:
            checked[bone] = BoneMass(float(mass), (x, y, z))
    return checked


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
        weights = np.array([entry.mass for entry in masses.values()])
        return np.einsum("n,...nk->...k", weights / weights.sum(), places)
