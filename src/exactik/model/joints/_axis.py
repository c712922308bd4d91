"""An axis of a custom joint: along or about what, by which function of which coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import is_number, require_shape
from exactik.errors import ModelError
from exactik.model.functions import Constant, CoordinateFunction, Linear

UNIT_VECTORS = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
UNIT_TOLERANCE = 1e-6
"""By how much the length of an axis may differ from 1: files write six digits."""


def check_axis(value: str | ArrayLike) -> tuple[float, float, float]:
    """Return a unit axis: of "x", "y", "z" or a 3-vector of length 1."""
    if isinstance(value, str):
        if value.lower() not in UNIT_VECTORS:
            raise ModelError(f"axis {value!r} is not one of 'x', 'y', 'z' or a unit 3-vector")
        return UNIT_VECTORS[value.lower()]
    vector = require_shape("axis", value, 3)
    length = float(np.linalg.norm(vector))
    if abs(length - 1.0) > UNIT_TOLERANCE:
        raise ModelError(
            f"axis {tuple(vector.tolist())} has length {length:.6g}; it must be a unit vector"
        )
    x, y, z = (vector / length).tolist()
    return (x, y, z)


@dataclass(frozen=True, init=False)
class JointAxis:
    """A turn about, or a shift along, an axis of a custom joint.

    Attributes:
        axis: unit vector in the joint's base frame, turned by the turns before it.
        function: how far it turns [rad] or shifts [m].
        coordinates: names of the coordinates that the function takes; none for a constant.
    """

    axis: tuple[float, float, float]
    function: CoordinateFunction
    coordinates: tuple[str, ...]

    def __init__(
        self,
        axis: str | ArrayLike,
        function: CoordinateFunction | float | None = None,
        coordinates: str | Sequence[str] = (),
    ):
        """Describe an axis.

        Args:
            axis: "x", "y", "z" or a unit 3-vector.
            function: of the coordinates; a number for a constant, None for the coordinate itself.
            coordinates: one name, or two for a `functions.Product`; none for a constant.
        """
        if function is None:
            function = Linear()
        elif not isinstance(function, CoordinateFunction):
            if not is_number(function):
                raise ModelError(
                    f"the function of an axis is {function!r}; expected a number, None or one of "
                    "exactik.model.functions"
                )
            function = Constant(function)
        names = (coordinates,) if isinstance(coordinates, str) else tuple(coordinates)
        if len(names) != function.coordinate_count:
            raise ModelError(
                f"{function} takes {function.coordinate_count} coordinates, not "
                f"{len(names)}: {', '.join(map(repr, names)) or 'none'}"
            )
        for name in names:
            if not isinstance(name, str) or name == "":
                raise ModelError(f"the name of a coordinate is {name!r}; expected a word")
        for key, value in (
            ("axis", check_axis(axis)),
            ("function", function),
            ("coordinates", names),
        ):
            object.__setattr__(self, key, value)


def as_joint_axes(what: str, axes: Sequence[JointAxis | Sequence]) -> tuple[JointAxis, ...]:
    """Return up to three axes; each may be given as the arguments of a `JointAxis`."""
    if len(axes) > 3:
        raise ModelError(f"a custom joint has {len(axes)} {what}; expected three at most")
    return tuple(axis if isinstance(axis, JointAxis) else JointAxis(*axis) for axis in axes)


def find_coordinates(axes: Sequence[JointAxis], names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the coordinates of a custom joint: those named, or as they occur in its axes."""
    used = tuple(dict.fromkeys(name for axis in axes for name in axis.coordinates))
    if names is None:
        return used
    names = tuple(names)
    if len(set(names)) != len(names) or set(names) != set(used):
        raise ModelError(
            f"coordinates are {', '.join(names) or 'none'}; the axes of the joint use "
            f"{', '.join(used) or 'none'}, and each is to be named once"
        )
    return names
