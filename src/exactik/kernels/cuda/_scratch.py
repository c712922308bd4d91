"""Scratch of a thread, in its local memory.

Local memory is private to a thread and interleaved by the hardware: where the threads of a warp do
the same with their own arrays, what they load and store lies side by side. So a thread works on a
problem as a core of the CPU does, and memory is read as fast as it can be.

Where an array lies, and how far apart its rows are, the compiler should know. How long an array is,
only the figure tells. So arrays get room for the largest figure of a few capacities; machine code
depends on the capacity, and the rest is known at run time.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from exactik.kernels.calculus.workspace import Workspace
from exactik.kernels.cuda._cuda import IS_SIMULATED
from exactik.kernels.descent.state import STATE_SIZE, DescentState
from exactik.kernels.goals.sums import SUMS_SIZE
from exactik.typing import Array, IndexArray

SIZES = (8, 16, 32, 64, 128, 256, 512)  # capacities: of dofs, coordinates, frames; rows of H; goals
MAX_BYTES = 500_000  # a thread can have 512 kB; some of it is for calls
ROWS, SIX_ROWS, WIDTH, TERMS, AT_MOST_ONE = -1, -2, -3, -4, -5
"""In shapes: as many as there are dofs, coordinates or frames; six times as many; the width of
ancestor rows; as many as there are goals on bones; 0 or 1."""


class OwnGoals(NamedTuple):
    """What a thread keeps of the goals of its problem."""

    origin: Array  #         (3,) of `Goals`
    rows: Array  #           of `Clouds`
    rows_used: IndexArray  # likewise
    floor: Array  #          likewise
    place: Array  #          (nq,) best pose of the descent


class OwnFrame(NamedTuple):
    """What a thread keeps of the goals of a frame that it solves."""

    origin: Array  #         (3,) of `Goals`
    rows: Array  #           of `Clouds`
    rows_used: IndexArray  # likewise
    floor: Array  #          likewise
    point: Array  #          of `Terms`
    target: Array  #         likewise
    weight: Array  #         likewise
    rest: Array  #           of `CoordinateGoals`
    rest_weight: Array  #    likewise
    robust_weight: Array  #  (0 or 1, n) of `FrameTargets`
    place: Array  #          (nq,) best pose of the descent
    previous: Array  #       (nq,) pose of the frame before


class ThreadArrays(NamedTuple):
    """All arrays that a thread needs."""

    work: Workspace
    descent: DescentState
    own: OwnGoals | OwnFrame


class Capacity(NamedTuple):
    """What there is room for."""

    rows: int
    width: int
    driven_rows: int  # of the Hessian of all joints, if dofs follow others; else 0
    terms: int


SHAPES: dict[str, tuple[int, ...]] = {
    "sine": (ROWS,),
    "cosine": (ROWS,),
    "R": (ROWS, 3, 3),
    "origin": (3,),
    "shift": (3,),
    "p": (ROWS, 3),
    "S": (ROWS, 6),
    "sums": (ROWS, SUMS_SIZE),
    "g": (ROWS,),
    "H": (ROWS, WIDTH),
    "joint_q": (ROWS,),
    "joint_dofs": (4, ROWS),
    "joint_H": (ROWS, WIDTH),
    "P": (ROWS, 6),
    "e": (5,),
    "r": (3,),
    "f": (3,),
    "h": (6,),
    "D": (3, 6),
    "X": (6, 6),
    "no_shift": (3,),
    "pair_target": (0, 3),  # goals between bodies are for the CPU
    "pair_turn": (0, 3, 3),
    "pair_weight": (0, 3, 3),
    "pair_axes": (0, 3, 3),
    "pair_sums": (0, SUMS_SIZE),
    "pair_H": (0, 0),
    "on_loop": (1,),
    "loop_bodies": (0, 3),
    "coupling": (0, 8),
    "carried": (0, 8),
    "Y": (0, 8),
    "state": (STATE_SIZE,),
    "lower": (ROWS,),
    "upper": (ROWS,),
    "trial": (ROWS,),
    "step": (ROWS,),
    "rhs": (ROWS,),
    "active_set": (ROWS,),
    "max_curvature": (ROWS,),
    "scale": (ROWS,),
    "L": (ROWS, WIDTH),
    "absorbed": (SIX_ROWS, 8),
    "U": (ROWS, 8),
    "inverse_pivot": (ROWS,),
    "V": (ROWS, 8),
    "best_q": (ROWS,),
    "start_q": (ROWS,),
    "rows": (ROWS, 4, 7),
    "rows_used": (ROWS,),
    "floor": (1,),
    "place": (ROWS,),
    "point": (TERMS, 3),
    "target": (TERMS, 3),
    "weight": (TERMS, 3, 3),
    "rest": (1, ROWS),
    "rest_weight": (1, ROWS),
    "robust_weight": (AT_MOST_ONE, TERMS),
    "previous": (ROWS,),
}
"""Of the arrays of a thread, by name; `path` is (6, WIDTH) in `Workspace`, (WIDTH,) elsewhere."""


class ArrayRoom(NamedTuple):
    """Room for an array of a thread."""

    shape: tuple[int, ...]
    is_given: tuple[bool, ...]  # which of its lengths are known at run time only


def lay_out(like: ThreadArrays, capacity: Capacity) -> tuple[list[list[ArrayRoom]], int]:
    """Return the room of every array, by part and in their order, and what it takes [bytes]."""
    rooms: list[list[ArrayRoom]] = []
    total = 0
    for part in like:
        rooms.append([])
        for name, array in part._asdict().items():
            shape = SHAPES[name] if name != "path" else (6, WIDTH)[2 - array.ndim :]
            assert len(shape) == array.ndim, name
            rows = capacity.driven_rows if name == "joint_H" else capacity.rows
            lengths = {
                ROWS: rows,
                SIX_ROWS: 6 * rows,
                WIDTH: capacity.width,
                TERMS: capacity.terms,
                AT_MOST_ONE: 1,
            }
            room = tuple(lengths.get(n, n) for n in shape)
            assert all(n <= m for n, m in zip(array.shape, room, strict=True)), name
            is_given = tuple(n < 0 and n != WIDTH for n in shape)
            rooms[-1].append(ArrayRoom(shape=room, is_given=is_given))
            total += math.prod(room) * array.itemsize
    return rooms, total


def choose_capacity(like: ThreadArrays) -> Capacity | None:
    """Return a capacity for arrays of these shapes; None if there is none so large."""
    work, own = like.work, like.own
    longest = max(len(work.sine), len(work.S), len(work.R), len(own.rows))
    terms = len(own.point) if isinstance(own, OwnFrame) else 0
    rows, width, terms = (
        min((size for size in SIZES if size >= n), default=None)
        for n in (longest, work.H.shape[1], terms)
    )
    if rows is None or width is None or terms is None:
        return None
    driven_rows = rows if len(work.joint_H) > 0 else 0
    capacity = Capacity(rows=rows, width=width, driven_rows=driven_rows, terms=terms)
    _, total = lay_out(like, capacity)
    return capacity if total <= MAX_BYTES else None


def make_allocator(rooms: list[list[ArrayRoom]]) -> Any:
    """Return what makes the arrays of a thread: allocate(like), `like` of their lengths."""
    if IS_SIMULATED:
        return functools.partial(_allocate_arrays, rooms)
    return _make_intrinsic(rooms)


def _allocate_arrays(rooms: list[list[ArrayRoom]], like: ThreadArrays) -> ThreadArrays:
    parts = []
    for part, part_rooms in zip(like, rooms, strict=True):
        arrays = []
        for array, room in zip(part, part_rooms, strict=True):
            lengths = zip(array.shape, room.shape, room.is_given, strict=True)
            shape = [given if is_given else most for given, most, is_given in lengths]
            arrays.append(np.empty(shape, array.dtype))
        parts.append(type(part)(*arrays))
    return type(like)(*parts)


def _make_intrinsic(rooms: list[list[ArrayRoom]]) -> Any:
    """Return an intrinsic: a function could not return arrays that it makes.

    Each array is allocated by itself. So the compiler knows that what is stored to one changes no
    other, and loads what the next dof needs while it works on this one.
    """
    from llvmlite import ir
    from numba.cuda import cgutils  # pyright: ignore[reportAttributeAccessIssue]
    from numba.cuda import types as numba_types
    from numba.cuda.extending import intrinsic
    from numba.cuda.np.arrayobj import (  # pyright: ignore[reportMissingImports]
        make_array,
        populate_array,
    )

    types: Any = numba_types

    @intrinsic
    def allocate(_, like):
        parts = [
            types.NamedTuple(
                [types.Array(array.dtype, array.ndim, "C") for array in part.types],
                part.instance_class,
            )
            for part in like.types
        ]
        result = types.NamedTuple(parts, like.instance_class)

        def generate(context, builder, signature, arguments):
            def constant(n):
                return context.get_constant(types.intp, n)

            def make_view(room, array_type, model, lengths):
                view = make_array(array_type)(context, builder)
                number = context.get_data_type(array_type.dtype)
                size = context.get_abi_sizeof(number)
                data = cgutils.alloca_once(
                    builder, ir.ArrayType(number, max(math.prod(room.shape), 1))
                )
                given = make_array(model)(context, builder, lengths)
                shape = [
                    builder.extract_value(given.shape, n) if is_given else constant(length)
                    for n, (length, is_given) in enumerate(
                        zip(room.shape, room.is_given, strict=True)
                    )
                ]
                strides, stride = [], constant(size)
                for length in reversed(shape):
                    strides.insert(0, stride)
                    stride = builder.mul(stride, length)
                populate_array(
                    view,
                    data=builder.bitcast(data, view.data.type),
                    shape=shape,
                    strides=strides,
                    itemsize=size,
                    meminfo=None,
                )
                return view._getvalue()

            made = []
            for n, (part, model) in enumerate(zip(parts, like.types, strict=True)):
                given = builder.extract_value(arguments[0], n)
                views = [
                    make_view(room, part.types[i], model.types[i], builder.extract_value(given, i))
                    for i, room in enumerate(rooms[n])
                ]
                made.append(context.make_tuple(builder, part, views))
            return context.make_tuple(builder, result, made)

        return result(like), generate

    return allocate
