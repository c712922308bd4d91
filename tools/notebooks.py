"""Write the start pages as notebooks that run: docs/start/*.md → examples/start-*.ipynb.

python tools/notebooks.py
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```\n", re.S | re.M)
NOTICE = "*Made of docs/start/{name} by tools/notebooks.py: change that page.*\n\n"


def find_pages() -> list[Path]:
    """Return the pages that have a notebook."""
    return sorted((ROOT / "docs" / "start").glob("*.md"))


def place_of(page: Path) -> Path:
    """Return where the notebook of a page is."""
    return ROOT / "examples" / f"start-{page.stem}.ipynb"


def to_notebook(page: Path) -> str:
    """Return the notebook of a page: its Python runs, and its commands that end by themselves."""
    text = page.read_text("utf-8")
    text = re.sub(r"\]\((?!https?:|#)", "](../docs/start/", text)  # links to other pages
    cells: list[tuple[str, str]] = []
    prose, end = NOTICE.format(name=page.name), 0
    for block in BLOCK.finditer(text):
        code = _to_code(block[1], block[2])
        prose += text[end : block.start()]
        end = block.end()
        if code is None:
            prose += block[0]
            continue
        cells += [("markdown", prose), ("code", code)]
        prose = ""
    cells.append(("markdown", prose + text[end:]))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {
        "cells": [_to_cell(n, *cell) for n, cell in enumerate(cells)],
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _to_code(language: str, block: str) -> str | None:
    """Return what a cell runs, None for what is to be read: installing, pages that stay open."""
    if language == "python":
        return block
    lines = block.splitlines()
    words = [line.split() for line in lines]
    runs = language == "sh" and all(
        w[0] == "exactik" and w[1] != "pose" and (w[1] != "play" or "-o" in w) for w in words
    )
    return "".join(f"!{line}\n" for line in lines) if runs else None


def _to_cell(n: int, kind: str, text: str) -> dict[str, Any]:
    more = {"execution_count": None, "outputs": []} if kind == "code" else {}
    source = text.strip("\n").splitlines(keepends=True)
    return {"cell_type": kind, "id": f"cell-{n}", "metadata": {}, **more, "source": source}


def main() -> None:
    """Write all of them."""
    for page in find_pages():
        place_of(page).write_text(to_notebook(page), "utf-8")
        print(place_of(page).relative_to(ROOT))


if __name__ == "__main__":
    main()
