"""Makes C3D files of every encoding, right or wrong, byte by byte and without the package."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

CODES = {"Intel": 84, "DEC": 85, "MIPS": 86}
NOTHING: dict[str, Any] = {}
HEADER = ("parameters", "magic", "points", "analog", "first", "last", "gap")
HEADER += ("scale", "data_start", "samples", "rate")


def integers(values: ArrayLike, encoding: str) -> bytes:
    order = ">" if encoding == "MIPS" else "<"
    return (np.atleast_1d(np.asarray(values)) & 0xFFFF).astype(f"{order}u2").tobytes()


def floats(values: ArrayLike, encoding: str) -> bytes:
    array = np.atleast_1d(np.asarray(values, dtype=np.float32)).ravel()
    if encoding == "MIPS":
        return array.astype(">f4").tobytes()
    if encoding == "Intel":
        return array.astype("<f4").tobytes()
    words = (array * np.float32(4.0)).astype("<f4").view("<u2").reshape(-1, 2)
    return np.ascontiguousarray(words[:, ::-1]).tobytes()


def record(ident: int, name: str | bytes, contents: bytes, encoding: str) -> bytes:
    raw = name if isinstance(name, bytes) else name.encode()
    return (
        struct.pack("bb", len(raw), ident) + raw + integers(2 + len(contents), encoding) + contents
    )


def parameter(value: Any, encoding: str) -> bytes:
    """Contents of a parameter: a number, a text, a list of either, or bytes as they are."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return bytes([255, 1, len(value.encode())]) + value.encode() + b"\0"
    many = isinstance(value, list)
    if many and len(value) > 0 and isinstance(value[0], str):
        rows = [row.encode() for row in value]
        width = max(map(len, rows))
        whole = b"".join(row.ljust(width) for row in rows)
        return bytes([255, 2, width, len(rows)]) + whole + b"\0"
    is_float = isinstance(value[0] if many else value, float)
    raw = (floats if is_float else integers)(value, encoding)
    shape = bytes([1, len(value)]) if many else b"\0"
    return bytes([4 if is_float else 2]) + shape + raw + b"\0"


def c3d_bytes(
    values: ArrayLike = ((((1.0, 2.0, 3.0)),),),
    *,
    fourth: ArrayLike = 0.0,
    encoding: str = "Intel",
    scale: float = -1.0,
    analog: ArrayLike | None = None,
    groups: Mapping[str, Mapping[str, Any]] | None = None,
    header: Mapping[str, Any] | None = None,
    end: bytes = b"",
) -> bytes:
    """A file with these coordinates, (T, P, 3), and samples, (T, n), as they are stored.

    `groups` and `header` change what the file says about itself; None leaves a parameter out.
    """
    points = np.asarray(values, dtype=float)
    frames, count = points.shape[:2]
    last = np.broadcast_to(np.asarray(fourth, dtype=float), (frames, count))
    words = np.concatenate([points, last[..., None]], axis=2).reshape(frames, 4 * count)
    extra = np.empty((frames, 0)) if analog is None else np.asarray(analog, dtype=float)
    words = np.concatenate([words, extra], axis=1)
    data = floats(words, encoding) if scale < 0 else integers(words.astype(int), encoding)
    said: dict[str, dict[str, Any]] = {
        "POINT": {
            "USED": count,
            "SCALE": float(scale),
            "RATE": 100.0,
            "FRAMES": frames,
            "LABELS": [f"M{k}" for k in range(count)] or None,
            "UNITS": "mm",
            "DATA_START": 0,
        }
    }
    for name, inside in (groups or {}).items():
        said[name] = {**said.get(name, {}), **inside}

    def section(start: int) -> bytes:
        point = said.get("POINT", {})
        if point.get("DATA_START") == 0:
            point = {**point, "DATA_START": start}
        records = b""
        for ident, (name, inside) in enumerate({**said, "POINT": point}.items(), start=1):
            records += record(-ident, name, b"\0", encoding)
            for key, value in inside.items():
                if value is not None:
                    records += record(ident, key, parameter(value, encoding), encoding)
        records += end
        blocks = (4 + len(records) + 2) // 512 + 1
        code = CODES[encoding]
        return (bytes([1, 0x50, min(blocks, 255), code]) + records).ljust(512 * blocks, b"\0")

    start = 2 + len(section(1)) // 512
    fields: dict[str, Any] = dict(
        zip(HEADER, (2, 0x50, count, extra.shape[1], 1, frames, 0), strict=False)
    )
    fields |= {
        "scale": scale,
        "data_start": start,
        "samples": 1,
        "rate": 100.0,
        **(header or NOTHING),
    }
    raw = bytes([fields["parameters"], fields["magic"]])
    raw += integers([fields[key] for key in HEADER[2:7]], encoding)
    raw += floats(fields["scale"], encoding)
    raw += integers([fields["data_start"], fields["samples"]], encoding)
    raw += floats(fields["rate"], encoding)
    return raw.ljust(512, b"\0") + section(start) + data + b"\0" * (-len(data) % 512)
