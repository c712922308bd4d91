"""Keys in a file: JSON, one list of numbers a key, with the names that they belong to."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from exactik.errors import ExactikError, FileError
from exactik.io import read_text, writing
from exactik.model import Skeleton
from exactik.spatial import is_rotation
from exactik.viewer.keyframes._held import Hold, Key

__all__ = ["read_keys", "write_keys"]

FORMAT, VERSION = "exactik keys", 1
PathLike = str | os.PathLike[str]


def write_keys(path: PathLike, skeleton: Skeleton, keys: tuple[Key, ...], smooth: bool) -> None:
    """Write keys; numbers are kept to the last bit."""
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
                "holds": {name: _written(hold) for name, hold in key.holds.items()},
            }
            for key in keys
        ],
    }
    with writing(path) as file:
        json.dump(document, file, indent=1, allow_nan=False, ensure_ascii=False)
        file.write("\n")


def _written(hold: Hold) -> dict[str, Any]:
    turn = None if hold.rotation is None else hold.rotation.tolist()
    place = {"point": list(hold.point), "position": hold.position.tolist(), "rotation": turn}
    return {"bone": hold.bone, **place}


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
        found = document.get("version")
        raise FileError(name, f"is of version {found!r}; this version reads {VERSION}")
    if document.get("dofs") != list(skeleton.dof_names):
        raise FileError(name, f"its keys are not for {skeleton.name!r}: the dofs are others")
    try:
        keys = [_key(name, skeleton, k, entry) for k, entry in enumerate(document["keys"])]
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(name, f"has a key that cannot be read: {error}") from None
    return tuple(sorted(keys, key=lambda key: key.time)), bool(document.get("smooth", True))


def _key(path: str, skeleton: Skeleton, k: int, entry: dict[str, Any]) -> Key:
    time, q = float(entry["time"]), np.array(entry["q"], dtype=float)
    if not np.isfinite(time) or q.shape != (skeleton.nq,) or not np.isfinite(q).all():
        expected = f"a time and {skeleton.nq} finite numbers"
        raise FileError(path, f"expected {expected}", f"key {k + 1}")
    holds = {name: _hold(path, skeleton, k, own) for name, own in entry.get("holds", {}).items()}
    return Key(time, skeleton.normalised(q), holds)


def _hold(path: str, skeleton: Skeleton, k: int, own: dict[str, Any]) -> Hold:
    x, y, z = (float(a) for a in own["point"])
    place = np.array(own["position"], dtype=float)
    turn = None if own.get("rotation") is None else np.array(own["rotation"], dtype=float)
    sound = place.shape == (3,) and np.isfinite([x, y, z, *place]).all()
    if not sound or (turn is not None and not is_rotation(turn)):
        raise FileError(path, "holds something at no place, or turned in no way", f"key {k + 1}")
    skeleton.bone_index(own["bone"])
    return Hold(own["bone"], (x, y, z), place, turn)
