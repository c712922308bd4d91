"""Names beside landmarks: prefixes that all have, names that say nothing, computed points.

A name may say nothing by itself ("*3", "Point 7"), or beside the others: of "LED 1" … "LED 45" each
might be a name, all together are a count.

Joint centres and frames of bones are computed from markers. The file says so itself
(`Markers.computed`), or their names do: joint centres end in JC, the centre of mass is called so,
and Plug-in Gait draws each bone as a frame of four points (origin O, and A, L and P along its
axes).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from exactik.anatomy._names import is_side_word, strip_prefix
from exactik.typing import BoolArray

MIN_NAMES_FOR_PREFIX = 2  # above which what all begin with is a prefix and no coincidence
MIN_NUMBERED = 8
"""Names that are one word with a number ("P1" … "P45"), from which on they are a count and not
names: no part of a body has so many markers, and a spine is numbered to T12 with gaps."""
_NUMBERED = re.compile(r"(.*?)[ _.#-]*\d+")
_UNNAMED = re.compile(
    r"\*.*|#|(new|unnamed|unlabel+ed|unknown|markers?|channel|points?|pts?|m|p)?[ _]*\d*", re.I
)
FRAME_STEMS = "PEL|TRX|HED|[LR](?:FE|TI|FO|TO|HU|RA|HN|CL|HND|TF|FI|UP|TP)"
_FRAME = re.compile(rf"({FRAME_STEMS})([OALP])")
MIN_FRAME_POINTS = 2  # of the four of a frame; one alone may be a marker, such as LFOO
_JOINT_CENTRE = re.compile(
    r"([lr]|left|right|mid)?[ _.-]?([hkaesw]|gh|hip|knee|ankle|shoulder|elbow|wrist)[ _.-]?"
    r"(jc|joint ?cent(re|er)|cent(re|er))([ _.-].*)?",
    re.I,
)
_MASS_CENTRE = re.compile(r".*(cent(re|er)_?of_?(mass|gravity).*|\bco[mg])", re.I)
_QUANTITY = re.compile(
    r".*(angles?|forces?|moments?|powers?|velocity|acceleration|grf|cop)v?", re.I
)
_VIRTUAL = re.compile(r"(virtual|virt|vm)[ _.-].*|.*[ _.-](virtual|virt|proj(ection)?)", re.I)


def is_unnamed(name: str) -> bool:
    """Whether a name says nothing by itself: "*3", "New 0012", "Marker_7", "Point 4"."""
    return _UNNAMED.fullmatch(strip_prefix(name)) is not None


def find_unnamed(names: Sequence[str]) -> BoolArray:
    """Return which names of a recording say nothing, (M,): by themselves, or as a count."""
    bare = [strip_prefix(name) for name in names]
    stems = [match[1] if (match := _NUMBERED.fullmatch(name)) else None for name in bare]
    counts = Counter(stem for stem in stems if stem is not None)
    return np.array(
        [
            is_unnamed(name) or (stem is not None and counts[stem] >= MIN_NUMBERED)
            for name, stem in zip(bare, stems, strict=True)
        ],
        dtype=bool,
    )


def are_names_empty(names: Sequence[str]) -> bool:
    """Whether most names of a recording say nothing, so that it must be labelled by shape."""
    return 2 * int(np.count_nonzero(find_unnamed(names))) > len(names)


def shorten_names(names: tuple[str, ...]) -> dict[str, str]:
    """Return each name without its subject's prefix and without a beginning that all have."""
    short = {name: strip_prefix(name) for name in names}
    told = [s for s in short.values() if not is_unnamed(s)]
    # The longest beginning of all is that of the first and the last in their order.
    first, last = (min(told), max(told)) if len(told) > MIN_NAMES_FOR_PREFIX else ("", "")
    n = next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    common = first[:n]
    cut = max(common.rfind(mark) for mark in "_ .-") + 1
    if cut > 0 and not is_side_word(common[:cut].rstrip("_ .-")):
        short = {name: s[cut:] if s.startswith(common[:cut]) else s for name, s in short.items()}
    doubles = {s for s, n in Counter(short.values()).items() if n > 1}
    # Names of several subjects stay apart by their prefixes.
    return {name: name if s in doubles else s for name, s in short.items()}


def find_computed_names(names: Iterable[str]) -> dict[str, str]:
    """Return the names among these that only computed points have, and a code that says why.

    "joint-centre", "mass-centre", "bone-frame", "quantity" (an angle, a force), "virtual".
    """
    names = tuple(names)
    found: dict[str, str] = {}
    frames: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name in names:
        short = strip_prefix(name)
        if _JOINT_CENTRE.fullmatch(short):
            found[name] = "joint-centre"
        elif _MASS_CENTRE.fullmatch(short):
            found[name] = "mass-centre"
        elif _QUANTITY.fullmatch(short):
            found[name] = "quantity"
        elif _VIRTUAL.fullmatch(short):
            found[name] = "virtual"
        if (frame := _FRAME.fullmatch(short.upper())) is not None:
            frames[name.removesuffix(short), frame[1]].append(name)
    for points in frames.values():
        if len(points) >= MIN_FRAME_POINTS:
            found |= {name: found.get(name, "bone-frame") for name in points}
    return {name: found[name] for name in names if name in found}
