"""BVH: a hierarchy of joints, then rows with one number per channel."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import numpy as np

from exactik.io._decimal import WORD, Tokens, tokens
from exactik.io._files import decoded, read_bytes, unix_lines
from exactik.io._notes import Notes
from exactik.io._text import parse_number
from exactik.io._units import announced_unit, metres_per
from exactik.io.bvh._hierarchy import (
    BvhJoint,
    height,
    read_hierarchy,
    skeleton_of,
)
from exactik.model import Skeleton
from exactik.motion import Motion
from exactik.typing import Array, IntArray

__all__ = ["has_motion", "read_bvh", "read_bvh_skeleton"]

Unit = str | float | None

# "MOTION" may also be the name of a joint; the line after it tells.
_MOTION = re.compile(rb"(?:^|(?<=[\s}]))MOTION\s+(?=Frames\b)|^[ \t]*MOTION[ \t]*$", re.I | re.M)
_FRAMES = re.compile(rb"\s*Frames[ \t]*:?[ \t]*(\S+)", re.I)
_FRAME_TIME = re.compile(rb"\s*Frame[ \t]*Time[ \t]*:?[ \t]*(\S+)", re.I)

# Rates that cameras and programs use [Hz], and those of television, which files round to.
_RATES = [*(1, 2, 5, 6, 8, 10, 12, 12.5, 15, 16, 18, 20, 24, 25, 30, 40, 48, 50, 60, 72, 75, 80)]
_RATES += [*(90, 100, 120, 125, 128, 144, 150, 160, 180, 200, 240, 250, 256, 300, 360, 400, 480)]
_RATES += [*(500, 600, 720, 960, 1000, 1200, 2000)]
_TELEVISION = [24000 / 1001, 30000 / 1001, 60000 / 1001, 120000 / 1001]
_FALLBACK = 30.0  # [Hz] where a file says that no time passes


class _Rows(NamedTuple):
    """The lower half of a file."""

    values: Array  #     (T, channels), as they stand there
    frame_time: float  # [s] as it stands there
    rate: float  #       [Hz]


def has_motion(data: bytes) -> bool:
    """Tell whether a BVH file has more than a hierarchy."""
    return _MOTION.search(unix_lines(data)) is not None


def read_bvh_skeleton(path: str, notes: Notes, length_unit: Unit, floating: bool) -> Skeleton:
    """Return the skeleton of a BVH file; its root moves as the channels say, never otherwise."""
    joints, _, _ = _hierarchy(unix_lines(read_bytes(path)), notes)
    return skeleton_of(joints, _metres(joints, length_unit, notes), Path(path).stem, notes)


def read_bvh(
    path: str,
    notes: Notes,
    skeleton: Skeleton | None,
    length_unit: Unit,
    rate: float | None,
    positions: str,
) -> Motion:
    """Return the motion of a BVH file.

    Args:
        path: the file.
        notes: takes what is odd about it.
        skeleton: None for the one in the file; else one whose bones have the same names and dofs.
        length_unit: as for `load_skeleton`.
        rate: [Hz] in place of the file's.
        positions: whether position channels "replace" the OFFSET or "add" to it.
    """
    data = unix_lines(read_bytes(path))
    joints, at, encoding = _hierarchy(data, notes)
    if at < 0:
        raise notes.error("no MOTION section, only a skeleton, which load_skeleton reads")
    metres = _metres(joints, length_unit, notes)
    own = skeleton_of(joints, metres, Path(path).stem, notes)
    rows = _rows(data, at, sum(len(j.channels or ()) for j in joints), rate, notes)
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is seen to below
        if positions == "replace":
            _suspect_positions(joints, rows.values, notes)
        q = _coordinates(joints, rows.values, own.nq, metres, positions)
        if skeleton is not None:
            q = _in_coordinates_of(skeleton, own, q, notes)
    missing = ~np.isfinite(q).all(axis=1)
    if missing.any():
        q[missing] = np.nan
        frames = f"frame {np.argmax(missing) + 1}"
        frames += f" and {missing.sum() - 1} others" if missing.sum() > 1 else ""
        notes.damaged(f"values in {frames} are not finite; all of such a frame is missing")
    facts = {"length_unit": metres, "frame_time": rows.frame_time, "positions": positions}
    facts["encoding"] = encoding
    figure = own if skeleton is None else skeleton
    return Motion(figure, q, rows.rate, source=path, metadata=facts, notes=notes.all)


def _hierarchy(data: bytes, notes: Notes) -> tuple[list[BvhJoint], int, str]:
    """Return the joints, the byte after the word MOTION (−1 without one), and the encoding."""
    match = _MOTION.search(data)
    text, encoding = decoded(data if match is None else data[: match.start()])
    joints = read_hierarchy(text, notes)
    if encoding != "utf-8-sig":
        notes.odd(f"names are read as {encoding}, for they are not UTF-8")
    return joints, -1 if match is None else match.end(), encoding.removesuffix("-sig")


def _metres(joints: Sequence[BvhJoint], length_unit: Unit, notes: Notes) -> float:
    if length_unit is None:
        known = "'cm', 'm', 'in', … (or the metres in one unit)"
        raise notes.error(f"BVH states no length unit; give length_unit={known} or 'auto'")
    if length_unit != "auto":
        return metres_per(length_unit)
    return announced_unit(height(joints), notes)


# --- rows


def _rows(data: bytes, at: int, channels: int, rate: float | None, notes: Notes) -> _Rows:
    frames_match = _FRAMES.match(data, at)
    if frames_match is None or not frames_match[1].isdigit() or len(frames_match[1]) > 18:
        raise notes.error("MOTION without 'Frames:' and their number", _place(data, at))
    time_match = _FRAME_TIME.match(data, frames_match.end())
    if time_match is None:
        raise notes.error("no 'Frame Time:' after 'Frames:'", _place(data, frames_match.end()))
    frames, start = int(frames_match[1]), time_match.end()
    text = time_match[1].decode("ascii", "replace")
    frame_time = parse_number(text)
    if rate is None:
        if np.isnan(frame_time):
            place = _place(data, time_match.start(1))
            raise notes.error(f"Frame Time {text[:40]!r}; expected a number, or give rate", place)
        if not 1e-6 < frame_time < 1e6:
            notes.damaged(f"Frame Time is {text[:40]}; {_FALLBACK:g} Hz assumed, or give rate")
            rate = _FALLBACK
        else:
            rate = infer_rate(text)
            if abs(rate * frame_time - 1.0) > 1e-3:
                notes.odd(f"Frame Time {text} taken for {rate:g} Hz")
    found = tokens(data, start=start)
    words = np.flatnonzero(found.kinds == WORD)
    if len(words) > 0:
        word, line = found.find(data, int(words[0]))
        hint = " (a decimal comma?)" if re.fullmatch(rb"[+-]?\d+,\d*", word) is not None else ""
        raise notes.error(
            f"{word[:40].decode('utf-8', 'replace')!r} is no number{hint}", f"line {line}"
        )
    return _Rows(_frames(found, data, frames, channels, notes), frame_time, rate)


def _place(data: bytes, at: int) -> str:
    feeds = data.count(b"\n", 0, at)
    return f"line {feeds + 1}"


def _frames(found: Tokens, data: bytes, frames: int, channels: int, notes: Notes) -> Array:
    """Return the values as rows, (T, channels), after a look at how lines and counts agree."""
    n, lines = len(found.values), len(found.firsts)
    counts = found.counts
    wrong = np.flatnonzero(counts != channels)
    if len(wrong) > 0 and n == frames * channels:
        notes.odd("frames and lines do not agree, but the number of values is right")
    elif len(wrong) > 0 and not (lines > frames and _is_wrapped(counts, channels)):
        count = int(counts[wrong[0]])
        if wrong[0] < lines - 1 or count > channels or lines == 1:  # not just cut off
            _, line = found.find(data, int(found.firsts[wrong[0]]))
            raise notes.error(f"{count} values; expected {channels}, one a channel", f"line {line}")
    whole, left = divmod(n, max(channels, 1))
    if left > 0:
        notes.damaged(f"the last row has {left} of {channels} values and was dropped")
    if whole + (left > 0) != frames:
        notes.damaged(f"'Frames: {frames}', but there are {whole}; all of them are used")
    return found.values[: whole * channels].reshape(whole, channels)


def _is_wrapped(counts: IntArray, channels: int) -> bool:
    """Tell whether every frame begins on a line of its own and takes several."""
    if counts[0] >= channels:
        return False
    ends = np.cumsum(counts)
    starts = np.arange(channels, ends[-1] + 1, channels)
    return bool(np.isin(starts, ends).all())


def infer_rate(text: str) -> float:
    """Return the rate [Hz] of a Frame Time, which files round: .0083333 is 120 Hz."""
    frame_time = float(text)
    exponent = Decimal(text).as_tuple().exponent
    unit = 10.0**exponent if isinstance(exponent, int) else 0.0
    unit = max(unit, 4e-16 * frame_time)
    # Rounded times first, then those cut off; television only where no whole rate fits as well.
    for tolerance in (0.5 * unit, unit):
        for rates in (_RATES, _TELEVISION):
            best = min(rates, key=lambda rate: abs(1.0 / rate - frame_time))
            error = abs(1.0 / best - frame_time)
            if error <= 1.001 * tolerance and error <= 0.025 * frame_time:
                return float(best)
    return float(f"{1.0 / frame_time:.10g}") if unit < 1e-9 * frame_time else 1.0 / frame_time


# --- coordinates


def _coordinates(
    joints: Sequence[BvhJoint], values: Array, nq: int, metres: float, positions: str
) -> Array:
    """Return the coordinates of the file's own skeleton, (T, nq)."""
    places, scale, base, at = [], [], [], 0
    for joint in joints:
        shifts = 3 if len(joint.positions) > 1 or joint.rotations != "" else 1
        turn = at + (shifts if joint.positions != "" else 0)
        for channel in joint.channels or ():
            if channel.endswith("rotation"):
                places.append(turn)
                scale.append(np.pi / 180.0)
                base.append(0.0)
                turn += 1
                continue
            axis = "XYZ".index(channel[0])
            offset = metres * (joint.offset or ())[axis]
            places.append(at + (axis if shifts == 3 else 0))
            scale.append(metres)
            # Replaced or not: the root's place is absolute, the others' begins at the offset.
            base.append(
                (offset if positions == "add" else 0.0) - (offset if joint.parent >= 0 else 0.0)
            )
        at = turn
    q = np.zeros((len(values), nq))
    q[:, places] = values * scale + base
    return q


def _suspect_positions(joints: Sequence[BvhJoint], values: Array, notes: Notes) -> None:
    """Warn where the positions look as if they were meant to add to the offsets."""
    column, several, suspects = 0, 0, []
    for joint in joints:
        channels = joint.channels or ()
        at = [k for k, channel in enumerate(channels) if channel.endswith("position")]
        offset = [(joint.offset or ())["XYZ".index(channels[k][0])] for k in at]
        if len(values) > 0 and np.linalg.norm(offset) > 0.0:
            several += 1
            start = values[0, [column + k for k in at]]
            if np.linalg.norm(start) < 0.05 * np.linalg.norm(offset):
                suspects.append(joint.name)
        column += len(channels)
    if len(suspects) > 0:
        which = repr(suspects[0]) + (" and others" if len(suspects) > 1 else "")
        notes.assume(
            f"positions of {len(suspects)} of {several} joints ({which}) begin near 0 and their "
            "OFFSET is not: it was replaced; read with positions='add' if they add to it"
        )


def _in_coordinates_of(skeleton: Skeleton, own: Skeleton, q: Array, notes: Notes) -> Array:
    """Return q of the file's own skeleton in the coordinates of another, by names of bones."""
    moving = [bone.name for bone in own.bones if bone.joint.nv > 0]
    wanted = [bone.name for bone in skeleton.bones if bone.joint.nv > 0]
    for names, others, where in ((wanted, own, "file"), (moving, skeleton, "skeleton")):
        lost = [name for name in names if name not in others.bone_names]
        if len(lost) > 0:
            shown = ", ".join(map(repr, lost[:5])) + (", …" if len(lost) > 5 else "")
            raise notes.error(f"bones {shown} move, but the {where} does not have them")
    out = np.zeros((len(q), skeleton.nq))
    for k, bone in enumerate(skeleton.bones, start=1):
        if bone.name not in own.bone_names:
            continue
        index = own.bone_index(bone.name)
        other = own.bones[index]
        if bone.joint.dof_names != other.joint.dof_names or bone.joint.nq != bone.joint.nv:
            raise notes.error(
                f"bone {bone.name!r} has a joint {str(bone.joint)!r} in the skeleton and "
                f"{str(other.joint)!r} in the file; expected the same dofs in the same order"
            )
        if bone.joint.nv > 0 and (bone.pre is not None or bone.post is not None):
            raise notes.error(
                f"bone {bone.name!r} of the skeleton has a rotation before or after its joint; "
                "expected none, as in BVH"
            )
        at, first = int(skeleton.tree.first_q[k]), int(own.tree.first_q[index + 1])
        out[:, at : at + bone.joint.nq] = q[:, first : first + bone.joint.nq]
        step = np.array(other.offset) - np.array(bone.offset)
        if bone.joint.kind in ("free", "translation"):
            out[:, at : at + 3] += step
        elif bone.joint.axis is not None and bone.joint.kind == "prismatic":
            out[:, at] += step @ np.array(bone.joint.axis)
    return out
