"""The page of an archive in a real browser: sorted, filtered, linked, without any network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from exactik.archive import Ledger, write_index
from exactik.archive.tasks import Storage
from tests.support.browser import chromium

pytestmark = pytest.mark.browser

GOOD = 230  # takes: more than the page shows at once
READABLE = 4.5  # contrast of text against its ground, as WCAG asks for


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Takes that are good, one that needs care, one that failed, one that waits."""
    folder = tmp_path_factory.mktemp("archive")
    ledger = Ledger(folder)
    try:
        for k in range(GOOD + 3):
            name = f"anna & bob/walk {k:03d}" if k < GOOD else f"carl/trial_{k - GOOD}"
            address = f"/data/{name}.c3d"
            ledger.enter(
                name=name,
                kind="take",
                address=address,
                subject=None,
                request="r",
                work={},
                fingerprint="f",
            )
            if k == GOOD + 1:
                ledger.finish(name, "failed", code="damaged", reason=f"{address}: no <points> left")
            elif k != GOOD + 2:
                file = f"{name.rpartition('/')[2]}.bvh"
                ledger.finish(
                    name,
                    "done",
                    solved=True,
                    verdict="good" if k < GOOD else "care",
                    frames=1000 + k,
                    seconds=0.5 + k,
                    facts={
                        "mean_mm": 1.0 + (37 * k) % 101 / 10.0,
                        "p95_mm": 2.0,
                        "max_mm": 3.0,
                        "curve": [1.0, 2.0, None, 4.0, 5.0],
                        "files": [file],
                        "reasons": [] if k < GOOD else ["gaps"],
                    },
                )
                path = folder / "takes" / name.rpartition("/")[0] / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"motion {k}")
        write_index(ledger, folder, Storage(str(folder)))
    finally:
        ledger.close()
    return folder / "index.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


@pytest.fixture
def page(browser: Any, index: Path) -> Iterator[Any]:
    """The page, opened from the disk without a network; nothing but itself may be asked for."""
    context = browser.new_context(viewport={"width": 1400, "height": 900}, offline=True)
    opened = context.new_page()
    requested: list[str] = []
    faults: list[str] = []
    opened.on("request", lambda request: requested.append(request.url))
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.goto(index.as_uri())
    yield opened
    assert set(requested) == {index.as_uri()} and faults == []
    context.close()


def read_column(page: Any, n: int) -> list[str]:
    """The texts of a column, from 1, of all rows that are shown."""
    return page.locator(f"#rows tr td:nth-child({n})").all_inner_texts()


def test_what_needs_a_look_comes_first_with_its_reason(page: Any):
    text = page.locator("#totals").inner_text()
    assert text == "233 takes: 230 good, 1 care, 1 failed, 1 waiting. 257,565 frames solved."
    rows = page.locator("#rows tr").all_inner_texts()
    assert len(rows) == 200
    assert rows[0].split() == ["carl/trial_1", "failed", "no", "<points>", "left"]
    assert "carl/trial_0" in rows[1] and "care" in rows[1] and "gaps" in rows[1]


def test_columns_are_sorted_by_a_click_the_largest_number_first(page: Any):
    for title, column in (("Mean, mm", 3), ("Frames", 6), ("Seconds", 7)):
        page.get_by_role("button", name=title).click()
        shown = [float(text.replace(",", "")) for text in read_column(page, column)]
        assert len(shown) == 200 and shown == sorted(shown, reverse=True)
        head = page.locator("th[aria-sort]")
        assert head.count() == 1 and head.get_attribute("aria-sort") == "descending"
        page.get_by_role("button", name=title).click()
        again = [float(text.replace(",", "")) for text in read_column(page, column)]
        assert again == sorted(again) and again[0] < shown[-1] + 1e-9
    page.get_by_role("button", name="Take").click()
    names = read_column(page, 1)
    assert names == sorted(names) and names[0] == "anna & bob/walk 000"


def test_takes_are_filtered_by_name_reason_and_verdict_and_come_in_pages(page: Any):
    page.get_by_label("Name or reason").fill("WALK 12")
    assert read_column(page, 1) == [f"anna & bob/walk 12{k}" for k in range(10)]
    assert page.locator("#count").inner_text() == "10 of 233 takes"
    assert page.locator("#pages").is_hidden()
    page.get_by_label("Name or reason").fill("points")
    assert read_column(page, 2) == ["failed"]
    page.get_by_label("Name or reason").fill("nobody")
    assert page.locator("#none").is_visible()
    page.get_by_label("Name or reason").fill("")
    page.get_by_label("Verdict").select_option("good")
    assert set(read_column(page, 2)) == {"good"}
    assert page.locator("#count").inner_text() == "1 to 200 of 230 takes"
    page.get_by_role("button", name="next").click()
    assert len(read_column(page, 1)) == 30
    page.get_by_role("button", name="previous").click()
    assert len(read_column(page, 1)) == 200


def test_links_lead_to_the_files_and_thumbnails_show_gaps(page: Any, index: Path):
    page.get_by_role("button", name="Take").click()
    first = page.locator("#rows tr").first
    links = first.locator("a")
    assert links.all_inner_texts() == ["bvh", "json"]
    address = links.first.evaluate("link => link.href")
    assert address == (index.parent / "takes/anna & bob/walk 000.bvh").as_uri()
    drawn = first.locator("svg")
    assert drawn.locator("polyline").count() == 2  # before and after the gap
    assert "up to 10 mm" in drawn.get_attribute("aria-label")


def contrast(foreground: str, background: str) -> float:
    """Contrast of two colours of CSS, as WCAG 2 defines it."""

    def luminance(colour: str) -> float:
        parts = [int(part) / 255.0 for part in re.findall(r"\d+", colour)[:3]]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(foreground), luminance(background)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 800])
def test_it_fits_the_window_and_can_be_read(page: Any, scheme: str, width: int):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    for kind in (".good", ".care", ".failed", ".reason", "a", "#totals"):
        colour = page.locator(kind).first.evaluate("node => getComputedStyle(node).color")
        assert contrast(colour, ground) >= READABLE, (kind, colour, ground)
    assert page.locator("#rows svg").first.is_visible()
