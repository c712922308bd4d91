"""Draw docs/architecture.svg: the packages in layers and what each imports, read from the source.

    python tools/architecture_picture.py

A package stands above all that it imports, a longest chain of them in the middle. Arrows that
follow from others are left out (transitive reduction). An import against the order of `HOLDS` is no
arrow but a fault, which tools/house.py reports. The picture is light or dark, as the reader's
system is.
"""

from __future__ import annotations

import math
import sys
from html import escape
from itertools import pairwise, product
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from tools import house  # noqa: E402

TARGET = ROOT / "docs" / "architecture.svg"

# The packages, each above all those that it may import, and what they hold.
HOLDS = {
    "compile": "decorators, machine code",
    "spatial": "rotations, rigid fits",
    "kernels": "the hot path, CPU and GPU",
    "model": "skeleton, joints, figures",
    "goals": "what a pose is asked to do",
    "anatomy": "the body in words",
    "problem": "cost and derivatives",
    "io": "files in and out",
    "solvers": "one loop, fourteen methods",
    "retargeting": "to another figure",
    "recordings": "markers to motion",
    "studio": "viewer, player, report",
    "archive": "thousands of takes",
    "lab": "oracle, experiments",
    "cli": "the command line",
}

BOX_WIDTH, BOX_HEIGHT, COLUMN, ROW, MARGIN = 200, 44, 240, 66, 40  # [px]
ASIDE, GAP, ROUND = 9, 26, 8  # [px] from the middle of a side; beside a box; radius of corners
STYLE = """
  .paper { fill: #ffffff } .box { fill: #e7f2f1; stroke: #2f7d76 } .name { fill: #12201f }
  .holds { fill: #48605e } .head { fill: #6d8583 }
  .arrow { stroke: #6d8583; stroke-width: 1.5; fill: none }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #14191d } .box { fill: #1d3433; stroke: #4fb3a9 } .name { fill: #eef6f5 }
    .holds { fill: #a9c2bf } .arrow { stroke: #7f9b98 } .head { fill: #7f9b98 }
  }
"""

Edges = dict[str, set[str]]
Cell = tuple[int, int]
Cells = dict[str, Cell]
Point = tuple[float, float]


def read_edges(tree: house.Tree) -> Edges:
    """Return which package imports which, below it in the order of `HOLDS`."""
    order = list(HOLDS)
    edges: Edges = {package: set() for package in HOLDS}
    for edge in house.package_edges(tree):
        package, _, used = edge.partition(" -> ")
        if used.startswith("_"):  # a module beside the packages
            continue
        if order.index(used) < order.index(package):
            edges[package].add(used)
    return edges


def find_reachable(edges: Edges, start: str) -> set[str]:
    """Return all packages that one imports, directly or not."""
    direct = edges[start]
    return direct.union(*(find_reachable(edges, used) for used in direct))


def remove_implied(edges: Edges) -> Edges:
    """Return the edges without those that follow from others (transitive reduction)."""
    return {
        package: direct.difference(*(find_reachable(edges, used) for used in direct))
        for package, direct in edges.items()
    }


def list_places(edges: Edges) -> tuple[Cells, dict[str, list[Cell]]]:
    """Return the cells of a longest chain of imports, and those that the other packages may take.

    A cell is a column and a row, row 0 the lowest. The chain has column 0. Beside it, a package may
    be in any row above all that it imports and below all that import it.
    """
    chains: dict[str, list[str]] = {}
    for package in HOLDS:  # those that it imports come before it
        below = [chains[used] for used in sorted(edges[package])]
        chains[package] = [*max(below, key=len, default=[]), package]
    spine = max(chains.values(), key=len)
    highest: dict[str, int] = {}
    for package in reversed(HOLDS):
        users = [highest[user] for user in HOLDS if package in edges[user]]
        highest[package] = min(users, default=len(spine)) - 1
    free = {
        package: [
            (column, row)
            for row in range(len(chains[package]) - 1, highest[package] + 1)
            for column in (1, -1)
        ]
        for package in HOLDS
        if package not in spine
    }
    return {package: (0, row) for row, package in enumerate(spine)}, free


def find_cells(edges: Edges, arrows: list[tuple[str, str]]) -> Cells:
    """Return the cells in which the arrows meet as few boxes and each other as little as can be."""
    spine, free = list_places(edges)

    def cost_of(cells: Cells) -> float:
        if len(set(cells.values())) < len(cells):
            return math.inf
        boxes = {package: _centre(cell) for package, cell in cells.items()}
        ways = [_route(boxes[a], boxes[b]) for a, b in arrows]
        cost = 0.0
        for k, (way, ends) in enumerate(zip(ways, arrows, strict=True)):
            cost += 1e-3 * sum(math.dist(*pair) for pair in pairwise(way))
            hit = (name for name, box in boxes.items() if name not in ends and _meets(way, box))
            cost += 1000.0 * sum(1 for _ in hit)
            for other, others in zip(ways[:k], arrows[:k], strict=True):
                shared = _measure_overlap(way, other)
                cost += 100.0 * (shared > 0.0 and ends[1] != others[1])
        return cost

    choices = product(*free.values())
    return min(
        (spine | dict(zip(free, cells, strict=True)) for cells in choices),
        key=cost_of,
    )


def _centre(cell: Cell) -> Point:
    """Return the middle of a cell [px], y down from row 0."""
    return COLUMN * cell[0], -ROW * cell[1]


def _route(start: Point, end: Point) -> list[Point]:
    """Return the corners of an arrow down from one box to another."""
    (x0, y0), (x1, y1) = start, end
    half_width, half_height = BOX_WIDTH / 2, BOX_HEIGHT / 2
    if x0 == x1 and y1 - y0 <= ROW:
        return [(x0, y0 + half_height), (x0, y1 - half_height)]
    if x0 == x1:  # around the boxes between them
        side = 1.0 if x0 > 0.0 else -1.0
        edge, aside = x0 + side * half_width, x0 + side * (half_width + GAP)
        return [(edge, y0 + ASIDE), (aside, y0 + ASIDE), (aside, y1 - ASIDE), (edge, y1 - ASIDE)]
    if x0 == 0.0:  # out at the side, in from above
        edge = half_width if x1 > 0.0 else -half_width
        return [(edge, y0 + ASIDE), (x1, y0 + ASIDE), (x1, y1 - half_height)]
    if x1 == 0.0:  # out below, in at the side
        edge = half_width if x0 > 0.0 else -half_width
        return [(x0, y0 + half_height), (x0, y1 - ASIDE), (edge, y1 - ASIDE)]
    between = y1 - ROW / 2  # across the chain, between two rows
    return [(x0, y0 + half_height), (x0, between), (x1, between), (x1, y1 - half_height)]


def _meets(way: list[Point], box: Point) -> bool:
    """Whether an arrow passes behind a box."""
    (x, y), w, h = box, BOX_WIDTH / 2, BOX_HEIGHT / 2
    return any(
        min(a[0], b[0]) < x + w
        and max(a[0], b[0]) > x - w
        and min(a[1], b[1]) < y + h
        and max(a[1], b[1]) > y - h
        for a, b in pairwise(way)
    )


def _measure_overlap(way: list[Point], other: list[Point]) -> float:
    """Return the length of upright parts that two arrows share [px]."""
    shared = 0.0
    for (a, b), (c, d) in product(pairwise(way), pairwise(other)):
        if a[0] == b[0] == c[0] == d[0]:
            shared += max(0.0, min(b[1], d[1]) - max(a[1], c[1]))
    return shared


def make_picture(tree: house.Tree) -> str:
    """Return the picture of the imports of a tree as SVG."""
    edges = read_edges(tree)
    reduced = remove_implied(edges)
    arrows = [(package, used) for package in HOLDS for used in sorted(reduced[package])]
    cells = find_cells(edges, arrows)
    boxes = {package: _centre(cell) for package, cell in cells.items()}
    left = min(x for x, _ in boxes.values()) - BOX_WIDTH / 2 - MARGIN
    top = min(y for _, y in boxes.values()) - BOX_HEIGHT / 2 - MARGIN
    width = max(x for x, _ in boxes.values()) + BOX_WIDTH / 2 + MARGIN - left
    height = BOX_HEIGHT / 2 + MARGIN - top
    drawn = [_draw_arrow(_route(boxes[package], boxes[used])) for package, used in arrows]
    lines = "\n".join([*drawn, *(_draw_box(package, *boxes[package]) for package in HOLDS)])
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="{left:g} {top:g} {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" font-family="system-ui, sans-serif" '
        f'text-anchor="middle">\n<style>{STYLE}</style>\n'
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto"><path class="head" d="M0 0L8 4L0 8z"/></marker></defs>\n'
        f'<rect class="paper" x="{left:g}" y="{top:g}" width="{width:g}" height="{height:g}"/>\n'
        f"{lines}\n</svg>\n"
    )


def _draw_box(package: str, x: float, y: float) -> str:
    """Return a box about (x, y) with the name of a package and what it holds."""
    return (
        f'<rect class="box" x="{x - BOX_WIDTH / 2:g}" y="{y - BOX_HEIGHT / 2:g}" '
        f'width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="7"/>'
        f'<text class="name" x="{x:g}" y="{y - 3:g}" font-size="15" font-weight="600">'
        f"{escape(package)}</text>"
        f'<text class="holds" x="{x:g}" y="{y + 14:g}" font-size="12">'
        f"{escape(HOLDS[package])}</text>"
    )


def _draw_arrow(way: list[Point]) -> str:
    """Return an arrow along some corners, which are rounded."""
    path = f"M{way[0][0]:g} {way[0][1]:g}"
    for before, corner, after in zip(way, way[1:], way[2:], strict=False):
        (ax, ay), (bx, by) = (_step(corner, before), _step(corner, after))
        path += f"L{ax:g} {ay:g}Q{corner[0]:g} {corner[1]:g} {bx:g} {by:g}"
    path += f"L{way[-1][0]:g} {way[-1][1]:g}"
    return f'<path class="arrow" d="{path}" marker-end="url(#head)"/>'


def _step(start: Point, end: Point) -> Point:
    """Return the point that is a corner's radius from one point towards another."""
    share = min(1.0, ROUND / math.dist(start, end))
    return start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])


if __name__ == "__main__":
    TARGET.write_text(make_picture(house.Tree(ROOT)), encoding="utf-8")
    print(f"written: {TARGET.relative_to(ROOT)}")
