"""What can be told about a file: plain data, ready for JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from exactik.errors import Note
from exactik.io._units import LENGTH_UNITS
from exactik.model import Skeleton
from exactik.model.motion import FrozenMarker, Swap
from exactik.typing import Array

Range = tuple[float, float]

# What files of a format never say, or what was left out by choice, is no oddity of one file.
USUAL_CODES = {"unit-guessed", "rate-not-stated", "animations-not-read"}

_UNIT_NAMES = {metres: name for name, metres in LENGTH_UNITS.items()}
_UNIT_NAMES[0.0254 / 0.45] = "1/0.45 in"


@dataclass(frozen=True)
class DofFacts:
    """A degree of freedom."""

    name: str  # without the bone, such as "rx"
    unit: str  # "rad" or "m"
    lower: float | None  # limit in that unit, None where there is none
    upper: float | None  # likewise

    @property
    def is_limited(self) -> bool:
        """Whether it has a limit on any side."""
        return self.lower is not None or self.upper is not None


@dataclass(frozen=True)
class BoneFacts:
    """A bone."""

    name: str  # of the bone
    parent: str | None  # name of its parent, None for a root
    joint: str  # in words
    dofs: tuple[DofFacts, ...]  # of the joint, without those that follow others
    # Dof that follows another, without the bone → that other, empty if it is held
    follows: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SkeletonFacts:
    """A skeleton."""

    name: str  # what the file calls it
    bones: tuple[BoneFacts, ...]  # parents before children
    dofs: int  # their number
    limited: int  # how many of them have limits
    coupled: int  # how many follow another one, as a robot's mimic joints do
    loops: int  # how many closed loops hold bones together
    size: tuple[float, float, float]  # extent of the neutral pose along x, y and z [m]


@dataclass(frozen=True)
class MarkerFacts:
    """A marker: how many frames it is missing in, and which, as pairs (first, last) of numbers."""

    name: str
    missing: int
    gaps: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Facts:
    """What is in a file and what is odd about it. Frames are numbered as in the file."""

    path: str  # of the file, as it was given
    kind: str  # "markers", "motion", "skeleton" or "coordinates" (a motion without its skeleton)
    format: str  # such as "C3D"
    maker: str = ""  # company or program that wrote it, empty where the file does not say
    # Number of frames, None where there is no recording; so are the next three
    frames: int | None = None
    rate: float | None = None  # frames a second [Hz]
    duration: float | None = None  # frames divided by rate [s]
    first_frame: int | None = None  # number of the first frame in the file
    # Share of marker positions, or of frames of a motion, that are missing; 0 to 1
    missing: float = 0.0
    # First and last frame of the longest stretch in which every marker is seen that has a name and
    # is seen at all; None without such a frame
    complete: tuple[int, int] | None = None
    length_unit: str = ""  # of the file, such as "mm"; empty where nothing tells
    up_axis: str | None = None  # "x", "y" or "z" where the file says so
    # Axis along which the figure is much larger than along the others, if any
    tallest_axis: str | None = None
    # Lowest and highest coordinate along x, y and z [m]; empty without positions
    space: tuple[Range, ...] = ()
    markers: tuple[MarkerFacts, ...] = ()  # in the order of the file
    # Name of a point that is computed from markers → code that says how it is known
    computed: Mapping[str, str] = field(default_factory=dict)
    marker_set: str = ""  # title of the known set that the names are of, empty if none
    # Subject before the colon → how many markers or bones have it
    prefixes: Mapping[str, int] = field(default_factory=dict)
    # Kind of numbers that are no markers → how many series there are
    others: Mapping[str, int] = field(default_factory=dict)
    skeleton: SkeletonFacts | None = None  # the bones, None without any
    skeleton_path: str = ""  # the other file that the skeleton was read from
    columns: tuple[str, ...] = ()  # names of the columns of "coordinates"
    swaps: tuple[Swap, ...] = ()  # pairs of markers that seem to exchange places
    # Markers that stand still to the last digit while others move
    frozen: tuple[FrozenMarker, ...] = ()
    # What else is known, in words: subject → sentence
    details: Mapping[str, str] = field(default_factory=dict)
    # What files of this format never say, and what was taken instead. A note is a sentence, and a
    # `code` for programs.
    assumed: tuple[Note, ...] = ()
    oddities: tuple[Note, ...] = ()  # likewise what is odd about this file, what matters most first


def name_unit(metres: float) -> str:
    """Return the name of a length unit, or its millimetres."""
    return _UNIT_NAMES.get(metres, f"{1e3 * metres:g} mm")


def describe_skeleton(skeleton: Skeleton) -> SkeletonFacts:
    """Return bones, dofs and limits of a skeleton; not of dofs that follow others."""
    dofs_of: list[list[DofFacts]] = [[] for _ in skeleton.bones]
    for i, (name, k) in enumerate(zip(skeleton.dof_names, skeleton.dof_bones, strict=True)):
        pair = (skeleton.lower[i], skeleton.upper[i])
        low, high = (float(x) if np.isfinite(x) else None for x in pair)
        short = name.removeprefix(f"{skeleton.bones[k].name}.")
        unit = "rad" if skeleton.turns[i] else "m"
        dofs_of[k].append(DofFacts(name=short, unit=unit, lower=low, upper=high))
    drivers = {coupling.driven: coupling.driver or "" for coupling in skeleton.couplings}
    bones = [
        BoneFacts(
            name=bone.name,
            parent=bone.parent,
            joint=str(bone.joint),
            dofs=tuple(dofs),
            follows={
                dof: drivers[f"{bone.name}.{dof}"]
                for dof in bone.joint.dof_names
                if f"{bone.name}.{dof}" in drivers
            },
        )
        for bone, dofs in zip(skeleton.bones, dofs_of, strict=True)
    ]
    limited = sum(dof.is_limited for bone in bones for dof in bone.dofs)
    places = skeleton.forward(skeleton.neutral()).positions
    x, y, z = (places.max(axis=0) - places.min(axis=0)).tolist()
    return SkeletonFacts(
        name=skeleton.name,
        bones=tuple(bones),
        dofs=skeleton.nv,
        limited=limited,
        coupled=len(skeleton.couplings),
        loops=len(skeleton.loops),
        size=(x, y, z),
    )


def measure_space(positions: Array) -> tuple[tuple[Range, ...], str | None]:
    """Return the ranges along x, y and z [m] and the axis along which the figure is tall, if any.

    A standing figure is taller than wide and deep: places of its points about their middle differ
    most upwards, whichever way it walks.

    Args:
        positions: points over time [m], (T, n, 3); NaN where missing.
    """
    seen = np.asarray(np.isfinite(positions).all(axis=2))
    if not seen.any():
        return (), None
    points = positions[seen]
    low, high = points.min(axis=0).tolist(), points.max(axis=0).tolist()
    space = tuple(zip(low, high, strict=True))
    counts = seen.sum(axis=1)
    frames = np.flatnonzero(counts == counts.max())
    present = np.flatnonzero(seen[frames].all(axis=0))
    whole = positions[frames][:, present]
    if whole.shape[1] < 3:
        return space, None
    with np.errstate(over="ignore", invalid="ignore"):  # places at 1e154 m and beyond
        spread = (whole - whole.mean(axis=1, keepdims=True)).mean(axis=0).std(axis=0)
    order = np.argsort(spread)
    tall = spread[order[2]] > 2.0 * spread[order[1]] and spread[order[2]] > 0.1
    return space, "xyz"[order[2]] if tall else None


def split_notes(notes: Iterable[str]) -> tuple[tuple[Note, ...], tuple[Note, ...]]:
    """Return what is assumed as for every such file, and what is odd; each once, as sentences."""
    sentences = [Note.of(note).as_sentence() for note in dict.fromkeys(notes)]
    return (
        tuple(note for note in sentences if note.code in USUAL_CODES),
        tuple(note for note in sentences if note.code not in USUAL_CODES),
    )


def remark(code: str, text: str) -> Note:
    """Return an oddity, which is a whole sentence."""
    return Note(code, "remark", "", text)


def format_length(metres: float) -> str:
    """Return "12 mm" or "1.5 m"."""
    return f"{1e3 * metres:.0f} mm" if metres < 0.995 else f"{metres:.1f} m"
