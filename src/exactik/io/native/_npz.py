"""Read and write NPZ: skeletons, motions and markers, without loss."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from exactik._text import one_line
from exactik.io._notes import Notes
from exactik.io._npz_arrays import AnyArray, read_archive, write_archive
from exactik.io.formats import Content
from exactik.io.native._skeleton_json import (
    CONTENT_ERRORS,
    describe_content_error,
    skeleton_from_json,
    skeleton_to_json,
)
from exactik.io.tables import ColumnQuality
from exactik.model import Skeleton
from exactik.model.motion import Analog, ForcePlate, Markers, Motion, Series


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
        "skeleton": skeleton_to_json(skeleton),
        "up_axis": up_axis,
        "metadata": _to_json({} if metadata is None else metadata),
    }
    write_archive(path, contents, {})


def write_npz_motion(motion: Motion, path: str, quality: ColumnQuality | None = None) -> None:
    """Write a motion and its skeleton, and what each of its dofs is worth, (T, nv), if it is known.

    `numpy.load(path)["quality"]` has the codes.
    """
    contents = {
        "kind": "motion",
        "skeleton": skeleton_to_json(motion.skeleton),
        "rate": motion.rate,
        "first_frame": motion.first_frame,
        "start_time": motion.start_time,
        "up_axis": motion.up_axis,
        "source": motion.source,
        "metadata": _to_json(motion.metadata),
        "notes": motion.notes,
    }
    arrays: dict[str, AnyArray] = {"q": motion.q}
    if quality is not None:
        codes = [quality.codes[name] for name in motion.skeleton.dof_names]
        arrays["quality"] = np.array(codes, dtype=np.uint8).reshape(-1, len(motion)).T
        contents["quality_words"] = quality.words
    write_archive(path, contents, arrays)


def write_npz_markers(markers: Markers, path: str) -> None:
    """Write markers and whatever else they came with."""
    others = [(name, s.kind, s.unit) for name, s in markers.others.items()]
    contents = {
        "kind": "markers",
        "names": markers.names,
        "rate": markers.rate,
        "others": others,
        "first_frame": markers.first_frame,
        "start_time": markers.start_time,
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
    write_archive(path, contents, {"positions": markers.positions, **arrays})


def read_npz_content(path: str, notes: Notes) -> Content:
    """Return what a file holds."""
    return read_archive(path, notes, ("skeleton", "motion", "markers"))[0]["kind"]


def read_npz_up_axis(path: str, notes: Notes) -> str | None:
    """Return which axis is up in a file, None where it does not say."""
    contents, _ = read_archive(path, notes, ("skeleton", "motion", "markers"))
    try:
        return _check_up_axis({"up_axis": None, **contents})
    except TypeError as error:
        raise notes.error(str(error)) from None


def read_npz_skeleton(path: str, notes: Notes) -> Skeleton:
    """Return the skeleton of a file that holds one, or a motion."""
    contents, _ = read_archive(path, notes, ("skeleton", "motion"))
    return skeleton_from_json(contents, notes)


def read_npz_metadata(path: str) -> dict[str, Any]:
    """Return what was kept beside a skeleton, a motion or markers."""
    contents, _ = read_archive(path, Notes(path), ("skeleton", "motion", "markers"))
    metadata = contents.get("metadata", {})
    return metadata if isinstance(metadata, dict) else {}


def read_npz_motion(
    path: str,
    notes: Notes,
    skeleton: Skeleton | None = None,
    rate: float | None = None,
) -> Motion:
    """Return the motion of a file; a skeleton given must be the same."""
    contents, arrays = read_archive(path, notes, ("motion",))
    file_skeleton = skeleton_from_json(contents, notes)
    if skeleton is not None and skeleton.dof_names != file_skeleton.dof_names:
        raise notes.error("is of another skeleton than the one given: the dofs differ")
    with _fitting(notes):
        return Motion(
            skeleton=skeleton or file_skeleton,
            q=_blank_infinite(arrays["q"]),
            rate=contents["rate"] if rate is None else rate,
            first_frame=_check_first_frame(contents),
            up_axis=_check_up_axis(contents),
            source=str(contents["source"]),
            metadata=dict(contents["metadata"]),
            notes=tuple(one_line(str(note)) for note in contents["notes"]),
            start_time=float(contents.get("start_time", 0.0)),  # files of 0.1 have none
        )


def read_npz_markers(path: str, notes: Notes, rate: float | None = None) -> Markers:
    """Return the markers of a file."""
    contents, arrays = read_archive(path, notes, ("markers",))
    with _fitting(notes):
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
            start_time=float(contents.get("start_time", 0.0)),
        )


@contextmanager
def _fitting(notes: Notes) -> Iterator[None]:
    """Raise what contents of the wrong type or size raise as one sentence."""
    try:
        yield
    except CONTENT_ERRORS as error:
        text = f"the parts do not fit together: {describe_content_error(error)}"
        raise notes.error(text) from None


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
