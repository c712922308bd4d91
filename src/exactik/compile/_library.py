"""The library of kernels that were compiled ahead of time: found, checked, and called.

A library is a file of `lib/` beside this module, for one level of processors. It tells the hash of
the sources that it was made from; if that is not the hash of those here, it is not used. Each of
its entries is one kernel with one signature. An entry that gets other arguments refuses them before
anything is done, and the kernel is compiled by Numba, if that is installed.

    EXACTIK_COMPILED=0          no library
    EXACTIK_COMPILED=strict     nothing but the library: a call that it does not have is an error
    EXACTIK_COMPILED=LEVEL      the library of this level, such as x86-64-v2
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import logging
import os
import platform
import struct
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from exactik.compile._layout import LAYOUT_SIZE, NOT_AS_COMPILED, LayoutError, find_layout
from exactik.compile._levels import list_levels

FOLDER = Path(__file__).with_name("lib")
SOURCES = (
    "spatial",
    "kernels",
    "compile/aot",
    "compile/_jit.py",
    "compile/_layout.py",
    "compile/_link_only.py",
    "compile/signatures.json",
)
"""Files and folders of the package that decide what machine code is."""
REFUSED = object()
"""What an entry answers if an argument is not what it was compiled for."""

log = logging.getLogger("exactik.compile")


def is_strict() -> bool:
    """Whether nothing may be compiled at run time."""
    return os.environ.get("EXACTIK_COMPILED") == "strict"


def hash_sources() -> str:
    """Return a hash of all that decides what is in a library."""
    package = FOLDER.parent.parent
    digest = sha256()
    for file in list_sources(package):
        digest.update(file.relative_to(package).as_posix().encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def list_sources(package: Path) -> list[Path]:
    """Return the files of the package that decide what machine code is, in order."""
    places = [package / name for name in SOURCES]
    nested = [f for place in places for f in place.rglob("*.py") if "cuda" not in f.parts]
    return sorted({*nested, *(place for place in places if place.is_file())})


def library_path(level: str) -> Path:
    """Return where the library of a level is; the same for every Python of a machine."""
    return FOLDER / f"kernels-{sys.platform}_{platform.machine()}-{level}.so"


class Library:
    """One loaded file; its entries by the kernel's name."""

    def __init__(self, path: Path):
        """Load a file.

        Raises:
            OSError: the file cannot be loaded.
            LayoutError: its entries would not find the arguments.
        """
        # The first gives the interpreter lock back during a call, the second keeps it.
        free, held = ctypes.CDLL(str(path)), ctypes.PyDLL(str(path))
        words = find_layout()
        (ctypes.c_uint64 * LAYOUT_SIZE).in_dll(free, "exactik_layout")[:] = words
        size = ctypes.c_int64.in_dll(free, "exactik_interface_size").value
        text = (ctypes.c_char * size).in_dll(free, "exactik_interface").raw
        interface: dict[str, Any] = json.loads(text)
        self.path = path
        self.level: str = interface["level"]
        self.sources: str = interface["sources"]
        self.entries: dict[str, list[Callable[[tuple], Any]]] = {}
        for row in interface["entries"]:
            function = getattr(free if row["nogil"] else held, row["symbol"])
            self.entries.setdefault(row["kernel"], []).append(_make_entry(function, row))


def _make_entry(function: Any, row: dict[str, Any]) -> Callable[[tuple], Any]:
    """Return what calls an entry with a tuple of arguments, or answers REFUSED.

    Args:
        function: of the library; gets the arguments, its numbers as words, and words for results.
        row: what the library says of it: `count` of arguments, `numbers` as pairs of place and
            format, `results` as formats, None for nothing; `single` if the result is no tuple.
    """
    function.argtypes = [ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p]
    function.restype = ctypes.c_int32
    count, results, single = row["count"], row["results"], row["single"]
    places = [place for place, _ in row["numbers"]]
    pack = struct.Struct("=" + "".join(code for _, code in row["numbers"])).pack
    unpack = struct.Struct("=" + "".join(results or "")).unpack
    words = ctypes.c_char * (8 * len(results or ""))

    def call(arguments: tuple) -> Any:
        if len(arguments) != count:
            return REFUSED
        try:
            numbers = pack(*[arguments[place] for place in places])
        except (struct.error, OverflowError):
            return REFUSED
        out = words()
        status = function(arguments, numbers, out)
        if status == NOT_AS_COMPILED:
            return REFUSED
        if results is None:
            return None
        values = unpack(out.raw)
        return values[0] if single else values

    return call


@functools.cache
def load_library() -> Library | None:
    """Return the best library for this processor; None if there is none, or it is switched off."""
    asked = os.environ.get("EXACTIK_COMPILED", "")
    if asked == "0":
        return None
    levels = list_levels()
    for level in [asked] if asked.startswith("x86-64") else levels:
        path = library_path(level)
        if not path.exists():
            continue
        try:
            library = Library(path)
        except (OSError, LayoutError, AttributeError, ValueError) as error:
            log.warning("%s cannot be used: %s", path.name, error or "objects lie elsewhere")
            continue
        if library.sources == hash_sources():
            return library
        log.info("%s was made from other sources; `make library` makes it anew", path.name)
    return None


def list_libraries() -> list[Path]:
    """Return the libraries in `lib/` that were made from the sources here, for any processor."""
    fresh = []
    for path in sorted(FOLDER.glob("kernels-*.so")):
        with contextlib.suppress(OSError, LayoutError, AttributeError, ValueError):
            fresh += [path] if Library(path).sources == hash_sources() else []
    return fresh


def describe_library() -> str:
    """Return in words what runs kernels in this process."""
    library = load_library()
    if library is not None:
        return f"kernels compiled ahead of time for {library.level}"
    if os.environ.get("EXACTIK_COMPILED") == "0":
        why = "EXACTIK_COMPILED=0"
    elif not list_levels():
        why = "no library is made for this kind of processor"
    else:
        there = [path.name for path in FOLDER.glob("kernels-*.so")]
        why = f"{', '.join(there)} does not fit" if there else "this installation has no library"
    return f"kernels compiled by Numba when they are called ({why})"


def find_entries(kernel: str) -> list[Callable[[tuple], Any]]:
    """Return the entries of a kernel, "module:function"."""
    library = load_library()
    return [] if library is None else library.entries.get(kernel, [])
