"""What was decided about the points of a recording."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from exactik.model import Skeleton
from exactik.motion import Markers
from exactik.typing import BoolArray

__all__ = ["LabelledFragment", "Labelling"]

MIN_MARGIN = 2.0
MAX_MISFIT = 9.0


class LabelledFragment(NamedTuple):
    """What a point is in a stretch of frames.

    Attributes:
        point: its name in the recording.
        label: that it got; None for none.
        first: frame, counted from 0 in `Markers.positions`.
        last: frame, included.
        margin: by how much the next best labelling is worse, as a difference of log probabilities.
        misfit: how far it is from the place of its label and how much it moves there, as a negative
            log probability.
    """

    point: str
    label: str | None
    first: int
    last: int
    margin: float
    misfit: float

    @property
    def confidence(self) -> float:
        """From 0 to 1."""
        return float(1.0 / (1.0 + np.exp(-np.clip(self.margin, 0.0, 50.0)))) if self.label else 0.0

    @property
    def doubtful(self) -> bool:
        """Whether it deserves a look."""
        return self.label is None or self.margin < MIN_MARGIN or self.misfit > MAX_MISFIT


@dataclass(frozen=True, eq=False, repr=False)
class Labelling:
    """The labels of a recording."""

    recording: Markers
    skeleton: Skeleton
    scale: float
    fragments: tuple[LabelledFragment, ...]
    mirror_margin: float
