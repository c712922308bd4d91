"""The queue of an archive: waiting takes to the workers of a Dask client, a few at a time.

At most `TAKES_PER_THREAD` tasks a thread are with the scheduler, so that it stays as small for a
million takes as for ten. Dask blames a dead worker on all tasks it was given; here a take is blamed
only if it had begun, which workers say by an event.
"""

from __future__ import annotations

import queue
import sqlite3
import threading
import time
import uuid
from asyncio import CancelledError as AsyncCancelledError
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from exactik.archive._ledger import Ledger
from exactik.archive._options import Progress
from exactik.archive._rows import LedgerRow, State
from exactik.archive.tasks import Task, TaskResult, forget_keys, run_task
from exactik.errors import ExactikError, FileError

if TYPE_CHECKING:
    from distributed import Client, Future


TAKES_PER_THREAD = 4
"""One that is solved and some that wait beside it, so that no worker waits for us and takes can be
sent several at once: a message to the scheduler costs milliseconds, whatever is in it."""
REFILL = 0.5  # share of these that has ended when others are sent
MAX_DEATHS = 3  # workers that may die of a take before it is set aside
MAX_UNSTARTED = 10
"""Deaths of a worker that had a task but never said that it began, or had ended it and not yet
answered. More is no bad luck."""
LOOK_SECONDS = 1.0  # [s] between looks at who the workers are, and whether the scheduler lives
FULL_TIME = 0.98
"""Of the time limit, from which on a dead worker is taken to have ended itself."""

TIMEOUT, KILLED_WORKERS = "timeout", "killed-workers"
DEATH_CODES = (TIMEOUT, KILLED_WORKERS)
"""Codes of takes whose workers died: they may have published what they could no longer answer."""


@dataclass
class _Flight:
    """A task that is with the scheduler."""

    row: LedgerRow
    task: Task
    unstarted: int = 0


@dataclass(frozen=True, kw_only=True)
class _Start:
    """That a take began at a worker, and when [s], by `time.monotonic`."""

    worker: str
    moment: float


class Queue:
    """Takes on their way through a Dask client."""

    def __init__(
        self,
        client: Client,
        ledger: Ledger,
        *,
        time_limit: float | None,
        progress: Progress,
        report: Callable[[Progress], object] = lambda _: None,
    ):
        """Listen to the workers of a client.

        Args:
            client: of Dask.
            ledger: of the archive.
            time_limit: of a take [s], None for none.
            progress: is kept up to date.
            report: is called with it whenever a take ended.
        """
        self._client, self._ledger, self._time_limit = client, ledger, time_limit
        self.progress, self._report = progress, report
        self._topic = f"exactik-archive-{uuid.uuid4().hex}"
        self._starts: dict[str, list[_Start]] = {}  # of the takes on their way
        self._lock = threading.Lock()
        self._ended: queue.SimpleQueue[Future] = queue.SimpleQueue()
        self._flights: dict[str, _Flight] = {}
        self._futures: dict[str, Future] = {}
        self._set_aside: list[_Flight] = []
        self._capacity, self._looked = 1, 0.0
        client.subscribe_topic(self._topic, self._note_start)

    def close(self) -> None:
        """Stop listening; what is on its way is given up and waits again."""
        with suppress(sqlite3.OperationalError):  # a full disk; the next run sees to it
            self._ledger.mark([f.row.name for f in self._flights.values()], "waiting")
        for future in self._futures.values():
            future.release()
        if self._client.status == "running":
            self._client.unsubscribe_topic(self._topic)

    def run(
        self,
        kind: str,
        make_task: Callable[[LedgerRow], Task],
        on_done: Callable[[LedgerRow, TaskResult], object] = lambda *_: None,
    ) -> None:
        """Do all takes of a kind that wait, until none does.

        Args:
            kind: "take", "part" or "subject".
            make_task: makes of a row what a worker needs.
            on_done: is called when a task came back, before it is recorded; for a take that is cut
                it enters the parts.
        """
        while True:
            self._look()
            free = self._capacity - len(self._flights)
            if free >= REFILL * self._capacity:
                rows = self._ledger.next_waiting(kind, free)
                if len(rows) == 0 and len(self._flights) == 0:
                    return
                with self._ledger.batch():
                    self._ledger.mark([row.name for row in rows], "running")
                self._submit([_Flight(row=row, task=make_task(row)) for row in rows])
            for future in self._wait():
                self._settle(future, on_done)

    def take_late_results(self, on_done: Callable[[LedgerRow, TaskResult], object]) -> None:
        """Record takes as done that were set aside, if their results have appeared since.

        Called when workers have ended: one that was closed, or that the scheduler could not reach,
        is reported as dead and may still end its take.
        """
        for flight in self._set_aside:
            result = _find_published(flight.task) if flight.row.kind == "take" else None
            if result is not None:
                self.progress.done -= 1
                self.progress.failed -= 1
                self._record(flight, result, on_done)
        self._set_aside.clear()

    def _look(self) -> None:
        """See how many threads there are now, every so often."""
        if time.monotonic() - self._looked < LOOK_SECONDS:
            return
        self._check_scheduler()
        forget_keys()  # our own scheduler is in this process
        try:
            threads: Any = self._client.nthreads()
        except Exception as error:
            raise self._lost() from error
        self.progress.threads = sum(threads.values())
        self._capacity = max(1, TAKES_PER_THREAD * self.progress.threads)
        self._looked = time.monotonic()
        self._report(self.progress)

    def _check_scheduler(self) -> None:
        if self._client.status != "running":
            raise self._lost()

    def _lost(self) -> FileError:
        address = getattr(self._client.scheduler, "address", "Dask")
        return FileError(
            address,
            "the scheduler does not answer; the same command goes on where this one was",
            code="scheduler-lost",
        )

    def _submit(self, flights: Sequence[_Flight]) -> None:
        if len(flights) == 0:
            return
        keys = [f"exactik-{flight.row.kind}-{uuid.uuid4().hex}" for flight in flights]
        self._flights |= dict(zip(keys, flights, strict=True))
        with self._lock:
            self._starts |= {flight.row.name: [] for flight in flights}
        try:
            futures = self._client.map(
                run_task,
                [flight.task for flight in flights],
                key=keys,
                pure=False,
                topic=self._topic,
                time_limit=self._time_limit,
            )
        except Exception as error:
            raise self._lost() from error
        for key, future in zip(keys, futures, strict=True):
            self._futures[key] = future
            future.add_done_callback(self._ended.put)

    def _wait(self) -> Iterable[Future]:
        """Yield tasks that ended, at least for a moment's wait."""
        try:
            yield self._ended.get(timeout=LOOK_SECONDS)
            while True:
                yield self._ended.get_nowait()
        except queue.Empty:
            self._check_scheduler()

    def _note_start(self, event: tuple[float, Mapping[str, Any]]) -> None:
        with self._lock:
            start = _Start(worker=event[1]["worker"], moment=time.monotonic())
            if event[1]["name"] in self._starts:
                self._starts[event[1]["name"]].append(start)

    def _settle(self, future: Future, on_done: Callable[[LedgerRow, TaskResult], object]) -> None:
        """Record how a task ended, or send it again."""
        from distributed import KilledWorker

        key = str(future.key)
        flight = self._flights.pop(key)
        del self._futures[key]
        try:
            if future.status in ("cancelled", "lost"):
                raise CancelledError(future.status)
            result = future.result()
        except KilledWorker as error:
            result = self._blame(flight, error)
        except (CancelledError, AsyncCancelledError):
            # The worker died with the answer, which is in the provenance; or the scheduler did.
            if future.status == "cancelled":
                self._flights[key] = flight  # it waits again, see `close`
                raise self._lost() from None
            result = self._count_unstarted(flight, "an unknown worker")
        except Exception as error:  # it could not be sent, or its answer not be read
            result = TaskResult(state="failed", code="transport", reason=f"{error!r:.300}")
        finally:
            future.release()
        if result is None:
            self._submit([flight])
            return
        if result.code in DEATH_CODES:
            result = _find_published(flight.task) or result
        with self._lock:
            self._starts.pop(flight.row.name, None)
        self._record(flight, result, on_done)

    def _blame(self, flight: _Flight, error: Any) -> TaskResult | None:
        """Return what becomes of a task whose worker died; None: it is tried again."""
        name = flight.row.name
        with self._lock:
            starts = self._starts.pop(name, [])
        where, limit = error.last_worker.address, self._time_limit
        if error.allowed_failures == 0:  # one worker died: a take may have begun at others before
            starts = [start for start in starts if start.worker == where][-1:]
        lasted = time.monotonic() - starts[-1].moment if len(starts) > 0 else 0.0
        if limit is not None and lasted >= FULL_TIME * limit:
            reason = f"took longer than {limit:g} s; its worker was ended"
            return TaskResult(state="failed", code=TIMEOUT, reason=reason)
        if len(starts) == 0:
            return self._count_unstarted(flight, where)
        return self._count_deaths(name, len(starts), where)

    def _count_unstarted(self, flight: _Flight, where: str) -> TaskResult | None:
        """Return what becomes of a task whose worker died before it began or after it ended."""
        flight.unstarted += 1
        if flight.unstarted < MAX_UNSTARTED:
            return None
        return self._count_deaths(flight.row.name, 1, where)

    def _count_deaths(self, name: str, count: int, where: str) -> TaskResult | None:
        deaths = self._ledger.add_deaths(name, count)
        if deaths < MAX_DEATHS:
            return None
        reason = f"{deaths} workers died of it, the last at {where}"
        return TaskResult(state="failed", code=KILLED_WORKERS, reason=reason)

    def _record(
        self,
        flight: _Flight,
        result: TaskResult,
        on_done: Callable[[LedgerRow, TaskResult], object],
    ) -> None:
        name = flight.row.name
        if result.state == "stop":
            self._ledger.mark([name], "waiting")
            raise FileError(self._ledger.folder, f"no room: {result.reason}", code="no-space")
        on_done(flight.row, result)
        state: State = result.state
        if result.code == KILLED_WORKERS:
            state = "aside"
            self._set_aside.append(flight)
        self._ledger.finish(
            name,
            state,
            solved=result.solved,
            key=result.key,
            code=result.code,
            reason=result.reason,
            verdict=result.verdict,
            frames=result.frames,
            seconds=result.seconds,
            facts=dict(result.facts),
        )
        if flight.row.kind == "take" and state != "cut":
            self.progress.done += 1
            self.progress.solved += int(result.solved)
            self.progress.found += int(result.state == "done" and not result.solved)
            self.progress.failed += int(state in ("failed", "aside"))
            self.progress.frames += (result.frames or 0) if result.solved else 0
        self._report(self.progress)


def _find_published(task: Task) -> TaskResult | None:
    """Return the result of a task whose worker died after its last file and before its answer."""
    try:
        return task.find_done()
    except ExactikError:  # storage that does not answer: the death is recorded, to be tried again
        return None
