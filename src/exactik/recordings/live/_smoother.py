"""Smoothing by some frames on both sides: a pose is as late as it takes them to come.

Through the poses of 2N + 1 frames a quadratic in time is fitted, dof by dof, in the steps from the
middle one (Savitzky and Golay 1964, with the true times of the frames):

    difference(q_k, q_N) ≈ a + b (t_k − t_N) + c (t_k − t_N)²,    q = integrate(q_N, a)
"""

from __future__ import annotations

from collections import deque

import numpy as np

from exactik.model import Skeleton
from exactik.recordings.live._frames import LiveEvent, LivePose

MIN_FRAMES = 4  # that a quadratic is fitted to: it goes through three


class FixedLagSmoother:
    """Gives every pose some frames late, smoothed."""

    def __init__(self, skeleton: Skeleton, lag: int):
        """Begin without poses; `lag` in frames."""
        self.skeleton, self.lag = skeleton, lag
        self._poses: deque[LivePose] = deque(maxlen=2 * lag + 1)
        self._next = 0  # place in the window of the next pose to be given

    def add(self, pose: LivePose) -> list[LivePose]:
        """Return the pose that is due."""
        if len(self._poses) == self._poses.maxlen:
            self._next -= 1
        self._poses.append(pose)
        if len(self._poses) - self._next <= self.lag:
            return []
        return [self._smooth(pose.events)]

    def flush(self) -> list[LivePose]:
        """Return the poses that are still held."""
        return [self._smooth(()) for _ in range(len(self._poses) - self._next)]

    def _smooth(self, events: tuple[LiveEvent, ...]) -> LivePose:
        """Return the next pose; events are told when they happen."""
        middle, k = self._poses[self._next], self._next
        first = max(k - self.lag, 0)
        window = [p for p in list(self._poses)[first : k + self.lag + 1] if not p.is_lost]
        self._next += 1
        if middle.is_lost or len(window) < MIN_FRAMES:
            return middle._replace(events=events)
        skeleton, times = self.skeleton, np.array([p.time for p in window]) - middle.time
        steps = skeleton.difference(np.array([p.q for p in window]), middle.q)
        share = np.linalg.pinv(np.vander(times / np.abs(times).max(), 3))[2]
        q = skeleton.clip(skeleton.integrate(middle.q, share @ steps))
        return middle._replace(q=q, events=events)
