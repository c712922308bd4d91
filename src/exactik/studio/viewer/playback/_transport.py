"""The current frame of a playback and how it goes on; time is given from outside."""

from __future__ import annotations


class Transport:
    """The current frame of a motion, and how it goes on.

    Attributes:
        count: number of frames.
        rate: frames a second [Hz].
        speed: times that of the recording.
        loop: whether it begins again at its end.
    """

    def __init__(self, count: int, rate: float):
        """Begin at the first frame, paused."""
        self.count, self.rate = count, rate
        self.playing, self.speed, self.loop = False, 1.0, True
        self._frame = 0.0

    @property
    def frame(self) -> int:
        """Index of the frame, from 0."""
        return int(self._frame)

    @property
    def last(self) -> int:
        """Index of the last frame."""
        return self.count - 1

    def play(self, playing: bool = True) -> None:
        """Play or pause; from the beginning, if it is at the end."""
        if playing and self.frame >= self.last:
            self._frame = 0.0
        self.playing = playing and self.last > 0

    def seek(self, frame: int) -> None:
        """Go to a frame, the nearest one there is."""
        self._frame = float(min(max(int(frame), 0), self.last))

    def step(self, frames: int) -> None:
        """Pause, and go some frames on or back."""
        self.playing = False
        self.seek(self.frame + frames)

    def advance(self, seconds: float) -> int:
        """Let time pass if it is playing; return the frame."""
        if self.playing:
            self._frame += seconds * self.rate * self.speed
            if self._frame > self.last:
                if self.loop:
                    self._frame %= float(self.count)
                else:
                    self._frame, self.playing = float(self.last), False
        return self.frame
