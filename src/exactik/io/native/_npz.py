"""Our own .npz: everything that skeletons, motions and markers hold, without loss.

A zip of numpy arrays and one JSON text with the rest. Nothing in it is executed on reading, and
nothing is allocated because an array claims to be large: its bytes have to be there.
"""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactik._text import one_line
from exactik.errors import ExactikError, FileError
from exactik.io._files import read_bytes, writing
from exactik.io._notes import Notes
from exactik.io.formats import Content
from exactik.model import Bone, Joint, Skeleton
from exactik.motion import Markers, Motion, Series

__all__ = [
    "read_npz_content",
    "read_npz_markers",
    "read_npz_motion",
    "read_npz_skeleton",
    "read_npz_up_axis",
    "write_npz_markers",
    "write_npz_motion",
    "write_npz_skeleton",
]

Array = NDArray[Any]
FORMAT = "exactik 1"

# The head of an array as numpy writes it, of the kinds that are in our files.
_HEAD = re.compile(
    rb"\x93NUMPY[\x01-\x03]\0..(?:\0\0)?\{'descr': '([<>|][fiubU][0-9]{1,9})', "
    rb"'fortran_order': (True|False), 'shape': \(((?:[0-9]{1,12},? ?)*)\), \} *\n",
    re.DOTALL,
)


def write_npz_skeleton(skeleton: Skeleton, path: str, *, up_axis: str | None = None) -> None:
    """Write a skeleton, and which axis is up at rest, if that is known."""
    about = {"kind": "skeleton", "skeleton": _skeleton_to_plain(skeleton), "up_axis": up_axis}
    _write(path, about, {})


def write_npz_motion(motion: Motion, path: str) -> None:
    """Write a motion and its skeleton."""
    about = {
        **{"kind": "motion", "skeleton": _skeleton_to_plain(motion.skeleton)},
        **{"rate": motion.rate, "first_frame": motion.first_frame, "up_axis": motion.up_axis},
        **{"source": motion.source, "metadata": _plain(motion.metadata), "notes": motion.notes},
    }
    _write(path, about, {"q": motion.q})


def write_npz_markers(markers: Markers, path: str) -> None:
    """Write markers and whatever else they came with."""
    others = [(name, s.kind, s.unit) for name, s in markers.others.items()]
    about = {
        **{"kind": "markers", "names": markers.names, "rate": markers.rate, "others": others},
        **{"first_frame": markers.first_frame, "units_in_file": markers.units_in_file},
        **{"up_axis": markers.up_axis, "source": markers.source, "notes": markers.notes},
        "metadata": _plain(markers.metadata),
    }
    arrays = {f"other{k}": s.values for k, s in enumerate(markers.others.values())}
    _write(path, about, {"positions": markers.positions, **arrays})


def read_npz_content(path: str, notes: Notes) -> Content:
    """Return what a file holds."""
    about, _arrays = _read(path, notes, ("skeleton", "motion", "markers"))
    return about["kind"]


def read_npz_up_axis(path: str, notes: Notes) -> str | None:
    """Return which axis is up in a file, as far as it says."""
    about, _arrays = _read(path, notes, ("skeleton", "motion", "markers"))
    try:
        return _axis({"up_axis": None, **about})
    except TypeError as error:
        raise notes.error(str(error)) from None


def read_npz_skeleton(path: str, notes: Notes) -> Skeleton:
    """Return the skeleton of a file that holds one, or a motion."""
    about, _arrays = _read(path, notes, ("skeleton", "motion"))
    return _skeleton_from_plain(about, notes)


def read_npz_motion(
    path: str,
    notes: Notes,
    skeleton: Skeleton | None = None,
    rate: float | None = None,
) -> Motion:
    """Return the motion of a file; a skeleton given must be the same."""
    about, arrays = _read(path, notes, ("motion",))
    own = _skeleton_from_plain(about, notes)
    if skeleton is not None and skeleton.dof_names != own.dof_names:
        raise notes.error("is of another skeleton than the one given: the dofs differ")
    try:
        return Motion(
            *(skeleton or own, _gaps(arrays["q"]), about["rate"] if rate is None else rate),
            *(_first(about), _axis(about), str(about["source"]), dict(about["metadata"])),
            tuple(one_line(str(note)) for note in about["notes"]),
        )
    except _MISFITS as error:
        raise notes.error(f"the parts do not fit together: {_fault(error)}") from None


def read_npz_markers(path: str, notes: Notes, rate: float | None = None) -> Markers:
    """Return the markers of a file."""
    about, arrays = _read(path, notes, ("markers",))
    try:
        others = {
            str(name): Series(str(kind), arrays[f"other{k}"], str(unit))
            for k, (name, kind, unit) in enumerate(about["others"])
        }
        names = tuple(map(str, about["names"]))
        return Markers(
            *(_gaps(arrays["positions"]), names, about["rate"] if rate is None else rate),
            *(_first(about), str(about["units_in_file"]), _axis(about), str(about["source"])),
            *(others, dict(about["metadata"])),
            tuple(one_line(str(note)) for note in about["notes"]),
        )
    except _MISFITS as error:
        raise notes.error(f"the parts do not fit together: {_fault(error)}") from None


# What parts of the wrong kind or size lead to: a text for a number, a list for a name.
_MISFITS = (ExactikError, KeyError, TypeError, ValueError, AttributeError, OverflowError)


def _fault(error: Exception) -> str:
    return f"no {error}" if type(error) is KeyError else str(error)


def _first(about: dict[str, Any]) -> int:
    number = about["first_frame"]
    if type(number) is not int or abs(number) > 1 << 53:
        raise TypeError(f"first_frame is {number!r:.40}; expected a whole number")
    return number


def _axis(about: dict[str, Any]) -> str | None:
    axis = about["up_axis"]
    if axis not in ("x", "y", "z", None):
        raise TypeError(f"up_axis is {axis!r:.40}; expected x, y, z or nothing")
    return axis


def _gaps(array: Array) -> Array:
    """Return numbers with NaN in place of infinity, which means nothing in a recording."""
    if array.dtype.kind != "f" or not np.isinf(array).any():
        return array
    return np.where(np.isinf(array), np.nan, array)


def _plain(value: Any) -> Any:
    """Return metadata as JSON can hold it; what it cannot becomes text."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if hasattr(value, "items"):
        return {str(key): _plain(x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(x) for x in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _write(path: str, about: dict[str, Any], arrays: dict[str, Array]) -> None:
    text = json.dumps({"format": FORMAT, **about}, ensure_ascii=False)
    with writing(path, "wb") as file:
        np.savez_compressed(file, allow_pickle=False, about=np.array(text), **arrays)


def _read(
    path: str, notes: Notes, kinds: tuple[str, ...]
) -> tuple[dict[str, Any], dict[str, Array]]:
    data = read_bytes(path)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _bounded(archive, len(data), notes)
            raw = {name.removesuffix(".npy"): archive.read(name) for name in archive.namelist()}
        arrays = {name: _array(name, raw[name], notes) for name in raw}
        about = json.loads(_text(arrays.pop("about")))
    except FileError:
        raise
    except (
        OSError,
        ValueError,
        LookupError,
        EOFError,
        RuntimeError,
        zipfile.BadZipFile,
        zlib.error,
    ):
        # What zipfile raises for damage of one kind or another; RuntimeError also for JSON that is
        # nested too deeply, encryption and methods that it does not know.
        raise notes.error("not a file that exactik wrote; expected its .npz") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise notes.error(f"not a file that exactik wrote; expected format {FORMAT!r}")
    if about.get("kind") not in kinds:
        raise notes.error(
            f"holds {about.get('kind')!r}; expected {' or '.join(kinds)}", code="wrong-kind"
        )
    return about, arrays


def _text(array: Array) -> str:
    """Return the text in an array; `str` would stumble over what is no character."""
    order = "be" if array.dtype.str[0] == ">" else "le"
    return array.tobytes().decode(f"utf-32-{order}", "surrogatepass").rstrip("\0")


def _array(name: str, raw: bytes, notes: Notes) -> Array:
    """Return the array in one entry; `numpy.load` would make room for what the head claims."""
    match = _HEAD.match(raw)
    if match is None:
        raise notes.error(f"array {name!r} has no head of a known kind; expected numbers")
    kind, order = np.dtype(match[1].decode()), "F" if match[2] == b"True" else "C"
    shape = tuple(int(n) for n in re.findall(rb"[0-9]+", match[3]))
    size = kind.itemsize * math.prod(shape)
    if size != len(raw) - match.end():
        there = len(raw) - match.end()
        raise notes.error(f"array {name!r} claims {size} bytes, but there are {there}")
    return np.frombuffer(raw, kind, offset=match.end()).reshape(shape, order=order)


def _bounded(archive: zipfile.ZipFile, size: int, notes: Notes) -> None:
    """Refuse an archive that would unpack to far more than numbers compress to."""
    unpacked = sum(entry.file_size for entry in archive.infolist())
    if unpacked > 1000 * size + (1 << 20):
        raise notes.error(f"{size} bytes claim to hold {unpacked}; expected a recording")


def _skeleton_to_plain(skeleton: Skeleton) -> dict[str, Any]:
    bones = [
        {
            **{"name": bone.name, "parent": bone.parent, "offset": list(bone.offset)},
            "pre": None if bone.pre is None else np.asarray(bone.pre).tolist(),
            "post": None if bone.post is None else np.asarray(bone.post).tolist(),
            "joint": _joint_to_plain(bone.joint),
        }
        for bone in skeleton.bones
    ]
    markers = {name: [bone, list(point)] for name, (bone, point) in skeleton.markers.items()}
    return {"name": skeleton.name, "bones": bones, "markers": markers}


def _joint_to_plain(joint: Joint) -> dict[str, Any]:
    limits = [[repr(float(x)) for x in pair] for pair in joint.limits]  # JSON has no infinity
    inner = None if joint.rotation is None else _joint_to_plain(joint.rotation)
    axis = None if joint.axis is None else list(joint.axis)
    return {
        **{"kind": joint.kind, "axis": axis, "order": joint.order, "limits": limits},
        "rotation": inner,
    }


def _joint_from_plain(plain: dict[str, Any]) -> Joint:
    kind, limits = plain["kind"], [[float(x) for x in pair] for pair in plain["limits"]]
    bounds: Any = limits if len(limits) > 0 else None
    if kind == "fixed":
        return Joint.fixed()
    if kind in ("revolute", "prismatic"):
        return getattr(Joint, kind)(plain["axis"], bounds[0])
    if kind == "euler":
        return Joint.euler(plain["order"], bounds)
    if kind == "swing_twist":
        return Joint.swing_twist(plain["order"].lower(), bounds)
    if kind == "free":
        return Joint.free(_joint_from_plain(plain["rotation"]), bounds)
    if kind == "quaternion":
        return Joint.quaternion()
    return getattr(Joint, kind)(bounds)


def _skeleton_from_plain(about: dict[str, Any], notes: Notes) -> Skeleton:
    try:
        plain = about["skeleton"]
        bones = [
            Bone(
                bone["name"],
                parent=bone["parent"],
                offset=bone["offset"],
                pre=bone["pre"],
                joint=_joint_from_plain(bone["joint"]),
                post=bone["post"],
            )
            for bone in plain["bones"]
        ]
        markers = {name: (bone, point) for name, (bone, point) in plain["markers"].items()}
        return Skeleton.build(plain["name"], bones, markers)
    except (*_MISFITS, IndexError, RecursionError) as error:
        raise notes.error(f"the skeleton cannot be built: {_fault(error)}") from None
