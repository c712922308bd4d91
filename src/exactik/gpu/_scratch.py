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

from exactik.gpu._cuda import IS_SIMULATED
from exactik.kernels.calculus.sums import SUMS_SIZE
from exactik.kernels.calculus.workspace import Workspace
from exactik.kernels.descent.state import STATE_SIZE, DescentState
from exactik.typing import Array, IndexArray

__all__ = ["Capacity", "OwnGoals", "ThreadArrays", "choose_capacity", "lay_out", "make_carver"]

SIZES = (8, 16, 32, 64, 128, 256, 512)  # capacities: of dofs, coordinates, frames; of rows of H
MAX_NUMBERS = 65_536  # 512 kB, all that a thread can have
ROWS, SIX_ROWS, WIDTH = -1, -2, -3
"""In shapes: as many as there are dofs, coordinates or frames; six times as many; the width of
ancestor rows."""


class OwnGoals(NamedTuple):
    """What a thread keeps of the goals of its problem."""

    origin: Array  #         (3,) of `Goals`
    rows: Array  #           of `Clouds`
    rows_used: IndexArray  # likewise
    floor: Array  #          likewise
    place: Array  #          (nq,) best pose of the descent


class ThreadArrays(NamedTuple):
    """All arrays that a thread needs."""

    work: Workspace
    descent: DescentState
    own: OwnGoals


class Capacity(NamedTuple):
    """What there is room for."""

    rows: int
    width: int
    driven_rows: int  # of the Hessian of all joints, if dofs follow others; else 0


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
    "e": (3,),
    "r": (3,),
    "f": (3,),
    "h": (6,),
    "D": (3, 6),
    "X": (6, 6),
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
}
"""Of the arrays of a thread, by name; `path` is (6, WIDTH) in `Workspace`, (WIDTH,) elsewhere."""


class ArrayRoom(NamedTuple):
    """Where an array lies in the scratch of a thread."""

    start: int  # in units of 8 bytes
    shape: tuple[int, ...]  # that there is room for
    in_rows: tuple[bool, ...]  # which of its lengths are known at run time only


def lay_out(like: ThreadArrays, capacity: Capacity) -> tuple[list[list[ArrayRoom]], int]:
    """Return the room of every array, by part and in their order, and how much they take."""
    places, end = [], 0
    for part in like:
        places.append([])
        for name, array in part._asdict().items():
            shape = SHAPES[name] if name != "path" else (6, WIDTH)[2 - array.ndim :]
            assert len(shape) == array.ndim, name
            rows = capacity.driven_rows if name == "joint_H" else capacity.rows
            lengths = {ROWS: rows, SIX_ROWS: 6 * rows, WIDTH: capacity.width}
            room = tuple(lengths.get(n, n) for n in shape)
            assert all(n <= m for n, m in zip(array.shape, room, strict=True)), name
            places[-1].append(
                ArrayRoom(
                    start=end, shape=room, in_rows=tuple(n in (ROWS, SIX_ROWS) for n in shape)
                )
            )
            end += -(-math.prod(room) * array.itemsize // 8)
    return places, end


def choose_capacity(like: ThreadArrays) -> Capacity | None:
    """Return a capacity for arrays of these shapes; None if there is none so large."""
    work, own = like.work, like.own
    longest = max(len(work.sine), len(work.S), len(work.R), len(own.rows))
    rows, width = (
        min((size for size in SIZES if size >= n), default=None) for n in (longest, work.H.shape[1])
    )
    if rows is None or width is None:
        return None
    driven_rows = rows if len(work.joint_H) > 0 else 0
    capacity = Capacity(rows=rows, width=width, driven_rows=driven_rows)
    _, total = lay_out(like, capacity)
    return capacity if total <= MAX_NUMBERS else None


def make_carver(places: list[list[ArrayRoom]]) -> Any:
    """Return what makes the arrays of a thread: carve(scratch, like), `like` of their lengths."""
    if IS_SIMULATED:
        return functools.partial(_carve_views, places)
    return _make_intrinsic(places)


def _carve_views(places: list[list[ArrayRoom]], scratch: Any, like: ThreadArrays) -> ThreadArrays:
    parts = []
    for part, part_places in zip(like, places, strict=True):
        views = []
        for array, place in zip(part, part_places, strict=True):
            end = place.start + -(-math.prod(place.shape) * array.dtype.itemsize // 8)
            lengths = zip(array.shape, place.shape, place.in_rows, strict=True)
            shape = [n if in_rows else room for n, room, in_rows in lengths]
            flat = scratch[place.start : end].view(array.dtype)[: math.prod(shape)]
            views.append(flat.reshape(shape))
        parts.append(type(part)(*views))
    return type(like)(*parts)


def _make_intrinsic(places: list[list[ArrayRoom]]) -> Any:
    from numba.cuda import types as numba_types
    from numba.cuda.extending import intrinsic
    from numba.cuda.np.arrayobj import (  # pyright: ignore[reportMissingImports]
        make_array,
        populate_array,
    )

    types: Any = numba_types

    @intrinsic
    def carve(_, scratch, like):
        """A function could not return views of its argument; the code of an intrinsic can."""
        parts = [
            types.NamedTuple(
                [types.Array(array.dtype, array.ndim, "C") for array in part.types],
                part.instance_class,
            )
            for part in like.types
        ]
        result = types.NamedTuple(parts, like.instance_class)

        def generate(context, builder, signature, arguments):
            data = make_array(scratch)(context, builder, arguments[0]).data

            def constant(n):
                return context.get_constant(types.intp, n)

            def make_view(place, array_type, model, lengths):
                view = make_array(array_type)(context, builder)
                size = context.get_abi_sizeof(context.get_data_type(array_type.dtype))
                given = make_array(model)(context, builder, lengths)
                shape = [constant(n) for n in place.shape]
                for n, in_rows in enumerate(place.in_rows):
                    shape[n] = builder.extract_value(given.shape, n) if in_rows else shape[n]
                strides, stride = [], constant(size)
                for length in reversed(shape):
                    strides.insert(0, stride)
                    stride = builder.mul(stride, length)
                start = builder.gep(data, [constant(place.start)])
                populate_array(
                    view,
                    data=builder.bitcast(start, view.data.type),
                    shape=shape,
                    strides=strides,
                    itemsize=size,
                    meminfo=None,
                )
                return view._getvalue()

            made = []
            for n, (part, model) in enumerate(zip(parts, like.types, strict=True)):
                given = builder.extract_value(arguments[1], n)
                views = [
                    make_view(place, part.types[i], model.types[i], builder.extract_value(given, i))
                    for i, place in enumerate(places[n])
                ]
                made.append(context.make_tuple(builder, part, views))
            return context.make_tuple(builder, result, made)

        return result(scratch, like), generate

    return carve
