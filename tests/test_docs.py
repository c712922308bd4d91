"""What the pages show runs, and what the code says about the pages is there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import exactik
from exactik.compile import load_library
from tests.support.checkout import ROOT
from tools.site import find_outside_requests

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = [
    pytest.param(block, id=f"{page.stem}-{n}")
    for page in PAGES
    for n, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.S))
]


@pytest.fixture
def nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call of a kernel that the library does not have is an error; without a library none is."""
    if load_library() is not None:
        monkeypatch.setenv("EXACTIK_COMPILED", "strict")


@pytest.mark.full
@pytest.mark.usefixtures("nothing_is_compiled")
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


@pytest.mark.usefixtures("nothing_is_compiled")
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


# --- the site


def anchors_of(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as git hosts and the site make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.S | re.M)
    plain = (re.sub(r"[`*]|\]\([^)]*\)|\[", "", h) for h in re.findall(r"^#+ (.*)$", text, re.M))
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_anchors_that_a_page_links_to_exist(page: Path):
    for name, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text("utf-8")):
        target = page if name == "" else (page.parent / name).resolve()
        assert anchor in anchors_of(target), f"{name}#{anchor}"


def test_every_page_is_in_the_navigation_of_the_site():
    text = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:")[2]
    listed = re.findall(r"([\w/-]+\.md)$", text, re.M)
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in PAGES[1:]]
    assert sorted(listed) == sorted(pages)


def test_the_reference_has_every_public_name_once():
    text = "".join(p.read_text("utf-8") for p in sorted((ROOT / "docs/reference").glob("*.md")))
    named = re.findall(r"^::: exactik\.([\w.]+)$", text, re.M)
    short = [name.rpartition(".")[2] for name in named]
    assert sorted(short) == sorted(set(short))
    assert {*exactik.__all__, *exactik.model.functions.__all__} - {"functions"} <= set(short)
    for name in named:
        package, _, last = f"exactik.{name}".rpartition(".")
        assert last in importlib.import_module(package).__all__, name


@pytest.mark.parametrize("page", sorted((ROOT / "docs/start").glob("*.md")), ids=lambda p: p.stem)
def test_a_result_is_at_most_four_steps_away(page: Path):
    steps = re.findall(r"^\*\*(\d)\. ", page.read_text("utf-8"), re.M)
    assert steps == ["1", "2", "3", "4"][: len(steps)] and 2 <= len(steps) <= 4
    assert f"(start/{page.name})" in (ROOT / "docs/index.md").read_text("utf-8")


def test_a_page_that_would_ask_another_machine_is_found(tmp_path: Path):
    (tmp_path / "good.html").write_text(
        '<a href="https://mujoco.org">x</a><img src="local.webp"><script src="/x.js"></script>'
    )
    assert find_outside_requests(tmp_path) == []
    for n, text in enumerate(
        (
            '<script src="https://unpkg.com/iframe-worker/shim"></script>',
            '<link rel="stylesheet" href="//fonts.googleapis.com/css">',
            '<img alt="a" src="http://example.org/a.png">',
            "<style>@import 'https://example.org/a.css';</style>",
            "<style>a { background: url(https://example.org/a.png) }</style>",
        )
    ):
        (tmp_path / f"bad{n}.html").write_text(text)
        assert len(find_outside_requests(tmp_path)) == n + 1


def test_figures_of_the_readme_are_those_of_the_benchmarks():
    """Cell by cell: the Panda with 30 attempts, and tracking of HDM05 03-05_02."""
    text = (ROOT / "docs/benchmarks.md").read_text("utf-8")
    arm, capture = (
        {
            cells[0].replace("*", ""): cells[1:]
            for line in text.partition(f"### {title}\n")[2].partition("\n### ")[0].splitlines()
            if line.startswith("| ") and len(cells := line.strip("| ").split(" | ")) > 5
        }
        for title in ("Panda", "HDM05 03-05_02, tracking")
    )
    names = {
        "exactik, a Python call each": ("exactik, one call each", "exactik, a call a frame"),
        "exactik, one batch; `track`": ("exactik, one batch", "exactik, track"),
        "SciPy": ("SciPy, SLSQP", "SciPy"),
    }
    readme = (ROOT / "README.md").read_text("utf-8").partition("## Beside other tools")[2]
    rows = re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$", readme, re.M)
    assert len(rows) >= 8
    for name, reached, pose_ms, error, frame_ms in rows:
        plain = name.replace("*", "")
        of_arm, of_capture = names.get(plain, (plain, plain))
        if reached != "–":
            assert reached == f"{arm[of_arm][3]} %", name
            assert pose_ms == arm[of_arm][4].partition(" /")[0], name
        if error != "–":
            assert (error, frame_ms) == (capture[of_capture][0], capture[of_capture][4]), name


# --- the release


def test_all_places_that_name_the_version_agree():
    version = re.escape(exactik.__version__)
    assert re.search(rf"^version: {version}$", (ROOT / "CITATION.cff").read_text("utf-8"), re.M)
    papers = (ROOT / "papers/pyproject.toml").read_text("utf-8")
    assert re.search(rf'^version = "{version}"$', papers, re.M)
    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text("utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    sections = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", changes, re.M)
    assert sections[0] == ("Unreleased", "") and sections[1][0] == exactik.__version__
    assert f"date-released: {sections[1][1]}" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_pages_stay_short():
    """Logs go to build/, and pages keep the conclusion."""
    words = {page: len(page.read_text("utf-8").split()) for page in PAGES[1:]}
    assert sum(words.values()) <= 40_000
    assert words[ROOT / "docs" / "architecture.md"] <= 900
    assert words[ROOT / "docs" / "stages.md"] <= 1_500
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert len(re.findall(r"^- ", changes.partition("\n## [0.3.0]")[2], re.M)) <= 60
