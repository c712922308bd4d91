"""A project in a JSON file: keys as lists of numbers, locks, the library, the names of the dofs.

Version 1 had keys alone, and is read as well.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from exactik._arrays import freeze
from exactik.errors import ExactikError, FileError
from exactik.io import open_atomic, read_text
from exactik.model import Skeleton
from exactik.spatial import is_rotation
from exactik.studio.viewer.keyframes._constraints import Key, PinConstraint
from exactik.studio.viewer.keyframes._locks import BoneLock
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.studio.viewer.keyframes._keyframes import KeyframesState


FORMAT, VERSION, READ_VERSIONS = "exactik keys", 2, (1, 2)
PathLike = str | os.PathLike[str]


class Project(NamedTuple):
    """What a file holds."""

    keys: tuple[Key, ...]  # in the order of their times
    locks: tuple[BoneLock, ...]  # bones that stay where they are over time
    poses: Mapping[str, Array]  # the library: name → pose, (nq,), read-only
    smooth: bool  # whether keys are joined by cubic curves


def write_project(
    path: PathLike,
    skeleton: Skeleton,
    state: KeyframesState,
    smooth: bool,
    desk: Mapping[str, Any] | None = None,
) -> None:
    """Write keys, locks and library; numbers are exact. `desk` is kept beside them."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        "skeleton": skeleton.name,
        "dofs": list(skeleton.dof_names),
        "smooth": smooth,
        "keys": [
            {
                "time": key.time,
                "q": key.q.tolist(),
                "holds": {name: _constraint_to_json(pin) for name, pin in key.holds.items()},
            }
            for key in state.keys
        ],
        "locks": [
            {
                "bone": lock.bone,
                "first": lock.first,
                "last": lock.last,
                "point": list(lock.point),
                "oriented": lock.oriented,
            }
            for lock in state.locks
        ],
        "poses": {name: q.tolist() for name, q in state.poses.items()},
        **({} if desk is None else {"desk": dict(desk)}),
    }
    with open_atomic(path) as file:
        json.dump(document, file, indent=1, allow_nan=False, ensure_ascii=False)
        file.write("\n")


def _constraint_to_json(pin: PinConstraint) -> dict[str, Any]:
    return {
        "bone": pin.bone,
        "point": list(pin.point),
        "position": pin.position.tolist(),
        "rotation": None if pin.rotation is None else pin.rotation.tolist(),
    }


def read_project(path: PathLike, skeleton: Skeleton) -> Project:
    """Return what a file holds for a figure."""
    name = os.fspath(path)
    try:
        document = json.loads(read_text(name))
    except (ValueError, RecursionError) as error:
        if isinstance(error, ExactikError):
            raise
        raise FileError(name, f"is no JSON: {error}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FileError(name, f"holds no keys; expected a JSON file of the format {FORMAT!r}")
    if document.get("version") not in READ_VERSIONS:
        version, known = document.get("version"), " and ".join(map(str, READ_VERSIONS))
        raise FileError(name, f"is of version {version!r}; this version reads {known}")
    if document.get("dofs") != list(skeleton.dof_names):
        raise FileError(name, f"its keys are not for {skeleton.name!r}: the dofs are others")
    try:
        keys = [_parse_key(name, skeleton, k, entry) for k, entry in enumerate(document["keys"])]
        locks = [_parse_lock(name, skeleton, entry) for entry in document.get("locks", [])]
        poses = {
            str(pose): freeze(_parse_pose(name, skeleton, f"pose {pose!r}", q))
            for pose, q in document.get("poses", {}).items()
        }
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(name, f"has a key that cannot be read: {error}") from None
    return Project(
        keys=tuple(sorted(keys, key=lambda key: key.time)),
        locks=tuple(locks),
        poses=poses,
        smooth=bool(document.get("smooth", True)),
    )


def _parse_pose(path: str, skeleton: Skeleton, place: str, entry: Any) -> Array:
    q = np.array(entry, dtype=float)
    if q.shape != (skeleton.nq,) or not np.isfinite(q).all():
        raise FileError(path, f"expected {skeleton.nq} finite numbers", place)
    return skeleton.normalised(q)


def _parse_lock(path: str, skeleton: Skeleton, entry: dict[str, Any]) -> BoneLock:
    first, last = float(entry["first"]), float(entry["last"])
    x, y, z = (float(a) for a in entry["point"])
    skeleton.bone_index(entry["bone"])
    if not np.isfinite([first, last, x, y, z]).all() or last <= first:
        raise FileError(path, "expected a lock that ends after it begins", entry["bone"])
    return BoneLock(entry["bone"], first, last, (x, y, z), bool(entry["oriented"]))


def _parse_key(path: str, skeleton: Skeleton, k: int, entry: dict[str, Any]) -> Key:
    time, q = float(entry["time"]), np.array(entry["q"], dtype=float)
    if not np.isfinite(time) or q.shape != (skeleton.nq,) or not np.isfinite(q).all():
        expected = f"a time and {skeleton.nq} finite numbers"
        raise FileError(path, f"expected {expected}", f"key {k + 1}")
    constraints = {
        name: _parse_constraint(path, skeleton, k, item)
        for name, item in entry.get("holds", {}).items()
    }
    return Key(time, skeleton.normalised(q), constraints)


def _parse_constraint(path: str, skeleton: Skeleton, k: int, item: dict[str, Any]) -> PinConstraint:
    x, y, z = (float(a) for a in item["point"])
    position = np.array(item["position"], dtype=float)
    rotation = None if item.get("rotation") is None else np.array(item["rotation"], dtype=float)
    finite = position.shape == (3,) and np.isfinite([x, y, z, *position]).all()
    if not finite or (rotation is not None and not is_rotation(rotation)):
        raise FileError(path, "holds something at no place, or turned in no way", f"key {k + 1}")
    skeleton.bone_index(item["bone"])
    return PinConstraint(item["bone"], (x, y, z), position, rotation)
