"""Robots of the world: their files where somebody has them, and MuJoCo, which holds their ratios.

None of them is part of this project. They are looked for, in this order, in the folder that
EXACTIK_ROBOTS names (clones of the repositories below, side by side), where `robot_descriptions`
keeps its clones, and in packages that are installed: `pip install pybullet example-robot-data`.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sysconfig
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik.io import load_joint_names
from exactik.typing import Array
from tests.support.mesh_files import write_lump
from tests.support.robot_files import FramePose, mujoco
from tests.support.visuals import make_png

FOLDER_VARIABLE = "EXACTIK_ROBOTS"
# Folders of what is included elsewhere, of single objects, and of a person with 700 muscles, whose
# files take MuJoCo most of a minute each.
PARTS = {"assets", "random_urdfs", "ms_human_700"}


def find_repository(repository: str) -> list[Path]:
    """The folders where a repository of robots is."""
    folders = [
        Path(os.environ.get(FOLDER_VARIABLE, os.devnull)) / repository,
        Path("~/.cache/robot_descriptions").expanduser() / repository,
        Path(sysconfig.get_paths()["purelib"], "cmeel.prefix", "share", repository),
    ]
    package = importlib.util.find_spec(repository) if repository.isidentifier() else None
    if package is not None and package.origin is not None:
        folders.append(Path(package.origin).parent)
    return [folder for folder in folders if folder.is_dir()]


def find_robot(repository: str, path: str) -> Path:
    """The file of a robot; skip the test where it is not."""
    for folder in find_repository(repository):
        if (folder / path).is_file():
            return folder / path
    pytest.skip(f"no {repository}/{path}: put a clone of {repository} in {FOLDER_VARIABLE}")


def list_robots(repository: str) -> list[Path]:
    """All URDF and MJCF files of a repository; skip the test where it is not."""
    folders = find_repository(repository)
    if len(folders) == 0:
        pytest.skip(f"no {repository}: put a clone of it in {FOLDER_VARIABLE}")
    found = sorted(p for suffix in ("urdf", "xml") for p in folders[0].rglob(f"*.{suffix}"))
    return [path for path in found if not PARTS & set(path.parts)]


def make_missing_files(path: Path) -> None:
    """Put meshes and images where an MJCF names some and has none; for copies of robots alone."""
    text = path.read_text(encoding="utf-8")
    folders = re.findall(r'(?:meshdir|assetdir|texturedir)="([^"]*)"', text) or ["assets", "."]
    for name in sorted(set(re.findall(r'file[a-z]*="([^"]*)"', text))):
        for target in (path.parent / folder / name for folder in folders):
            if target.exists() or target.suffix.lower() not in (".stl", ".obj", ".png"):
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.suffix.lower() == ".png":
                target.write_bytes(make_png(1, 1))
            else:
                write_lump(target, zlib.crc32(name.encode()))


class Judge:
    """A robot in MuJoCo, which reads the same file: its bodies, joints and equalities.

    Attributes:
        model: without shapes, whose files may be absent, and with a mass on every body.
        data: its state.
    """

    def __init__(self, path: Path):
        """Read the file; a URDF keeps its links that do not move."""
        self.mj = mujoco()
        spec = self.mj.MjSpec.from_file(str(path))
        spec.compiler.fusestatic = False
        parts = "geoms meshes tendons actuators sites sensors textures materials skins keys pairs"
        for kind in (*parts.split(), "excludes"):
            for part in list(getattr(spec, kind)):
                spec.delete(part)
        for body in spec.bodies:
            body.mass, body.inertia, body.explicitinertial = 1.0, (1.0, 1.0, 1.0), True
            body.fullinertia = np.full(6, np.nan)  # MuJoCo's word for none
        self.model: Any = spec.compile()
        self.data: Any = self.mj.MjData(self.model)
        self.joints = load_joint_names(path)

    @property
    def equalities(self) -> list[int]:
        """The equalities between joints that are active."""
        is_joint = self.model.eq_type == self.mj.mjtEq.mjEQ_JOINT
        return np.flatnonzero(is_joint & self.model.eq_active0).tolist()

    def pose(self, q: Array) -> dict[str, FramePose]:
        """The frames of all bodies at our q, joints that follow others by MuJoCo's polynomials.

        MuJoCo's own measure of these equalities must vanish there.
        """
        model, data = self.model, self.data
        data.qpos[:] = model.qpos0
        for name, place in self.joints.items():
            first = int(model.joint(name).qposadr[0])
            data.qpos[first : first + place.nq] = q[place.q : place.q + place.nq]
        for _ in self.equalities:  # as often as a chain of them can be long
            for e in self.equalities:
                driven = model.jnt_qposadr[model.eq_obj1id[e]]
                x = 0.0
                if model.eq_obj2id[e] >= 0:
                    driver = model.jnt_qposadr[model.eq_obj2id[e]]
                    x = data.qpos[driver] - model.qpos0[driver]
                y = np.polynomial.polynomial.polyval(x, model.eq_data[e, :5])
                data.qpos[driven] = model.qpos0[driven] + y
        self.mj.mj_fwdPosition(model, data)
        held = np.isin(data.efc_id[: data.ne], self.equalities)
        assert np.abs(data.efc_pos[: data.ne][held]).max(initial=0.0) < 1e-14
        return {
            model.body(k).name or f"body{k}": FramePose(
                data.xpos[k].copy(), data.xmat[k].reshape(3, 3).copy()
            )
            for k in range(1, model.nbody)
        }

    def following_joint(self, bone: str) -> float:
        """The coordinate, in the last pose, of the joint that follows another and moves a bone.

        A bone has the name of its body, whose last joint moves it, or that of its joint.
        """
        model = self.model
        joints = sorted(int(model.eq_obj1id[e]) for e in self.equalities)
        by_name = {model.body(model.jnt_bodyid[j]).name: j for j in joints}
        by_name.update({model.joint(j).name: j for j in joints})
        return float(self.data.qpos[model.jnt_qposadr[by_name[bone]]])


def driven_coordinates(skeleton: ik.Skeleton, q: Array) -> dict[str, float]:
    """Coordinates of the dofs that follow others at q, by the bones they move."""
    dofs = [(bone.name, dof) for bone in skeleton.bones for dof in bone.joint.dof_names]
    driven = {coupling.driven for coupling in skeleton.couplings}
    pairs = zip(dofs, skeleton.joint_coordinates(q).tolist(), strict=True)
    return {bone: value for (bone, dof), value in pairs if f"{bone}.{dof}" in driven}
