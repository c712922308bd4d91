"""Playback in a real browser: what is clicked, dragged and pressed, and what is then seen."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import exactik as ik
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.studio.viewer import EmbeddedView, MotionViewer, PlaybackData
from exactik.studio.viewer.page.channel import SEEK_AREA
from exactik.studio.viewer.page.colours import MARKER_COLOUR
from exactik.studio.viewer.playback._panel import PLAY
from tests.support.browser import (
    SIZE,
    chromium,
    open_page,
    requests_elsewhere,
    scrub_slider,
    wait_for,
    wait_on_page,
)

pytestmark = [pytest.mark.viewer, pytest.mark.browser]
pytest.importorskip("viser")


@pytest.fixture(scope="module")
def viewer() -> Iterator[MotionViewer]:
    made = simulate_recording(simulate_performance(2.0), noise=0.001, gaps=0.05)
    take = ik.track(made.truth.skeleton, made.markers)
    with MotionViewer(take, references=[made.truth]) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def page(viewer: MotionViewer, browser: Any) -> Any:
    page = open_page(browser, viewer)
    page.get_by_text("timeline").wait_for()
    return page


def picture(page: Any) -> NDArray[np.int64]:
    """What the page shows, (height, width, 3)."""
    from PIL import Image

    return np.array(Image.open(io.BytesIO(page.screenshot())).convert("RGB")).astype(np.int64)


def greenish(image: NDArray[np.int64]) -> int:
    """How many pixels are of the hue of the figure's markers, under any light."""
    r, g, b = np.moveaxis(image, -1, 0)
    assert MARKER_COLOUR[1] > MARKER_COLOUR[2] > MARKER_COLOUR[0]
    return int(((g > r + 40) & (g > b) & (b > r)).sum())


def free(page: Any) -> None:
    """Take the focus off all widgets, for keys are theirs while they have it."""
    page.evaluate("document.activeElement && document.activeElement.blur()")


def test_it_plays_and_pauses_by_button_and_key_and_steps(viewer: MotionViewer, page: Any):
    viewer.seek(0)
    page.get_by_text(PLAY).click()
    assert wait_on_page(page, lambda: viewer.transport.playing and viewer.frame > 20)
    free(page)
    page.keyboard.press("Space")
    assert wait_on_page(page, lambda: not viewer.transport.playing)
    frame = viewer.frame
    page.keyboard.press("ArrowRight")
    assert wait_on_page(page, lambda: viewer.frame == frame + 1)
    page.keyboard.press("ArrowLeft")
    assert wait_on_page(page, lambda: viewer.frame == frame)
    page.keyboard.press("End")
    assert wait_on_page(page, lambda: viewer.frame == len(viewer.data) - 1)
    page.keyboard.press("Home")
    assert wait_on_page(page, lambda: viewer.frame == 0)
    assert requests_elsewhere(page) == []


def test_the_slider_scrubs(viewer: MotionViewer, page: Any):
    viewer.seek(0)
    last = len(viewer.data) - 1
    scrub_slider(page, last, 120.0, 8)
    assert wait_on_page(page, lambda: 60 < viewer.frame < len(viewer.data) - 1)
    said = f"Frame {viewer.frame}"
    assert wait_on_page(page, lambda: said in viewer.panel.text.content)
    page.get_by_text(said, exact=True).wait_for(timeout=10_000)


def test_a_click_on_the_error_curve_goes_there_and_the_worst_marker_is_named(
    viewer: MotionViewer, page: Any
):
    worst_frame = viewer.data.bookmarks[0].frame
    viewer.seek(worst_frame + 40)
    area = page.locator(f".exactik-errors [{SEEK_AREA}]").bounding_box()
    assert area is not None

    def place(frame: float) -> float:
        return area["x"] + area["width"] * (frame + 0.5) / len(viewer.data)

    height = area["y"] + 0.5 * area["height"]
    pixel = len(viewer.data) / area["width"]  # [frames]
    page.mouse.click(place(worst_frame), height)
    assert wait_on_page(page, lambda: abs(viewer.frame - worst_frame) <= pixel)
    name = viewer.data.names[int(np.nanargmax(viewer.data.errors[viewer.frame]))]
    worst = viewer.scene.markers.worst
    assert worst is not None
    assert wait_on_page(
        page, lambda: worst._label.text.startswith(f"{name}: ")
    )  # beside the marker
    page.get_by_text(name, exact=True).first.wait_for(timeout=10_000)  # and in the panel
    page.mouse.move(place(20), height)
    page.mouse.down()
    page.mouse.move(place(60), height, steps=4)
    page.mouse.move(place(100), height + 300, steps=4)  # a drag goes on outside of it
    page.mouse.up()
    assert wait_on_page(page, lambda: abs(viewer.frame - 100) <= pixel)
    page.mouse.move(place(30), height)
    page.wait_for_timeout(200)
    assert abs(viewer.frame - 100) <= pixel
    assert page.locator("input[value^='exactik:']").is_hidden()


def test_the_worst_frames_are_gone_to_one_after_another(viewer: MotionViewer, page: Any):
    bookmarks = viewer.data.bookmarks
    viewer.seek(bookmarks[0].frame + 50)
    page.get_by_text("next worst").click()
    assert wait_on_page(
        page, lambda: viewer.frame == bookmarks[0].frame and viewer.panel.bookmark == 0
    )
    page.get_by_text(bookmarks[0].text).wait_for(timeout=10_000)
    # Two of them may be at one frame, so that the frame alone does not tell of a click.
    page.get_by_text("next worst").click()
    assert wait_on_page(
        page, lambda: viewer.frame == bookmarks[1].frame and viewer.panel.bookmark == 1
    )
    page.get_by_text("previous worst").click()
    assert wait_on_page(
        page, lambda: viewer.frame == bookmarks[0].frame and viewer.panel.bookmark == 0
    )


def test_what_is_switched_off_is_not_seen(viewer: MotionViewer, page: Any):
    markers, ghost = viewer.scene.markers, viewer.scene.ghosts[0]
    viewer.seek(60)
    page.get_by_text("Frame 60", exact=True).wait_for(timeout=10_000)

    def switch(name: str, node: Any) -> None:
        before = node.visible
        page.get_by_label(name, exact=True).click()
        assert wait_on_page(page, lambda: node.visible is not before), name

    others = {"measured": markers.measured, "residuals": markers.residuals}
    others["ghost"] = ghost.figure.node
    for name, node in others.items():
        assert node.visible
        switch(name, node)
    shown = greenish(picture(page))  # the curve under the timeline is green as well
    switch("markers", markers.model)
    assert wait_on_page(page, lambda: greenish(picture(page)) < shown - 25)
    hidden = greenish(picture(page))
    switch("markers", markers.model)
    assert wait_on_page(page, lambda: greenish(picture(page)) > hidden + 25)
    for name, node in others.items():
        switch(name, node)
    lines = np.array(markers.residuals.points)
    viewer.panel.exaggeration.value = 10
    assert wait_on_page(page, lambda: not np.array_equal(markers.residuals.points, lines))
    longer = np.linalg.norm(np.diff(markers.residuals.points, axis=1), axis=2)
    assert np.allclose(longer, 10 * np.linalg.norm(np.diff(lines, axis=1), axis=2), atol=1e-5)
    viewer.panel.exaggeration.value = 1


def test_two_pages_see_the_same_and_one_may_go(viewer: MotionViewer, page: Any, browser: Any):
    other = open_page(browser, viewer)
    assert wait_on_page(other, lambda: len(viewer.server.get_clients()) == 2)
    other.get_by_text("timeline").wait_for()
    free(other)
    viewer.seek(10)
    other.get_by_text("Frame 10", exact=True).wait_for(timeout=10_000)
    page.get_by_text("Frame 10", exact=True).wait_for(timeout=10_000)
    other.close()
    assert wait_for(lambda: len(viewer.server.get_clients()) == 1)
    viewer.seek(11)
    page.get_by_text("Frame 11", exact=True).wait_for(timeout=10_000)


def test_the_page_downloads_an_export(viewer: MotionViewer, page: Any, tmp_path: Path):
    page.get_by_text("export", exact=True).click()
    page.get_by_role("button", name="GLB").click()
    link = page.get_by_role("link", name="glb").or_(page.get_by_text(".glb"))
    link.first.wait_for(timeout=15_000)
    with page.expect_download(timeout=15_000) as download:
        page.locator("a[download]").first.click()
    download.value.save_as(tmp_path / "got.glb")
    assert len(ik.load_motion(tmp_path / "got.glb")) == 61


@pytest.mark.parametrize("framed", [False, True])
def test_an_export_opens_offline_and_shows_the_figure(
    viewer: MotionViewer, browser: Any, tmp_path: Path, framed: bool
):
    """As a file of its own, and as a notebook frames it."""
    playback = viewer.data
    assert playback.track is not None and playback.motion is not None
    short = PlaybackData.of(playback.motion.between(0.0, 1.0), markers=playback.track.markers)
    path = tmp_path / "take.html"
    if framed:
        path.write_text(EmbeddedView(short)._repr_html_(), encoding="utf-8")
    else:
        EmbeddedView(short).save(path)
    context = browser.new_context(viewport=SIZE, offline=True)
    page = context.new_page()
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.goto(path.as_uri())
    assert wait_on_page(page, lambda: greenish(picture(page)) > 30, 30.0)
    first = picture(page)
    assert wait_on_page(
        page, lambda: int((np.abs(picture(page) - first) > 60).sum()) > 200
    )  # it plays
    assert [
        url for url in requested if not url.startswith(("file:", "blob:", "data:", "about:"))
    ] == []
    context.close()
