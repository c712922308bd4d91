"""Rigs that Blender makes, poses and exports; run by a Python that has bpy, without exactik.

python -m tests.support.blender_rigs FOLDER
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from random import Random
from typing import Any

ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX", "QUATERNION", "AXIS_ANGLE")
FRAMES = 16
PLACED = {"loc": (1.0, 2.0, 3.0), "rot": (0.3, 0.2, -1.0), "mesh_rot": (0.2, 0.1, 0.5)}

# Name → how the rig is placed, and how it is exported.
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({}, {}),
    "placed": (PLACED, {}),
    "z up": (PLACED, {"axis_forward": "Y", "axis_up": "Z"}),
    "x up": (PLACED, {"axis_forward": "Y", "axis_up": "X"}),
    "turned": (PLACED, {"bake_space_transform": True}),
    "unit of FBX": (PLACED, {"apply_scale_options": "FBX_SCALE_ALL"}),
    "unit of Blender": (PLACED, {"apply_scale_options": "FBX_SCALE_UNITS"}),
    "bones along x": (PLACED, {"primary_bone_axis": "X", "secondary_bone_axis": "-Z"}),
    "no ends": ({"fps": 120}, {"add_leaf_bones": False}),
    "scaled rig": ({"scale": (0.01, 0.01, 0.01)}, {}),
}


def add_rig(seed: int, loc: Any = (0, 0, 0), rot: Any = (0, 0, 0), scale: Any = (1, 1, 1)) -> Any:
    """Add an armature of eight bones with any rolls, each with its own order of rotations."""
    import bpy  # pyright: ignore[reportMissingImports]
    from mathutils import Vector  # pyright: ignore[reportMissingImports]

    rng = Random(seed)
    armature = bpy.data.armatures.new("Rig")
    rig = bpy.data.objects.new("Rig", armature)
    bpy.context.scene.collection.objects.link(rig)
    rig.location, rig.rotation_euler, rig.scale = loc, rot, scale
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    for k in range(len(ORDERS)):
        bone = armature.edit_bones.new(f"bone{k}")
        bone.head = (0, 0, 1)
        if k > 0:
            bone.parent = armature.edit_bones[rng.randrange(k)]
            away = 0.1 * (k % 2)
            bone.head = bone.parent.tail + Vector([rng.uniform(-away, away) for _ in range(3)])
        x, y, z = (rng.uniform(a, b) for a, b in ((-0.3, 0.3), (-0.3, 0.3), (0.1, 0.4)))
        bone.tail, bone.roll = bone.head + Vector((x, y, z)), rng.uniform(-3, 3)
    bpy.ops.object.mode_set(mode="OBJECT")
    return rig


def animate(rig: Any) -> None:
    from mathutils import Euler  # pyright: ignore[reportMissingImports]

    for k, bone in enumerate(rig.pose.bones):
        bone.rotation_mode = ORDERS[k]
        for frame in range(1, FRAMES + 1):
            angles = [0.8 * math.sin(0.21 * frame + 3 * k + axis) for axis in range(3)]
            turn = Euler(angles).to_quaternion()
            if ORDERS[k] == "QUATERNION":
                bone.rotation_quaternion, path = turn, "rotation_quaternion"
            elif ORDERS[k] == "AXIS_ANGLE":
                axis, angle = turn.to_axis_angle()
                bone.rotation_axis_angle, path = (angle, *axis), "rotation_axis_angle"
            else:
                bone.rotation_euler, path = Euler(angles, ORDERS[k]), "rotation_euler"
            bone.keyframe_insert(path, frame=frame)
            if k in (0, 3):
                bone.location = (0.1 * math.sin(0.3 * frame + k), 0.005 * frame, 0.0)
                bone.keyframe_insert("location", frame=frame)


def add_skin(rig: Any, seed: int, mesh_rot: Any) -> Any:
    import bpy  # pyright: ignore[reportMissingImports]

    rng, count = Random(seed + 1), 60
    vertices = [
        [rng.uniform(-0.5, 0.5) for _ in range(2)] + [rng.uniform(0.5, 2)] for _ in range(count)
    ]
    faces = [(k, k + 1, k + 2) for k in range(0, count, 3)]
    mesh = bpy.data.meshes.new("Body")
    mesh.from_pydata(vertices, [], [*faces, (0, 4, 8, 12), (1, 9, 33, 40, 50)])
    body = bpy.data.objects.new("Body", mesh)
    bpy.context.scene.collection.objects.link(body)
    body.parent, body.location, body.rotation_euler = rig, (0.1, 0.2, 0.3), mesh_rot
    groups = [body.vertex_groups.new(name=bone.name) for bone in rig.data.bones]
    for vertex in range(count):
        chosen = rng.sample(groups, rng.randint(1, 4))
        weights = [rng.random() + 0.1 for _ in chosen]
        for group, weight in zip(chosen, weights, strict=True):
            group.add([vertex], weight / sum(weights), "REPLACE")
    body.modifiers.new("Rig", "ARMATURE").object = rig
    return body


def record(rig: Any, body: Any) -> dict[str, Any]:
    """Return where Blender has heads of bones and vertices in every frame [m]."""
    import bpy  # pyright: ignore[reportMissingImports]

    scene, heads, vertices = bpy.context.scene, [], []
    for frame in range(1, FRAMES + 1):
        scene.frame_set(frame)
        graph = bpy.context.evaluated_depsgraph_get()
        posed, bent = rig.evaluated_get(graph), body.evaluated_get(graph)
        heads.append([list(posed.matrix_world @ bone.head) for bone in posed.pose.bones])
        mesh = bent.to_mesh()
        vertices.append([list(bent.matrix_world @ vertex.co) for vertex in mesh.vertices])
    names = [bone.name for bone in rig.pose.bones]
    return {"names": names, "heads": heads, "vertices": vertices, "rate": scene.render.fps}


def main(folder: Path) -> None:
    import bpy  # pyright: ignore[reportMissingImports]
    import numpy as np

    for seed, (name, (rig_options, export)) in enumerate(CASES.items()):
        bpy.ops.wm.read_factory_settings(use_empty=True)
        scene, options = bpy.context.scene, dict(rig_options)
        scene.render.fps = options.pop("fps", 30)
        scene.frame_start, scene.frame_end = 1, FRAMES
        mesh_rot = options.pop("mesh_rot", (0, 0, 0))
        rig = add_rig(seed, **options)
        animate(rig)
        np.savez(folder / f"{name}.npz", **record(rig, add_skin(rig, seed, mesh_rot)))
        scene.frame_set(1)
        # Else the exporter leaves keys out where a straight line is about as good
        exact = {"bake_anim_simplify_factor": 0.0, **export}
        bpy.ops.export_scene.fbx(filepath=str(folder / f"{name}.fbx"), **exact)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
