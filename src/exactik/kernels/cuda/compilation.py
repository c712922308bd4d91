"""Kernels compiled by numba-cuda in a third of its time: the same code, handed over more cheaply.

Left to itself, numba-cuda
- hands a function to NVVM, NVIDIA's compiler, as often as there are ways to it in the graph of
  calls: three times on average;
- lets NVVM unroll loops of unknown length, of which these kernels consist: twice the code for the
  same work, which takes twice the time and runs no faster;
- compares the options of compilations 170,000 times, each time in two dictionaries of all of them;
- searches all rules of `a + b` anew wherever one stands in the code, for the same types;
- compiles all of it to PTX, looks there for names of helpers, and compiles it again to link it;
- stops for the garbage collector, though all that it makes is needed until the end.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import re
from collections.abc import Callable, Iterator
from typing import Any

from numba.core.types.functions import BaseFunction
from numba.cuda.codegen import (  # noqa: TID253 # pyright: ignore[reportMissingImports]
    CUDACodeLibrary,
    JITCUDACodegen,
)
from numba.cuda.core.targetconfig import (  # noqa: TID253 # pyright: ignore[reportMissingImports]
    TargetConfig,
)

NO_UNROLLING = "llvm.loop.unroll.runtime.disable"  # of loops whose length only the run tells

LABEL = re.compile(r'^"?([^\s":]+)"?:')
TARGET = re.compile(r'label %"?([^\s",]+)"?')
METADATA = re.compile(r"^!(\d+) =", re.MULTILINE)


def speed_up_compiling(kernel: Any) -> Any:
    """Return a kernel of numba-cuda that is compiled this way when it is first launched."""
    compile_as_usual = kernel.compile

    def compile_kernel(signature: Any) -> Any:
        with compiling_fast():
            return compile_as_usual(signature)

    kernel.compile = compile_kernel
    return kernel


class LeanCodeLibrary(CUDACodeLibrary):
    """Code of a function and of those that it calls, each of them once and with loops rolled."""

    @property
    def modules(self) -> list[Any]:
        """LLVM modules of this and of all linked libraries."""
        every = [self._module, *(m for lib in self._linking_libraries for m in lib.modules)]
        return list({id(module): module for module in every}.values())

    @property
    def llvm_strs(self) -> list[str]:
        """Their texts."""
        if self._llvm_strs is None:
            self._llvm_strs = [keep_loops_rolled(str(module)) for module in self.modules]
        return self._llvm_strs

    def get_asm_str(self, cc: Any = None) -> str:
        """Return LLVM's texts; numba-cuda only looks for names of helpers to link."""
        return "\n".join(self.llvm_strs)


@contextlib.contextmanager
def compiling_fast() -> Iterator[None]:
    """Exchange what is slow in numba-cuda, and put it back."""
    usual_library, collects = JITCUDACodegen._library_class, gc.isenabled()
    JITCUDACodegen._library_class = LeanCodeLibrary
    TargetConfig.__hash__, TargetConfig.__eq__ = hash_options, have_equal_options
    BaseFunction.get_call_type = remember_call_types()
    gc.disable()
    try:
        yield
    finally:
        JITCUDACodegen._library_class = usual_library
        TargetConfig.__hash__, TargetConfig.__eq__ = _usual_hash, _usual_eq
        BaseFunction.get_call_type = find_call_type
        if collects:
            gc.enable()


_usual_hash, _usual_eq = TargetConfig.__hash__, TargetConfig.__eq__
find_call_type = BaseFunction.get_call_type


def remember_call_types() -> Callable[..., Any]:
    """Return a `BaseFunction.get_call_type` that remembers: function, types → signature."""
    known: dict[Any, Any] = {}

    def get_call_type(function: Any, context: Any, args: Any, kws: Any) -> Any:
        key = id(function), tuple(args), tuple(kws.items())
        if key not in known:
            # With the function, so that its address stays its own.
            known[key] = find_call_type(function, context, args, kws), function
        return known[key][0]

    return get_call_type


def hash_options(options: Any) -> int:
    """Return numba's hash of options, computed once for options of a kind."""
    return _hash_options_of(type(options))


@functools.cache
def _hash_options_of(kind: type) -> int:
    """Return the hash of options, which numba makes of their names alone."""
    return _usual_hash(kind())


def have_equal_options(options: Any, other: Any) -> Any:
    """Return what numba says of the equality of options, without asking for every default."""
    if type(options) is not type(other):
        return _usual_eq(options, other)
    own, others = options._values, other._values
    if own == others:
        return True
    # An option that neither sets has the same default in both.
    return all(getattr(options, name) == getattr(other, name) for name in own.keys() | others)


def keep_loops_rolled(text: str) -> str:
    """Return LLVM's text of a module in which no loop is unrolled that has an unknown length.

    Marks every branch to a block that stands before it or is its own: those that close a loop.
    """
    lines, nodes, seen = [], [], set()
    mark = max(map(int, METADATA.findall(text)), default=-1) + 1
    number = mark
    for line in text.split("\n"):
        if line.startswith("define"):
            seen = set()
        elif label := LABEL.match(line):
            seen.add(label[1])
        elif line.lstrip().startswith("br ") and seen.intersection(TARGET.findall(line)):
            number += 1
            line += f", !llvm.loop !{number}"
            nodes.append(f"!{number} = distinct !{{ !{number}, !{mark} }}")
        lines.append(line)
    if nodes:
        lines += [f'!{mark} = !{{ !"{NO_UNROLLING}" }}', *nodes, ""]
    return "\n".join(lines)
