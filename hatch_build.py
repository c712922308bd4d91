"""Puts kernels that are compiled ahead of time into wheels; see src/exactik/compile.

A wheel has the library for the processor that builds it, or for those that EXACTIK_LEVELS names,
such as "x86-64-v3 x86-64-v2". Without a C compiler to link it, the wheel has none and says so.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

OLDEST_GLIBC = 17  # of the manylinux tags, as 2.x
PRINT_LIBRARIES = "from exactik.compile import list_libraries; print(*list_libraries(), sep='\\n')"


class LibraryHook(BuildHookInterface):
    """Builds libraries, or takes those that are there and fresh, and names the wheel for them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add libraries to a wheel; an editable one finds them in the checkout."""
        if version == "editable":
            return
        source = Path(self.root) / "src"
        levels = os.environ.get("EXACTIK_LEVELS", "").split()
        command = [sys.executable, "-m", "exactik.compile.aot"]
        fresh = _list_fresh(source)
        missing = [level for level in levels if not any(f.stem.endswith(level) for f in fresh)]
        if len(missing) > 0 or len(levels) == 0:
            subprocess.run([*command, *missing], cwd=source, check=True)
        files = _list_fresh(source)
        chosen = [f for f in files if not levels or any(f.stem.endswith(level) for level in levels)]
        for file in chosen:
            build_data["force_include"][str(file)] = file.relative_to(source).as_posix()
        if chosen:
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{_find_platform(chosen)}"


def _list_fresh(source: Path) -> list[Path]:
    """Return the libraries that were made from the sources here.

    Python looks first where it starts. PYTHONPATH is pip's, which isolates the build by it.
    """
    listing = [sys.executable, "-c", PRINT_LIBRARIES]
    made = subprocess.run(listing, cwd=source, check=True, capture_output=True, text=True)
    return [Path(line) for line in made.stdout.splitlines() if line]


def _find_platform(files: list[Path]) -> str:
    """Return the platform's name in a wheel's tag; on Linux with the oldest glibc that will do."""
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    if not platform.startswith("linux_"):
        return platform
    needs = [int(n) for f in files for n in re.findall(rb"GLIBC_2\.(\d+)", f.read_bytes())]
    return platform.replace("linux_", f"manylinux_2_{max([OLDEST_GLIBC, *needs])}_")
