"""What comes in and goes out while people move: frames of named points, poses, and their ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple, Protocol

from exactik.typing import Array, BoolArray


class LiveFrame(NamedTuple):
    """Named points of one moment, as a source gives them."""

    names: tuple[str, ...]  # of the points, each once, (n,)
    positions: Array  # [m], (n, 3), axes of the source; NaN where missing
    number: int | None = None  # of the frame, as the source counts
    time: float | None = None  # of the frame [s], as the source counts
    arrival: float = 0.0  # when it came [s], of `time.perf_counter`


class LiveEvent(NamedTuple):
    """What happened to the markers in a frame."""

    kind: str  # "exchanged", "left out" or "changed"
    text: str  # in words


class LivePose(NamedTuple):
    """A pose found for a frame."""

    number: int  # of the frame, from 0, without those that came before the first pose
    time: float  # of the frame [s], from the first
    q: Array  # coordinates [rad or m], (nq,)
    errors: Array  # distance of each marker from its place [m], (M,); NaN where it is not seen
    positions: Array  # of the markers, as they were solved [m, world of the skeleton], (M, 3)
    inferred: BoolArray  # dofs that the markers seen do not determine, (nv,): they hold still
    arrival: float  # of the frame [s], of `time.perf_counter`
    is_lost: bool  # whether too few markers were seen: the pose is the one before
    events: tuple[LiveEvent, ...] = ()  # what happened to the markers

    @property
    def quality(self) -> str:
        """How far to trust it: "measured", "inferred" in part, or "lost"."""
        return "lost" if self.is_lost else "inferred" if self.inferred.any() else "measured"


class FrameSource(Protocol):
    """Where frames come from."""

    @property
    def title(self) -> str:
        """What it is, in words."""
        ...

    @property
    def rate(self) -> float | None:
        """Frames a second [Hz], if it tells."""
        ...

    @property
    def up_axis(self) -> str | None:
        """Which axis is up, "x", "y" or "z", if it tells."""
        ...

    @property
    def waits(self) -> bool:
        """Whether it can wait until its frames are solved: a file that is read without a clock."""
        ...

    def run(
        self,
        deliver: Callable[[LiveFrame], object],
        say: Callable[[str], object],
        stop: threading.Event,
    ) -> None:
        """Deliver frames until `stop` is set or no more can come.

        An `OSError` or a `SourceLostError` means that the source is lost: it is run again.
        """
        ...


class SourceLostError(Exception):
    """A source that was there is not, or none is there yet."""


class PoseSink(Protocol):
    """Where poses go."""

    def write(self, pose: LivePose) -> None:
        """Take a pose."""
        ...

    def close(self) -> str | None:
        """End; return what was written, in words, if anything was."""
        ...
