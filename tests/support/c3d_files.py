"""Makes C3D files of every encoding, right or wrong, byte by byte and without the package."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

CODES = {"Intel": 84, "DEC": 85, "MIPS": 86}


def encode_integers(values: ArrayLike, encoding: str) -> bytes:
    order = ">" if encoding == "MIPS" else "<"
    return (np.atleast_1d(np.asarray(values)) & 0xFFFF).astype(f"{order}u2").tobytes()


def encode_floats(values: ArrayLike, encoding: str) -> bytes:
    array = np.atleast_1d(np.asarray(values, dtype=np.float32)).ravel()
    if encoding == "MIPS":
        return array.astype(">f4").tobytes()
    if encoding == "Intel":
        return array.astype("<f4").tobytes()
    words = (array * np.float32(4.0)).astype("<f4").view("<u2").reshape(-1, 2)
    return np.ascontiguousarray(words[:, ::-1]).tobytes()


def encode_record(ident: int, name: str | bytes, contents: bytes, encoding: str) -> bytes:
    """A group or a parameter: its name, the step to the next one, its contents."""
    raw = name if isinstance(name, bytes) else name.encode()
    step = encode_integers(2 + len(contents), encoding)
    return struct.pack("bb", len(raw), ident) + raw + step + contents


def encode_parameter(value: Any, encoding: str) -> bytes:
    """Contents of a parameter: a number, a text, a list of either, or bytes as they are."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return bytes([255, 1, len(value.encode())]) + value.encode() + b"\0"
    is_list = isinstance(value, list)
    if is_list and len(value) > 0 and isinstance(value[0], str):
        rows = [row.encode() for row in value]
        width = max(map(len, rows))
        padded = b"".join(row.ljust(width) for row in rows)
        return bytes([255, 2, width, len(rows)]) + padded + b"\0"
    is_float = isinstance(value[0] if is_list else value, float)
    raw = (encode_floats if is_float else encode_integers)(value, encoding)
    shape = bytes([1, len(value)]) if is_list else b"\0"
    return bytes([4 if is_float else 2]) + shape + raw + b"\0"


def encode_array(values: ArrayLike, shape: tuple[int, ...], encoding: str = "Intel") -> bytes:
    """Contents of a parameter of floats with several indices, the first one fastest."""
    raw = encode_floats(np.asarray(values, dtype=float).ravel(), encoding)
    return bytes([4, len(shape), *shape]) + raw + b"\0"


def make_c3d(
    values: ArrayLike = ((((1.0, 2.0, 3.0)),),),
    *,
    status: ArrayLike = 0.0,
    encoding: str = "Intel",
    scale: float = -1.0,
    analog: ArrayLike | None = None,
    groups: Mapping[str, Mapping[str, Any]] | None = None,
    header: Mapping[str, Any] | None = None,
    end: bytes = b"",
) -> bytes:
    """The bytes of a file with these coordinates, (T, P, 3), and samples, (T, n), as stored.

    `groups` and `header` change what the file states about itself; None leaves a parameter out.
    """
    points = np.asarray(values, dtype=float)
    frames, count = points.shape[:2]
    status_words = np.broadcast_to(np.asarray(status, dtype=float), (frames, count))
    words = np.concatenate([points, status_words[..., None]], axis=2).reshape(frames, 4 * count)
    samples = np.empty((frames, 0)) if analog is None else np.asarray(analog, dtype=float)
    words = np.concatenate([words, samples], axis=1)
    if scale < 0:
        data = encode_floats(words, encoding)
    else:
        data = encode_integers(words.astype(int), encoding)
    parameters: dict[str, dict[str, Any]] = {
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
    for name, group in (groups or {}).items():
        parameters[name] = {**parameters.get(name, {}), **group}

    def make_section(start: int) -> bytes:
        point = parameters.get("POINT", {})
        if point.get("DATA_START") == 0:
            point = {**point, "DATA_START": start}
        records = b""
        for ident, (name, group) in enumerate({**parameters, "POINT": point}.items(), start=1):
            records += encode_record(-ident, name, b"\0", encoding)
            for key, value in group.items():
                if value is not None:
                    contents = encode_parameter(value, encoding)
                    records += encode_record(ident, key, contents, encoding)
        records += end
        blocks = (4 + len(records) + 2) // 512 + 1
        code = CODES[encoding]
        return (bytes([1, 0x50, min(blocks, 255), code]) + records).ljust(512 * blocks, b"\0")

    start = 2 + len(make_section(1)) // 512
    fields: dict[str, Any] = {
        "parameters": 2,
        "magic": 0x50,
        "points": count,
        "analog": samples.shape[1],
        "first": 1,
        "last": frames,
        "gap": 0,
        "scale": scale,
        "data_start": start,
        "samples": 1,
        "rate": 100.0,
        **(header or {}),
    }
    raw = bytes([fields["parameters"], fields["magic"]])
    raw += encode_integers(
        [fields[key] for key in ("points", "analog", "first", "last", "gap")], encoding
    )
    raw += encode_floats(fields["scale"], encoding)
    raw += encode_integers([fields["data_start"], fields["samples"]], encoding)
    raw += encode_floats(fields["rate"], encoding)
    return raw.ljust(512, b"\0") + make_section(start) + data + b"\0" * (-len(data) % 512)
