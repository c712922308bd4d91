"""The file formats, one record each: names, suffixes, readers, writers, conventions.

Everything that depends on the kind of a file asks here: `load_*`, `save_*`, `inspect_file`,
`convert`, the command line, and messages that list suffixes. A new format is one module with its
reader or writer, one `Format` in `FORMATS`, and a row of the table in docs/formats.md.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from exactik.errors import FileError
from exactik.io._format import CONTENTS, PLURALS, Content, Format, Function
from exactik.io._notes import Notes

PathLike = str | os.PathLike[str]


def _of(package: str, **names: str) -> dict[Content, Function]:
    """Return the functions of a package of `exactik.io` for each content."""
    return {
        content: Function(f"exactik.io.{package}:{names[content]}")
        for content in CONTENTS
        if content in names
    }


# --- markers

C3D = Format(
    name="C3D",
    suffixes=(".c3d",),
    readers=_of("c3d", markers="read_c3d"),
    writers=_of("c3d", markers="write_c3d"),
    up_axis="z",
    states_up_axis=("markers",),
    length_unit="mm",
)
TRC = Format(
    name="TRC",
    suffixes=(".trc",),
    readers=_of("tables", markers="read_trc"),
    writers=_of("tables", markers="write_trc"),
    length_unit="mm",
)
TSV = Format(
    name="TSV",
    maker="Qualisys",
    suffixes=(".tsv",),
    readers=_of("tables", markers="read_tsv"),
    up_axis="z",
    length_unit="mm",
)

# --- robots: x forward and z up; MuJoCo's gravity is along −z

URDF = Format(
    name="URDF",
    suffixes=(".urdf",),
    readers=_of("robots", skeleton="read_robot_skeleton"),
    writers=_of("robots.writing", skeleton="write_urdf"),
    losses_of=Function("exactik.io.robots.writing:find_robot_losses"),
    up_axis="z",
    up_axis_is_fixed=True,
)
MJCF = Format(
    name="MJCF",
    suffixes=(".xml", ".mjcf"),
    readers=_of("robots", skeleton="read_robot_skeleton"),
    writers=_of("robots.writing", skeleton="write_mjcf"),
    losses_of=Function("exactik.io.robots.writing:find_robot_losses"),
    up_axis="z",
    up_axis_is_fixed=True,
)

# --- people: y up, since OpenSim's gravity is along −y unless a model says otherwise

OSIM = Format(
    name="OSIM",
    maker="OpenSim",
    suffixes=(".osim",),
    readers=_of("opensim", skeleton="read_opensim_skeleton"),
    details_of=Function("exactik.io.opensim:describe_opensim_model"),
    up_axis="y",
)

# --- figures and motions

ASF = Format(
    name="ASF",
    suffixes=(".asf",),
    readers=_of("acclaim", skeleton="read_asf"),
    writers=_of("acclaim", skeleton="write_asf"),
    up_axis="y",
    up_axis_is_fixed=True,
    length_unit="1/0.45 in",
    unit_of=Function("exactik.io.acclaim:choose_asf_unit"),
)
AMC = Format(
    name="AMC",
    suffixes=(".amc",),
    readers=_of("acclaim", motion="read_amc"),
    writers=_of("acclaim", motion="write_amc"),
    up_axis="y",
    up_axis_is_fixed=True,
    length_unit="1/0.45 in",
    unit_of=Function("exactik.io.acclaim:choose_asf_unit"),
    states_rate=False,
    needs_skeleton=True,
    companion=ASF.suffix,
    read_outline=Function("exactik.io.acclaim:outline_amc"),
)
BVH = Format(
    name="BVH",
    suffixes=(".bvh",),
    readers=_of("bvh", motion="read_bvh", skeleton="read_bvh_skeleton"),
    writers=_of("bvh", motion="write_bvh", skeleton="write_bvh_skeleton"),
    content_of=Function("exactik.io.bvh:read_bvh_content"),
    up_axis="y",
    length_unit=None,
    written_unit="cm",
)
GLB = Format(
    name="GLB",
    suffixes=(".glb",),
    readers={
        "motion": Function("exactik.io.gltf:read_gltf_motion", ("read",)),
        "skeleton": Function("exactik.io.gltf:read_gltf_skeleton", ("read",)),
    },
    writers=_of("gltf", motion="write_glb", skeleton="write_glb_skeleton"),
    content_of=Function("exactik.io.gltf:read_gltf_content"),
    up_axis="y",
    states_up_axis=("motion", "skeleton"),
    up_axis_of=Function("exactik.io.gltf:read_gltf_up_axis"),
)
GLTF = replace(GLB, name="glTF", suffixes=(".gltf",), writers={})
FBX = Format(
    name="FBX",
    suffixes=(".fbx",),
    readers=_of("fbx", motion="read_fbx_motion", skeleton="read_fbx_skeleton"),
    content_of=Function("exactik.io.fbx:read_fbx_content"),
    up_axis="y",
    up_axis_of=Function("exactik.io.fbx:read_fbx_up_axis"),
)
NPZ = Format(
    name="NPZ",
    maker="exactik",
    suffixes=(".npz",),
    readers={
        **_of("smpl", motion="read_npz_motion"),
        **_of("native", markers="read_npz_markers", skeleton="read_npz_skeleton"),
    },
    writers={
        **_of("native", motion="write_npz_motion", markers="write_npz_markers"),
        "skeleton": Function("exactik.io.native:write_npz_skeleton", ("up_axis", "metadata")),
    },
    content_of=Function("exactik.io.smpl:read_npz_content"),
    states_up_axis=("motion", "markers"),
    up_axis_of=Function("exactik.io.smpl:read_npz_up_axis"),
)
MOT = Format(
    name="MOT",
    suffixes=(".mot",),
    readers=_of("tables", motion="read_mot_motion"),
    writers={"motion": Function("exactik.io.tables:write_mot", ("in_degrees",))},
    needs_skeleton=True,
    read_outline=Function("exactik.io.tables:outline_mot"),
)
STO = replace(MOT, name="STO", suffixes=(".sto",), writers={})
CSV = Format(
    name="CSV",
    suffixes=(".csv",),
    writers=_of("tables", motion="write_csv_motion", markers="write_csv_markers"),
    needs_skeleton=True,
)

# --- what trainers of robots read, z up; the suffix tells whose .npz, .csv or .pkl it is


TRAINERS = tuple(
    Format(
        name=suffix.rpartition(".")[2].upper(),
        maker=maker,
        suffixes=(suffix,),
        writers=_of("trainers", motion=writer),
        up_axis="z",
        up_axis_is_fixed=True,
        needs_skeleton=True,
    )
    for maker, suffix, writer in (
        ("Unitree", ".unitree.csv", "write_unitree_csv"),
        ("BeyondMimic", ".beyondmimic.npz", "write_beyondmimic"),
        ("mjlab", ".mjlab.npz", "write_mjlab"),
        ("GMR", ".gmr.pkl", "write_gmr"),
        ("MimicKit", ".mimickit.pkl", "write_mimickit"),
        ("ProtoMotions", ".motion", "write_protomotions"),
    )
)
FORMATS = (
    C3D,
    TRC,
    TSV,
    URDF,
    MJCF,
    OSIM,
    ASF,
    AMC,
    BVH,
    GLB,
    GLTF,
    FBX,
    NPZ,
    MOT,
    STO,
    CSV,
    *TRAINERS,
)

_BY_SUFFIX: Mapping[str, Format] = MappingProxyType(
    {suffix: form for form in FORMATS for suffix in form.suffixes}
)


def suffix_of(path: PathLike) -> str:
    """Return the suffix of a path in lower case, with its dot; empty if it has none.

    Two together where a format has two: ".mjlab.npz".
    """
    both = "".join(Path(path).suffixes[-2:]).lower()
    return both if both in _BY_SUFFIX else Path(path).suffix.lower()


def with_suffix(path: PathLike, suffix: str) -> Path:
    """Return a path with another suffix in place of all of its own."""
    path = Path(path)
    return path.with_name(path.name[: len(path.name) - len(suffix_of(path))] + suffix)


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


def find_content(path: PathLike) -> Content:
    """Return what is in a file that can be read."""
    form = readable_format_of(path)
    if form.content_of is not None:
        return form.content_of.resolve()(os.fspath(path), Notes(os.fspath(path)))
    return next(iter(form.readers))


_WAYS_FROM_OTHER_FORMATS = {
    ".blend": "Blender exports .glb",
    ".usd": "Blender opens it and exports .glb",
    ".usdz": "Blender opens it and exports .glb",
    ".vrm": "it is a .glb by another name",
    ".pkl": "a pickle runs code when it is opened, so it is not",
    ".pickle": "a pickle runs code when it is opened, so it is not",
    ".xacro": "`xacro robot.xacro > robot.urdf` makes a URDF of it",
    CSV.suffix: "tables are for other programs: -o take.npz or -o take.glb keeps the motion",
}
"""What to do with files that people have and nothing here reads."""


def _unknown_suffix(path: PathLike, what: str, suffixes: Sequence[str]) -> FileError:
    suffix, known = suffix_of(path), " ".join(suffixes)
    way = _WAYS_FROM_OTHER_FORMATS.get(suffix, "") if what.startswith("reader") else ""
    form = find_format(path)
    if form is not None and len(form.readers) > 0 and what.startswith("reader"):
        way = f"{suffix} holds {' and '.join(PLURALS[content] for content in form.readers)}"
    text = f"no {what} for {suffix or 'names without suffix'}; expected one of {known}"
    return FileError(path, text if way == "" else f"{text} ({way})", code="unknown-suffix")
