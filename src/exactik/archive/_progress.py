"""How far a run of an archive is, for whoever shows it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass
class Progress:
    """How far a run is."""

    total: int = 0  # takes that were asked for
    done: int = 0  # takes that ended, now or before
    found: int = 0  # of these, takes that were done before
    solved: int = 0  # takes that this run solved
    failed: int = 0  # takes that failed now or were set aside
    frames: int = 0  # solved by this run
    threads: int = 0  # of all workers at the moment
    began: float = field(default_factory=time.monotonic)  # when it began [s], by `time.monotonic`

    @property
    def rate(self) -> float:
        """Frames a second."""
        return self.frames / max(time.monotonic() - self.began, 1e-9)
