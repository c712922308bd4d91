"""How far a run of an archive is, for whoever shows it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass
class Progress:
    """How far a run is.

    Attributes:
        total: takes that were asked for.
        done: takes that ended, now or before.
        found: of these, takes that were done before.
        solved: takes that this run solved.
        failed: takes that failed now or were set aside.
        frames: solved by this run.
        threads: of all workers at the moment.
        began: when it began [s], by `time.monotonic`.
    """

    total: int = 0
    done: int = 0
    found: int = 0
    solved: int = 0
    failed: int = 0
    frames: int = 0
    threads: int = 0
    began: float = field(default_factory=time.monotonic)

    @property
    def rate(self) -> float:
        """Frames a second."""
        return self.frames / max(time.monotonic() - self.began, 1e-9)
