"""What a command asks of an archive, entered into the ledger: takes, subjects, parts, figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatch
from itertools import islice
from typing import Any

from exactik.archive._ledger import Ledger
from exactik.archive._rows import LedgerRow
from exactik.archive._sources import ListedTake, SkeletonSource
from exactik.archive.tasks import (
    SUBJECT_MARK,
    Figure,
    JoinTask,
    Storage,
    SubjectTask,
    TakeOptions,
    TakeTask,
    Task,
    TaskResult,
    hash_facts,
    hash_file,
    make_name,
    solver_version,
)
from exactik.errors import ExactikError, UsageError
from exactik.io import save_skeleton
from exactik.recordings.pipeline import LoadedSkeleton, read_skeleton

ENTERED_AT_ONCE = 1000  # takes a transaction of the ledger: what is listed and not yet entered


@dataclass(kw_only=True)
class Plan:
    """What one command asks."""

    ledger: Ledger  # of the archive
    storage: Storage  # where outputs go
    options: TakeOptions  # of all takes
    skeleton: SkeletonSource  # the figure, a file or "human", of takes that name none
    calibrate: bool | None  # whether to fit it; None: our own human is fitted, others are not
    # Pattern of names of the takes on which subjects are calibrated
    calibrate_on: str | None = None
    check: bool = False  # whether takes that are done are compared with their files again
    _figures: dict[SkeletonSource, tuple[Figure, bool]] = field(default_factory=dict)
    _subjects: dict[str, _Subject] = field(default_factory=dict)

    def enter(self, takes: Iterable[ListedTake]) -> None:
        """Enter takes as they come, then their subjects."""
        iterator = iter(takes)
        while len(some := list(islice(iterator, ENTERED_AT_ONCE))) > 0:
            with self.ledger.batch():
                for take in some:
                    self._enter_take(take)
        with self.ledger.batch():
            for name, subject in self._subjects.items():
                self._enter_subject(name, subject)

    def _enter_take(self, take: ListedTake) -> None:
        subject = None if take.subject is None else f"{SUBJECT_MARK}{make_name(take.subject)}"
        fault = ""
        try:
            figure, is_ours = self._figure_of(take.skeleton or self.skeleton)
            options = self._options_of(take.options, is_ours, subject)
        except ExactikError as error:  # of this take's row; the others are none the worse
            if take.skeleton is None and len(take.options) == 0:
                raise
            fault, figure, options = str(error), None, self.options
        work: dict[str, Any] = {"options": dict(take.options)}
        if figure is not None:
            work |= {"figure": asdict(figure), "fit": options.fit}
        is_entered = enter_take(
            self.ledger,
            take,
            subject=subject,
            request=self._hash_request(work, options),
            work=work,
            check=self.check,
            fault=fault,
        )
        if is_entered and subject is not None:
            self._note_subject(subject, take, figure)

    def _options_of(
        self, changes: Mapping[str, Any], is_ours: bool, subject: str | None
    ) -> TakeOptions:
        fit = is_ours if self.calibrate is None else self.calibrate
        return self.options.changed({"fit": fit and subject is None, **changes})

    def _hash_request(self, work: Mapping[str, Any], options: TakeOptions) -> str:
        return hash_facts({"work": work, "options": options.to_dict(), "solver": solver_version()})

    def _figure_of(self, skeleton: SkeletonSource) -> tuple[Figure, bool]:
        """Return a figure that workers can read, and whether it is our own human."""
        if skeleton not in self._figures:
            loaded = read_skeleton(skeleton.file, skeleton.unit, skeleton.up)
            self._figures[skeleton] = keep_figure(self.storage, loaded), loaded.built_in
        return self._figures[skeleton]

    def _note_subject(self, subject: str, take: ListedTake, figure: Figure | None) -> None:
        pattern = self.calibrate_on
        is_chosen = take.calibrates or (pattern is not None and fnmatch(take.name, pattern))
        known = self._subjects.setdefault(subject, _Subject(figure=figure))
        if known.figure != figure:
            raise UsageError(
                f"subject {subject.removeprefix(SUBJECT_MARK)} has takes with different skeletons; "
                "expected one"
            )
        known.add(take.name, take.address, take.fingerprint, is_chosen)

    def _enter_subject(self, name: str, subject: _Subject) -> None:
        assert subject.figure is not None
        work = {"figure": asdict(subject.figure), "addresses": sorted(subject.chosen)}
        self.ledger.enter(
            name=name,
            kind="subject",
            address=sorted(subject.chosen)[0],
            subject=None,
            request=self._hash_request(work, self.options),
            work=work,
            fingerprint=hash_facts(sorted(subject.chosen.values())),
            check=self.check,
        )

    def make_task(self, row: LedgerRow) -> Task:
        """Return what a worker needs for a row of the ledger."""
        figure = Figure(**row.work["figure"])
        if row.kind == "subject":
            return SubjectTask(
                name=row.name,
                addresses=tuple(row.work["addresses"]),
                figure=figure,
                options=self.options,
                outputs=self.storage.address,
            )
        if row.subject is not None:
            subject = self.ledger.find(row.subject)
            assert subject is not None and subject.state == "done"  # else it would not be its turn
            figure = Figure(**subject.facts["figure"])
        part = row.work.get("part")
        parts = self.ledger.find_parts(row.name) if row.kind == "take" else []
        task = TakeTask(
            name=row.name,
            address=row.address,
            fingerprint=row.fingerprint,
            figure=figure,
            options=self.options.changed({"fit": row.work["fit"], **row.work["options"]}),
            outputs=self.storage.address,
            part=None if part is None else (part[0], part[1]),
        )
        return task if len(parts) == 0 else JoinTask(take=task, parts=tuple(p.name for p in parts))

    def handle(self, row: LedgerRow, result: TaskResult) -> None:
        """Enter what follows from a result: parts of a take that is cut, a subject's new figure."""
        if row.kind == "subject" and result.state == "done" and result.key != row.key:
            self.ledger.renew_subject(row.name)
        if row.kind == "take" and result.state == "done":
            self.ledger.remove_parts(row.name)
        if result.state == "cut":
            assert result.frames is not None
            with self.ledger.batch():
                self.ledger.remove_parts(row.name)
                self._enter_parts(row, result.frames)

    def _enter_parts(self, row: LedgerRow, frames: int) -> None:
        """Cut a take: equal parts, each no longer than a segment; one figure for all of them."""
        subject, fit = row.subject, bool(row.work["fit"])
        options = self.options.changed({"fit": False, **row.work["options"]})
        if fit:
            subject = f"{SUBJECT_MARK}{row.name}"
            own = _Subject(figure=Figure(**row.work["figure"]))
            own.add(row.name, row.address, row.fingerprint, True)
            self._enter_subject(subject, own)
        for k, (first, end) in enumerate(cut_evenly(frames, options.segment), start=1):
            work = {**row.work, "fit": False, "part": [first, end]}
            self.ledger.enter(
                name=f"{row.name}.part-{k:03d}",
                kind="part",
                address=row.address,
                subject=subject,
                whole=row.name,
                request=self._hash_request(work, options),
                work=work,
                fingerprint=row.fingerprint,
            )


@dataclass
class _Subject:
    """Takes of a subject on which it is calibrated: address → fingerprint.

    Those that were chosen; as long as none is, the first by name.
    """

    figure: Figure | None
    chosen: dict[str, str] = field(default_factory=dict)
    first: str | None = None
    is_explicit: bool = False

    def add(self, name: str, address: str, fingerprint: str, is_chosen: bool) -> None:
        if is_chosen and not self.is_explicit:
            self.is_explicit, self.chosen = True, {}
        if is_chosen:
            self.chosen[address] = fingerprint
        elif not self.is_explicit and (self.first is None or name < self.first):
            self.first, self.chosen = name, {address: fingerprint}


def enter_take(
    ledger: Ledger,
    take: ListedTake,
    *,
    subject: str | None,
    request: str,
    work: Mapping[str, Any],
    check: bool,
    fault: str,
) -> bool:
    """Enter a take; return whether it can be done. One with a fault or another's name is failed."""
    name = take.name
    entry: dict[str, Any] = {
        "kind": "take",
        "address": take.address,
        "subject": subject,
        "request": request,
        "work": work,
        "fingerprint": take.fingerprint,
        "check": check,
    }
    if ledger.enter(name=name, **entry) == "taken":
        name = f"{name}{SUBJECT_MARK}{hash_facts(take.address)[:8]}"
        fault = "another take has the same name; a manifest can give it another"
        ledger.enter(name=name, **entry)
    if fault != "":
        ledger.finish(name, "failed", code="manifest", reason=fault)
    return fault == ""


def keep_figure(storage: Storage, loaded: LoadedSkeleton) -> Figure:
    """Write a figure to where workers find it, under the hash of its file."""
    with storage.stage() as folder:
        file = folder / "figure.npz"
        save_skeleton(loaded.skeleton, file, up_axis=loaded.up, metadata=loaded.metadata)
        sha256 = hash_file(file)
        name = f"figures/{sha256[:16]}.npz"
        storage.publish(file, name)
    return Figure(file=name, sha256=sha256)


def cut_evenly(frames: int, segment: int) -> Iterator[tuple[int, int]]:
    """Yield first frame and end of the fewest equal parts that are no longer than a segment."""
    count = -(-frames // segment)
    for k in range(count):
        yield k * frames // count, (k + 1) * frames // count
