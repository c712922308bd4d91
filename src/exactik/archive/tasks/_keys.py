"""Which result a take has: the hash of all that it depends on.

A request is what is asked (figure, options, solver), a key that and the bytes of the input. The
same key means the same bits on one type of processor.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from functools import cache
from typing import Any

from exactik._version import __version__


def hash_facts(facts: Any) -> str:
    """Return the SHA-256 of plain data, whatever the order of its names."""
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def solver_version() -> str:
    """Return the version of what solves."""
    return __version__


@cache
def describe_machine() -> dict[str, Any]:
    """Return what bits may depend on beside the key: the type of processor, which LLVM names."""
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features().flatten()
    return {
        "host": platform.node(),
        "processor": llvm.get_host_cpu_name(),
        "features": hashlib.sha256(features.encode()).hexdigest()[:16],
        "system": platform.platform(),
        "cores": os.cpu_count(),
    }
