"""Draw docs/architecture.svg: the packages and what each imports, read from the source.

    python tools/architecture_picture.py

A package stands one row above the highest one that it imports when it is loaded; arrows that follow
from others are left out, and so are imports inside functions, of what may be absent or comes late.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "architecture.svg"
FOLDERS = {"exactik": ROOT / "src" / "exactik", "papers": ROOT / "papers/src/exactik_papers"}
FOUNDATION = (
    "errors",
    "typing",
    "_arrays",
    "_text",
    "_threads",
)  # imported by nearly all, so not drawn

BOX_WIDTH, BOX_HEIGHT, COLUMN, ROW, MARGIN = 130, 34, 156, 66, 20  # [px]
INK, LINE, FILL, PAPER = "#1b2126", "#8a97a3", "#eef3f7", "#ffffff"

Edges = dict[str, set[str]]


def get_package(module: str) -> str:
    """Return the package of a dotted module name: the top level below exactik, or papers."""
    first, _, rest = module.partition(".")
    if first == "exactik_papers":
        return "papers"
    return rest.split(".")[0] if rest != "" else "exactik"


def find_imports(node: ast.AST) -> Iterator[str]:
    """Yield the modules of ours that are imported when the code below a node is loaded."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.ImportFrom) and (child.module or "").startswith("exactik"):
            yield child.module or ""
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from find_imports(child)


def read_edges() -> Edges:
    """Return which package imports which."""
    edges: Edges = defaultdict(set)
    for folder in FOLDERS.values():
        for path in sorted(folder.rglob("*.py")):
            module = ".".join(path.relative_to(folder.parent).with_suffix("").parts)
            package = get_package(module.removesuffix(".__init__"))
            if package in (*FOUNDATION, "__main__"):
                continue
            for name in find_imports(ast.parse(path.read_text("utf-8"))):
                if get_package(name) not in (*FOUNDATION, package):
                    edges[package].add(get_package(name))
    return edges


def find_reachable(edges: Edges, start: str) -> set[str]:
    """Return all packages that one imports, directly or not."""
    reached: set[str] = set()
    left = list(edges.get(start, ()))
    while len(left) > 0:
        package = left.pop()
        if package not in reached:
            reached.add(package)
            left += edges.get(package, ())
    return reached


def remove_implied(edges: Edges) -> Edges:
    """Return the edges without those that follow from two others (transitive reduction)."""
    return {
        package: {
            used
            for used in direct
            if not any(used in find_reachable(edges, other) for other in direct - {used})
        }
        for package, direct in edges.items()
    }


def make_rows(edges: Edges) -> list[list[str]]:
    """Return the packages in rows, the lowest first: each above all that it imports."""
    packages = set(edges) | {used for direct in edges.values() for used in direct}
    rank: dict[str, int] = {}

    def rank_of(package: str) -> int:
        if package not in rank:
            rank[package] = 1 + max((rank_of(used) for used in edges.get(package, ())), default=-1)
        return rank[package]

    rows: list[list[str]] = [[] for _ in range(1 + max(map(rank_of, packages)))]
    for package in sorted(packages):
        rows[rank[package]].append(package)
    return rows


def make_picture() -> str:
    """Return the picture as SVG."""
    edges = read_edges()
    rows = make_rows(edges)
    width = 2 * MARGIN + COLUMN * max(map(len, rows))
    height = 2 * MARGIN + ROW * (len(rows) - 1) + BOX_HEIGHT
    place: dict[str, tuple[float, float]] = {}
    for level, row in enumerate(rows):
        for k, package in enumerate(row):
            x = width / 2 + COLUMN * (k - (len(row) - 1) / 2)
            place[package] = x, MARGIN + ROW * (len(rows) - 1 - level)
    body = []
    for package, direct in sorted(remove_implied(edges).items()):
        body += [_draw_arrow(place[package], place[used], width / 2) for used in sorted(direct)]
    for package, (x, y) in sorted(place.items()):
        body.append(
            f'<rect x="{x - BOX_WIDTH / 2:g}" y="{y:g}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" '
            f'rx="6" fill="{FILL}" stroke="{LINE}"/>'
            f'<text x="{x:g}" y="{y + BOX_HEIGHT / 2 + 5:g}">{escape(package)}</text>'
        )
    marker = (
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        f'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="{LINE}"/></marker></defs>'
    )
    lines = "\n".join(body)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'font-family="system-ui, sans-serif" font-size="14" text-anchor="middle" fill="{INK}">\n'
        f'{marker}\n<rect width="{width:g}" height="{height:g}" fill="{PAPER}"/>\n{lines}\n</svg>\n'
    )


def _draw_arrow(start: tuple[float, float], end: tuple[float, float], middle: float) -> str:
    """Return a curve from the lower edge of one box to the upper edge of another."""
    (x0, y0), (x1, y1) = start, end
    aside = 0.0
    if y1 - y0 > ROW:  # past other rows: around their boxes instead of behind them
        side = 1.0 if x0 + x1 >= 2.0 * middle else -1.0
        aside = side * 0.95 * BOX_WIDTH
        x0, x1 = x0 + 0.3 * side * BOX_WIDTH, x1 + 0.3 * side * BOX_WIDTH
    y0 += BOX_HEIGHT
    bend = 0.5 * (y1 - y0)
    a, b = x0 + aside, x1 + aside
    return (
        f'<path d="M{x0:g} {y0:g}C{a:g} {y0 + bend:g} {b:g} {y1 - bend:g} {x1:g} {y1:g}" '
        f'fill="none" stroke="{LINE}" marker-end="url(#head)"/>'
    )


if __name__ == "__main__":
    TARGET.write_text(make_picture(), encoding="utf-8")
    print(f"written: {TARGET.relative_to(ROOT)}")
