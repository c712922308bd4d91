"""What the compiler makes of `vec8` and of the cycle counter: instructions of LLVM's.

Numba keeps numbers apart, each in a register of its own. Vectors of eight take one or two registers
and one instruction where eight numbers took as many. This module is loaded before Numba compiles.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.extending import lower_builtin, register_model, type_callable

from exactik.kernels.descent.cycle_counter import read_cycle_counter
from exactik.kernels.linear.vec8 import (
    LENGTH,
    add_scaled_vec8,
    add_vec8,
    dot_vec8,
    load_six,
    load_vec8,
    make_vec8,
    replace_entry,
    scale_vec8,
    store_six,
    store_vec8,
    vec8_entry,
)


class _Vec8Type(types.Type):
    """What Numba takes a vec8 for."""


@register_model(_Vec8Type)
class _Vec8Model(models.PrimitiveModel):
    """A vec8 as a value of LLVM's."""

    def __init__(self, manager: Any, vec8: _Vec8Type):
        super().__init__(manager, vec8, VECTOR)


VEC8 = _Vec8Type("vec8")
NUMBER, INDEX = ir.DoubleType(), ir.IntType(32)
VECTOR = ir.VectorType(NUMBER, LENGTH)
FLAGS = ("contract", "nsz")  # of `compile.jit`, those that matter here


def _compile_as(
    function: Callable, result: types.Type, *arguments: type[types.Type]
) -> Callable[[Callable], Callable]:
    """Decorate what generates the instructions of a function, called with builder and values."""

    def decorate(generate: Callable) -> Callable:
        def lower(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            if issubclass(arguments[0], types.Array):
                row = _find_row(context, builder, signature, values)
                values = (row, *values[2:])
            made = generate(builder, *values)
            return context.get_dummy_value() if result is types.none else made

        def find_type(*given: types.Type) -> types.Type:
            return result

        vars(find_type)["__signature__"] = inspect.signature(function)  # by which Numba calls it
        type_callable(function)(lambda context: find_type)
        lower_builtin(function, *arguments)(lower)
        return generate

    return decorate


def _find_row(context: Any, builder: Any, signature: Any, values: Any) -> ir.Value:
    """Return the address of the first number of a row."""
    kind, index = signature.args[:2]
    array = context.make_array(kind)(context, builder, values[0])
    place = [context.cast(builder, values[1], index, types.intp), ir.Constant(ir.IntType(64), 0)]
    return cgutils.get_item_pointer(context, builder, kind, array, place, wraparound=False)


def _constants(kind: ir.Type, *numbers: float) -> ir.Constant:
    vector = ir.VectorType(kind, len(numbers))
    return ir.Constant(vector, [ir.Constant(kind, number) for number in numbers])


def _take(builder: Any, x: ir.Value, *entries: int) -> ir.Value:
    """Return these entries of x."""
    return builder.shuffle_vector(x, x, _constants(INDEX, *entries))


def _repeat(builder: Any, a: ir.Value) -> ir.Value:
    """Return (a, a, …)."""
    first = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), a, INDEX(0))
    return _take(builder, first, *(0,) * LENGTH)


def _parts_of_six(builder: Any, row: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Return the addresses of four numbers and of two, as vectors."""
    two = builder.gep(row, [INDEX(4)])
    four = builder.bitcast(row, ir.VectorType(NUMBER, 4).as_pointer())
    return four, builder.bitcast(two, ir.VectorType(NUMBER, 2).as_pointer())


@_compile_as(make_vec8, VEC8, *(types.Float,) * 6)
def _make(builder: Any, *numbers: ir.Value) -> ir.Value:
    vec8 = _constants(NUMBER, *(0.0,) * LENGTH)
    for c, number in enumerate(numbers):
        vec8 = builder.insert_element(vec8, number, INDEX(c))
    return vec8


@_compile_as(load_vec8, VEC8, types.Array, types.Integer)
def _load(builder: Any, row: ir.Value) -> ir.Value:
    return builder.load(builder.bitcast(row, VECTOR.as_pointer()), align=8)


@_compile_as(load_six, VEC8, types.Array, types.Integer)
def _load_six(builder: Any, row: ir.Value) -> ir.Value:
    four, two = (builder.load(part, align=8) for part in _parts_of_six(builder, row))
    zeros = _constants(NUMBER, 0.0, 0.0)
    rest = builder.shuffle_vector(two, zeros, _constants(INDEX, 0, 1, 2, 3))
    return builder.shuffle_vector(four, rest, _constants(INDEX, *range(LENGTH)))


@_compile_as(store_vec8, types.none, types.Array, types.Integer, _Vec8Type)
def _store(builder: Any, row: ir.Value, x: ir.Value) -> None:
    builder.store(x, builder.bitcast(row, VECTOR.as_pointer()), align=8)


@_compile_as(store_six, types.none, types.Array, types.Integer, _Vec8Type)
def _store_six(builder: Any, row: ir.Value, x: ir.Value) -> None:
    four, two = _parts_of_six(builder, row)
    builder.store(_take(builder, x, 0, 1, 2, 3), four, align=8)
    builder.store(_take(builder, x, 4, 5), two, align=8)


@_compile_as(vec8_entry, types.float64, _Vec8Type, types.Integer)
def _entry(builder: Any, x: ir.Value, c: ir.Value) -> ir.Value:
    return builder.extract_element(x, c)


@_compile_as(replace_entry, VEC8, _Vec8Type, types.Integer, types.Float)
def _replace(builder: Any, x: ir.Value, c: ir.Value, a: ir.Value) -> ir.Value:
    return builder.insert_element(x, a, c)


@_compile_as(scale_vec8, VEC8, types.Float, _Vec8Type)
def _scale(builder: Any, a: ir.Value, x: ir.Value) -> ir.Value:
    return builder.fmul(_repeat(builder, a), x, flags=FLAGS)


@_compile_as(add_vec8, VEC8, _Vec8Type, _Vec8Type)
def _add(builder: Any, x: ir.Value, y: ir.Value) -> ir.Value:
    return builder.fadd(x, y, flags=FLAGS)


@_compile_as(add_scaled_vec8, VEC8, _Vec8Type, types.Float, _Vec8Type)
def _add_scaled(builder: Any, x: ir.Value, a: ir.Value, y: ir.Value) -> ir.Value:
    return builder.fadd(x, _scale(builder, a, y), flags=FLAGS)


@_compile_as(dot_vec8, types.float64, _Vec8Type, _Vec8Type)
def _dot(builder: Any, x: ir.Value, y: ir.Value) -> ir.Value:
    products = builder.fmul(x, y, flags=FLAGS)
    while products.type.count > 1:  # halves onto each other
        half = products.type.count // 2
        first = _take(builder, products, *range(half))
        second = _take(builder, products, *range(half, 2 * half))
        products = builder.fadd(first, second, flags=FLAGS)
    return builder.extract_element(products, INDEX(0))


@type_callable(read_cycle_counter)
def _type_of_counter(context: Any) -> Callable[[], types.Type]:
    return lambda: types.int64


@lower_builtin(read_cycle_counter)
def _read_counter(context: Any, builder: Any, signature: Any, values: Any) -> ir.Value:
    function = ir.FunctionType(ir.IntType(64), [])
    return builder.call(builder.module.declare_intrinsic("llvm.readcyclecounter", (), function), [])
