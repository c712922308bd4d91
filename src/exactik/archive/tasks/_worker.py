"""What every task does in a worker: say that it begins, keep to its time, report faults."""

from __future__ import annotations

import faulthandler
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from exactik._text import one_line
from exactik.errors import ExactikError, FileError

MAX_TRACEBACK = 4000  # characters of it that are kept: its end, where the fault is


@dataclass(frozen=True, kw_only=True)
class TaskResult:
    """What a worker reports."""

    # "done"; "failed", the task's own fault; "cut", it is too long and comes in parts; or "stop",
    # nothing can be done here until somebody makes room
    state: Literal["done", "failed", "cut", "stop"]
    solved: bool = False  # whether it was solved now, and not found done
    key: str | None = None  # of the result
    code: str | None = None  # why it failed, for programs
    reason: str | None = None  # the same in a sentence
    verdict: str | None = None  # the gravest of its subjects
    frames: int | None = None  # that were solved; of a take that is cut, all it has
    seconds: float | None = None  # that it took
    facts: Mapping[str, Any] = field(default_factory=dict)  # of the result, for index and summary


class Task(Protocol):
    """What can be sent to a worker."""

    @property
    def name(self) -> str:
        """Name of what it makes."""
        ...

    def perform(self) -> TaskResult:
        """Do it; raise what is wrong."""
        ...

    def find_done(self) -> TaskResult | None:
        """Return its result if that is there already; None if it is not, or may be out of date."""
        ...


def run_task(task: Task, topic: str, time_limit: float | None) -> TaskResult:
    """Perform a task in a worker of Dask; whatever goes wrong is a result.

    Args:
        task: what to do.
        topic: of the event that says that it began: {"name": …, "worker": address}.
        time_limit: [s] after which the process ends itself; None for no limit.
    """
    forget_keys()
    with _limited(_announce(task.name, topic), time_limit):
        return perform_task(task)


def forget_keys() -> None:
    """Empty the cache in which Dask keeps the keys of the last 100,000 tasks: 40 MB, never read."""
    from dask.utils import key_split

    key_split.cache_clear()


def perform_task(task: Task) -> TaskResult:
    """Perform a task in this process; whatever goes wrong is a result."""
    try:
        return task.perform()
    except FileError as error:
        state = "stop" if error.code == "no-space" else "failed"
        return TaskResult(state=state, code=error.code, reason=str(error))
    except ExactikError as error:
        return TaskResult(state="failed", code=type(error).__name__, reason=str(error))
    except MemoryError:
        return TaskResult(state="failed", code="memory", reason="not enough memory for it")
    except Exception as error:
        text = traceback.format_exc()[-MAX_TRACEBACK:]
        reason = one_line(f"{type(error).__name__}: {error}")
        return TaskResult(state="failed", code="crash", reason=reason, facts={"traceback": text})


def _announce(name: str, topic: str) -> bool:
    """Say that a task begins; return whether the process does nothing beside it."""
    try:
        from distributed import get_worker

        worker = get_worker()
    except (ImportError, ValueError):
        return False  # no worker of Dask
    worker.log_event(topic, {"name": name, "worker": worker.address})
    return not worker.address.startswith("inproc") and worker.state.nthreads == 1


@contextmanager
def _limited(is_alone: bool, time_limit: float | None) -> Iterator[None]:
    """End the process when the time is over; its nanny starts another.

    The timer is a thread of C, which needs no lock of Python's: a compiled loop cannot hold it up.
    """
    if time_limit is None or not is_alone:
        yield
        return
    faulthandler.dump_traceback_later(time_limit, exit=True, file=sys.__stderr__ or sys.stderr)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
