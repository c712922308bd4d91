"""Numbers and times of frames that only rise, whatever the source does with its own."""

from __future__ import annotations

from exactik.recordings.live._frames import LiveFrame

REORDER_SECONDS = 2.0  # [s] by which a frame may come late; what is earlier has begun anew
MAX_JUMP_SECONDS = 60.0  # [s] of frames missed at once; numbers that say more make no sense
JITTER_FRAMES = 5  # by which times of a source without numbers may be off
FIRST_INTERVAL = 0.01  # [s] between frames, until two of them tell


class FrameOrder:
    """Gives frames their numbers, from 0, and their times.

    Attributes:
        missed: frames that never came.
        restarts: how often the source began to count anew.
    """

    def __init__(self) -> None:
        """Begin before the first frame."""
        self.missed = self.restarts = 0
        self._number, self._time = -1, 0.0  # of the last frame
        self._own_time: float | None = None  # of the last frame, as the source has it
        self._shift, self._interval = 0, FIRST_INTERVAL

    def place(self, frame: LiveFrame, rate: float | None) -> LiveFrame | None:
        """Return a frame that goes on from those before; None if it comes late.

        Args:
            frame: as the source gave it.
            rate: of the source [Hz], if it tells.
        """
        interval = 1.0 / rate if rate else self._interval
        moment = frame.arrival if frame.time is None and frame.number is None else frame.time
        elapsed = None if moment is None or self._own_time is None else moment - self._own_time
        if frame.number is None:
            if elapsed is not None and -REORDER_SECONDS < elapsed <= 0.0:
                return None
            steps = round((elapsed or 0.0) / interval)
            number = self._number + (steps if JITTER_FRAMES < steps else 1)
        else:
            if self._number < 0:
                self._shift = -frame.number
            behind = self._number - frame.number - self._shift
            if 0 <= behind < REORDER_SECONDS / interval:
                return None
            if not -MAX_JUMP_SECONDS / interval < behind < 0:
                self._shift = self._number + 1 - frame.number
                self.restarts += 1
            number = frame.number + self._shift
        steps = number - self._number
        if self._number >= 0:
            self.missed += steps - 1
        is_next = elapsed is not None and 0.0 < elapsed < MAX_JUMP_SECONDS
        if is_next and elapsed is not None:
            self._interval += 0.1 * (elapsed / steps - self._interval)
        if self._number >= 0:
            self._time += elapsed if is_next and elapsed is not None else steps * interval
        self._number, self._own_time = number, moment
        return frame._replace(number=number, time=self._time)
