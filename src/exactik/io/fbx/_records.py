"""The records of a binary FBX file, read without trusting any number in it.

A file is a tree of records, each with its end, a name, values and further records. What a record
says of its size is held against the record around it, and arrays are unpacked when they are asked
for: each to the size that it states, all of them within a budget that grows with the file.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from exactik.io._files import read_bytes
from exactik.io._notes import Notes
from exactik.typing import Array

MAGIC = b"Kaydara FBX Binary  \x00\x1a\x00"
HEADER = len(MAGIC) + 4  # [bytes] and the version
FIRST_VERSION = 7000  # before that, of 2010, objects had names for keys
WIDE_VERSION = 7500  # from here on sizes have 64 bits
MAX_DEPTH = 30  # of records; files have 8
# Bytes unpacked from all arrays together: these plus so many per byte of the file.
FREE_BYTES, BYTES_PER_BYTE = 1 << 27, 64

_SCALARS = {
    code: struct.Struct(f"<{kind}")
    for code, kind in zip(b"YCBIFDL", ("h", "B", "B", "i", "f", "d", "q"), strict=True)
}
_ARRAYS = {
    ord(code): np.dtype(kind)
    for code, kind in zip("fdlib", ("<f4", "<f8", "<i8", "<i4", "u1"), strict=True)
}


class PackedArray(NamedTuple):
    """An array as it lies in the file."""

    dtype: np.dtype[Any]
    length: int
    is_deflated: bool
    start: int  # byte
    size: int  # [bytes]


class FbxRecord:
    """One record: name, values and the records in it."""

    __slots__ = ("name", "records", "start", "values")

    def __init__(self, name: str, start: int):
        """Begin a record at a byte of the file."""
        self.name, self.start = name, start
        self.values: list[Any] = []
        self.records: list[FbxRecord] = []

    def all(self, name: str) -> Iterator[FbxRecord]:
        """Run over the records of a name in this one."""
        return (record for record in self.records if record.name == name)

    def first(self, name: str) -> FbxRecord | None:
        """Return the first record of a name in this one."""
        return next(self.all(name), None)

    def value(self, k: int, kind: type, default: Any) -> Any:
        """Return one of the values, if it is there and of this kind."""
        found = self.values[k] if k < len(self.values) else None
        return found if isinstance(found, kind) else default


class RecordFile:
    """A file of records; arrays are unpacked on demand."""

    def __init__(self, path: str, notes: Notes):
        """Read the records of a file."""
        self.notes, self.data, self._unpacked = notes, read_bytes(path), 0
        if not self.data.startswith(MAGIC) or len(self.data) < HEADER:
            is_text = b"FBXHeaderExtension" in self.data[:4096]
            text = "FBX as text; expected binary FBX, as which Autodesk's FBX Converter saves it"
            raise notes.error(text if is_text else "expected binary FBX", "byte 0")
        (version,) = struct.unpack_from("<I", self.data, len(MAGIC))
        if version < FIRST_VERSION:
            text = f"FBX {version / 1000:.1f}; expected 7.0 or later, of 2011"
            raise notes.error(text, f"byte {len(MAGIC)}")
        self._head = struct.Struct("<QQQB" if version >= WIDE_VERSION else "<IIIB")
        self.root = FbxRecord("", HEADER)
        self._read_inside(self.root, HEADER, len(self.data), 0)

    def _error(self, start: int, text: str) -> Exception:
        return self.notes.error(f"{text}; expected sound records", f"byte {start}")

    def _read_inside(self, owner: FbxRecord, start: int, end: int, depth: int) -> None:
        """Read the records between two bytes into their owner."""
        if depth > MAX_DEPTH:
            raise self._error(start, f"records in {MAX_DEPTH} others")
        head = self._head
        while start + head.size <= end:
            stop, count, size, letters = head.unpack_from(self.data, start)
            if stop == 0:  # what ends a list; after the last one there is a footer
                return
            first = start + head.size + letters
            if not first + size <= stop <= end or count > size:
                raise self._error(start, "a record reaches beyond the one around it")
            name = self.data[start + head.size : first].decode("utf-8", "replace")
            record = FbxRecord(name, start)
            self._read_values(record, first, first + size, count)
            if first + size < stop:
                self._read_inside(record, first + size, stop, depth + 1)
            owner.records.append(record)
            start = stop
        if depth == 0:
            raise self._error(start, "cut off")

    def _read_values(self, record: FbxRecord, start: int, end: int, count: int) -> None:
        data, values = self.data, record.values
        for _ in range(count):
            code = data[start]
            start += 1
            if code in _SCALARS:
                size = _SCALARS[code].size
                value: Any = _SCALARS[code].unpack_from(data, start) if start + size <= end else ()
                values.extend(value)
            elif code in b"SR" and start + 4 <= end:
                (size,) = struct.unpack_from("<I", data, start)
                start += 4
                text = data[start : min(start + size, end)]
                values.append(text.decode("utf-8", "replace") if code == ord("S") else text)
            elif code in _ARRAYS and start + 12 <= end:
                number, encoding, size = struct.unpack_from("<III", data, start)
                start += 12
                dtype = _ARRAYS[code]
                if encoding > 1 or (encoding == 0 and size != number * dtype.itemsize):
                    raise self._error(start, f"an array of {number} numbers in {size} bytes")
                values.append(PackedArray(dtype, number, encoding == 1, start, size))
            else:
                raise self._error(start - 1, f"a value of kind {chr(code)!r}")
            start += size
            if start > end or (start == end and len(values) < count):
                raise self._error(record.start, f"values of {record.name[:40]!r} are cut off")

    def array(self, owner: FbxRecord | None, name: str, place: str, width: int = 1) -> Array:
        """Return the finite numbers of an array, (n, width), or (n,) for a width of 1.

        Args:
            owner: the record in which it is.
            name: of the record that holds it.
            place: of the owner, for messages.
            width: numbers in a row.
        """
        record = None if owner is None else owner.first(name)
        packed = None if record is None else record.value(0, PackedArray, None)
        if packed is None:
            raise self.notes.error("missing; expected an array", f"{place}, {name}")
        raw = self.data[packed.start : packed.start + packed.size]
        size = packed.length * packed.dtype.itemsize
        self._unpacked += size
        if self._unpacked > FREE_BYTES + BYTES_PER_BYTE * len(self.data):
            text = f"arrays of more than {self._unpacked >> 20} MiB in {len(self.data)} bytes"
            raise self.notes.error(f"{text}; expected less", f"{place}, {name}")
        if packed.is_deflated:
            try:
                raw = zlib.decompressobj().decompress(raw, max(size, 1))
            except zlib.error:
                raw = b""
        if len(raw) != size or packed.length % width > 0:
            text = f"{len(raw)} bytes for {packed.length} numbers"
            raise self.notes.error(f"{text}; expected all of them", f"{place}, {name}")
        with np.errstate(invalid="ignore"):
            numbers = np.frombuffer(raw, packed.dtype).astype(float)
        if not (np.abs(numbers) < 1e100).all():
            raise self.notes.error("not finite; expected numbers", f"{place}, {name}")
        return numbers if width == 1 else numbers.reshape(-1, width)
