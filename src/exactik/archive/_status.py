"""How far an archive is: read from its ledger by anybody, also while it is being written."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from exactik.archive._rows import BUSY_SECONDS, FILE, TOLD_STATE
from exactik.errors import FileError

MAX_EXAMPLES = 10  # failures that are told with their reason: a screen of them
RECENT_SECONDS = (
    60.0  # [s] over which speed is told: some takes of a slow archive, now and not then
)


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
