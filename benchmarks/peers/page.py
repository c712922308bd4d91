"""The page docs/benchmarks.md, and build/benchmarks.md with all tables, made from the scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from benchmarks.peers import plots
from benchmarks.peers.environments import ROOT, Tool
from benchmarks.peers.prose import ARMS, FIGURES, LEFT_OUT, OPENING
from benchmarks.peers.scores import SEARCH_STARTS, ArmScore, FigureScore
from benchmarks.support.report import describe_machine

PAGE = ROOT / "docs" / "benchmarks.md"
ALL_TABLES = ROOT / "build" / "benchmarks.md"
ADAPTERS = "benchmarks/peers/adapters"
TIE_RATIO = 1.8  # the same run varies by as much on this machine


@dataclass
class Results:
    """Everything that the page shows, by the titles of the tasks."""

    tools: list[Tool]
    arms: dict[str, list[ArmScore]] = field(default_factory=dict)
    figures: dict[str, tuple[list[FigureScore], list[FigureScore]]] = field(default_factory=dict)
    skipped: list[tuple[str, str, str]] = field(default_factory=list)


def format_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown; the first column is text, the others are numbers."""
    lines = [headers, ["---", *["---:"] * (len(headers) - 1)], *rows]
    assert all(len(line) == len(headers) for line in lines)
    cells = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def format_number(value: float) -> str:
    """Return a number with two or three significant digits."""
    return f"{value:.0f}" if value >= 100 else f"{value:.2g}" if value < 10 else f"{value:.1f}"


def is_exactik(title: str) -> bool:
    return title.startswith("exactik")


def emphasise_exactik(title: str) -> str:
    return f"**{title}**" if is_exactik(title) else title


def format_arm_table(scores: Sequence[ArmScore]) -> str:
    """Return a line for each tool: one attempt, and many."""
    once = {s.title: s for s in scores if s.attempts == 1}
    often = {s.title: s for s in scores if s.attempts > 1}
    either = {**once, **often}
    names = sorted(either, key=lambda name: either[name].median)

    def cells(score: ArmScore | None) -> list[str]:
        if score is None:
            return ["–", "–", "–"]
        share = f"{score.success:.1f}"
        if score.success_without_limits > score.success + 0.05:
            share += f" ({score.success_without_limits:.1f})"
        return [
            share,
            f"{format_number(score.median)} / {format_number(score.p99)}",
            str(score.asked),
        ]

    rows = [
        [emphasise_exactik(name), *cells(once.get(name)), *cells(often.get(name))] for name in names
    ]
    headers = ["", "1 attempt: ok %", "ms, median / p99", "poses"]
    return format_table([*headers, "30 attempts: ok %", "ms, median / p99", "poses"], rows)


def describe_arm_ranking(scores: Sequence[ArmScore]) -> str:
    """Return where exactik is not first, in words."""
    often = [s for s in scores if s.attempts > 1]
    mine = {s.title: s for s in often if is_exactik(s.title)}
    if len(mine) == 0:
        return ""
    call, batch = mine["exactik, one call each"], mine["exactik, one batch"]
    others = [s for s in often if not is_exactik(s.title)]
    quicker = [s for s in others if s.median < call.median]
    even = [s for s in others if call.median <= s.median < TIE_RATIO * call.median]
    tail = [s for s in others if s.p99 < call.p99]
    surer = [s for s in others if s.success > call.success]
    once = [s for s in scores if s.attempts == 1]
    first = {s.title: s for s in once if is_exactik(s.title)}["exactik, one call each"]
    better = [s for s in once if not is_exactik(s.title) and s.success > first.success]

    def list_scores(chosen: Sequence[ArmScore], what: str = "median") -> str:
        return (
            ", ".join(f"{s.title} ({format_number(getattr(s, what))})" for s in chosen) or "nobody"
        )

    return (
        f"Exactik reaches {call.success:.1f} % with 30 attempts (more: "
        f"{list_scores(surer, 'success')}), "
        f"{first.success:.1f} % with one (more: {list_scores(better, 'success')}). A call takes "
        f"{format_number(call.median)} ms (less: {list_scores(quicker)}; a tie: "
        f"{list_scores(even)}), its p99 is {format_number(call.p99)} ms (less: "
        f"{list_scores(tail, 'p99')}), a problem in a batch {format_number(batch.median)} ms.\n"
    )


def format_figure_table(scores: Sequence[FigureScore]) -> str:
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
            emphasise_exactik(s.title),
            f"{s.error:.3f}",
            *(f"{share:.0f} %" for share in (s.nearer, s.near, s.far)),
            format_number(s.median),
            str(s.asked),
        ]
        for s in sorted(scores, key=lambda s: s.median)
    ]
    return format_table(headers, rows)


def describe_figure_ranking(scores: Sequence[FigureScore]) -> str:
    """Return where exactik is first and where not, among those who answered all frames."""
    every = max(s.asked for s in scores)
    whole = sorted((s for s in scores if s.asked == every), key=lambda s: -s.near)
    call = next((s for s in whole if s.title == "exactik, a call a frame"), None)
    if call is None:
        return ""
    mine = next(s for s in whole if is_exactik(s.title))
    quick = min(whole, key=lambda s: s.median)

    def list_scores(chosen: Iterable[FigureScore], what: str, unit: str) -> str:
        names = (
            f"{s.title} ({format_number(getattr(s, what))}{unit})"
            for s in chosen
            if not is_exactik(s.title)
        )
        return ", ".join(names) or "nobody"

    return (
        f"Within 1 % of the best: {mine.title} {mine.near:.0f} % (more: "
        f"{list_scores((s for s in whole if s.near > mine.near), 'near', ' %')}), a call a frame "
        f"{call.near:.0f} % (more: "
        f"{list_scores((s for s in whole if s.near > call.near), 'near', ' %')}). A call takes "
        f"{format_number(call.median)} ms (less: "
        f"{list_scores((s for s in whole if s.median < call.median), 'median', '')}), "
        f"{quick.title} {format_number(quick.median)} ms.\n"
    )


def format_page(results: Results, *, every_table: bool = False) -> str:
    """Return the page: of each kind of task one table, of the others a sentence each."""
    about = ", ".join(f"{name} {value}" for name, value in describe_machine().items())
    parts = [OPENING.format(tie=TIE_RATIO, about=about.removeprefix("processor "))]
    if results.arms:
        parts += [ARMS, f"![Success against time]({plots.ARMS_PATH.name})\n"]
    for n, (title, scores) in enumerate(results.arms.items()):
        table = [format_arm_table(scores)] if n == 0 or every_table else []
        parts += [f"### {title}\n", *table, describe_arm_ranking(scores)]
    if results.figures:
        parts += [
            FIGURES.format(search=SEARCH_STARTS),
            f"![Quality against time]({plots.FIGURES_PATH.name})\n",
        ]
    for n, (title, both) in enumerate(results.figures.items()):
        for kind, scores in zip(("tracking", "cold"), both, strict=True):
            first = n == 0 and kind == "tracking"
            table = [format_figure_table(scores)] if first or every_table else []
            parts += [f"### {title}, {kind}\n", *table, describe_figure_ranking(scores)]
    parts += ["## What each was given\n", format_settings(results, whole=every_table)]
    parts += ["## Left out\n", format_left_out(results)]
    return "\n".join(parts)


def format_settings(results: Results, *, whole: bool) -> str:
    """Return what the adapter of each tool says, or only the versions and where that stands."""
    versions: dict[str, str] = {}
    for scores in (*results.arms.values(), *(s for both in results.figures.values() for s in both)):
        versions |= {s.title.partition(",")[0]: s.version for s in scores}
    tools = [tool for tool in results.tools if tool.title in versions]
    if not whole:
        listed = ", ".join(f"{tool.title} {versions[tool.title]}" for tool in tools)
        return f"The files in `{ADAPTERS}/` say what each tool was given: {listed}.\n"
    lines = []
    for tool in tools:
        about = " ".join(tool.about.split())
        adapter = f"{ADAPTERS}/with_{tool.name}.py"
        lines.append(f"* **{tool.title}** {versions[tool.title]} (`{adapter}`): {about}\n")
    return "".join(lines)


def format_left_out(results: Results) -> str:
    lines = [f"* {title}, {task}: {reason}.\n" for title, task, reason in results.skipped]
    lines += [f"* {name}: {reason}.\n" for name, reason in LEFT_OUT.items()]
    return "".join(lines)


def write_page(results: Results) -> None:
    """Write the page, all tables, and the plots."""
    if results.arms:
        plots.plot_arms(*next(iter(results.arms.items())))
    if results.figures:
        plots.plot_figures(*next(iter(results.figures.items())))
    PAGE.write_text(format_page(results), encoding="utf-8")
    ALL_TABLES.parent.mkdir(exist_ok=True)
    ALL_TABLES.write_text(format_page(results, every_table=True), encoding="utf-8")
