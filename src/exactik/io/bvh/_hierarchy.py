"""The upper half of a BVH file: joints, their offsets and channels; and the skeleton they make.

How channels become a `Joint`, with V the position channels and o the OFFSET:

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
from exactik.io._files import parse_number
from exactik.io._notes import Notes
from exactik.model import Bone, Joint, Skeleton

WORD_PATTERN = re.compile(r"[{}]|[^\s{}]+")
NAME_PATTERN = re.compile(r"[ \t]*([^\n{}]*)")
CHANNEL_PATTERN = re.compile(r"([xyz])(position|rotation)", re.I)
FREE_LIMITS, LOCKED_LIMITS = (-math.inf, math.inf), (0.0, 0.0)


@dataclass
class BvhJoint:
    """A joint or End Site as the file has it."""

    name: str  # unique in the file
    parent: int  # index of its parent, −1 for a root
    place: str  # where it stands in the file
    is_end: bool = False  # whether it is an End Site
    offset: tuple[float, ...] | None = None  # OFFSET [file units]
    channels: tuple[str, ...] | None = None  # "Xposition", "Zrotation", …, in the order of the file
    rotation_axes: str = ""  # axes of the rotation channels, such as "ZXY"
    position_axes: str = ""  # axes of the position channels, such as "XYZ"


class _Parser:
    """Walks through the words of a hierarchy with an explicit stack: files nest deeply."""

    def __init__(self, text: str, notes: Notes):
        self.text, self.notes = text, notes
        self.position = self.word_start = 0
        # Line feeds are counted from the last place asked for, so that many places are cheap.
        self.line, self.counted_to = 1, 0
        self.joints: list[BvhJoint] = []
        self.open_joints: list[int] = []

    def next_word(self) -> str:
        """Return the next word or brace; empty at the end."""
        match = WORD_PATTERN.search(self.text, self.position)
        if match is None:
            self.word_start = self.position = len(self.text)
            return ""
        self.word_start, self.position = match.span()
        return match.group()

    def error(self, message: str) -> FileError:
        return self.notes.error(message, self.place())

    def place(self) -> str:
        low, high = sorted((self.counted_to, self.word_start))
        line_feeds = self.text.count("\n", low, high)
        self.line += line_feeds if self.word_start >= self.counted_to else -line_feeds
        self.counted_to = self.word_start
        return f"line {self.line}"

    def parse(self) -> list[BvhJoint]:
        while (word := self.next_word()) != "":
            key = word.upper()
            if len(self.open_joints) == 0:
                self.parse_outside_joint(word, key)
            elif key in ("JOINT", "END", "ENDSITE"):
                self.open_joint(key)
            elif key == "OFFSET":
                self.read_offset()
            elif key == "CHANNELS":
                self.read_channels()
            elif key == "}":
                self.close_joint()
            else:
                expected = "JOINT, End Site, OFFSET, CHANNELS or }"
                raise self.error(f"found {word[:40]!r}; expected {expected}")
        if len(self.open_joints) > 0:
            joint = self.joints[self.open_joints[-1]]
            raise self.error(
                f"the hierarchy ends inside {joint.name!r}, which begins at {joint.place}; "
                f"expected {len(self.open_joints)} more }}"
            )
        if len(self.joints) == 0:
            raise self.error("no ROOT; expected a BVH file, which begins with HIERARCHY and ROOT")
        return self.joints

    def parse_outside_joint(self, word: str, key: str) -> None:
        if key == "ROOT":
            self.open_joint(key)
        elif key == "}":
            raise self.error("found } with no joint left to end; expected ROOT or MOTION")
        elif key != "HIERARCHY" or len(self.joints) > 0:
            expected = "HIERARCHY and ROOT" if len(self.joints) == 0 else "ROOT or MOTION"
            raise self.error(f"found {word[:40]!r}; expected {expected}")

    def open_joint(self, key: str) -> None:
        place, parent = self.place(), self.open_joints[-1] if len(self.open_joints) > 0 else -1
        if parent >= 0 and self.joints[parent].is_end:
            raise self.error("a joint inside an End Site; expected OFFSET or }")
        if key == "END" and self.next_word().upper() != "SITE":
            raise self.error("End without Site; expected 'End Site'")
        match = NAME_PATTERN.match(self.text, self.position)
        assert match is not None  # the pattern also matches nothing
        name, self.position = match.group(1).strip(), match.end()
        is_end = key not in ("ROOT", "JOINT")
        if name == "" and not is_end:
            raise self.error(f"{key} without a name")
        if self.next_word() != "{":
            raise self.error(f"no {{ after {key} {name}".rstrip())
        self.open_joints.append(len(self.joints))
        self.joints.append(BvhJoint(name, parent, place, is_end))

    def close_joint(self) -> None:
        joint = self.joints[self.open_joints.pop()]
        if joint.offset is None:
            raise self.error(f"{joint.name or 'End Site'!r} ends without an OFFSET")

    def read_offset(self) -> None:
        joint = self.joints[self.open_joints[-1]]
        words = [self.next_word() for _ in range(3)]
        numbers = tuple(parse_number(word) for word in words)
        if not all(map(math.isfinite, numbers)):
            raise self.error(f"OFFSET {' '.join(words)[:60]!r}; expected three numbers")
        if joint.offset is not None:
            raise self.error(f"a second OFFSET in {joint.name!r}")
        joint.offset = numbers

    def read_channels(self) -> None:
        joint, count = self.joints[self.open_joints[-1]], self.next_word()
        if not count.isdecimal() or len(count) > 3:
            raise self.error(f"CHANNELS {count[:40]!r}; expected their number")
        channels: list[str] = []
        for k in range(int(count)):
            match = CHANNEL_PATTERN.fullmatch(word := self.next_word())
            if match is None:
                actual = f"{word[:40]!r} follows after {k}" if word != "" else f"there are {k}"
                expected = "expected Xposition, Yposition, Zposition, Xrotation, … only"
                raise self.error(f"CHANNELS of {joint.name!r} says {count}, {actual}; {expected}")
            channels.append(match[1].upper() + match[2].lower())
        end = self.position
        if CHANNEL_PATTERN.fullmatch(word := self.next_word()) is not None:
            raise self.error(f"CHANNELS of {joint.name!r} says {count}, but {word!r} follows")
        self.position = end
        if joint.channels is not None or (joint.is_end and len(channels) > 0):
            raise self.error(f"unexpected CHANNELS in {joint.name or 'End Site'!r}")
        joint.channels = tuple(channels)
        joint.rotation_axes = "".join(c[0] for c in channels if c.endswith("rotation"))
        joint.position_axes = "".join(c[0] for c in channels if c.endswith("position"))
        if len(set(joint.position_axes)) < len(joint.position_axes):
            raise self.error(f"CHANNELS of {joint.name!r} names a position twice")
        if len(joint.rotation_axes) > 3:
            raise self.error(f"CHANNELS of {joint.name!r} has more than three rotations")


def read_hierarchy(text: str, notes: Notes) -> list[BvhJoint]:
    """Return the joints and End Sites of a hierarchy, parents first, with unique names."""
    joints = _Parser(text, notes).parse()
    next_number: dict[
        str, int
    ] = {}  # taken name → number to try, so that many equal ones are quick
    for joint in [*(j for j in joints if not j.is_end), *(j for j in joints if j.is_end)]:
        base = joint.name if joint.name != "" else f"{joints[joint.parent].name}_end"
        name = base
        while name in next_number:
            k = next_number[base]
            next_number[base] += 1
            name = f"{base}_{k}" if joint.name != "" else f"{base}{k}"
        if name != base and not joint.is_end:
            notes.flag_damage(f"a second joint named {base!r}, now called {name!r}", joint.place)
        next_number[name] = 2
        joint.name = name
    return joints


def build_skeleton(joints: Sequence[BvhJoint], metres: float, name: str, notes: Notes) -> Skeleton:
    """Return the skeleton with one bone per joint and End Site, in the order of the file."""
    bones = []
    for joint in joints:
        offset = metres * np.array(joint.offset)
        if joint.parent < 0:
            offset[["XYZ".index(axis) for axis in joint.position_axes]] = 0.0
        parent = None if joint.parent < 0 else joints[joint.parent].name
        try:
            bones.append(Bone(joint.name, parent=parent, offset=offset, joint=_make_joint(joint)))
        except ExactikError as error:  # two rotations about one axis, or an infinite offset
            raise notes.error(f"joint {joint.name!r}: {error}", joint.place) from None
    return Skeleton.build(name, bones)


def _make_joint(joint: BvhJoint) -> Joint:
    limits = [FREE_LIMITS if axis in joint.position_axes else LOCKED_LIMITS for axis in "XYZ"]
    if joint.position_axes == "":
        return Joint.euler(joint.rotation_axes) if joint.rotation_axes != "" else Joint.fixed()
    if joint.rotation_axes != "":
        return Joint.free(Joint.euler(joint.rotation_axes), limits)
    if len(joint.position_axes) == 1:
        return Joint.prismatic(joint.position_axes.lower())
    return Joint.translation(limits)


def measure_height(joints: Sequence[BvhJoint]) -> float:
    """Return the longest side of the figure that the offsets draw [file units].

    Measured from the first joint with several children: those above it place the figure in the
    world.
    """
    children = np.bincount([j.parent for j in joints if j.parent >= 0], minlength=len(joints))
    top = int(np.argmax(children > 1))
    positions = np.zeros((len(joints), 3))
    for k, joint in enumerate(joints):
        if joint.parent >= 0 and k > top:
            positions[k] = positions[joint.parent] + np.array(joint.offset)
    return float(np.ptp(positions[top:], axis=0).max())
