"""AMC: the motions of the Acclaim formats, for a skeleton that is in an ASF file.

After a head of comments and :keywords a frame is its number, alone on a line, and then a line for
every bone that moves: the name, and one number per dof in the order of the ASF file.

A frame in which a bone is missing cannot be used: it becomes not a number throughout, as do frames
whose numbers are left out, so that the time of the others stays right.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactik.io._decimal import NUMBER, WORD, tokens
from exactik.io._files import decoded, read_bytes, unix_lines
from exactik.io._notes import Notes
from exactik.io._units import metres_per
from exactik.io.acclaim._asf_write import CONVENTION, AcclaimSkeleton, encode_name
from exactik.model import Skeleton
from exactik.motion import Motion
from exactik.typing import Array, IntArray

__all__ = ["read_amc"]

Unit = str | float | None

_RATE = 120.0  # [Hz] of most such files
_DEGREE = math.pi / 180.0
_COMMENT = re.compile(rb"(?:(?<=[\x00-\x20])|^)#[^\n]*")
_OUR_RATE = re.compile(rb"#\s*(\d+\.?\d*(?:e[+-]?\d+)?) frames a second")
_LARGEST_GAP = 100_000  # frames; more of them are no gap but a fault


class _Column(NamedTuple):
    """Where the values of a bone go."""

    bone: str
    names: tuple[str, ...]  # that may stand for it in the file
    at: list[int]  #          their coordinates
    units: list[float]  #     [m or rad]


def read_amc(
    path: str,
    notes: Notes,
    skeleton: Skeleton | None,
    length_unit: Unit,
    rate: float | None,
    positions: str,
) -> Motion:
    """Return the motion of an AMC file.

    Args:
        path: the file.
        notes: takes what is odd about it.
        skeleton: the skeleton of the ASF file that belongs to it.
        length_unit: of the root's path; by default that of the ASF file.
        rate: [Hz]; files do not say, and 120 Hz is assumed.
        positions: for BVH only.
    """
    if skeleton is None:
        raise notes.error("AMC holds no skeleton; give skeleton=load_skeleton('….asf')")
    data = unix_lines(read_bytes(path).removeprefix(b"\xef\xbb\xbf"))
    start, said, own_rate = _head(data)
    rate = own_rate if rate is None else rate
    if rate is None:
        rate = _RATE
        notes.odd(f"AMC states no rate; {rate:g} Hz assumed")
    metres, radians = _units(skeleton, length_unit, said, notes)
    lines = _Lines(data, start, _columns(skeleton, metres, radians, notes), notes)
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite becomes missing
        q, first = _in_time(lines.coordinates(skeleton.nq), lines.numbers, notes)
    root = next(bone for bone in skeleton.bones if bone.parent is None)
    if root.pre is not None and root.joint.kind in ("free", "translation"):
        at = int(skeleton.tree.first_q[skeleton.bone_index(root.name) + 1])
        q[:, at : at + 3] = q[:, at : at + 3] @ np.array(root.pre)  # the file has world axes
    facts = {"length_unit": metres, "angle_unit": "rad" if radians == 1.0 else "deg"}
    return Motion(skeleton, q, rate, first, "y", path, metadata=facts, notes=notes.all)


def _head(data: bytes) -> tuple[int, set[bytes], float | None]:
    """Return where the frames begin, the :keywords before them, and the rate in our comment."""
    at, keywords, rate = 0, set(), None
    while at < len(data):
        end = data.find(b"\n", at) % (len(data) + 1)
        line = data[at:end].strip()
        if line.startswith(b":"):
            keywords.add(line[1:].upper())
        elif line.startswith(b"#"):
            match = _OUR_RATE.match(line)
            rate = rate if match is None or not 0.0 < float(match[1]) < 1e9 else float(match[1])
        elif line != b"":
            break
        at = end + 1
    return min(at, len(data)), keywords, rate


def _units(
    skeleton: Skeleton, length_unit: Unit, said: set[bytes], notes: Notes
) -> tuple[float, float]:
    facts = skeleton.acclaim if isinstance(skeleton, AcclaimSkeleton) else None
    metres = CONVENTION if facts is None else facts.metres
    if length_unit is not None and length_unit != "auto":
        metres = metres_per(length_unit)
    elif facts is None:
        reason = "AMC states no length unit and the skeleton is not from an ASF file"
        notes.assume(f"{reason}: 1/0.45 inch assumed; give length_unit")
    if b"RADIANS" in said or b"DEGREES" in said:
        return metres, 1.0 if b"RADIANS" in said else _DEGREE
    notes.odd("neither :DEGREES nor :RADIANS; taken as in the ASF file, else degrees")
    return metres, _DEGREE if facts is None else facts.radians


def _columns(skeleton: Skeleton, metres: float, radians: float, notes: Notes) -> list[_Column]:
    """Return where each bone's values go, in the order of the bones; none if it does not move."""
    roots = [bone.name for bone in skeleton.bones if bone.parent is None]
    facts = skeleton.acclaim.dofs if isinstance(skeleton, AcclaimSkeleton) else {}
    columns = []
    for k, bone in enumerate(skeleton.bones):
        own, at = bone.joint.dof_names, int(skeleton.tree.first_q[k + 1])
        if not all(re.fullmatch("[rt][xyz]", dof) is not None for dof in own):
            raise notes.error(
                f"bone {bone.name!r} has a joint {str(bone.joint)!r}, which AMC cannot move; "
                "expected the skeleton of its ASF file"
            )
        shifts = [dof for dof in own if dof[0] == "t"]
        dofs = facts.get(bone.name, (*shifts, *reversed(own[len(shifts) :])))
        units = [metres if dof[0] == "t" else radians for dof in dofs]
        names = {encode_name(bone.name), bone.name} - {"root"}
        names = ("root",) if roots == [bone.name] else tuple(sorted(names))
        columns.append(_Column(bone.name, names, [at + own.index(dof) for dof in dofs], units))
    return columns


class _Lines:
    """The lines behind the head: one for each frame's number, one for each bone in each frame.

    Attributes:
        numbers: of the frames.
        repeats: whether all frames have the lines of the first one. Then only those are looked at.
        starts_frame: whether a line begins with a number.
        bones: index of the bone that begins a line, −1 for any other word.
    """

    def __init__(self, data: bytes, start: int, columns: Sequence[_Column], notes: Notes):
        """Read all lines; what cannot be one is an error, but for a last line that is cut off."""
        if data.find(b"#", start) >= 0:
            data = _COMMENT.sub(lambda match: b" " * len(match.group()), data)
        self.columns, self.notes, self.data = columns, notes, data
        names = {name: k for k, column in enumerate(columns) for name in column.names}
        ascii_only = all(map(str.isascii, names))
        encoding = "utf-8" if ascii_only else decoded(data)[1].removesuffix("-sig")
        self.tokens = tokens(data, [name.encode(encoding, "replace") for name in names], start)
        if len(self.tokens.values) == 0:
            raise notes.error("no frames; expected a frame number after the head")
        heads = self.tokens.kinds[self.tokens.firsts]
        self.starts_frame = heads == NUMBER
        numbers = self.tokens.values[self.tokens.firsts[self.starts_frame]]
        self.numbers = np.clip(numbers, -(2.0**31), 2.0**31).astype(np.int64)
        self.repeats = bool((np.floor(numbers) == numbers).all()) and self.is_regular(heads)
        shown = len(heads) // len(numbers) if self.repeats else len(heads)
        self.bones = np.array([*names.values(), -1])[np.maximum(heads[:shown], -1)]
        self.check(len(heads) - 1)

    def is_regular(self, heads: NDArray[np.int16]) -> bool:
        frames, n = len(self.numbers), len(self.tokens.values)
        if frames == 0 or len(heads) % frames > 0 or n % frames > 0:
            return False
        heads, firsts = heads.reshape(frames, -1), self.tokens.firsts.reshape(frames, -1)
        expected = firsts[0] + np.arange(0, n, n // frames)[:, None]
        words = n - np.count_nonzero(self.tokens.kinds == NUMBER)
        same = (heads == heads[0]).all() and (firsts == expected).all()
        return bool(same) and words == frames * np.count_nonzero(heads[0] != NUMBER)

    def check(self, last: int) -> None:
        shown = slice(0, len(self.bones))
        firsts, counts = self.tokens.firsts[shown], self.tokens.counts[shown]
        starts_frame = self.starts_frame[shown]
        values = self.tokens.values[firsts]
        wanted = np.array([*(1 + len(column.at) for column in self.columns), 1])[self.bones]
        good = np.where(starts_frame, np.floor(values) == values, self.bones >= 0)
        good &= counts == wanted
        if not self.repeats:
            inside = (self.tokens.kinds >= 0) | (self.tokens.kinds == WORD)
            inside[firsts] = False
            good[np.searchsorted(firsts, np.flatnonzero(inside), side="right") - 1] = False
        good[0] &= starts_frame[0]
        if good.all():
            return
        line = int(np.argmin(good))
        count, bone = int(counts[line]), int(self.bones[line])
        if 0 < line == last and (bone < 0 or count < wanted[line]):
            self.bones[line] = -1  # its frame is dropped with it
            return
        some = range(firsts[line], firsts[line] + min(count, 8))
        words = [self.tokens.find(self.data, k)[0].decode("utf-8", "replace")[:40] for k in some]
        if starts_frame[line] or line == 0:
            fault = f"{words[0]!r}; expected the number of a frame, alone on its line"
        elif bone < 0:
            fault = f"no bone named {words[0]!r} in the skeleton"
        elif count != wanted[line]:
            fault = f"bone {words[0]!r} has {count - 1} values; expected {wanted[line] - 1}"
        else:
            fault = f"values {' '.join(words[1:])!r} of bone {words[0]!r}; expected numbers"
        raise self.notes.error(fault, self.place(line))

    def place(self, line: int) -> str:
        _, number = self.tokens.find(self.data, int(self.tokens.firsts[line]))
        return f"line {number}"

    def coordinates(self, nq: int) -> Array:
        """Return q, (T, nq), a row per frame number; a last frame that is cut off is left out."""
        count, bones = len(self.numbers), len(self.columns)
        frames = np.cumsum(self.starts_frame[: len(self.bones)]) - 1
        named = self.bones >= 0
        seen = np.zeros((count, bones), np.int64)
        np.add.at(seen, (frames[named], self.bones[named]), 1)
        if seen.max() > 1:
            frame, bone = np.argwhere(seen > 1)[0]
            line = int(np.flatnonzero((frames == frame) & (self.bones == bone))[1])
            name = self.columns[bone].bone
            raise self.notes.error(f"bone {name!r} a second time in a frame", self.place(line))
        if self.repeats:
            seen[:] = seen[0]
        values, firsts, q = self.tokens.values, self.tokens.firsts, np.zeros((count, nq))
        for k in np.unique(self.bones[named]):
            lines, column = np.flatnonzero(self.bones == k), self.columns[k]
            if self.repeats:
                at = firsts[lines[0]] + 1
                block = values.reshape(count, -1)[:, at : at + len(column.at)]
                q[:, column.at] = block * column.units
            else:
                at = firsts[lines, None] + np.arange(1, len(column.at) + 1)
                q[frames[lines, None], column.at] = values[at] * column.units
        return self.without_missing(q, seen)

    def without_missing(self, q: Array, seen: IntArray) -> Array:
        moving = [len(column.at) > 0 for column in self.columns]
        lacks = (seen == 0) & moving
        never = np.flatnonzero(lacks.all(axis=0)) if len(q) > 1 else []
        if len(never) > 0:
            bone = self.columns[never[0]].bone
            expected = "expected a file for this skeleton"
            raise self.notes.error(f"bone {bone!r} of the skeleton is in no frame; {expected}")
        if lacks[-1].any():
            where = f"frame {self.numbers[-1]}"
            self.notes.damaged(f"{where}, the last, is cut off and was dropped")
            q, lacks, self.numbers = q[:-1], lacks[:-1], self.numbers[:-1]
        missing = lacks.any(axis=1)
        if missing.any():
            frame = int(np.argmax(missing))
            bone = self.columns[int(np.argmax(lacks[frame]))].bone
            more = f" and {missing.sum() - 1} more frames lack some" if missing.sum() > 1 else ""
            what = f"frame {self.numbers[frame]} lacks bone {bone!r}{more}"
            self.notes.damaged(f"{what}; all of such a frame is missing")
        finite = np.isfinite(q).all(axis=1)
        if not finite.all():
            frame = self.numbers[np.argmin(finite)]
            what = f"values in frame {frame} are not finite"
            self.notes.damaged(f"{what}; all of such a frame is missing")
        q[missing | ~finite] = np.nan
        return q


def _in_time(q: Array, numbers: IntArray, notes: Notes) -> tuple[Array, int]:
    """Return q with missing frames where numbers are left out, and the first number."""
    if len(numbers) == 0:
        return q, 1
    steps = np.diff(numbers)
    if (steps < 1).any():
        at = int(np.argmax(steps < 1))
        what = f"frame {numbers[at + 1]} comes after {numbers[at]}"
        notes.damaged(f"{what}; frames are taken in the order of the file")
        return q, int(numbers[0])
    gaps = np.flatnonzero(steps > 1)
    if len(gaps) == 0:
        return q, int(numbers[0])
    left_out = int((steps - 1).sum())
    low, high = int(numbers[gaps[0]]) + 1, int(numbers[gaps[0] + 1]) - 1
    frames = f"frame {low} is" if low == high else f"frames {low} to {high} are"
    if left_out > max(_LARGEST_GAP, len(q)):
        raise notes.error(f"{frames} left out; expected frames that follow each other")
    more = "" if len(gaps) == 1 else f" and others, {left_out} in all"
    notes.damaged(f"{frames} left out{more}; there the motion is missing")
    whole = np.full((len(q) + left_out, q.shape[1]), np.nan)
    whole[numbers - numbers[0]] = q
    return whole, int(numbers[0])
