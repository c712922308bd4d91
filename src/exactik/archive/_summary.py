"""What is told of takes: the measures of a kind of archive, and summary.parquet, a row a take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from exactik.archive._ledger import Ledger
from exactik.archive._rows import LedgerRow
from exactik.archive.tasks import SUBJECT_MARK
from exactik.errors import UsageError
from exactik.io import open_atomic


class Measure(NamedTuple):
    """A number of a take, for page and table.

    Attributes:
        fact: its name among the facts of a result, and of the column of the table.
        title: of the column of the page; "" for none.
        digits: after the point.
        style: of the cells of the page, beside "number".
    """

    fact: str
    title: str = ""
    digits: int = 0
    style: str = ""


class Kind(NamedTuple):
    """A kind of archive.

    Attributes:
        measures: of its takes.
        first: fact by which the page is sorted first, the largest on top; None: by the verdict.
    """

    measures: tuple[Measure, ...]
    first: str | None = None


SOLVE, RETARGET = "solve", "retarget"
KINDS: Mapping[str, Kind] = {
    SOLVE: Kind(
        (
            Measure("markers"),
            Measure("mean_mm", "Mean, mm", 2),
            Measure("p95_mm", "95 %, mm", 2, "p95"),
            Measure("max_mm", "Max, mm", 1),
        )
    ),
    RETARGET: Kind(
        (
            Measure("slide_mm", "Slide, mm", 3),
            Measure("wrist_percent", "Wrists, %", 2),
            Measure("limit_percent", "At limits, %", 1, "p95"),
            Measure("speed_percent", "Speed, %", 0),
            Measure("jumps", "Jumps", 0),
            Measure("worst"),
        ),
        first="worst",
    ),
}
SETTING = "kind"  # of the archive, in its ledger
COUNTS = ("markers", "jumps")  # measures that are whole numbers
ROWS_AT_ONCE = 10_000  # a row group: some megabytes, whatever the size of the archive


def write_summary(ledger: Ledger, folder: Path, kind: str = SOLVE) -> Path:
    """Write the table of all takes; whole or not at all.

    Columns: take, address, subject, state, verdict, frames, rate_hz, seconds, the measures of the
    kind of archive, reasons (of the verdict), code and reason (of a failure), key, deaths (of
    workers), solves.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise UsageError(
            "archives need pyarrow; in a clone of exactik: pip install '.[cluster]'"
        ) from None
    text, number = pa.string(), pa.float64()
    names = [measure.fact for measure in KINDS[kind].measures]
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
            *((name, pa.int64() if name in COUNTS else number) for name in names),
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
        for rows in _in_groups(ledger, ("rate_hz", "reasons", *names)):
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
    return path


def _in_groups(ledger: Ledger, names: Sequence[str]) -> Iterator[list[dict[str, Any]]]:
    rows: list[dict[str, Any]] = []
    for row in ledger.rows():
        rows.append(_facts_of(row, names))
        if len(rows) == ROWS_AT_ONCE:
            yield rows
            rows = []
    if len(rows) > 0:
        yield rows


def _facts_of(row: LedgerRow, names: Sequence[str]) -> dict[str, Any]:
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
