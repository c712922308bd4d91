"""What `archive retarget` asks, entered into the ledger: clips, and the figure that takes over."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from itertools import islice
from typing import Any

from exactik._text import join_names
from exactik.archive._ledger import Ledger
from exactik.archive._plan import ENTERED_AT_ONCE, enter_take, keep_figure
from exactik.archive._rows import LedgerRow
from exactik.archive._sources import ListedTake
from exactik.archive.tasks import (
    ClipOptions,
    ClipTask,
    Figure,
    Storage,
    Task,
    TaskResult,
    hash_facts,
    solver_version,
)
from exactik.errors import UsageError
from exactik.recordings.pipeline import read_skeleton


@dataclass(kw_only=True)
class ClipPlan:
    """What one command asks.

    Attributes:
        ledger: of the archive.
        storage: where outputs go.
        options: of all clips.
        figure: that takes them over.
        check: whether clips that are done are compared with their files again.
    """

    ledger: Ledger
    storage: Storage
    options: ClipOptions
    figure: Figure
    check: bool = False

    @classmethod
    def of(cls, to: str, *, ledger: Ledger, storage: Storage, **asked: Any) -> ClipPlan:
        """Return a plan for a figure, which is kept where workers find it."""
        figure = keep_figure(storage, read_skeleton(to))
        return cls(figure=figure, ledger=ledger, storage=storage, **asked)

    def enter(self, takes: Iterable[ListedTake]) -> None:
        """Enter clips as they come."""
        iterator = iter(takes)
        while len(some := list(islice(iterator, ENTERED_AT_ONCE))) > 0:
            with self.ledger.batch():
                for clip in some:
                    self._enter_clip(clip)

    def _enter_clip(self, clip: ListedTake) -> None:
        fault, options = "", self.options
        try:
            options = self._change(dict(clip.options))
        except UsageError as error:  # of this clip's row; the others are none the worse
            fault = str(error)
        work = {"options": dict(clip.options), "figure": asdict(self.figure)}
        asked = {"work": work, "options": options.to_dict(), "solver": solver_version()}
        enter_take(
            self.ledger,
            clip,
            subject=None,
            request=hash_facts(asked),
            work=work,
            check=self.check,
            fault=fault,
        )

    def _change(self, changes: dict[str, Any]) -> ClipOptions:
        known = [field.name for field in fields(ClipOptions)]
        for name in changes:
            if name not in known:
                raise UsageError(f"no option {name!r}; expected {join_names(sorted(known))}")
        return replace(self.options, **changes)

    def make_task(self, row: LedgerRow) -> Task:
        """Return what a worker needs for a row of the ledger."""
        return ClipTask(
            name=row.name,
            address=row.address,
            fingerprint=row.fingerprint,
            figure=Figure(**row.work["figure"]),
            options=self._change(dict(row.work["options"])),
            outputs=self.storage.address,
        )

    def handle(self, row: LedgerRow, result: TaskResult) -> None:
        """Nothing follows from a clip."""
