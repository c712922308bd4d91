"""The upper half of a BVH file: joints, their offsets and channels; and the skeleton they make.

How channels become a joint of ours, with V the position channels and o the OFFSET:

*   The rotation channels in the order listed are an Euler order, first letter outermost. They turn
    after all shifts, wherever in the list the positions stand.
*   A root with position channels has its place in the coordinates: bone offset 0, q = V, or o + V
    where positions add to the offset.
*   Any other joint with position channels keeps its OFFSET, and q is the way from there: V − o, or
    V where positions add. The skeleton at rest is then the one that the offsets draw, and it is the
    same for both readings.
*   An End Site is a bone without joint, "<parent>_end".
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exactik.errors import ExactikError, FileError
from exactik.io._notes import Notes
from exactik.io._text import parse_number
from exactik.model import Bone, Joint, Skeleton

__all__ = [
    "BvhJoint",
    "height",
    "read_hierarchy",
    "skeleton_of",
]


_WORD = re.compile(r"[{}]|[^\s{}]+")
_NAME = re.compile(r"[ \t]*([^\n{}]*)")
_CHANNEL = re.compile(r"([xyz])(position|rotation)", re.I)
_FREE, _LOCKED = (-math.inf, math.inf), (0.0, 0.0)


@dataclass
class BvhJoint:
    """A joint or End Site as the file has it.

    Attributes:
        name: unique in the file.
        parent: index of its parent, −1 for a root.
        place: where it stands in the file.
        is_end: whether it is an End Site.
        offset: OFFSET [file units].
        channels: "Xposition", "Zrotation", …, in the order of the file.
        rotations: axes of the rotation channels, such as "ZXY".
        positions: axes of the position channels, such as "XYZ".
    """

    name: str
    parent: int
    place: str
    is_end: bool = False
    offset: tuple[float, ...] | None = None
    channels: tuple[str, ...] | None = None
    rotations: str = ""
    positions: str = ""


class _Parser:
    """Walks through the words of a hierarchy with a stack of its own: files nest deeply."""

    def __init__(self, text: str, notes: Notes):
        self.text, self.notes = text, notes
        self.at = self.begin = 0
        self.line, self.counted = 1, 0  # line feeds are counted once, also in long files
        self.joints: list[BvhJoint] = []
        self.open: list[int] = []

    def word(self) -> str:
        """Return the next word or brace; empty at the end."""
        match = _WORD.search(self.text, self.at)
        if match is None:
            self.begin = self.at = len(self.text)
            return ""
        self.begin, self.at = match.span()
        return match.group()

    def error(self, message: str) -> FileError:
        return self.notes.error(message, self.place())

    def place(self) -> str:
        low, high = sorted((self.counted, self.begin))
        between = self.text.count("\n", low, high)
        self.line += between if self.begin >= self.counted else -between
        self.counted = self.begin
        return f"line {self.line}"

    def parse(self) -> list[BvhJoint]:
        while (word := self.word()) != "":
            key = word.upper()
            if len(self.open) == 0:
                self.outside(word, key)
            elif key in ("JOINT", "END", "ENDSITE"):
                self.begin_joint(key)
            elif key == "OFFSET":
                self.read_offset()
            elif key == "CHANNELS":
                self.read_channels()
            elif key == "}":
                self.end_joint()
            else:
                expected = "JOINT, End Site, OFFSET, CHANNELS or }"
                raise self.error(f"found {word[:40]!r}; expected {expected}")
        if len(self.open) > 0:
            joint = self.joints[self.open[-1]]
            raise self.error(
                f"the hierarchy ends inside {joint.name!r}, which begins at {joint.place}; "
                f"expected {len(self.open)} more }}"
            )
        if len(self.joints) == 0:
            raise self.error("no ROOT; expected a BVH file, which begins with HIERARCHY and ROOT")
        return self.joints

    def outside(self, word: str, key: str) -> None:
        if key == "ROOT":
            self.begin_joint(key)
        elif key == "}":
            raise self.error("found } with no joint left to end; expected ROOT or MOTION")
        elif key != "HIERARCHY" or len(self.joints) > 0:
            expected = "HIERARCHY and ROOT" if len(self.joints) == 0 else "ROOT or MOTION"
            raise self.error(f"found {word[:40]!r}; expected {expected}")

    def begin_joint(self, key: str) -> None:
        place, parent = self.place(), self.open[-1] if len(self.open) > 0 else -1
        if parent >= 0 and self.joints[parent].is_end:
            raise self.error("a joint inside an End Site; expected OFFSET or }")
        if key == "END" and self.word().upper() != "SITE":
            raise self.error("End without Site; expected 'End Site'")
        match = _NAME.match(self.text, self.at)
        assert match is not None  # it may be empty, but it is always there
        name, self.at = match.group(1).strip(), match.end()
        is_end = key not in ("ROOT", "JOINT")
        if name == "" and not is_end:
            raise self.error(f"{key} without a name")
        if self.word() != "{":
            raise self.error(f"no {{ after {key} {name}".rstrip())
        self.open.append(len(self.joints))
        self.joints.append(BvhJoint(name, parent, place, is_end))

    def end_joint(self) -> None:
        joint = self.joints[self.open.pop()]
        if joint.offset is None:
            raise self.error(f"{joint.name or 'End Site'!r} ends without an OFFSET")

    def read_offset(self) -> None:
        joint = self.joints[self.open[-1]]
        words = [self.word() for _ in range(3)]
        numbers = tuple(parse_number(word) for word in words)
        if not all(map(math.isfinite, numbers)):
            raise self.error(f"OFFSET {' '.join(words)[:60]!r}; expected three numbers")
        if joint.offset is not None:
            raise self.error(f"a second OFFSET in {joint.name!r}")
        joint.offset = numbers

    def read_channels(self) -> None:
        joint, count = self.joints[self.open[-1]], self.word()
        if not count.isdecimal() or len(count) > 3:
            raise self.error(f"CHANNELS {count[:40]!r}; expected their number")
        channels: list[str] = []
        for k in range(int(count)):
            match = _CHANNEL.fullmatch(word := self.word())
            if match is None:
                found = f"{word[:40]!r} follows after {k}" if word != "" else f"there are {k}"
                expected = "expected Xposition, Yposition, Zposition, Xrotation, … only"
                raise self.error(f"CHANNELS of {joint.name!r} says {count}, {found}; {expected}")
            channels.append(match[1].upper() + match[2].lower())
        before = self.at
        if _CHANNEL.fullmatch(word := self.word()) is not None:
            raise self.error(f"CHANNELS of {joint.name!r} says {count}, but {word!r} follows")
        self.at = before
        if joint.channels is not None or (joint.is_end and len(channels) > 0):
            raise self.error(f"unexpected CHANNELS in {joint.name or 'End Site'!r}")
        joint.channels = tuple(channels)
        joint.rotations = "".join(c[0] for c in channels if c.endswith("rotation"))
        joint.positions = "".join(c[0] for c in channels if c.endswith("position"))
        if len(set(joint.positions)) < len(joint.positions):
            raise self.error(f"CHANNELS of {joint.name!r} names a position twice")
        if len(joint.rotations) > 3:
            raise self.error(f"CHANNELS of {joint.name!r} has more than three rotations")


def read_hierarchy(text: str, notes: Notes) -> list[BvhJoint]:
    """Return the joints and End Sites of a hierarchy, parents first, with unique names."""
    joints = _Parser(text, notes).parse()
    taken: dict[str, int] = {}  # name → the next number to try, so that many equal ones are quick
    for joint in [*(j for j in joints if not j.is_end), *(j for j in joints if j.is_end)]:
        wanted = joint.name if joint.name != "" else f"{joints[joint.parent].name}_end"
        name = wanted
        while name in taken:
            k = taken[wanted]
            taken[wanted] += 1
            name = f"{wanted}_{k}" if joint.name != "" else f"{wanted}{k}"
        if name != wanted and not joint.is_end:
            notes.damaged(f"a second joint named {wanted!r}, now called {name!r}", joint.place)
        taken[name] = 2
        joint.name = name
    return joints


def skeleton_of(joints: Sequence[BvhJoint], metres: float, name: str, notes: Notes) -> Skeleton:
    """Return the skeleton with one bone per joint and End Site, in the order of the file."""
    bones = []
    for joint in joints:
        offset = metres * np.array(joint.offset)
        if joint.parent < 0:
            offset[["XYZ".index(axis) for axis in joint.positions]] = 0.0
        parent = None if joint.parent < 0 else joints[joint.parent].name
        try:
            bones.append(Bone(joint.name, parent=parent, offset=offset, joint=_joint_of(joint)))
        except ExactikError as error:  # two turns about one axis, or an offset without end
            raise notes.error(f"joint {joint.name!r}: {error}", joint.place) from None
    return Skeleton.build(name, bones)


def _joint_of(joint: BvhJoint) -> Joint:
    limits = [_FREE if axis in joint.positions else _LOCKED for axis in "XYZ"]
    if joint.positions == "":
        return Joint.euler(joint.rotations) if joint.rotations != "" else Joint.fixed()
    if joint.rotations != "":
        return Joint.free(Joint.euler(joint.rotations), limits)
    if len(joint.positions) == 1:
        return Joint.prismatic(joint.positions.lower())
    return Joint.translation(limits)


def height(joints: Sequence[BvhJoint]) -> float:
    """Return the longest side of the figure that the offsets draw [file units].

    Measured from the first joint with several children: those above it place the figure in the
    world.
    """
    children = np.bincount([j.parent for j in joints if j.parent >= 0], minlength=len(joints))
    top = int(np.argmax(children > 1))
    places = np.zeros((len(joints), 3))
    for k, joint in enumerate(joints):
        if joint.parent >= 0 and k > top:
            places[k] = places[joint.parent] + np.array(joint.offset)
    return float(np.ptp(places[top:], axis=0).max())
