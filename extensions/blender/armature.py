"""Blender's armatures as skeletons of exactik, and its motions as keys of armatures.

With B and h the frame and the head of a bone in the world, in metres and z up, and λ its parent,
Blender keys what a bone does beside its rest pose:

    turn   (B_λᵀ B)_restᵀ · B_λᵀ B
    shift  (B_λᵀ B)_restᵀ · (B_λᵀ (h − h_λ) − (B_λᵀ (h − h_λ))_rest)

in the units of the armature. The skeleton of an armature has the same frames. Where the armature is
made from a skeleton, whose frames look along other axes, B = R C with a constant C.
"""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from exactik import Bone, Joint, Motion, Skeleton, UsageError
from exactik.spatial import nearest_rotation

SHORTEST = 0.01  # [m] Blender drops bones without a length
UNEVEN = 1e-4  # difference of scales along the axes beyond which a rig has no one scale
INTERPOLATION_LINEAR = 1  # Blender's number for keys joined by straight lines


class Frames:
    """The bones of an armature object at rest, in the world."""

    def __init__(self, rig: Any):
        """Take down head and frame of every bone, parents first."""
        self.rig, self.bones = rig, list(rig.data.bones)
        self.index = {bone.name: k for k, bone in enumerate(self.bones)}
        self.parents = [self.index[b.parent.name] if b.parent else -1 for b in self.bones]
        place, turn, scale = rig.matrix_world.decompose()
        if max(scale) - min(scale) > UNEVEN * max(scale):
            raise UsageError(f"{rig.name} is scaled unevenly; apply its scale first")
        self.scale, self.place = float(scale[0]), np.array(place)
        self.turn = nearest_rotation(np.array(turn.to_matrix()))
        self.heads, self.turns = self.in_world([bone.matrix_local for bone in self.bones])

    def in_world(self, matrices: list[Any]) -> tuple[np.ndarray, np.ndarray]:
        """Return heads [m], (n, 3), and frames, (n, 3, 3), of matrices of the armature."""
        local = np.array(matrices).reshape(-1, 4, 4)
        heads = self.place + self.scale * local[:, :3, 3] @ self.turn.T
        # Blender has them in single precision, and scaled where bones are
        return heads, nearest_rotation(self.turn @ local[:, :3, :3])

    def relative(
        self, k: int, heads: np.ndarray, turns: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return where bone k is in its parent: head [m], (…, 3), and frame, (…, 3, 3)."""
        parent = self.parents[k]
        head = self.place if parent < 0 else heads[..., parent, :]
        turn = self.turn if parent < 0 else turns[..., parent, :, :]
        back = np.swapaxes(turn, -1, -2)
        away = (back @ (heads[..., k, :] - head)[..., None])[..., 0]
        return away, back @ turns[..., k, :, :]


def read_skeleton(rig: Any) -> Skeleton:
    """Return the bones of an armature object, in metres, at rest as the armature is.

    Bones turn freely; those with limits or locks of inverse kinematics within these.
    """
    frames = Frames(rig)
    bones = []
    for k, bone in enumerate(frames.bones):
        away, turn = frames.relative(k, frames.heads, frames.turns)
        joint = _read_joint(rig.pose.bones[bone.name])
        if frames.parents[k] < 0:
            joint, away, turn = Joint.free("quaternion"), frames.heads[k], frames.turns[k]
        parent = bone.parent.name if bone.parent else None
        bones.append(Bone(bone.name, parent=parent, offset=away, pre=turn, joint=joint))
    return Skeleton.build(rig.name, bones)


def _read_joint(bone: Any) -> Joint:
    limits, axes = [], ""
    for axis in "xyz":
        if getattr(bone, f"lock_ik_{axis}"):
            continue
        free = not getattr(bone, f"use_ik_limit_{axis}")
        low, high = getattr(bone, f"ik_min_{axis}"), getattr(bone, f"ik_max_{axis}")
        limits.append((-np.inf, np.inf) if free else (low, high))
        axes += axis.upper()
    if axes == "XYZ" and np.isinf(limits).all():
        return Joint.quaternion()
    return Joint.euler(axes, limits) if axes != "" else Joint.fixed()


def read_pose(rig: Any, skeleton: Skeleton) -> np.ndarray:
    """Return the coordinates, (nq,), in which the bones are as Blender shows them now."""
    frames = Frames(rig)
    heads, turns = frames.in_world([rig.pose.bones[b.name].matrix for b in frames.bones])
    parts = []
    for k, bone in enumerate(skeleton.bones):
        away, turn = frames.relative(k, heads, turns)
        if bone.parent is None:
            away, turn = heads[k], turns[k]
        pre, _ = bone.constant_rotations
        parts.append(bone.joint.coordinates_for((away - bone.offset) @ pre, pre.T @ turn))
    return skeleton.clip(np.concatenate(parts))


def _at_rest(skeleton: Skeleton) -> Any:
    """Return the pose that an armature has at rest: nothing turns, whatever limits say."""
    q = np.zeros(skeleton.nq)
    q[[index for _, index in skeleton.quaternions]] = 1.0
    return skeleton.forward(q)


def find_keys(rig: Any, motion: Motion) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return what each bone does beside its rest pose: turns, (T, 3, 3), and shifts, (T, 3)."""
    frames, skeleton = Frames(rig), motion.skeleton
    pose, rest = motion.forward(), _at_rest(skeleton)
    heads = np.tile(frames.heads, (len(motion), 1, 1))
    turns = np.tile(frames.turns, (len(motion), 1, 1, 1))
    known = [
        (k, skeleton.bone_index(b.name))
        for k, b in enumerate(frames.bones)
        if b.name in skeleton.bone_names
    ]
    for k, j in known:
        heads[:, k] = pose.positions[:, j]
        turns[:, k] = pose.rotations[:, j] @ rest.rotations[j].T @ frames.turns[k]
    keys = {}
    for k, _ in known:
        away, turn = frames.relative(k, heads, turns)
        rest_away, rest_turn = frames.relative(k, frames.heads, frames.turns)
        shift = (away - rest_away) @ rest_turn / frames.scale
        keys[frames.bones[k].name] = rest_turn.T @ turn, shift
    return keys


def write_keys(rig: Any, motion: Motion, frames: np.ndarray, name: str) -> None:
    """Key a motion on an armature as a new action; frames that are missing have no keys.

    Args:
        frames: of the scene, one for each frame of the motion, (T,).
        name: of the action.
    """
    present = np.isfinite(motion.q).all(axis=1)
    animation = rig.animation_data or rig.animation_data_create()
    animation.action = action = bpy.data.actions.new(name)
    keys = find_keys(rig, motion)
    shifted = {b.name for b in motion.skeleton.bones if len(b.joint.shift_axes) > 0}
    for bone_name, (turns, shifts) in keys.items():
        bone = rig.pose.bones[bone_name]
        path, values = _in_mode(bone, turns[present])
        channels = [(path, values)]
        if bone_name in shifted or bone.parent is None:
            channels.append(("location", shifts[present]))
        for path, values in channels:
            for axis, column in enumerate(np.asarray(values).T):
                curve = action.fcurve_ensure_for_datablock(
                    rig, f"{bone.path_from_id()}.{path}", index=axis
                )
                curve.keyframe_points.add(len(column))
                points = np.column_stack([frames[present], column])
                curve.keyframe_points.foreach_set("co", points.ravel())
                kinds = [INTERPOLATION_LINEAR] * len(column)
                curve.keyframe_points.foreach_set("interpolation", kinds)
                curve.update()


def key_pose(rig: Any, motion: Motion, frame: int) -> None:
    """Set the pose of the first frame of a motion on an armature, and key it."""
    for bone_name, (turns, shifts) in find_keys(rig, motion).items():
        bone = rig.pose.bones[bone_name]
        path, values = _in_mode(bone, turns)
        setattr(bone, path, values[0])
        bone.keyframe_insert(path, frame=frame)
        if bone.parent is None:
            bone.location = shifts[0]
            bone.keyframe_insert("location", frame=frame)


def _in_mode(bone: Any, turns: np.ndarray) -> tuple[str, list[Any]]:
    """Return the property that turns a bone, and its values, without needless jumps."""
    values: list[Any] = []
    for turn in turns:
        matrix = Matrix(turn.tolist())
        last = values[-1] if len(values) > 0 else None
        if bone.rotation_mode == "QUATERNION":
            value = matrix.to_quaternion()
            if last is not None:
                value.make_compatible(last)
        elif bone.rotation_mode == "AXIS_ANGLE":
            axis, angle = matrix.to_quaternion().to_axis_angle()
            if last is not None and np.dot(axis, last[1:]) < 0.0:
                axis, angle = -axis, -angle
            value = (angle, *axis)
        else:
            euler = (matrix.to_euler(bone.rotation_mode),)
            value = euler[0] if last is None else matrix.to_euler(bone.rotation_mode, last)
        values.append(value)
    names = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}
    return names.get(bone.rotation_mode, "rotation_euler"), values


def make_armature(context: Any, skeleton: Skeleton) -> Any:
    """Return a new armature object with the bones of a skeleton, and its skins on it.

    Bones reach to where the next ones begin, those at the end as far as the one before.
    """
    data = bpy.data.armatures.new(skeleton.name)
    rig = bpy.data.objects.new(skeleton.name, data)
    context.collection.objects.link(rig)
    if context.object is not None and context.object.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    pose = _at_rest(skeleton)
    reach: dict[str, np.ndarray] = {}
    for k, bone in enumerate(skeleton.bones):
        edit = data.edit_bones.new(bone.name)
        below = [pose.positions[j] for j, other in enumerate(skeleton.parents) if other == k]
        away = np.mean(below, axis=0) - pose.positions[k] if below else np.zeros(3)
        if np.linalg.norm(away) < SHORTEST:
            away = reach.get(bone.parent or "", np.array((0.0, 0.0, 10.0 * SHORTEST)))
        reach[bone.name] = away
        edit.head, edit.tail = pose.positions[k], pose.positions[k] + away
        edit.parent = data.edit_bones.get(bone.parent or "")
    bpy.ops.object.mode_set(mode="OBJECT")
    for bone in rig.pose.bones:
        bone.rotation_mode = "QUATERNION"
    placed = skeleton.visuals.compute_vertices(skeleton.bone_names, pose.positions, pose.rotations)[
        len(skeleton.visuals.rigid) :
    ]
    for skin, vertices in zip(skeleton.visuals.skins, placed, strict=True):
        _add_skin(context, rig, skin, vertices)
    return rig


def _add_skin(context: Any, rig: Any, skin: Any, vertices: np.ndarray) -> None:
    name = skin.name or f"{rig.name} body"
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(vertices.tolist(), [], skin.mesh.faces.tolist())
    mesh.shade_smooth()
    body = bpy.data.objects.new(name, mesh)
    context.collection.objects.link(body)
    body.parent = rig
    body.modifiers.new("Armature", "ARMATURE").object = rig
    groups = [body.vertex_groups.new(name=bone) for bone in skin.bones]
    for vertex, (joints, weights) in enumerate(zip(skin.joints, skin.weights, strict=True)):
        for joint, weight in zip(joints.tolist(), weights.tolist(), strict=True):
            if weight > 0.0:
                groups[joint].add([vertex], weight, "ADD")
