"""From a path to a model: which reader takes which file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from exactik.errors import FileError
from exactik.io._units import metres_per
from exactik.model import Skeleton

if TYPE_CHECKING:
    from exactik.io._couplings import Coupling
    from exactik.io._robot import JointPlace, Robot

__all__ = ["load_couplings", "load_joint_names", "load_skeleton"]

PathLike = str | os.PathLike[str]
SkeletonReader = Callable[[str, str | float | None, bool], Skeleton]


def load_skeleton(
    path: PathLike, length_unit: str | float | None = None, floating: bool = False
) -> Skeleton:
    """Return the skeleton in a file.

    Args:
        path: a robot, as .urdf or MuJoCo's .xml. Each link or body is a bone of the same name, also
            those that do not move.
        length_unit: "m", "cm", "mm", "in", … or the metres in one unit of the file. URDF and MJCF
            are in metres unless this says otherwise.
        floating: whether the root moves freely. Without it the root is fixed, and so are bodies
            with a free joint.

    Raises:
        FileError: the file cannot be read or contradicts itself; the text is one line that names
            the file, the place in it and what was expected.

    Warns:
        FileWarning: a part of the file that could matter was not read.
    """
    path = os.fspath(path)
    suffix = Path(path).suffix.lower()
    if suffix not in _SKELETONS:
        found, known = suffix or "names without suffix", " ".join(_SKELETONS)
        raise FileError(path, f"no reader for {found}; expected one of {known}")
    return _SKELETONS[suffix](path, length_unit, floating)


def load_couplings(path: PathLike, length_unit: str | float | None = None) -> dict[str, Coupling]:
    """Return how some dofs of a robot follow others: dependent dof → `Coupling`.

    URDF calls this mimic, MJCF an equality between joints. `load_skeleton` leaves dependent dofs as
    free as all others; `apply_couplings` sets them from their sources.
    """
    return _read_robot(os.fspath(path), length_unit, False).couplings


def load_joint_names(path: PathLike, floating: bool = False) -> dict[str, JointPlace]:
    """Return where the joints of a robot's file are in its skeleton, by their names in the file.

    `q[load_joint_names(path)["elbow"].q]` is the coordinate of the joint "elbow". Joints that do
    not move are left out.

    Args:
        path: the file.
        floating: as given to `load_skeleton`; it shifts the indices.
    """
    return _read_robot(os.fspath(path), None, floating).joints


def _read_robot(path: str, length_unit: str | float | None, floating: bool) -> Robot:
    """Read URDF or MJCF; the root element tells them apart, whatever the file is called."""
    from exactik.io._mjcf import read_mjcf
    from exactik.io._urdf import read_urdf
    from exactik.io._xml import read_xml

    metres = 1.0 if length_unit is None or length_unit == "auto" else metres_per(length_unit)
    root = read_xml(path)
    readers = {"robot": read_urdf, "mujoco": read_mjcf}
    if root.tag not in readers:
        raise root.error("not a robot description; expected <robot> (URDF) or <mujoco> (MJCF)")
    return readers[root.tag](root, metres, floating)


def _read_robot_skeleton(path: str, length_unit: str | float | None, floating: bool) -> Skeleton:
    return _read_robot(path, length_unit, floating).skeleton


# One line per kind of file. Readers are imported when they are needed.
_SKELETONS: dict[str, SkeletonReader] = {
    ".urdf": _read_robot_skeleton,
    ".xml": _read_robot_skeleton,
    ".mjcf": _read_robot_skeleton,
}
