"""Arrays of an .npz file, some of them by name; whoever wrote it.

`numpy.load` allocates what the header of an array claims before it looks at the bytes, and runs
what arrays of objects hold. Here bytes have to be there, and only numbers and texts are arrays.
"""

from __future__ import annotations

import io
import math
import re
import zipfile
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactik.io._files import read_bytes
from exactik.io._notes import Notes

AnyArray = NDArray[Any]
# Unpacked bytes: these plus so many per byte of the file. Deflate cannot shrink by more than 1032.
FREE_BYTES, BYTES_PER_BYTE = 1 << 20, 1000

# The header of an array as NumPy writes it, of the types that are numbers or texts.
ARRAY_HEADER = re.compile(
    rb"\x93NUMPY[\x01-\x03]\0..(?:\0\0)?\{'descr': '([<>|][fiubU][0-9]{1,9})', "
    rb"'fortran_order': (True|False), 'shape': \(((?:[0-9]{1,12},? ?)*)\), \} *\n",
    re.DOTALL,
)

# What zipfile raises for damage of one kind or another; RuntimeError also for encryption and for
# methods that it does not know.
ARCHIVE_ERRORS = (
    OSError,
    ValueError,
    LookupError,
    EOFError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)


class NpzFile:
    """An .npz file, whose arrays are read one by one."""

    def __init__(self, path: str, notes: Notes, what: str):
        """Open a file; `what` it should be is told if it is not."""
        self._notes, self._what = notes, what
        data = read_bytes(path)
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(data))
            names = self._archive.namelist()
        except ARCHIVE_ERRORS:
            raise notes.error(f"not {what}") from None
        self.names = tuple(name.removesuffix(".npy") for name in names)
        self._entries = dict(zip(self.names, names, strict=True))
        unpacked = sum(entry.file_size for entry in self._archive.infolist())
        if unpacked > BYTES_PER_BYTE * len(data) + FREE_BYTES:
            raise notes.error(f"{len(data)} bytes claim to hold {unpacked}; expected a recording")

    def __contains__(self, name: str) -> bool:
        """Whether it has an array of this name."""
        return name in self._entries

    def read(self, name: str) -> AnyArray:
        """Return an array, read-only."""
        try:
            raw = self._archive.read(self._entries[name])
        except ARCHIVE_ERRORS:
            raise self._notes.error(f"not {self._what}: {name!r} is damaged") from None
        return parse_array(name, raw, self._notes)

    def read_numbers(self, name: str) -> NDArray[np.float64]:
        """Return an array of finite numbers, in double precision."""
        array = self.read(name)
        if array.dtype.kind not in "fiub":
            raise self._notes.error(f"array {name!r} holds no numbers")
        numbers = np.asarray(array, dtype=np.float64)
        if not np.isfinite(numbers).all():
            raise self._notes.error(f"array {name!r} holds numbers that are not finite")
        return numbers


def parse_array(name: str, raw: bytes, notes: Notes) -> AnyArray:
    """Return the array in the bytes of an entry."""
    match = ARRAY_HEADER.match(raw)
    if match is None:
        raise notes.error(f"array {name!r} has no head of a known kind; expected numbers")
    dtype, order = np.dtype(match[1].decode()), "F" if match[2] == b"True" else "C"
    shape = tuple(int(n) for n in re.findall(rb"[0-9]+", match[3]))
    claimed, present = dtype.itemsize * math.prod(shape), len(raw) - match.end()
    if claimed != present:
        raise notes.error(f"array {name!r} claims {claimed} bytes, but there are {present}")
    return np.frombuffer(raw, dtype, offset=match.end()).reshape(shape, order=order)
