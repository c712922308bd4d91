"""Cells of tables in text, and columns: coordinates and joint angles, what they are called.

A dof is called `<bone>.<dof>`. The coordinates of custom joints, as models of OpenSim have them,
have names of their own that are unique in the model, and programs know them by these alone:
`knee_angle_r`, in OpenSim's files of states `/jointset/knee_r/knee_angle_r/value`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactik._registry import find
from exactik.errors import UsageError
from exactik.io._files import make_unique, read_text
from exactik.io._notes import Notes
from exactik.model import Joint, Skeleton
from exactik.model.functions import Linear
from exactik.model.motion import Motion
from exactik.typing import Array

MAX_TIME = 1e12  # [s] beyond which doubles are too coarse to tell a rate
MISSING_CELLS = ("", "nan", "-nan", "null", "none")
DEFAULT_RATE = 100.0  # [Hz] where neither header nor times tell; the most common one
STATE_SUFFIX = "/value"

AngleColumns = Literal["clinical", "joints", "both"]
"""Joint angles of docs/angles.md, coordinates of the joints such as "shin.ry", or both."""


def parse_cell(text: str) -> float | None:
    """Return the number in a cell, NaN if it is empty or says "nan", None if it is no number."""
    text = text.strip()
    if text.lower() in MISSING_CELLS:
        return math.nan
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else math.nan


def parse_row(cells: Sequence[str], notes: Notes, line: int) -> list[float]:
    """Return the numbers in cells; one that holds none is an error that names line and column."""
    try:
        values = list(map(float, cells))  # the fast path: every cell is a plain number
        if math.isfinite(sum(values)):
            return values
    except ValueError:
        pass
    values = []
    for column, cell in enumerate(cells, start=1):
        value = parse_cell(cell)
        if value is None:
            shown = cell.strip()[:40]
            raise notes.error(
                f"expected a number, found {shown!r}", f"line {line}, column {column}"
            )
        values.append(value)
    return values


def split_storage(path: str, notes: Notes, expected: str) -> tuple[list[str], int]:
    """Return the lines of a .mot or .sto file, and the index of the one before the names."""
    lines = read_text(path).split("\n")
    end = next((i for i, line in enumerate(lines) if line.strip().lower() == "endheader"), None)
    if end is None or end + 1 >= len(lines):
        raise notes.error(f"no line endheader; expected {expected}")
    return lines, end


def compare_count(cell: str, count: int, what: str, notes: Notes) -> None:
    """Note that a header states another number of rows or columns than the file has."""
    stated = parse_cell(cell)
    if stated is not None and stated == stated and int(stated) != count:
        notes.flag_damage(f"the header states {int(stated)} {what}, the file has {count}")


def make_marker_names(names: Iterable[str], notes: Notes) -> tuple[str, ...]:
    """Return unique names: empty ones by their column, "*4", repeated ones numbered, "NAME#2"."""
    filled = [name.strip() or f"*{column}" for column, name in enumerate(names)]
    repeated = [name for name, count in Counter(filled).items() if count > 1]
    if len(repeated) > 0:
        shown = ", ".join(repeated[:5])
        notes.remark(f"marker names occur more than once ({shown}); numbered with #2, #3, …")
    return tuple(make_unique(filled))


def blank_missing(positions: Array, zeros_are_missing: bool) -> None:
    """Set all of a marker to NaN where a coordinate is, or where it is at (0, 0, 0), in place."""
    if zeros_are_missing:
        positions[(positions == 0.0).all(axis=2)] = np.nan
    positions[np.isnan(positions).any(axis=2)] = np.nan


def estimate_rate(times: Array, stated: float | None, notes: Notes) -> float:
    """Return the rate [Hz] of frames at these times [s]; what a header states wins if it fits.

    Times are often rounded to a millisecond, so the mean spacing decides; unless a single gap
    spoils it, which the median shows.
    """
    known = times[np.isfinite(times)]
    measured = None
    with np.errstate(over="ignore", invalid="ignore"):  # times may be any double
        span = float(known[-1] - known[0]) if len(known) > 1 else 0.0
        is_too_late = np.abs(known).max(initial=0.0) > MAX_TIME
    if span > 1.0 / MAX_TIME and not is_too_late:
        measured = (len(known) - 1) / span
        median = float(np.median(np.diff(known)))
        # Rounded to a millisecond, 60 Hz are steps of 16 and 17 ms, and the median is neither.
        share_near_median = float(np.mean(np.abs(np.diff(known) - median) < 5e-3 * median))
        if median > 5e-3 and abs(median * measured - 1.0) > 5e-3 and share_near_median > 0.9:
            measured = 1.0 / median
        largest_deviation = np.abs(np.diff(known) * measured - 1.0).max()
        if largest_deviation > 0.5:
            notes.remark("the times of the frames are not even; an even rate is assumed")
    if stated is not None and stated > 0.0 and math.isfinite(stated):
        if measured is not None and abs(measured / stated - 1.0) > 0.02:
            notes.flag_damage(
                f"the header states {stated:g} Hz, the times of the frames give {measured:g} Hz; "
                "the times are trusted"
            )
            return _round_rate(measured)
        return float(stated)
    if measured is None:
        notes.assume(
            f"no rate is stated and the times do not tell; {DEFAULT_RATE:g} Hz is assumed",
            code="rate-assumed",
        )
        return DEFAULT_RATE
    return _round_rate(measured)


def _round_rate(rate: float) -> float:
    """Return a whole rate if this is one but for rounding of times."""
    return float(round(rate)) if abs(rate - round(rate)) < 1e-3 * rate else rate


class Column(NamedTuple):
    """One number of every frame."""

    name: str  # without unit
    unit: str  # "deg", "rad", "m", or empty for a part of a quaternion
    values: Array  # (T,)


class ColumnQuality(NamedTuple):
    """What the values of columns are worth."""

    codes: Mapping[str, NDArray[np.uint8]]  # by the name of a column, else of its bone, (T,)
    words: tuple[str, ...]  # of the codes
    blank: tuple[int, ...] = ()  # codes of values that are left out

    def find(self, column: Column) -> NDArray[np.uint8]:
        """Return the codes of a column, (T,)."""
        bone = column.name.rpartition(".")[0]
        known = self.codes.get(column.name, self.codes.get(bone))
        return np.zeros(len(column.values), dtype=np.uint8) if known is None else known

    def leave_out(self, columns: Sequence[Column]) -> list[Column]:
        """Return columns without what is left out."""
        return [
            column._replace(
                values=np.where(np.isin(self.find(column), self.blank), np.nan, column.values)
            )
            for column in columns
        ]


def list_clinical_columns(motion: Motion, angles: AngleColumns) -> list[Column]:
    """Return the joint angles in degrees; none if they are not asked for.

    Where both kinds are asked for, a figure that is no body has none.
    """
    if angles not in ("clinical", "joints", "both"):
        raise UsageError(f"angles is {angles!r}; expected 'clinical', 'joints' or 'both'")
    if angles == "joints":
        return []
    try:
        found = find("compute_joint_angles")(motion)
    except UsageError:
        if angles == "clinical":
            raise
        return []
    return [Column(name, "deg", found.degrees[:, k]) for k, name in enumerate(found.names)]


class CoordinateColumn(NamedTuple):
    """A coordinate of a skeleton as a column of a table."""

    name: str  # of the column, that of the dof or of the coordinate alone
    dof: str  # name of the dof, "bone.dof"
    q_index: int  # of the coordinate in q; −1 for a dof that follows another
    is_angle: bool  # whether it is in radians, and in degrees where a table is


def list_coordinate_columns(skeleton: Skeleton) -> list[CoordinateColumn]:
    """Return a column for each dof, bone by bone, also for those that follow others."""
    index = dict(zip(skeleton.dof_names, skeleton.plain_q.tolist(), strict=True))
    moving = [bone for bone in skeleton.bones if bone.joint.nv > 0]
    short = Counter(name for bone in moving for name in bone.joint.dof_names)
    by_short_name = all(bone.joint.kind == "custom" for bone in moving) and len(moving) > 0
    columns = []
    for bone in moving:
        for k, name in enumerate(bone.joint.dof_names):
            dof = f"{bone.name}.{name}"
            columns.append(
                CoordinateColumn(
                    name=name if by_short_name and short[name] == 1 else dof,
                    dof=dof,
                    q_index=index.get(dof, -1),
                    is_angle=_is_angle(bone.joint, k),
                )
            )
    return columns


def match_columns(skeleton: Skeleton, names: Sequence[str]) -> dict[int, CoordinateColumn]:
    """Return which columns of a table are which coordinates: number of the column → coordinate."""
    known: dict[str, CoordinateColumn] = {}
    for column in list_coordinate_columns(skeleton):
        known[column.dof] = known[column.name] = column
    matches = {}
    for number, name in enumerate(names):
        if name.endswith(STATE_SUFFIX):
            name = name.removesuffix(STATE_SUFFIX).rpartition("/")[2]
        if name in known:
            matches[number] = known[name]
    return matches


def compute_column(skeleton: Skeleton, column: CoordinateColumn, q: Array) -> Array:
    """Return the values of a coordinate [rad or m], (T,), in poses q, (T, nq)."""
    if column.q_index >= 0:
        return q[:, column.q_index]
    index = dict(zip(skeleton.dof_names, skeleton.plain_q.tolist(), strict=True))
    values: dict[str, Array] = {}
    for coupling in skeleton.couplings:  # each comes after that of its driver
        driver = coupling.driver
        if driver is None:
            values[coupling.driven] = np.full(len(q), float(coupling.function()))
            continue
        source = values[driver] if driver in values else q[:, index[driver]]
        values[coupling.driven] = coupling.function(source)
    return values[column.dof]


def _is_angle(joint: Joint, k: int) -> bool:
    """Whether a dof is an angle; of a custom joint by OpenSim's rule.

    There a coordinate is an angle where it turns directly, with slope ±1. One that turns through
    any other function is "coupled", and its values are the same in degrees and in radians.
    """
    if k not in joint.turning_dofs:
        return False
    if joint.kind != "custom":
        return True
    name, is_angle = joint.coordinates[k], False
    for axes, turning in ((joint.turns, True), (joint.shifts, False)):
        for axis in axes:
            if axis.coordinates == (name,) and isinstance(axis.function, Linear):
                if abs(axis.function.slope) == 1.0:
                    is_angle = turning
    return is_angle
