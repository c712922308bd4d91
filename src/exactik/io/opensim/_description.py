"""What an .osim file says about kinematics, as plain records; OpenSim's words, metres and radians.

A joint places the frame M on its child body in the frame F on its parent body,

    X_parent_child = X_parent_F · X_FM(q) · X_child_M⁻¹

and X_FM is what its kind says (docs/opensim.md has the table).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from exactik.model import Loop
from exactik.model.functions import CoordinateFunction
from exactik.typing import Array

GROUND = "ground"
"""The body that everything stands on; it never moves."""

Vector = tuple[float, float, float]


class FramePlace(NamedTuple):
    """Where a frame is: on which body, and where in the body's frame.

    Attributes:
        body: name of the body, "ground" for what does not move.
        position: of the frame's origin in the body's frame [m], (3,).
        rotation: R_body_frame, (3, 3).
    """

    body: str
    position: Array
    rotation: Array


@dataclass(frozen=True)
class TransformAxis:
    """One of the six motions of a custom joint: a turn about an axis or a shift along it.

    Attributes:
        axis: unit vector in the joint's parent frame.
        coordinate: name of the one that drives it; None for a constant.
        function: of that coordinate [rad or m].
    """

    axis: Vector
    coordinate: str | None
    function: CoordinateFunction


@dataclass(frozen=True)
class OpenSimCoordinate:
    """A coordinate of a joint [rad or m].

    Attributes:
        name: unique in the model.
        default: value in the default pose.
        low: lower end of its range.
        high: upper end.
        clamped: whether the range is enforced.
        locked: whether it stays at its default.
        prescribed: whether a function of time sets it.
    """

    name: str
    default: float = 0.0
    low: float = -10.0
    high: float = 10.0
    clamped: bool = False
    locked: bool = False
    prescribed: bool = False


@dataclass(frozen=True)
class OpenSimJoint:
    """A joint.

    Attributes:
        name: as the file has it.
        kind: the tag without "Joint": "Custom", "Pin", "Weld", ….
        parent: its frame on the parent body.
        child: its frame on the child body.
        coordinates: in the order of the file.
        axes: of a custom joint: three turns, then three shifts; else none.
        radii: half axes of the ellipsoid of an Ellipsoid or Scapulothoracic joint [m].
        winging_origin: of a Scapulothoracic joint: where its winging axis is in the plane [m].
        winging_direction: of that axis in the plane [rad].
    """

    name: str
    kind: str
    parent: FramePlace
    child: FramePlace
    coordinates: tuple[OpenSimCoordinate, ...]
    axes: tuple[TransformAxis, ...] = ()
    radii: Vector = (1.0, 1.0, 1.0)
    winging_origin: tuple[float, float] = (0.0, 0.0)
    winging_direction: float = 0.0


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
    """A marker: its name, and where it is on which body.

    Attributes:
        name: as the file has it, dots and all.
        body: name of the body, "ground" for what does not move.
        position: in the body's frame [m].
        fixed: whether marker placement leaves it where it is.
    """

    name: str
    body: str
    position: Vector
    fixed: bool = False


@dataclass(frozen=True)
class OpenSimModel:
    """A model.

    Attributes:
        name: as the file has it.
        path: of the file.
        version: of the document, such as 40000.
        bodies: all but the ground.
        joints: in the order of the file.
        couplers: those that are enforced.
        loops: that enforced constraints close.
        markers: in the order of the file.
        frames: offset frames that are no part of a joint: name → where they are.
        not_read: kind of object that was left out → how many there are.
    """

    name: str
    path: str
    version: int
    bodies: tuple[OpenSimBody, ...]
    joints: tuple[OpenSimJoint, ...]
    couplers: tuple[OpenSimCoupler, ...] = ()
    loops: tuple[Loop, ...] = ()
    markers: tuple[OpenSimMarker, ...] = ()
    frames: Mapping[str, FramePlace] = field(default_factory=dict)
    not_read: Mapping[str, int] = field(default_factory=dict)

    @property
    def coordinates(self) -> tuple[OpenSimCoordinate, ...]:
        """All coordinates, joint by joint."""
        return tuple(c for joint in self.joints for c in joint.coordinates)

    @property
    def mass(self) -> float:
        """Sum of the bodies' masses [kg]."""
        return sum(body.mass for body in self.bodies)
