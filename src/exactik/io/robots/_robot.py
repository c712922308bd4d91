"""What a robot's file gives: a skeleton, where its named joints went, and its couplings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from exactik.errors import ExactikError, FileError
from exactik.io.robots._couplings import Coupling, in_order
from exactik.model import Bone, Joint, Skeleton

if TYPE_CHECKING:
    from exactik.io._xml import Element

__all__ = ["Assembly", "JointPlace", "Robot", "checked_limits"]


class JointPlace(NamedTuple):
    """Where a joint of the file is in the skeleton.

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
    """A robot as read from a file.

    Attributes:
        skeleton: its bones, one for each link or body.
        joints: name in the file → place, for the joints that move, in the order of their dofs.
        couplings: dependent dof → coupling.
    """

    skeleton: Skeleton
    joints: dict[str, JointPlace]
    couplings: dict[str, Coupling]


class Assembly:
    """A robot in the making: bones are added parents first, then couplings, then `robot()`."""

    def __init__(self, name: str, root: Element):
        """Begin a robot with this name; `root` is the element that errors fall back on."""
        self.name, self.root = name, root
        self.bones: list[Bone] = []
        self.moved_by: dict[str, list[Bone]] = {}
        self.couplings: dict[str, Coupling] = {}

    def add(self, element: Element, name: str, *, moves: str = "", **what: Any) -> None:
        """Add a bone.

        Args:
            element: the part of the file that describes it.
            name: of the bone.
            moves: name in the file of the joint that moves it, empty if it has none.
            what: the other arguments of `Bone`.
        """
        try:
            bone = Bone(name, **what)
        except ExactikError as error:
            raise element.error(str(error)) from error
        self.bones.append(bone)
        if moves != "" and bone.joint.nv > 0:
            self.moved_by.setdefault(moves, []).append(bone)

    def dof(self, element: Element, joint: str) -> tuple[str, Joint]:
        """Return the dof of a joint that has only one, and our joint for it."""
        bones = self.moved_by.get(joint, [])
        names = [f"{bone.name}.{dof}" for bone in bones for dof in bone.joint.dof_names]
        if len(names) == 0:
            known = ", ".join(list(self.moved_by)[:40]) or "none"
            raise element.error(f"no moving joint is named {joint!r} (there are: {known})")
        if len(names) > 1:
            raise element.error(f"joint {joint!r} has {len(names)} dofs; a coupling needs one")
        return names[0], bones[0].joint

    def couple(self, element: Element, dependent: str, coupling: Coupling) -> None:
        """Add a coupling; a dof follows one other at most."""
        if dependent in self.couplings:
            raise element.error(f"a second coupling of {dependent!r}; expected at most one")
        self.couplings[dependent] = coupling

    def robot(self) -> Robot:
        """Return what was assembled."""
        try:
            skeleton = Skeleton.build(self.name, self.bones)
            in_order(self.couplings)
        except ExactikError as error:
            raise FileError(self.root.path, str(error)) from error
        q = v = 0
        first: dict[str, tuple[int, int]] = {}
        for bone in skeleton.bones:
            first[bone.name] = (q, v)
            q, v = q + bone.joint.nq, v + bone.joint.nv
        joints = {
            name: JointPlace(
                bones[-1].name,
                *first[bones[0].name],
                sum(bone.joint.nq for bone in bones),
                sum(bone.joint.nv for bone in bones),
            )
            for name, bones in self.moved_by.items()
        }
        return Robot(skeleton, joints, self.couplings)


def checked_limits(joint: Element, low: float, high: float) -> tuple[float, float]:
    """Return the limits of a joint, or raise the error that names it."""
    if low > high:
        raise joint.error(f"limits are swapped: lower {low:g} > upper {high:g}")
    if low == math.inf or high == -math.inf:
        raise joint.error(f"limits {low:g} and {high:g} leave no room")
    return low, high
