"""The bodies of an MJCF file as a flat list: names, where each sits, and which joints move it.

`<frame>` elements are dissolved: their pose goes into the bodies and joints inside them, and their
`childclass` holds there. All bones have a name, and no two the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import numpy as np

from exactik.io._xml import Element
from exactik.io.robots._mjcf_settings import (
    expand_includes,
    normalise,
    read_compiler,
    read_defaults,
)
from exactik.io.robots._robot import check_limits
from exactik.typing import Array

FREE_LIMITS = (-math.inf, math.inf)
GENERATOR_TAGS = ("replicate", "attach", "composite", "flexcomp")


@dataclass(frozen=True)
class BodyJoint:
    """One joint of a body, in the body's frame, in radians and in the file's unit of length."""

    element: Element  # with its defaults filled in
    name: str  # may be empty
    kind: str  # "hinge", "slide", "ball" or "free"
    # The point that a hinge or ball leaves in place, (3,)
    anchor: Array = field(default_factory=lambda: np.zeros(3))
    axis: Array = field(default_factory=lambda: np.zeros(3))  # unit vector, (3,)
    limits: tuple[float, float] = FREE_LIMITS  # lower and upper
    ref: float = 0.0  # the coordinate in the pose that the file describes
    limited_ball: bool = False  # whether the angle of a ball is limited


@dataclass
class MjcfBody:
    """One body."""

    element: Element  # that describes it
    name: str  # may be empty until all bodies are known
    parent: MjcfBody | None  # None for the world
    p_parent_body: Array  # [unit of the file], (3,)
    R_parent_body: Array  # (3, 3)
    joints: list[BodyJoint] = field(default_factory=list)  # in the order of the file
    # Likewise, each without its defaults and with where it stands
    geoms: list[tuple[Element, Scope]] = field(default_factory=list)
    # As <inertial> states it: mass [kg] and its centre [unit of the file]; None if the body has
    # none
    mass: tuple[float, Array] | None = None
    has_replicas: bool = False  # whether a <replicate> makes geoms of it that are not among these


class Scope(NamedTuple):
    """What holds for the children of a body or frame."""

    body: MjcfBody | None  # they belong to; None for the world
    p_body_frame: Array  # origin of the frame that they are given in [unit of the file], (3,)
    R_body_frame: Array  # its rotation, (3, 3)
    default_class: str | None  # of their joints and geoms, None for "main"


class MjcfModel:
    """The bodies of a file, and what it states once for many elements.

    Attributes:
        root: the element <mujoco>, with the files that it includes in their places.
        compiler: settings of the file.
        defaults: of its elements.
        bodies: all of them, each before its children, in the order of the file, all with names.
        sites: name → without its defaults, and where it stands.
        names: of its bones.
    """

    def __init__(self, root: Element):
        """Read <mujoco>."""
        expand_includes(root)
        self.root, self.compiler, self.defaults = root, read_compiler(root), read_defaults(root)
        self.bodies: list[MjcfBody] = []
        self.sites: dict[str, tuple[Element, Scope]] = {}
        world = Scope(None, np.zeros(3), np.eye(3), None)
        stack = [(element, world) for element in reversed(list(root.find_children("worldbody")))]
        while len(stack) > 0:
            element, scope = stack.pop()
            if element.tag == "body":
                name = element.attributes.get("name", "").strip()
                body = MjcfBody(element, name, scope.body, *self.compute_pose(element, scope))
                self.bodies.append(body)
                inner = element.attributes.get("childclass", scope.default_class)
                scope = Scope(body, np.zeros(3), np.eye(3), inner)
            stack.extend(reversed(self._read_contents(element, scope)))
        self.names = BoneNames(self.bodies)

    def _read_contents(self, element: Element, scope: Scope) -> list[tuple[Element, Scope]]:
        """Return the bodies directly inside an element, frames dissolved; add what its body has."""
        bodies: list[tuple[Element, Scope]] = []
        stack = [(child, scope) for child in reversed(element.children)]
        while len(stack) > 0:
            child, scope = stack.pop()
            body = scope.body
            if child.tag == "body":
                bodies.append((child, scope))
            elif child.tag == "frame":
                default_class = child.attributes.get("childclass", scope.default_class)
                inner = Scope(body, *self.compute_pose(child, scope), default_class)
                stack.extend((grandchild, inner) for grandchild in reversed(child.children))
            elif child.tag in ("joint", "freejoint"):
                if body is None:
                    raise child.error("a joint of the world; expected joints inside a <body>")
                body.joints.append(self._read_joint(child, scope))
            elif child.tag == "geom" and body is not None:
                body.geoms.append((child, scope))
            elif child.tag == "site":
                self.sites[child.attributes.get("name", "").strip()] = (child, scope)
            elif child.tag == "inertial" and body is not None:
                center, _ = self.compute_pose(child, scope)
                body.mass = child.read_number("mass", 0.0), center
            elif child.tag in GENERATOR_TAGS and _makes_bodies_or_joints(child):
                raise child.error(
                    f"<{child.tag}> is not read; expected it written out, "
                    "as MuJoCo saves a model once loaded (mj_saveLastXML)"
                )
            elif child.tag == "replicate" and body is not None:
                body.has_replicas = True
        return bodies

    def compute_pose(self, element: Element, scope: Scope) -> tuple[Array, Array]:
        """Return position and rotation of an element in the frame of the body around it."""
        p_frame_element = np.array(element.read_numbers("pos", (0.0, 0.0, 0.0)))
        R_frame_element = self.compiler.read_orientation(element)
        p_body_element = scope.p_body_frame + scope.R_body_frame @ p_frame_element
        return p_body_element, scope.R_body_frame @ R_frame_element

    def _read_joint(self, child: Element, scope: Scope) -> BodyJoint:
        name = child.attributes.get("name", "").strip()
        if child.tag == "freejoint":
            return BodyJoint(child, name, "free")
        element = self.defaults.apply_to(child, scope.default_class)
        kind = element.read_choice("type", "hinge", "hinge", "slide", "ball", "free")
        p_frame_anchor = element.read_numbers("pos", (0.0, 0.0, 0.0))
        anchor = scope.p_body_frame + scope.R_body_frame @ p_frame_anchor
        if kind == "free":
            return BodyJoint(element, name, kind)
        unit = 1.0 if kind == "slide" else self.compiler.angle_unit
        limits = _read_limits(element, unit, self.compiler.autolimits)
        if kind == "ball":
            return BodyJoint(element, name, kind, anchor, limited_ball=limits != FREE_LIMITS)
        axis = normalise(element, "axis", np.array(element.read_numbers("axis", (0.0, 0.0, 1.0))))
        ref = unit * element.read_number("ref", 0.0)
        return BodyJoint(element, name, kind, anchor, scope.R_body_frame @ axis, limits, ref)


def _makes_bodies_or_joints(element: Element) -> bool:
    """Return whether an element that generates others makes bodies or joints."""
    if element.tag != "replicate":
        return True
    return any(
        True for _ in element.find_descendants("body", "joint", "freejoint", "attach", "composite")
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


class BoneNames:
    """Names of bones: those of the bodies, and for other bones names that are not taken yet."""

    def __init__(self, bodies: list[MjcfBody]):
        self.taken: set[str] = set()
        for body in bodies:
            if body.name != "" and body.name in self.taken:
                raise body.element.error("a second body of this name; expected different ones")
            self.taken.add(body.name)
        joints: set[str] = set()
        for joint in (joint for body in bodies for joint in body.joints if joint.name != ""):
            if joint.name in joints:
                raise joint.element.error("a second joint of this name; expected different ones")
            joints.add(joint.name)
        for k, body in enumerate(bodies, start=1):  # MuJoCo's number; its 0 is the world
            if body.name == "":
                body.name = self.choose(f"body{k}")

    def choose(self, *candidates: str) -> str:
        """Return the first of these names that is free, else the last with a number."""
        numbered = (f"{candidates[-1]}_{n}" for n in range(2, len(self.taken) + 3))
        name = next(name for name in chain(candidates, numbered) if name not in self.taken)
        self.taken.add(name)
        return name
