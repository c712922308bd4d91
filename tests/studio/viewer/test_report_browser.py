"""The report in a real browser: findings, curves and playback lead to one another."""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.model import Skeleton
from tests.support.browser import chromium

pytestmark = [pytest.mark.viewer, pytest.mark.browser]

EVIL = "<img src=x onerror=window.ran=1>"
WIDE, NARROW = {"width": 1400, "height": 900}, {"width": 800, "height": 900}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three seconds of which two markers are exchanged for a while, one with a hostile name."""
    made = simulate_recording(simulate_performance(3.0), swap=("LANK", "LHEE"), gaps=0.02)
    figure = made.truth.skeleton
    markers = {EVIL if name == "LANK" else name: place for name, place in figure.markers.items()}
    renamed = Skeleton.build(EVIL, figure.bones, markers).with_look_of(figure)
    recorded = replace(made.markers.renamed({"LANK": EVIL}), source=f"/data/{EVIL}.c3d")
    target = tmp_path_factory.mktemp("report") / "walk.html"
    ik.track(renamed, recorded, robust=None).report(target, command=f"exactik solve '{EVIL}'")
    return target


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


def open_report(browser: Any, path: Path, **settings: Any) -> Any:
    page = browser.new_page(**settings)
    page.requested, page.errors = [], []
    page.on("request", lambda request: page.requested.append(request.url))
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_function("document.documentElement.dataset.player")
    return page


@pytest.fixture(scope="module")
def page(browser: Any, path: Path) -> Any:
    return open_report(browser, path, viewport=WIDE)


def frame_of(page: Any) -> int:
    return int(page.locator("#player input[type=range]").input_value())


def place_of_line(page: Any, plot: str) -> float:
    """Where the playback's line is in a plot, as a share of what is in view."""
    line = page.locator(f"{plot} + .now, .pane:has({plot}) > .now").first
    return float(line.evaluate("node => parseFloat(node.style.left)")) / 100.0


def frame_at_line(page: Any) -> float:
    """The frame at which the first plot of the timeline has the line."""
    box = page.locator("#markers svg.plot").first.evaluate(
        "svg => [svg.viewBox.baseVal.x, svg.viewBox.baseVal.width]"
    )
    return box[0] + box[1] * place_of_line(page, "#heat") - 0.5


def corner(page: Any) -> Any:
    """The colour in the upper left corner of the playback."""
    from PIL import Image

    data = page.locator("#player .view").screenshot()
    return Image.open(io.BytesIO(data)).convert("RGB").getpixel((30, 12))


def test_the_playback_is_there_and_nothing_is_fetched(page: Any, path: Path):
    assert page.evaluate("document.documentElement.dataset.player") == "ready"
    assert page.locator("#player canvas").count() == 2  # the figure and its error over time
    assert page.errors == []
    assert [url for url in page.requested if not url.startswith(("blob:", "data:"))] == [
        path.as_uri()
    ]
    assert page.evaluate("window.ran") is None  # names are shown, and never run
    assert (
        EVIL in page.locator("h1").inner_text() or EVIL in page.locator("#attention").inner_text()
    )


def test_a_click_on_a_finding_shows_its_frame(page: Any):
    rows = page.locator("#attention tbody tr")
    for k in range(min(rows.count(), 3)):
        wanted = int(rows.nth(k).locator("a").get_attribute("data-frame"))
        rows.nth(k).locator("td").last.scroll_into_view_if_needed()
        before = page.evaluate("scrollY")
        rows.nth(k).locator("td").last.click()
        assert frame_of(page) == wanted
        assert frame_at_line(page) == pytest.approx(wanted, abs=0.01)
        assert page.evaluate("scrollY") == before
        # Its file counts from 1.
        assert f"frame {wanted + 1} " in page.locator("#player .clock").inner_text()
    worst = page.locator(".headline a[data-frame]")
    worst.click()
    assert frame_of(page) == int(worst.get_attribute("data-frame"))
    assert EVIL[:10] in page.locator(".marker-label").inner_text()


def test_a_click_on_a_curve_shows_its_frame(page: Any):
    page.locator('#markers [data-zoom="all"]').click()
    page.wait_for_timeout(100)
    plot = page.locator("#markers .curve svg.plot").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    page.mouse.click(box["x"] + 0.7 * box["width"], box["y"] + 20)
    length = int(page.locator("#player input[type=range]").get_attribute("max")) + 1
    assert frame_of(page) == pytest.approx(0.7 * length, abs=2)
    assert frame_at_line(page) == pytest.approx(frame_of(page), abs=0.01)


def test_scrubbing_moves_the_line_in_the_curves(page: Any):
    page.evaluate("scrollTo(0, 0)")
    slider = page.locator("#player input[type=range]").bounding_box()
    y = slider["y"] + slider["height"] / 2
    page.mouse.move(slider["x"] + 0.3 * slider["width"], y)
    page.mouse.down()
    first = frame_at_line(page)
    page.mouse.move(slider["x"] + 0.6 * slider["width"], y, steps=5)
    page.mouse.up()
    assert first == pytest.approx(0.3 * 361, abs=8) and frame_of(page) > first + 50
    assert frame_at_line(page) == pytest.approx(frame_of(page), abs=0.01)
    strip = page.locator("#player .strip").bounding_box()
    page.mouse.click(strip["x"] + 0.2 * strip["width"], strip["y"] + 10)
    assert frame_of(page) == pytest.approx(0.2 * 361, abs=2)


def test_it_plays_and_is_turned_by_mouse_and_keys(page: Any):
    canvas = page.locator("#player .view canvas")
    before = canvas.screenshot()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + 60, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 160, box["y"] + 60, steps=4)
    page.mouse.up()
    page.wait_for_timeout(150)
    assert canvas.screenshot() != before
    canvas.focus()
    start = frame_of(page)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert frame_of(page) == start + 1
    page.keyboard.press("Space")
    page.wait_for_timeout(700)
    page.keyboard.press("Space")
    assert frame_of(page) > start + 5
    assert frame_at_line(page) == pytest.approx(frame_of(page), abs=0.01)


def test_dark_and_light_by_the_system_and_by_the_switch(page: Any, browser: Any, path: Path):
    assert min(corner(page)) > 200
    page.locator('[data-do="theme"]').click()
    page.wait_for_timeout(150)
    assert max(corner(page)) < 60
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(19, 22, 25)"
    page.locator('[data-do="theme"]').click()
    dark = open_report(browser, path, viewport=NARROW, color_scheme="dark")
    assert max(corner(dark)) < 60
    dark.locator('[data-do="theme"]').click()
    dark.wait_for_timeout(150)
    assert min(corner(dark)) > 200
    dark.close()


def test_on_a_narrow_screen_it_floats_once_it_is_sent_somewhere(browser: Any, path: Path):
    page = open_report(browser, path, viewport=NARROW)
    plot = page.locator("#markers .curve svg.plot").last
    plot.scroll_into_view_if_needed()
    page.wait_for_timeout(200)
    assert page.locator(".dock.floating").count() == 0
    box = plot.bounding_box()
    page.mouse.click(box["x"] + 0.5 * box["width"], box["y"] + 20)
    assert page.locator(".dock.floating").is_visible()
    page.locator(".dock .close").click()
    assert page.locator(".dock.floating").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    page.close()


@pytest.mark.parametrize("width", [800, 400])
def test_a_finding_brings_the_picture_into_view_on_narrow_screens(
    browser: Any, path: Path, width: int
):
    page = open_report(browser, path, viewport={"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    row = page.locator("#attention tbody tr").first
    row.scroll_into_view_if_needed()
    row.locator("td").last.click()
    page.wait_for_timeout(200)
    box = page.locator("#player .view canvas").bounding_box()
    assert box["y"] >= 0 and box["y"] + 0.6 * box["height"] <= 900
    assert frame_of(page) == int(row.locator("a").get_attribute("data-frame"))
    page.close()


def test_the_first_screen_is_one_printed_page(page: Any):
    """Behind it the playback begins the second page."""
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 718, "height": 1000})  # A4 within its margins
    height = page.locator("header").evaluate("node => node.getBoundingClientRect().height")
    page.emulate_media(media="screen")
    page.set_viewport_size(WIDE)
    assert height < 1010  # [px] of 297 mm less 28 mm of margins, at 96 dpi


def test_it_prints_pages_of_text_with_the_picture(page: Any):
    data = page.pdf(format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", data)) >= 3
    text, pictures = 0, len(re.findall(rb"/Subtype\s*/Image", data))
    for stream in re.findall(rb"stream\r?\n(.*?)endstream", data, re.S):
        try:
            text += len(re.findall(rb"\bT[jJ]\b", zlib.decompress(stream.rstrip(b"\r\n"))))
        except zlib.error:
            continue
    assert text > 100 and pictures > 0
    source = page.locator(".print-still").get_attribute("src")
    assert source.startswith("data:image/png;base64,")
    still = np.array(bytearray(source.encode()))
    assert len(still) > 5000
