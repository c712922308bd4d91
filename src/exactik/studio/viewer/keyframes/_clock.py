"""The time of an animation and how it goes on; real time is given from outside."""

from __future__ import annotations


class PlayClock:
    """The current time between the first key and the last.

    Attributes:
        time: [s].
        loop: whether it begins again at its end.
    """

    def __init__(self) -> None:
        """Begin at zero, paused."""
        self.time, self.playing, self.loop = 0.0, False, True

    def play(self, first: float, last: float) -> None:
        """Go on from here; from the first time [s] if it is not before the last [s]."""
        self.playing = last > first
        if not first <= self.time < last:
            self.time = first

    def advance(self, seconds: float, first: float, last: float) -> float:
        """Let real time pass [s] if it is playing; return the time [s], not after the last."""
        if self.playing:
            self.time += seconds
            if self.time > last and self.loop and last > first:
                self.time = first + (self.time - first) % (last - first)
            elif self.time > last:
                self.time, self.playing = last, False
        return self.time
