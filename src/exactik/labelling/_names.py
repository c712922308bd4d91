"""Which names say nothing about what a marker is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from exactik.marker_sets import is_unlabelled, strip_prefix
from exactik.typing import BoolArray

__all__ = ["find_unnamed"]

MIN_NUMBERED = 8
"""Names that are one word with a number ("P1" … "P45"), from which on they are a count and not
names: no part of a body has so many markers, and a spine is numbered to T12 with gaps."""
_NUMBERED = re.compile(r"(.*?)[ _.#-]*\d+")


def find_unnamed(names: Sequence[str]) -> BoolArray:
    """Return which names say nothing, (M,): "*3", "Channel101", "Point 7", and plain counts."""
    bare = [strip_prefix(name) for name in names]
    stems = [match[1] if (match := _NUMBERED.fullmatch(name)) else None for name in bare]
    counts = Counter(stem for stem in stems if stem is not None)
    return np.array(
        [
            is_unlabelled(name) or (stem is not None and counts[stem] >= MIN_NUMBERED)
            for name, stem in zip(bare, stems, strict=True)
        ],
        dtype=bool,
    )
