"""The file formats, one record each: names, suffixes, readers, writers, conventions.

Everything that depends on the kind of a file asks here: `load_*`, `save_*`, `inspect_file`,
`convert`, the command line, messages that list suffixes, and the table in docs/formats.md. A new
format is one module with its reader or writer, and one `Format` in `FORMATS`.
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
    keeps="positions, gaps, names, rate, up axis, frame numbers, other series, analog channels, "
    "force plates of types 1 to 4, which are written as type 2",
    loses="events, subjects, residuals; 24 bits a number",
    assumes="zeros are missing; mm if no unit is stated, m if all is within 20",
)
TRC = Format(
    name="TRC",
    suffixes=(".trc",),
    readers=_of("tables", markers="read_trc"),
    writers=_of("tables", markers="write_trc"),
    length_unit="mm",
    keeps="positions to nine digits, gaps, names, rate, frame numbers",
    loses="other series, up axis; tabs in names",
    assumes="zeros and empty cells are missing; mm if no unit is stated",
)
TSV = Format(
    name="TSV",
    maker="Qualisys",
    suffixes=(".tsv",),
    readers=_of("tables", markers="read_tsv"),
    up_axis="z",
    length_unit="mm",
    keeps="positions, gaps, names, rate",
    assumes="mm; zeros are missing",
)

# --- robots: x forward and z up; MuJoCo's gravity is along −z

URDF = Format(
    name="URDF",
    suffixes=(".urdf",),
    readers=_of("robots", skeleton="read_robot_skeleton"),
    writers=_of("robots.writing", skeleton="write_urdf"),
    losses_of=Function("exactik.io.robots.writing:find_urdf_losses"),
    up_axis="z",
    up_axis_is_fixed=True,
    keeps="links, joints, limits, masses, mimic joints as couplings",
    loses="names that joints had; joints of several dofs become several, balls three hinges, "
    "markers links; curves that drive joints become lines; shapes and loops are not written",
    assumes="metres, z up; the root is fixed unless `floating=True`",
)
MJCF = Format(
    name="MJCF",
    suffixes=(".xml", ".mjcf"),
    readers=_of("robots", skeleton="read_robot_skeleton"),
    up_axis="z",
    up_axis_is_fixed=True,
    keeps="bodies, joints, limits, defaults, includes; equalities of joints as couplings, "
    "connect and weld as closed loops",
    assumes="metres, z up; the root floats if the file has a free joint",
)

# --- people: y up, since OpenSim's gravity is along −y unless a model says otherwise

OSIM = Format(
    name="OSIM",
    maker="OpenSim",
    suffixes=(".osim",),
    readers=_of("opensim", skeleton="read_opensim_skeleton"),
    details_of=Function("exactik.io.opensim:describe_opensim_model"),
    up_axis="y",
    keeps="bodies, joints, coordinates, clamped ranges, locks, coordinate couplers, "
    "constraints of points, lines, distances and welds as closed loops, markers",
    assumes="metres, y up; ranges that are not clamped are no limits",
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
    keeps="bones, joints with up to three turns and shifts, limits, names",
    loses="markers; balls become three turns without limits; bones that start elsewhere than their "
    "parents end need helpers `…_base`",
    assumes="`length s` means 1/s inch; y up",
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
    keeps="coordinates, frame numbers, gaps between frames",
    loses="the rate, for other programs; gaps at the ends",
    assumes="120 Hz",
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
    keeps="bones, names, rest pose, rate; Euler joints as they are",
    loses="unit, up axis, limits, markers, frame numbers; other joints become Euler angles; a "
    "motion with gaps is refused",
    assumes='nothing: the unit must be given, or guessed with `"auto"`; positions replace offsets',
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
    keeps="bones, rest pose, names, gaps, up axis, meshes, skins, materials, textures, markers if "
    "asked for; moves in any viewer",
    loses="limits; all joints become quaternions; single precision: 1e-7 of the size or the "
    "distance from the origin",
    assumes="metres, y up",
)
GLTF = replace(
    GLB,
    name="glTF",
    suffixes=(".gltf",),
    writers={},
    keeps="as GLB, which is the same in one file",
    loses="–",
)
FBX = Format(
    name="FBX",
    suffixes=(".fbx",),
    readers=_of("fbx", motion="read_fbx_motion", skeleton="read_fbx_skeleton"),
    content_of=Function("exactik.io.fbx:read_fbx_content"),
    up_axis="y",
    up_axis_of=Function("exactik.io.fbx:read_fbx_up_axis"),
    keeps="bones, rest pose, names, unit, up axis, baked curves, meshes, skins, colours; no "
    "textures, constraints or morph targets",
    assumes="binary, 7.0 or later; the lowest of several layers; keys that are no frames are "
    "sampled at the file's rate",
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
    keeps="everything, to the last bit",
    loses="meshes and skins, but for those of the built-in figures",
    assumes="motions of AMASS, SMPL, SMPL-H and SMPL-X are read too",
)
MOT = Format(
    name="MOT",
    suffixes=(".mot",),
    readers=_of("tables", motion="read_mot_motion"),
    writers={"motion": Function("exactik.io.tables:write_mot", ("in_degrees",))},
    needs_skeleton=True,
    read_outline=Function("exactik.io.tables:outline_mot"),
    keeps="joint angles, coordinates, gaps, times",
    loses="the skeleton, frame numbers, up axis; quaternions are refused",
    assumes="degrees, if the header does not say; columns are named `bone.dof`, or as OpenSim's "
    "coordinates",
)
STO = replace(
    MOT,
    name="STO",
    suffixes=(".sto",),
    writers={},
    keeps="coordinates, gaps, times",
    loses="–",
    assumes="as for MOT",
)
CSV = Format(
    name="CSV",
    suffixes=(".csv",),
    writers=_of("tables", motion="write_csv_motion", markers="write_csv_markers"),
    needs_skeleton=True,
    keeps="joint angles, coordinates, all digits",
    loses="everything else: it is for other programs",
)

# --- what trainers of robots read, z up; the suffix tells whose .npz, .csv or .pkl it is


def _of_trainer(maker: str, suffix: str, writer: str, *, keeps: str, loses: str) -> Format:
    return Format(
        name=suffix.rpartition(".")[2].upper(),
        maker=maker,
        suffixes=(suffix,),
        writers=_of("trainers", motion=writer),
        up_axis="z",
        up_axis_is_fixed=True,
        needs_skeleton=True,
        keeps=keeps,
        loses=loses,
    )


_UNITS = "metres, radians, seconds in the world"
_LOST = "digits beyond single precision, limits, masses"
UNITREE = _of_trainer(
    "Unitree",
    ".unitree.csv",
    "write_unitree_csv",
    keeps="metres, radians; a row: root's place, quaternion **xyzw**, joints depth first; names "
    "in a first line with #",
    loses="rate, but for that line; bodies",
)
BEYONDMIMIC = _of_trainer(
    "BeyondMimic",
    ".beyondmimic.npz",
    "write_beyondmimic",
    keeps=f"{_UNITS}; joints and bodies **breadth first**, as Isaac Lab; **wxyz**; velocities of "
    "centres of mass; `joint_names`, `body_names`",
    loses=_LOST,
)
MJLAB = _of_trainer(
    "mjlab",
    ".mjlab.npz",
    "write_mjlab",
    keeps=f"{_UNITS}; joints and bodies depth first, as MuJoCo; **wxyz**; velocities of the "
    "bodies' frames; `joint_names`, `body_names`",
    loses=_LOST,
)
GMR = _of_trainer(
    "GMR",
    ".gmr.pkl",
    "write_gmr",
    keeps="metres, radians; joints and bodies depth first; root **xyzw** in the world, "
    "`local_body_pos` in the root's frame; `joint_names`, `link_body_list`",
    loses="limits, masses, rotations of bodies",
)
MIMICKIT = _of_trainer(
    "MimicKit",
    ".mimickit.pkl",
    "write_mimickit",
    keeps="metres, radians; frames: root's place, root's **rotation vector**, joints depth first, "
    "three hinges of a body as one rotation vector; `joint_names`, `body_names`",
    loses="limits, masses; robots with slides or bodies with two hinges are refused",
)
PROTOMOTIONS = _of_trainer(
    "ProtoMotions",
    ".motion",
    "write_protomotions",
    keeps=f"{_UNITS}; joints and bodies depth first, as MuJoCo; **xyzw**; velocities of the "
    "bodies' frames; `dof_names`, `body_names`",
    loses=f"{_LOST}, contacts",
)

TRAINERS = (UNITREE, BEYONDMIMIC, MJLAB, GMR, MIMICKIT, PROTOMOTIONS)
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


def describe_formats() -> str:
    """Return the formats as a table in Markdown, for the documentation."""
    head = "| format | read | write | kept | lost, when written | assumed, when read |"
    lines = [head, "|---|---|---|---|---|---|"]
    for form in FORMATS:
        holds = ", ".join(form.contents)
        read = "yes" if len(form.readers) > 0 else "no"
        write = "yes" if len(form.writers) > 0 else "no"
        beside = _BY_SUFFIX[form.companion].name if form.companion != "" else ""
        if read == "yes" and form.needs_skeleton:
            read = f"with its {beside}" if beside != "" else "with a skeleton"
        if write == "yes" and beside != "":
            write = f"yes, {beside} beside it"
        suffixes = " ".join(f"`{suffix}`" for suffix in form.suffixes)
        cells = (f"**{form.full_name}** {suffixes} {holds}", read, write, form.keeps, form.loses)
        lines.append(f"| {' | '.join((*cells, form.assumes))} |")
    return "\n".join(lines)
