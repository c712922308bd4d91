"""The player in a real browser: all of the figure is in view, and fills it."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from exactik import Bone, Joint, Skeleton
from exactik.model.motion import Markers, Motion
from exactik.model.visuals import Material, Visual, Visuals, make_box
from exactik.recordings.tracking import Quality
from exactik.studio.player.page import render_player_page
from exactik.studio.player.scene import compose_scene
from tests.support.browser import chromium

pytestmark = pytest.mark.browser

RED = Material(base_colour=(0.7, 0.02, 0.02, 1.0))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


def find_red(page: Any) -> tuple[np.ndarray, np.ndarray]:
    """First and last column and row of red pixels in the view, as shares of its size."""
    from PIL import Image

    shot = page.locator(".player .view").screenshot()
    image = np.array(Image.open(io.BytesIO(shot)).convert("RGB")).astype(int)
    red = image[:, :, 0] > image[:, :, 1:].max(axis=2) + 60
    columns, rows = np.flatnonzero(red.any(axis=0)), np.flatnonzero(red.any(axis=1))
    assert len(columns) > 0
    return columns[[0, -1]] / image.shape[1], rows[[0, -1]] / image.shape[0]


@pytest.mark.parametrize("sides", [(0.3, 0.3, 2.0), (2.0, 0.6, 0.3)])
def test_a_figure_fills_the_view_and_is_all_inside_it(
    browser: Any, sides: tuple[float, float, float]
):
    root = Bone("root", offset=(0.0, 0.0, 1.0), joint=Joint.free())
    box = Visual(name="", bone="root", mesh=make_box(sides), material=RED)
    figure = Skeleton("box", [root], visuals=Visuals(rigid=(box,)))
    q = np.tile(figure.neutral(), (30, 1))
    q[:, 0] = np.linspace(0.0, 6.0, 30)  # it goes, and is followed
    html = render_player_page(compose_scene(Motion(figure, q, 30.0)))
    page = browser.new_page()
    page.set_content(html)
    page.wait_for_function("window.player")
    for width, height in ((1400, 900), (800, 600), (420, 800)):
        page.set_viewport_size({"width": width, "height": height})
        for frame in (0, 15, 29):
            page.evaluate("frame => player.seek(frame)", frame)
            page.wait_for_timeout(150)
            columns, rows = find_red(page)
            for first, last in (columns, rows):
                assert 0.0 < first and last < 0.995
        assert max(np.ptp(columns), np.ptp(rows)) > 0.7
    # A view that somebody has turned stays as it is when the window changes.
    page.locator("canvas").first.focus()
    page.keyboard.press("Shift+ArrowLeft")
    page.wait_for_timeout(150)
    before = np.ptp(find_red(page)[1])
    page.set_viewport_size({"width": 420, "height": 801})
    page.wait_for_timeout(150)
    assert np.ptp(find_red(page)[1]) == pytest.approx(before, abs=0.01)
    page.close()


def test_bones_are_coloured_by_quality_and_the_camera_stays_above_the_floor(browser: Any):
    root = Bone("root", offset=(0.0, 0.0, 1.0), joint=Joint.free())
    box = Visual(name="", bone="root", mesh=make_box((0.3, 0.3, 2.0)))
    figure = Skeleton("box", [root], visuals=Visuals(rigid=(box,)))
    scene = compose_scene(Motion(figure, np.tile(figure.neutral(), (3, 1)), 30.0))
    worth = [[Quality.MEASURED], [Quality.DOUBTFUL], [Quality.OPEN]]
    page = browser.new_page(viewport={"width": 800, "height": 600})
    page.set_content(render_player_page(replace(scene, quality=np.array(worth, dtype=np.uint8))))
    page.wait_for_function("window.player")
    page.evaluate("player.seek(1)")
    legend = page.get_by_text("doubtful")
    assert not legend.is_visible() and count_red(page) == 0
    page.get_by_label("Colours").select_option("quality")
    assert legend.is_visible()
    page.wait_for_timeout(200)
    seen = count_red(page)
    assert seen > 2000
    page.evaluate("player.seek(0)")
    page.wait_for_timeout(200)
    assert count_red(page) == 0
    page.evaluate("player.seek(1)")
    page.locator("canvas").first.focus()
    for _ in range(30):  # as low as it goes: three radians would be below the floor
        page.keyboard.press("Shift+ArrowDown")
    page.wait_for_timeout(200)
    assert count_red(page) > 0.5 * seen  # still from the side, not its bottom alone
    page.close()


def count_red(page: Any) -> int:
    """Number of reddish pixels in the view."""
    from PIL import Image

    shot = page.locator(".player .view").screenshot()
    image = np.array(Image.open(io.BytesIO(shot)).convert("RGB")).astype(int)
    return int((image[:, :, 0] > image[:, :, 1:].max(axis=2) + 60).sum())


def test_markers_alone_have_names_that_do_not_cover_each_other_and_trails(browser: Any):
    times = np.arange(60) / 30.0
    places = np.zeros((60, 3, 3))
    places[:, :, 0] = np.sin(times)[:, None]
    places[:, 1:, 2] = (1.0, 1.001)  # the last two are at one place on the screen
    page = browser.new_page(viewport={"width": 800, "height": 600})
    markers = Markers(places, ("LOW", "HIGH", "TWIN"), 30.0)
    page.set_content(render_player_page(compose_scene(markers)))
    page.wait_for_function("window.player")
    page.evaluate("player.seek(40)")
    page.wait_for_timeout(200)
    count = """() => {
      const c = document.querySelector("canvas.names"), pen = c.getContext("2d");
      const alpha = pen.getImageData(0, 0, c.width, c.height).data.filter((_, i) => i % 4 === 3);
      const rows = [];
      for (let y = 0; y < c.height; y++)
        rows.push(alpha.subarray(y * c.width, (y + 1) * c.width).some((a) => a > 0));
      return rows.filter((on, y) => on && !rows[y - 1]).length;
    }"""
    assert page.evaluate(count) == 2  # lines of text, one for both that are at one place
    page.get_by_role("button", name="names").click()
    page.wait_for_timeout(200)
    assert page.evaluate(count) == 0
    blue = find_blue(page)
    page.evaluate("player.seek(0)")  # nothing is behind
    page.wait_for_timeout(200)
    assert blue > 50 > find_blue(page)
    page.close()


def find_blue(page: Any) -> int:
    """Number of pixels in the view that are as blue as trails."""
    from PIL import Image

    shot = page.locator(".player .view").screenshot()
    image = np.array(Image.open(io.BytesIO(shot)).convert("RGB")).astype(int)
    return int((image[:, :, 2] > image[:, :, 0] + 40).sum())
