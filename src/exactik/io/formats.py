"""The file formats, one record each: names, suffixes, readers, writers, conventions.

Everything that depends on the kind of a file asks here: `load_*`, `save_*`, `inspect_file`,
`convert`, the command line, messages that list suffixes, and the table in docs/formats.md. A new
format is one module with its reader or writer, and one `Format` in `FORMATS`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
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
    "Function",
    "Outline",
    "find_format",
    "readable_format_of",
    "readable_formats",
    "readable_suffixes",
    "reader_of",
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


class Function(NamedTuple):
    """A function of a format's module, imported when it is needed.

    Attributes:
        reference: "module:function".
        options: the keyword arguments that it takes, of those that its caller has to give.
    """

    reference: str
    options: tuple[str, ...] = ()

    def resolve(self) -> Callable[..., Any]:
        """Return the function."""
        module, _, name = self.reference.partition(":")
        return getattr(import_module(module), name)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function, with those of the options that it takes."""
        taken = {name: value for name, value in options.items() if name in self.options}
        return self.resolve()(*arguments, **taken)


@dataclass(frozen=True)
class Outline:
    """What a motion tells without its skeleton.

    Attributes:
        columns: names of what moves.
        frames: their number.
        first_frame: number of the first one.
        rate: [Hz], None if it is not known.
        missing: share of the numbers that are missing, 0 to 1.
        details: what else is known, in words: subject → sentence.
    """

    columns: tuple[str, ...]
    frames: int
    first_frame: int = 1
    rate: float | None = None
    missing: float = 0.0
    details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Format:
    """A kind of file.

    Attributes:
        name: for sentences, such as "BVH".
        suffixes: in lower case with the dot, the customary one first.
        readers: content → `function(path, notes, …)`. Options are, for a skeleton, length_unit and
            floating; for a motion skeleton, length_unit, rate, positions and animation; for markers
            length_unit, rate and zeros_are_missing.
        writers: content → `function(thing, path, …)`. Options are length_unit, up_axis and markers.
        maker: whose format it is, where the name alone could be anybody's.
        content_of: `function(path, notes) -> Content`, where files differ in what they hold.
        up_axis: "x", "y" or "z" that is up in files that do not say otherwise; None without custom.
        up_axis_is_fixed: whether that is a rule of the format, not merely a custom.
        states_up_axis: contents with which the writer keeps the up axis.
        up_axis_of: `function(path, notes) -> str | None`, where files say what is up for a
            skeleton. Nothing is then taken for granted.
        length_unit: of lengths in the file, by rule or by custom; None if it has to be given or
            guessed, because files never say.
        written_unit: in which a file without a stated unit is written, unless another is given.
        unit_of: `function(skeleton) -> unit`, the unit to write a skeleton in, where it depends on
            the file that it came from.
        states_rate: whether other programs find the rate in it.
        needs_skeleton: whether a motion in it is of no use without the file of a skeleton.
        companion: suffix of the file with the skeleton that lies beside such a motion.
        outline_of: `function(path, notes) -> Outline`, what such a motion tells all the same.
        has_couplings: whether dofs of its skeletons may follow others, see `load_couplings`.
        keeps: what survives writing (or reading, if it cannot be written); for the documentation.
        loses: what does not.
        assumes: what reading takes for granted.
    """

    name: str
    suffixes: tuple[str, ...]
    readers: Mapping[Content, Function] = field(default_factory=dict)
    writers: Mapping[Content, Function] = field(default_factory=dict)
    maker: str = ""
    content_of: Function | None = None
    up_axis: str | None = None
    up_axis_is_fixed: bool = False
    states_up_axis: tuple[Content, ...] = ()
    up_axis_of: Function | None = None
    length_unit: str | None = "m"
    written_unit: str = "m"
    unit_of: Function | None = None
    states_rate: bool = True
    needs_skeleton: bool = False
    companion: str = ""
    outline_of: Function | None = None
    has_couplings: bool = False
    keeps: str = ""
    loses: str = "–"
    assumes: str = "–"

    @property
    def full_name(self) -> str:
        """Name with the maker, such as "Qualisys TSV"."""
        return f"{self.maker} {self.name}" if self.maker != "" else self.name

    @property
    def suffix(self) -> str:
        """The customary suffix."""
        return self.suffixes[0]

    @property
    def contents(self) -> tuple[Content, ...]:
        """What it can hold."""
        return tuple(c for c in CONTENTS if c in self.readers or c in self.writers)

    @property
    def readable(self) -> tuple[Content, ...]:
        """What can be read from it."""
        return tuple(c for c in CONTENTS if c in self.readers)

    @property
    def writable(self) -> tuple[Content, ...]:
        """What can be written as it."""
        return tuple(c for c in CONTENTS if c in self.writers)


# --- markers

C3D = Format(
    name="C3D",
    suffixes=(".c3d",),
    readers={
        "markers": Function("exactik.io.c3d:read_c3d", ("length_unit", "rate", "zeros_are_missing"))
    },
    writers={"markers": Function("exactik.io.c3d:write_c3d", ("length_unit",))},
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
    readers={
        "markers": Function(
            "exactik.io.tables:read_trc", ("length_unit", "rate", "zeros_are_missing")
        )
    },
    writers={"markers": Function("exactik.io.tables:write_trc", ("length_unit",))},
    length_unit="mm",
    keeps="positions to nine digits, gaps, names, rate, frame numbers",
    loses="other series, up axis; tabs in names",
    assumes="zeros and empty cells are missing; mm if no unit is stated",
)
TSV = Format(
    name="TSV",
    maker="Qualisys",
    suffixes=(".tsv",),
    readers={
        "markers": Function(
            "exactik.io.tables:read_tsv", ("length_unit", "rate", "zeros_are_missing")
        )
    },
    up_axis="z",
    length_unit="mm",
    keeps="positions, gaps, names, rate",
    assumes="mm; zeros are missing",
)

# --- robots: x forward and z up; MuJoCo's gravity is along −z

URDF = Format(
    name="URDF",
    suffixes=(".urdf",),
    readers={
        "skeleton": Function("exactik.io.robots:read_robot_skeleton", ("length_unit", "floating"))
    },
    up_axis="z",
    up_axis_is_fixed=True,
    has_couplings=True,
    keeps="links, joints, limits; couplings by `load_couplings`",
    assumes="metres, z up; the root is fixed unless `floating=True`",
)
MJCF = Format(
    name="MJCF",
    suffixes=(".xml", ".mjcf"),
    readers={
        "skeleton": Function("exactik.io.robots:read_robot_skeleton", ("length_unit", "floating"))
    },
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
    readers={"skeleton": Function("exactik.io.acclaim:read_asf", ("length_unit",))},
    writers={"skeleton": Function("exactik.io.acclaim:write_asf", ("length_unit",))},
    up_axis="y",
    up_axis_is_fixed=True,
    length_unit="1/0.45 in",
    unit_of=Function("exactik.io.acclaim:choose_asf_unit"),
    keeps="bones, joints with up to three turns and shifts, limits, names",
    loses="markers; balls become three turns without limits; bones that start elsewhere than their "
    "parents end need helpers `…_base`",
    assumes="`length s` means 1/s inch; y up",
)
AMC = Format(
    name="AMC",
    suffixes=(".amc",),
    readers={
        "motion": Function("exactik.io.acclaim:read_amc", ("skeleton", "length_unit", "rate"))
    },
    writers={"motion": Function("exactik.io.acclaim:write_amc", ("length_unit",))},
    up_axis="y",
    up_axis_is_fixed=True,
    length_unit="1/0.45 in",
    unit_of=Function("exactik.io.acclaim:choose_asf_unit"),
    states_rate=False,
    needs_skeleton=True,
    companion=ASF.suffix,
    outline_of=Function("exactik.io.acclaim:outline_amc"),
    keeps="coordinates, frame numbers, gaps between frames",
    loses="the rate, for other programs; gaps at the ends",
    assumes="120 Hz",
)
BVH = Format(
    name="BVH",
    suffixes=(".bvh",),
    readers={
        "motion": Function(
            "exactik.io.bvh:read_bvh", ("skeleton", "length_unit", "rate", "positions")
        ),
        "skeleton": Function("exactik.io.bvh:read_bvh_skeleton", ("length_unit",)),
    },
    writers={
        "motion": Function("exactik.io.bvh:write_bvh", ("length_unit",)),
        "skeleton": Function("exactik.io.bvh:write_bvh_skeleton", ("length_unit",)),
    },
    content_of=Function("exactik.io.bvh:read_bvh_content"),
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
        "motion": Function(
            "exactik.io.gltf:read_gltf_motion", ("skeleton", "length_unit", "rate", "animation")
        ),
        "skeleton": Function("exactik.io.gltf:read_gltf_skeleton", ("length_unit",)),
    },
    writers={
        "motion": Function("exactik.io.gltf:write_glb", ("markers", "up_axis")),
        "skeleton": Function("exactik.io.gltf:write_glb_skeleton", ("markers", "up_axis")),
    },
    content_of=Function("exactik.io.gltf:read_gltf_content"),
    up_axis="y",
    states_up_axis=("motion", "skeleton"),
    up_axis_of=Function("exactik.io.gltf:read_gltf_up_axis"),
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
    name="NPZ",
    maker="exactik",
    suffixes=(".npz",),
    readers={
        "motion": Function("exactik.io.native:read_npz_motion", ("skeleton", "rate")),
        "markers": Function("exactik.io.native:read_npz_markers", ("rate",)),
        "skeleton": Function("exactik.io.native:read_npz_skeleton"),
    },
    writers={
        "motion": Function("exactik.io.native:write_npz_motion"),
        "markers": Function("exactik.io.native:write_npz_markers"),
        "skeleton": Function("exactik.io.native:write_npz_skeleton"),
    },
    content_of=Function("exactik.io.native:read_npz_content"),
    states_up_axis=("motion", "markers"),
    up_axis_of=Function("exactik.io.native:read_npz_up_axis"),
    keeps="everything, to the last bit",
    loses="nothing",
)
MOT = Format(
    name="MOT",
    suffixes=(".mot",),
    readers={"motion": Function("exactik.io.tables:read_mot_motion", ("skeleton", "rate"))},
    writers={"motion": Function("exactik.io.tables:write_mot")},
    needs_skeleton=True,
    outline_of=Function("exactik.io.tables:outline_mot"),
    keeps="coordinates, gaps, times",
    loses="the skeleton, frame numbers, up axis; quaternions are refused",
    assumes="degrees, if the header does not say; columns are named `bone.dof`",
)
STO = Format(
    name="STO",
    suffixes=(".sto",),
    readers=MOT.readers,
    needs_skeleton=True,
    outline_of=MOT.outline_of,
    keeps=MOT.keeps,
    assumes="as for MOT",
)
CSV = Format(
    name="CSV",
    suffixes=(".csv",),
    writers={
        "motion": Function("exactik.io.tables:write_csv_motion"),
        "markers": Function("exactik.io.tables:write_csv_markers", ("length_unit",)),
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


def reader_of(path: PathLike, content: Content) -> Function:
    """Return the function that reads a kind of content from this file."""
    form = find_format(path)
    if form is None or content not in form.readers:
        raise _unknown_suffix(path, f"reader of {PLURALS[content]}", readable_suffixes(content))
    return form.readers[content]


def writer_of(path: PathLike, content: Content) -> Function:
    """Return the function that writes a kind of content to this file."""
    form = find_format(path)
    if form is None or content not in form.writers:
        raise _unknown_suffix(path, f"writer of {PLURALS[content]}", writable_suffixes(content))
    return form.writers[content]


def readable_format_of(path: PathLike) -> Format:
    """Return the format of a file that can be read, whatever it holds."""
    form = find_format(path)
    if form is None or len(form.readers) == 0:
        raise _unknown_suffix(path, "reader", sorted(readable_suffixes()))
    return form


def _unknown_suffix(path: PathLike, what: str, suffixes: Sequence[str]) -> FileError:
    found, known = suffix_of(path) or "names without suffix", " ".join(suffixes)
    text = f"no {what} for {found}; expected one of {known}"
    return FileError(path, text, code="unknown-suffix")
