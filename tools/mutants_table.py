"""The tables that tools/mutants.py writes into build/."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tools.faults import KINDS, Fault

__all__ = ["Reason", "write_tables"]

TITLES = {
    "named": "by hand",
    "constant": "constants",
    "literal": "numbers",
    "stage": "calls",
    "comparison": "comparisons",
}


class Reason(NamedTuple):
    """Why a fault may survive; harmless if it changes no answer."""

    text: str
    harmless: bool


def write_tables(
    page: Path,
    every: list[Fault],
    chosen: list[Fault],
    results: dict[str, dict],
    reason_of: Callable[[str], Reason | None],
    older: int,
) -> None:
    """Write a page of tables.

    Args:
        page: the file that is written.
        every: all faults that there are.
        chosen: those to be run.
        results: of those that were, by their keys.
        reason_of: why a fault may survive.
        older: how many of the results are of an earlier version of their module.
    """
    run = [fault for fault in chosen if fault.key in results]
    parts = [
        _summarise(every, chosen, run, results, reason_of, older),
        _count(every, run, results),
        _list_survivors(run, results, reason_of),
        _list_caught(run, results),
    ]
    page.parent.mkdir(exist_ok=True)
    page.write_text("\n\n".join(parts) + "\n", "utf-8")


def _is_caught(fault: Fault, results: dict[str, dict]) -> bool:
    return bool(results[fault.key]["caught_by"])


def _module(fault: Fault) -> str:
    return fault.module.removeprefix("exactik.")


def _summarise(
    every: list[Fault],
    chosen: list[Fault],
    run: list[Fault],
    results: dict[str, dict],
    reason_of: Callable[[str], Reason | None],
    older: int,
) -> str:
    """In two sentences: how many were run, how many caught, and what the others may do."""
    survivors = [fault for fault in run if not _is_caught(fault, results)]
    reasons = [reason for fault in survivors if (reason := reason_of(fault.key)) is not None]
    harmless = sum(reason.harmless for reason in reasons)
    caught = len(run) - len(survivors)
    share, felt = (100 * caught / max(count, 1) for count in (len(run), len(run) - harmless))
    return (
        f"Of {len(every)} faults {len(chosen)} are chosen; {len(run)} of these were run ({older} "
        f"when their module was slightly different) and {caught} caught: **{share:.1f} % of all**. "
        f"{len(survivors)} survive: {harmless} of them change no answer, so that of those that may "
        f"change one {felt:.1f} % are caught; {len(survivors) - len(reasons)} have no reason yet. "
        f"Not run yet: {_name_modules(chosen, run)}."
    )


def _name_modules(chosen: list[Fault], run: list[Fault]) -> str:
    """Modules of which something was not run, and how much of it."""
    left: dict[str, int] = {}
    for fault in set(chosen) - set(run):
        left[_module(fault)] = left.get(_module(fault), 0) + 1
    return ", ".join(f"{count} of {name}" for name, count in sorted(left.items())) or "none"


def _count(every: list[Fault], run: list[Fault], results: dict[str, dict]) -> str:
    kinds = [kind for kind in KINDS if any(fault.kind == kind for fault in every)]
    titles = ["module", "faults", "tried", *(TITLES[kind] for kind in kinds), "caught"]
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    modules = [*dict.fromkeys(map(_module, run)), "all"]
    for module in modules:
        own = [fault for fault in run if module in ("all", _module(fault))]
        there = [fault for fault in every if module in ("all", _module(fault))]
        caught = [fault for fault in own if _is_caught(fault, results)]
        cells = [module, str(len(there)), str(len(own))]
        for kind in kinds:
            both = [sum(fault.kind == kind for fault in part) for part in (caught, own)]
            cells.append(f"{both[0]} of {both[1]}")
        cells.append(f"{100 * len(caught) / max(len(own), 1):.0f} %")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _list_survivors(
    run: list[Fault], results: dict[str, dict], reason_of: Callable[[str], Reason | None]
) -> str:
    lines = ["| fault that no quick test notices | may change an answer | why |", "|---|---|---|"]
    for fault in run:
        if not _is_caught(fault, results):
            reason = reason_of(fault.key) or Reason("**no reason yet**", harmless=False)
            felt = "no" if reason.harmless else "yes"
            lines.append(f"| {_code(fault.key)} | {felt} | {reason.text} |")
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
    """In backquotes, without what would end them, a cell, or look like a link."""
    return "`" + text.replace("|", "\\|").replace("`", "'").replace("](", "] (") + "`"
