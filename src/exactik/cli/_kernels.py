"""Kernels made ready before work begins, so that no progress bar stands still for them.

What solves a recording takes most of a minute to compile, once. While this process compiles the
tracker, a second one compiles other kernels; each finds in the cache what the other has done.
"""

from __future__ import annotations

import os
import subprocess
import sys

from exactik.cli._app import compiling
from exactik.precompile import precompile_recordings

__all__ = ["compile_kernels"]


def compile_kernels(robust: str | None = None, smooth: float | str | None = "auto") -> None:
    """Compile what `track` and its error bars need, or load it, and say so if that takes long."""
    helpers: list[subprocess.Popen[bytes]] = []
    with compiling(lambda: helpers.extend(_start_helpers())):
        precompile_recordings(robust, smooth)
        for helper in helpers:
            helper.wait()


def _start_helpers() -> list[subprocess.Popen[bytes]]:
    """Start what compiles the other half, if there is a second processor."""
    if (os.cpu_count() or 1) < 2:
        return []
    command = [sys.executable, "-m", "exactik.precompile", "error-bars"]
    nowhere = subprocess.DEVNULL
    return [subprocess.Popen(command, stdout=nowhere, stderr=nowhere)]
