"""Two sets of strides against each other: where they differ by more than chance.

Strides of one person differ. Of n_a and n_b of them, the difference of the means at a moment has
the variance v (1/n_a + 1/n_b), with the variance v between strides, pooled of both sets and of the
moments around it, or that of the moment itself if it is more. Few strides tell little of it, so
that of the other angles of the same pair has part in it, as if it had `PRIOR_STRIDES` strides
(Smyth 2004, "moderated" t). What is wrong with a figure lasts: it moves all strides of a set
together, and more strides do not help. A difference is a change where it is beyond

    √( t² v (1/n_a + 1/n_b) + z² L² )

with L, the standard deviation of what lasts in both sets together, skin included, and the quantiles
t and z by which all angles and moments of a pair together give a false alarm in one pair of twenty
(Bonferroni, with `MOMENTS` of a curve as if they were independent).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from exactik.model.motion import find_segments, mark_segments
from exactik.recordings.angles._gait_cycles import CYCLE_POINTS, GaitCurve
from exactik.typing import Array, BoolArray

FALSE_ALARMS = 0.05  # of pairs without a difference that may be called changed
MOMENTS = 6  # of a curve: gait curves hold as much in six harmonics
WINDOW = 21  # per cent of the cycle around a moment from which the variance is pooled
PRIOR_STRIDES = 4  # that the other angles stand for
SKIN_SD = np.radians(0.7)
"""[rad] of an angle of a set, by skin that slides under its markers in its own way: simulated sets
differ by 0.5° beyond their strides at 3 mm of sliding, and half as much again."""
MIN_CHANGE = 3  # per cent of the cycle that a change lasts
LEAST_SHARE = 0.25  # of the cycle's mean variance, below which no moment is taken to be


class CurvePair(NamedTuple):
    """An angle in two sets of strides.

    Attributes:
        name: of the angle, with its side if it has one.
        before: the first set.
        after: the second.
        lasting_sd: of what is wrong with figure and markers all along, in the difference [rad].
    """

    name: str
    before: GaitCurve
    after: GaitCurve
    lasting_sd: float


class CurveDifference(NamedTuple):
    """What differs between two sets of strides.

    Attributes:
        pair: the curves.
        difference: of the means, after − before [rad], (101,).
        bar: up to which it may be chance [rad], (101,); infinite where one stride each tells
            nothing.
        changed: where it is beyond, (101,).
    """

    pair: CurvePair
    difference: Array
    bar: Array
    changed: BoolArray

    @property
    def stretches(self) -> list[tuple[int, int, float]]:
        """First and last per cent of each change, and the largest difference in it [rad]."""
        found = []
        for first, last in find_segments(self.changed):
            part = self.difference[first : last + 1]
            found.append((int(first), int(last), float(part[np.argmax(np.abs(part))])))
        return found


def compare_curves(pairs: Sequence[CurvePair]) -> list[CurveDifference]:
    """Return where the curves of each pair differ by more than chance; see above."""
    from scipy.special import ndtri, stdtrit

    variances = [_pool_variance(pair) for pair in pairs]
    known = [float(v.mean()) for v in variances if np.isfinite(v).all()]
    usual = float(np.median(known)) if len(known) > 0 else np.nan
    level = FALSE_ALARMS / (2.0 * max(len(pairs), 1))
    z = -float(ndtri(level))
    found = []
    for pair, variance in zip(pairs, variances, strict=True):
        counts = len(pair.before.cycles), len(pair.after.cycles)
        freedom = sum(counts) - 2
        difference = pair.after.mean - pair.before.mean
        bar = np.full(CYCLE_POINTS, np.inf)
        if np.isfinite(usual) and min(counts) > 0:
            own = variance if freedom > 0 else np.zeros(CYCLE_POINTS)
            total = freedom + PRIOR_STRIDES
            moderated = (freedom * own + PRIOR_STRIDES * usual) / total
            quantile = float(stdtrit(total, level / MOMENTS))
            chance = quantile**2 * moderated * (1.0 / counts[0] + 1.0 / counts[1])
            lasting = pair.lasting_sd**2 + 2.0 * SKIN_SD**2
            bar = np.sqrt(chance + z**2 * lasting)
        beyond = np.abs(difference) > bar
        lasting_ones = [s for s in find_segments(beyond) if s.frame_count >= MIN_CHANGE]
        changed = mark_segments(CYCLE_POINTS, lasting_ones)
        found.append(CurveDifference(pair, difference, bar, changed))
    return found


def _pool_variance(pair: CurvePair) -> Array:
    """Return the variance between strides of both sets [rad²], (101,); NaN if there is none."""
    freedom = len(pair.before.cycles) + len(pair.after.cycles) - 2
    if freedom <= 0:
        return np.full(CYCLE_POINTS, np.nan)
    parts = [((c.cycles - c.mean) ** 2).sum(axis=0) for c in (pair.before, pair.after)]
    squares = np.sum(parts, axis=0)
    around = np.concatenate([squares[-1 - WINDOW // 2 : -1], squares, squares[1 : 1 + WINDOW // 2]])
    pooled = np.convolve(around, np.full(WINDOW, 1.0 / WINDOW), mode="valid") / freedom
    # Where a curve is steep, strides that are early or late differ more than around it.
    return np.maximum(np.maximum(pooled, squares / freedom), LEAST_SHARE * pooled.mean())
