"""The tables that tools/mutants.py writes into docs/stages.md."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tools.faults import KINDS, Fault

__all__ = ["write_tables"]

BEGIN, END = "<!-- written by `make mutants` -->", "<!-- end -->"


def write_tables(
    page: Path,
    every: list[Fault],
    run: list[Fault],
    results: dict[str, dict],
    reason_of: Callable[[str], str | None],
) -> None:
    """Replace the part of a page between its two marks."""
    text = page.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    parts = [
        _count(every, run, results),
        _list_survivors(run, results, reason_of),
        _list_caught(run, results),
    ]
    page.write_text(before + BEGIN + "\n\n" + "\n\n".join(parts) + "\n\n" + END + after, "utf-8")


def _is_caught(fault: Fault, results: dict[str, dict]) -> bool:
    return bool(results[fault.key]["caught_by"])


def _module(fault: Fault) -> str:
    return fault.module.removeprefix("exactik.")


def _count(every: list[Fault], run: list[Fault], results: dict[str, dict]) -> str:
    lines = [
        "| module | faults | tried | by hand | constants | calls | comparisons | caught |",
        "|---|---|---|---|---|---|---|---|",
    ]
    modules = [*dict.fromkeys(map(_module, run)), "all"]
    for module in modules:
        own = [fault for fault in run if module in ("all", _module(fault))]
        there = [fault for fault in every if module in ("all", _module(fault))]
        caught = [fault for fault in own if _is_caught(fault, results)]
        cells = [module, str(len(there)), str(len(own))]
        for kind in KINDS:
            both = [sum(fault.kind == kind for fault in part) for part in (caught, own)]
            cells.append(f"{both[0]} of {both[1]}")
        cells.append(f"{100 * len(caught) / max(len(own), 1):.0f} %")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _list_survivors(
    run: list[Fault], results: dict[str, dict], reason_of: Callable[[str], str | None]
) -> str:
    lines = ["| fault that no quick test notices | why |", "|---|---|"]
    for fault in run:
        if not _is_caught(fault, results):
            lines.append(f"| {_code(fault.key)} | {reason_of(fault.key) or '**no reason yet**'} |")
    return "\n".join(lines)


def _list_caught(run: list[Fault], results: dict[str, dict]) -> str:
    """One row a constant or call; comparisons are only counted."""
    lines = ["| constant, or call left out | caught by |", "|---|---|"]
    tests: dict[str, list[str]] = {}
    for fault in run:
        if fault.kind == "comparison" or not _is_caught(fault, results):
            continue
        label = fault.key
        for sign in (" × 10", " ÷ 10"):
            label = label.removesuffix(sign)
        if fault.kind == "constant":
            label = label.partition(" → ")[0]
        test = results[fault.key]["caught_by"].rpartition("::")[2].partition("[")[0]
        tests.setdefault(label, [])
        if test not in tests[label]:
            tests[label].append(test)
    lines += [f"| {_code(label)} | {', '.join(names)} |" for label, names in tests.items()]
    return "\n".join(lines)


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|").replace("`", "'") + "`"
