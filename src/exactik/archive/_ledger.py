"""The ledger of an archive: a row a take in a SQLite file, one writer, any number of readers.

It is an index of what is done. The truth is the provenance beside the outputs: a ledger that lost
its last rows, or all, is made whole by running again, and nothing is solved twice.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from exactik._text import join_names
from exactik.archive._rows import (
    BUSY_SECONDS,
    COLUMNS,
    FILE,
    SCHEMA,
    TOLD_STATE,
    LedgerRow,
    State,
    row_of,
)
from exactik.archive.tasks import SUBJECT_MARK
from exactik.errors import FileError, UsageError

FILTERS = ("verdict", "state", "subject", "code", "name")
"""Columns by which takes can be chosen."""


class Ledger:
    """The ledger of one archive, open for writing by this process alone."""

    def __init__(self, folder: str | os.PathLike[str]):
        """Open the ledger in a folder, or make it; refuse if another process writes it."""
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = _lock_folder(self.folder)
        except OSError as error:
            raise FileError(folder, f"cannot be written: {error.strerror or error}") from None
        self._base = sqlite3.connect(self.folder / FILE, timeout=BUSY_SECONDS, isolation_level=None)
        self._base.execute("PRAGMA journal_mode=WAL")
        self._base.execute("PRAGMA synchronous=NORMAL")  # see above: nothing is lost with a row
        self._base.executescript(SCHEMA)
        self._base.execute("UPDATE takes SET state='waiting' WHERE state='running'")

    def close(self) -> None:
        """Close the file and let others write."""
        self._base.close()
        self._lock.close()

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Write many rows at once."""
        self._base.execute("BEGIN")
        try:
            yield
        except BaseException:
            self._base.execute("ROLLBACK")
            raise
        self._base.execute("COMMIT")

    def set(self, name: str, value: Any) -> None:
        """Keep a setting of the archive."""
        self._base.execute(
            "INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, json.dumps(value))
        )

    def choose_none(self) -> None:
        """Forget which takes the last command named."""
        self._base.execute("UPDATE takes SET chosen=0 WHERE chosen=1")

    def enter(
        self,
        *,
        name: str,
        kind: str,
        address: str,
        subject: str | None,
        request: str,
        work: Mapping[str, Any],
        fingerprint: str,
        whole: str | None = None,
        check: bool = False,
    ) -> str:
        """Enter a take that a command named; return "ok", or "taken" if another has its name.

        A new take waits. One that is known waits again if it is asked otherwise or its file
        changed, or to be checked; else it stays as it is. A file without a fingerprint may have
        changed: it is checked.
        """
        known = self._base.execute(
            "SELECT address, request, fingerprint, state FROM takes WHERE name=?", (name,)
        ).fetchone()
        now, text = time.time(), json.dumps(work)
        if known is None:
            self._base.execute(
                "INSERT INTO takes (name, kind, address, subject, whole, request, work,"
                " fingerprint, state, chosen, changed)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'waiting', 1, ?)",
                (name, kind, address, subject, whole, request, text, fingerprint, now),
            )
            return "ok"
        if known[0] != address and self.is_chosen(name):
            return "taken"
        same, check = known[:3] == (address, request, fingerprint), check or fingerprint == ""
        state = known[3] if same and not (check and known[3] == "done") else "waiting"
        self._base.execute(
            "UPDATE takes SET kind=?, address=?, subject=?, request=?, work=?, fingerprint=?,"
            " deaths=CASE WHEN ? THEN deaths ELSE 0 END, state=?, chosen=1 WHERE name=?",
            (kind, address, subject, request, text, fingerprint, same, state, name),
        )
        if same:
            again = "CASE state WHEN 'done' THEN 'waiting' ELSE state END" if check else "state"
            self._base.execute(f"UPDATE takes SET chosen=1, state={again} WHERE whole=?", (name,))
            if subject is None:
                self._base.execute(
                    "UPDATE takes SET chosen=1 WHERE name=?", (f"{SUBJECT_MARK}{name}",)
                )
        else:
            self.remove_parts(name)
        return "ok"

    def is_chosen(self, name: str) -> bool:
        """Whether the command has named this take already."""
        found = self._base.execute("SELECT chosen FROM takes WHERE name=?", (name,)).fetchone()
        return found is not None and found[0] == 1

    def retry(self, states: Sequence[str]) -> None:
        """Let takes that failed or were set aside wait again."""
        for state in states:
            if state not in ("failed", "aside"):
                raise UsageError(f"cannot retry {state!r}; expected failed or aside")
            # A take in parts failed with one of them, or of what they left: all are looked at.
            failed = "SELECT name FROM takes WHERE state=? AND chosen=1"
            self._base.execute(
                f"UPDATE takes SET state='waiting', deaths=0 WHERE whole IN ({failed})", (state,)
            )
            self._base.execute(
                "UPDATE takes SET deaths=0, state=CASE WHEN name IN (SELECT whole FROM takes WHERE"
                " whole IS NOT NULL) THEN 'cut' ELSE 'waiting' END WHERE state=? AND chosen=1",
                (state,),
            )

    def keep_only(self, filters: Mapping[str, str]) -> None:
        """Of the takes named, do only those whose columns have these values; patterns allowed."""
        for column, value in filters.items():
            value = f"{SUBJECT_MARK}{value}" if column == "subject" else value
            if column not in FILTERS:
                raise UsageError(
                    f"no column {column!r} to choose by; expected {join_names(FILTERS)}"
                )
            self._base.execute(
                f"UPDATE takes SET chosen=0 WHERE kind='take' AND"
                f" NOT (COALESCE({column}, '') GLOB ?)",
                (value,),
            )
        if len(filters) > 0:
            self._base.execute(
                "UPDATE takes SET chosen=0 WHERE whole IN (SELECT name FROM takes WHERE chosen=0)"
            )

    def next_waiting(self, kind: str, count: int) -> list[LedgerRow]:
        """Return some takes that wait and can be done now, in the order they were entered.

        A take of a subject can be done when its figure is.
        """
        found = self._base.execute(
            f"SELECT {', '.join(COLUMNS)} FROM takes AS t WHERE state='waiting' AND kind=? AND"
            " chosen=1 AND (kind='subject' OR subject IS NULL OR EXISTS (SELECT 1 FROM takes AS s"
            " WHERE s.name = t.subject AND s.kind='subject' AND s.state='done'))"
            " ORDER BY id LIMIT ?",
            (kind, count),
        ).fetchall()
        return [row_of(values) for values in found]

    def mark(self, names: Iterable[str], state: State) -> None:
        """Set the state of takes."""
        self._base.executemany(
            "UPDATE takes SET state=?, changed=? WHERE name=?",
            [(state, time.time(), name) for name in names],
        )

    def finish(self, name: str, state: State, *, solved: bool = False, **values: Any) -> None:
        """Record how a take ended.

        Args:
            name: of the take.
            state: "done", "failed" or "aside".
            solved: whether it was solved now, and not found done.
            **values: other columns; those not given become empty.
        """
        known = ("key", "code", "reason", "verdict", "frames", "seconds")
        changes = {column: values.pop(column, None) for column in known}
        facts = json.dumps(values.pop("facts", None) or {})
        assert len(values) == 0, values
        text = ", ".join(f"{column}=?" for column in changes)
        self._base.execute(
            f"UPDATE takes SET state=?, solves=solves+?, facts=?, changed=?, {text} WHERE name=?",
            (state, int(solved), facts, time.time(), *changes.values(), name),
        )

    def add_deaths(self, name: str, count: int) -> int:
        """Count workers that died of a take; return how many there are now."""
        self._base.execute("UPDATE takes SET deaths=deaths+? WHERE name=?", (count, name))
        return int(
            self._base.execute("SELECT deaths FROM takes WHERE name=?", (name,)).fetchone()[0]
        )

    def fail_orphans(self) -> None:
        """Record takes whose subject could not be calibrated."""
        self._base.execute(
            "UPDATE takes SET state='failed', code='no-figure', changed=?, reason='the figure of"
            " its subject could not be calibrated' WHERE state='waiting' AND kind != 'subject'"
            " AND chosen=1 AND subject IN (SELECT name FROM takes WHERE kind='subject' AND"
            " state IN ('failed', 'aside'))",
            (time.time(),),
        )

    def renew_subject(self, subject: str) -> None:
        """Let the takes of a subject wait again, for its figure is another one."""
        self._base.execute(
            "UPDATE takes SET state='waiting' WHERE kind != 'subject' AND subject=? AND"
            " state='done'",
            (subject,),
        )

    def settle_cut(self) -> None:
        """Let takes wait to be joined whose parts are all done; record those with a failed one."""
        fault = "FROM takes AS p WHERE p.whole=takes.name AND p.state IN ('failed', 'aside')"
        fault += " ORDER BY p.id LIMIT 1"
        self._base.execute(
            f"UPDATE takes SET state=(SELECT p.state {fault}), code=(SELECT p.code {fault}),"
            f" reason=(SELECT p.name || ': ' || p.reason {fault}), changed=?"
            f" WHERE state='cut' AND chosen=1 AND EXISTS (SELECT 1 {fault})",
            (time.time(),),
        )
        self._base.execute(
            "UPDATE takes SET state='waiting' WHERE state='cut' AND chosen=1 AND NOT EXISTS"
            " (SELECT 1 FROM takes AS p WHERE p.whole=takes.name AND p.state != 'done')"
        )

    def find_parts(self, whole: str) -> list[LedgerRow]:
        """Return the parts of a take, in their order; none if it was not cut."""
        query = f"SELECT {', '.join(COLUMNS)} FROM takes WHERE whole=? ORDER BY id"
        return [row_of(values) for values in self._base.execute(query, (whole,)).fetchall()]

    def remove_parts(self, whole: str) -> None:
        """Forget the parts of a take: they are joined, or out of date."""
        self._base.execute("DELETE FROM takes WHERE whole=?", (whole,))

    def count_chosen(self) -> dict[str, int]:
        """Return how many takes that the command named are in each state."""
        found = self._base.execute(
            f"SELECT {TOLD_STATE}, COUNT(*) FROM takes WHERE kind='take' AND chosen=1 GROUP BY 1"
        )
        return dict(found.fetchall())

    def count_waiting(self) -> int:
        """Return how many rows of any kind the command named and wait."""
        query = "SELECT COUNT(*) FROM takes WHERE chosen=1 AND state IN ('waiting', 'cut')"
        return int(self._base.execute(query).fetchone()[0])

    def find(self, name: str) -> LedgerRow | None:
        """Return a row by its name, None if there is none."""
        query = f"SELECT {', '.join(COLUMNS)} FROM takes WHERE name=?"
        values = self._base.execute(query, (name,)).fetchone()
        return None if values is None else row_of(values)

    def rows(self) -> Iterator[LedgerRow]:
        """Yield all takes by name, a few in memory at a time, with what is told of their state."""
        columns = [TOLD_STATE if column == "state" else column for column in COLUMNS]
        query = f"SELECT {', '.join(columns)} FROM takes WHERE kind='take' ORDER BY name"
        for values in self._base.execute(query):
            yield row_of(values)


def _lock_folder(folder: Path) -> Any:
    """Return a file that is open as long as this process may write the ledger."""
    file = open(folder / "ledger.lock", "w")
    try:
        import fcntl
    except ImportError:  # Windows: SQLite itself keeps two writers apart
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise UsageError(
            f"{folder} is being written by another `exactik archive run`; `exactik archive status "
            f"{folder}` tells how far it is"
        ) from None
    return file
