"""Columns of tables: coordinates and joint angles, what they are called, which are in degrees.

A dof is called `<bone>.<dof>`. The coordinates of custom joints, as models of OpenSim have them,
have names of their own that are unique in the model, and programs know them by these alone:
`knee_angle_r`, in OpenSim's files of states `/jointset/knee_r/knee_angle_r/value`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactik._registry import find
from exactik.errors import UsageError
from exactik.model import Joint, Skeleton
from exactik.model.functions import Linear
from exactik.model.motion import Motion
from exactik.typing import Array

STATE_SUFFIX = "/value"

AngleColumns = Literal["clinical", "joints", "both"]
"""Joint angles of docs/angles.md, coordinates of the joints such as "shin.ry", or both."""


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
