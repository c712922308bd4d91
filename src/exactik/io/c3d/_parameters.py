"""What a C3D file says about itself: its first block, and the section of parameters.

The section is a chain of records. Each has a name and says how far away the next one is; a negative
id makes it a group, a positive one a parameter of the group with that id. Groups and parameters
come in any order. Writers get the details wrong in many ways, so that the distance is trusted over
the contents, and the contents over the number of blocks that the section claims to have.

It depends on the machine that wrote the file: Intel writes the low byte first, MIPS the high one.
DEC (VAX) writes integers like Intel and floats in two words, the high one first, with an exponent
that makes them four times what an Intel float of the same bits is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactik.io._notes import Notes

BLOCK = 512  # [bytes] of which all sections take a whole number
MAX_UINT16 = 65535  # the first block counts points and frames in 16 bits; more are in parameters
EVENT_KEY = 12345  # word 150 of the first block, if it has events with names of four letters
MAX_HEADER_EVENTS = 18
ELEMENT_BYTES = {-1: 1, 1: 1, 2: 2, 4: 4}  # [bytes] of text, bytes, integers, floats


@dataclass(frozen=True)
class Encoding:
    """How a kind of machine writes numbers."""

    name: str  # of the machine
    byte_order: str  # of the bytes in a number, as NumPy calls it
    words_swapped: bool = False  # whether the two words of a float change places

    def decode_integers(self, raw: bytes | NDArray[np.uint8]) -> NDArray[np.int16]:
        """Return 16-bit integers; the last axis of `raw` is one of bytes."""
        return _as_bytes(raw).view(f"{self.byte_order}i2").astype(np.int16, copy=False)

    def decode_floats(self, raw: bytes | NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return 32-bit floats; the last axis of `raw` is one of bytes."""
        vec8 = _as_bytes(raw)
        if not self.words_swapped:
            return vec8.view(f"{self.byte_order}f4").astype(np.float32, copy=False)
        words = vec8.view(f"{self.byte_order}u2")
        pairs = words.reshape(*words.shape[:-1], -1, 2)[..., ::-1]
        bits = np.ascontiguousarray(pairs).view(f"{self.byte_order}u4")[..., 0].astype(np.uint32)
        with np.errstate(invalid="ignore"):  # the bits may be those of a signalling NaN
            values = bits.view(np.float32) / np.float32(4.0)
        # A VAX float with exponent 0 is zero, or no number if its sign is set.
        exponent_is_zero = (bits & 0x7F800000) == 0
        zero_or_nan = np.where(bits >> 31 == 1, np.float32(np.nan), 0)
        return np.where(exponent_is_zero, zero_or_nan, values)

    def decode_unsigned(self, raw: bytes) -> int:
        """Return the unsigned integer in two bytes."""
        return int.from_bytes(raw, "big" if self.byte_order == ">" else "little")


# By the fourth byte of the parameter section, the processor type.
ENCODINGS = {
    84: Encoding("Intel", "<"),
    85: Encoding("DEC", "<", words_swapped=True),
    86: Encoding("MIPS", ">"),
}


def _as_bytes(raw: bytes | NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.frombuffer(raw, np.uint8) if isinstance(raw, bytes) else raw


@dataclass(frozen=True)
class C3dHeader:
    """The first block of a file."""

    encoding: Encoding  # how the file writes numbers
    parameter_start: int  # first byte of the parameter section
    point_count: int  # points in each frame
    analog_count: int  # samples in each frame, of all channels
    first_frame: int  # number of the first frame
    last_frame: int  # number of the last frame
    scale: float  # factor of integers; negative where the data are floats
    data_block: int  # number of the first block of data; the first block of the file has number 1
    samples_per_frame: int  # analog samples in each frame, of one channel
    rate: float  # frames a second [Hz]
    events: tuple[tuple[str, float], ...]  # names and times [s]


class Parameter(NamedTuple):
    """A named array of text or numbers."""

    kind: int  # −1 text, 1 bytes, 2 integers, 4 floats
    shape: tuple[int, ...]  # first index fastest; of text, the first is the length of a string
    raw: bytes  # the bytes of whole elements that are there


class _Record(NamedTuple):
    """A group or a parameter as it stands in the section."""

    start: int  # its first byte
    end: int  # the byte after its contents
    ident: int  # number of the group, negative for the group itself
    name: str  # in upper case
    parameter: Parameter | None  # what it holds; None for a group


class Parameters:
    """All parameters of a file, by names such as "POINT:RATE" in upper case."""

    def __init__(self, encoding: Encoding, by_name: dict[str, Parameter], end: int):
        """Keep the parameters that were read up to the byte `end`."""
        self.encoding, self.by_name, self.end = encoding, by_name, end

    def numbers(self, name: str) -> list[float]:
        """Return the numbers of a parameter; none if it does not exist or is text."""
        kind, _, raw = self.by_name.get(name, Parameter(-1, (), b""))
        if kind == 1:
            return [float(byte) for byte in raw]
        if kind == 2:
            return self.encoding.decode_integers(raw).astype(float).tolist()
        # The shortest decimal is the number that the writer meant: 69.993, not 69.99299621582031.
        return [float(str(v)) for v in self.encoding.decode_floats(raw)] if kind == 4 else []

    def number(self, name: str) -> float | None:
        """Return the first number of a parameter if there is one and it is finite."""
        values = self.numbers(name)
        return values[0] if len(values) > 0 and math.isfinite(values[0]) else None

    def count(self, name: str) -> int | None:
        """Return the first number as a count; 16 bits hold up to 65535, without a sign."""
        value = self.number(name)
        if value is None or value < -32768.0:
            return None
        return int(value) + 65536 if value < 0.0 else int(value)

    def texts(self, name: str) -> list[str]:
        """Return the strings of a parameter, and of NAME2, NAME3 and so on, which continue it."""
        strings: list[str] = []
        number = 1
        while (key := name if number == 1 else f"{name}{number}") in self.by_name:
            kind, shape, raw = self.by_name[key]
            length = shape[0] if len(shape) > 0 else 1
            if kind == -1 and length > 0:
                strings += [_decode_text(raw[i : i + length]) for i in range(0, len(raw), length)]
            elif kind == -1:
                strings += [""] * math.prod(shape[1:])
            number += 1
        return strings

    def text(self, name: str) -> str:
        """Return the first string of a parameter, empty if there is none."""
        return next(iter(self.texts(name)), "")


def read_header(data: bytes, notes: Notes) -> C3dHeader:
    """Return what the first block says."""
    if len(data) < BLOCK:
        raise notes.error("the file ends here; expected a header of 512 bytes", f"byte {len(data)}")
    if data[1] != 0x50:
        raise notes.error(f"0x{data[1]:02x}; expected 0x50: not a C3D file", "byte 1")
    start = _find_parameter_section(data, notes)
    encoding = _find_encoding(data, start, notes)
    words = [encoding.decode_unsigned(data[i : i + 2]) for i in range(2, 20, 2)]
    rate = float(str(encoding.decode_floats(data[20:24])[0]))
    return C3dHeader(
        encoding=encoding,
        parameter_start=start,
        point_count=words[0],
        analog_count=words[1],
        first_frame=words[2],
        last_frame=words[3],
        scale=float(encoding.decode_floats(data[12:16])[0]),
        data_block=words[7],
        samples_per_frame=words[8],
        rate=rate,
        events=_read_events(data, encoding),
    )


def _find_parameter_section(data: bytes, notes: Notes) -> int:
    """Return where the parameters start; if the pointer is wrong, the second block is tried."""
    start = (data[0] - 1) * BLOCK
    if start >= BLOCK and start + 4 <= len(data) and data[start + 3] in ENCODINGS:
        return start
    if len(data) >= BLOCK + 4 and data[BLOCK + 3] in ENCODINGS:
        notes.flag_damage(
            f"block {data[0]} holds no parameters; those in block 2 are read", "byte 0"
        )
        return BLOCK
    if start < BLOCK or start + 4 > len(data):
        raise notes.error(
            f"parameters in block {data[0]}, which is not in this file of {len(data)} bytes; "
            "expected a block after the first",
            "byte 0",
        )
    return start


def _find_encoding(data: bytes, start: int, notes: Notes) -> Encoding:
    """Return how numbers are written; if the file does not say, the first that gives sane ones."""
    code = data[start + 3]
    if code in ENCODINGS:
        return ENCODINGS[code]
    for encoding in ENCODINGS.values():
        scale, rate = (abs(float(encoding.decode_floats(data[i : i + 4])[0])) for i in (12, 20))
        if 1e-6 < scale < 1e4 and 0.1 < rate < 1e5:
            notes.flag_damage(
                f"processor type {code}; expected 84, 85 or 86; {encoding.name} makes sense",
                f"byte {start + 3}",
            )
            return encoding
    raise notes.error(
        f"processor type {code}; expected 84 (Intel), 85 (DEC) or 86 (MIPS)", f"byte {start + 3}"
    )


def _read_events(data: bytes, encoding: Encoding) -> tuple[tuple[str, float], ...]:
    """Return the events of the first block: names of four letters and times [s]."""
    if encoding.decode_unsigned(data[298:300]) != EVENT_KEY:
        return ()
    count = min(encoding.decode_unsigned(data[300:302]), MAX_HEADER_EVENTS)
    times = [float(str(t)) for t in encoding.decode_floats(data[304 : 304 + 4 * count])]
    names = [_decode_text(data[i : i + 4]) for i in range(396, 396 + 4 * count, 4)]
    return tuple((n, t) for n, t in zip(names, times, strict=True) if math.isfinite(t))


def read_parameters(data: bytes, header: C3dHeader, notes: Notes) -> Parameters:
    """Return the parameters as far as they can be read."""
    groups: dict[int, str] = {}
    records: list[_Record] = []
    end = header.parameter_start + 4
    for record in _iterate_records(data, header, notes):
        end = record.end
        if record.parameter is None:
            groups.setdefault(-record.ident, record.name)
        else:
            records.append(record)
    by_name: dict[str, Parameter] = {}
    for start, _, ident, name, parameter in records:
        assert parameter is not None
        key = f"{groups.get(ident, f'GROUP {ident}')}:{name}"
        size = math.prod(parameter.shape) * ELEMENT_BYTES[parameter.kind]
        if len(parameter.raw) < size:
            text = f"{key} takes {size} bytes and has {len(parameter.raw)} to the next record"
            (notes.flag_damage if key.startswith("POINT:") else notes.remark)(text, f"byte {start}")
        if key in by_name and len(by_name[key].raw) > 0:
            notes.remark(f"{key} comes twice; the first is taken", f"byte {start}")
        else:
            by_name[key] = parameter
    return Parameters(header.encoding, by_name, end)


def _iterate_records(data: bytes, header: C3dHeader, notes: Notes) -> Iterator[_Record]:
    """Yield each record; every step goes forward, so that it ends on any input."""
    limit = (header.data_block - 1) * BLOCK  # a section may be longer than it claims, but not this
    limit = min(limit, len(data)) if limit > header.parameter_start else len(data)
    start = header.parameter_start + 4
    while start + 4 <= limit and data[start] != 0:
        place = f"byte {start}"
        if not _is_record(data, start, limit):
            notes.flag_damage("not a parameter; this and what follows is not read", place)
            return
        length, ident = abs(_to_signed(data[start])), _to_signed(data[start + 1])
        name_end = start + 2 + length
        name = _decode_text(data[start + 2 : name_end]).upper()
        step = header.encoding.decode_unsigned(data[name_end : name_end + 2])
        following = name_end + step if step > 0 else limit
        parameter = None
        contents_end = name_end + 2
        if ident > 0:
            parameter, contents_end = _read_parameter(data, name_end + 2, min(following, limit))
        # After the contents a byte tells the length of a description.
        end = contents_end + 1 + (data[contents_end] if contents_end < limit else 0)
        yield _Record(start=start, end=min(end, limit), ident=ident, name=name, parameter=parameter)
        if step == 0:
            return
        if not _is_record(data, following, limit):
            if _is_record(data, end, limit):
                notes.flag_damage(
                    f"{name} points to byte {following}; the next is at byte {end}", place
                )
                following = end
            elif following > limit:
                notes.flag_damage(f"{name} points to byte {following}, after the parameters", place)
        start = following


def _read_parameter(data: bytes, offset: int, limit: int) -> tuple[Parameter, int]:
    """Return what a parameter holds, cut to whole elements at `limit`, and where it ends."""
    kind, dimensions = _to_signed(data[offset]), data[offset + 1]
    shape = tuple(data[offset + 2 : offset + 2 + dimensions])
    start = offset + 2 + dimensions
    element = ELEMENT_BYTES[kind] * (max(shape[0], 1) if kind == -1 and len(shape) > 0 else 1)
    stop = start + ELEMENT_BYTES[kind] * math.prod(shape)
    size = max(min(stop, limit) - start, 0) // element * element
    return Parameter(kind=kind, shape=shape, raw=data[start : start + size]), stop


def _is_record(data: bytes, start: int, limit: int) -> bool:
    """Return whether a group or a parameter can begin at this byte."""
    if not 0 <= start <= limit - 4:
        return False
    length, ident = abs(_to_signed(data[start])), _to_signed(data[start + 1])
    name_end = start + 2 + length
    name = data[start + 2 : name_end]
    if length == 0 or ident == 0 or name_end + 2 > limit or any(b < 32 or b == 127 for b in name):
        return False
    if ident < 0:
        return True
    if name_end + 4 > limit or _to_signed(data[name_end + 2]) not in ELEMENT_BYTES:
        return False
    dimensions = data[name_end + 3]
    return dimensions <= 7 and name_end + 4 + dimensions <= limit


def _to_signed(byte: int) -> int:
    return byte - 256 if byte > 127 else byte


def _decode_text(raw: bytes) -> str:
    """Return text up to the first null, without blanks at its ends."""
    raw = raw.partition(b"\0")[0].strip(b" \t\r\n")
    for encoding in ("utf-8", "cp1252"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    return raw.decode("latin-1")
