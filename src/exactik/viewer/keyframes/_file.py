"""Key frames in a JSON file: a list of numbers for each key, and the names of the dofs."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from exactik.errors import ExactikError, FileError
from exactik.io import open_atomic, read_text
from exactik.model import Skeleton
from exactik.spatial import is_rotation
from exactik.viewer.keyframes._constraints import Key, PinConstraint

__all__ = ["read_keys", "write_keys"]

FORMAT, VERSION = "exactik keys", 1
PathLike = str | os.PathLike[str]


def write_keys(path: PathLike, skeleton: Skeleton, keys: tuple[Key, ...], smooth: bool) -> None:
    """Write keys; numbers are exact."""
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
            for key in keys
        ],
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


def read_keys(path: PathLike, skeleton: Skeleton) -> tuple[tuple[Key, ...], bool]:
    """Return the keys of a file, and whether they are joined by cubic curves."""
    name = os.fspath(path)
    try:
        document = json.loads(read_text(name))
    except (ValueError, RecursionError) as error:
        if isinstance(error, ExactikError):
            raise
        raise FileError(name, f"is no JSON: {error}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FileError(name, f"holds no keys; expected a JSON file of the format {FORMAT!r}")
    if document.get("version") != VERSION:
        version = document.get("version")
        raise FileError(name, f"is of version {version!r}; this version reads {VERSION}")
    if document.get("dofs") != list(skeleton.dof_names):
        raise FileError(name, f"its keys are not for {skeleton.name!r}: the dofs are others")
    try:
        keys = [_parse_key(name, skeleton, k, entry) for k, entry in enumerate(document["keys"])]
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(name, f"has a key that cannot be read: {error}") from None
    return tuple(sorted(keys, key=lambda key: key.time)), bool(document.get("smooth", True))


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
