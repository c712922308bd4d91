"""Options of `solve_archive`: what is asked, how a run goes, on what cluster, and how far it is."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from exactik._options import describe, option, to_arguments
from exactik.archive.tasks import ClipOptions, TakeOptions
from exactik.errors import FileError, UsageError
from exactik.recordings.pipeline import FigureOptions

if TYPE_CHECKING:
    from distributed import Client

TIME_LIMIT = 3600.0
"""[s] for a take. A segment of five minutes takes minutes; what takes an hour loops."""
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


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How a run over an archive goes."""

    outputs: str | None = option(
        None,
        "Folder of motions and reports, if not the archive's: a path or s3://bucket/….",
        more="One that all workers see, or an address that fsspec knows.",
        metavar="FOLDER",
        flags="--motions",
    )
    client: Client | None = option(
        None,
        "Client of a Dask cluster; it stays open.",
        more="Workers with one thread each can be held to `time_limit`.",
    )
    scheduler: str | None = option(
        None, "Address of a running Dask scheduler: tcp://host:8786.", metavar="URL"
    )
    workers: int | None = option(
        None, "Processes on this machine; one per processor if not given.", metavar="N", least=1
    )
    retry: Sequence[str] = option(
        (), "Takes to try again: failed or aside; may be given repeatedly.", metavar="STATE"
    )
    only: Mapping[str, str] | None = option(
        None,
        "Takes to choose, by column: verdict=care, state=failed, subject=…, name=….",
        more="Column → pattern, of `FILTERS`.",
        metavar="COLUMN=VALUE",
    )
    check: bool = option(
        False,
        "Compare all inputs with the ledger, by their bytes.",
        why="Size and time of a file tell nearly always.",
        flags="--check",
    )
    time_limit: float | None = option(
        TIME_LIMIT,
        "Time for a take, after which its worker is ended.",
        more="None for none.",
        why="A segment of five minutes takes minutes; what takes an hour loops.",
        unit="s",
        metavar="SECONDS",
        least=1.0,
    )
    progress: Callable[[Progress], object] | None = option(
        None, "Is called with a `Progress` whenever a take ended."
    )


@dataclass(frozen=True, kw_only=True)
class ArchiveOptions(TakeOptions, FigureOptions, RunOptions):
    """How the takes of an archive are solved."""

    skeleton: str | os.PathLike[str] = field(
        metadata=describe(
            "The figure: a file (.npz .osim .bvh …), or human, ours.", metavar="FIGURE"
        )
    )
    subjects: bool = option(
        False,
        "Take the folder of a take as its subject, and calibrate each once.",
        flags="--subject-folders",
    )
    calibrate: bool | None = option(
        None,
        "Fit the figure to each take that has no subject; human always is fitted.",
        more="None: our own human is fitted, others are not.",
        why="Nobody has the size of our own human.",
        flags="--calibrate/--no-calibrate",
    )
    calibrate_on: str | None = option(
        None,
        "Takes on which subjects are calibrated, such as '*static*'; the first if not given.",
        more="A pattern of names; a manifest may say it, too.",
        metavar="PATTERN",
    )

    def of_takes(self) -> TakeOptions:
        """Return what is asked of each take: all that a worker is told, and the key knows."""
        return TakeOptions(**to_arguments(self, TakeOptions))


@dataclass(frozen=True, kw_only=True)
class RetargetArchiveOptions(ClipOptions, RunOptions):
    """How another figure takes over the clips of an archive."""

    to: str | os.PathLike[str] = field(
        metadata=describe(
            "Who takes them over: a figure's or robot's file, human, or a name: unitree_g1.",
            metavar="FIGURE",
        )
    )
    keep: Sequence[str] = option(
        (),
        "Clips that kept.txt names, such as 'slide<1mm'; of several all must hold.",
        more="Conditions on slide and crossing [mm], wrist, limits, speed [%], jumps, seconds.",
        metavar="CONDITION",
    )

    def of_clips(self) -> ClipOptions:
        """Return what is asked of each clip: all that a worker is told, and the key knows."""
        return ClipOptions(**to_arguments(self, ClipOptions))


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
