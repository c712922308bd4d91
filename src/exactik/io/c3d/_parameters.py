"""What a C3D file says about itself: its first block, and the section of parameters.

The section is a chain of records. Each has a name and says how far away the next one is; a negative
id makes it a group, a positive one a parameter of the group with that id. Groups and parameters
come in any order. Writers get the details wrong in many ways, so that the distance is trusted over
the contents, and the contents over the number of blocks that the section claims to have.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from exactik.io._notes import Notes
from exactik.io.c3d._data import ENCODINGS, Encoding

__all__ = ["BLOCK", "Header", "Parameter", "Parameters", "read_header", "read_parameters"]

BLOCK = 512  # [bytes] of which all sections take a whole number
SIZES = {-1: 1, 1: 1, 2: 2, 4: 4}  # [bytes] of text, bytes, integers, floats


@dataclass(frozen=True)
class Header:
    """The first block of a file.

    Attributes:
        encoding: how the file writes numbers.
        parameters: first byte of the parameter section.
        points: in each frame.
        analog: samples in each frame, of all channels.
        first: number of the first frame.
        last: number of the last frame.
        scale: factor of integers; negative where the data are floats.
        data_start: number of the first block of data; the first block of the file has number 1.
        samples: in each frame, of one channel.
        rate: frames a second [Hz].
        events: names and times [s].
    """

    encoding: Encoding
    parameters: int
    points: int
    analog: int
    first: int
    last: int
    scale: float
    data_start: int
    samples: int
    rate: float
    events: tuple[tuple[str, float], ...]


class Parameter(NamedTuple):
    """A named array of text or numbers.

    Attributes:
        kind: −1 text, 1 bytes, 2 integers, 4 floats.
        shape: first index fastest; of text, the first is the length of a string.
        raw: the bytes of whole elements that are there.
    """

    kind: int
    shape: tuple[int, ...]
    raw: bytes


class Parameters:
    """All parameters of a file, by names such as "POINT:RATE" in upper case."""

    def __init__(self, encoding: Encoding, found: dict[str, Parameter], end: int):
        """Keep what was found up to the byte `end`."""
        self.encoding, self.found, self.end = encoding, found, end

    def numbers(self, name: str) -> list[float]:
        """Return the numbers of a parameter; none if it does not exist or is text."""
        kind, _, raw = self.found.get(name, Parameter(-1, (), b""))
        if kind == 1:
            return [float(byte) for byte in raw]
        if kind == 2:
            return self.encoding.integers(raw).astype(float).tolist()
        # The shortest decimal is the number that the writer meant: 69.993, not 69.99299621582031.
        return [float(str(v)) for v in self.encoding.floats(raw)] if kind == 4 else []

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
        while (key := name if number == 1 else f"{name}{number}") in self.found:
            kind, shape, raw = self.found[key]
            length = shape[0] if len(shape) > 0 else 1
            if kind == -1 and length > 0:
                strings += [_text(raw[i : i + length]) for i in range(0, len(raw), length)]
            elif kind == -1:
                strings += [""] * math.prod(shape[1:])
            number += 1
        return strings

    def text(self, name: str) -> str:
        """Return the first string of a parameter, empty if there is none."""
        return next(iter(self.texts(name)), "")


def read_header(data: bytes, notes: Notes) -> Header:
    """Return what the first block says."""
    if len(data) < BLOCK:
        raise notes.error("the file ends here; expected a header of 512 bytes", f"byte {len(data)}")
    if data[1] != 0x50:
        raise notes.error(f"0x{data[1]:02x}; expected 0x50: not a C3D file", "byte 1")
    start = _section(data, notes)
    encoding = _encoding(data, start, notes)
    words = [encoding.unsigned(data[i : i + 2]) for i in range(2, 20, 2)]
    rate = float(str(encoding.floats(data[20:24])[0]))
    return Header(
        encoding=encoding,
        parameters=start,
        points=words[0],
        analog=words[1],
        first=words[2],
        last=words[3],
        scale=float(encoding.floats(data[12:16])[0]),
        data_start=words[7],
        samples=words[8],
        rate=rate,
        events=_events(data, encoding),
    )


def _section(data: bytes, notes: Notes) -> int:
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


def _encoding(data: bytes, start: int, notes: Notes) -> Encoding:
    """Return how numbers are written; if the file does not say, in the way that makes sense."""
    code = data[start + 3]
    if code in ENCODINGS:
        return ENCODINGS[code]
    for encoding in ENCODINGS.values():
        scale, rate = (abs(float(encoding.floats(data[i : i + 4])[0])) for i in (12, 20))
        if 1e-6 < scale < 1e4 and 0.1 < rate < 1e5:
            notes.flag_damage(
                f"processor type {code}; expected 84, 85 or 86; {encoding.name} makes sense",
                f"byte {start + 3}",
            )
            return encoding
    raise notes.error(
        f"processor type {code}; expected 84 (Intel), 85 (DEC) or 86 (MIPS)", f"byte {start + 3}"
    )


def _events(data: bytes, encoding: Encoding) -> tuple[tuple[str, float], ...]:
    """Return the events of the first block: up to 18, with names of four letters."""
    if encoding.unsigned(data[298:300]) != 12345:
        return ()
    count = min(encoding.unsigned(data[300:302]), 18)
    times = [float(str(t)) for t in encoding.floats(data[304 : 304 + 4 * count])]
    names = [_text(data[i : i + 4]) for i in range(396, 396 + 4 * count, 4)]
    return tuple((n, t) for n, t in zip(names, times, strict=True) if math.isfinite(t))


def read_parameters(data: bytes, header: Header, notes: Notes) -> Parameters:
    """Return the parameters as far as they can be read."""
    groups: dict[int, str] = {}
    records: list[tuple[int, str, int, Parameter]] = []
    end = header.parameters + 4
    for at, ident, name, after, parameter in _records(data, header, notes):
        end = after
        if parameter is None:
            groups.setdefault(-ident, name)
        else:
            records.append((at, name, ident, parameter))
    found: dict[str, Parameter] = {}
    for at, name, ident, parameter in records:
        key = f"{groups.get(ident, f'GROUP {ident}')}:{name}"
        wanted = math.prod(parameter.shape) * SIZES[parameter.kind]
        if len(parameter.raw) < wanted:
            text = f"{key} takes {wanted} bytes and has {len(parameter.raw)} to the next record"
            (notes.flag_damage if key.startswith("POINT:") else notes.remark)(text, f"byte {at}")
        if key in found and len(found[key].raw) > 0:
            notes.remark(f"{key} comes twice; the first is taken", f"byte {at}")
        else:
            found[key] = parameter
    return Parameters(header.encoding, found, end)


def _records(
    data: bytes, header: Header, notes: Notes
) -> Iterator[tuple[int, int, str, int, Parameter | None]]:
    """Yield place, id, name, end and contents (None for a group) of each record.

    Every step goes forward, so that it ends on any input.
    """
    limit = (header.data_start - 1) * BLOCK  # a section may be longer than it claims, but not this
    limit = min(limit, len(data)) if limit > header.parameters else len(data)
    at = header.parameters + 4
    while at + 4 <= limit and data[at] != 0:
        place = f"byte {at}"
        if not _is_record(data, at, limit):
            notes.flag_damage("not a parameter; this and what follows is not read", place)
            return
        length, ident = abs(_signed(data[at])), _signed(data[at + 1])
        here = at + 2 + length
        name = _text(data[at + 2 : here]).upper()
        step = header.encoding.unsigned(data[here : here + 2])
        after = here + step if step > 0 else limit
        content = None
        inside = here + 2
        if ident > 0:
            content, inside = _contents(data, here + 2, min(after, limit))
        end = inside + 1 + (data[inside] if inside < limit else 0)
        yield at, ident, name, min(end, limit), content
        if step == 0:
            return
        if not _is_record(data, after, limit):
            if _is_record(data, end, limit):
                notes.flag_damage(
                    f"{name} points to byte {after}; the next is at byte {end}", place
                )
                after = end
            elif after > limit:
                notes.flag_damage(f"{name} points to byte {after}, after the parameters", place)
        at = after


def _contents(data: bytes, at: int, limit: int) -> tuple[Parameter, int]:
    """Return what a parameter holds, cut to whole elements at `limit`, and where it ends."""
    kind, dimensions = _signed(data[at]), data[at + 1]
    shape = tuple(data[at + 2 : at + 2 + dimensions])
    start = at + 2 + dimensions
    element = SIZES[kind] * (max(shape[0], 1) if kind == -1 and len(shape) > 0 else 1)
    stop = start + SIZES[kind] * math.prod(shape)
    whole = max(min(stop, limit) - start, 0) // element * element
    return Parameter(kind, shape, data[start : start + whole]), stop


def _is_record(data: bytes, at: int, limit: int) -> bool:
    """Return whether a group or a parameter can begin here."""
    if not 0 <= at <= limit - 4:
        return False
    length, ident = abs(_signed(data[at])), _signed(data[at + 1])
    name = data[at + 2 : at + 2 + length]
    here = at + 2 + length
    if length == 0 or ident == 0 or here + 2 > limit or any(b < 32 or b == 127 for b in name):
        return False
    if ident < 0:
        return True
    shaped = here + 4 <= limit and _signed(data[here + 2]) in SIZES and data[here + 3] <= 7
    return shaped and here + 4 + data[here + 3] <= limit


def _signed(byte: int) -> int:
    return byte - 256 if byte > 127 else byte


def _text(raw: bytes) -> str:
    """Return text up to the first null, without blanks at its ends."""
    raw = raw.partition(b"\0")[0].strip(b" \t\r\n")
    for encoding in ("utf-8", "cp1252"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    return raw.decode("latin-1")
