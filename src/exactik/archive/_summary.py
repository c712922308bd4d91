"""What is told of takes: the measures of a kind of archive, summary.parquet and index.html."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from exactik._text import count_noun
from exactik.archive._ledger import Ledger
from exactik.archive._rows import LedgerRow
from exactik.archive.tasks import SUBJECT_MARK, Storage
from exactik.errors import UsageError
from exactik.io import open_atomic

MAX_TAKES = 20_000
"""On the page, 10 MB of it, which a browser sorts in a blink; summary.parquet has them all."""
TEMPLATE = Path(__file__).with_name("_index.html")
DATA = "@DATA@"


class Measure(NamedTuple):
    """A number of a take, for page and table."""

    fact: str  # its name among the facts of a result, and of the column of the table
    title: str = ""  # of the column of the page; "" for none
    digits: int = 0  # after the point
    style: str = ""  # of the cells of the page, beside "number"


class Kind(NamedTuple):
    """A kind of archive."""

    measures: tuple[Measure, ...]  # of its takes
    # Fact by which the page is sorted first, the largest on top; None: by the verdict
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
            Measure("cross_mm", "Crossing, mm", 1),
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


def write_index(ledger: Ledger, folder: Path, storage: Storage, kind: str = SOLVE) -> Path:
    """Write the page; whole or not at all."""
    head, _, tail = TEMPLATE.read_text("utf-8").partition(DATA)
    words: Counter[str] = Counter()
    frames, listed = 0, 0
    path = folder / "index.html"
    with open_atomic(path) as file:
        file.write(head + '{"takes": [')
        for row in ledger.rows():
            words[_word_of(row)] += 1
            frames += row.frames or 0 if row.state == "done" else 0
            if listed < MAX_TAKES:
                entry = _entry_of(row, KINDS[kind])
                file.write(("" if listed == 0 else ",") + "\n" + _to_script(entry))
                listed += 1
        base = f"{storage.address}/takes/" if storage.is_remote else _relative(storage, folder)
        shown = [m._asdict() for m in KINDS[kind].measures if m.title != ""]
        facts = {"totals": _describe(words, frames, listed), "base": base, "measures": shown}
        facts["first"] = KINDS[kind].first
        file.write("\n], " + _to_script(facts)[1:] + tail)
    return path


def _relative(storage: Storage, folder: Path) -> str:
    """Return the way from the page to the takes."""
    if Path(storage.address).resolve() == folder.resolve():
        return "takes/"
    return Path(storage.address, "takes").resolve().as_uri() + "/"


def _word_of(row: LedgerRow) -> str:
    return row.verdict if row.state == "done" and row.verdict is not None else row.state


def _describe(words: Mapping[str, int], frames: int, listed: int) -> str:
    total = sum(words.values())
    order = ("good", "care", "reject", "failed", "aside", "running", "waiting")
    parts = [f"{words[word]:,} {word}" for word in order if words.get(word, 0) > 0]
    text = f"{count_noun(total, 'take')}: {', '.join(parts) or 'none'}. {frames:,} frames solved."
    if listed < total:
        text += f" The first {listed:,} by name are listed; summary.parquet has all."
    return text


def _entry_of(row: LedgerRow, kind: Kind) -> dict[str, Any]:
    facts = row.facts if row.state == "done" else {}
    folder, _, stem = row.name.rpartition("/")
    provenance = [f"{stem}.json"] if row.state == "done" else []
    return {
        "name": row.name,
        "folder": "" if folder == "" else f"{quote(folder)}/",
        "word": _word_of(row),
        "reason": _reason_of(row, facts),
        **{measure.fact: facts.get(measure.fact) for measure in kind.measures},
        "frames": row.frames,
        "seconds": row.seconds,
        "curve": facts.get("curve", []),
        "files": [*facts.get("files", []), *provenance],
    }


def _reason_of(row: LedgerRow, facts: Mapping[str, Any]) -> str:
    """Return why a take failed or needs care, without its own address, which its name tells."""
    if row.reason is None:
        return ", ".join(facts.get("reasons", []))
    return row.reason.removeprefix(f"{row.address}: ")


def _to_script(value: Any) -> str:
    """Return JSON that cannot end the element of the page that it stands in."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")
