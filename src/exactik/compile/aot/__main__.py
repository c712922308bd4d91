"""Make libraries of compiled kernels: `python -m exactik.compile.aot [LEVEL …]`.

Without a level it makes the one of this processor, unless it is there and of these sources.
"""

from __future__ import annotations

import argparse
import gc
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from exactik.compile._levels import list_levels
from exactik.compile._library import Library, hash_sources, library_path
from exactik.compile._signatures import read_signatures
from exactik.compile.aot._library import (
    find_linker,
    generate_parts,
    link_library,
    make_object,
    use_level,
)
from exactik.errors import KernelError


def main() -> None:
    """Parse the command line and make what is asked for."""
    parser = argparse.ArgumentParser(prog="exactik.compile.aot", description=__doc__)
    parser.add_argument("levels", nargs="*", help="such as x86-64-v3; this processor's if none")
    parser.add_argument("--generate", metavar="FOLDER", help=argparse.SUPPRESS)
    parser.add_argument("--optimise", metavar="FOLDER", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    levels = asked.levels or list_levels()[:1]
    if asked.generate or asked.optimise:
        use_level(levels[0])
    if asked.generate:
        gc.disable()  # Numba makes millions of objects that all live to the end
        generate_parts(Path(asked.generate), lambda name: print(name, flush=True))
    elif asked.optimise:
        for line in sys.stdin:
            make_object(levels[0], int(line), Path(asked.optimise))
    elif not levels:
        print("No library is made: this kind of processor is not known.", file=sys.stderr)
    elif find_linker() is None:
        print(
            "No library is made: no C compiler to link with (set CC). Numba compiles when needed.",
            file=sys.stderr,
        )
    else:
        for level in levels:
            if asked.levels or not _is_fresh(library_path(level)):
                _build(level)


def _is_fresh(path: Path) -> bool:
    try:
        return path.exists() and Library(path).sources == hash_sources()
    except (OSError, AttributeError, ValueError):
        return False


def _build(level: str) -> None:
    """Generate and optimise side by side, and link."""
    begin = time.perf_counter()
    total, done, parts = len(read_signatures()[0]), 0, 0
    live = sys.stderr.isatty()
    print(f"Compiling {total} kernels for {level}, once …", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "exactik.compile.aot", level]
    with tempfile.TemporaryDirectory() as folder:
        generator = subprocess.Popen(
            [*command, "--generate", folder], stdout=subprocess.PIPE, text=True
        )
        optimiser = subprocess.Popen(
            [*command, "--optimise", folder], stdin=subprocess.PIPE, text=True
        )
        assert generator.stdout is not None and optimiser.stdin is not None
        try:
            for line in generator.stdout:
                if line.strip().isdigit():
                    parts += 1
                    optimiser.stdin.write(line)
                    optimiser.stdin.flush()
                else:
                    done += 1
                if live:
                    print(f"\r{done} of {total}", end="", file=sys.stderr, flush=True)
            optimiser.stdin.close()
        except BrokenPipeError:
            pass  # it says why itself
        failed = generator.wait() != 0
        if optimiser.wait() != 0 or failed:
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
