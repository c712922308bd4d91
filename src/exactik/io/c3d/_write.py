"""Write markers as C3D: 32-bit floats in the byte order of Intel, which every reader takes."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from exactik.errors import FileError
from exactik.io._files import make_unique, open_atomic
from exactik.io._units import require_named_unit
from exactik.io.c3d._analog import AnalogWords, pack_analog
from exactik.io.c3d._parameters import BLOCK, MAX_UINT16
from exactik.io.c3d._read import COMPUTED_GROUPS, POINT_KINDS
from exactik.model.motion import Markers

MAX_PARAMETER_BYTES = 32000  # the step to the next parameter must fit 15 bits
RIGHT_AXIS = {"x": "+Y", "y": "+X", "z": "+X"}  # up axis → the axis that points right on the screen


def write_c3d(
    markers: Markers, path: str | os.PathLike[str], length_unit: str | float = "mm"
) -> None:
    """Write markers, and what else the recording has, to a file.

    A missing marker is at (0, 0, 0) with residual −1. `others` become points as well, listed by
    their kind. Analog channels and force plates are written where a frame has a whole number of
    their samples, plates as type 2, see `pack_analog`. Notes and metadata are not written.

    Args:
        markers: what to write; coordinates keep 24 bits.
    """
    path = os.fspath(path)
    unit, metres = require_named_unit(path, length_unit)
    labels = make_unique([*markers.names, *markers.others])
    points = _pack_points(path, markers, metres)
    first = markers.first_frame if len(markers) > 0 else max(markers.first_frame, 1)
    last = first + len(markers) - 1 if len(markers) > 0 else min(first, MAX_UINT16) - 1
    if first < 0 or last >= 1 << 32:
        raise FileError(path, f"the first frame is {markers.first_frame}; C3D counts from 0")
    if len(labels) > MAX_UINT16:
        raise FileError(path, f"{len(labels)} points; C3D holds {MAX_UINT16}")
    analog = pack_analog(markers, metres)
    in_frame = analog.samples * len(analog.labels)
    if in_frame > MAX_UINT16:
        raise FileError(path, f"{in_frame} analog samples a frame; C3D holds {MAX_UINT16}")
    section = _pack_parameters(path, markers, labels, unit, analog, data_block=0)
    data_block = 2 + len(section) // BLOCK  # known only when the section has its size
    section = _pack_parameters(path, markers, labels, unit, analog, data_block)
    header = struct.pack(
        "<BB5HfHHf",
        2,  # block of the parameters
        0x50,
        len(labels),
        in_frame,
        min(first, MAX_UINT16),
        min(last, MAX_UINT16),
        0,  # gaps that were filled
        -1.0,  # scale: negative for floats
        data_block,
        analog.samples,
        markers.rate,
    )
    words = points.reshape(len(markers), 4 * len(labels))
    words = np.concatenate([words, analog.values.reshape(len(markers), in_frame)], axis=1)
    with open_atomic(path, "wb") as file:
        file.write(header.ljust(BLOCK, b"\0"))
        file.write(section)
        file.write(words.astype("<f4").tobytes())
        file.write(b"\0" * (-4 * words.size % BLOCK))


def _pack_points(path: str, markers: Markers, metres: float) -> NDArray[np.float32]:
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


def _pack_parameters(
    path: str,
    markers: Markers,
    labels: Sequence[str],
    unit: str,
    analog: AnalogWords,
    data_block: int,
) -> bytes:
    """Return the section of parameters, in whole blocks."""
    count, first = len(markers), markers.first_frame
    names = dict(zip(markers.others, labels[len(markers.names) :], strict=True))
    kinds = [""] * len(markers.names) + [series.kind for series in markers.others.values()]
    point = [
        _pack_numbers("USED", len(labels)),
        _pack_numbers("SCALE", -1.0),
        _pack_numbers("RATE", markers.rate),
        _pack_numbers("DATA_START", data_block),
        _pack_numbers("FRAMES", min(count, MAX_UINT16)),
        *_pack_texts(path, "LABELS", labels),
        *_pack_texts(path, "DESCRIPTIONS", kinds),
        _pack_text("UNITS", unit),
    ]
    if markers.up_axis is not None:
        point.append(_pack_text("X_SCREEN", RIGHT_AXIS[markers.up_axis]))
        point.append(_pack_text("Y_SCREEN", f"+{markers.up_axis.upper()}"))
    for group, kind in POINT_KINDS.items():
        units = {names[k]: s.unit for k, s in markers.others.items() if s.kind == kind}
        if len(units) > 0:
            same = len(set(units.values())) == 1
            point += _pack_texts(path, group, list(units))
            point += _pack_texts(
                path, f"{group[:-1]}_UNITS", list(units.values())[: 1 if same else None]
            )
    if len(markers.computed) > 0:
        point += _pack_texts(path, COMPUTED_GROUPS[0], markers.computed)
    groups = {
        "POINT": point,
        "ANALOG": _pack_analog_parameters(path, analog, markers.rate),
        "FORCE_PLATFORM": _pack_plate_parameters(analog),
        "MANUFACTURER": [_pack_text("COMPANY", "exactik"), _pack_text("SOFTWARE", "exactik")],
    }
    if count > 0 and first + count - 1 > MAX_UINT16:
        ends = {"START": first, "END": first + count - 1}
        groups["TRIAL"] = [
            _pack_numbers(f"ACTUAL_{key}_FIELD", end & MAX_UINT16, end >> 16)
            for key, end in ends.items()
        ]
    records = b"".join(
        _pack_record(-ident, name, b"\0")
        + b"".join(_pack_record(ident, *parameter) for parameter in parameters)
        for ident, (name, parameters) in enumerate(groups.items(), start=1)
    )
    blocks = (4 + len(records) + 2) // BLOCK + 1  # two zero bytes at least end the chain
    if blocks > 255:
        raise FileError(path, f"names take {len(records)} bytes; C3D has room for {255 * BLOCK}")
    return (bytes([1, 0x50, blocks, 84]) + records).ljust(blocks * BLOCK, b"\0")


def _pack_analog_parameters(path: str, analog: AnalogWords, rate: float) -> list[tuple[str, bytes]]:
    """Return what the file says of its channels: values are as they are stored."""
    count = len(analog.labels)
    parameters = [
        _pack_numbers("USED", count),
        _pack_numbers("GEN_SCALE", 1.0),
        _pack_numbers("RATE", float(analog.samples * rate)),
    ]
    if count > 0:
        parameters += [
            *_pack_texts(path, "LABELS", analog.labels),
            *_pack_texts(path, "UNITS", analog.units),
            _pack_numbers("SCALE", *([1.0] * min(count, 255))),
            _pack_numbers("OFFSET", *([0] * min(count, 255))),
        ]
    return parameters


def _pack_plate_parameters(analog: AnalogWords) -> list[tuple[str, bytes]]:
    """Return what the file says of its force plates, all of type 2."""
    plates = analog.plates
    parameters = [_pack_numbers("USED", len(plates))]
    if len(plates) > 0:
        corners = np.concatenate([plate.corners.ravel() for plate in plates])
        channels = [number for plate in plates for number in plate.channels]
        parameters += [
            ("TYPE", _pack_array([2] * len(plates), (len(plates),), "H")),
            ("CORNERS", _pack_array(corners.tolist(), (3, 4, len(plates)), "f")),
            ("ORIGIN", _pack_array([0.0] * 3 * len(plates), (3, len(plates)), "f")),
            ("CHANNEL", _pack_array(channels, (6, len(plates)), "H")),
            ("ZERO", _pack_array([0, 0], (2,), "H")),
        ]
    return parameters


def _pack_array(values: Sequence[float], shape: tuple[int, ...], letter: str) -> bytes:
    """Return contents of a parameter with several indices, the first one fastest."""
    head = bytes([4 if letter == "f" else 2, len(shape), *shape])
    return head + struct.pack(f"<{len(values)}{letter}", *values) + b"\0"


def _pack_record(ident: int, name: str, contents: bytes) -> bytes:
    """Return a group or a parameter: its name, the step to the next one, its contents."""
    step = struct.pack("<H", 2 + len(contents))
    return struct.pack("bb", len(name), ident) + name.encode("ascii") + step + contents


def _pack_numbers(name: str, *values: int | float) -> tuple[str, bytes]:
    """Return name and contents of a parameter with a number, or several."""
    kind, letter = (4, "f") if isinstance(values[0], float) else (2, "H")
    shape = bytes([len(values)]) if len(values) > 1 else b""
    raw = struct.pack(f"<{len(values)}{letter}", *values)
    return name, bytes([kind, len(shape)]) + shape + raw + b"\0"


def _pack_text(name: str, text: str) -> tuple[str, bytes]:
    """Return name and contents of a parameter with one string."""
    raw = text.encode()
    return name, bytes([255, 1, len(raw)]) + raw + b"\0"


def _pack_texts(path: str, name: str, strings: Sequence[str]) -> list[tuple[str, bytes]]:
    """Return name and contents of as many parameters as the strings take: NAME, NAME2 and so on."""
    rows = [_encode(path, text) for text in strings]
    width = max(map(len, rows), default=1) or 1
    rows_per_parameter = min(255, MAX_PARAMETER_BYTES // width)
    parameters = []
    for number, start in enumerate(range(0, max(len(rows), 1), rows_per_parameter), start=1):
        part = rows[start : start + rows_per_parameter]
        raw = b"".join(row.ljust(width) for row in part)
        shape = bytes([255, 2, width, len(part)])
        parameters.append((name if number == 1 else f"{name}{number}", shape + raw + b"\0"))
    return parameters


def _encode(path: str, text: str) -> bytes:
    """Return text as UTF-8; what would not come back is refused."""
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        raise FileError(path, f"{text!r} is no text that can be written") from None
    if len(raw) > 255 or b"\0" in raw:
        raise FileError(path, f"{text!r} is no name for C3D: up to 255 bytes, none of them null")
    return raw
