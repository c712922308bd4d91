"""Models and recordings in a few words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exactik.model import Skeleton
from exactik.motion import Markers, Motion

__all__ = ["in_words", "listed", "plural"]


def plural(count: int, what: str) -> str:
    """Return "1 bone", "2 bones"."""
    return f"{count} {what}" + ("" if count == 1 else "s")


def listed(names: Sequence[str], most: int = 3) -> str:
    """Return the first names, quoted."""
    return ", ".join(map(repr, names[:most])) + (", …" if len(names) > most else "")


def in_words(thing: Skeleton | Motion | Markers) -> str:
    """Return what a motion, a skeleton or markers are, in one line."""
    if isinstance(thing, Skeleton):
        return f"skeleton, {plural(len(thing.bones), 'bone')}, {plural(thing.nv, 'dof')}"
    span = f"{plural(len(thing), 'frame')} at {thing.rate:g} Hz"
    span += f" ({max(len(thing) - 1, 0) / thing.rate:.2f} s)"
    if isinstance(thing, Motion):
        gone = int(np.isnan(thing.q).any(axis=1).sum())
        words = f"{plural(len(thing.skeleton.bones), 'bone')}, {plural(thing.skeleton.nv, 'dof')}"
        missing = f", {plural(gone, 'frame')} missing" if gone > 0 else ""
        return f"motion, {span}, {words}{missing}"
    share = 100.0 * float(thing.missing.mean()) if thing.missing.size > 0 else 0.0
    others = f", {len(thing.others)} other series" if len(thing.others) > 0 else ""
    return f"markers, {span}, {plural(len(thing.names), 'marker')}, {share:.1f} % missing{others}"
