"""Tiered execution: the interpreter for the first poses, machine code as soon as it is there.

    compiled_or_interpreted(kernel.evaluate)(tree, goals, ...)

Compiling what solves a pose takes most of a minute, once per installation. Where nothing is in the
cache yet, another process compiles (`exactik.recordings.precompile`), and calls for a few poses are
interpreted until it is done. Long work waits for the compiler.

With EXACTIK_INTERPRET=0 in the environment every call waits. Results are then the same to the last
bit in every run.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from exactik.compile import has_machine_code, interpret, is_cached

MAX_INTERPRETED_POSES = 20
"""Poses that a call may be about and be interpreted: some seconds, less than the compiler takes."""

_compiled: set[Callable[..., Any]] = set()
_interpreted: dict[Callable[..., Any], Callable[..., Any]] = {}
_compilers: list[subprocess.Popen[bytes]] = []  # at most one


def compiled_or_interpreted(kernel: Callable[..., Any], poses: int = 1) -> Callable[..., Any]:
    """Return what to call for a compiled function: itself, or for now its interpreted twin.

    Args:
        kernel: function made by `jit` or one of its relatives.
        poses: how many poses the call is about.
    """
    if kernel in _compiled or poses > MAX_INTERPRETED_POSES:
        return kernel
    if kernel not in _interpreted and _must_be_compiled(kernel):
        _interpreted[kernel] = interpret(kernel)
        if not _compilers:
            _compilers.append(_start_compiler())
    compiling = len(_compilers) > 0 and _compilers[0].poll() is None
    if kernel in _interpreted and compiling and not has_machine_code(kernel):
        return _interpreted[kernel]
    _compiled.add(kernel)
    return kernel


def lacks_machine_code(kernel: Callable[..., Any]) -> bool:
    """Return whether machine code of a function could be kept, and is not yet."""
    return is_cached(kernel) is False


def _must_be_compiled(kernel: Callable[..., Any]) -> bool:
    """Whether the function has no machine code yet, and another process can make it."""
    asked = os.environ.get("EXACTIK_INTERPRET", "1") != "0"
    # An application with Python inside cannot be started as an interpreter.
    startable = Path(sys.executable or "").name.startswith("python")
    in_python = not hasattr(kernel, "py_func")  # Numba's compiler is switched off
    return asked and startable and not in_python and lacks_machine_code(kernel)


def _start_compiler() -> subprocess.Popen[bytes]:
    """Start the process that compiles; it goes on to its end if this one ends before."""
    nowhere = subprocess.DEVNULL
    command = [sys.executable, "-m", "exactik.recordings.precompile"]
    return subprocess.Popen(
        command, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True
    )
