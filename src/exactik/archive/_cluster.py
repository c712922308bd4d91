"""The Dask client of a run: the caller's, one of a running scheduler, or of own workers."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from exactik.errors import FileError, UsageError

if TYPE_CHECKING:
    from distributed import Client


CONNECT_SECONDS = 30.0  # [s] for a scheduler to answer; one that starts with its workers needs ten
WATCH_WORKERS_SECONDS = 5.0  # [s] between looks whether all workers have a process
LOST_LOOKS = 3
"""In a row without a process, after which a worker is replaced; its nanny starts one at once, or
never."""
NEVER = "36500 days"
LOGGED_MESSAGES = 10
"""That each log of Dask keeps, of a connection with the tasks in them; nobody reads them here,
and a hundred would do no harm."""
WATCH_SECONDS = 1
"""[s] between looks at the health of event loops (Dask's 0.02) and at memory (0.1). With Dask's,
two workers that do nothing and their scheduler take 7 % of a core, with these 3 %; more
would be late to notice a worker that runs out of memory."""
ALLOWED_FAILURES = 0
"""Of `distributed.scheduler.allowed-failures`: every death is reported, for `Queue` counts them."""


@contextmanager
def open_client(
    client: Client | None, scheduler: str | None, workers: int | None
) -> Iterator[Client]:
    """Give a client; what was started here is ended with the context.

    Args:
        client: the caller's own; it stays open.
        scheduler: address of a running scheduler.
        workers: processes to start on this machine if there is neither; one a processor if None.
    """
    if client is not None:
        yield client
        return
    try:
        from dask import config
        from distributed import Client as DaskClient
        from distributed import LocalCluster
        from distributed.stealing import WorkStealing
    except ImportError:
        raise UsageError(
            "archives need dask and distributed; in a clone of exactik: pip install '.[cluster]'"
        ) from None
    if scheduler is not None:
        try:
            connected = DaskClient(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise FileError(scheduler, f"no scheduler answers: {error}", code="scheduler") from None
        with connected:
            yield connected
        return
    settings: dict[str, Any] = {
        "distributed.scheduler.allowed-failures": ALLOWED_FAILURES,
        # This timer looks only once: it closes a worker that died, came back, and has just died
        # again, when it is back. What that has begun would end after it was reported as dead.
        "distributed.deploy.lost-worker-timeout": NEVER,
        # Histories for Dask's developers, which fill memory: profiles, the last messages, and an
        # hour of the load of the machine (2 MB).
        "distributed.worker.profile.enabled": False,
        "distributed.admin.low-level-log-length": LOGGED_MESSAGES,
        "distributed.admin.system-monitor.log-length": LOGGED_MESSAGES,
        "distributed.admin.tick.interval": f"{WATCH_SECONDS} s",
        "distributed.worker.memory.monitor-interval": f"{WATCH_SECONDS} s",
    }
    with config.set(settings):
        try:
            cluster = LocalCluster(
                n_workers=workers or os.cpu_count() or 1,
                threads_per_worker=1,
                processes=True,
                dashboard_address=":0",  # a free port; 8787 may be another cluster's
                # Of Dask's extensions only the one that is needed: spans remember every batch.
                scheduler_kwargs={
                    "extensions": {"stealing": WorkStealing},
                    "dashboard": False,
                },
                extensions={},  # of the workers, which tell spans of theirs
                silence_logs=logging.CRITICAL,
            )
        except RuntimeError as error:
            text = f"workers could not be started: {error}"
            raise FileError("this machine", text, code="scheduler") from None
        with (
            cluster,
            kept_up(cluster, len(cluster.workers)),
            DaskClient(cluster, set_as_default=False) as own,
        ):
            yield own


@contextmanager
def kept_up(cluster: Any, count: int) -> Iterator[None]:
    """Replace workers whose nanny has given up, as it does if they die while they start."""
    ended = threading.Event()
    looks: dict[Any, int] = {}  # name of a worker → how often it had no process, in a row
    closing: set[asyncio.Task[Any]] = set()  # a task that nobody holds may be collected

    async def replace_lost() -> None:
        for name, nanny in list(cluster.workers.items()):
            looks[name] = looks.get(name, 0) + 1 if nanny.pid is None else 0
            if looks[name] >= LOST_LOOKS:
                del cluster.workers[name], looks[name]
                closing.add(asyncio.create_task(nanny.close()))
        cluster.scale(count)

    def watch() -> None:
        while not ended.wait(WATCH_WORKERS_SECONDS):
            cluster.sync(replace_lost)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
