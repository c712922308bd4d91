"""What names do not say: prefixes that all have, and names that say nothing at all.

A name may say nothing by itself ("*3", "Point 7"), or beside the others: of "LED 1" … "LED 45" each
might be a name, all together are a count.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

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
