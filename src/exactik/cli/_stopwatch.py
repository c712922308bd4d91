"""Where the time of a command went, in one line."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

STARTING = "starting"


class Stopwatch:
    """Seconds of each stage, by its name, in the order in which they came first.

    The first is what Python took until now: of the processor, since nothing tells when it began.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {STARTING: time.process_time()}

    def add(self, stage: str, seconds: float) -> None:
        """Count seconds for a stage; less than none takes back what another stage counts."""
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds

    @contextmanager
    def measure(self, stage: str) -> Iterator[None]:
        """Count what is done inside for a stage."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.add(stage, time.perf_counter() - began)

    @property
    def total(self) -> float:
        """All of it [s]."""
        return sum(self.seconds.values())

    def describe(self, most: int | None = None) -> str:
        """Return a sentence; what took no tenth of a second is left out.

        Args:
            most: how many stages are named, those that took longest; all if None.
        """
        longest = sorted(self.seconds, key=lambda stage: -self.seconds[stage])[:most]
        shown = {stage: f"{s:.1f}" for stage, s in self.seconds.items() if stage in longest}
        stages = ", ".join(f"{stage} {text}" for stage, text in shown.items() if text != "0.0")
        return f"Took {self.total:.1f} s: {stages}."
