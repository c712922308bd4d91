"""Markers of one frame, with nothing known of the frames to come.

What `track` tells from both sides of a fault is told from the side before it:

    names        two markers that are suddenly each where the other should be have exchanged their
                 names; they stay exchanged back until they change again
    outliers     a marker that is suddenly far from its place is left out until it is near again; if
                 most of those around it are, the pose is wrong, and not they
    gaps         a missing marker is moved rigidly with its neighbours, from the last frame that
                 shows them, at less weight
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from exactik._text import join_names
from exactik.recordings.live._frames import LiveEvent
from exactik.recordings.tracking import (
    ASSUMED_NOISE,
    HALF_TRUST_NOISE,
    MAX_CROSSED_SHARE,
    MAX_OUTLIER_SHARE,
    MEDIAN_DISTANCE,
    MIN_OUTLIER_M,
    MIN_SUDDEN_SHARE,
    OUTLIER_RATIO,
    OUTLIER_RATIO_OF_ALL,
    TrackingOptions,
    TrackingProblem,
    find_neighbours,
    move_rigidly,
)
from exactik.typing import Array, BoolArray

USUAL_SECONDS = 1.0  # [s] over which usual errors are averaged
MAX_OUT_SECONDS = 2.0  # [s] for which a marker is left out: then it has moved on the skin
MAX_NAMES = 6  # of markers in a sentence


class MendedMarkers(NamedTuple):
    """Markers of a frame as they are to be solved."""

    position: Array  # [m], (M, 3), with gaps filled in; NaN where nothing tells
    confidence: Array  # share of its weight that each has, (M,)
    seen: BoolArray  # measured and believed, (M,)
    events: tuple[LiveEvent, ...]  # what happened


class LiveMarkers:
    """What is remembered of markers from frame to frame.

    Attributes:
        usual: error of each marker, as a rule [m], (M,); NaN before it was seen.
        order: which recorded marker each is, after exchanges, (M,).
    """

    def __init__(self, problem: TrackingProblem, options: TrackingOptions):
        """Begin with the markers of a problem."""
        self.problem, self.options = problem, options
        count = len(problem.names)
        self.usual = np.full(count, np.nan)
        self.order = np.arange(count)
        self._out = np.zeros(count)  # for how long each has been left out [s]
        self._residual = np.zeros((count, 3))  # last, of each [m]
        self._last = np.full((2, count, 3), np.nan)  # the two frames before [m]
        self._shown = np.full((count, count, 3), np.nan)  # last frame that shows each, (M, M, 3)
        self._neighbours = find_neighbours(problem, options)

    @property
    def sigma(self) -> float:
        """Standard deviation of the markers along each axis [m], as far as it is known."""
        known = self.usual[np.isfinite(self.usual)]
        return max(float(np.median(known)) / MEDIAN_DISTANCE, 1e-6) if len(known) else ASSUMED_NOISE

    def mend(self, position: Array, expected: Array | None, dt: float) -> MendedMarkers:
        """Return the markers of a frame as they are to be solved.

        Args:
            position: as they came [m], (M, 3).
            expected: places of the markers on the figure, as the motion goes on [m], (M, 3); None
                if nothing is known of it.
            dt: time since the frame before [s].
        """
        events: list[LiveEvent] = []
        if expected is not None and (np.diff(self.order) != 1).any():
            own, exchanged = (
                np.nansum(np.abs(p - expected)) for p in (position, position[self.order])
            )
            if own < exchanged:  # they have changed back
                self.order.sort()
                events.append(LiveEvent("exchanged", "markers have their own names again"))
        position = position[self.order]
        if expected is not None:
            reach = self.options.spike_min_distance
            reach += 0.5 * self.options.spike_max_acceleration * dt**2
            self._exchange(position, expected + self._residual, reach, events)
            out = self._find_outliers(position, expected, reach)
            new = np.flatnonzero(out & (self._out == 0.0))
            if len(new) > 0:
                names = join_names([self.problem.names[m] for m in new], MAX_NAMES)
                events.append(LiveEvent("left out", f"left out, far from their places: {names}"))
            self._out = np.where(out, self._out + dt, 0.0)
            position[out] = np.nan
        seen = np.isfinite(position[:, 0])
        lost = ~seen & np.isfinite(self._last[0, :, 0])
        if lost.any():
            self._shown[lost] = self._last[0]
        self._last[1], self._last[0] = self._last[0], position
        confidence = np.ones(len(seen))
        if not seen.all():
            position = position.copy()
            trust = 1.0 / (1.0 + (HALF_TRUST_NOISE / self.sigma) ** 4)
            for m in np.flatnonzero(~seen).tolist():
                self._fill(position, m, seen)
                confidence[m] = trust
        return MendedMarkers(position, confidence, seen, tuple(events))

    def learn(self, residual: Array, seen: BoolArray, dt: float) -> None:
        """Take in how far markers are from their places, (M, 3), in a frame that was solved."""
        self._residual[seen] = residual[seen]
        error = np.sqrt(np.einsum("mi,mi->m", residual, residual))
        share = min(dt / USUAL_SECONDS, 1.0)
        known = np.where(np.isnan(self.usual), error, self.usual)
        self.usual = np.where(seen, known + share * (error - known), self.usual)

    def forget_motion(self) -> None:
        """Forget where markers were: they are found anew."""
        self._last[:] = np.nan
        self._residual[:] = 0.0
        self._out[:] = 0.0
        self.order.sort()

    def _exchange(
        self, position: Array, expected: Array, reach: float, events: list[LiveEvent]
    ) -> None:
        """Exchange markers back that are each where the other should be, in place."""
        off = position - expected
        far = np.flatnonzero(np.einsum("mi,mi->m", off, off) > reach**2)  # not so where missing
        if len(far) > MAX_OUTLIER_SHARE * np.isfinite(off[:, 0]).sum():
            return  # it is the pose that is wrong
        for one, other in combinations(far.tolist(), 2):
            own = np.linalg.norm(off[[one, other]], axis=1)
            crossed = np.linalg.norm(position[[one, other]] - expected[[other, one]], axis=1)
            if (crossed < MAX_CROSSED_SHARE * own).all():
                for rows in (position, self.order, off):
                    rows[[one, other]] = rows[[other, one]]
                off[[one, other]] = 0.0  # each takes part once
                names = self.problem.names
                text = f"{names[one]} and {names[other]} have exchanged their names"
                events.append(LiveEvent("exchanged", text))

    def _find_outliers(self, position: Array, expected: Array, reach: float) -> BoolArray:
        """Return which markers are far from their places all of a sudden, or still, (M,)."""
        off = position - expected
        distance = np.sqrt(np.einsum("mi,mi->m", off, off))
        reach -= self.options.spike_min_distance
        far = distance > MIN_OUTLIER_M + reach
        if not far.any():  # as most often
            return far
        known = self.usual[np.isfinite(self.usual)]
        least = OUTLIER_RATIO_OF_ALL * float(np.median(known)) if len(known) > 0 else 0.0
        ratio = OUTLIER_RATIO * np.nan_to_num(self.usual)
        far &= distance > np.maximum(least, ratio) + reach
        seen, all_far = np.isfinite(distance), far.copy()
        if far.sum() > MAX_OUTLIER_SHARE * seen.sum():
            return np.zeros_like(far)
        for m in np.flatnonzero(far):
            near = self._neighbours[m][seen[self._neighbours[m]]]
            far[m] = all_far[near].sum() <= MAX_OUTLIER_SHARE * len(near)
        step = position - self._last[0]
        ahead = step - (self._last[0] - self._last[1])
        jump = np.fmin(np.linalg.norm(step, axis=1), np.linalg.norm(ahead, axis=1))
        # What goes away smoothly is skin, or a figure that does not fit, and has its say.
        smooth = (jump <= MIN_SUDDEN_SHARE * distance) | np.isnan(self.usual)  # or was never seen
        was_out = self._out > 0.0
        return far & (was_out | ~smooth) & (self._out < MAX_OUT_SECONDS)

    def _fill(self, position: Array, m: int, seen: BoolArray) -> None:
        """Write a missing marker, moved with its neighbours since it was last seen."""
        shown, near = self._shown[m], self._neighbours[m]
        near = near[seen[near] & np.isfinite(shown[near, 0])]
        if len(near) < 3 or np.isnan(shown[m, 0]):
            return
        guess = move_rigidly(np.stack([shown, position]), m, near, 0, np.array([1]))
        if guess is not None:
            position[m] = guess[0]
