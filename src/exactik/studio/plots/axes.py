"""Axes of plots: frames in bins along x, values upwards, round numbers beside and below.

Frame t takes t to t + 1 along x, whatever the width of the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from exactik.typing import Array, BoolArray, IntArray

MAX_TICKS = 6  # numbers beside a plot
ROUND_ENDS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)  # times a power of ten
ROUND_STEPS = (1.0, 2.0, 5.0, 10.0, 20.0)  # likewise, from tick to tick
RANGE_STEPS = 8.0  # of the ends of an axis, over its range


class Bins(NamedTuple):
    """Frames, some together."""

    frames: int  # their number
    edges: IntArray  # first frame of every bin, (n,)

    @classmethod
    def of(cls, count: int, most: int) -> Bins:
        """Return at most so many bins of about the same number of frames."""
        n = max(1, min(count, most))
        return cls(count, (np.arange(n) * count) // n)

    def __len__(self) -> int:
        return len(self.edges)

    @property
    def ends(self) -> IntArray:
        """First frame behind every bin, (n,)."""
        return np.append(self.edges[1:], self.frames)

    @property
    def middles(self) -> Array:
        """Where each bin is on an axis on which frame t takes t to t + 1, (n,)."""
        return np.asarray(0.5 * (self.edges + self.ends), dtype=float)

    def most(self, values: Array) -> Array:
        """Return the largest value of each bin, (n, …); NaN only where all are."""
        return np.fmax.reduceat(values, self.edges, axis=0)

    def least(self, values: Array) -> Array:
        """Return the smallest value of each bin."""
        return np.fmin.reduceat(values, self.edges, axis=0)

    def any(self, flags: BoolArray) -> BoolArray:
        """Return whether any frame of each bin has a flag, (n, …)."""
        return np.logical_or.reduceat(flags, self.edges, axis=0)

    def pairs(self, values: Array) -> tuple[Array, Array]:
        """Return a curve with two points a bin, its least and its largest value, (2 n,) each.

        A gap of one frame stays a gap, and a leap of one frame a leap.

        Args:
            values: (T,), NaN where missing.

        Returns:
            Where they are on the axis, and the values, NaN in gaps.
        """
        most = np.where(self.any(np.isnan(values)), np.nan, self.most(values))
        first = self.edges + 0.5
        places = np.stack([first, 0.5 * (first + self.ends)], axis=1)
        ends = np.stack([self.least(values), most], axis=1)
        return np.asarray(places.reshape(-1), dtype=float), np.asarray(
            ends.reshape(-1), dtype=float
        )


def round_axis_end(value: float) -> float:
    """Return the next of 1, 1.5, 2, 3, 4, 5, 6, 8, 10 times a power of ten."""
    if not value > 0.0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    return float(power * next(s for s in ROUND_ENDS if s * power >= 0.999999 * value))


def find_round_ticks(low: float, high: float, min_span: float) -> list[float]:
    """Return round numbers, evenly spaced, from below the lowest value to above the highest.

    Args:
        min_span: that they span at least, so that noise is not blown up.
    """
    middle, half = 0.5 * (low + high), 0.5 * max(high - low, min_span)
    low, high = middle - half, middle + half
    power = 10.0 ** float(np.floor(np.log10((high - low) / (MAX_TICKS - 1))))
    step = first = last = 0
    for step in (power * factor for factor in ROUND_STEPS):
        first, last = int(np.floor(low / step + 1e-9)), int(np.ceil(high / step - 1e-9))
        if last - first < MAX_TICKS:
            break
    return [k * step for k in range(first, last + 1)]


class ValueAxis(NamedTuple):
    """The axis of the values of a plot."""

    bottom: float  # value at the lower edge
    top: float  # value at the upper edge
    marks: tuple[float, ...] = ()  # round values with numbers beside the plot

    @classmethod
    def around(cls, least: float, most: float) -> ValueAxis:
        """Return an axis with round ends around a range."""
        step = round_axis_end((most - least) / RANGE_STEPS)
        return cls(float(step * np.floor(least / step)), float(step * np.ceil(most / step)))

    @classmethod
    def with_marks(cls, least: float, most: float, min_span: float) -> ValueAxis:
        """Return an axis with round numbers around a range, zero among them if it holds zero."""
        marks = find_round_ticks(least, most, min_span)
        return cls(marks[0], marks[-1], tuple(marks))

    def place(self, values: Array) -> Array:
        """Return where values are [% of the height, from above]."""
        return 100.0 * (self.top - values) / (self.top - self.bottom)

    def draw_marks(self, count: float) -> tuple[str, str]:
        """Return the numbers beside a plot, and their lines across it as SVG, zero's stronger.

        Args:
            count: width of the plot.
        """
        numbers, lines = [], []
        step = self.marks[1] - self.marks[0] if len(self.marks) > 1 else 1.0
        digits = max(0, int(np.ceil(-np.log10(step) - 1e-9)))
        for mark in self.marks:
            place = f"{float(self.place(np.array(mark))):.2f}"
            is_zero = abs(mark) < 1e-6 * step
            number = f"{0.0 if is_zero else mark:.{digits}f}".replace("-", "−")
            numbers.append(f'<span class="tick" style="top:{place}%">{number}</span>')
            kind = "grid zero" if is_zero else "grid"
            lines.append(f'<path class="{kind}" d="M0,{place}H{count:g}"/>')
        return "".join(numbers), "".join(lines)

    def draw_ticks(self, shares: Iterable[float], write: Callable[[float], str]) -> str:
        """Return numbers beside a plot, at shares of its height from below."""
        return "".join(
            f'<span class="tick" style="top:{100 * (1 - share):g}%">'
            f"{write(self.bottom + share * (self.top - self.bottom))}</span>"
            for share in shares
        )


def find_time_ticks(seconds: float, marks: int) -> list[float]:
    """Return about so many round times [s], from 0 to no later than the end."""
    step = round_axis_end(max(seconds, 1e-9) / marks)
    return [n * step for n in range(int(seconds / step) + 1)]


def draw_times(count: int, rate: float, marks: int) -> str:
    """Return the times below a plot [s from the first frame], in the middle of their frames."""
    places = [(100.0 * (t * rate + 0.5) / count, t) for t in find_time_ticks(count / rate, marks)]
    return "".join(
        f'<span style="left:{place:.3f}%">{time:g}</span>'
        for place, time in places
        if place <= 100.0
    )
