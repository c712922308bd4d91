"""What numba-cuda hands to NVVM, NVIDIA's compiler: every function once, and loops as they are.

Left to itself, numba-cuda hands over a function as often as there are ways to it in the graph of
calls, three times on average. And NVVM unrolls loops of unknown length, of which these kernels
consist: twice the code for the same work, and it takes twice the time to compile.
"""

from __future__ import annotations

import contextlib
import gc
import re
from collections.abc import Iterator
from typing import Any

from numba.cuda.codegen import (  # noqa: TID253 # pyright: ignore[reportMissingImports]
    CUDACodeLibrary,
    JITCUDACodegen,
)

__all__ = ["keep_loops_rolled", "make_lean"]

NO_UNROLLING = "llvm.loop.unroll.runtime.disable"  # of loops whose length only the run tells

LABEL = re.compile(r'^"?([^\s":]+)"?:')
TARGET = re.compile(r'label %"?([^\s",]+)"?')
METADATA = re.compile(r"^!(\d+) =", re.MULTILINE)


class LeanCodeLibrary(CUDACodeLibrary):
    """Code of a function and of those that it calls."""

    @property
    def modules(self) -> list[Any]:
        """LLVM modules of this and of all linked libraries, each of them once."""
        every = [self._module, *(m for lib in self._linking_libraries for m in lib.modules)]
        return list({id(module): module for module in every}.values())

    @property
    def llvm_strs(self) -> list[str]:
        """Their texts."""
        if self._llvm_strs is None:
            self._llvm_strs = [keep_loops_rolled(str(module)) for module in self.modules]
        return self._llvm_strs


def make_lean(kernel: Any) -> Any:
    """Return a kernel to launch that is compiled with libraries of this kind."""
    compile_as_usual = kernel.compile

    def compile_kernel(signature: Any) -> Any:
        with _lean_libraries():
            return compile_as_usual(signature)

    kernel.compile = compile_kernel
    return kernel


@contextlib.contextmanager
def _lean_libraries() -> Iterator[None]:
    """Let numba-cuda make libraries of this kind, and the garbage collector rest.

    What is made while a kernel is compiled is needed until its end: there is nothing to collect,
    and looking for it again and again takes a fifth of the time.
    """
    usual, collects = JITCUDACodegen._library_class, gc.isenabled()
    JITCUDACodegen._library_class = LeanCodeLibrary
    gc.disable()
    try:
        yield
    finally:
        JITCUDACodegen._library_class = usual
        if collects:
            gc.enable()


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
