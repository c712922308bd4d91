"""A tree of hinges as an armature of Blender, posed by the inverse kinematics of its pose bones.

This file runs by its path in a Python that has `bpy`, where exactik need not be: it imports numpy
and bpy alone. `python armature.py TASK ANSWER` reads arrays and writes arrays, see `main`.

A hinge is a bone whose z axis is that of the hinge, with x and y locked. Blender wants zero within
the limits of a bone and limits within half a turn of it, so that at rest every hinge is in the
middle of its limits; a hinge that may turn all around has none in Blender. An end is one more bone
without freedom, whose tail is there, with an IK constraint for all bones up to the root. No bone of
a chain may slide but by stretching, so that a base that moves is the place of the whole object.
"""

from __future__ import annotations

import sys
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from exactik.typing import Array, IntArray

__all__ = ["SOLVERS", "Armature"]

LENGTH_SHARE = 0.05  # length of a bone, of the figure's extent: short ones lose digits, float32
SOLVERS = ("LEGACY", "ITASC")  # Blender's names of its standard solver and of iTaSC
ITASC_PRECISION = 1e-4  # [m] where iTaSC stops; its 5e-3 is too coarse for a millimetre


class Armature:
    """Hinges and ends in a scene of their own; whatever else Blender held is removed."""

    def __init__(
        self,
        parent: IntArray,
        constant: Array,
        limits: Array,
        carrier: IntArray,
        place: Array,
        *,
        turned: bool,
        iterations: int = 500,
        solver: str = SOLVERS[0],
    ) -> None:
        """Make the bones and the constraints.

        Args:
            parent: index of the hinge above each, -1 for the base, (hinges,); parents come first.
            constant: T_parent_hinge at angle zero, z the axis of the hinge, (hinges, 4, 4).
            limits: [rad], (hinges, 2); infinite where there are none.
            carrier: the hinge that carries each end, (ends,).
            place: T_hinge_end, (ends, 4, 4).
            turned: whether ends are to have the rotation of their targets, too.
            iterations: at most, for each pose.
            solver: of `SOLVERS`.
        """
        self.bpy: Any = import_module("bpy")
        self.matrix: Any = import_module("mathutils").Matrix
        self.hinges, self.ends = len(parent), len(carrier)
        self.endless = np.isinf(limits[:, 0]) | np.isinf(limits[:, 1])
        self.middle = np.where(self.endless[:, None], 0.0, limits).mean(axis=1)
        at_rest = np.empty_like(constant)
        for k, above in enumerate(parent):
            T = constant[k] if above < 0 else at_rest[above] @ constant[k]
            at_rest[k] = T @ _turn_about_z(self.middle[k])
        ends_at_rest = at_rest[carrier] @ place
        points = np.concatenate([at_rest[:, :3, 3], ends_at_rest[:, :3, 3]])
        self.length = LENGTH_SHARE * float(np.ptp(points, axis=0).max())
        ends_at_rest[:, :3, 3] -= self.length * ends_at_rest[:, :3, 1]  # where they begin
        self.parent = np.concatenate([parent, carrier])
        self._make_bones(np.concatenate([at_rest, ends_at_rest]))
        self._free_hinges(limits)
        self._constrain_ends(turned, iterations)
        self.object.pose.ik_solver = solver
        if solver == "ITASC":
            settings = self.object.pose.ik_param
            # The other mode goes on from where it was and ignores the start.
            settings.mode, settings.solver = "ANIMATION", "SDLS"
            settings.precision, settings.iterations = ITASC_PRECISION, iterations

    def _make_bones(self, at_rest: Array) -> None:
        self.bpy.ops.wm.read_factory_settings(use_empty=True)
        armature = self.bpy.data.armatures.new("figure")
        self.object = self.bpy.data.objects.new("figure", armature)
        self.bpy.context.scene.collection.objects.link(self.object)
        self.bpy.context.view_layer.objects.active = self.object
        self.bpy.ops.object.mode_set(mode="EDIT")
        made: list[Any] = []
        for k, T in enumerate(at_rest):
            bone = armature.edit_bones.new(f"{k}")
            bone.tail = (0.0, self.length, 0.0)
            bone.matrix = self.matrix(T.tolist())
            bone.parent = made[self.parent[k]] if self.parent[k] >= 0 else None
            made.append(bone)
        self.bpy.ops.object.mode_set(mode="POSE")
        # As Blender keeps them, in single precision.
        kept = np.array(
            [np.array(armature.bones[f"{k}"].matrix_local) for k in range(len(at_rest))]
        )
        self.between = np.linalg.inv(self._get_parent_frames(kept)) @ kept

    def _free_hinges(self, limits: Array) -> None:
        self.bones = [self.object.pose.bones[f"{k}"] for k in range(self.hinges + self.ends)]
        for k, bone in enumerate(self.bones):
            bone.rotation_mode = "XYZ"
            bone.lock_ik_x = bone.lock_ik_y = True
            bone.lock_ik_z = k >= self.hinges
            if k < self.hinges and limits[k, 1] - limits[k, 0] < 2.0 * np.pi:
                bone.use_ik_limit_z = True
                bone.ik_min_z, bone.ik_max_z = limits[k] - self.middle[k]

    def _constrain_ends(self, turned: bool, iterations: int) -> None:
        self.targets, self.constraints = [], []
        for bone in self.bones[self.hinges :]:
            target = self.bpy.data.objects.new("target", None)
            self.bpy.context.scene.collection.objects.link(target)
            constraint = bone.constraints.new("IK")
            constraint.target, constraint.chain_count = target, 0
            constraint.use_rotation, constraint.iterations = turned, iterations
            self.targets.append(target)
            self.constraints.append(constraint)

    def _get_parent_frames(self, frames: Array) -> Array:
        return np.where((self.parent >= 0)[:, None, None], frames[self.parent], np.eye(4))

    def _evaluate(self, q: Array, base: Array, *, constrained: bool) -> Array:
        """Return the frames of all bones in the frame of the base, (hinges + ends, 4, 4)."""
        for bone, angle in zip(self.bones, q - self.middle, strict=False):
            bone.rotation_euler = (0.0, 0.0, angle)
        for constraint in self.constraints:
            constraint.mute = not constrained
        self.object.location = base
        graph = self.bpy.context.evaluated_depsgraph_get()
        pose = self.object.evaluated_get(graph).pose
        return np.array([np.array(pose.bones[bone.name].matrix) for bone in self.bones])

    def forward(self, q: Array) -> Array:
        """Return T_base_end by Blender's forward kinematics, (ends, 4, 4)."""
        T = self._evaluate(q, np.zeros(3), constrained=False)[self.hinges :]
        T[:, :3, 3] += self.length * T[:, :3, 1]  # from head to tail
        return T

    def solve(
        self,
        targets: Array,
        q: Array,
        base: Array | None = None,
    ) -> Array:
        """Return the angles [rad] that Blender finds from those given, (hinges,).

        Args:
            targets: T_world_end, (ends, 4, 4).
            q: angles [rad] to start from, (hinges,).
            base: place of the base [m], (3,); None for the origin.
        """
        for target, T in zip(self.targets, targets, strict=True):
            target.matrix_world = self.matrix(T.tolist())
        frames = self._evaluate(q, np.zeros(3) if base is None else base, constrained=True)
        moved = np.linalg.inv(self._get_parent_frames(frames) @ self.between) @ frames
        angles = self.middle + np.arctan2(moved[:, 1, 0], moved[:, 0, 0])[: self.hinges]
        nearest = q + np.angle(np.exp(1j * (angles - q)))  # turns that were made are not seen
        return np.where(self.endless, nearest, angles)


def _turn_about_z(angle: float) -> Array:
    T = np.eye(4)
    T[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    return T


def main(task_path: str, answer_path: str) -> None:
    """Follow targets from pose to pose, each from the angles found before.

    The task has what `Armature` is made of, `iterations`, `start` (hinges,), `points` (n, ends, 3),
    `bases` (n, 3) and `shown` (m, hinges). The answer has `q` (n, hinges), the processor's
    `seconds`, the `version` of Blender, and `forward`, T_base_end at the angles shown,
    (m, ends, 4, 4).
    """
    with np.load(task_path) as file:
        task = {key: file[key] for key in file.files}
    parts = [task[key] for key in ("parent", "constant", "limits", "carrier", "place")]
    armature = Armature(*parts, turned=False, iterations=int(task["iterations"]))
    q, poses, targets = task["start"], [], np.tile(np.eye(4), (armature.ends, 1, 1))
    began = time.process_time()
    for points, base in zip(task["points"], task["bases"], strict=True):
        targets[:, :3, 3] = points
        q = armature.solve(targets, q, base)
        poses.append(q)
    np.savez(
        answer_path,
        q=np.array(poses),
        seconds=time.process_time() - began,
        version=armature.bpy.app.version_string,
        forward=np.array([armature.forward(q) for q in task["shown"]]),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
