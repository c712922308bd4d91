"""Markers alone in a real browser: clicked, scrubbed, opened from the page, solved on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.studio.viewer import MotionViewer
from exactik.studio.viewer.page.channel import SEEK_AREA
from exactik.studio.viewer.page.upload import MAX_UPLOAD_BYTES
from tests.support.browser import (
    choose_file,
    chromium,
    close_notices,
    drop_file,
    find_pixel,
    open_page,
    requests_elsewhere,
    scrub_slider,
    wait_for,
    wait_on_page,
)

pytestmark = [pytest.mark.viewer, pytest.mark.browser]
pytest.importorskip("viser")


@pytest.fixture(scope="module")
def motion() -> ik.Motion:
    return simulate_performance(2.0, 60.0)


@pytest.fixture(scope="module")
def viewer(motion: ik.Motion) -> Iterator[MotionViewer]:
    made = simulate_recording(motion, noise=0.001, gaps=0.05, swap=False)
    with MotionViewer(made.markers) as running:
        yield running


@pytest.fixture(scope="module")
def page(viewer: MotionViewer) -> Iterator[Any]:
    with chromium() as browser:
        page = open_page(browser, viewer)
        page.get_by_text("timeline").wait_for()
        page.wait_for_timeout(1000)
        close_notices(page)
        yield page


# Where the markers are on the page [px] whose labels viser would show in a picture, where those are
# that it shows, and how far one of them has been from its marker in any picture.
WATCH_LABELS = """() => {
  const inner = window.exactikLabels, markers = new Map();
  window.exactikLabels = (mesh, camera, drivers) => {
    const { uLabelData, uAtlas } = mesh.material.uniforms, { data } = uLabelData.value.image;
    const canvas = document.querySelector("canvas"), spheres = drivers.get(-1);
    const project = (spot) => {
      spot.project(camera);
      return [0.5 * spot.x * canvas.clientWidth, 0.5 * spot.y * canvas.clientHeight];
    };
    for (let n = 0; n < data.length; n += 4) {
      const k = Math.round((Math.hypot(...data.slice(n, n + 3)) - 1e7) / 32);
      const own = spheres.getMatrixAt(Math.max(k, 0)).elements;
      if (data[n + 3] === 0 || k < 0 || own[0] === 0) continue;
      const place = camera.position.clone().set(own[12], own[13], own[14]);
      markers.set(n, project(place.applyMatrix4(spheres.matrixWorld)));
    }
    inner(mesh, camera, drivers);
    if (uAtlas || mesh.material.depthTest) return;
    const shown = [...markers.keys()].filter((n) => data[n + 3] !== 0);
    const labels = shown.map((n) => project(camera.position.clone().fromArray(data, n)));
    const gaps = shown.map((n, i) => Math.hypot(...labels[i].map((x, a) => x - markers.get(n)[a])));
    const farthest = Math.max(window.labels?.farthest ?? 0, ...gaps);
    window.labels = { before: [...markers.values()], after: labels, farthest,
      pictures: (window.labels?.pictures ?? 0) + 1, shader: mesh.material.fragmentShader };
  };
}"""


def count_covered(spots: list[list[float]]) -> int:
    """Pairs of labels at spots of the page [px] that cover each other for sure."""
    return sum(
        abs(a[0] - b[0]) < 12.0 and abs(a[1] - b[1]) < 8.0  # [px] less than any label has
        for k, a in enumerate(spots)
        for b in spots[:k]
    )


def find_lonely_marker(viewer: MotionViewer) -> int:
    """A marker in the upper half of the window that no other one is near, and that is seen."""
    places = viewer.data.targets(viewer.frame) + viewer.scene.shift
    spots = np.array([find_pixel(viewer, place) for place in places])
    apart = np.linalg.norm(spots[:, None] - spots[None], axis=2) + 1e9 * np.eye(len(spots))
    apart[:, ~np.isfinite(spots[:, 0])] = 1e9
    nearest = apart.min(axis=1)
    inside = (spots > 10.0).all(axis=1) & (spots[:, 1] < 240.0) & (spots[:, 0] < 420.0)
    return int(np.argmax(np.where(inside, nearest, -1.0)))


def test_a_clicked_marker_is_named_with_its_curve(viewer: MotionViewer, page: Any):
    viewer.play(False)
    viewer.seek(30)
    page.get_by_text("Frame 30", exact=True).wait_for(timeout=15_000)
    panel, scene = viewer.panel.recording, viewer.scene.markers.recording
    assert panel is not None and scene is not None
    marker = find_lonely_marker(viewer)
    spot = find_pixel(viewer, viewer.data.targets(30)[marker] + viewer.scene.shift)
    page.mouse.click(float(spot[0]) + 4.0, float(spot[1]) - 3.0)  # beside it, as hands do
    assert wait_on_page(page, lambda: scene.chosen == marker)
    name = viewer.data.recorded.content.names[marker]  # type: ignore[union-attr]
    page.locator("strong", has_text=name).first.wait_for(timeout=10_000)
    plot = page.locator(f".exactik-marker [{SEEK_AREA}]")
    plot.wait_for(timeout=10_000)
    page.get_by_text(f"{scene.overview.labels[marker]}, position [m]").wait_for()
    box = plot.bounding_box()
    assert box is not None and box["width"] > 100.0
    page.mouse.click(box["x"] + 0.75 * box["width"], box["y"] + 30.0)  # and goes there
    assert wait_on_page(page, lambda: abs(viewer.frame - 0.75 * len(viewer.data)) < 3.0)
    assert requests_elsewhere(page) == []


def test_names_do_not_cover_each_other_and_suit_a_dark_page(viewer: MotionViewer, page: Any):
    page.evaluate(WATCH_LABELS)
    viewer.play(False)
    for dark in (False, True):
        viewer.scene.surroundings.set_dark(dark)
        viewer.seek(20 + dark)
        assert wait_on_page(
            page,
            lambda d=dark: page.evaluate("window.labels?.shader.includes('vec4(1.0')") is (not d),
        )
        found = page.evaluate("window.labels")
        assert count_covered(found["before"]) > 0
        assert count_covered(found["after"]) == 0
        # Some have no room on any side; where each name stays above its point, 4 of 10 are seen.
        assert 0.55 * len(found["before"]) < len(found["after"]) < len(found["before"])
    viewer.scene.surroundings.set_dark(False)


def test_names_stick_to_their_markers_while_they_move(viewer: MotionViewer, page: Any):
    """At the page's own pace, where names once ran ahead by up to 150 pixels."""
    page.evaluate("window.labels.pictures = 0")
    viewer.play()
    assert wait_on_page(page, lambda: page.evaluate("window.labels.pictures") > 20)
    viewer.play(False)
    assert page.evaluate("window.labels.farthest") < 60.0  # half a name, and its height


def test_the_slider_scrubs_the_markers_and_the_line_of_the_strip(viewer: MotionViewer, page: Any):
    viewer.seek(0)
    last = len(viewer.data) - 1
    scrub_slider(page, last, 108.0, 6)
    assert wait_on_page(page, lambda: 30 < viewer.frame < last)
    page.get_by_text(f"Frame {viewer.frame}", exact=True).wait_for(timeout=10_000)
    strip = page.locator(".exactik-strip").bounding_box()
    line = page.locator(".exactik-strip-line").bounding_box()
    assert strip is not None and line is not None
    share = (line["x"] + 1.0 - strip["x"]) / strip["width"]
    assert abs(share - (viewer.frame + 0.5) / len(viewer.data)) < 0.02
    assert line["height"] == pytest.approx(strip["height"], abs=2.0)
    scene = viewer.scene.markers.recording
    assert scene is not None
    count = len(scene.overview.labels)
    spot = strip["x"] + 0.25 * strip["width"], strip["y"] + 5.5 * strip["height"] / count
    page.mouse.click(*spot)  # a row is a marker, a column a time
    assert wait_on_page(page, lambda: scene.chosen == 5)
    assert wait_on_page(page, lambda: abs(viewer.frame - 0.25 * len(viewer.data)) < 3.0)


def test_a_c3d_is_opened_from_the_page_and_a_bad_one_is_refused_in_a_sentence(
    viewer: MotionViewer, page: Any, motion: ik.Motion, tmp_path: Path
):
    (tmp_path / "broken.c3d").write_bytes(b"this is no C3D file")
    choose_file(page, "open a file…", tmp_path / "broken.c3d")
    assert wait_on_page(page, lambda: viewer.panel.message.content != "")
    page.get_by_text("broken.c3d: ").wait_for(timeout=10_000)
    assert str(viewer.uploads.folder) not in page.content()
    other = simulate_recording(motion, noise=0.001, gaps=0.0, swap=False).markers
    other.between(0.0, 0.8).save(tmp_path / "second.c3d")
    choose_file(page, "open a file…", tmp_path / "second.c3d")
    assert wait_on_page(page, lambda: viewer.data.title == "second.c3d")
    page.get_by_text("second.c3d").first.wait_for(timeout=10_000)
    assert wait_on_page(page, lambda: len(viewer.data) == 49)
    assert wait_on_page(page, lambda: viewer.transport.playing)
    other.between(0.0, 0.5).save(tmp_path / "third.trc")
    drop_file(page, tmp_path / "third.trc")
    assert wait_on_page(page, lambda: viewer.data.title == "third.trc")
    page.get_by_text("third.trc", exact=True).first.wait_for(timeout=10_000)
    page.wait_for_timeout(300)  # until the page has the new button
    drop_file(page, tmp_path / "second.c3d")
    assert wait_on_page(page, lambda: viewer.data.title == "second.c3d")


def test_a_file_that_is_too_large_is_not_sent(viewer: MotionViewer, page: Any, tmp_path: Path):
    large = tmp_path / "large.c3d"
    with large.open("wb") as file:
        file.truncate(MAX_UPLOAD_BYTES + 1)
    choose_file(page, "open a file…", large)
    alert = page.locator(".exactik-refusal")
    alert.wait_for(timeout=10_000)
    said = alert.inner_text()
    assert "large.c3d has 268 MB" in said and "exactik play FILE" in said
    assert len(viewer.server.gui._current_file_upload_states) == 0
    alert.click()
    assert page.locator(".exactik-refusal").count() == 0


def test_markers_are_solved_from_the_page(
    viewer: MotionViewer, page: Any, motion: ik.Motion, tmp_path: Path
):
    """After the test that opened `second.c3d`, with a figure that is opened on the page, too."""
    ik.save_skeleton(motion.skeleton, tmp_path / "subject.npz")
    choose_file(page, "open a figure…", tmp_path / "subject.npz")
    page.get_by_text("a figure of 27 bones").wait_for(timeout=10_000)
    solve = viewer.panel.solve
    assert solve is not None and solve.figure.value == "subject.npz"
    page.get_by_role("button", name="Solve", exact=True).click()
    assert wait_on_page(page, lambda: viewer.data.has_figure, 300.0)  # it may compile
    assert wait_for(lambda: viewer.panel.solve is not solve)
    assert viewer.data.verdict != ""
    page.get_by_text(viewer.data.verdict.partition(":")[0]).first.wait_for(timeout=10_000)
    assert viewer.scene.figure is not None
    assert requests_elsewhere(page) == []
