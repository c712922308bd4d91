"""The archive of an NPZ file: a zip of NumPy arrays, and a JSON text, the entry "about".

Nothing in it is executed on reading, and nothing is allocated because an array claims to be large:
its bytes have to be there.
"""

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
FORMAT = "exactik 1"
# Unpacked bytes: these plus so many per byte of the file. Deflate cannot shrink by more than 1032.
FREE_BYTES, BYTES_PER_BYTE = 1 << 20, 1000

# The header of an array as NumPy writes it, of the types that are in these files.
ARRAY_HEADER = re.compile(
    rb"\x93NUMPY[\x01-\x03]\0..(?:\0\0)?\{'descr': '([<>|][fiubU][0-9]{1,9})', "
    rb"'fortran_order': (True|False), 'shape': \(((?:[0-9]{1,12},? ?)*)\), \} *\n",
    re.DOTALL,
)


def write_archive(path: str, contents: dict[str, Any], arrays: dict[str, AnyArray]) -> None:
    """Write contents that JSON can hold, and arrays by name."""
    text = json.dumps({"format": FORMAT, **contents}, ensure_ascii=False)
    with open_atomic(path, "wb") as file:
        np.savez_compressed(file, allow_pickle=False, about=np.array(text), **arrays)


# What zipfile raises for damage of one kind or another; RuntimeError also for JSON that is nested
# too deeply, for encryption and for methods that it does not know.
ARCHIVE_ERRORS = (
    OSError,
    ValueError,
    LookupError,
    EOFError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)


def read_archive(
    path: str, notes: Notes, kinds: tuple[str, ...]
) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return contents and arrays of a file of one of these kinds."""
    data = read_bytes(path)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_size(archive, len(data), notes)
            raw = {name.removesuffix(".npy"): archive.read(name) for name in archive.namelist()}
        arrays = {name: _parse_array(name, raw[name], notes) for name in raw}
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


def _parse_array(name: str, raw: bytes, notes: Notes) -> AnyArray:
    """Return the array in one entry; `numpy.load` would allocate what the header claims."""
    match = ARRAY_HEADER.match(raw)
    if match is None:
        raise notes.error(f"array {name!r} has no head of a known kind; expected numbers")
    dtype, order = np.dtype(match[1].decode()), "F" if match[2] == b"True" else "C"
    shape = tuple(int(n) for n in re.findall(rb"[0-9]+", match[3]))
    claimed, present = dtype.itemsize * math.prod(shape), len(raw) - match.end()
    if claimed != present:
        raise notes.error(f"array {name!r} claims {claimed} bytes, but there are {present}")
    return np.frombuffer(raw, dtype, offset=match.end()).reshape(shape, order=order)


def _check_size(archive: zipfile.ZipFile, size: int, notes: Notes) -> None:
    """Refuse an archive that would unpack to far more than a recording."""
    unpacked = sum(entry.file_size for entry in archive.infolist())
    if unpacked > BYTES_PER_BYTE * size + FREE_BYTES:
        raise notes.error(f"{size} bytes claim to hold {unpacked}; expected a recording")
