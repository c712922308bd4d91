"""Make libraries of compiled kernels: `python -m exactik.compile.aot [LEVEL …]`.

Without a level it makes the one of this processor. What is there, and of these sources, stays.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from exactik.compile._levels import list_levels
from exactik.compile._library import Library, hash_sources, library_path
from exactik.compile.aot._build import build_library
from exactik.compile.aot._library import find_linker
from exactik.errors import KernelError


def main() -> None:
    """Parse the command line and make what is asked for."""
    parser = argparse.ArgumentParser(prog="exactik.compile.aot", description=__doc__)
    parser.add_argument("levels", nargs="*", help="such as x86-64-v3; this processor's if none")
    asked = parser.parse_args()
    levels = asked.levels or list_levels()[:1]
    if not levels:
        print("No library is made: this kind of processor is not known.", file=sys.stderr)
    elif find_linker() is None:
        print(
            "No library is made: no C compiler to link with (set CC). Numba compiles when needed.",
            file=sys.stderr,
        )
    else:
        for level in levels:
            if not _is_fresh(library_path(level)):
                build_library(level)


def _is_fresh(path: Path) -> bool:
    try:
        return path.exists() and Library(path).sources == hash_sources()
    except (OSError, AttributeError, ValueError):
        return False


if __name__ == "__main__":
    try:
        main()
    except KernelError as error:
        sys.exit(f"exactik: {error}")
