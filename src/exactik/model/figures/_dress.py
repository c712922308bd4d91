"""Figures that are known by their bones get the look of the built-in ones."""

from __future__ import annotations

from exactik.model._skeleton import Skeleton
from exactik.model.figures._human import human
from exactik.model.figures._more_figures import hand, quadruped


def dress(skeleton: Skeleton) -> Skeleton:
    """Return a skeleton with the look of the built-in figure whose bones it has.

    Its bones may have other lengths, and another axis may be up. A skeleton that is none of the
    figures is returned as it is.
    """
    for figure in (human(), quadruped(), hand(), hand("left")):
        if len(figure.bones) == len(skeleton.bones) and all(
            (a.name, a.parent) == (b.name, b.parent)
            and (a.parent is None or (a.pre, a.post) == (b.pre, b.post))
            for a, b in zip(figure.bones, skeleton.bones, strict=True)
        ):
            return skeleton.with_look_of(figure)
    return skeleton
