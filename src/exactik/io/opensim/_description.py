"""What an .osim file says about kinematics, as plain records; OpenSim's words, metres and radians.

A joint places the frame M on its child body in the frame F on its parent body,

    X_parent_child = X_parent_F · X_FM(q) · X_child_M⁻¹

and X_FM is what its kind says (docs/opensim.md has the table). What functions are read from:

Constant                   value
LinearFunction             coefficients: slope, intercept
PolynomialFunction         coefficients: highest power first
SimmSpline                 points; also NaturalCubicSpline and natCubicSpline, its old names
PiecewiseLinearFunction    points
MultiplierFunction         scale × another function
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from exactik.errors import ModelError
from exactik.io._xml import Element
from exactik.model import Loop
from exactik.model.functions import (
    Constant,
    CoordinateFunction,
    CubicSpline,
    Linear,
    PiecewiseLinear,
    Polynomial,
    Scaled,
)
from exactik.typing import Array

GROUND = "ground"
"""The body that everything stands on; it never moves."""

Vector = tuple[float, float, float]
SPLINE_TAGS = ("SimmSpline", "NaturalCubicSpline", "natCubicSpline")
POINT_TAGS = (*SPLINE_TAGS, "PiecewiseLinearFunction")
FUNCTION_TAGS = (
    "Constant",
    "LinearFunction",
    "PolynomialFunction",
    *POINT_TAGS,
    "MultiplierFunction",
)
# Those that OpenSim has besides; named so that an error can say which one it is.
OTHER_TAGS = (
    "GCVSpline",
    "StepFunction",
    "PiecewiseConstantFunction",
    "MultivariatePolynomialFunction",
    "Sine",
    "SignalGenerator",
    "ExpressionBasedFunction",
)
MAX_NESTED = 16  # multiples of multiples; OpenSim's scaling makes one of each function


class FramePlace(NamedTuple):
    """Where a frame is: on which body, and where in the body's frame."""

    body: str  # name of the body, "ground" for what does not move
    position: Array  # of the frame's origin in the body's frame [m], (3,)
    rotation: Array  # R_body_frame, (3, 3)


@dataclass(frozen=True)
class TransformAxis:
    """One of the six motions of a custom joint: a turn about an axis or a shift along it."""

    axis: Vector  # unit vector in the joint's parent frame
    coordinate: str | None  # name of the one that drives it; None for a constant
    function: CoordinateFunction  # of that coordinate [rad or m]


@dataclass(frozen=True)
class OpenSimCoordinate:
    """A coordinate of a joint [rad or m]."""

    name: str  # unique in the model
    default: float = 0.0  # value in the default pose
    low: float = -10.0  # lower end of its range
    high: float = 10.0  # upper end
    clamped: bool = False  # whether the range is enforced
    locked: bool = False  # whether it stays at its default
    prescribed: bool = False  # whether a function of time sets it


@dataclass(frozen=True)
class OpenSimJoint:
    """A joint."""

    name: str  # as the file has it
    kind: str  # the tag without "Joint": "Custom", "Pin", "Weld", …
    parent: FramePlace  # its frame on the parent body
    child: FramePlace  # its frame on the child body
    coordinates: tuple[OpenSimCoordinate, ...]  # in the order of the file
    # Of a custom joint: three turns, then three shifts; else none
    axes: tuple[TransformAxis, ...] = ()
    # Half axes of the ellipsoid of an Ellipsoid or Scapulothoracic joint [m]
    radii: Vector = (1.0, 1.0, 1.0)
    # Of a Scapulothoracic joint: where its winging axis is in the plane [m]
    winging_origin: tuple[float, float] = (0.0, 0.0)
    winging_direction: float = 0.0  # of that axis in the plane [rad]


@dataclass(frozen=True)
class OpenSimBody:
    """A body: its name, its mass [kg], its centre of mass [m, body frame], its mesh files."""

    name: str
    mass: float
    mass_center: Vector
    meshes: tuple[str, ...] = ()


@dataclass(frozen=True)
class OpenSimCoupler:
    """A coordinate that follows another: dependent = function(independent)."""

    name: str
    dependent: str
    independent: str
    function: CoordinateFunction


class OpenSimMarker(NamedTuple):
    """A marker: its name, and where it is on which body."""

    name: str  # as the file has it, dots and all
    body: str  # name of the body, "ground" for what does not move
    position: Vector  # in the body's frame [m]
    fixed: bool = False  # whether marker placement leaves it where it is


@dataclass(frozen=True)
class OpenSimModel:
    """A model."""

    name: str  # as the file has it
    path: str  # of the file
    version: int  # of the document, such as 40000
    bodies: tuple[OpenSimBody, ...]  # all but the ground
    joints: tuple[OpenSimJoint, ...]  # in the order of the file
    couplers: tuple[OpenSimCoupler, ...] = ()  # those that are enforced
    loops: tuple[Loop, ...] = ()  # that enforced constraints close
    markers: tuple[OpenSimMarker, ...] = ()  # in the order of the file
    # Offset frames that are no part of a joint: name → where they are
    frames: Mapping[str, FramePlace] = field(default_factory=dict)
    # Kind of object that was left out → how many there are
    not_read: Mapping[str, int] = field(default_factory=dict)

    @property
    def coordinates(self) -> tuple[OpenSimCoordinate, ...]:
        """All coordinates, joint by joint."""
        return tuple(c for joint in self.joints for c in joint.coordinates)

    @property
    def mass(self) -> float:
        """Sum of the bodies' masses [kg]."""
        return sum(body.mass for body in self.bodies)


def find_function(owner: Element, *places: str) -> Element | None:
    """Return the element of a function: directly in its owner, or in a property of these names."""
    direct = next(owner.find_children(*FUNCTION_TAGS, *OTHER_TAGS), None)
    if direct is not None:
        return direct
    for place in places:
        holder = owner.first(place)
        if holder is not None and len(holder.children) > 0:
            return holder.children[0]
    return None


def find_moving_function(point: Element, axis: str) -> Element | None:
    """Return the function of x, y or z of a <MovingPathPoint>, None if it has none."""
    tag = f"{axis}_location"
    holder = point.first(tag)
    if holder is not None and len(holder.children) > 0:
        return holder.children[0]
    named = (f for f in point.find_children(*FUNCTION_TAGS) if f.plain_name == tag)
    return next(named, None)


def read_function(element: Element, depth: int = 0) -> CoordinateFunction:
    """Return the function that an element describes, or raise an error that names it."""
    tag = element.tag
    if tag not in FUNCTION_TAGS:
        known = ", ".join(FUNCTION_TAGS)
        raise element.error(
            f"a function of type {tag[:40]} cannot be read; expected one of {known}"
        )
    if tag == "MultiplierFunction":
        inner = find_function(element, "function")
        if inner is None:
            raise element.error("multiplies nothing; expected a function in it")
        if depth >= MAX_NESTED:
            raise element.error(f"multiples of multiples, more than {MAX_NESTED} deep")
        scale = element.finite_of("scale", 1.0)
        function = read_function(inner, depth + 1)
        return function if scale == 1.0 else Scaled(function, scale)
    if tag == "Constant":
        return Constant(element.finite_of("value", 0.0))
    try:
        return _read_points(element) if tag in POINT_TAGS else _read_polynomial(element)
    except ModelError as error:
        raise element.error(str(error)) from error


def _read_polynomial(element: Element) -> CoordinateFunction:
    coefficients = element.numbers_of("coefficients")
    if element.tag == "PolynomialFunction":
        if len(coefficients) == 0:
            raise element.error("no coefficients; expected at least one")
        return Polynomial(coefficients[::-1])
    if len(coefficients) == 0:
        coefficients = (1.0, 0.0)
    if len(coefficients) != 2:
        n = len(coefficients)
        raise element.error(f"{n} coefficients; expected slope and intercept: one coordinate")
    slope, intercept = coefficients
    return Linear(slope, intercept)


def _read_points(element: Element) -> CoordinateFunction:
    x, y = element.numbers_of("x"), element.numbers_of("y")
    if len(x) < 2 or len(x) != len(y):
        raise element.error(
            f"{len(x)} values of x and {len(y)} of y; expected as many of both, at least 2"
        )
    return CubicSpline(x, y) if element.tag in SPLINE_TAGS else PiecewiseLinear(x, y)
