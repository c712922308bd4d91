"""What the pages show runs, and what the code says about the pages is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = [
    pytest.param(block, id=f"{page.stem}-{n}")
    for page in PAGES
    for n, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.S))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_examples_run(block: str, capsys: pytest.CaptureFixture[str]):
    exec(compile(block, "example", "exec"), {"__name__": "example"})
    assert capsys.readouterr().out != ""


def test_sections_that_the_code_cites_exist():
    sections = re.findall(r"^## (\d+)\. ", (ROOT / "docs" / "maths.md").read_text("utf-8"), re.M)
    for path in sorted((ROOT / "src").rglob("*.py")):
        for cited in re.findall(r"maths\.md ((?:§\d+(?:, | and )?)+)", path.read_text("utf-8")):
            assert set(re.findall(r"\d+", cited)) <= set(sections), path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_files_that_a_page_names_exist(page: Path):
    """Names in backquotes such as `kernels/tree/fk.py` or `tests/conftest.py`; links to pages."""
    text = page.read_text("utf-8")
    places = (ROOT, ROOT / "src" / "exactik", ROOT / "tests")
    for name, inside in re.findall(r"`([\w/]+\.py)(?:: (\w+))?`", text):
        found = [place / name for place in places if (place / name).is_file()]
        assert len(found) > 0, name
        assert inside == "" or f"def {inside}" in found[0].read_text("utf-8"), f"{name}: {inside}"
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (page.parent / link).is_file(), link


def test_the_readme_prints_what_it_says(capsys: pytest.CaptureFixture[str]):
    """What stands behind # after a print is what it prints, an ellipsis standing for the rest."""
    text = (ROOT / "README.md").read_text("utf-8")
    block = re.findall(r"```python\n(.*?)```", text, re.S)[0]
    exec(compile(block, "README", "exec"), {"__name__": "example"})
    printed = capsys.readouterr().out.splitlines()
    quoted = re.findall(r"^print\(.*\)  # (.*)$", block, re.M)
    assert len(quoted) == 2
    for said in quoted:
        start = said.partition("…")[0].strip()
        assert any(line.startswith(start) for line in printed), (said, printed)
