"""A glTF document: container, JSON, buffers and accessors, read without trusting any of them.

Whatever is asked of a file is checked when it is asked, and nothing is allocated because a number
in the file says so: an accessor has to lie inside its buffer, and all of them within a budget that
grows with the size of the file.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import struct
from typing import Any, NoReturn
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from exactik.io._files import read_bytes
from exactik.io._notes import Notes
from exactik.io.gltf._json import Part, shown
from exactik.typing import Array

__all__ = ["Document", "read_document"]

MAX_JSON = 128 << 20  # [bytes]
# Numbers decoded from all accessors together: accessors may overlap or have no bytes at all.
FREE_NUMBERS, NUMBERS_PER_BYTE = 1 << 20, 8
MAGIC, JSON_CHUNK, BIN_CHUNK = b"glTF", 0x4E4F534A, 0x004E4942

COMPONENTS = {
    5120: np.dtype("<i1"),
    5121: np.dtype("<u1"),
    5122: np.dtype("<i2"),
    5123: np.dtype("<u2"),
    5125: np.dtype("<u4"),
    5126: np.dtype("<f4"),
}
WIDTHS = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}


class Document(Part):
    """A whole file: its JSON, and the numbers in its buffers."""

    def __init__(self, path: str, value: dict[str, Any], binary: bytes | None, size: int):
        """Hold the JSON object and the binary chunk of a file of so many bytes."""
        super().__init__(path, "", value)
        self.size = size  # with the buffers that were read
        self.nodes = self.parts("nodes")
        self._accessors = self.parts("accessors")
        self._views = self.parts("bufferViews")
        self._parts = self.parts("buffers")
        self._binary = binary
        self._buffers: dict[int, bytes] = {}
        self._read: dict[int, Array] = {}
        self._numbers = 0

    def accessor(self, owner: Part, key: str, kind: str) -> Array:
        """Return the numbers of the accessor that `owner[key]` names.

        Args:
            owner: the part that refers to it.
            key: the entry with its index.
            kind: the type it has to have, such as "VEC3".

        Returns:
            Finite numbers, (count, width); normalized integers are in [−1, 1] or [0, 1].
        """
        index = owner.integer(key, count=len(self._accessors))
        part = self._accessors[index]
        if part.text("type") != kind:
            raise part.error(
                f"is {part.text('type')!r}; expected {kind!r} for {owner.at(key)}", "type"
            )
        if index not in self._read:
            self._read[index] = self._decoded(part, WIDTHS[kind])
        return self._read[index]

    def _decoded(self, part: Part, width: int) -> Array:
        count = part.integer("count", low=1)
        dtype, raw = _component(part), None
        if "bufferView" in part.value:
            raw = self._elements(part, count, width, dtype)
        self._numbers += count * width
        most = FREE_NUMBERS + NUMBERS_PER_BYTE * self.size
        if self._numbers > most:
            text = f"is {count}; expected no more than {most} numbers in all accessors"
            raise part.error(text, "count")
        if raw is None:
            raw = np.zeros((count, width), dtype)
        if "sparse" in part.value:
            raw = self._replaced(part.part("sparse"), raw)
        with np.errstate(invalid="ignore"):  # a NaN that signals; it is found below
            values = raw.astype(float)
        if part.value.get("normalized", False) is True and dtype.kind in "iu":
            values = np.maximum(values / np.iinfo(dtype).max, -1.0)
        if not np.isfinite(values).all():
            row, column = np.argwhere(~np.isfinite(values))[0]
            text = f"element {row} has {values[row, column]} in place {column}; expected a number"
            raise part.error(text)
        return values

    def _replaced(self, part: Part, base: NDArray[Any]) -> NDArray[Any]:
        """Return a copy of the base with the entries of a sparse accessor put in."""
        count = part.integer("count", low=1, count=len(base) + 1)
        where, what = part.part("indices"), part.part("values")
        kind = _component(where)
        if kind.kind != "u":
            raise where.error(
                "is signed or no integer; expected 5121, 5123 or 5125", "componentType"
            )
        rows = self._elements(where, count, 1, kind)[:, 0].astype(np.int64)
        if rows.max() >= len(base) or (np.diff(rows) <= 0).any():
            raise where.error(f"expected increasing indices below {len(base)}")
        out = base.copy()
        out[rows] = self._elements(what, count, base.shape[1], base.dtype)
        return out

    def _elements(self, part: Part, count: int, width: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return elements where they lie in their buffer, (count, width), without a copy."""
        view = self._views[part.integer("bufferView", count=len(self._views))]
        if "EXT_meshopt_compression" in view.part("extensions").value:
            raise view.error("is compressed (EXT_meshopt_compression); expected plain numbers")
        data = self._buffer(view.integer("buffer", count=len(self._parts)))
        start, length = view.integer("byteOffset", 0), view.integer("byteLength", low=1)
        if start + length > len(data):
            text = f"ends at byte {start + length} of a buffer that has {len(data)}"
            raise view.error(f"{text}; expected it inside")
        size = width * dtype.itemsize
        stride = view.integer("byteStride", size, low=size, count=max(253, size + 1))
        first = part.integer("byteOffset", 0)
        end = first + (count - 1) * stride + size
        if end > length:
            text = f"{count} elements end at byte {end} of a view that has {length}"
            raise part.error(f"{text}; expected them inside")
        at = start + first
        return np.ndarray((count, width), dtype, data, at, (stride, dtype.itemsize))

    def _buffer(self, index: int) -> bytes:
        if index not in self._buffers:
            part = self._parts[index]
            length = part.integer("byteLength", low=1)
            if "uri" in part.value:
                data = _resource(part)
            elif index == 0 and self._binary is not None:
                data = self._binary
            else:
                raise part.error("has no uri and the file no binary chunk for it; expected one")
            if len(data) < length:
                raise part.error(f"is {length}, but there are {len(data)} bytes", "byteLength")
            self._buffers[index] = data
            self.size += len(data)
        return self._buffers[index]


def _component(part: Part) -> np.dtype[Any]:
    code = part.integer("componentType")
    if code not in COMPONENTS:
        known = ", ".join(map(str, COMPONENTS))
        raise part.error(f"is {code}; expected one of {known}", "componentType")
    return COMPONENTS[code]


def _resource(part: Part) -> bytes:
    """Return the bytes behind the uri of a buffer: in the text itself, or in a file beside it."""
    uri = part.text("uri")
    if uri.startswith("data:"):
        head, _, text = uri.partition(",")
        try:
            if not head.endswith(";base64"):
                raise ValueError
            return base64.b64decode("".join(text.split()), validate=True)
        except (binascii.Error, ValueError):
            raise part.error(f"is {shown(uri)}; expected base64 data", "uri") from None
    name = unquote(uri)
    folder = os.path.realpath(os.path.dirname(os.path.abspath(part.path)))
    # A drive, a scheme, a parent folder, or a link that leads out: a file has no business there.
    outside = name[:1] in "/\\" or ":" in name or ".." in name.replace("\\", "/").split("/")
    target = folder if outside or "\0" in name else os.path.realpath(os.path.join(folder, name))
    if not target.startswith(os.path.join(folder, "")):
        raise part.error(f"is {shown(uri)}; expected a file in the folder of this one", "uri")
    if not os.path.isfile(target):
        raise part.error(f"is {shown(uri)}, and there is no such file beside this one", "uri")
    return read_bytes(target)


def read_document(path: str, notes: Notes) -> Document:
    """Return the document in a .gltf or .glb file; its first bytes tell which it is."""
    data = read_bytes(path)
    text, binary = _chunks(data, notes) if data[:4] == MAGIC else (data, None)
    if len(text) > MAX_JSON:
        raise notes.error(f"JSON is larger than {MAX_JSON >> 20} MiB; expected a figure")
    if text.strip(b" \t\r\n\0") == b"":
        raise notes.error("empty; expected glTF")
    try:
        value = json.loads(text.rstrip(b"\0").decode("utf-8-sig"), parse_constant=_no_constant)
    except RecursionError:
        raise notes.error("JSON is nested too deeply; expected glTF") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise notes.error(f"no JSON: {error.msg}; expected glTF", place) from None
    except ValueError as error:  # no UTF-8, NaN, or a number with thousands of digits
        raise notes.error(f"no JSON: {str(error)[:80]}; expected glTF") from None
    if not isinstance(value, dict) or "asset" not in value:
        raise notes.error("JSON without an asset; expected glTF")
    document = Document(path, value, binary, len(data))
    asset = document.part("asset")
    for key in ("version", "minVersion"):
        version = asset.text(key, "2.0")
        if version.split(".")[0] != "2" or (key == "minVersion" and version != "2.0"):
            raise asset.error(f"is {shown(version)}; expected 2.0", key)
    return document


def _chunks(data: bytes, notes: Notes) -> tuple[bytes, bytes | None]:
    """Return the JSON and the binary chunk of a GLB."""
    if len(data) < 20:
        raise notes.error(f"{len(data)} bytes; expected a header of 20", "byte 0")
    version, length = struct.unpack_from("<II", data, 4)
    if version != 2:
        raise notes.error(f"container version is {version}; expected 2", "byte 4")
    if length < 20:
        raise notes.error(f"length is {length}; expected 20 bytes or more", "byte 8")
    if length > len(data):
        raise notes.error(f"cut off: {length} bytes expected, {len(data)} found", "byte 8")
    if length < len(data):
        notes.remark(f"{len(data) - length} bytes after the end are not read", f"byte {length}")
    found: dict[int, bytes] = {}
    at = 12
    while at + 8 <= length:
        size, kind = struct.unpack_from("<II", data, at)
        if at + 8 + size > length:
            left = length - at - 8
            raise notes.error(f"a chunk of {size} bytes; expected at most {left}", f"byte {at}")
        if at == 12 and kind != JSON_CHUNK:
            raise notes.error(f"the first chunk is {kind:#x}; expected JSON", f"byte {at + 4}")
        found.setdefault(kind, data[at + 8 : at + 8 + size])
        at += 8 + size
    return found[JSON_CHUNK], found.get(BIN_CHUNK)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
