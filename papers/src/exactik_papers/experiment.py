"""An experiment of a paper, and what came of it.

An experiment is one module of this package with an `Experiment` at its end; `registry` lists them.
Its `run` measures and returns `Findings`. It formats nothing and writes nothing of its own but
recordings to look at: tables become CSV files and pictures PNG files in `write`, and the page
shows the cells of these very files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exactik_papers.recording import Recording

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "PAPERS",
    "Cell",
    "Experiment",
    "Findings",
    "Picture",
    "Progress",
    "ResultTable",
    "make_claims_table",
]

Cell = str | float | int | bool | None
Progress = Callable[[int, int], None]  # steps done, steps in all

PAPERS = {
    "hessian": "Erleben, Andrews: Solving inverse kinematics using exact Hessian matrices. "
    "Computers & Graphics 78, 2019",
    "projected": "Engell-Nørregård, Erleben: A projected back-tracking line-search for constrained "
    "interactive inverse kinematics. Computers & Graphics 35, 2011",
    "recipe": "Rabbani: A recipe to cook Jacobian. Ubisoft La Forge, 2017",
}
"""What is reproduced, by the short name that experiments refer to."""


@dataclass(frozen=True)
class ResultTable:
    """Numbers, one row after another.

    Attributes:
        name: of the file, without suffix; unique among all experiments.
        title: above the table on the page.
        columns: names, with units.
        rows: as many cells each; None is an empty cell.
        shown: whether the page shows it; long ones, such as curves, are only linked.
    """

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    shown: bool = True


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture.

    Attributes:
        name: of the file, without suffix.
        caption: a sentence below it.
        figure: of matplotlib, made without pyplot.
    """

    name: str
    caption: str
    figure: Figure | Any


@dataclass
class Findings:
    """What an experiment found.

    Attributes:
        tables: to be written as CSV; the page shows the same cells.
        pictures: to be written as PNG.
        differs: what differs from the published experiment and why, a sentence each. Measured
            numbers belong into tables, of which `claims` makes one.
        files: written by the experiment itself, to be linked, with a few words each.
    """

    tables: list[ResultTable] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    differs: list[str] = field(default_factory=list)
    files: list[tuple[Path, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Experiment:
    """One table or figure of a paper.

    Attributes:
        name: on the command line.
        title: on the page.
        paper: key of `PAPERS`.
        published: what the paper shows, in a few sentences.
        run: measures. It is given the recording, the folder to write recordings to, and whom to
            tell how far it is.
    """

    name: str
    title: str
    paper: str
    published: str
    run: Callable[[Recording, Path, Progress], Findings]


def make_claims_table(name: str, rows: Sequence[tuple[str, str, str, bool | None]]) -> ResultTable:
    """Return a table of claims: what is claimed, what was published, what we found, does it hold.

    The last entry is None where the data cannot tell.
    """
    words = {True: "holds", False: "does not hold", None: "cannot be said"}
    return ResultTable(
        f"{name}-claims",
        "Claims",
        ("claim", "published", "ours", "verdict"),
        [(claim, published, ours, words[holds]) for claim, published, ours, holds in rows],
    )
