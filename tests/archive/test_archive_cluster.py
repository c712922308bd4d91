"""Workers of an archive's own cluster are replaced when nobody starts them again, and only then."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Iterator

import pytest

from exactik.archive import LOST_LOOKS, _options, kept_up

LOOKS = 30  # at the workers, before what has become of them is judged


class Nanny:
    """One that is closed once, and has the process that it is told to have at each look."""

    def __init__(self, pids: Iterator[int | None]):
        self._pids, self.closed = pids, False

    @property
    def pid(self) -> int | None:
        return next(self._pids)

    async def close(self) -> None:
        self.closed = True


class Cluster:
    """One that starts workers as LocalCluster does, all of which live."""

    def __init__(self, **nannies: Nanny):
        self.workers, self.looks = nannies, 0

    def scale(self, count: int) -> None:
        self.looks += 1
        while len(self.workers) < count:
            self.workers[f"new{self.looks}"] = Nanny(itertools.repeat(9))

    def sync(self, function: Callable[[], Awaitable[None]]) -> None:
        async def call() -> None:
            await function()
            await asyncio.sleep(0)  # what it has begun

        asyncio.run(call())


def test_a_worker_is_replaced_when_its_nanny_has_given_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_options, "WATCH_WORKERS_SECONDS", 0.001)
    works = Nanny(itertools.repeat(7))
    restarts = Nanny(itertools.cycle([None, None, 8]))  # it dies again and again, and comes back
    gave_up = Nanny(itertools.chain([5], itertools.repeat(None)))
    cluster = Cluster(works=works, restarts=restarts, gave_up=gave_up)
    with kept_up(cluster, 3):
        deadline = time.monotonic() + 30.0
        while cluster.looks < LOOKS and time.monotonic() < deadline:
            time.sleep(0.01)
    assert cluster.looks >= LOOKS
    assert gave_up.closed and not works.closed and not restarts.closed
    # The first look found it alive.
    assert sorted(cluster.workers) == [f"new{1 + LOST_LOOKS}", "restarts", "works"]
