"""What ties bones across joints: dofs that follow others, points that belong together.

Mimic joints, tendons, a patella on its knee are couplings, which coordinates keep. Loops of bones
are closures, which a tree does not keep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from exactik.errors import ModelError, UnknownNameError
from exactik.model._bone import Bone
from exactik.model._pose import Point, Pose
from exactik.model.functions import Constant, CoordinateFunction, Linear
from exactik.typing import Array

_BALLS = ("exp_map", "swing_twist", "quaternion")


@dataclass(frozen=True)
class Coupling:
    """A dof that follows another one: it is no coordinate of the skeleton any more.

    `Coupling("right_finger.ty", "left_finger.ty")` makes a gripper of two sliders one coordinate,
    `Coupling("patella.beta", "tibia.flexion", functions.CubicSpline(…))` puts a kneecap on its
    knee. Limits of the driven dof are not kept: those of its driver are.

    Attributes:
        driven: name of the dof that follows, "bone.dof".
        driver: name of the dof that it follows, which may itself follow a third; None if the dof is
            held where a constant function says.
        function: from the driver's value to that of the driven dof [rad or m].
    """

    driven: str
    driver: str | None
    function: CoordinateFunction = field(default_factory=Linear)

    def __post_init__(self) -> None:
        """Refuse functions that do not fit."""
        count = 0 if self.driver is None else 1
        if not isinstance(self.function, CoordinateFunction):
            raise ModelError(f"the function of {self} is no function; see exactik.model.functions")
        if self.driver is not None and isinstance(self.function, Constant):
            object.__setattr__(self, "driver", None)
        elif self.function.coordinate_count != count:
            raise ModelError(
                f"the coupling of {self.driven!r} needs a function of {count} coordinates, "
                f"not {self.function}"
            )


def check_couplings(bones: Sequence[Bone], couplings: Sequence[Coupling]) -> tuple[Coupling, ...]:
    """Return the couplings, each after the one of its driver; refuse what cannot be coupled."""
    joints = {f"{bone.name}.{dof}": bone.joint for bone in bones for dof in bone.joint.dof_names}
    by_name: dict[str, Coupling] = {}
    for coupling in couplings:
        if not isinstance(coupling, Coupling):
            raise ModelError(f"{coupling!r} is no Coupling")
        for name in (coupling.driven, coupling.driver):
            if name is not None and name not in joints:
                raise UnknownNameError("dof", name, joints)
            if name is not None and joints[name].rotation_part.kind in _BALLS:
                raise ModelError(
                    f"dof {name!r} is one of a ball joint, which cannot be driven or drive; "
                    "an euler or custom joint can"
                )
        if coupling.driven in by_name:
            raise ModelError(f"dof {coupling.driven!r} follows two others; expected one")
        by_name[coupling.driven] = coupling
    ordered: dict[str, Coupling] = {}
    for first in by_name:
        path: list[str] = []
        name: str | None = first
        while name is not None and name in by_name and name not in ordered:
            if name in path:
                cycle = " → ".join([*path[path.index(name) :], name])
                raise ModelError(f"couplings run in a ring: {cycle}")
            path.append(name)
            name = by_name[name].driver
        ordered.update((name, by_name[name]) for name in reversed(path))
    return tuple(ordered.values())


class Closure(NamedTuple):
    """Two points that should be at one place, as a PointConstraint of OpenSim's says.

    Attributes:
        name: what the loop is called.
        bones: of the two points.
        points: in the frames of these bones [m].
    """

    name: str
    bones: tuple[str, str]
    points: tuple[Point, Point]

    def measure_gap(self, pose: Pose) -> Array:
        """Return how far apart the two points are in a pose [m], (…)."""
        one, other = (
            pose.point(bone, point) for bone, point in zip(self.bones, self.points, strict=True)
        )
        return np.linalg.norm(one - other, axis=-1)

    def moved(self, move: Callable[[str, Array], Array]) -> Closure:
        """Return the same with each point where `move(bone, point)` has it."""
        one, other = (
            move(bone, np.asarray(point)).tolist()
            for bone, point in zip(self.bones, self.points, strict=True)
        )
        return self._replace(points=(tuple(one), tuple(other)))


def check_closures(closures: Iterable[Closure], bones: Sequence[str]) -> tuple[Closure, ...]:
    """Return closures, all of whose bones exist."""
    checked = tuple(closures)
    for closure in checked:
        for bone in closure.bones:
            if bone not in bones:
                raise UnknownNameError("bone", bone, bones)
    return checked
