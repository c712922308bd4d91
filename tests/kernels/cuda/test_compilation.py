"""What is handed to NVIDIA's compiler, as far as it can be seen without a GPU."""

from __future__ import annotations

import types
from typing import Any

import pytest
from llvmlite import binding, ir
from numba import float64, int64
from numba.core.types.functions import BaseFunction

pytest.importorskip("numba.cuda.codegen", reason="needs numba-cuda")

from exactik.kernels.cuda import compilation


def make_loops(count: int) -> str:
    """Return LLVM's text of a function with loops in a row, each of n rounds, and a branch."""
    module = ir.Module()
    integer = ir.IntType(64)
    function = ir.Function(module, ir.FunctionType(integer, [integer]), "sum")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    place = builder.alloca(integer)
    for _ in range(count):
        body, after = function.append_basic_block("body"), function.append_basic_block("after")
        builder.branch(body)
        builder.position_at_end(body)
        total = builder.add(builder.load(place), function.args[0])
        builder.store(total, place)
        builder.cbranch(builder.icmp_signed("<", total, ir.Constant(integer, 99)), body, after)
        builder.position_at_end(after)
    builder.ret(builder.load(place))
    module.add_named_metadata("kept", module.add_metadata(["of the module"]))
    return str(module)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_every_loop_is_marked_and_nothing_else(count: int) -> None:
    text = compilation.keep_loops_rolled(make_loops(count))
    binding.parse_assembly(text).verify()  # the numbers of the marks are free, their form is right
    assert text.count("!llvm.loop !") == count
    assert text.count("= distinct ") == count
    assert text.count(compilation.NO_UNROLLING) == min(count, 1)
    plain = [line.split(", !llvm.loop")[0] for line in text.splitlines()]
    assert [line for line in make_loops(count).splitlines() if line not in plain] == []


def test_options_are_equal_as_numba_says() -> None:
    flags = pytest.importorskip("numba.cuda.flags")
    plain, same, other = flags.Flags(), flags.Flags(), flags.Flags()
    same.fastmath = plain.fastmath  # set, to what it is by default
    other.forceinline = True
    for a in (plain, same, other):
        assert compilation.hash_options(a) == hash(a)
        for b in (plain, same, other, 3):
            assert (compilation.have_equal_options(a, b) is True) == (a == b)


def test_what_is_switched_is_switched_back() -> None:
    from numba.cuda.codegen import (  # pyright: ignore[reportMissingImports]
        JITCUDACodegen,
    )

    usual = JITCUDACodegen._library_class, BaseFunction.get_call_type
    with pytest.raises(ZeroDivisionError), compilation.compiling_fast():
        assert JITCUDACodegen._library_class is compilation.LeanCodeLibrary
        assert BaseFunction.get_call_type is not usual[1]
        raise ZeroDivisionError
    assert (JITCUDACodegen._library_class, BaseFunction.get_call_type) == usual


def test_signatures_are_remembered_by_function_and_types() -> None:
    context = types.SimpleNamespace(calls=0)

    def find(function: Any, context: Any, args: Any, kws: Any) -> tuple[Any, ...]:
        context.calls += 1
        return function, args, tuple(kws)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compilation, "find_call_type", find)
        get = compilation.remember_call_types()
        plus, minus = object(), object()
        asked = [(f, a) for f in (plus, minus) for a in ((int64,), (float64,), (int64, int64))]
        for function, args in 2 * asked:
            assert get(function, context, args, {}) == (function, args, ())
    assert context.calls == len(asked)
