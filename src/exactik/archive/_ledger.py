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
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from exactik._text import join_names
from exactik.archive.tasks import SUBJECT_MARK
from exactik.errors import FileError, UsageError

__all__ = ["FILTERS", "Ledger", "LedgerRow", "State", "read_counts"]

State = Literal["waiting", "running", "done", "failed", "aside", "cut"]
"""Of a take; "aside" has killed workers and is not tried again unless asked for; "cut" was too long
and has parts in its place."""


FILE = "ledger.sqlite"
FILTERS = ("verdict", "state", "subject", "code", "name")
"""Columns by which takes can be chosen."""
BUSY_SECONDS = 30.0  # [s] a reader or writer waits for the other; a commit takes milliseconds
MAX_EXAMPLES = 10  # failures that are told with their reason: a screen of them
RECENT_SECONDS = (
    60.0  # [s] over which speed is told: some takes of a slow archive, now and not then
)
SCHEMA = """
CREATE TABLE IF NOT EXISTS takes (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    address TEXT NOT NULL,
    subject TEXT,
    whole TEXT,
    request TEXT NOT NULL,
    work TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    state TEXT NOT NULL,
    chosen INTEGER NOT NULL,
    deaths INTEGER NOT NULL DEFAULT 0,
    solves INTEGER NOT NULL DEFAULT 0,
    key TEXT,
    code TEXT,
    reason TEXT,
    verdict TEXT,
    frames INTEGER,
    seconds REAL,
    facts TEXT,
    changed REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS takes_by_state ON takes (state, kind, chosen);
CREATE INDEX IF NOT EXISTS takes_by_subject ON takes (subject);
CREATE INDEX IF NOT EXISTS takes_by_whole ON takes (whole);
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""


@dataclass(frozen=True, kw_only=True)
class LedgerRow:
    """A take in the ledger.

    Attributes:
        name: of its outputs.
        kind: "take", or "subject" for a figure that is calibrated; its name begins with "@".
        address: of the recording.
        subject: whose figure it uses, with "@".
        whole: name of the take that it is a part of.
        request: hash of what is asked of it.
        work: all that a worker needs, as plain data.
        fingerprint: of the recording when it was listed.
        state: see `State`.
        deaths: workers that died of it.
        solves: how often it was solved, in all runs.
        key: of the result.
        code: why it failed, for programs.
        reason: the same in a sentence.
        verdict: the gravest of its subjects.
        frames: that were solved.
        seconds: that it took.
        facts: of the result, for index and summary.
    """

    name: str
    kind: str
    address: str
    subject: str | None
    whole: str | None
    request: str
    work: Mapping[str, Any]
    fingerprint: str
    state: State
    deaths: int
    solves: int
    key: str | None
    code: str | None
    reason: str | None
    verdict: str | None
    frames: int | None
    seconds: float | None
    facts: Mapping[str, Any]


COLUMNS = tuple(LedgerRow.__dataclass_fields__)


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
        changed, or to be checked; else it stays as it is.
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
        same = known[:3] == (address, request, fingerprint)
        state = known[3] if same and not (check and known[3] == "done") else "waiting"
        self._base.execute(
            "UPDATE takes SET kind=?, address=?, subject=?, request=?, work=?, fingerprint=?,"
            " deaths=CASE WHEN ? THEN deaths ELSE 0 END, state=?, chosen=1 WHERE name=?",
            (kind, address, subject, request, text, fingerprint, same, state, name),
        )
        if known[3] == "cut" and same:
            again = "CASE state WHEN 'done' THEN 'waiting' ELSE state END" if check else "state"
            self._base.execute(f"UPDATE takes SET chosen=1, state={again} WHERE whole=?", (name,))
            if subject is None:
                self._base.execute(
                    "UPDATE takes SET chosen=1 WHERE name=?", (f"{SUBJECT_MARK}{name}",)
                )
        elif known[3] == "cut":
            self._base.execute("DELETE FROM takes WHERE whole=?", (name,))
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
            self._base.execute(
                "UPDATE takes SET state='waiting', deaths=0 WHERE state=? AND chosen=1", (state,)
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
        return [_row_of(values) for values in found]

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
            " its subject could not be calibrated' WHERE state='waiting' AND kind='take'"
            " AND chosen=1 AND subject IN (SELECT name FROM takes WHERE kind='subject' AND"
            " state IN ('failed', 'aside'))",
            (time.time(),),
        )

    def renew_subject(self, subject: str) -> None:
        """Let the takes of a subject wait again, for its figure is another one."""
        self._base.execute(
            "UPDATE takes SET state='waiting' WHERE kind='take' AND subject=? AND state='done'",
            (subject,),
        )

    def count_chosen(self) -> dict[str, int]:
        """Return how many takes that the command named are in each state."""
        found = self._base.execute(
            "SELECT state, COUNT(*) FROM takes WHERE kind='take' AND chosen=1 AND state != 'cut'"
            " GROUP BY state"
        )
        return dict(found.fetchall())

    def count_waiting(self) -> int:
        """Return how many rows of any kind the command named and wait."""
        query = "SELECT COUNT(*) FROM takes WHERE chosen=1 AND state='waiting'"
        return int(self._base.execute(query).fetchone()[0])

    def find(self, name: str) -> LedgerRow | None:
        """Return a row by its name, None if there is none."""
        query = f"SELECT {', '.join(COLUMNS)} FROM takes WHERE name=?"
        values = self._base.execute(query, (name,)).fetchone()
        return None if values is None else _row_of(values)

    def rows(self, kind: str = "take") -> Iterator[LedgerRow]:
        """Yield all takes by name, a few in memory at a time."""
        yield from _iterate(self._base, kind)


def _iterate(base: sqlite3.Connection, kind: str) -> Iterator[LedgerRow]:
    query = f"SELECT {', '.join(COLUMNS)} FROM takes WHERE kind=? AND state != 'cut' ORDER BY name"
    for values in base.execute(query, (kind,)):
        yield _row_of(values)


def _row_of(values: Sequence[Any]) -> LedgerRow:
    named = dict(zip(COLUMNS, values, strict=True))
    named["work"] = json.loads(named["work"])
    named["facts"] = json.loads(named["facts"] or "{}")
    return LedgerRow(**named)


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


def read_counts(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Return how far an archive is, also while it is being written.

    Returns:
        `states` (how many takes of each), `verdicts` (of those done), `frames`, `seconds` (of all
        workers together), `failures` (code → how many), `examples` (name and reason of some of
        them), `recent` (takes and frames that ended in the last minute), `settings` of the archive.
    """
    path = Path(folder, FILE)
    if not path.is_file():
        raise FileError(path, "no ledger there; expected the folder of `exactik archive run`")
    base = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=BUSY_SECONDS)
    try:
        takes = "FROM takes WHERE kind='take' AND state != 'cut'"
        states = base.execute(f"SELECT state, COUNT(*) {takes} GROUP BY state").fetchall()
        verdicts = base.execute(
            f"SELECT verdict, COUNT(*) {takes} AND state='done' GROUP BY verdict"
        ).fetchall()
        sums = base.execute(f"SELECT SUM(frames), SUM(seconds) {takes} AND state='done'").fetchone()
        failures = base.execute(
            f"SELECT code, COUNT(*) {takes} AND state IN ('failed', 'aside') GROUP BY code"
        ).fetchall()
        examples = base.execute(
            f"SELECT name, code, reason {takes} AND state IN ('failed', 'aside')"
            " ORDER BY changed DESC LIMIT ?",
            (MAX_EXAMPLES,),
        ).fetchall()
        recent = base.execute(
            f"SELECT COUNT(*), SUM(frames) {takes} AND state IN ('done', 'failed', 'aside')"
            " AND changed > ?",
            (time.time() - RECENT_SECONDS,),
        ).fetchone()
        settings = base.execute("SELECT name, value FROM settings").fetchall()
    except sqlite3.DatabaseError as error:
        raise FileError(path, f"cannot be read: {error}") from None
    finally:
        with suppress(sqlite3.Error):
            base.close()
    return {
        "states": dict(states),
        "verdicts": dict(verdicts),
        "frames": int(sums[0] or 0),
        "seconds": float(sums[1] or 0.0),
        "failures": dict(failures),
        "examples": [dict(zip(("name", "code", "reason"), e, strict=True)) for e in examples],
        "recent": {"takes": int(recent[0]), "frames": int(recent[1] or 0), "s": RECENT_SECONDS},
        "settings": {name: json.loads(value) for name, value in settings},
    }
