"""Where the frames of a C3D file are and how many: what it says up to four times, checked.

The first block and the parameters both state the number of points, of analog samples and of frames,
the scale and the place of the data, and in real files any of them can be wrong. The first block
leads; where others disagree, the one that fills the file to its end is right.
"""

from __future__ import annotations

import math
from itertools import product
from typing import NamedTuple

from exactik.io._notes import Notes
from exactik.io.c3d._data import Layout
from exactik.io.c3d._parameters import BLOCK, Header, Parameters

__all__ = ["Frames", "find_frames"]

MOST = 65535  # the first block counts frames in 16 bits; more are in parameters


class Frames(NamedTuple):
    """The frames of a file.

    Attributes:
        layout: where they are.
        total: how many of them.
        first: number of the first one.
        scale: factor of integers, and of residuals.
    """

    layout: Layout
    total: int
    first: int
    scale: float


def find_frames(data: bytes, header: Header, parameters: Parameters, notes: Notes) -> Frames:
    """Return where the frames are; note each contradiction, and frames that are not there."""
    first, claims = _claims(header, parameters, notes)
    layout = _layout(len(data), header, parameters, list(claims.values()), notes)
    scale = _scale(header, parameters, layout.floats, notes)
    if layout.stride == 0:  # nothing to count by, so that the claim is kept within reason
        return Frames(layout, min([*claims.values(), 0][0], 1 << 24), first, scale)
    present = max(len(data) - layout.start, 0) // layout.stride
    stated = _stated(len(data), layout, claims, present)
    for source, claim in claims.items():
        if claim != stated:
            grade = notes.flag_damage if source == "the header" else notes.remark
            grade(f"{source} says {claim} frames; {min(stated, present)} are read")
    if present == 0 and stated > 0:
        raise notes.error(
            f"the file ends at byte {len(data)} before the first frame does; expected {stated} "
            f"frames of {layout.stride} bytes",
            f"byte {layout.start}",
        )
    if stated > present:
        notes.flag_damage(f"cut short: {present} of {stated} frames are there", f"byte {len(data)}")
    elif stated < present and not layout.fits(len(data), stated):
        extra = len(data) - layout.start - stated * layout.stride
        notes.remark(f"{extra} bytes follow the last of {stated} frames; they are not read")
    return Frames(layout, min(stated, present), first, scale)


def _claims(header: Header, parameters: Parameters, notes: Notes) -> tuple[int, dict[str, int]]:
    """Return the number of the first frame, and how many there are by whoever says so."""
    first, claims = header.first, {}
    starts, ends = (_long(parameters, f"TRIAL:ACTUAL_{word}_FIELD") for word in ("START", "END"))
    if starts is not None and ends is not None and ends >= starts:
        claims["TRIAL"] = ends - starts + 1
        if first == min(starts, MOST) or first == starts % (MOST + 1):
            first = starts
        else:
            notes.remark(f"TRIAL starts at frame {starts}, the header at {first}, which is used")
    longer = parameters.count("POINT:LONG_FRAMES")
    shorter = parameters.count("POINT:FRAMES")
    claims |= {} if longer is None else {"POINT:LONG_FRAMES": longer}
    claims |= {} if shorter is None else {"POINT:FRAMES": shorter}
    own, most = header.last - header.first + 1, max(claims.values(), default=0)
    # What 16 bits leave of a larger number is no contradiction.
    left = most % (MOST + 1) if most > MOST else None
    claims = {k: n for k, n in claims.items() if n == most or n not in (MOST, left)}
    cut = own < most and (header.last == MOST or own % (MOST + 1) == left)
    if own < 0 and not cut:
        notes.flag_damage(
            f"the first frame has number {header.first}, the last {header.last}", "byte 6"
        )
    return first, claims if own < 0 or cut else {"the header": own, **claims}


def _long(parameters: Parameters, name: str) -> int | None:
    """Return a number of 32 bits that is kept as two of 16, the low one first."""
    words = [int(w) % (MOST + 1) for w in parameters.numbers(name) if math.isfinite(w)]
    return words[0] + (MOST + 1) * (words[1] if len(words) > 1 else 0) if len(words) > 0 else None


def _stated(size: int, layout: Layout, claims: dict[str, int], present: int) -> int:
    """Return the number of frames: the claim that fills the file, else the first above zero."""
    if all(n == MOST < present for n in claims.values()):
        return present  # nobody says more than 16 bits hold
    exact = [n for n in claims.values() if layout.fits(size, n)]
    some = [n for n in claims.values() if n > 0]
    return (exact or some or [0])[0]


def _layout(
    size: int, header: Header, parameters: Parameters, counts: list[int], notes: Notes
) -> Layout:
    """Return where the frames are, by the first block unless only the parameters fill the file."""
    start = _start(size, header, parameters, notes)
    own = Layout(start, header.points, header.analog, header.scale < 0.0)
    other = _by_parameters(own, header, parameters)
    if own == other:
        return own
    fits = any(own.fits(size, n) for n in counts)
    if not fits:
        kinds, starts = (own.floats, other.floats), (own.start, other.start)
        points, analog = (own.points, other.points), (own.analog, other.analog)
        for floats, start, many, samples in product(kinds, starts, points, analog):
            layout = Layout(start, many, samples, floats)
            if layout.start <= size and any(layout.fits(size, n) for n in counts):
                notes.flag_damage(
                    f"header and parameters disagree; frames fit with {_words(layout)}"
                )
                return layout
    grade = notes.remark if fits else notes.flag_damage
    if own.points != other.points:
        grade(f"POINT:USED says {other.points} points, the header {own.points}, which are read")
    if own.analog != other.analog:
        text = f"ANALOG:USED makes {other.analog} samples a frame, the header {own.analog}"
        grade(f"{text}, which are left out")
    if own.floats != other.floats:
        kind = "floats" if own.floats else "integers"
        grade(f"POINT:SCALE and the header have opposite signs; {kind} are read")
    return own


def _words(layout: Layout) -> str:
    kind = "floats" if layout.floats else "integers"
    counts = f"{layout.points} points and {layout.analog} analog samples"
    return f"{counts} as {kind} from byte {layout.start}"


def _start(size: int, header: Header, parameters: Parameters, notes: Notes) -> int:
    """Return the first byte of the data."""
    block, stated = header.data_start, parameters.count("POINT:DATA_START")
    if block < 2 or (block - 1) * BLOCK == header.parameters:
        after = -(-parameters.end // BLOCK) + 1
        used = stated if stated is not None and stated >= 2 else after
        notes.flag_damage(f"data in block {block}; block {used} is read instead", "byte 16")
        block = used
    elif stated is not None and stated != block:
        notes.remark(f"POINT:DATA_START says block {stated}, the header {block}")
    start = (block - 1) * BLOCK
    if start > size:
        raise notes.error(
            f"data start in block {block}, at byte {start}, but the file ends at byte {size}; "
            "expected a block inside the file",
            "byte 16",
        )
    return start


def _by_parameters(own: Layout, header: Header, parameters: Parameters) -> Layout:
    """Return what the parameters say; where they say nothing, what the first block does."""
    block, points = parameters.count("POINT:DATA_START"), parameters.count("POINT:USED")
    channels, scale = parameters.count("ANALOG:USED"), parameters.number("POINT:SCALE")
    return Layout(
        own.start if block is None or block < 2 else (block - 1) * BLOCK,
        own.points if points is None else points,
        own.analog if channels is None else channels * max(header.samples, 1),
        own.floats if scale is None else scale < 0.0,
    )


def _scale(header: Header, parameters: Parameters, floats: bool, notes: Notes) -> float:
    """Return the factor of integers: that of the first block, which the data were written with."""
    own, other = header.scale, parameters.number("POINT:SCALE")
    sound = math.isfinite(own) and own != 0.0
    scale = abs(own if sound or other is None else other)
    if not floats and not (math.isfinite(scale) and scale > 0.0):
        raise notes.error(f"scale is {own:g}; expected the factor of integers", "byte 12")
    if other is not None and abs(abs(other) - scale) > 1e-3 * scale:
        text = f"POINT:SCALE is {other:g}, the header has {own:g}"
        if floats:
            notes.remark(f"{text}; coordinates do not depend on it")
        else:
            notes.flag_damage(f"{text}, which is used", "byte 12")
    return scale if math.isfinite(scale) else 0.0
