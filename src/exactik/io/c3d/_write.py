"""Write markers as C3D: 32-bit floats in the byte order of Intel, which every reader takes."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from exactik.errors import FileError
from exactik.io._files import writing
from exactik.io._text import make_unique
from exactik.io._units import named_unit
from exactik.io.c3d._parameters import BLOCK
from exactik.io.c3d._read import KINDS
from exactik.motion import Markers

__all__ = ["write_c3d"]

MOST = 65535  # what 16 bits hold
LONGEST = 32000  # [bytes] of one parameter; the step to the next one must fit 15 bits
SIDEWAYS = {"x": "+Y", "y": "+X", "z": "+X"}  # axis that points right where this one points up


def write_c3d(
    markers: Markers, path: str | os.PathLike[str], length_unit: str | float = "mm"
) -> None:
    """Write markers, and what else the recording has, to a file.

    A missing marker is at (0, 0, 0) with residual −1. `others` become points as well, listed by
    their kind. Notes and metadata are not written.

    Args:
        markers: what to write; coordinates keep 24 bits.
        path: where.
        length_unit: of the file.
    """
    path = os.fspath(path)
    unit, metres = named_unit(path, length_unit)
    labels = make_unique([*markers.names, *markers.others])
    points = _points(path, markers, metres)
    first = markers.first_frame if len(markers) > 0 else max(markers.first_frame, 1)
    last = first + len(markers) - 1 if len(markers) > 0 else min(first, MOST) - 1
    if first < 0 or last >= 1 << 32:
        raise FileError(path, f"the first frame is {markers.first_frame}; C3D counts from 0")
    if len(labels) > MOST:
        raise FileError(path, f"{len(labels)} points; C3D holds {MOST}")
    section = _section(path, markers, labels, unit, 0)
    start = 2 + len(section) // BLOCK  # block of the data, unknown while the section was made
    section = _section(path, markers, labels, unit, start)
    header = struct.pack(
        "<BB5HfHHf",
        2,  # block of the parameters
        0x50,
        len(labels),
        0,  # analog samples
        min(first, MOST),
        min(last, MOST),
        0,  # gaps that were filled
        -1.0,  # scale: negative for floats
        start,
        1,
        markers.rate,
    )
    with writing(path, "wb") as file:
        file.write(header.ljust(BLOCK, b"\0"))
        file.write(section)
        file.write(points.tobytes())
        file.write(b"\0" * (-points.nbytes % BLOCK))


def _points(path: str, markers: Markers, metres: float) -> NDArray[np.float32]:
    """Return four words for each point of each frame, (T, P, 4)."""
    others = [series.values[:, None] for series in markers.others.values()]
    values = np.concatenate([markers.positions / metres, *others], axis=1)
    missing = ~np.isfinite(values).all(axis=2)
    values[missing] = 0.0
    if np.abs(values).max(initial=0.0) > np.finfo(np.float32).max:
        raise FileError(path, "a coordinate is too large for the 32 bits that C3D has for it")
    words = np.zeros((*values.shape[:2], 4), dtype="<f4")
    words[..., :3] = values
    words[..., 3] = np.where(missing, -1.0, 0.0)
    return words


def _section(path: str, markers: Markers, labels: Sequence[str], unit: str, start: int) -> bytes:
    """Return the section of parameters, in whole blocks."""
    count, first = len(markers), markers.first_frame
    names = dict(zip(markers.others, labels[len(markers.names) :], strict=True))
    about = [""] * len(markers.names) + [series.kind for series in markers.others.values()]
    point = [
        _numbers("USED", len(labels)),
        _numbers("SCALE", -1.0),
        _numbers("RATE", markers.rate),
        _numbers("DATA_START", start),
        _numbers("FRAMES", min(count, MOST)),
        *_texts(path, "LABELS", labels),
        *_texts(path, "DESCRIPTIONS", about),
        _text("UNITS", unit),
    ]
    if markers.up_axis is not None:
        point.append(_text("X_SCREEN", SIDEWAYS[markers.up_axis]))
        point.append(_text("Y_SCREEN", f"+{markers.up_axis.upper()}"))
    for group, kind in KINDS.items():
        own = {names[k]: s.unit for k, s in markers.others.items() if s.kind == kind}
        if len(own) > 0:
            same = len(set(own.values())) == 1
            units = list(own.values())[:1] if same else list(own.values())
            point += _texts(path, group, list(own))
            point += _texts(path, f"{group[:-1]}_UNITS", units)
    groups = {
        "POINT": point,
        "ANALOG": [_numbers("USED", 0), _numbers("GEN_SCALE", 1.0), _numbers("RATE", markers.rate)],
        "FORCE_PLATFORM": [_numbers("USED", 0)],
        "MANUFACTURER": [_text("COMPANY", "exactik"), _text("SOFTWARE", "exactik")],
    }
    if count > 0 and first + count - 1 > MOST:
        ends = {"START": first, "END": first + count - 1}
        groups["TRIAL"] = [
            _numbers(f"ACTUAL_{key}_FIELD", end & MOST, end >> 16) for key, end in ends.items()
        ]
    records = b"".join(
        _record(-ident, name, b"\0") + b"".join(_record(ident, *record) for record in inside)
        for ident, (name, inside) in enumerate(groups.items(), start=1)
    )
    blocks = (4 + len(records) + 2) // BLOCK + 1  # two bytes at least end the chain
    if blocks > 255:
        raise FileError(path, f"names take {len(records)} bytes; C3D has room for {255 * BLOCK}")
    return (bytes([1, 0x50, blocks, 84]) + records).ljust(blocks * BLOCK, b"\0")


def _record(ident: int, name: str, contents: bytes) -> bytes:
    """Return a group or a parameter: its name, the step to the next one, what it holds."""
    step = struct.pack("<H", 2 + len(contents))
    return struct.pack("bb", len(name), ident) + name.encode("ascii") + step + contents


def _numbers(name: str, *values: int | float) -> tuple[str, bytes]:
    """Return name and contents of a parameter with a number, or several."""
    kind, letter = (4, "f") if isinstance(values[0], float) else (2, "H")
    shape = bytes([len(values)]) if len(values) > 1 else b""
    raw = struct.pack(f"<{len(values)}{letter}", *values)
    return name, bytes([kind, len(shape)]) + shape + raw + b"\0"


def _text(name: str, text: str) -> tuple[str, bytes]:
    """Return name and contents of a parameter with one string."""
    raw = text.encode()
    return name, bytes([255, 1, len(raw)]) + raw + b"\0"


def _texts(path: str, name: str, strings: Sequence[str]) -> list[tuple[str, bytes]]:
    """Return name and contents of as many parameters as the strings take: NAME, NAME2 and so on."""
    rows = [_encoded(path, text) for text in strings]
    width = max(map(len, rows), default=1) or 1
    each = min(255, LONGEST // width)
    found = []
    for number, at in enumerate(range(0, max(len(rows), 1), each), start=1):
        raw = b"".join(row.ljust(width) for row in rows[at : at + each])
        shape = bytes([255, 2, width, len(rows[at : at + each])])
        found.append((name if number == 1 else f"{name}{number}", shape + raw + b"\0"))
    return found


def _encoded(path: str, text: str) -> bytes:
    """Return text as UTF-8; what would not come back is refused."""
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        raise FileError(path, f"{text!r} is no text that can be written") from None
    if len(raw) > 255 or b"\0" in raw:
        raise FileError(path, f"{text!r} is no name for C3D: up to 255 bytes, none of them null")
    return raw
