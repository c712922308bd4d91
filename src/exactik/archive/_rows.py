"""A row of the ledger: what is known of a take, and how SQLite holds it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

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
