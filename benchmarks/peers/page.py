"""The page docs/benchmarks.md: tables and text that follow from the scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from benchmarks.peers import plots
from benchmarks.peers.environments import ROOT, Tool
from benchmarks.peers.prose import ARMS, FIGURES, LEFT_OUT, OPENING
from benchmarks.peers.scores import SEARCH, ArmScore, FigureScore
from benchmarks.support.report import machine

PAGE = ROOT / "docs" / "benchmarks.md"
TIE = 1.8  # times as fast that may be the machine


@dataclass
class Results:
    """Everything that the page tells, by the titles of the tasks."""

    tools: list[Tool]
    arms: dict[str, list[ArmScore]] = field(default_factory=dict)
    figures: dict[str, tuple[list[FigureScore], list[FigureScore]]] = field(default_factory=dict)
    skipped: list[tuple[str, str, str]] = field(default_factory=list)


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown; the first column is text, the others are numbers."""
    lines = [headers, ["---", *["---:"] * (len(headers) - 1)], *rows]
    assert all(len(line) == len(headers) for line in lines)
    cells = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def number(value: float) -> str:
    """Two or three digits that matter."""
    return f"{value:.0f}" if value >= 100 else f"{value:.2g}" if value < 10 else f"{value:.1f}"


def ours(title: str) -> bool:
    return title.startswith("exactik")


def emphasised(title: str) -> str:
    return f"**{title}**" if ours(title) else title


def arm_table(scores: Sequence[ArmScore]) -> str:
    """One line a tool: one attempt, and many."""
    once = {s.title: s for s in scores if s.attempts == 1}
    often = {s.title: s for s in scores if s.attempts > 1}
    either = {**once, **often}
    names = sorted(either, key=lambda name: either[name].median)

    def cells(score: ArmScore | None) -> list[str]:
        if score is None:
            return ["–", "–", "–"]
        share = f"{score.success:.1f}"
        if score.ignoring > score.success + 0.05:
            share += f" ({score.ignoring:.1f})"
        return [share, f"{number(score.median)} / {number(score.p99)}", str(score.asked)]

    rows = [[emphasised(name), *cells(once.get(name)), *cells(often.get(name))] for name in names]
    headers = ["", "1 attempt: ok %", "ms, median / p99", "poses"]
    return table([*headers, "30 attempts: ok %", "ms, median / p99", "poses"], rows)


def arm_verdict(scores: Sequence[ArmScore]) -> str:
    """Where exactik is not first, in words."""
    often = [s for s in scores if s.attempts > 1]
    mine = {s.title: s for s in often if ours(s.title)}
    if len(mine) == 0:
        return ""
    call, batch = mine["exactik, one call each"], mine["exactik, one batch"]
    others = [s for s in often if not ours(s.title)]
    quicker = [s for s in others if s.median < call.median]
    even = [s for s in others if call.median <= s.median < TIE * call.median]
    tail = [s for s in others if s.p99 < call.p99]
    surer = [s for s in others if s.success > call.success]
    once = [s for s in scores if s.attempts == 1]
    first = {s.title: s for s in once if ours(s.title)}["exactik, one call each"]
    better = [s for s in once if not ours(s.title) and s.success > first.success]

    def named(found: Sequence[ArmScore], what: str = "median") -> str:
        return ", ".join(f"{s.title} ({number(getattr(s, what))})" for s in found) or "nobody"

    return (
        f"Surer than exactik's {call.success:.1f} % with 30 attempts: "
        f"{named(surer, 'success')}; than its {first.success:.1f} % with one: "
        f"{named(better, 'success')}. Faster than one call of exactik from Python "
        f"({number(call.median)} ms): {named(quicker)}; a tie: {named(even)}; with a shorter p99 "
        f"({number(call.p99)} ms): {named(tail, 'p99')}. In one batch, without the cost of a call, "
        f"exactik takes {number(batch.median)} ms.\n"
    )


def figure_table(scores: Sequence[FigureScore]) -> str:
    headers = [
        "",
        "error, cm",
        "within 0.1 %",
        "within 1 %",
        "> 25 % worse",
        "ms, median",
        "frames",
    ]
    rows = [
        [
            emphasised(s.title),
            f"{s.error:.3f}",
            *(f"{share:.0f} %" for share in (s.nearer, s.near, s.far)),
            number(s.median),
            str(s.asked),
        ]
        for s in sorted(scores, key=lambda s: s.median)
    ]
    return table(headers, rows)


def figure_verdict(scores: Sequence[FigureScore]) -> str:
    """Where exactik is first and where not, among those who answered all frames."""
    every = max(s.asked for s in scores)
    whole = sorted((s for s in scores if s.asked == every), key=lambda s: -s.near)
    call = next((s for s in whole if s.title == "exactik, a call a frame"), None)
    if call is None:
        return ""
    mine = next(s for s in whole if ours(s.title))
    quick = min(whole, key=lambda s: s.median)

    def named(found: Iterable[FigureScore], what: str, unit: str) -> str:
        names = (
            f"{s.title} ({number(getattr(s, what))}{unit})" for s in found if not ours(s.title)
        )
        return ", ".join(names) or "nobody"

    return (
        f"Within 1 % of the best more often than {mine.title} ({mine.near:.0f} %): "
        f"{named((s for s in whole if s.near > mine.near), 'near', ' %')}; than exactik with one "
        f"call a frame ({call.near:.0f} %): "
        f"{named((s for s in whole if s.near > call.near), 'near', ' %')}. "
        f"Fastest: {quick.title} ({number(quick.median)} ms). Faster than one call of exactik a "
        f"frame ({number(call.median)} ms): "
        f"{named((s for s in whole if s.median < call.median), 'median', '')}.\n"
    )


def text(results: Results) -> str:
    """The whole page."""
    about = ", ".join(f"{name} {value}" for name, value in machine().items())
    parts = [OPENING.format(tie=TIE, about=about.removeprefix("processor "))]
    if results.arms:
        parts += [ARMS, f"![Success against time]({plots.ARMS.name})\n"]
    for title, scores in results.arms.items():
        parts += [f"### {title}\n", arm_table(scores), arm_verdict(scores)]
    if results.figures:
        parts += [FIGURES.format(search=SEARCH), f"![Quality against time]({plots.FIGURES.name})\n"]
    for title, (tracked, cold) in results.figures.items():
        parts += [f"### {title}, tracking\n", figure_table(tracked), figure_verdict(tracked)]
        parts += [f"### {title}, cold\n", figure_table(cold), figure_verdict(cold)]
    parts += ["## What each was given\n", given(results)]
    parts += ["## Left out\n", left_out(results)]
    return "\n".join(parts)


def given(results: Results) -> str:
    versions: dict[str, str] = {}
    for scores in (*results.arms.values(), *(s for both in results.figures.values() for s in both)):
        versions |= {s.title.partition(",")[0]: s.version for s in scores}
    lines = []
    for tool in results.tools:
        version = versions.get(tool.title)
        if version is not None:
            about = " ".join(tool.about.split())
            adapter = f"benchmarks/peers/adapters/with_{tool.name}.py"
            lines.append(f"* **{tool.title}** {version} (`{adapter}`): {about}\n")
    return "".join(lines)


def left_out(results: Results) -> str:
    lines = [f"* {title}, {task}: {reason}.\n" for title, task, reason in results.skipped]
    lines += [f"* {name}: {reason}.\n" for name, reason in LEFT_OUT.items()]
    return "".join(lines)


def write(results: Results) -> None:
    """Write the page and its plots."""
    if results.arms:
        plots.arms(*next(iter(results.arms.items())))
    if results.figures:
        plots.figures(*next(iter(results.figures.items())))
    PAGE.write_text(text(results), encoding="utf-8")
