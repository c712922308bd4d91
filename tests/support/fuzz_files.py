"""The sound files that fuzzing starts from, and what reads them.

Small, so that thousands of mutants are quick: written by our own writers, by the makers that other
tests have, and, where it is there, the beginnings of real files of the shared collection.
"""

from __future__ import annotations

import json
import struct
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import exactik as ik
from exactik.io import load_ik_setup
from exactik.io.gltf import encode_posable_glb
from exactik.io.meshes import MeshFinder, read_mesh_file
from tests.support.c3d_files import make_c3d
from tests.support.fbx_files import make_figure
from tests.support.fuzz_scenes import SCENE_SUFFIXES, load_scene
from tests.support.mesh_files import DAE, MJCF, MTL, OBJ, URDF, VTP, write_stl
from tests.support.models import EVERY_JOINT, chain_of, configuration
from tests.support.opensim_files import make_leg
from tests.support.robot_files import random_mjcf, random_urdf
from tests.support.visuals import make_boxed_arm, make_skinned_arm

__all__ = ["READERS", "Reader", "files_of", "real_files"]


@dataclass(frozen=True)
class Reader:
    """One function that loads files of one suffix.

    Attributes:
        what: "skeleton", "motion", "markers", "setup" (of OpenSim's inverse kinematics), "look" of
            a skeleton, "mesh", or "scene" (a figure with its meshes, shown).
        suffix: of the files.
    """

    what: str
    suffix: str

    @property
    def name(self) -> str:
        return f"{self.what}{self.suffix}"

    def load(self, path: Path, skeleton: ik.Skeleton, rng: Random | None = None) -> Any:
        """Return what is in a file, read with any options, or with plain ones.

        Args:
            path: the file.
            skeleton: for formats that hold none.
            rng: decides the options.
        """
        if self.what == "setup":
            return load_ik_setup(path)
        if self.what == "mesh":
            return read_mesh_file(str(path), MeshFinder(str(path)))
        if self.what == "look":
            dressed = ik.load_skeleton(path)
            encode_posable_glb(dressed, 1)  # what is shown is finite, and fits together
            return dressed.visuals
        any_of = Random(0).choice if rng is None else rng.choice
        if self.what == "scene":
            return load_scene(path, floating=any_of([False, True]))
        options: dict[str, Any] = {"strict": rng is not None and rng.random() < 0.15}
        if self.suffix == ".bvh":
            options["length_unit"] = "cm" if rng is None else any_of(["cm", "auto", 0.0254])
        if self.what == "skeleton":
            return ik.load_skeleton(path, floating=any_of([False, False, True]), **options)
        if self.what == "markers":
            return ik.load_markers(path, zeros_are_missing=any_of([True, False]), **options)
        given = skeleton if self.suffix in (".amc", ".mot", ".sto") else None
        return ik.load_motion(path, given, positions=any_of(["replace", "add"]), **options)


_SKELETONS = (".asf", ".bvh", ".urdf", ".xml", ".osim", ".glb", ".gltf", ".fbx", ".npz")
_MOTIONS = (".amc", ".bvh", ".glb", ".gltf", ".fbx", ".npz", ".mot", ".sto")
_MARKERS = (".c3d", ".trc", ".tsv", ".npz")
_LOOKS = (".glb", ".gltf", ".fbx", ".urdf", ".xml")
_MESHES = (".stl", ".obj", ".dae", ".vtp", ".glb")
READERS = [
    *(Reader("skeleton", suffix) for suffix in _SKELETONS),
    *(Reader("motion", suffix) for suffix in _MOTIONS),
    *(Reader("markers", suffix) for suffix in _MARKERS),
    Reader("setup", ".xml"),
    *(Reader("look", suffix) for suffix in _LOOKS),
    *(Reader("mesh", suffix) for suffix in _MESHES),
    *(Reader("scene", suffix) for suffix in SCENE_SUFFIXES),
]


def puppet() -> ik.Skeleton:
    """A few bones of the built-in human, with names and joints that every format can hold."""
    keep = ("pelvis", "lower_back", "upper_back", "l_hip", "l_knee", "r_hip")
    bones = [bone for bone in ik.human().bones if bone.name in keep or bone.parent is None]
    names = {bone.name for bone in bones}
    bones = [bone for bone in bones if bone.parent is None or bone.parent in names]
    first = bones[-1].name
    points = {"A": (bones[0].name, (0.1, 0.0, 0.0)), "B": (first, (0.0, 0.1, 0.2))}
    return ik.Skeleton.build("puppet", bones, points)


def files_of(folder: Path) -> tuple[dict[str, bytes], dict[str, ik.Skeleton]]:
    """Write the files that we make ourselves.

    Returns:
        The contents by reader and name, as in "motion.bvh/own"; and, by the same keys, the
        skeletons for formats that hold none.
    """
    rng = np.random.default_rng(5)
    figure = puppet()
    wave = np.sin(np.arange(6)[:, None] * 0.3 + np.arange(figure.nq))
    motion = ik.Motion(figure, 0.2 * wave, 120.0)
    chain = chain_of(list(EVERY_JOINT.values()))
    poses = np.array([configuration(chain, seed) for seed in range(3)])
    positions = figure.forward(motion.q).markers.copy()
    positions[2, 1] = np.nan
    markers = ik.Markers(positions, ("A", "B"), 100.0, others={"F": _force(len(positions))})
    made: dict[str, bytes] = {}

    def write(what: str, name: str, save: Callable[[Path], None]) -> None:
        path = folder / name
        save(path)
        made[f"{what}{path.suffix}/{path.stem}"] = path.read_bytes()

    for suffix in (".asf", ".bvh", ".glb", ".npz"):
        write("skeleton", f"own{suffix}", lambda path: ik.save_skeleton(figure, path))
    for suffix in (".amc", ".bvh", ".glb", ".npz", ".mot"):
        write("motion", f"own{suffix}", lambda path: ik.save_motion(motion, path))
    for suffix in (".c3d", ".trc", ".npz"):
        write("markers", f"own{suffix}", lambda path: ik.save_markers(markers, path))
    write("skeleton", "joints.npz", lambda path: ik.save_skeleton(chain, path))
    write("motion", "joints.npz", lambda path: ik.Motion(chain, poses, 30.0).save(path))
    write("motion", "joints.glb", lambda path: ik.Motion(chain, poses, 30.0).save(path))
    write("look", "skin.glb", lambda path: ik.save_skeleton(make_skinned_arm(), path))
    write("look", "boxes.glb", lambda path: ik.save_skeleton(make_boxed_arm(), path))
    write("mesh", "own.stl", write_stl)
    write("mesh", "text.stl", lambda path: write_stl(path, text=True))
    texts = {".obj": OBJ + "mtllib own.mtl\n", ".dae": DAE, ".vtp": VTP, ".mtl": MTL}
    for suffix, text in texts.items():
        (folder / f"own{suffix}").write_text(text)
        made[f"mesh{suffix}/own"] = text.encode()
    made["mesh.glb/own"] = made["look.glb/boxes"]
    made["look.urdf/own"] = URDF.format(folder="sound").encode()
    made["look.xml/own"] = MJCF.format(folder="sound").encode()
    del made["mesh.mtl/own"]
    made["motion.sto/own"] = made["motion.mot/own"]
    made["markers.tsv/own"] = _tsv(positions)
    for encoding, scale in (("Intel", -1.0), ("DEC", 0.01), ("MIPS", 0.01), ("DEC", -1.0)):
        values, analog = rng.integers(-900, 900, (5, 3, 3)), rng.integers(0, 99, (5, 8))
        name = f"markers.c3d/{encoding}{'_floats' if scale < 0 else ''}"
        made[name] = make_c3d(values, encoding=encoding, scale=scale, analog=analog, groups=_GROUPS)
    for k in range(3):
        made[f"skeleton.urdf/random{k}"] = random_urdf(rng, 5).encode()
        made[f"skeleton.xml/random{k}"] = random_mjcf(rng, 5).encode()
    for what, figure_of in (("skeleton", 1), ("motion", 2), ("look", 3)):
        made[f"{what}.fbx/own"] = make_figure(figure_of, 6, limbs=3, skin=True).encode(
            deflate=False
        )
    made["skeleton.xml/includes"] = _INCLUDES
    for version in (30000, 40000):
        made[f"skeleton.osim/leg{version}"] = make_leg(version).encode()
    (folder / "leg.osim").write_bytes(made["skeleton.osim/leg40000"])
    made["setup.xml/leg"] = _SETUP
    for what in ("skeleton", "motion", "look"):
        for name in [key for key in made if key.startswith(f"{what}.glb/")]:
            made[name.replace(".glb", ".gltf")] = _as_gltf(made[name])
    return made, {"motion.amc/own": ik.load_skeleton(folder / "own.asf")} | {
        f"motion{suffix}/own": figure for suffix in (".mot", ".sto")
    }


def _force(frames: int) -> Any:
    from exactik.model.motion import Series

    return Series("force", np.arange(3.0 * frames).reshape(frames, 3), "N")


_GROUPS: dict[str, Any] = {
    "TRIAL": {"ACTUAL_START_FIELD": [1, 0], "ACTUAL_END_FIELD": [5, 0]},
    "ANALOG": {"USED": 8, "RATE": 100.0, "SCALE": [1.0] * 8, "OFFSET": [0] * 8, "GEN_SCALE": 1.0},
    "FORCE_PLATFORM": {
        "USED": 2,
        "TYPE": [2, 3],
        "CORNERS": [1.0, 2.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0] * 2,
        "ORIGIN": [0.0, 0.0, -1.0, 0.5, 0.5, -1.0],
        "CHANNEL": bytes([1, 2, 8, 2, *range(1, 9), *range(1, 9), 0]),  # a byte each
        "ZERO": [1, 2],
    },
    "EVENT": {"USED": 1, "LABELS": ["Foot"], "CONTEXTS": ["Left"], "TIMES": [0.0, 1.5]},
    "POINT": {"ANGLES": ["M2"], "ANGLE_UNITS": "deg", "Y_SCREEN": "+Z"},
    "MANUFACTURER": {"COMPANY": "someone", "SOFTWARE": "x"},
}
_INCLUDES = (
    b'<mujoco><compiler angle="radian"/><include file="absent.xml"/><default><joint axis="0 1 0"/>'
    b'</default><worldbody><body name="a"><joint name="j"/><geom type="sphere" size="1"/>'
    b'<body name="b" euler="0 0 .1"><joint name="k"/></body>'
    b'</body></worldbody><equality><joint joint1="j" joint2="k" polycoef="0 1 0 0 0"/></equality>'
    b"</mujoco>"
)


_SETUP = (  # a mutant is beside the folder of the sound files
    b'<OpenSimDocument Version="30000"><InverseKinematicsTool name="leg">'
    b"<model_file>sound/leg.osim</model_file><constraint_weight>Infinity</constraint_weight>"
    b'<IKTaskSet><objects><IKMarkerTask name="Toe"><apply>true</apply><weight>2</weight>'
    b'</IKMarkerTask><IKCoordinateTask name="knee"><weight>10</weight>'
    b"<value_type>manual_value</value_type><value>0.1</value></IKCoordinateTask></objects>"
    b"</IKTaskSet><marker_file>sound/own.trc</marker_file><time_range>0 0.05</time_range>"
    b"<output_motion_file>out.mot</output_motion_file></InverseKinematicsTool></OpenSimDocument>"
)


def _tsv(positions: np.ndarray) -> bytes:
    head = [f"NO_OF_FRAMES\t{len(positions)}", "NO_OF_MARKERS\t2", "FREQUENCY\t100"]
    head += ["TIME_STAMP\t2026-01-19, 10:19:43", "MARKER_NAMES\tA\tB"]
    head += ["Frame\tTime\tA X\tA Y\tA Z\tB X\tB Y\tB Z"]
    rows = np.nan_to_num(1000.0 * positions.reshape(len(positions), 6)).tolist()
    lines = [
        "\t".join((str(k + 1), f"{0.01 * k:.5f}", *(f"{x:.3f}" for x in row)))
        for k, row in enumerate(rows)
    ]
    return "\r\n".join((*head, *lines, "")).encode()


def _as_gltf(glb: bytes) -> bytes:
    """The same document with its numbers in the text."""
    size = struct.unpack_from("<I", glb, 12)[0]
    document = json.loads(glb[20 : 20 + size])
    for buffer in document.get("buffers", []):
        text = b64encode(glb[28 + size :]).decode()
        buffer["uri"] = f"data:application/vec8-stream;base64,{text}"
    return json.dumps(document).encode()


# By reader: files of the collection and how many of their bytes to take.
_REAL = {
    "skeleton.asf": ("asf_amc/cmu02/02.asf", "asf_amc/endorphin/skeleton.asf"),
    "skeleton.bvh": ("bvh/odd/simple.bvh", "bvh/pybvh/rotation_first_root.bvh"),
    "skeleton.urdf": ("robots/urdf/simple_mimic_gripper.urdf", "robots/urdf/iiwa14.urdf"),
    "skeleton.xml": ("robots/mjcf/dm_humanoid.xml", "robots/mjcf/franka_emika_panda__panda.xml"),
    "skeleton.glb": ("gltf/khronos/RiggedFigure.glb",),
    "skeleton.gltf": ("gltf/khronos/SimpleSkin.gltf", "gltf/khronos/RiggedSimple.gltf"),
    "motion.amc": ("asf_amc/cmu02/02_01.amc",),
    "motion.bvh": ("bvh/odd/sinusoidal.bvh", "bvh/pybvh/rotation_first_root.bvh"),
    "motion.glb": ("gltf/khronos/RiggedFigure.glb",),
    "motion.gltf": ("gltf/khronos/SimpleSkin.gltf", "gltf/khronos/RiggedSimple.gltf"),
    "motion.mot": ("opensim/arm26/arm26_InverseKinematics.mot",),
    "motion.sto": ("opensim/gait2354/subject01_walk1_ik.mot",),
    "markers.c3d": ("c3d/odd/MyCube.c3d", "c3d/optotrak/Optotrak.c3d", "asf_amc/cmu02/02_01.c3d"),
    "markers.trc": ("trc/opensim/exampleFormat.trc", "trc/opensim/dataWithEformat.trc"),
    "markers.tsv": ("tsv_qualisys/Measurement1.tsv",),
}
# Names of columns that become those of dofs, so that a motion comes out.
_COLUMNS = {b"\tr_elbow_flex": b"\tpelvis.rz", b"\tpelvis_tilt": b"\tpelvis.rx"}
_CUT = 12_000  # [bytes] of text; of what is binary, more, since heads are long
_CUT_BINARY = 60_000


def real_files(shared: Path) -> tuple[dict[str, bytes], dict[str, ik.Skeleton]]:
    """The same of the shared collection; what is long is cut off at the end of a line."""
    made: dict[str, bytes] = {}
    for reader, names in _REAL.items():
        for name in names:
            data = (shared / "data" / name).read_bytes()
            binary = Path(name).suffix in (".c3d", ".glb", ".gltf")
            if binary or reader.startswith("skeleton"):
                data = data[:_CUT_BINARY]
            elif len(data) > _CUT:
                data = data[: data.rindex(b"\n", 0, _CUT) + 1]
            for name_there, name_here in _COLUMNS.items():
                data = data.replace(name_there, name_here)
            made[f"{reader}/{Path(name).stem}"] = data
    skeleton = ik.load_skeleton(shared / "data/asf_amc/cmu02/02.asf")
    return made, {"motion.amc/02_01": skeleton}
