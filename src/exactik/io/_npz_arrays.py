"""Arrays of an .npz file, some of them by name, whoever wrote it; and the archive of our own."""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactik.errors import FileError
from exactik.io._files import open_atomic, read_bytes
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
FORMAT = "exactik 1"


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


def write_archive(path: str, contents: dict[str, Any], arrays: dict[str, AnyArray]) -> None:
    """Write contents that JSON can hold, and arrays by name."""
    text = json.dumps({"format": FORMAT, **contents}, ensure_ascii=False)
    with open_atomic(path, "wb") as file:
        np.savez_compressed(file, allow_pickle=False, about=np.array(text), **arrays)


def read_archive(
    path: str, notes: Notes, kinds: tuple[str, ...]
) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return contents and arrays of a file of one of these kinds."""
    try:
        file = NpzFile(path, notes, "a file that exactik wrote; expected its .npz")
        arrays = {name: file.read(name) for name in file.names}
        contents = json.loads(_decode_text(arrays.pop("about")))
    except FileError:
        raise
    except ARCHIVE_ERRORS:
        raise notes.error("not a file that exactik wrote; expected its .npz") from None
    if not isinstance(contents, dict) or contents.get("format") != FORMAT:
        raise notes.error(f"not a file that exactik wrote; expected format {FORMAT!r}")
    if contents.get("kind") not in kinds:
        raise notes.error(
            f"holds {contents.get('kind')!r}; expected {' or '.join(kinds)}", code="wrong-kind"
        )
    return contents, arrays


def _decode_text(array: AnyArray) -> str:
    """Return the text in an array; `str` would raise on numbers that are no character."""
    order = "be" if array.dtype.str[0] == ">" else "le"
    return array.tobytes().decode(f"utf-32-{order}", "surrogatepass").rstrip("\0")
