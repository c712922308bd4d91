"""Dofs that follow others: mimic joints, tendons, a patella on its knee."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from exactik.errors import ModelError, UnknownNameError
from exactik.model._bone import Bone
from exactik.model.functions import Constant, CoordinateFunction, Linear

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
