"""A glTF document: container, JSON, buffers and accessors, read without trusting any of them.

Everything is checked on access, and nothing is allocated because a number in the file says so: an
accessor has to lie inside its buffer, and all of them within a budget that grows with the size of
the file.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import struct
from collections.abc import Callable
from typing import Any, NoReturn
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from exactik.io._files import read_bytes
from exactik.io._notes import Notes
from exactik.io.gltf._json import JsonObject, format_value
from exactik.typing import Array

MAX_JSON_BYTES = 128 << 20  # more than any figure with its animations takes
# Numbers decoded from all accessors together: these plus so many per byte of the file. Accessors
# may overlap or have no bytes at all, so that a small file could ask for any number.
FREE_NUMBERS, NUMBERS_PER_BYTE = 1 << 20, 8
MAGIC, JSON_CHUNK, BIN_CHUNK = b"glTF", 0x4E4F534A, 0x004E4942

COMPONENT_TYPES = {
    5120: np.dtype("<i1"),
    5121: np.dtype("<u1"),
    5122: np.dtype("<i2"),
    5123: np.dtype("<u2"),
    5125: np.dtype("<u4"),
    5126: np.dtype("<f4"),
}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
MAX_IMAGE_BYTES = 64 << 20  # of one texture; a PNG of 4096 × 4096 that hardly compresses


class Document(JsonObject):
    """A whole file: its JSON, and the numbers in its buffers."""

    def __init__(self, path: str, value: dict[str, Any], binary: bytes | None, size: int):
        """Hold the JSON object and the binary chunk of a file of `size` bytes."""
        super().__init__(path, "", value)
        self.size = size  # with the buffers that were read
        self.nodes = self.objects("nodes")
        self._accessors = self.objects("accessors")
        self._views = self.objects("bufferViews")
        self._buffer_objects = self.objects("buffers")
        self._binary = binary
        self._buffers: dict[int, bytes] = {}
        self._decoded_accessors: dict[int, Array] = {}
        self._numbers = 0

    def read_accessor(self, owner: JsonObject, key: str, kind: str) -> Array:
        """Return the numbers of the accessor that `owner[key]` names.

        Args:
            owner: the part that refers to it.
            key: the entry with its index.
            kind: the type it has to have, such as "VEC3".

        Returns:
            Finite numbers, (count, width); normalized integers are in [−1, 1] or [0, 1].
        """
        index = owner.integer(key, count=len(self._accessors))
        accessor = self._accessors[index]
        if accessor.text("type") != kind:
            raise accessor.error(
                f"is {accessor.text('type')!r}; expected {kind!r} for {owner.place_of(key)}", "type"
            )
        if index not in self._decoded_accessors:
            self._decoded_accessors[index] = self._decode(accessor, WIDTHS[kind])
        return self._decoded_accessors[index]

    def find_type(self, owner: JsonObject, key: str) -> str:
        """Return the type of the accessor that `owner[key]` names, such as "VEC3"."""
        return self._accessors[owner.integer(key, count=len(self._accessors))].text("type")

    def read_image(self, image: JsonObject) -> bytes:
        """Return the bytes of an image, which is in a buffer, in the text or in a file beside."""
        if "uri" in image.value:
            data = _load_uri(image)
        else:
            view = self._views[image.integer("bufferView", count=len(self._views))]
            length = view.integer("byteLength", low=1)
            data = self._view_elements(image, length, 1, np.dtype("<u1")).tobytes()
        if len(data) > MAX_IMAGE_BYTES:
            text = (
                f"has {len(data)} bytes; expected an image of {MAX_IMAGE_BYTES >> 20} MiB at most"
            )
            raise image.error(text)
        return data

    def _decode(self, accessor: JsonObject, width: int) -> Array:
        count = accessor.integer("count", low=1)
        dtype, raw = _read_component_type(accessor), None
        if "bufferView" in accessor.value:
            raw = self._view_elements(accessor, count, width, dtype)
        self._numbers += count * width
        max_numbers = FREE_NUMBERS + NUMBERS_PER_BYTE * self.size
        if self._numbers > max_numbers:
            text = f"is {count}; expected no more than {max_numbers} numbers in all accessors"
            raise accessor.error(text, "count")
        if raw is None:
            raw = np.zeros((count, width), dtype)
        if "sparse" in accessor.value:
            raw = self._apply_sparse(accessor.object("sparse"), raw)
        with np.errstate(invalid="ignore"):  # a signalling NaN; it is refused below
            values = raw.astype(float)
        if accessor.value.get("normalized", False) is True and dtype.kind in "iu":
            values = np.maximum(values / np.iinfo(dtype).max, -1.0)
        if not np.isfinite(values).all():
            row, column = np.argwhere(~np.isfinite(values))[0]
            text = f"element {row} has {values[row, column]} in place {column}; expected a number"
            raise accessor.error(text)
        return values

    def _apply_sparse(self, sparse: JsonObject, base: NDArray[Any]) -> NDArray[Any]:
        """Return a copy of the base with the entries of a sparse accessor put in."""
        count = sparse.integer("count", low=1, count=len(base) + 1)
        indices, values = sparse.object("indices"), sparse.object("values")
        dtype = _read_component_type(indices)
        if dtype.kind != "u":
            raise indices.error(
                "is signed or no integer; expected 5121, 5123 or 5125", "componentType"
            )
        rows = self._view_elements(indices, count, 1, dtype)[:, 0].astype(np.int64)
        if rows.max() >= len(base) or (np.diff(rows) <= 0).any():
            raise indices.error(f"expected increasing indices below {len(base)}")
        out = base.copy()
        out[rows] = self._view_elements(values, count, base.shape[1], base.dtype)
        return out

    def _view_elements(
        self, owner: JsonObject, count: int, width: int, dtype: np.dtype[Any]
    ) -> NDArray[Any]:
        """Return elements where they lie in their buffer, (count, width), without a copy."""
        view = self._views[owner.integer("bufferView", count=len(self._views))]
        if "EXT_meshopt_compression" in view.object("extensions").value:
            raise view.error("is compressed (EXT_meshopt_compression); expected plain numbers")
        data = self._load_buffer(view.integer("buffer", count=len(self._buffer_objects)))
        start, length = view.integer("byteOffset", 0), view.integer("byteLength", low=1)
        if start + length > len(data):
            text = f"ends at byte {start + length} of a buffer that has {len(data)}"
            raise view.error(f"{text}; expected it inside")
        size = width * dtype.itemsize
        stride = view.integer("byteStride", size, low=size, count=max(253, size + 1))
        first = owner.integer("byteOffset", 0)
        end = first + (count - 1) * stride + size
        if end > length:
            text = f"{count} elements end at byte {end} of a view that has {length}"
            raise owner.error(f"{text}; expected them inside")
        return np.ndarray((count, width), dtype, data, start + first, (stride, dtype.itemsize))

    def _load_buffer(self, index: int) -> bytes:
        if index not in self._buffers:
            buffer = self._buffer_objects[index]
            length = buffer.integer("byteLength", low=1)
            if "uri" in buffer.value:
                data = _load_uri(buffer)
            elif index == 0 and self._binary is not None:
                data = self._binary
            else:
                raise buffer.error("has no uri and the file no binary chunk for it; expected one")
            if len(data) < length:
                raise buffer.error(f"is {length}, but there are {len(data)} bytes", "byteLength")
            self._buffers[index] = data
            self.size += len(data)
        return self._buffers[index]


Opener = Callable[[str, Notes], Document]


def _read_component_type(owner: JsonObject) -> np.dtype[Any]:
    code = owner.integer("componentType")
    if code not in COMPONENT_TYPES:
        known = ", ".join(map(str, COMPONENT_TYPES))
        raise owner.error(f"is {code}; expected one of {known}", "componentType")
    return COMPONENT_TYPES[code]


def _load_uri(buffer: JsonObject) -> bytes:
    """Return the bytes behind the uri of a buffer: in the text itself, or in a file beside it."""
    uri = buffer.text("uri")
    if uri.startswith("data:"):
        head, _, text = uri.partition(",")
        try:
            if not head.endswith(";base64"):
                raise ValueError
            return base64.b64decode("".join(text.split()), validate=True)
        except (binascii.Error, ValueError):
            raise buffer.error(f"is {format_value(uri)}; expected base64 data", "uri") from None
    name = unquote(uri)
    folder = os.path.realpath(os.path.dirname(os.path.abspath(buffer.path)))
    # Refused: a drive, a scheme, a parent folder, or a link that leads out of the folder.
    is_outside = name[:1] in "/\\" or ":" in name or ".." in name.replace("\\", "/").split("/")
    target = folder if is_outside or "\0" in name else os.path.realpath(os.path.join(folder, name))
    if not target.startswith(os.path.join(folder, "")):
        raise buffer.error(
            f"is {format_value(uri)}; expected a file in the folder of this one", "uri"
        )
    if not os.path.isfile(target):
        raise buffer.error(
            f"is {format_value(uri)}, and there is no such file beside this one", "uri"
        )
    return read_bytes(target)


def read_document(path: str, notes: Notes) -> Document:
    """Return the document in a .gltf or .glb file; the first bytes decide which it is."""
    data = read_bytes(path)
    text, binary = _split_chunks(data, notes) if data[:4] == MAGIC else (data, None)
    if len(text) > MAX_JSON_BYTES:
        raise notes.error(f"JSON is larger than {MAX_JSON_BYTES >> 20} MiB; expected a figure")
    if text.strip(b" \t\r\n\0") == b"":
        raise notes.error("empty; expected glTF")
    try:
        value = json.loads(text.rstrip(b"\0").decode("utf-8-sig"), parse_constant=_refuse_constant)
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
    asset = document.object("asset")
    for key in ("version", "minVersion"):
        version = asset.text(key, "2.0")
        if version.split(".")[0] != "2" or (key == "minVersion" and version != "2.0"):
            raise asset.error(f"is {format_value(version)}; expected 2.0", key)
    return document


def _split_chunks(data: bytes, notes: Notes) -> tuple[bytes, bytes | None]:
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
    chunks: dict[int, bytes] = {}
    start = 12
    while start + 8 <= length:
        size, kind = struct.unpack_from("<II", data, start)
        end = start + 8 + size
        if end > length:
            room = length - start - 8
            raise notes.error(f"a chunk of {size} bytes; expected at most {room}", f"byte {start}")
        if start == 12 and kind != JSON_CHUNK:
            raise notes.error(f"the first chunk is {kind:#x}; expected JSON", f"byte {start + 4}")
        chunks.setdefault(kind, data[start + 8 : end])
        start = end
    return chunks[JSON_CHUNK], chunks.get(BIN_CHUNK)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
