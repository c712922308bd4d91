"""Make libraries of compiled kernels: `python -m exactik.compile.aot [LEVEL …]`.

Without a level it makes the one of this processor, unless it is there and of these sources.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from exactik.compile._levels import list_levels
from exactik.compile._library import Library, hash_sources, library_path
from exactik.compile._signatures import read_signatures
from exactik.compile.aot._library import find_linker, link_library, make_object
from exactik.errors import KernelError


def main() -> None:
    """Parse the command line and make what is asked for."""
    parser = argparse.ArgumentParser(prog="exactik.compile.aot", description=__doc__)
    parser.add_argument("levels", nargs="*", help="such as x86-64-v3; this processor's if none")
    parser.add_argument(
        "--part", nargs=3, metavar=("NUMBER", "OF", "FOLDER"), help=argparse.SUPPRESS
    )
    asked = parser.parse_args()
    if asked.part:
        number, parts, folder = int(asked.part[0]), int(asked.part[1]), Path(asked.part[2])
        make_object(asked.levels[0], number, parts, folder, lambda name: print(name, flush=True))
        return
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
            if not (_is_fresh(library_path(level)) and not asked.levels):
                _build(level)


def _is_fresh(path: Path) -> bool:
    try:
        return path.exists() and Library(path).sources == hash_sources()
    except (OSError, AttributeError, ValueError):
        return False


def _build(level: str) -> None:
    """Compile in as many processes as there are processors, at most four, and link."""
    begin = time.perf_counter()
    parts = min(os.cpu_count() or 1, 4)
    total, done = len(read_signatures()[0]), 0
    live = sys.stderr.isatty()
    command = [sys.executable, "-m", "exactik.compile.aot", level]
    print(f"Compiling {total} kernels for {level} …", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        workers = [
            subprocess.Popen(
                [*command, "--part", str(n), str(parts), folder],
                stdout=subprocess.PIPE,
                text=True,
            )
            for n in range(parts)
        ]
        for worker in workers:
            assert worker.stdout is not None
            for _ in worker.stdout:
                done += 1
                if live:
                    print(f"\r{done} of {total}", end="", file=sys.stderr, flush=True)
        if any(worker.wait() != 0 for worker in workers):
            raise KernelError(f"the kernels could not be compiled for {level}")
        path = link_library(level, parts, Path(folder))
    seconds, size = time.perf_counter() - begin, path.stat().st_size / 1e6
    mark = "\r" if live else ""
    print(f"{mark}… {path.name}, {size:.1f} MB, after {seconds:.0f} s.", file=sys.stderr)


if __name__ == "__main__":
    try:
        main()
    except KernelError as error:
        sys.exit(f"exactik: {error}")
