"""An archive: thousands of takes solved on a Dask cluster, resumable at any point."""

from __future__ import annotations

import itertools
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exactik._options import accepts_options
from exactik.archive._clip_plan import ClipPlan, Condition, parse_conditions, write_kept
from exactik.archive._ledger import Ledger
from exactik.archive._options import (
    ArchiveOptions,
    Progress,
    RetargetArchiveOptions,
    RunOptions,
    open_client,
)
from exactik.archive._plan import Plan
from exactik.archive._rows import read_counts
from exactik.archive._run import Queue
from exactik.archive._sources import ListedTake, SkeletonSource, list_takes
from exactik.archive._summary import RETARGET, SETTING, SOLVE, write_index, write_summary
from exactik.archive.tasks import NO_SPACE, Storage, make_absolute, solver_version
from exactik.errors import FileError

if TYPE_CHECKING:
    from distributed import Client


@dataclass(frozen=True, kw_only=True)
class ArchiveResult:
    """How an archive stands after a run.

    Attributes:
        folder: of the archive.
        states: how many takes are "done", "failed", "aside" or still "waiting".
        verdicts: how many of those done are "good", "care" or "reject".
        failures: code → how many failed with it.
        solved: takes that this run solved.
        found: takes that it found done.
        frames: that it solved.
        seconds: that it took.
        kept: clips that fulfil all conditions; None if there were none.
    """

    folder: Path
    states: Mapping[str, int]
    verdicts: Mapping[str, int]
    failures: Mapping[str, int]
    solved: int
    found: int
    frames: int
    seconds: float
    settings: Mapping[str, Any] = field(default_factory=dict)
    kept: int | None = None

    @property
    def index(self) -> Path:
        """The page with all takes."""
        return self.folder / "index.html"

    @property
    def summary(self) -> Path:
        """The table with all takes, for pandas, polars or DuckDB."""
        return self.folder / "summary.parquet"


@accepts_options(ArchiveOptions)
def solve_archive(
    sources: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    options: ArchiveOptions,
) -> ArchiveResult:
    """Solve all takes of an archive; what is done already is not done again.

    Outputs are the same to the bit for any number of workers, in any order and after any
    interruption, on one type of processor. A take that fails or kills its worker is recorded with
    its reason and stops nothing. A script that starts workers of its own (neither `client` nor
    `scheduler`) needs `if __name__ == "__main__":`, as for every use of processes.

    Args:
        sources: folders, patterns, manifests (.csv, .jsonl) or files; paths or addresses that
            fsspec knows, such as "s3://bucket/takes".
        out: folder of the archive: ledger, index, summary.
        options: fields of `ArchiveOptions`, as keywords.

    Returns:
        How the archive stands.
    """
    asked = options.of_takes()

    def make_plan(ledger: Ledger, storage: Storage) -> Plan:
        return Plan(
            ledger=ledger,
            storage=storage,
            options=asked,
            skeleton=SkeletonSource(
                file=os.fspath(options.skeleton),
                up=options.skeleton_up,
                unit=options.skeleton_unit,
            ),
            calibrate=options.calibrate,
            calibrate_on=options.calibrate_on,
            check=options.check,
        )

    takes = list_takes(_make_absolute(sources), subjects=options.subjects)
    return _run(Path(out), takes, options, make_plan, {"options": asked.to_dict(), SETTING: SOLVE})


@accepts_options(RetargetArchiveOptions)
def retarget_archive(
    sources: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    options: RetargetArchiveOptions,
) -> ArchiveResult:
    """Let another figure take over all clips of an archive; as `solve_archive` does with takes.

    `kept.txt` lists the files of the clips that fulfil the conditions of `keep`. Other conditions
    retarget nothing again.

    Args:
        sources: folders, patterns, manifests (.csv, .jsonl) or files of motions; paths or
            addresses that fsspec knows.
        out: folder of the archive: ledger, index, summary.
        options: fields of `RetargetArchiveOptions`, as keywords.

    Returns:
        How the archive stands.
    """
    asked, conditions = options.of_clips(), parse_conditions(options.keep)

    def make_plan(ledger: Ledger, storage: Storage) -> ClipPlan:
        given = {"options": asked, "check": options.check}
        return ClipPlan.of(os.fspath(options.to), ledger=ledger, storage=storage, **given)

    takes = list_takes(_make_absolute(sources), content="motion")
    settings = {"options": asked.to_dict(), SETTING: RETARGET, "keep": list(options.keep)}
    return _run(Path(out), takes, options, make_plan, settings, conditions)


def _make_absolute(
    sources: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
) -> list[str]:
    given = [sources] if isinstance(sources, str | os.PathLike) else list(sources)
    return [make_absolute(os.fspath(source)) for source in given]


def _run(
    folder: Path,
    takes: Iterator[ListedTake],
    options: RunOptions,
    make_plan: Callable[[Ledger, Storage], Plan | ClipPlan],
    settings: Mapping[str, Any],
    conditions: Sequence[Condition] = (),
) -> ArchiveResult:
    """Enter takes into the ledger, do what waits, tell of the whole."""
    began = time.monotonic()
    first_take = list(itertools.islice(takes, 1))  # before a folder is made, for what is not there
    state, kept = Progress(), None
    ledger = Ledger(folder)
    try:
        # Workers may be elsewhere: a path is whole, or means nothing to them.
        outputs = options.outputs
        storage = Storage(make_absolute(str(folder) if outputs is None else outputs))
        storage.clear_staging()
        plan = make_plan(ledger, storage)
        ledger.choose_none()
        plan.enter(itertools.chain(first_take, takes))
        ledger.retry(options.retry)
        ledger.keep_only(options.only or {})
        for name, value in {
            "outputs": storage.address,
            "solver": solver_version(),
            **settings,
        }.items():
            ledger.set(name, value)
        _recount(ledger, state)
        state.found = ledger.count_chosen().get("done", 0)
        if ledger.count_waiting() > 0:
            with open_client(options.client, options.scheduler, options.workers) as opened:
                queue = _work(opened, ledger, plan, state, options)
            queue.take_late_results(plan.handle)
        write_summary(ledger, folder, settings[SETTING])
        write_index(ledger, folder, storage, settings[SETTING])
        if len(conditions) > 0:
            kept = write_kept(ledger, folder, conditions)
    except (sqlite3.OperationalError, OSError) as error:
        if isinstance(error, OSError) and error.errno not in NO_SPACE:
            raise
        raise FileError(folder, f"cannot be written: {error}", code="no-space") from None
    finally:
        ledger.close()
    counts = read_counts(folder)
    return ArchiveResult(
        folder=folder,
        states=counts["states"],
        verdicts=counts["verdicts"],
        failures=counts["failures"],
        solved=state.solved,
        found=state.found,
        frames=state.frames,
        seconds=time.monotonic() - began,
        settings=counts["settings"],
        kept=kept,
    )


def _work(
    client: Client,
    ledger: Ledger,
    plan: Plan | ClipPlan,
    state: Progress,
    options: RunOptions,
) -> Queue:
    """Do what waits: subjects, parts, takes, until none does; a take that is cut adds both."""
    state.began = time.monotonic()
    queue = Queue(
        client,
        ledger,
        time_limit=options.time_limit,
        progress=state,
        report=options.progress or (lambda _: None),
    )
    try:
        while True:
            queue.run("subject", plan.make_task, plan.handle)
            ledger.fail_orphans()
            queue.run("part", plan.make_task, plan.handle)
            ledger.settle_cut()
            _recount(ledger, state)
            queue.run("take", plan.make_task, plan.handle)
            if not any(len(ledger.next_waiting(kind, 1)) > 0 for kind in ("subject", "part")):
                return queue
    finally:
        queue.close()


def _recount(ledger: Ledger, state: Progress) -> None:
    """Set how much there is, also after takes were cut or could not be begun."""
    counts = ledger.count_chosen()
    state.total = sum(counts.values())
    state.done = state.total - counts.get("waiting", 0) - counts.get("running", 0)
