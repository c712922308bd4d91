"""What a robot's file gives: a skeleton, where its named joints are in it, and its couplings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from exactik.errors import ExactikError, FileError
from exactik.io.robots._couplings import Coupling, sort_couplings
from exactik.model import Bone, Joint, Skeleton

if TYPE_CHECKING:
    from exactik.io._xml import Element

__all__ = ["JointPlace", "Robot", "RobotBuilder", "check_limits"]


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


class RobotBuilder:
    """Makes a robot: bones are added parents first, then couplings, then `build()`.

    Attributes:
        name: of the robot.
        bones: added so far.
        bones_of_joint: name of a joint in the file → the bones that it moves.
        couplings: dependent dof → coupling.
    """

    def __init__(self, name: str, root: Element):
        """Begin a robot with this name; errors without an element are those of `root`."""
        self.name, self.root = name, root
        self.bones: list[Bone] = []
        self.bones_of_joint: dict[str, list[Bone]] = {}
        self.couplings: dict[str, Coupling] = {}

    def add_bone(
        self, element: Element, name: str, *, joint_name: str = "", **options: Any
    ) -> None:
        """Add a bone.

        Args:
            element: the part of the file that describes it.
            name: of the bone.
            joint_name: name in the file of the joint that moves it, empty if it has none.
            options: the other arguments of `Bone`.
        """
        try:
            bone = Bone(name, **options)
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

    def add_coupling(self, element: Element, dependent: str, coupling: Coupling) -> None:
        """Add a coupling; a dof follows one other at most."""
        if dependent in self.couplings:
            raise element.error(f"a second coupling of {dependent!r}; expected at most one")
        self.couplings[dependent] = coupling

    def build(self) -> Robot:
        """Return the robot."""
        try:
            skeleton = Skeleton.build(self.name, self.bones)
            sort_couplings(self.couplings)
        except ExactikError as error:
            raise FileError(self.root.path, str(error)) from error
        q = v = 0
        first_q: dict[str, int] = {}
        first_v: dict[str, int] = {}
        for bone in skeleton.bones:
            first_q[bone.name], first_v[bone.name] = q, v
            q, v = q + bone.joint.nq, v + bone.joint.nv
        joints = {
            name: JointPlace(
                bone=bones[-1].name,
                q=first_q[bones[0].name],
                v=first_v[bones[0].name],
                nq=sum(bone.joint.nq for bone in bones),
                nv=sum(bone.joint.nv for bone in bones),
            )
            for name, bones in self.bones_of_joint.items()
        }
        return Robot(skeleton=skeleton, joints=joints, couplings=self.couplings)


def check_limits(joint: Element, low: float, high: float) -> tuple[float, float]:
    """Return the limits of a joint, or raise an error that names it."""
    if low > high:
        raise joint.error(f"limits are swapped: lower {low:g} > upper {high:g}")
    if low == math.inf or high == -math.inf:
        raise joint.error(f"limits {low:g} and {high:g} leave no room")
    return low, high
