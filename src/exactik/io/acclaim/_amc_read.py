"""Read motions from AMC, for a skeleton that is in an ASF file.

After a head of comments and :keywords a frame is its number, alone on a line, and then a line for
every bone that moves: the name, and one number per dof in the order of the ASF file.

A frame in which a bone is missing cannot be used: it becomes NaN throughout, as do frames whose
numbers are left out, so that the times of the others stay right.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from exactik.errors import Advice
from exactik.io._files import (
    decode_text,
    parse_number,
    parse_numbers,
    read_bytes,
    read_text,
    split_lines,
    to_unix_lines,
)
from exactik.io._format import Outline
from exactik.io._notes import Notes
from exactik.io._units import metres_per
from exactik.io.acclaim._skeleton import VICON_UNIT, AcclaimSkeleton, encode_name
from exactik.model import Skeleton
from exactik.model.motion import Motion
from exactik.typing import Array, BoolArray, IntArray

Unit = str | float | None

DEFAULT_RATE = 120.0  # [Hz] of most AMC files
DEGREE = math.pi / 180.0
COMMENT_PATTERN = re.compile(rb"(?:(?<=[\x00-\x20])|^)#[^\n]*")
RATE_PATTERN = re.compile(rb"#\s*(\d+\.?\d*(?:e[+-]?\d+)?) frames a second")
MAX_FRAME_DIGITS = 9  # of a frame's number
MAX_GAP_FRAMES = 100_000  # more numbers left out than this, and than frames, are a wrong number


class BoneColumns(NamedTuple):
    """Where the values of a bone go."""

    bone: str  # its name in the skeleton
    names: tuple[str, ...]  # that may stand for it in the file
    q_index: list[int]  # coordinate of each value, in the order of the file
    units: list[float]  # of each value [m or rad]


def read_amc(
    path: str,
    notes: Notes,
    skeleton: Skeleton | None,
    length_unit: Unit,
    rate: float | None,
) -> Motion:
    """Return the motion of an AMC file.

    Args:
        skeleton: the skeleton of the ASF file that belongs to it.
        length_unit: of the root's path; by default that of the ASF file.
        rate: [Hz]; files do not say, and 120 Hz is assumed.
    """
    if skeleton is None:
        raise notes.error(
            "AMC holds no skeleton; give skeleton=load_skeleton('….asf')", code="no-skeleton"
        )
    data = to_unix_lines(read_bytes(path).removeprefix(b"\xef\xbb\xbf"))
    start, keywords, stated_rate = _read_head(data)
    rate = stated_rate if rate is None else rate
    if rate is None:
        rate = DEFAULT_RATE
        notes.remark(f"AMC states no rate; {rate:g} Hz assumed", code="rate-not-stated")
    metres, radians = _choose_units(skeleton, length_unit, keywords, notes)
    frames = AmcFrames(data, start, _find_columns(skeleton, metres, radians, notes), notes)
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite becomes missing
        q = frames.to_coordinates(skeleton.nq)
        q, first = _insert_missing_frames(q, np.array(frames.numbers), notes)
    root = next(bone for bone in skeleton.bones if bone.parent is None)
    if root.pre is not None and len(root.joint.shift_axes) == 3:
        index = int(skeleton.tree.first_q[skeleton.bone_index(root.name) + 1])
        shift = slice(index, index + 3)
        q[:, shift] = q[:, shift] @ np.array(root.pre)  # in the file it is along world axes
    return Motion(
        skeleton,
        q,
        rate,
        first_frame=first,
        up_axis="y",
        source=path,
        metadata={"length_unit": metres, "angle_unit": "rad" if radians == 1.0 else "deg"},
        notes=notes.all,
    )


def outline_amc(path: str, notes: Notes) -> Outline:
    """Return the little that an AMC file tells without its skeleton."""
    lines = [line.strip() for line in read_text(path).split("\n")]
    numbers = [k for k, line in enumerate(lines) if line.isdecimal() and line.isascii()]
    numbers = [k for k in numbers if len(lines[k]) <= MAX_FRAME_DIGITS]
    if len(numbers) == 0:
        raise notes.error("no frames; expected a frame number after the head")
    end = numbers[1] if len(numbers) > 1 else len(lines)
    bones = [line.split()[0] for line in lines[numbers[0] + 1 : end] if line != ""]
    notes.remark("AMC states no rate", code="rate-not-stated")
    return Outline(columns=tuple(bones), frames=len(numbers), first_frame=int(lines[numbers[0]]))


def _read_head(data: bytes) -> tuple[int, set[bytes], float | None]:
    """Return where the frames begin, the :keywords before them, and the rate in a comment."""
    start, keywords, rate = 0, set(), None
    while start < len(data):
        end = data.find(b"\n", start) % (len(data) + 1)
        line = data[start:end].strip()
        if line.startswith(b":"):
            keywords.add(line[1:].upper())
        elif line.startswith(b"#"):
            match = RATE_PATTERN.match(line)
            rate = rate if match is None or not 0.0 < float(match[1]) < 1e9 else float(match[1])
        elif line != b"":
            break
        start = end + 1
    return min(start, len(data)), keywords, rate


def _choose_units(
    skeleton: Skeleton, length_unit: Unit, keywords: set[bytes], notes: Notes
) -> tuple[float, float]:
    """Return the metres in one unit of length and the radians in one unit of angle."""
    units = skeleton.acclaim if isinstance(skeleton, AcclaimSkeleton) else None
    metres = VICON_UNIT if units is None else units.metres
    if length_unit is not None and length_unit != "auto":
        metres = metres_per(length_unit)
    elif units is None:
        reason = "AMC states no length unit and the skeleton is not from an ASF file"
        notes.assume(
            f"{reason}: 1/0.45 inch assumed",
            code="unit-assumed",
            advice=Advice("; give ", "length_unit"),
        )
    if b"RADIANS" in keywords or b"DEGREES" in keywords:
        return metres, 1.0 if b"RADIANS" in keywords else DEGREE
    notes.remark("neither :DEGREES nor :RADIANS; taken as in the ASF file, else degrees")
    return metres, DEGREE if units is None else units.radians


def _find_columns(
    skeleton: Skeleton, metres: float, radians: float, notes: Notes
) -> list[BoneColumns]:
    """Return where each bone's values go, in the order of the bones; none if it does not move."""
    if len(skeleton.couplings) > 0:
        raise notes.error("dofs of the skeleton follow others; expected that of its ASF file")
    roots = [bone.name for bone in skeleton.bones if bone.parent is None]
    file_dofs = skeleton.acclaim.dofs if isinstance(skeleton, AcclaimSkeleton) else {}
    columns = []
    for k, bone in enumerate(skeleton.bones):
        joint_dofs, first = bone.joint.dof_names, int(skeleton.tree.first_q[k + 1])
        if not all(re.fullmatch("[rt][xyz]", dof) is not None for dof in joint_dofs):
            raise notes.error(
                f"bone {bone.name!r} has a joint {str(bone.joint)!r}, which AMC cannot move; "
                "expected the skeleton of its ASF file"
            )
        shifts = [dof for dof in joint_dofs if dof[0] == "t"]
        dofs = file_dofs.get(bone.name, (*shifts, *reversed(joint_dofs[len(shifts) :])))
        names = {encode_name(bone.name), bone.name} - {"root"}
        columns.append(
            BoneColumns(
                bone=bone.name,
                names=("root",) if roots == [bone.name] else tuple(sorted(names)),
                q_index=[first + joint_dofs.index(dof) for dof in dofs],
                units=[metres if dof[0] == "t" else radians for dof in dofs],
            )
        )
    return columns


class AmcFrames:
    """The frames behind the head: a line with the frame's number, then one for each bone.

    Attributes:
        numbers: of the frames, as the file has them.
        values: of each bone, a list for each line that it has.
        frames: likewise the index of the frame that the line is in.
    """

    def __init__(self, data: bytes, start: int, columns: Sequence[BoneColumns], notes: Notes):
        """Read all lines; what cannot be one is an error, but for a last line that is cut off."""
        if data.find(b"#", start) >= 0:
            data = COMMENT_PATTERN.sub(lambda match: b" " * len(match.group()), data)
        self.columns, self.notes = columns, notes
        names = {name: k for k, column in enumerate(columns) for name in column.names}
        ascii_only = all(map(str.isascii, names))
        encoding = "utf-8" if ascii_only else decode_text(data)[1].removesuffix("-sig")
        self.names = {
            name.encode(encoding, "replace"): k
            for name, k in names.items()
            if math.isnan(parse_number(name))  # a number begins a frame
        }
        self.numbers: list[int] = []
        self.values: list[list[list[float]]] = [[] for _ in columns]
        self.frames: list[list[int]] = [[] for _ in columns]
        self.repeated: list[tuple[int, int, int]] = []
        fault: tuple[str, bool] | None = None
        place = ""
        for line, words in split_lines(data, start):
            if fault is not None:  # and it is not the last line
                raise notes.error(fault[0], place)
            fault = self.read_line(words, line)
            if fault is not None:
                place = f"line {line}"
                if not fault[1] or len(self.numbers) == 0:
                    raise notes.error(fault[0], place)
        if len(self.numbers) == 0:
            raise notes.error("no frames; expected a frame number after the head")
        if len(self.repeated) > 0:
            _, bone, line = min(self.repeated)
            text = f"bone {columns[bone].bone!r} a second time in a frame"
            raise notes.error(text, f"line {line}")

    def read_line(self, words: list[bytes], line: int) -> tuple[str, bool] | None:
        """Read a line; return what is wrong with it, and whether that may be a cut."""
        bone, count, frame = self.names.get(words[0]), len(words) - 1, len(self.numbers) - 1
        number = math.nan
        if bone is None:
            number = parse_number(words[0].decode("ascii", "replace"))
        elif frame >= 0 and count == len(self.columns[bone].q_index):
            numbers = parse_numbers(words[1:])
            if numbers is not None:
                if self.frames[bone][-1:] == [frame]:
                    self.repeated.append((frame, bone, line))
                self.frames[bone].append(frame)
                self.values[bone].append(numbers)
                return None
        if count == 0 and math.isfinite(number) and number == math.floor(number):
            self.numbers.append(int(min(max(number, -(2.0**31)), 2.0**31)))
            return None
        shown = [word.decode("utf-8", "replace")[:40] for word in words[:8]]
        if frame < 0 or math.isfinite(number):
            return f"{shown[0]!r}; expected the number of a frame, alone on its line", True
        if bone is None:
            return f"no bone named {shown[0]!r} in the skeleton", True
        expected = len(self.columns[bone].q_index)
        if count != expected:
            return f"bone {shown[0]!r} has {count} values; expected {expected}", count < expected
        return f"values {' '.join(shown[1:])!r} of bone {shown[0]!r}; expected numbers", False

    def to_coordinates(self, nq: int) -> Array:
        """Return q, (T, nq), a row per frame number; a last frame that is cut off is left out."""
        q = np.zeros((len(self.numbers), nq))
        lacks_bone = np.zeros((len(q), len(self.columns)), dtype=bool)
        for k, (column, frames) in enumerate(zip(self.columns, self.frames, strict=True)):
            if len(column.q_index) > 0:
                lacks_bone[:, k] = True
                lacks_bone[frames, k] = False
                values = np.array(self.values[k]).reshape(len(frames), len(column.q_index))
                q[np.array(frames, dtype=int)[:, None], column.q_index] = values * column.units
        return self.blank_incomplete(q, lacks_bone)

    def blank_incomplete(self, q: Array, lacks_bone: BoolArray) -> Array:
        """Return q with NaN in frames that lack a bone or are not finite, less a cut last frame."""
        never = np.flatnonzero(lacks_bone.all(axis=0)) if len(q) > 1 else []
        if len(never) > 0:
            bone = self.columns[never[0]].bone
            expected = "expected a file for this skeleton"
            raise self.notes.error(f"bone {bone!r} of the skeleton is in no frame; {expected}")
        if lacks_bone[-1].any():
            frame = self.numbers[-1]
            self.notes.flag_damage(f"frame {frame}, the last, is cut off and was dropped")
            q, lacks_bone, self.numbers = q[:-1], lacks_bone[:-1], self.numbers[:-1]
        missing = lacks_bone.any(axis=1)
        if missing.any():
            frame = int(np.argmax(missing))
            bone = self.columns[int(np.argmax(lacks_bone[frame]))].bone
            more = f" and {missing.sum() - 1} more frames lack some" if missing.sum() > 1 else ""
            what = f"frame {self.numbers[frame]} lacks bone {bone!r}{more}"
            self.notes.flag_damage(f"{what}; all of such a frame is missing")
        finite = np.isfinite(q).all(axis=1)
        if not finite.all():
            frame = self.numbers[np.argmin(finite)]
            what = f"values in frame {frame} are not finite"
            self.notes.flag_damage(f"{what}; all of such a frame is missing")
        q[missing | ~finite] = np.nan
        return q


def _insert_missing_frames(q: Array, numbers: IntArray, notes: Notes) -> tuple[Array, int]:
    """Return q with missing frames where numbers are left out, and the first number."""
    if len(numbers) == 0:
        return q, 1
    steps = np.diff(numbers)
    if (steps < 1).any():
        k = int(np.argmax(steps < 1))
        what = f"frame {numbers[k + 1]} comes after {numbers[k]}"
        notes.flag_damage(f"{what}; frames are taken in the order of the file")
        return q, int(numbers[0])
    gaps = np.flatnonzero(steps > 1)
    if len(gaps) == 0:
        return q, int(numbers[0])
    left_out = int((steps - 1).sum())
    low, high = int(numbers[gaps[0]]) + 1, int(numbers[gaps[0] + 1]) - 1
    frames = f"frame {low} is" if low == high else f"frames {low} to {high} are"
    if left_out > max(MAX_GAP_FRAMES, len(q)):
        raise notes.error(f"{frames} left out; expected frames that follow each other")
    more = "" if len(gaps) == 1 else f" and others, {left_out} in all"
    notes.flag_damage(f"{frames} left out{more}; there the motion is missing")
    padded = np.full((len(q) + left_out, q.shape[1]), np.nan)
    padded[numbers - numbers[0]] = q
    return padded, int(numbers[0])
