"""exactik in Blender: markers to an armature, motions onto a rig, and pinning and pulling it."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import bpy
import numpy as np
from bpy.props import BoolProperty, EnumProperty, FloatVectorProperty, StringProperty
from bpy_extras.io_utils import ImportHelper

import exactik as ik
from exactik.io.formats import readable_suffixes
from exactik.recordings.pipeline import read_motion, read_recording, solve_recording, stand_up

from . import armature

STILL = 1e-3  # weight of the present pose beside pins and pulls, in m/rad


def _pattern(content: str) -> str:
    return ";".join(f"*{suffix}" for suffix in readable_suffixes(content))  # type: ignore[arg-type]


class _Operator:
    """What all operators share: the selected rig, progress, and errors as Blender shows them."""

    bl_options: ClassVar = {"REGISTER", "UNDO"}

    def execute(self, context: Any) -> set[str]:
        try:
            with self._progress(context), warnings.catch_warnings():
                warnings.simplefilter("ignore", ik.FileWarning)  # they are among the notes
                said = self.run(context)
        except ik.ExactikError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        self.report({"INFO"}, said)
        return {"FINISHED"}

    def run(self, context: Any) -> str:
        """Do it, and return what there is to say."""
        raise NotImplementedError

    @contextmanager
    def _progress(self, context: Any) -> Iterator[None]:
        context.window_manager.progress_begin(0.0, 1.0)
        try:
            yield
        finally:
            context.window_manager.progress_end()

    def tell(self, done: int, total: int) -> None:
        """Show how far a long calculation is."""
        bpy.context.window_manager.progress_update(done / max(total, 1))

    def find_rig(self, context: Any) -> Any:
        """Return the selected armature."""
        if context.object is None or context.object.type != "ARMATURE":
            raise ik.UsageError("no armature is selected; expected the rig as active object")
        return context.object

    def retarget(self, context: Any, motion: ik.Motion, rig: Any) -> str:
        """Retarget a motion with z up to a rig, key it, and return what there is to say."""
        figure = armature.read_skeleton(rig)
        found = ik.retarget(motion, figure, up="z", target_up="z", progress=self.tell)
        self.key(context, found.motion, rig)
        problems = found.problems
        return (
            f"{len(found.motion)} frames on {rig.name}; {problems[0] if problems else 'in order'}"
        )

    def key(self, context: Any, motion: ik.Motion, rig: Any) -> None:
        """Key a motion on a rig from the first frame of the scene on, at its own speed."""
        scene = context.scene
        if self.set_rate:
            scene.render.fps = max(1, round(motion.rate))
            scene.render.fps_base = scene.render.fps / motion.rate
            scene.frame_end = scene.frame_start + len(motion) - 1
        rate = scene.render.fps / scene.render.fps_base
        frames = scene.frame_start + np.arange(len(motion)) * rate / motion.rate
        armature.write_keys(rig, motion, frames, Path(self.filepath).stem)
        scene.frame_set(scene.frame_start)


class _FromFile(ImportHelper):
    set_rate: BoolProperty(  # type: ignore[valid-type]
        name="Rate of the file",
        description="Set the frame rate and the end of the scene to those of the file",
        default=True,
    )


class ImportMarkers(_FromFile, _Operator, bpy.types.Operator):
    """Solve recorded markers to a moving armature"""

    bl_idname, bl_label = "exactik.import_markers", "Import markers (exactik)"
    filter_glob: StringProperty(default=_pattern("markers"), options={"HIDDEN"})  # type: ignore[valid-type]
    onto: EnumProperty(  # type: ignore[valid-type]
        name="Onto",
        items=(
            ("NEW", "New armature", "A human fitted to the markers, with a body"),
            ("RIG", "Selected rig", "The selected armature takes the motion over"),
        ),
    )

    def run(self, context: Any) -> str:
        rig = self.find_rig(context) if self.onto == "RIG" else None
        recording = read_recording(Path(self.filepath), None, align=False)
        solved = solve_recording(
            recording.markers, ik.human(), skeleton_up="z", progress=self._tell_stage
        )[0]
        motion = solved.track.motion
        verdict = solved.verdict.words
        if rig is not None:
            return f"{verdict}; {self.retarget(context, motion, rig)}"
        rig = armature.make_armature(context, motion.skeleton)
        self.key(context, motion, rig)
        return f"{verdict}; {len(motion)} frames on {rig.name}"

    def _tell_stage(self, what: str, done: int, total: int) -> None:
        self.tell(done, total)


class RetargetMotion(_FromFile, _Operator, bpy.types.Operator):
    """Let the selected armature take over a motion"""

    bl_idname, bl_label = "exactik.retarget", "Retarget to selected rig (exactik)"
    filter_glob: StringProperty(default=_pattern("motion"), options={"HIDDEN"})  # type: ignore[valid-type]

    def run(self, context: Any) -> str:
        rig = self.find_rig(context)
        return self.retarget(context, stand_up(read_motion(self.filepath).motion), rig)


class PinAndPull(_Operator, bpy.types.Operator):
    """Pull the active bone to the 3D cursor; other selected bones stay where they are"""

    bl_idname, bl_label = "exactik.pin_and_pull", "Pin and pull (exactik)"
    target: FloatVectorProperty(  # type: ignore[valid-type]
        name="Target",
        description="Where the active bone goes",
        subtype="TRANSLATION",
        unit="LENGTH",
    )
    turns: BoolProperty(  # type: ignore[valid-type]
        name="Hold turns", description="Pinned bones keep their directions too", default=True
    )
    tail: BoolProperty(name="Tail", description="Pull the tail of the bone, not its head")  # type: ignore[valid-type]

    def invoke(self, context: Any, event: Any) -> set[str]:
        """Begin with the 3D cursor as target."""
        self.target = context.scene.cursor.location
        return self.execute(context)

    def run(self, context: Any) -> str:
        rig, pulled = self.find_rig(context), context.active_pose_bone
        if pulled is None:
            raise ik.UsageError("no bone is active; expected the one to pull, in pose mode")
        figure = armature.read_skeleton(rig)
        q = armature.read_pose(rig, figure)
        pose, tip = figure.forward(q), (0.0, 0.0, 0.0)
        if self.tail:
            tip = (0.0, pulled.bone.length * rig.matrix_world.to_scale()[0], 0.0)
        goals: list[ik.Goal] = [ik.PositionGoal(pulled.name, tuple(self.target), point=tip)]
        for bone in context.selected_pose_bones:
            k = figure.bone_index(bone.name)
            if bone != pulled and self.turns:
                place = np.eye(4)
                place[:3, :3], place[:3, 3] = pose.rotations[k], pose.positions[k]
                goals.append(ik.PoseGoal(bone.name, place))
            elif bone != pulled:
                goals.append(ik.PositionGoal(bone.name, pose.positions[k]))
        found = ik.solve(figure, [*goals, ik.PostureGoal(q, weight=STILL**2)], q0=q)
        frame = context.scene.frame_current
        armature.key_pose(rig, ik.Motion(figure, found.q[None], 1.0), frame)
        return found.why


def _add_imports(menu: Any, context: Any) -> None:
    menu.layout.operator(ImportMarkers.bl_idname, text="C3D (exactik)")


def _add_to_pose(menu: Any, context: Any) -> None:
    menu.layout.separator()
    menu.layout.operator(RetargetMotion.bl_idname, text="Retarget to selected rig (exactik)")
    menu.layout.operator(PinAndPull.bl_idname)


CLASSES = (ImportMarkers, RetargetMotion, PinAndPull)
MENUS = (
    ("TOPBAR_MT_file_import", _add_imports),
    ("VIEW3D_MT_pose", _add_to_pose),
    ("VIEW3D_MT_object", _add_to_pose),
)


def register() -> None:
    """Add operators and their menu entries."""
    for operator in CLASSES:
        bpy.utils.register_class(operator)
    for menu, entry in MENUS:
        getattr(bpy.types, menu).append(entry)


def unregister() -> None:
    """Take them away again."""
    for menu, entry in MENUS:
        getattr(bpy.types, menu).remove(entry)
    for operator in reversed(CLASSES):
        bpy.utils.unregister_class(operator)
