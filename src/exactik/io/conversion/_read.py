"""The source of a conversion: what a file holds, with everything that has to be said about it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from exactik.errors import FileError
from exactik.io._files import read_bytes
from exactik.io._load import MARKERS, MOTIONS, SKELETONS, load_markers, load_motion, load_skeleton
from exactik.io._notes import Notes, warnings_noted
from exactik.model import Skeleton
from exactik.motion import Markers, Motion

__all__ = ["Found", "Reading", "Source", "beside", "kind_in", "read", "up_of_skeleton"]

Found = Skeleton | Motion | Markers

# By custom; robots have x forward and z up, MuJoCo's gravity is along −z.
_UP_OF_SKELETONS = {".asf": "y", ".urdf": "z", ".xml": "z", ".mjcf": "z"}


class Source(NamedTuple):
    """How to read a file, see `convert`."""

    unit: str | float | None
    rate: float | None
    positions: str
    animation: int | str | None
    zeros_are_missing: bool
    strict: bool


class Reading(NamedTuple):
    """What was found in a file."""

    thing: Found
    up_axis: str | None
    skeleton_file: str | None  # that was read as well
    notes: tuple[str, ...]


def kind_in(path: str) -> str:
    """Return what a file holds: "motion", with its skeleton, or "markers", or "skeleton"."""
    suffix = Path(path).suffix.lower()
    tables = {"motion": MOTIONS, "markers": MARKERS, "skeleton": SKELETONS}
    kinds = [kind for kind, table in tables.items() if suffix in table]
    if len(kinds) == 0:
        known = " ".join(sorted({*MOTIONS, *MARKERS, *SKELETONS}))
        found = suffix or "names without suffix"
        raise FileError(path, f"no reader for {found}; expected one of {known}")
    if suffix == ".npz":
        from exactik.io.native import read_npz_kind

        return read_npz_kind(path, Notes(path))
    still = False
    if suffix == ".bvh":
        from exactik.io.bvh import has_motion

        still = not has_motion(read_bytes(path))
    elif suffix in (".glb", ".gltf"):
        from exactik.io.gltf import has_animations

        still = not has_animations(path, Notes(path))
    return "skeleton" if still else kinds[0]


def read(path: str, kind: str, skeleton: str | None, options: Source) -> Reading:
    """Return what a file holds; faults and notes speak of the arguments of `convert`."""
    try:
        return _read(path, kind, skeleton, options)
    except FileError as error:
        raise FileError(error.path, _renamed(error.message), error.place) from None


def _read(path: str, kind: str, skeleton: str | None, options: Source) -> Reading:
    notes: list[str] = []
    suffix = Path(path).suffix.lower()
    unit = "auto" if options.unit is None and suffix == ".bvh" else options.unit
    if kind == "markers":
        with warnings_noted(notes, path):
            markers = load_markers(
                path,
                length_unit=unit,
                rate=options.rate,
                zeros_are_missing=options.zeros_are_missing,
                strict=options.strict,
            )
        return Reading(markers, markers.up_axis, None, _said(notes, markers.notes))
    if kind == "skeleton":
        with warnings_noted(notes, path):
            figure = load_skeleton(path, unit, strict=options.strict)
        return Reading(figure, _up_axis(path, suffix), None, _said(notes))
    if skeleton is None and suffix == ".amc":
        skeleton = beside(path)
        notes.append(f"the skeleton is that of {Path(skeleton).name}, beside it")
    if skeleton is None and suffix in (".mot", ".sto"):
        raise FileError(path, "holds no skeleton; give skeleton, the file that does")
    figure = None
    if skeleton is not None:
        guessed = "auto" if Path(skeleton).suffix.lower() == ".bvh" else None
        of_skeleton = options.unit if Path(skeleton).suffix.lower() in (".asf", ".bvh") else None
        with warnings_noted(notes, path):
            figure = load_skeleton(skeleton, of_skeleton or guessed, strict=options.strict)
    with warnings_noted(notes, path):
        motion = load_motion(
            path,
            figure,
            length_unit=unit,
            rate=options.rate,
            positions=options.positions,
            animation=options.animation,
            strict=options.strict,
        )
    return Reading(motion, motion.up_axis, skeleton, _said(notes, motion.notes))


def beside(path: str) -> str:
    """Return the ASF file that belongs to an AMC file: of its name, or the only one there is."""
    found = sorted(p for p in Path(path).parent.glob("*") if p.suffix.lower() == ".asf")
    same = [p for p in found if p.stem == Path(path).stem]
    if len(same) == 1 or len(found) == 1:
        return str((same or found)[0])
    if not Path(path).is_file():
        read_bytes(path)  # says why not
    count = f"there are {len(found)}" if len(found) > 1 else "there is none"
    raise FileError(path, f"holds no skeleton; give skeleton, or one .asf file beside it ({count})")


def _up_axis(path: str, suffix: str) -> str | None:
    """Return the up axis of a file that is read as a skeleton, which does not keep it."""
    if suffix == ".npz":
        from exactik.io.native import read_npz_up_axis

        return read_npz_up_axis(path, Notes(path))
    if suffix not in (".glb", ".gltf"):
        return _UP_OF_SKELETONS.get(suffix)
    from exactik.io.gltf import read_gltf_up_axis

    return read_gltf_up_axis(path, Notes(path))


def up_of_skeleton(path: str) -> str | None:
    """Return which axis is up for the skeleton in a file: what it says, else the custom."""
    suffix = Path(path).suffix.lower()
    return "y" if suffix == ".bvh" else _up_axis(path, suffix)


def _said(notes: list[str], others: tuple[str, ...] = ()) -> tuple[str, ...]:
    return tuple(map(_renamed, dict.fromkeys([*notes, *others])))


def _renamed(text: str) -> str:
    """Return what a reader says in the words of `convert`, whose length_unit is another one."""
    text = re.sub(r"give ((?:the |a lower )?)rate\b", r"give \1input_rate", text)
    return text.replace("length_unit", "input_unit")
