"""What a robot's file gives: a skeleton, and where its named joints are in it.

Joints that follow others (URDF's mimic, MJCF's equality between joints) become couplings of the
skeleton. Where one is a multiple of another, its limits become limits of the joint that it follows,
so that a solver keeps them. Limits that leave the other no room, as those of some real grippers do,
and limits beside a polynomial stay what they are: a warning says so where they will be left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from exactik._text import count_noun
from exactik.errors import ExactikError, FileError
from exactik.model import Bone, BoneMass, Coupling, Joint, LazyMasses, Loop, Skeleton
from exactik.model.functions import Constant, CoordinateFunction, Linear, Polynomial
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.io._xml import Element


Interval = tuple[float, float]

LIMIT_SLACK = 1e-9  # rad or m; anything between rounding, 1e-15, and a file's digits, 1e-6, will do

NO_LIMIT = 1e30
"""Limit in a URDF file of a joint that has none [rad or m]: the format demands numbers, and its
parsers take no infinity. It fits single precision, and no robot is as large."""


class JointPlace(NamedTuple):
    """Where the coordinates of a file's joint are in those of the skeleton.

    Attributes:
        bone: the bone that it moves.
        q: index of its first coordinate.
        v: index of its first degree of freedom.
        nq: number of its coordinates.
        nv: number of its degrees of freedom.
    """

    bone: str
    q: int
    v: int
    nq: int
    nv: int


@dataclass(frozen=True)
class Robot:
    """A robot as read from a file."""

    skeleton: Skeleton  # its bones, one for each link or body
    # Name in the file → place, for the joints that move and follow no other, in the order of their
    # dofs
    joints: dict[str, JointPlace]


class RobotBuilder:
    """Makes a robot: bones are added parents first, then couplings, then `build()`.

    Attributes:
        name: of the robot.
        bones: added so far.
        bones_of_joint: name of a joint in the file → the bones that it moves.
        couplings: driven dof → coupling.
        coupling_elements: driven dof → the part of the file that couples it.
        masses: bone → its mass, where the file states it.
        home: coordinates of all joints in the pose that the file calls home; None for none.
        max_speed: largest speeds of dofs, of those that follow others too [rad/s or m/s].
        loops: that it closes.
    """

    def __init__(self, name: str, root: Element):
        """Begin a robot with this name; errors without an element are those of `root`."""
        self.name, self.root = name, root
        self.bones: list[Bone] = []
        self.bones_of_joint: dict[str, list[Bone]] = {}
        self.couplings: dict[str, Coupling] = {}
        self.coupling_elements: dict[str, Element] = {}
        self.masses: dict[str, BoneMass] | LazyMasses = {}
        self.home: Array | None = None
        self.max_speed: dict[str, float] = {}
        self.loops: list[Loop] = []

    def add_bone(
        self, element: Element, name: str, *, joint_name: str = "", **options: Any
    ) -> None:
        """Add a bone.

        Args:
            joint_name: name in the file of the joint that moves it, empty if it has none.
            options: the other arguments of `Bone`.
        """
        try:
            bone = Bone(name, joint_name=joint_name, **options)
        except ExactikError as error:
            raise element.error(str(error)) from error
        self.bones.append(bone)
        if joint_name != "" and bone.joint.nv > 0:
            self.bones_of_joint.setdefault(joint_name, []).append(bone)

    def find_dof(self, element: Element, joint: str) -> tuple[str, Joint]:
        """Return the dof of a joint in the file that has only one, and the bone's joint."""
        bones = self.bones_of_joint.get(joint, [])
        names = [f"{bone.name}.{dof}" for bone in bones for dof in bone.joint.dof_names]
        if len(names) == 0:
            known = ", ".join(list(self.bones_of_joint)[:40]) or "none"
            raise element.error(f"no moving joint is named {joint!r} (there are: {known})")
        if len(names) > 1:
            raise element.error(f"joint {joint!r} has {len(names)} dofs; a coupling needs one")
        return names[0], bones[0].joint

    def add_coupling(self, element: Element, coupling: Coupling) -> None:
        """Add a coupling; a dof follows one other at most."""
        if coupling.driven in self.couplings:
            raise element.error(f"a second coupling of {coupling.driven!r}; expected at most one")
        self.couplings[coupling.driven] = coupling
        self.coupling_elements[coupling.driven] = element

    def build(self) -> Robot:
        """Return the robot."""
        couplings = tuple(self.couplings.values())
        try:
            skeleton = Skeleton.build(self.name, self.bones, None, couplings, masses=self.masses)
            limits = _hand_down_limits(skeleton)
            skeleton = skeleton.with_bones(_apply_limits(skeleton, limits))
            skeleton = skeleton.with_max_speed(_hand_down_speeds(skeleton, self.max_speed))
            skeleton = skeleton.with_loops(self.loops)
            if self.home is not None:
                skeleton = skeleton.with_home(self.home[skeleton.free_coordinates])
        except ExactikError as error:
            raise FileError(self.root.path, str(error)) from error
        self._warn_of_limits(skeleton.couplings, limits)
        tree = skeleton.tree
        joints = {}
        for name, bones in self.bones_of_joint.items():
            first = skeleton.bone_index(bones[0].name) + 1
            last = skeleton.bone_index(bones[-1].name) + 1
            q, v = (int(part[first]) for part in (tree.first_q, tree.first_v))
            end_q, end_v = (int(part[last + 1]) for part in (tree.first_q, tree.first_v))
            if end_v > v:
                joints[name] = JointPlace(bones[-1].name, q, v, end_q - q, end_v - v)
        return Robot(skeleton=skeleton, joints=joints)

    def _warn_of_limits(self, couplings: tuple[Coupling, ...], limits: dict[str, Interval]) -> None:
        """Warn of dofs that leave their limits where what they follow is within its own."""
        reached = dict(limits)
        leaving: list[str] = []
        for coupling in couplings:  # each after what it follows
            if coupling.driver is None:
                continue
            dof = coupling.driven
            reached[dof] = _find_range(coupling.function, reached[coupling.driver])
            low, high = limits[dof]
            if reached[dof][0] < low - LIMIT_SLACK or reached[dof][1] > high + LIMIT_SLACK:
                leaving.append(dof)
        if len(leaving) > 0:
            shown = ", ".join(leaving[:6]) + (", …" if len(leaving) > 6 else "")
            what = count_noun(len(leaving), "joint") + (
                " that follows another leaves its limits"
                if len(leaving) == 1
                else " that follow others leave their limits"
            )
            self.coupling_elements[leaving[0]].warn(f"{what}: {shown}", code="limit-not-kept")


def _hand_down_limits(skeleton: Skeleton) -> dict[str, Interval]:
    """Return the limits of all dofs, those of dofs that follow others given to what they follow."""
    limits: dict[str, Interval] = {
        f"{bone.name}.{dof}": pair
        for bone in skeleton.bones
        for dof, pair in zip(bone.joint.dof_names, bone.joint.limits, strict=True)
    }
    for coupling in reversed(skeleton.couplings):  # what follows others comes before these
        function, driver = coupling.function, coupling.driver
        if driver is not None and isinstance(function, Linear) and function.slope != 0.0:
            ends = [(end - function.intercept) / function.slope for end in limits[coupling.driven]]
            low, high = limits[driver]
            narrowed = max(low, min(ends)), min(high, max(ends))
            if narrowed[0] < narrowed[1]:
                limits[driver] = narrowed
    return limits


def _hand_down_speeds(skeleton: Skeleton, speeds: dict[str, float]) -> dict[str, float]:
    """Return the speeds of free dofs, at which what follows them keeps its own as well."""
    speeds = dict(speeds)
    for coupling in reversed(skeleton.couplings):
        function, driver, own = coupling.function, coupling.driver, speeds.pop(coupling.driven, 0.0)
        if own > 0.0 and driver is not None and isinstance(function, Linear) and function.slope:
            speeds[driver] = min(speeds.get(driver, math.inf), own / abs(function.slope))
    return speeds


def _apply_limits(skeleton: Skeleton, limits: dict[str, Interval]) -> list[Bone]:
    """Return the bones of a skeleton with these limits of its dofs."""
    bones = []
    for bone in skeleton.bones:
        kept = tuple(limits[f"{bone.name}.{dof}"] for dof in bone.joint.dof_names)
        bones.append(replace(bone, joint=replace(bone.joint, limits=kept)))
    return bones


def _find_range(function: CoordinateFunction, interval: Interval) -> Interval:
    """Return the least and the greatest value of a function that a file can say."""
    low, high = interval
    if isinstance(function, Constant):
        return function.value, function.value
    if not (math.isfinite(low) and math.isfinite(high)):
        return -math.inf, math.inf
    places = [low, high]
    if isinstance(function, Polynomial):
        turns = np.polynomial.Polynomial(function.coefficients).deriv().roots()
        places += [float(x.real) for x in turns if x.imag == 0.0 and low < x.real < high]
    values = [float(function(x)) for x in places]
    return min(values), max(values)


def check_limits(joint: Element, low: float, high: float) -> tuple[float, float]:
    """Return the limits of a joint, or raise an error that names it."""
    if low > high:
        raise joint.error(f"limits are swapped: lower {low:g} > upper {high:g}")
    if low == math.inf or high == -math.inf:
        raise joint.error(f"limits {low:g} and {high:g} leave no room")
    return low, high
