"""The start pages as notebooks: made of the pages, and they run from top to bottom."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tools.notebooks import find_pages, place_of, to_notebook

PAGES = find_pages()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_notebook_is_its_page(page: Path):
    text = place_of(page).read_text("utf-8")
    assert text == to_notebook(page), "python tools/notebooks.py makes it again"
    assert '"cell_type": "code"' in text


@pytest.mark.full
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
@pytest.mark.filterwarnings("ignore")  # of the packages that run notebooks
def test_a_notebook_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    notebook = nbformat.read(place_of(page), as_version=4)
    nbformat.validate(notebook)
    done = nbclient.NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    printed = [
        "".join(str(output.get("text", "")) for output in cell.outputs)
        for cell in done.cells
        if cell.cell_type == "code"
    ]
    assert len(printed) >= 1 and all(text != "" for text in printed)
    assert not any("Traceback" in text or "Usage:" in text for text in printed)
