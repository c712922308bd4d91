"""A session in Blender with the extension; run by a Python that has bpy and exactik.

python -m tests.support.blender_sessions FOLDER MARKERS… MOTION

Writes what Blender shows of each rig to FOLDER, an .npz and a line of sessions.json each.
"""

from __future__ import annotations

import json
import sys
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.blender_rigs import add_rig
from tests.support.checkout import ROOT

# Left half of a person that looks towards −y: bone, bone above, head [m], axis of rolls.
PERSON = {
    "hips": ("", (0, 0, 0.95)),
    "spine": ("hips", (0, 0.01, 1.08)),
    "chest": ("spine", (0, 0.02, 1.25)),
    "neck": ("chest", (0, 0.01, 1.48)),
    "head": ("neck", (0, -0.01, 1.57)),
    "shoulder": ("chest", (0.03, 0, 1.43)),
    "upper_arm": ("shoulder", (0.17, 0.02, 1.42)),
    "forearm": ("upper_arm", (0.44, 0.03, 1.40)),
    "hand": ("forearm", (0.68, 0.01, 1.38)),
    "thigh": ("hips", (0.09, 0, 0.90)),
    "shin": ("thigh", (0.10, -0.01, 0.49)),
    "foot": ("shin", (0.10, 0.02, 0.08)),
    "toe": ("foot", (0.10, -0.10, 0.02)),
}
MIDDLE = ("hips", "spine", "chest", "neck", "head")
MIXAMO = {
    "hips": "Hips",
    "spine": "Spine",
    "chest": "Spine2",
    "neck": "Neck",
    "head": "Head",
    "shoulder": "Shoulder",
    "upper_arm": "Arm",
    "forearm": "ForeArm",
    "hand": "Hand",
    "thigh": "UpLeg",
    "shin": "Leg",
    "foot": "Foot",
    "toe": "ToeBase",
}
RIGS = ("person", "other axes", "child")
TREE, TREE_SEED = "tree", 3  # bones with any rolls and orders of rotation, of no body
CHILD = 0.62  # of a grown person's height


def call(name: str, bone: str, side: str) -> str:
    """Return what a rig calls a bone."""
    if name == "other axes":
        return f"mixamorig:{'' if side == '' else 'Left' if side == 'L' else 'Right'}{MIXAMO[bone]}"
    return bone if side == "" else f"{bone}.{side}"


def add_person(name: str) -> Any:
    """Add a rig: "person"; with other names, axes, rolls, place and scale; or a limited child."""
    import bpy  # pyright: ignore[reportMissingImports]
    from mathutils import Vector  # pyright: ignore[reportMissingImports]

    rng = np.random.default_rng(3)
    data = bpy.data.armatures.new(name)
    rig = bpy.data.objects.new(name, data)
    bpy.context.collection.objects.link(rig)
    size = {"other axes": 100.0, "child": CHILD}.get(name, 1.0)
    if name == "other axes":
        rig.scale, rig.location, rig.rotation_euler = (0.01,) * 3, (0.4, -0.3, 0.0), (0, 0, 0.8)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    for bone, (above, (x, y, z)) in PERSON.items():
        for side in ("",) if bone in MIDDLE else ("L", "R"):
            edit = data.edit_bones.new(call(name, bone, side))
            edit.head = Vector((-x if side == "R" else x, y, z)) * size
            edit.tail = edit.head + Vector((0, 0, 0.1)) * size
            if above != "":
                edit.parent = data.edit_bones[call(name, above, "" if above in MIDDLE else side)]
    for edit in data.edit_bones:
        if name == "other axes":
            edit.tail = edit.head + Vector(rng.normal(size=3) * 10)
            edit.roll = rng.uniform(-3, 3)
        elif len(edit.children) > 0:
            edit.tail = edit.children[-1].head
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.view_layer.update()
    for k, bone in enumerate(rig.pose.bones):
        bone.rotation_mode = ("QUATERNION", "XYZ", "ZYX", "AXIS_ANGLE")[k % 4]
        if name == "child" and bone.name.startswith("shin"):
            bone.use_ik_limit_x, bone.ik_min_x, bone.ik_max_x = True, 0.0, 2.6
            bone.lock_ik_z = True
        if name == "child" and bone.name.startswith("forearm"):  # at rest it is beyond its limit
            bone.use_ik_limit_x, bone.ik_min_x, bone.ik_max_x = True, 0.15, 2.6
    return rig


def load_extension() -> Any:
    """Register the extension as Blender does: as a package of its own folder."""
    folder = ROOT / "extensions" / "blender"
    spec = util.spec_from_file_location(
        "exactik_blender", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None and spec.loader is not None
    module = util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    module.register()
    return module


def look(rig: Any) -> dict[str, Any]:
    """Return heads, frames and tails of the bones in the world in every frame of the scene."""
    import bpy  # pyright: ignore[reportMissingImports]

    scene = bpy.context.scene
    heads, turns = [], []
    for frame in range(scene.frame_start, scene.frame_end + 1):
        scene.frame_set(frame)
        posed = rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
        heads.append([posed.matrix_world @ bone.head for bone in posed.pose.bones])
        turns.append(
            [(posed.matrix_world @ bone.matrix).to_3x3().normalized() for bone in posed.pose.bones]
        )
    return {
        "names": [bone.name for bone in rig.pose.bones],
        "heads": np.array(heads),
        "turns": np.array(turns),
        "rate": scene.render.fps / scene.render.fps_base,
    }


def look_at_skin(rig: Any) -> np.ndarray:
    """Return the vertices of the body on a rig in the first frame, (n, 3) [m]."""
    import bpy  # pyright: ignore[reportMissingImports]

    scene = bpy.context.scene
    scene.frame_set(scene.frame_start)
    body = rig.children[0].evaluated_get(bpy.context.evaluated_depsgraph_get())
    return np.array([body.matrix_world @ vertex.co for vertex in body.to_mesh().vertices])


def save_solved(path: Path, target: Path) -> None:
    """Solve a recording without Blender, as `exactik solve` does."""
    import exactik as ik
    from exactik.recordings.pipeline import read_recording, solve_recording

    markers = read_recording(path, None, align=False).markers
    solve_recording(markers, ik.human(), skeleton_up="z")[0].track.motion.save(target)


def save_retargeted(module: Any, motion: Path, rig: Any, target: Path) -> None:
    """Retarget a motion to the bones of a rig as `exactik retarget` does."""
    import exactik as ik
    from exactik.recordings.pipeline import read_motion, stand_up

    figure = module.armature.read_skeleton(rig)
    source = stand_up(read_motion(str(motion)).motion)
    ik.retarget(source, figure, up="z", target_up="z").motion.save(target)


def attempt(operator: Any, **options: Any) -> str:
    """Return what an operator ends with: "FINISHED", or its sentence."""
    try:
        return operator("EXEC_DEFAULT", **options).pop()
    except RuntimeError as error:  # as which bpy raises what is reported as an error
        return str(error)


def pin_and_pull(name: str) -> dict[str, Any]:
    """Pull the left hand of a rig, both feet pinned; of a tree a twig, with its root."""
    import bpy  # pyright: ignore[reportMissingImports]

    bpy.ops.wm.read_factory_settings(use_empty=True)
    rig = add_rig(TREE_SEED, scale=(0.5, 0.5, 0.5)) if name == TREE else add_person(name)
    bpy.ops.object.mode_set(mode="POSE")
    before = look_once(rig)
    feet = ["bone0"] if name == TREE else [call(name, "foot", side) for side in "LR"]
    hand = "bone7" if name == TREE else call(name, "hand", "L")
    for bone in rig.pose.bones:
        chosen = bone.name in (*feet, hand)
        (bone if hasattr(bone, "select") else bone.bone).select = chosen
    rig.data.bones.active = rig.data.bones[hand]
    bpy.context.scene.frame_set(7)
    target = before["heads"][before["names"].index(hand)] + (
        (0.0, -0.05, -0.1) if name == TREE else (0.0, -0.25, -0.35)
    )
    ended = attempt(bpy.ops.exactik.pin_and_pull, target=target.tolist())
    bpy.context.scene.frame_set(8)
    bpy.context.scene.frame_set(7)
    return {
        "before": before["heads"],
        "before_turns": before["turns"],
        **look_once(rig),
        "feet": feet,
        "hand": hand,
        "target": target,
        "ended": ended,
    }


def look_once(rig: Any) -> dict[str, Any]:
    import bpy  # pyright: ignore[reportMissingImports]

    scene = bpy.context.scene
    start, end = scene.frame_start, scene.frame_end
    scene.frame_start = scene.frame_end = scene.frame_current
    bpy.context.view_layer.update()
    seen = look(rig)
    scene.frame_start, scene.frame_end = start, end
    return {**seen, "heads": seen["heads"][0], "turns": seen["turns"][0]}


def main(folder: Path, recordings: list[Path], motion: Path) -> None:
    import bpy  # pyright: ignore[reportMissingImports]

    module = load_extension()
    ends: dict[str, str] = {}
    for path in recordings:
        bpy.ops.wm.read_factory_settings(use_empty=True)
        operator = bpy.ops.exactik.import_markers
        ends[f"solved {path.stem}"] = attempt(operator, filepath=str(path))
        rig = bpy.context.object
        np.savez(folder / f"solved {path.stem}.npz", skin=look_at_skin(rig), **look(rig))
        save_solved(path, folder / f"solved {path.stem}.glb")
        bpy.ops.wm.save_as_mainfile(filepath=str(folder / f"{path.stem}.blend"))
    for name in RIGS:
        bpy.ops.wm.read_factory_settings(use_empty=True)
        rig = add_person(name)
        ends[f"retargeted {name}"] = attempt(bpy.ops.exactik.retarget, filepath=str(motion))
        np.savez(folder / f"retargeted {name}.npz", **look(rig))
        save_retargeted(module, motion, rig, folder / f"retargeted {name}.glb")
        for path in recordings:
            ends[f"{path.stem} on {name}"] = attempt(
                bpy.ops.exactik.import_markers, filepath=str(path), onto="RIG"
            )
            np.savez(folder / f"{path.stem} on {name}.npz", **look(rig))
    for name in (*RIGS, TREE):
        np.savez(folder / f"pulled {name}.npz", **pin_and_pull(name))
    bpy.ops.wm.read_factory_settings(use_empty=True)
    ends["no rig"] = attempt(bpy.ops.exactik.retarget, filepath=str(motion))
    (folder / "empty.c3d").write_bytes(b"no C3D")
    path = str(folder / "empty.c3d")
    ends["no C3D"] = attempt(bpy.ops.exactik.import_markers, filepath=path)
    (folder / "sessions.json").write_text(json.dumps(ends))
    module.unregister()


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(path) for path in sys.argv[2:-1]], Path(sys.argv[-1]))
