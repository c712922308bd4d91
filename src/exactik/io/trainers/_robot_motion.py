"""A motion as simulators see it: joints by name, bodies in the world, velocities of both.

Bodies are the bones that a simulator has bodies for (`Bone.is_body`). Joints are hinges and slides,
as many to a body as lie between it and the body above; a free joint is the pose of the first body.

Velocities of coordinates are central differences over two frames, v_t = (q_t+1 ⊖ q_t−1) / 2Δt, as
trainers make them, at the ends over one. Those of bodies belong to them exactly: they are the
derivative of the forward kinematics along v, by a central difference over a microsecond, whose
rounding is 1e-9 m/s.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from exactik._text import count_noun
from exactik.errors import FileError
from exactik.io._rest_frames import keep_signs
from exactik.model import Bone, Pose, Skeleton
from exactik.model.motion import Motion, turn_to_up
from exactik.spatial import log_rotation, wxyz_from_matrix
from exactik.typing import Array

STEP_S = 1e-6  # [s] along the velocities: 1e-16 m of rounding over it is 1e-10 m/s
HINGES, SLIDES = ("revolute",), ("prismatic",)


@dataclass(frozen=True)
class Body:
    """A body of a simulator.

    Attributes:
        bone: its index in the skeleton.
        parent: index of the body above, −1 for none.
        joints: indices of the bones whose hinges and slides move it, in their order.
        fixed: indices of bones that are part of it, itself first.
    """

    bone: int
    parent: int
    joints: tuple[int, ...]
    fixed: tuple[int, ...]


class RobotMotion:
    """A motion of one robot, z up, all of its frames known.

    Attributes:
        motion: z up, all dofs free.
        bodies: depth first, children in the order of the skeleton, which is that of its file.
    """

    def __init__(self, motion: Motion, path: str):
        """Check that a motion can be written to this file."""
        if motion.up_axis not in (None, "z"):
            motion = turn_to_up(motion, "z")
        self.motion, self.path = motion.without_couplings(), path
        missing = int(np.isnan(self.motion.q).any(axis=1).sum())
        if missing > 0 or len(motion) == 0:
            found = count_noun(missing, "missing frame") if missing > 0 else "no frame"
            raise FileError(path, f"{found}; expected a motion without gaps, as trainers do")
        roots = [bone.name for bone in self.skeleton.bones if bone.parent is None]
        if len(roots) > 1:
            raise FileError(path, f"{len(roots)} roots, {', '.join(roots)}; expected one robot")
        self.bodies = list_bodies(self.skeleton)

    @property
    def skeleton(self) -> Skeleton:
        """Whose motion it is."""
        return self.motion.skeleton

    @property
    def fps(self) -> int | float:
        """Frames a second, a whole number where it is one."""
        return int(self.motion.rate) if self.motion.rate.is_integer() else self.motion.rate

    @cached_property
    def pose(self) -> Pose:
        """All bones in all frames."""
        return self.motion.forward()

    def breadth_first(self) -> RobotMotion:
        """Return the same with bodies level by level, as PhysX and so Isaac Lab order them."""
        levels: list[int] = []
        for body in self.bodies:
            levels.append(0 if body.parent < 0 else levels[body.parent] + 1)
        order = sorted(range(len(levels)), key=levels.__getitem__)
        at = {old: new for new, old in enumerate(order)}
        again = RobotMotion(self.motion, self.path)
        again.bodies = [
            replace(self.bodies[k], parent=at.get(self.bodies[k].parent, -1)) for k in order
        ]
        return again

    # --- joints

    @cached_property
    def joints(self) -> tuple[Bone, ...]:
        """The bones with a hinge or slide, in the order of the bodies that they move.

        Raises:
            FileError: one has another joint.
        """
        bones = [self.skeleton.bones[k] for body in self.bodies for k in body.joints]
        for bone in bones:
            if bone.joint.kind not in HINGES + SLIDES:
                text = f"bone {bone.name!r} has a joint of kind {bone.joint.kind}"
                raise FileError(self.path, f"{text}; expected hinges and slides, as robots have")
        return tuple(bones)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Their names in the robot's file, (n_joints,); of bones where it gives none."""
        return tuple(bone.joint_name or bone.name for bone in self.joints)

    @property
    def _joint_dofs(self) -> list[int]:
        names = self.skeleton.dof_names
        return [names.index(f"{bone.name}.{bone.joint.dof_names[0]}") for bone in self.joints]

    @property
    def joint_positions(self) -> Array:
        """Coordinates of the joints [rad or m], (T, n_joints)."""
        return self.motion.q[:, self.skeleton.plain_q[self._joint_dofs]]

    @property
    def joint_velocities(self) -> Array:
        """Their velocities [rad/s or m/s], (T, n_joints)."""
        return self._velocities[:, self._joint_dofs]

    # --- bodies

    @property
    def _bones(self) -> list[int]:
        return [body.bone for body in self.bodies]

    @property
    def body_names(self) -> tuple[str, ...]:
        """Their names, (n_bodies,)."""
        return tuple(self.skeleton.bone_names[k] for k in self._bones)

    @property
    def positions(self) -> Array:
        """Origins of the bodies in the world [m], (T, n_bodies, 3)."""
        return self.pose.positions[:, self._bones]

    @property
    def rotations(self) -> Array:
        """R_world_body, (T, n_bodies, 3, 3)."""
        return self.pose.rotations[:, self._bones]

    @property
    def wxyz(self) -> Array:
        """The same as quaternions, (T, n_bodies, 4), continuous in sign over time."""
        return keep_signs(wxyz_from_matrix(self.rotations))

    @property
    def linear_velocities(self) -> Array:
        """Of the origins of the bodies in the world [m/s], (T, n_bodies, 3)."""
        return self._twists[0][:, self._bones]

    @property
    def angular_velocities(self) -> Array:
        """In world axes [rad/s], (T, n_bodies, 3)."""
        return self._twists[1][:, self._bones]

    @property
    def centre_velocities(self) -> Array:
        """Of the bodies' centres of mass [m/s], (T, n_bodies, 3); of origins without masses."""
        masses, names = self.skeleton.masses, self.skeleton.bone_names
        velocities = self.linear_velocities.copy()
        for b, body in enumerate(self.bodies):
            parts = [(k, masses[names[k]]) for k in body.fixed if names[k] in masses]
            total = sum(part.mass for _, part in parts)
            if total > 0.0:
                centre = sum(
                    part.mass
                    * (self.pose.positions[:, k] + self.pose.rotations[:, k] @ part.center)
                    for k, part in parts
                )
                arm = centre / total - self.pose.positions[:, body.bone]
                velocities[:, b] += np.cross(self._twists[1][:, body.bone], arm)
        return velocities

    # --- derivatives

    @cached_property
    def _velocities(self) -> Array:
        """Velocities of all dofs, (T, nv)."""
        q, last = self.motion.q, len(self.motion) - 1
        before, after = (
            np.maximum(np.arange(last + 1) - 1, 0),
            np.minimum(np.arange(last + 1) + 1, last),
        )
        frames = np.maximum(after - before, 1)[:, None]  # 1 for a motion of one frame, at rest
        return self.motion.rate * self.skeleton.difference(q[after], q[before]) / frames

    @cached_property
    def _twists(self) -> tuple[Array, Array]:
        """Linear [m/s] and angular [rad/s] velocities of all bones, (T, n_bones, 3) each."""
        skeleton, q = self.skeleton, self.motion.q
        step = STEP_S * self._velocities
        ahead = skeleton.forward(skeleton.integrate(q, step))
        behind = skeleton.forward(skeleton.integrate(q, -step))
        linear = (ahead.positions - behind.positions) / (2.0 * STEP_S)
        turned = ahead.rotations @ np.swapaxes(behind.rotations, 2, 3)
        return linear, log_rotation(turned) / (2.0 * STEP_S)


def list_bodies(skeleton: Skeleton) -> list[Body]:
    """Return the bodies of a skeleton, depth first."""
    bones, parents = skeleton.bones, skeleton.parents.tolist()
    children: dict[int, list[int]] = {}
    for k, parent in enumerate(parents):
        children.setdefault(parent, []).append(k)
    bodies: list[Body] = []
    stack: list[tuple[int, int, tuple[int, ...]]] = [(k, -1, ()) for k in reversed(children[-1])]
    while len(stack) > 0:
        k, above, joints = stack.pop()
        if bones[k].joint.nv > 0 and not bones[k].joint.moves_freely:
            joints = (*joints, k)
        if bones[k].is_body:
            bodies.append(Body(k, above, joints, (k,)))
            above, joints = len(bodies) - 1, ()
        elif above >= 0 and bones[k].joint.nv == 0 and len(joints) == 0:
            bodies[above] = replace(bodies[above], fixed=(*bodies[above].fixed, k))
        stack.extend((child, above, joints) for child in reversed(children.get(k, [])))
    return bodies
