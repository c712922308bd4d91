"""The main process of an archive keeps nothing of the takes that are done."""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from exactik.archive import Ledger, LedgerRow, Progress, Queue, open_client
from exactik.archive.tasks import TaskResult

pytest.importorskip("distributed")
pytestmark = pytest.mark.slow

TAKES = 1500
WARM = 500  # takes after which caches and logs are full
KEPT = 0.2
"""Objects a take that may be there more. One batch of four takes was one span with its groups and
sets, so 3 a take; what is on its way at the moment is some hundred."""


@dataclass(frozen=True)
class EmptyTask:
    """A take of which nothing is done."""

    name: str

    def perform(self) -> TaskResult:
        return TaskResult(state="done", solved=True, key="k", frames=1, facts={"name": self.name})

    def find_done(self) -> TaskResult | None:
        return None


def test_objects_do_not_grow_with_takes(tmp_path: Path):
    ledger, counts = Ledger(tmp_path), dict[int, int]()

    def count(progress: Progress) -> None:
        if progress.done in (WARM, TAKES - 8) and progress.done not in counts:
            time.sleep(0.2)  # what was released is forgotten by client and scheduler
            gc.collect()
            counts[progress.done] = len(gc.get_objects())

    try:
        with ledger.batch():
            for k in range(TAKES):
                ledger.enter(
                    name=f"t{k}",
                    kind="take",
                    address="",
                    subject=None,
                    request="",
                    work={},
                    fingerprint="f",
                )
        with open_client(None, None, 1) as client:
            queue = Queue(client, ledger, time_limit=None, progress=Progress(), report=count)

            def make_task(row: LedgerRow) -> EmptyTask:
                return EmptyTask(row.name)

            queue.run("take", make_task)
            queue.close()
    finally:
        ledger.close()
    grown = (counts[TAKES - 8] - counts[WARM]) / (TAKES - 8 - WARM)
    assert grown < KEPT, grown
