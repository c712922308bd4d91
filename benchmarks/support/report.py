"""Results of a benchmark: a number, its unit, and the bar that it should clear."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Metric:
    """One measured number; `bar` is the most (or, with at_least, the least) that it should be."""

    name: str
    value: float
    unit: str = ""
    bar: float | None = None
    at_least: bool = False

    @property
    def met(self) -> bool | None:
        if self.bar is None:
            return None
        return self.value >= self.bar if self.at_least else self.value <= self.bar


@dataclass
class Report:
    """Everything that one run of the benchmarks measured."""

    console: Console = field(default_factory=Console)
    metrics: list[Metric] = field(default_factory=list)

    def title(self, text: str) -> None:
        self.console.print(f"\n[bold]{text}[/bold]")

    def table(self, headers: list[str], rows: list[list[str]]) -> None:
        table = Table(*headers, box=None, pad_edge=False)
        for column in table.columns[1:]:
            column.justify = "right"
        for row in rows:
            table.add_row(*row)
        self.console.print(table)

    def add(self, *metrics: Metric) -> None:
        """Record metrics and print them beside their bars."""
        self.metrics += metrics
        for m in metrics:
            bar = "" if m.bar is None else f"bar {'≥' if m.at_least else '≤'} {m.bar:g}"
            verdict = {None: "", True: "[green]met[/green]", False: "[red]SHORT[/red]"}[m.met]
            line = f"  {m.name:50} {m.value:9.3f} {m.unit:3} {bar:11} {verdict}"
            self.console.print(line, soft_wrap=True, highlight=False)

    def save(self, path: Path) -> None:
        answer = {"machine": describe_machine(), "metrics": [asdict(m) for m in self.metrics]}
        path.write_text(json.dumps(answer, indent=1) + "\n", encoding="utf-8")


def describe_machine() -> dict[str, str]:
    """Return the processor and the versions that the numbers belong to."""
    processor = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [x for x in cpuinfo.read_text().splitlines() if x.startswith("model name")]
        processor = names[0].partition(":")[2].strip() if names else processor
    packages = {name: version(name) for name in ("exactik", "numba", "llvmlite", "numpy", "scipy")}
    return {"processor": processor, "python": platform.python_version(), **packages}
