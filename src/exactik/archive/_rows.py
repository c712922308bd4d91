"""A row of the ledger: what is known of a take, how SQLite holds it, and counts of rows."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from exactik.errors import FileError

State = Literal["waiting", "running", "done", "failed", "aside", "cut"]
"""Of a take; "aside" has killed workers and is not tried again unless asked for; "cut" was too long
and waits for its parts."""
FILE = "ledger.sqlite"
BUSY_SECONDS = 30.0  # [s] a reader or writer waits for the other; a commit takes milliseconds
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
MAX_EXAMPLES = 10  # failures that are told with their reason: a screen of them
RECENT_SECONDS = (
    60.0  # [s] over which speed is told: some takes of a slow archive, now and not then
)


@dataclass(frozen=True, kw_only=True)
class LedgerRow:
    """A take in the ledger."""

    name: str  # of its outputs
    # "take"; "part" of one that is too long; or "subject" for a figure that is calibrated, whose
    # name begins with "@"
    kind: str
    address: str  # of the recording
    subject: str | None  # whose figure it uses, with "@"
    whole: str | None  # name of the take that a part belongs to
    request: str  # hash of what is asked of it
    work: Mapping[str, Any]  # all that a worker needs, as plain data
    fingerprint: str  # of the recording when it was listed
    state: State  # see `State`
    deaths: int  # workers that died of it
    solves: int  # how often it was solved, in all runs
    key: str | None  # of the result
    code: str | None  # why it failed, for programs
    reason: str | None  # the same in a sentence
    verdict: str | None  # the gravest of its subjects
    frames: int | None  # that were solved
    seconds: float | None  # that it took
    facts: Mapping[str, Any]  # of the result, for index and summary


COLUMNS = tuple(LedgerRow.__dataclass_fields__)
TOLD_STATE = "CASE state WHEN 'cut' THEN 'waiting' ELSE state END"
"""What is told of a state: a take whose parts are being solved waits for them."""


def row_of(values: Sequence[Any]) -> LedgerRow:
    """Return the row of a query for `COLUMNS`."""
    named = dict(zip(COLUMNS, values, strict=True))
    named["work"] = json.loads(named["work"])
    named["facts"] = json.loads(named["facts"] or "{}")
    return LedgerRow(**named)


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
        takes = "FROM takes WHERE kind='take'"
        states = base.execute(f"SELECT {TOLD_STATE}, COUNT(*) {takes} GROUP BY 1").fetchall()
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
