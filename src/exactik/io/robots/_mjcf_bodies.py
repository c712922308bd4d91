"""The bodies of an MJCF file as a flat list: where each sits, and which joints move it.

`<frame>` elements are dissolved: their placement goes into the bodies and joints inside them, and
their `childclass` rules there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from exactik.io._xml import Element
from exactik.io.robots._mjcf_settings import Compiler, Defaults
from exactik.io.robots._robot import checked_limits
from exactik.typing import Array

__all__ = ["Body", "BodyJoint", "read_bodies"]

_FREE = (-math.inf, math.inf)
_UNREAD = ("replicate", "attach", "composite", "flexcomp")


@dataclass(frozen=True)
class BodyJoint:
    """One joint of a body, in the body's frame, in radians and in the file's unit of length.

    Attributes:
        element: with its defaults filled in.
        name: may be empty.
        kind: "hinge", "slide", "ball" or "free".
        anchor: the point that a hinge or ball leaves in place, (3,).
        axis: unit vector, (3,).
        limits: lower and upper.
        ref: the coordinate in the pose in which the file draws the body.
        limited_ball: whether the angle of a ball is limited.
    """

    element: Element
    name: str
    kind: str
    anchor: Array
    axis: Array
    limits: tuple[float, float]
    ref: float
    limited_ball: bool = False


@dataclass
class Body:
    """One body; `offset` and `turn` place it in its parent, or in the world if that is None."""

    element: Element
    name: str
    parent: Body | None
    offset: Array
    turn: Array
    joints: list[BodyJoint] = field(default_factory=list)


@dataclass(frozen=True)
class _Scope:
    """What holds for the children of a body or frame: a placement, a class, and whose they are."""

    owner: Body | None
    offset: Array
    turn: Array
    klass: str | None


def read_bodies(root: Element, compiler: Compiler, defaults: Defaults) -> list[Body]:
    """Return all bodies, each before its children, in the order of the file."""
    bodies: list[Body] = []
    top = _Scope(None, np.zeros(3), np.eye(3), None)
    stack = [(world, top) for world in reversed(list(root.find_children("worldbody")))]
    while len(stack) > 0:
        element, scope = stack.pop()
        if element.tag == "body":
            offset, turn = _placed(element, scope, compiler)
            name = element.attributes.get("name", "").strip()
            body = Body(element, name, scope.owner, offset, turn)
            bodies.append(body)
            klass = element.attributes.get("childclass", scope.klass)
            scope = _Scope(body, np.zeros(3), np.eye(3), klass)
        stack.extend(reversed(_contents(element, scope, compiler, defaults)))
    return bodies


def _contents(
    element: Element, scope: _Scope, compiler: Compiler, defaults: Defaults
) -> list[tuple[Element, _Scope]]:
    """Return the bodies directly inside an element, frames dissolved; note its joints."""
    found: list[tuple[Element, _Scope]] = []
    stack = [(child, scope) for child in reversed(element.children)]
    while len(stack) > 0:
        child, within = stack.pop()
        if child.tag == "body":
            found.append((child, within))
        elif child.tag == "frame":
            offset, turn = _placed(child, within, compiler)
            klass = child.attributes.get("childclass", within.klass)
            inner = _Scope(within.owner, offset, turn, klass)
            stack.extend((grandchild, inner) for grandchild in reversed(child.children))
        elif child.tag in ("joint", "freejoint"):
            if within.owner is None:
                raise child.error("a joint of the world; expected joints inside a <body>")
            within.owner.joints.append(_joint(child, within, compiler, defaults))
        elif child.tag in _UNREAD and _moves_something(child):
            raise child.error(
                f"<{child.tag}> is not read; expected it written out, "
                "as MuJoCo saves a model once loaded (mj_saveLastXML)"
            )
    return found


def _moves_something(element: Element) -> bool:
    """Tell whether an element that writes others makes bodies or joints."""
    if element.tag != "replicate":
        return True
    return any(
        True for _ in element.find_descendants("body", "joint", "freejoint", "attach", "composite")
    )


def _placed(element: Element, scope: _Scope, compiler: Compiler) -> tuple[Array, Array]:
    """Return where an element is in the frame of the body around it."""
    offset = np.array(element.read_numbers("pos", (0.0, 0.0, 0.0)))
    return scope.offset + scope.turn @ offset, scope.turn @ compiler.orientation(element)


def _joint(child: Element, scope: _Scope, compiler: Compiler, defaults: Defaults) -> BodyJoint:
    name = child.attributes.get("name", "").strip()
    nothing = np.zeros(3)
    if child.tag == "freejoint":
        return BodyJoint(child, name, "free", nothing, nothing, _FREE, 0.0)
    element = defaults.merged(child, scope.klass)
    kind = element.read_choice("type", "hinge", "hinge", "slide", "ball", "free")
    anchor = scope.offset + scope.turn @ element.read_numbers("pos", (0.0, 0.0, 0.0))
    if kind == "free":
        return BodyJoint(element, name, "free", nothing, nothing, _FREE, 0.0)
    unit = 1.0 if kind == "slide" else compiler.angle
    limits = _limits(element, unit, compiler.autolimits)
    if kind == "ball":
        return BodyJoint(element, name, kind, anchor, nothing, _FREE, 0.0, limits != _FREE)
    axis = np.array(element.read_numbers("axis", (0.0, 0.0, 1.0)))
    length = float(np.linalg.norm(axis))
    if not 1e-10 < length < math.inf:
        raise element.error(f"axis has length {length:g}; expected a direction")
    axis = scope.turn @ (axis / length)
    return BodyJoint(
        element, name, kind, anchor, axis, limits, unit * element.read_number("ref", 0.0)
    )


def _limits(element: Element, unit: float, automatic: bool) -> tuple[float, float]:
    """Return the limits of a joint; infinite if it has none."""
    limited = element.read_choice("limited", "auto", "auto", "true", "false")
    low, high = element.read_numbers("range", (0.0, 0.0), infinite=True)
    if limited == "false" or (limited == "auto" and low == high):
        return _FREE
    if limited == "auto" and not automatic:
        raise element.error(
            "a range, and autolimits is off; expected limited to be true or false then"
        )
    if low == high:
        raise element.error(f"limited, and range is {low:g} {high:g}; expected lower < upper")
    low, high = checked_limits(element, unit * low, unit * high)
    return low, high
