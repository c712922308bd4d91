"""The bodies of an MJCF file as a flat list: where each sits, and which joints move it.

`<frame>` elements are dissolved: their pose goes into the bodies and joints inside them, and their
`childclass` holds there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from exactik.io._xml import Element
from exactik.io.robots._mjcf_settings import Compiler, DefaultClasses, normalise
from exactik.io.robots._robot import check_limits
from exactik.typing import Array

__all__ = ["Body", "BodyGeom", "BodyJoint", "read_bodies"]

FREE_LIMITS = (-math.inf, math.inf)
GENERATOR_TAGS = ("replicate", "attach", "composite", "flexcomp")


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
        ref: the coordinate in the pose that the file describes.
        limited_ball: whether the angle of a ball is limited.
    """

    element: Element
    name: str
    kind: str
    anchor: Array = field(default_factory=lambda: np.zeros(3))
    axis: Array = field(default_factory=lambda: np.zeros(3))
    limits: tuple[float, float] = FREE_LIMITS
    ref: float = 0.0
    limited_ball: bool = False


@dataclass(frozen=True)
class BodyGeom:
    """A geom of a body as the file has it; most readers have no use for it.

    Attributes:
        element: without its defaults.
        p_body_frame: origin of the frame that it is given in [unit of the file], (3,).
        R_body_frame: its rotation, (3, 3).
        default_class: of its defaults, None for "main".
    """

    element: Element
    p_body_frame: Array
    R_body_frame: Array
    default_class: str | None


@dataclass
class Body:
    """One body.

    Attributes:
        element: that describes it.
        name: may be empty until all bodies are known.
        parent: None for the world.
        p_parent_body: [unit of the file], (3,).
        R_parent_body: (3, 3).
        joints: in the order of the file.
        geoms: likewise.
        mass: as <inertial> states it: mass [kg] and its centre [unit of the file]; None if the body
            has none.
        has_replicas: whether a <replicate> makes geoms of it that are not among these.
    """

    element: Element
    name: str
    parent: Body | None
    p_parent_body: Array
    R_parent_body: Array
    joints: list[BodyJoint] = field(default_factory=list)
    geoms: list[BodyGeom] = field(default_factory=list)
    mass: tuple[float, Array] | None = None
    has_replicas: bool = False


@dataclass(frozen=True)
class _Scope:
    """What holds for the children of a body or frame.

    Attributes:
        body: they belong to; None for the world.
        p_body_frame: origin of the frame that they are given in [unit of the file], (3,).
        R_body_frame: its rotation, (3, 3).
        default_class: of their joints, None for "main".
    """

    body: Body | None
    p_body_frame: Array
    R_body_frame: Array
    default_class: str | None


def read_bodies(root: Element, compiler: Compiler, defaults: DefaultClasses) -> list[Body]:
    """Return all bodies, each before its children, in the order of the file."""
    bodies: list[Body] = []
    world = _Scope(body=None, p_body_frame=np.zeros(3), R_body_frame=np.eye(3), default_class=None)
    stack = [(element, world) for element in reversed(list(root.find_children("worldbody")))]
    while len(stack) > 0:
        element, scope = stack.pop()
        if element.tag == "body":
            p_parent_body, R_parent_body = _compute_pose(element, scope, compiler)
            body = Body(
                element=element,
                name=element.attributes.get("name", "").strip(),
                parent=scope.body,
                p_parent_body=p_parent_body,
                R_parent_body=R_parent_body,
            )
            bodies.append(body)
            scope = _Scope(
                body=body,
                p_body_frame=np.zeros(3),
                R_body_frame=np.eye(3),
                default_class=element.attributes.get("childclass", scope.default_class),
            )
        stack.extend(reversed(_read_contents(element, scope, compiler, defaults)))
    return bodies


def _read_contents(
    element: Element, scope: _Scope, compiler: Compiler, defaults: DefaultClasses
) -> list[tuple[Element, _Scope]]:
    """Return the bodies directly inside an element, frames dissolved; add joints to its body."""
    bodies: list[tuple[Element, _Scope]] = []
    stack = [(child, scope) for child in reversed(element.children)]
    while len(stack) > 0:
        child, child_scope = stack.pop()
        if child.tag == "body":
            bodies.append((child, child_scope))
        elif child.tag == "frame":
            p_body_frame, R_body_frame = _compute_pose(child, child_scope, compiler)
            inner = _Scope(
                body=child_scope.body,
                p_body_frame=p_body_frame,
                R_body_frame=R_body_frame,
                default_class=child.attributes.get("childclass", child_scope.default_class),
            )
            stack.extend((grandchild, inner) for grandchild in reversed(child.children))
        elif child.tag in ("joint", "freejoint"):
            if child_scope.body is None:
                raise child.error("a joint of the world; expected joints inside a <body>")
            child_scope.body.joints.append(_read_joint(child, child_scope, compiler, defaults))
        elif child.tag == "geom":
            if child_scope.body is not None:
                geom = BodyGeom(
                    element=child,
                    p_body_frame=child_scope.p_body_frame,
                    R_body_frame=child_scope.R_body_frame,
                    default_class=child_scope.default_class,
                )
                child_scope.body.geoms.append(geom)
        elif child.tag == "inertial" and child_scope.body is not None:
            center = _compute_pose(child, child_scope, compiler)[0]
            child_scope.body.mass = child.read_number("mass", 0.0), center
        elif child.tag in GENERATOR_TAGS and _makes_bodies_or_joints(child):
            raise child.error(
                f"<{child.tag}> is not read; expected it written out, "
                "as MuJoCo saves a model once loaded (mj_saveLastXML)"
            )
        elif child.tag == "replicate" and child_scope.body is not None:
            child_scope.body.has_replicas = True
    return bodies


def _makes_bodies_or_joints(element: Element) -> bool:
    """Return whether an element that generates others makes bodies or joints."""
    if element.tag != "replicate":
        return True
    return any(
        True for _ in element.find_descendants("body", "joint", "freejoint", "attach", "composite")
    )


def _compute_pose(element: Element, scope: _Scope, compiler: Compiler) -> tuple[Array, Array]:
    """Return position and rotation of an element in the frame of the body around it."""
    p_frame_element = np.array(element.read_numbers("pos", (0.0, 0.0, 0.0)))
    R_frame_element = compiler.read_orientation(element)
    p_body_element = scope.p_body_frame + scope.R_body_frame @ p_frame_element
    return p_body_element, scope.R_body_frame @ R_frame_element


def _read_joint(
    child: Element, scope: _Scope, compiler: Compiler, defaults: DefaultClasses
) -> BodyJoint:
    name = child.attributes.get("name", "").strip()
    if child.tag == "freejoint":
        return BodyJoint(element=child, name=name, kind="free")
    element = defaults.apply_to(child, scope.default_class)
    kind = element.read_choice("type", "hinge", "hinge", "slide", "ball", "free")
    anchor = scope.p_body_frame + scope.R_body_frame @ element.read_numbers("pos", (0.0, 0.0, 0.0))
    if kind == "free":
        return BodyJoint(element=element, name=name, kind="free")
    unit = 1.0 if kind == "slide" else compiler.angle_unit
    limits = _read_limits(element, unit, compiler.autolimits)
    if kind == "ball":
        return BodyJoint(
            element=element,
            name=name,
            kind=kind,
            anchor=anchor,
            limited_ball=limits != FREE_LIMITS,
        )
    axis = normalise(element, "axis", np.array(element.read_numbers("axis", (0.0, 0.0, 1.0))))
    return BodyJoint(
        element=element,
        name=name,
        kind=kind,
        anchor=anchor,
        axis=scope.R_body_frame @ axis,
        limits=limits,
        ref=unit * element.read_number("ref", 0.0),
    )


def _read_limits(element: Element, unit: float, automatic: bool) -> tuple[float, float]:
    """Return the limits of a joint; infinite if it has none."""
    limited = element.read_choice("limited", "auto", "auto", "true", "false")
    low, high = element.read_numbers("range", (0.0, 0.0), infinite=True)
    if limited == "false" or (limited == "auto" and low == high):
        return FREE_LIMITS
    if limited == "auto" and not automatic:
        raise element.error(
            "a range, and autolimits is off; expected limited to be true or false then"
        )
    if low == high:
        raise element.error(f"limited, and range is {low:g} {high:g}; expected lower < upper")
    return check_limits(element, unit * low, unit * high)
