"""The file formats, one record each: names, suffixes, readers, writers, conventions.

Everything that depends on the kind of a file asks here: `load_*`, `save_*`, `inspect_file`,
`convert`, the command line, messages that list suffixes, and the table in docs/formats.md. A new
format is one module with its reader or writer, and one `Format` in `FORMATS`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from exactik.errors import FileError

__all__ = [
    "AMC",
    "ASF",
    "BVH",
    "C3D",
    "CSV",
    "FORMATS",
    "GLB",
    "GLTF",
    "MJCF",
    "MOT",
    "NPZ",
    "STO",
    "TRC",
    "TSV",
    "URDF",
    "Content",
    "Format",
    "Writer",
    "find_format",
    "readable_formats",
    "readable_suffixes",
    "reader_of",
    "resolve",
    "suffix_of",
    "writable_formats",
    "writable_suffixes",
    "writer_of",
]

# What a file can hold. A file of several formats may hold one or the other; the order is that in
# which a conversion chooses: a motion has a skeleton, and its skeleton may have markers.
Content = Literal["motion", "markers", "skeleton"]
CONTENTS: tuple[Content, ...] = ("motion", "markers", "skeleton")
PLURALS: Mapping[Content, str] = {
    "motion": "motions",
    "markers": "markers",
    "skeleton": "skeletons",
}

PathLike = str | os.PathLike[str]


class Writer(NamedTuple):
    """A function that writes `function(thing, path, **options)`.

    Attributes:
        reference: "module:function"; imported when it is needed.
        options: those of "length_unit", "up_axis" and "markers" that it takes.
    """

    reference: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Format:
    """A kind of file.

    References are "module:function", imported when they are needed.

    Attributes:
        name: for sentences, such as "BVH".
        suffixes: in lower case with the dot, the customary one first.
        readers: content → reader. `function(path, notes, **options)`; options of a skeleton:
            length_unit, floating; of a motion: skeleton, length_unit, rate, positions, and
            animation where one is given; of markers: length_unit, rate, zeros_are_missing. A reader
            takes `**_` for those that mean nothing to it.
        writers: content → writer.
        content_of: reference to `function(path, notes) -> Content`, where files differ in that.
        up_axis: "x", "y" or "z" that is up in files that do not say otherwise; None without custom.
        up_axis_is_fixed: whether that is a rule of the format, not merely a custom.
        states_up_axis: contents of which the writer keeps the up axis.
        up_axis_of: reference to `function(path, notes) -> str | None`, for skeletons of formats
            whose files say it.
        length_unit: of lengths in the file, by rule or by custom; None if it has to be given or
            guessed, because files never say.
        written_unit: of files that do not state it, unless another is asked for.
        unit_of: reference to `function(skeleton) -> unit`, the unit that a skeleton came in.
        states_rate: whether other programs find the rate in it.
        needs_skeleton: whether a motion in it is of no use without the file of a skeleton.
        companion: suffix of the file with the skeleton that lies beside such a motion.
        has_couplings: whether dofs of its skeletons may follow others, see `load_couplings`.
        keeps: what survives writing (or reading, if it cannot be written); for the documentation.
        loses: what does not.
        assumes: what reading takes for granted.
    """

    name: str
    suffixes: tuple[str, ...]
    readers: Mapping[Content, str] = field(default_factory=dict)
    writers: Mapping[Content, Writer] = field(default_factory=dict)
    content_of: str = ""
    up_axis: str | None = None
    up_axis_is_fixed: bool = False
    states_up_axis: tuple[Content, ...] = ()
    up_axis_of: str = ""
    length_unit: str | None = "m"
    written_unit: str = "m"
    unit_of: str = ""
    states_rate: bool = True
    needs_skeleton: bool = False
    companion: str = ""
    has_couplings: bool = False
    keeps: str = ""
    loses: str = "–"
    assumes: str = "–"

    @property
    def suffix(self) -> str:
        """The customary suffix."""
        return self.suffixes[0]

    @property
    def contents(self) -> tuple[Content, ...]:
        """What it can hold."""
        return tuple(c for c in CONTENTS if c in self.readers or c in self.writers)


# --- markers

C3D = Format(
    name="C3D",
    suffixes=(".c3d",),
    readers={"markers": "exactik.io.c3d._read:read_c3d"},
    writers={"markers": Writer("exactik.io.c3d._write:write_c3d", ("length_unit",))},
    up_axis="z",
    states_up_axis=("markers",),
    length_unit="mm",
    keeps="positions, gaps, names, rate, up axis, frame numbers, other series",
    loses="events, subjects, residuals; analog channels are not read at all; 24 bits a number",
    assumes="zeros are missing; mm if no unit is stated, m if all is within 20",
)
TRC = Format(
    name="TRC",
    suffixes=(".trc",),
    readers={"markers": "exactik.io.tables._trc:read_trc"},
    writers={"markers": Writer("exactik.io.tables._trc:write_trc", ("length_unit",))},
    length_unit="mm",
    keeps="positions to nine digits, gaps, names, rate, frame numbers",
    loses="other series, up axis; tabs in names",
    assumes="zeros and empty cells are missing; mm if no unit is stated",
)
TSV = Format(
    name="Qualisys TSV",
    suffixes=(".tsv",),
    readers={"markers": "exactik.io.tables._tsv:read_tsv"},
    up_axis="z",
    length_unit="mm",
    keeps="positions, gaps, names, rate",
    assumes="mm; zeros are missing",
)

# --- robots: x forward and z up; MuJoCo's gravity is along −z

URDF = Format(
    name="URDF",
    suffixes=(".urdf",),
    readers={"skeleton": "exactik.io.robots:read_robot_skeleton"},
    up_axis="z",
    up_axis_is_fixed=True,
    has_couplings=True,
    keeps="links, joints, limits; couplings by `load_couplings`",
    assumes="metres, z up; the root is fixed unless `floating=True`",
)
MJCF = Format(
    name="MJCF",
    suffixes=(".xml", ".mjcf"),
    readers={"skeleton": "exactik.io.robots:read_robot_skeleton"},
    up_axis="z",
    up_axis_is_fixed=True,
    has_couplings=True,
    keeps="bodies, joints, limits, defaults, includes; equalities of joints as couplings",
    assumes="as for URDF",
)

# --- figures and motions

ASF = Format(
    name="ASF",
    suffixes=(".asf",),
    readers={"skeleton": "exactik.io.acclaim._asf:read_asf"},
    writers={"skeleton": Writer("exactik.io.acclaim._asf_write:write_asf", ("length_unit",))},
    up_axis="y",
    up_axis_is_fixed=True,
    length_unit="1/0.45 in",
    unit_of="exactik.io.acclaim._asf_write:asf_unit",
    keeps="bones, joints with up to three turns and shifts, limits, names",
    loses="markers; balls become three turns without limits; bones that start elsewhere than their "
    "parents end need helpers `…_base`",
    assumes="`length s` means 1/s inch; y up",
)
AMC = Format(
    name="AMC",
    suffixes=(".amc",),
    readers={"motion": "exactik.io.acclaim._amc:read_amc"},
    writers={"motion": Writer("exactik.io.acclaim._amc_write:write_amc", ("length_unit",))},
    up_axis="y",
    up_axis_is_fixed=True,
    length_unit="1/0.45 in",
    unit_of="exactik.io.acclaim._asf_write:asf_unit",
    states_rate=False,
    needs_skeleton=True,
    companion=ASF.suffix,
    keeps="coordinates, frame numbers, gaps between frames",
    loses="the rate, for other programs; gaps at the ends",
    assumes="120 Hz",
)
BVH = Format(
    name="BVH",
    suffixes=(".bvh",),
    readers={
        "motion": "exactik.io.bvh._read:read_bvh",
        "skeleton": "exactik.io.bvh._read:read_bvh_skeleton",
    },
    writers={
        "motion": Writer("exactik.io.bvh._write:write_bvh", ("length_unit",)),
        "skeleton": Writer("exactik.io.bvh._write:write_bvh_skeleton", ("length_unit",)),
    },
    content_of="exactik.io.bvh._read:content_of_bvh",
    up_axis="y",
    length_unit=None,
    written_unit="cm",
    keeps="bones, names, rest pose, rate; Euler joints as they are",
    loses="unit, up axis, limits, markers, frame numbers; other joints become Euler angles; a "
    "motion with gaps is refused",
    assumes='nothing: the unit must be given, or guessed with `"auto"`; positions replace offsets',
)
GLB = Format(
    name="GLB",
    suffixes=(".glb",),
    readers={
        "motion": "exactik.io.gltf._read:read_gltf_motion",
        "skeleton": "exactik.io.gltf._read:read_gltf_skeleton",
    },
    writers={
        "motion": Writer("exactik.io.gltf._write:write_glb", ("markers", "up_axis")),
        "skeleton": Writer("exactik.io.gltf._write:write_glb_skeleton", ("markers", "up_axis")),
    },
    content_of="exactik.io.gltf._read:content_of_gltf",
    up_axis="y",
    states_up_axis=("motion", "skeleton"),
    up_axis_of="exactik.io.gltf._read:up_axis_of_gltf",
    keeps="bones, rest pose, names, gaps, up axis, markers if asked for; moves in any viewer",
    loses="limits; all joints become quaternions; single precision: 1e-7 of the size or the "
    "distance from the origin",
    assumes="metres, y up",
)
GLTF = Format(
    name="glTF",
    suffixes=(".gltf",),
    readers=GLB.readers,
    content_of=GLB.content_of,
    up_axis=GLB.up_axis,
    states_up_axis=GLB.states_up_axis,
    up_axis_of=GLB.up_axis_of,
    keeps="as GLB, which is the same in one file",
    assumes=GLB.assumes,
)
NPZ = Format(
    name="exactik NPZ",
    suffixes=(".npz",),
    readers={
        "motion": "exactik.io.native._npz:read_npz_motion",
        "markers": "exactik.io.native._npz:read_npz_markers",
        "skeleton": "exactik.io.native._npz:read_npz_skeleton",
    },
    writers={
        "motion": Writer("exactik.io.native._npz:write_npz_motion"),
        "markers": Writer("exactik.io.native._npz:write_npz_markers"),
        "skeleton": Writer("exactik.io.native._npz:write_npz_skeleton"),
    },
    content_of="exactik.io.native._npz:kind_of_npz",
    states_up_axis=("motion", "markers"),
    up_axis_of="exactik.io.native._npz:up_axis_of_npz",
    keeps="everything, to the last bit",
    loses="nothing",
)
MOT = Format(
    name="MOT",
    suffixes=(".mot",),
    readers={"motion": "exactik.io.tables._mot:read_mot_motion"},
    writers={"motion": Writer("exactik.io.tables._mot:write_mot")},
    needs_skeleton=True,
    keeps="coordinates, gaps, times",
    loses="the skeleton, frame numbers, up axis; quaternions are refused",
    assumes="degrees, if the header does not say; columns are named `bone.dof`",
)
STO = Format(
    name="STO",
    suffixes=(".sto",),
    readers=MOT.readers,
    needs_skeleton=True,
    keeps=MOT.keeps,
    assumes="as for MOT",
)
CSV = Format(
    name="CSV",
    suffixes=(".csv",),
    writers={
        "motion": Writer("exactik.io.tables._csv:write_csv_motion"),
        "markers": Writer("exactik.io.tables._csv:write_csv_markers", ("length_unit",)),
    },
    needs_skeleton=True,
    keeps="all digits",
    loses="everything else: it is for other programs",
)

FORMATS = (C3D, TRC, TSV, URDF, MJCF, ASF, AMC, BVH, GLB, GLTF, NPZ, MOT, STO, CSV)

_BY_SUFFIX: Mapping[str, Format] = MappingProxyType(
    {suffix: form for form in FORMATS for suffix in form.suffixes}
)


def suffix_of(path: PathLike) -> str:
    """Return the suffix of a path in lower case, with its dot; empty if it has none."""
    return Path(path).suffix.lower()


def find_format(path: PathLike) -> Format | None:
    """Return the format of a file by its suffix; None if no format has it."""
    return _BY_SUFFIX.get(suffix_of(path))


def readable_formats(content: Content | None = None) -> tuple[Format, ...]:
    """Return the formats from which a kind of content, or anything, can be read."""
    return tuple(f for f in FORMATS if (content in f.readers if content else len(f.readers) > 0))


def writable_formats(content: Content | None = None) -> tuple[Format, ...]:
    """Return the formats as which a kind of content, or anything, can be written."""
    return tuple(f for f in FORMATS if (content in f.writers if content else len(f.writers) > 0))


def readable_suffixes(content: Content | None = None) -> tuple[str, ...]:
    """Return the suffixes of files from which a kind of content, or anything, can be read."""
    return tuple(suffix for form in readable_formats(content) for suffix in form.suffixes)


def writable_suffixes(content: Content | None = None) -> tuple[str, ...]:
    """Return the suffixes of files as which a kind of content, or anything, can be written."""
    return tuple(suffix for form in writable_formats(content) for suffix in form.suffixes)


def reader_of(path: PathLike, content: Content) -> Callable[..., Any]:
    """Return the function that reads a kind of content from this file."""
    form = find_format(path)
    if form is None or content not in form.readers:
        raise _no_function(path, f"reader of {PLURALS[content]}", readable_suffixes(content))
    return resolve(form.readers[content])


def writer_of(path: PathLike, content: Content) -> Callable[..., Any]:
    """Return the function that writes a kind of content to this file."""
    form = find_format(path)
    if form is None or content not in form.writers:
        raise _no_function(path, f"writer of {PLURALS[content]}", writable_suffixes(content))
    return resolve(form.writers[content].reference)


def resolve(reference: str) -> Callable[..., Any]:
    """Return the function that "module:function" names."""
    module, _, function = reference.partition(":")
    return getattr(import_module(module), function)


def _no_function(path: PathLike, what: str, suffixes: tuple[str, ...]) -> FileError:
    found = suffix_of(path) or "names without suffix"
    return FileError(
        path, f"no {what} for {found}; expected one of {' '.join(suffixes)}", code="unknown-suffix"
    )
