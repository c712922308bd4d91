"""Draw docs/blender.png with Blender's Cycles: an armature of the extension at four moments.

.venv-blender/bin/python tools/blender_picture.py walk.c3d docs/blender.png
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.blender_sessions import load_extension

MOMENTS = (0.089, 0.349, 0.631, 0.926)  # a step, a kick, a squat, a jumping jack
APART = 1.0  # [m]


def make_material(name: str, colour: tuple[float, ...], alpha: float) -> Any:
    import bpy  # pyright: ignore[reportMissingImports]

    material = bpy.data.materials.new(name)
    material.use_nodes = True
    surface = material.node_tree.nodes["Principled BSDF"]
    surface.inputs["Base Color"].default_value = (*colour, 1.0)
    surface.inputs["Alpha"].default_value = alpha
    return material


def add_mesh(name: str, vertices: Any, faces: Any, material: Any) -> None:
    import bpy  # pyright: ignore[reportMissingImports]

    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(np.asarray(vertices).tolist(), [], faces)
    mesh.materials.append(material)
    bpy.context.collection.objects.link(bpy.data.objects.new(name, mesh))
    if name == "body":
        mesh.shade_smooth()


def add_bone(head: np.ndarray, matrix: np.ndarray, length: float, material: Any) -> None:
    """Add an octahedron as Blender draws bones."""
    w = 0.1 * length
    shape = [(0, 0, 0), (w, w, w), (w, w, -w), (-w, w, -w), (-w, w, w), (0, length, 0)]
    faces = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 1)]
    faces += [(5, 2, 1), (5, 3, 2), (5, 4, 3), (5, 1, 4)]
    add_mesh("bone", np.array(shape) @ matrix.T + head, faces, material)


def main(recording: Path, target: Path) -> None:
    import bpy  # pyright: ignore[reportMissingImports]
    from mathutils import Vector  # pyright: ignore[reportMissingImports]

    bpy.ops.wm.read_factory_settings(use_empty=True)
    load_extension()
    bpy.ops.exactik.import_markers("EXEC_DEFAULT", filepath=str(recording))
    rig, scene = bpy.context.object, bpy.context.scene
    skin, bone_look = (
        make_material("skin", (0.75, 0.35, 0.18), 0.3),
        make_material("bone", (0.0, 0.12, 0.2), 1.0),
    )
    for k, moment in enumerate(MOMENTS):
        scene.frame_set(round(scene.frame_start + moment * (scene.frame_end - scene.frame_start)))
        graph = bpy.context.evaluated_depsgraph_get()
        posed, body = rig.evaluated_get(graph), rig.children[0].evaluated_get(graph)
        away = np.array((0.0, APART * (len(MOMENTS) / 2 - 0.5 - k), 0.0))
        away[:2] -= np.array(posed.pose.bones[0].head)[:2]
        for bone in posed.pose.bones:
            matrix = np.array(bone.matrix.to_3x3())
            add_bone(np.array(bone.head) + away, matrix, bone.length, bone_look)
        mesh = body.to_mesh()
        vertices = np.array([body.matrix_world @ vertex.co for vertex in mesh.vertices]) + away
        add_mesh("body", vertices, [tuple(p.vertices) for p in mesh.polygons], skin)
    rig.children[0].hide_render = True
    floor = make_material("floor", (0.55, 0.58, 0.6), 1.0)
    ground = [(-20, -20, 0), (20, -20, 0), (20, 20, 0), (-20, 20, 0)]
    add_mesh("floor", ground, [(0, 1, 2, 3)], floor)
    sun = bpy.data.objects.new("sun", bpy.data.lights.new("sun", "SUN"))
    sun.data.energy, sun.data.angle, sun.rotation_euler = 2.0, 0.2, (0.6, 0.5, 0.3)
    camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    camera.location = (5.6, 0.9, 1.5)
    look = Vector((0, 0, 0.92)) - camera.location
    camera.rotation_euler, camera.data.lens = look.to_track_quat("-Z", "Y").to_euler(), 44
    for thing in (sun, camera):
        bpy.context.collection.objects.link(thing)
    scene.camera, scene.world = camera, bpy.data.worlds.new("world")
    scene.world.use_nodes = True
    scene.world.node_tree.nodes["Background"].inputs[0].default_value = (0.5, 0.53, 0.58, 1.0)
    scene.render.engine, scene.cycles.device, scene.cycles.samples = "CYCLES", "CPU", 32
    scene.render.resolution_x, scene.render.resolution_y = 800, 440
    scene.view_settings.view_transform = "Standard"
    scene.render.image_settings.compression, scene.render.filepath = 100, str(target.resolve())
    bpy.ops.render.render(write_still=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
    os._exit(0)  # bpy as a module waits for ever where operators are still registered
