"""summary.parquet: a row a take, for pandas, polars and DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from exactik.archive._ledger import Ledger
from exactik.archive._rows import LedgerRow
from exactik.archive.tasks import SUBJECT_MARK
from exactik.errors import UsageError
from exactik.io import open_atomic

ROWS_AT_ONCE = 10_000  # a row group: some megabytes, whatever the size of the archive


def write_summary(ledger: Ledger, folder: Path) -> Path:
    """Write the table of all takes; whole or not at all.

    Columns: take, address, subject, state, verdict, frames, rate_hz, seconds, markers, mean_mm,
    p95_mm, max_mm (of the markers), reasons (of the verdict), code and reason (of a failure), key,
    deaths (of workers), solves.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise UsageError(
            "archives need pyarrow; in a clone of exactik: pip install '.[cluster]'"
        ) from None
    text, number = pa.string(), pa.float64()
    schema = pa.schema(
        [
            ("take", text),
            ("address", text),
            ("subject", text),
            ("state", text),
            ("verdict", text),
            ("frames", pa.int64()),
            ("rate_hz", number),
            ("seconds", number),
            ("markers", pa.int64()),
            ("mean_mm", number),
            ("p95_mm", number),
            ("max_mm", number),
            ("reasons", pa.list_(text)),
            ("code", text),
            ("reason", text),
            ("key", text),
            ("deaths", pa.int64()),
            ("solves", pa.int64()),
        ]
    )
    path = folder / "summary.parquet"
    with open_atomic(path, "wb") as file, pq.ParquetWriter(file, schema) as writer:
        for rows in _in_groups(ledger):
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
    return path


def _in_groups(ledger: Ledger) -> Iterator[list[dict[str, Any]]]:
    rows: list[dict[str, Any]] = []
    for row in ledger.rows():
        rows.append(_facts_of(row))
        if len(rows) == ROWS_AT_ONCE:
            yield rows
            rows = []
    if len(rows) > 0:
        yield rows


def _facts_of(row: LedgerRow) -> dict[str, Any]:
    names = ("rate_hz", "markers", "mean_mm", "p95_mm", "max_mm", "reasons")
    facts = {
        "take": row.name,
        "address": row.address,
        "subject": None if row.subject is None else row.subject.removeprefix(SUBJECT_MARK),
        "state": row.state,
        "verdict": row.verdict,
        "frames": row.frames,
        "seconds": row.seconds,
        "code": row.code,
        "reason": row.reason,
        "key": row.key,
        "deaths": row.deaths,
        "solves": row.solves,
    }
    return facts | {name: row.facts.get(name) for name in names}
