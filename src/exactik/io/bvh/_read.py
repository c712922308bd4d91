"""Read skeletons and motions from BVH."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import numpy as np

from exactik._text import join_names
from exactik.errors import Advice
from exactik.io._files import (
    decode_text,
    parse_number,
    parse_numbers,
    read_bytes,
    split_lines,
    to_unix_lines,
)
from exactik.io._notes import Notes
from exactik.io._units import assume_unit, metres_per
from exactik.io.bvh._hierarchy import BvhJoint, build_skeleton, measure_height, read_hierarchy
from exactik.io.formats import Content
from exactik.model import Skeleton
from exactik.model.motion import Motion
from exactik.typing import Array

Unit = str | float | None

# "MOTION" may also be the name of a joint; the line after it tells.
MOTION_PATTERN = re.compile(
    rb"(?:^|(?<=[\s}]))MOTION\s+(?=Frames\b)|^[ \t]*MOTION[ \t]*$", re.I | re.M
)
FRAMES_PATTERN = re.compile(rb"\s*Frames[ \t]*:?[ \t]*(\S+)", re.I)
FRAME_TIME_PATTERN = re.compile(rb"\s*Frame[ \t]*Time[ \t]*:?[ \t]*(\S+)", re.I)

# Rates that cameras and programs use [Hz], and those of television, which files round to.
# fmt: off
COMMON_RATES = (
    1, 2, 5, 6, 8, 10, 12, 12.5, 15, 16, 18, 20, 24, 25, 30, 40, 48, 50, 60, 72, 75, 80, 90, 100,
    120, 125, 128, 144, 150, 160, 180, 200, 240, 250, 256, 300, 360, 400, 480, 500, 600, 720, 960,
    1000, 1200, 2000,
)
# fmt: on
TELEVISION_RATES = (24000 / 1001, 30000 / 1001, 60000 / 1001, 120000 / 1001)
MAX_LISTED_BONES = 5  # of those that the file or the skeleton lacks
FALLBACK_RATE = 30.0  # [Hz] where a file says that no time passes


class MotionRows(NamedTuple):
    """The lower half of a file."""

    values: Array  # of the channels, as the file has them, (T, channels)
    frame_time: float  # [s] as the file has it
    rate: float  # [Hz] that is meant by it


def read_bvh_content(path: str, notes: Notes) -> Content:
    """Return what a BVH file holds; one without MOTION is a skeleton."""
    has_motion = MOTION_PATTERN.search(to_unix_lines(read_bytes(path))) is not None
    return "motion" if has_motion else "skeleton"


def read_bvh_skeleton(path: str, notes: Notes, length_unit: Unit) -> Skeleton:
    """Return the skeleton of a BVH file; its root moves as the channels say, never otherwise."""
    joints, _, _ = _read_hierarchy_text(to_unix_lines(read_bytes(path)), notes)
    return build_skeleton(
        joints, _choose_metres(joints, length_unit, notes), Path(path).stem, notes
    )


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
        skeleton: None for the one in the file; else one whose bones have the same names and dofs.
        length_unit: as for `load_skeleton`.
        rate: [Hz] in place of the file's.
        positions: whether position channels "replace" the OFFSET or "add" to it.
    """
    data = to_unix_lines(read_bytes(path))
    joints, motion_start, encoding = _read_hierarchy_text(data, notes)
    if motion_start < 0:
        raise notes.error(
            "no MOTION section, only a skeleton, which load_skeleton reads", code="no-motion"
        )
    metres = _choose_metres(joints, length_unit, notes)
    file_skeleton = build_skeleton(joints, metres, Path(path).stem, notes)
    rows = _read_rows(data, motion_start, sum(len(j.channels or ()) for j in joints), rate, notes)
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is noted below
        if positions == "replace":
            _warn_of_additive_positions(joints, rows.values, notes)
        q = _convert_to_coordinates(joints, rows.values, file_skeleton.nq, metres, positions)
        if skeleton is not None:
            q = _match_coordinates(skeleton, file_skeleton, q, notes)
    missing = ~np.isfinite(q).all(axis=1)
    if missing.any():
        q[missing] = np.nan
        frames = f"frame {np.argmax(missing) + 1}"
        frames += f" and {missing.sum() - 1} others" if missing.sum() > 1 else ""
        notes.flag_damage(f"values in {frames} are not finite; all of such a frame is missing")
    metadata = {
        "length_unit": metres,
        "frame_time": rows.frame_time,
        "positions": positions,
        "encoding": encoding,
    }
    return Motion(
        file_skeleton if skeleton is None else skeleton,
        q,
        rows.rate,
        source=path,
        metadata=metadata,
        notes=notes.all,
    )


def _read_hierarchy_text(data: bytes, notes: Notes) -> tuple[list[BvhJoint], int, str]:
    """Return the joints, the byte after the word MOTION (−1 without one), and the encoding."""
    match = MOTION_PATTERN.search(data)
    text, encoding = decode_text(data if match is None else data[: match.start()])
    joints = read_hierarchy(text, notes)
    if encoding != "utf-8-sig":
        notes.remark(f"names are read as {encoding}, for they are not UTF-8")
    return joints, -1 if match is None else match.end(), encoding.removesuffix("-sig")


def _choose_metres(joints: Sequence[BvhJoint], length_unit: Unit, notes: Notes) -> float:
    if length_unit is None:
        known = "'cm', 'm', 'in', … (or the metres in one unit)"
        raise notes.error(
            "BVH states no length unit",
            code="unit-missing",
            advice=Advice("; give ", "length_unit", after=f"={known} or 'auto'"),
        )
    if length_unit != "auto":
        return metres_per(length_unit)
    return assume_unit(measure_height(joints), notes)


# --- rows


def _read_rows(
    data: bytes, motion_start: int, channels: int, rate: float | None, notes: Notes
) -> MotionRows:
    frames_match = FRAMES_PATTERN.match(data, motion_start)
    if frames_match is None or not frames_match[1].isdigit() or len(frames_match[1]) > 18:
        raise notes.error("MOTION without 'Frames:' and their number", _locate(data, motion_start))
    time_match = FRAME_TIME_PATTERN.match(data, frames_match.end())
    if time_match is None:
        raise notes.error("no 'Frame Time:' after 'Frames:'", _locate(data, frames_match.end()))
    frames, start = int(frames_match[1]), time_match.end()
    text = time_match[1].decode("ascii", "replace")
    frame_time = parse_number(text)
    if rate is None:
        if np.isnan(frame_time):
            place = _locate(data, time_match.start(1))
            raise notes.error(
                f"Frame Time {text[:40]!r}; expected a number",
                place,
                code="rate-missing",
                advice=Advice(", or give ", "rate"),
            )
        if not 1e-6 < frame_time < 1e6:
            notes.flag_damage(
                f"Frame Time is {text[:40]}; {FALLBACK_RATE:g} Hz assumed",
                code="rate-assumed",
                advice=Advice(", or give ", "rate"),
            )
            rate = FALLBACK_RATE
        else:
            rate = infer_rate(text)
            if abs(rate * frame_time - 1.0) > 1e-3:
                notes.remark(f"Frame Time {text} taken for {rate:g} Hz")
    values = _read_values(data, start, frames, channels, notes)
    return MotionRows(values=values, frame_time=frame_time, rate=rate)


def _locate(data: bytes, offset: int) -> str:
    line = data.count(b"\n", 0, offset) + 1
    return f"line {line}"


def _read_values(data: bytes, start: int, frames: int, channels: int, notes: Notes) -> Array:
    """Return the values as rows, (T, channels), if lines, counts and channels agree."""
    values, counts, places = list[float](), list[int](), list[int]()
    for line, words in split_lines(data, start):
        numbers = parse_numbers(words)
        if numbers is None:
            word = next(word for word in words if parse_numbers([word]) is None)
            is_comma = re.fullmatch(rb"[+-]?\d+,\d*", word) is not None
            hint = " (a decimal comma?)" if is_comma else ""
            text = f"{word[:40].decode('utf-8', 'replace')!r} is no number{hint}"
            raise notes.error(text, f"line {line}")
        values += numbers
        counts.append(len(words))
        places.append(line)
    n, lines = len(values), len(counts)
    wrong = [k for k, count in enumerate(counts) if count != channels]
    if len(wrong) > 0 and n == frames * channels:
        notes.remark("frames and lines do not agree, but the number of values is right")
    elif len(wrong) > 0 and not (lines > frames and _is_wrapped(counts, channels)):
        count = counts[wrong[0]]
        if wrong[0] < lines - 1 or count > channels or lines == 1:  # not just cut off
            text = f"{count} values; expected {channels}, one a channel"
            raise notes.error(text, f"line {places[wrong[0]]}")
    complete, remainder = divmod(n, max(channels, 1))
    if remainder > 0:
        notes.flag_damage(f"the last row has {remainder} of {channels} values and was dropped")
    if complete + (remainder > 0) != frames:
        notes.flag_damage(f"'Frames: {frames}', but there are {complete}; all of them are used")
    return np.array(values[: complete * channels]).reshape(complete, channels)


def _is_wrapped(counts: Sequence[int], channels: int) -> bool:
    """Return whether every frame begins on a new line and takes several."""
    if counts[0] >= channels:
        return False
    ends = np.cumsum(counts)
    starts = np.arange(channels, ends[-1] + 1, channels)
    return bool(np.isin(starts, ends).all())


def infer_rate(text: str) -> float:
    """Return the rate [Hz] of a Frame Time, which files round: .0083333 is 120 Hz."""
    frame_time = float(text)
    exponent = Decimal(text).as_tuple().exponent
    last_digit = 10.0**exponent if isinstance(exponent, int) else 0.0
    last_digit = max(last_digit, 4e-16 * frame_time)
    # Rounded times first, then those cut off; television only where no whole rate fits as well.
    for tolerance in (0.5 * last_digit, last_digit):
        for rates in (COMMON_RATES, TELEVISION_RATES):
            best = min(rates, key=lambda rate: abs(1.0 / rate - frame_time))
            error = abs(1.0 / best - frame_time)
            if error <= 1.001 * tolerance and error <= 0.025 * frame_time:
                return float(best)
    is_precise = last_digit < 1e-9 * frame_time
    return float(f"{1.0 / frame_time:.10g}") if is_precise else 1.0 / frame_time


# --- coordinates


def _convert_to_coordinates(
    joints: Sequence[BvhJoint], values: Array, nq: int, metres: float, positions: str
) -> Array:
    """Return the coordinates of the file's skeleton, (T, nq): q = scale · value + base."""
    q_index, scale, base, first = [], [], [], 0
    for joint in joints:
        shift_count = 3 if len(joint.position_axes) > 1 or joint.rotation_axes != "" else 1
        next_angle = first + (shift_count if joint.position_axes != "" else 0)
        for channel in joint.channels or ():
            if channel.endswith("rotation"):
                q_index.append(next_angle)
                scale.append(np.pi / 180.0)
                base.append(0.0)
                next_angle += 1
                continue
            axis = "XYZ".index(channel[0])
            offset = metres * (joint.offset or ())[axis]
            q_index.append(first + (axis if shift_count == 3 else 0))
            scale.append(metres)
            # In both readings a root's position is absolute, others count from the offset.
            base.append(
                (offset if positions == "add" else 0.0) - (offset if joint.parent >= 0 else 0.0)
            )
        first = next_angle
    q = np.zeros((len(values), nq))
    q[:, q_index] = values * scale + base
    return q


def _warn_of_additive_positions(joints: Sequence[BvhJoint], values: Array, notes: Notes) -> None:
    """Warn where the positions look as if they were meant to add to the offsets."""
    first_column, candidates, suspects = 0, 0, []
    for joint in joints:
        channels = joint.channels or ()
        shifts = [k for k, channel in enumerate(channels) if channel.endswith("position")]
        offset = [(joint.offset or ())["XYZ".index(channels[k][0])] for k in shifts]
        if len(values) > 0 and np.linalg.norm(offset) > 0.0:
            candidates += 1
            start = values[0, [first_column + k for k in shifts]]
            if np.linalg.norm(start) < 0.05 * np.linalg.norm(offset):
                suspects.append(joint.name)
        first_column += len(channels)
    if len(suspects) > 0:
        which = repr(suspects[0]) + (" and others" if len(suspects) > 1 else "")
        notes.assume(
            f"positions of {len(suspects)} of {candidates} joints ({which}) begin near 0 and their "
            "OFFSET is not: it was replaced",
            code="positions-ambiguous",
            advice=Advice("; read with ", "positions", "add", " if they add to it"),
        )


def _match_coordinates(
    skeleton: Skeleton, file_skeleton: Skeleton, q: Array, notes: Notes
) -> Array:
    """Return q of the file's skeleton in the coordinates of another, by names of bones."""
    for mover, other, where in (
        (skeleton, file_skeleton, "file"),
        (file_skeleton, skeleton, "skeleton"),
    ):
        names = [bone.name for bone in mover.bones if bone.joint.nv > 0]
        absent = [name for name in names if name not in other.bone_names]
        if len(absent) > 0:
            shown = join_names(list(map(repr, absent)), MAX_LISTED_BONES, last=", ", rest=", …")
            raise notes.error(f"bones {shown} move, but the {where} does not have them")
    first_q = skeleton.tree.joint_q  # dofs that follow others are read, and left out at the end
    out = np.zeros((len(q), int(first_q[-1])))
    for k, bone in enumerate(skeleton.bones, start=1):
        if bone.name not in file_skeleton.bone_names:
            continue
        index = file_skeleton.bone_index(bone.name)
        file_bone = file_skeleton.bones[index]
        if bone.joint.dof_names != file_bone.joint.dof_names or bone.joint.nq != bone.joint.nv:
            raise notes.error(
                f"bone {bone.name!r} has a joint {str(bone.joint)!r} in the skeleton and "
                f"{str(file_bone.joint)!r} in the file; expected the same dofs in the same order"
            )
        if bone.joint.nv > 0 and (bone.pre is not None or bone.post is not None):
            raise notes.error(
                f"bone {bone.name!r} of the skeleton has a rotation before or after its joint; "
                "expected none, as in BVH"
            )
        target, source = int(first_q[k]), int(file_skeleton.tree.first_q[index + 1])
        out[:, target : target + bone.joint.nq] = q[:, source : source + bone.joint.nq]
        shift = np.array(file_bone.offset) - np.array(bone.offset)
        for i, axis in enumerate(bone.joint.shift_axes):
            out[:, target + i] += shift @ np.array(axis)
    return out[:, skeleton.free_coordinates]
