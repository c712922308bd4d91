"""Levels of processors that libraries of kernels are built for.

Code for a level gives the same bits on every processor that runs it; code for the processor at hand
does not, since it fuses other multiplies and adds.
"""

from __future__ import annotations

import platform

import numpy as np

# What NumPy finds at run time. Since 2.4 it names whole levels; before, AVX2 with these came with
# the first processors that have all of x86-64-v3.
_NEEDS = {"x86-64-v3": ("AVX2", "FMA3", "F16C"), "x86-64-v2": ("SSE42", "POPCNT")}


def list_levels() -> list[str]:
    """Return the levels that this processor runs, the fastest first."""
    machine = platform.machine().lower()
    if machine in ("arm64", "aarch64"):
        return ["generic"]
    if machine not in ("x86_64", "amd64"):
        return []
    has = _find_features()
    return [level for level in _NEEDS if _runs(level, has)]


def _runs(level: str, has: dict[str, bool]) -> bool:
    whole = level.upper().replace("-64-", "_")
    return has[whole] if whole in has else all(has.get(name) for name in _NEEDS[level])


def _find_features() -> dict[str, bool]:
    """Return NumPy's own table of features; empty in a version that keeps it elsewhere."""
    core = getattr(np, "_core", None) or getattr(np, "core", None)
    return getattr(getattr(core, "_multiarray_umath", None), "__cpu_features__", {})
