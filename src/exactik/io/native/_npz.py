"""Read and write NPZ: a zip of NumPy arrays, and one JSON text, the entry "about", with the rest.

Nothing in it is executed on reading, and nothing is allocated because an array claims to be large:
its bytes have to be there.
"""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactik._text import one_line
from exactik.errors import ExactikError, FileError
from exactik.io._files import open_atomic, read_bytes
from exactik.io._notes import Notes
from exactik.io.formats import Content
from exactik.io.native._mechanisms import (
    driven_joint_from_json,
    driven_joint_to_json,
    function_from_json,
    function_to_json,
)
from exactik.model import Bone, BoneMass, Coupling, Joint, Skeleton, dress
from exactik.motion import Analog, ForcePlate, Markers, Motion, Series

__all__ = [
    "read_npz_content",
    "read_npz_markers",
    "read_npz_metadata",
    "read_npz_motion",
    "read_npz_skeleton",
    "read_npz_up_axis",
    "write_npz_markers",
    "write_npz_motion",
    "write_npz_skeleton",
]

AnyArray = NDArray[Any]
FORMAT = "exactik 1"
# Unpacked bytes: these plus so many per byte of the file. Deflate cannot shrink by more than 1032.
FREE_BYTES, BYTES_PER_BYTE = 1 << 20, 1000

# The header of an array as NumPy writes it, of the types that are in these files.
ARRAY_HEADER = re.compile(
    rb"\x93NUMPY[\x01-\x03]\0..(?:\0\0)?\{'descr': '([<>|][fiubU][0-9]{1,9})', "
    rb"'fortran_order': (True|False), 'shape': \(((?:[0-9]{1,12},? ?)*)\), \} *\n",
    re.DOTALL,
)


def write_npz_skeleton(
    skeleton: Skeleton,
    path: str,
    *,
    up_axis: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> None:
    """Write a skeleton, which axis is up at rest, if that is known, and what else is to be kept."""
    contents = {
        "kind": "skeleton",
        "skeleton": _skeleton_to_json(skeleton),
        "up_axis": up_axis,
        "metadata": _to_json({} if metadata is None else metadata),
    }
    _write(path, contents, {})


def write_npz_motion(motion: Motion, path: str) -> None:
    """Write a motion and its skeleton."""
    contents = {
        "kind": "motion",
        "skeleton": _skeleton_to_json(motion.skeleton),
        "rate": motion.rate,
        "first_frame": motion.first_frame,
        "up_axis": motion.up_axis,
        "source": motion.source,
        "metadata": _to_json(motion.metadata),
        "notes": motion.notes,
    }
    _write(path, contents, {"q": motion.q})


def write_npz_markers(markers: Markers, path: str) -> None:
    """Write markers and whatever else they came with."""
    others = [(name, s.kind, s.unit) for name, s in markers.others.items()]
    contents = {
        "kind": "markers",
        "names": markers.names,
        "rate": markers.rate,
        "others": others,
        "first_frame": markers.first_frame,
        "units_in_file": markers.units_in_file,
        "up_axis": markers.up_axis,
        "source": markers.source,
        "notes": markers.notes,
        "computed": markers.computed,
        "metadata": _to_json(markers.metadata),
        "force_plates": [
            {
                "type": p.type,
                "rate": p.rate,
                "corners": p.corners.tolist(),
                "origin": p.origin.tolist(),
            }
            for p in markers.force_plates
        ],
    }
    arrays = {f"other{k}": s.values for k, s in enumerate(markers.others.values())}
    arrays |= {f"plate{k}": plate.wrench for k, plate in enumerate(markers.force_plates)}
    if markers.analog is not None:
        channels = markers.analog
        contents["analog"] = {
            "labels": channels.labels,
            "units": channels.units,
            "rate": channels.rate,
        }
        arrays["analog"] = channels.values
    _write(path, contents, {"positions": markers.positions, **arrays})


def read_npz_content(path: str, notes: Notes) -> Content:
    """Return what a file holds."""
    return _read(path, notes, ("skeleton", "motion", "markers"))[0]["kind"]


def read_npz_up_axis(path: str, notes: Notes) -> str | None:
    """Return which axis is up in a file, None where it does not say."""
    contents, _ = _read(path, notes, ("skeleton", "motion", "markers"))
    try:
        return _check_up_axis({"up_axis": None, **contents})
    except TypeError as error:
        raise notes.error(str(error)) from None


def read_npz_skeleton(path: str, notes: Notes) -> Skeleton:
    """Return the skeleton of a file that holds one, or a motion."""
    contents, _ = _read(path, notes, ("skeleton", "motion"))
    return _skeleton_from_json(contents, notes)


def read_npz_metadata(path: str) -> dict[str, Any]:
    """Return what was kept beside a skeleton, a motion or markers."""
    contents, _ = _read(path, Notes(path), ("skeleton", "motion", "markers"))
    metadata = contents.get("metadata", {})
    return metadata if isinstance(metadata, dict) else {}


def read_npz_motion(
    path: str,
    notes: Notes,
    skeleton: Skeleton | None = None,
    rate: float | None = None,
) -> Motion:
    """Return the motion of a file; a skeleton given must be the same."""
    contents, arrays = _read(path, notes, ("motion",))
    file_skeleton = _skeleton_from_json(contents, notes)
    if skeleton is not None and skeleton.dof_names != file_skeleton.dof_names:
        raise notes.error("is of another skeleton than the one given: the dofs differ")
    try:
        return Motion(
            skeleton=skeleton or file_skeleton,
            q=_blank_infinite(arrays["q"]),
            rate=contents["rate"] if rate is None else rate,
            first_frame=_check_first_frame(contents),
            up_axis=_check_up_axis(contents),
            source=str(contents["source"]),
            metadata=dict(contents["metadata"]),
            notes=tuple(one_line(str(note)) for note in contents["notes"]),
        )
    except CONTENT_ERRORS as error:
        raise notes.error(f"the parts do not fit together: {_describe(error)}") from None


def read_npz_markers(path: str, notes: Notes, rate: float | None = None) -> Markers:
    """Return the markers of a file."""
    contents, arrays = _read(path, notes, ("markers",))
    try:
        others = {
            str(name): Series(str(kind), arrays[f"other{k}"], str(unit))
            for k, (name, kind, unit) in enumerate(contents["others"])
        }
        return Markers(
            positions=_blank_infinite(arrays["positions"]),
            names=tuple(map(str, contents["names"])),
            rate=contents["rate"] if rate is None else rate,
            first_frame=_check_first_frame(contents),
            units_in_file=str(contents["units_in_file"]),
            up_axis=_check_up_axis(contents),
            source=str(contents["source"]),
            others=others,
            metadata=dict(contents["metadata"]),
            notes=tuple(one_line(str(note)) for note in contents["notes"]),
            computed=tuple(map(str, contents.get("computed", ()))),  # files of 0.1 have none
            analog=_make_analog(contents, arrays),
            force_plates=_make_force_plates(contents, arrays),
        )
    except CONTENT_ERRORS as error:
        raise notes.error(f"the parts do not fit together: {_describe(error)}") from None


def _make_analog(contents: dict[str, Any], arrays: Mapping[str, AnyArray]) -> Analog | None:
    """Return the channels of a file; None without any, as in files of 0.1."""
    value = contents.get("analog")
    if value is None:
        return None
    return Analog(arrays["analog"], list(value["labels"]), list(value["units"]), value["rate"])


def _make_force_plates(
    contents: dict[str, Any], arrays: Mapping[str, AnyArray]
) -> tuple[ForcePlate, ...]:
    return tuple(
        ForcePlate(
            arrays[f"plate{k}"],
            type=int(plate["type"]),
            corners=plate["corners"],
            origin=plate["origin"],
            rate=plate["rate"],
        )
        for k, plate in enumerate(contents.get("force_plates", ()))
    )


# What contents of the wrong type or size raise: a text for a number, a list for a name.
CONTENT_ERRORS = (ExactikError, KeyError, TypeError, ValueError, AttributeError, OverflowError)


def _describe(error: Exception) -> str:
    return f"no {error}" if type(error) is KeyError else str(error)


def _check_first_frame(contents: dict[str, Any]) -> int:
    number = contents["first_frame"]
    if type(number) is not int or abs(number) > 1 << 53:
        raise TypeError(f"first_frame is {number!r:.40}; expected a whole number")
    return number


def _check_up_axis(contents: dict[str, Any]) -> str | None:
    axis = contents["up_axis"]
    if axis not in ("x", "y", "z", None):
        raise TypeError(f"up_axis is {axis!r:.40}; expected x, y, z or nothing")
    return axis


def _blank_infinite(array: AnyArray) -> AnyArray:
    """Return numbers with NaN in place of infinity, which has no meaning in a recording."""
    if array.dtype.kind != "f" or not np.isinf(array).any():
        return array
    return np.where(np.isinf(array), np.nan, array)


def _to_json(value: Any) -> Any:
    """Return metadata as JSON can hold it; other types become text."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if hasattr(value, "items"):
        return {str(key): _to_json(x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json(x) for x in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _write(path: str, contents: dict[str, Any], arrays: dict[str, AnyArray]) -> None:
    text = json.dumps({"format": FORMAT, **contents}, ensure_ascii=False)
    with open_atomic(path, "wb") as file:
        np.savez_compressed(file, allow_pickle=False, about=np.array(text), **arrays)


# What zipfile raises for damage of one kind or another; RuntimeError also for JSON that is nested
# too deeply, for encryption and for methods that it does not know.
ARCHIVE_ERRORS = (
    OSError,
    ValueError,
    LookupError,
    EOFError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)


def _read(
    path: str, notes: Notes, kinds: tuple[str, ...]
) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    data = read_bytes(path)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_size(archive, len(data), notes)
            raw = {name.removesuffix(".npy"): archive.read(name) for name in archive.namelist()}
        arrays = {name: _parse_array(name, raw[name], notes) for name in raw}
        contents = json.loads(_decode_text(arrays.pop("about")))
    except FileError:
        raise
    except ARCHIVE_ERRORS:
        raise notes.error("not a file that exactik wrote; expected its .npz") from None
    if not isinstance(contents, dict) or contents.get("format") != FORMAT:
        raise notes.error(f"not a file that exactik wrote; expected format {FORMAT!r}")
    if contents.get("kind") not in kinds:
        raise notes.error(
            f"holds {contents.get('kind')!r}; expected {' or '.join(kinds)}", code="wrong-kind"
        )
    return contents, arrays


def _decode_text(array: AnyArray) -> str:
    """Return the text in an array; `str` would raise on numbers that are no character."""
    order = "be" if array.dtype.str[0] == ">" else "le"
    return array.tobytes().decode(f"utf-32-{order}", "surrogatepass").rstrip("\0")


def _parse_array(name: str, raw: bytes, notes: Notes) -> AnyArray:
    """Return the array in one entry; `numpy.load` would allocate what the header claims."""
    match = ARRAY_HEADER.match(raw)
    if match is None:
        raise notes.error(f"array {name!r} has no head of a known kind; expected numbers")
    dtype, order = np.dtype(match[1].decode()), "F" if match[2] == b"True" else "C"
    shape = tuple(int(n) for n in re.findall(rb"[0-9]+", match[3]))
    claimed, present = dtype.itemsize * math.prod(shape), len(raw) - match.end()
    if claimed != present:
        raise notes.error(f"array {name!r} claims {claimed} bytes, but there are {present}")
    return np.frombuffer(raw, dtype, offset=match.end()).reshape(shape, order=order)


def _check_size(archive: zipfile.ZipFile, size: int, notes: Notes) -> None:
    """Refuse an archive that would unpack to far more than a recording."""
    unpacked = sum(entry.file_size for entry in archive.infolist())
    if unpacked > BYTES_PER_BYTE * size + FREE_BYTES:
        raise notes.error(f"{size} bytes claim to hold {unpacked}; expected a recording")


def _skeleton_to_json(skeleton: Skeleton) -> dict[str, Any]:
    bones = [
        {
            "name": bone.name,
            "parent": bone.parent,
            "offset": list(bone.offset),
            "pre": None if bone.pre is None else np.asarray(bone.pre).tolist(),
            "post": None if bone.post is None else np.asarray(bone.post).tolist(),
            "joint": _joint_to_json(bone.joint),
        }
        for bone in skeleton.bones
    ]
    markers = {name: [bone, list(point)] for name, (bone, point) in skeleton.markers.items()}
    couplings = [
        [coupling.driven, coupling.driver, function_to_json(coupling.function)]
        for coupling in skeleton.couplings
    ]
    contents = {"name": skeleton.name, "bones": bones, "markers": markers}
    if len(couplings) > 0:
        contents["couplings"] = couplings
    if len(skeleton.masses) > 0:
        contents["masses"] = {
            bone: [entry.mass, list(entry.center)] for bone, entry in skeleton.masses.items()
        }
    if skeleton.home is not None:
        contents["home"] = skeleton.home.tolist()
    return contents


def _joint_to_json(joint: Joint) -> dict[str, Any]:
    if joint.kind in ("screw", "custom"):
        return driven_joint_to_json(joint)
    return {
        "kind": joint.kind,
        "axis": None if joint.axis is None else list(joint.axis),
        "order": joint.order,
        "limits": [[repr(float(x)) for x in pair] for pair in joint.limits],  # may be infinite
        "rotation": None if joint.rotation is None else _joint_to_json(joint.rotation),
    }


def _joint_from_json(value: dict[str, Any]) -> Joint:
    kind, pairs = value["kind"], [[float(x) for x in pair] for pair in value["limits"]]
    limits: Any = pairs if len(pairs) > 0 else None
    if kind in ("screw", "custom"):
        return driven_joint_from_json(value, limits)
    if kind == "fixed":
        return Joint.fixed()
    if kind in ("revolute", "prismatic"):
        return getattr(Joint, kind)(value["axis"], limits[0])
    if kind == "euler":
        return Joint.euler(value["order"], limits)
    if kind == "swing_twist":
        return Joint.swing_twist(value["order"].lower(), limits)
    if kind == "free":
        return Joint.free(_joint_from_json(value["rotation"]), limits)
    if kind == "quaternion":
        return Joint.quaternion()
    return getattr(Joint, kind)(limits)


def _skeleton_from_json(contents: dict[str, Any], notes: Notes) -> Skeleton:
    try:
        value = contents["skeleton"]
        bones = [
            Bone(
                bone["name"],
                parent=bone["parent"],
                offset=bone["offset"],
                pre=bone["pre"],
                joint=_joint_from_json(bone["joint"]),
                post=bone["post"],
            )
            for bone in value["bones"]
        ]
        markers = {name: (bone, point) for name, (bone, point) in value["markers"].items()}
        couplings = [
            Coupling(driven, driver, function_from_json(function))
            for driven, driver, function in value.get("couplings", [])
        ]
        masses = {
            bone: BoneMass(float(mass), center)
            for bone, (mass, center) in value.get("masses", {}).items()
        }
        built = Skeleton.build(value["name"], bones, markers, couplings, masses=masses)
        return dress(built.with_home(value.get("home")))
    except (*CONTENT_ERRORS, IndexError, RecursionError) as error:
        raise notes.error(f"the skeleton cannot be built: {_describe(error)}") from None
