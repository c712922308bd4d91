"""index.html: all takes of an archive on a page that needs no network; sorted, filtered, linked."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from exactik._text import count_noun
from exactik.archive._ledger import Ledger
from exactik.archive._rows import LedgerRow
from exactik.archive._summary import KINDS, SOLVE, Kind
from exactik.archive.tasks import Storage
from exactik.io import open_atomic

MAX_TAKES = 20_000
"""On the page, 10 MB of it, which a browser sorts in a blink; summary.parquet has them all."""
TEMPLATE = Path(__file__).with_name("_index.html")
DATA = "@DATA@"


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
    folder = row.name.rpartition("/")[0]
    return {
        "name": row.name,
        "folder": "" if folder == "" else f"{quote(folder)}/",
        "word": _word_of(row),
        "reason": _reason_of(row, facts),
        **{measure.fact: facts.get(measure.fact) for measure in kind.measures},
        "frames": row.frames,
        "seconds": row.seconds,
        "curve": facts.get("curve", []),
        "files": [*facts.get("files", []), *(_provenance(row) if row.state == "done" else ())],
    }


def _reason_of(row: LedgerRow, facts: Mapping[str, Any]) -> str:
    """Return why a take failed or needs care, without its own address, which its name tells."""
    if row.reason is None:
        return ", ".join(facts.get("reasons", []))
    return row.reason.removeprefix(f"{row.address}: ")


def _provenance(row: LedgerRow) -> list[str]:
    return [f"{row.name.rpartition('/')[2]}.json"]


def _to_script(value: Any) -> str:
    """Return JSON that cannot end the element of the page that it stands in."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")
