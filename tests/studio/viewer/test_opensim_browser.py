"""Models of OpenSim in a real browser: their coordinates as sliders, their motions upright."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik.cli import load_figure, read_motion
from exactik.recordings.pipeline import read_skeleton
from exactik.studio.viewer import MotionViewer, PoseViewer
from tests.support.browser import chromium, close_notices, open_page, requests_elsewhere, wait_for
from tests.support.opensim_files import make_leg

pytestmark = [pytest.mark.viewer, pytest.mark.browser]
pytest.importorskip("viser")


@pytest.fixture(scope="module")
def leg(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("leg") / "leg.osim"
    path.write_text(make_leg())
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


def test_sliders_are_the_coordinates_and_what_follows_moves_with_them(
    leg: Path, browser: Any
) -> None:
    skeleton = read_skeleton(str(leg)).upright
    with PoseViewer(skeleton) as viewer:
        page = open_page(browser, viewer)
        page.wait_for_timeout(1500)
        close_notices(page)
        page.get_by_role("tab", name="Joints").click()
        page.locator("input.mantine-Select-input:visible").first.click()
        page.get_by_role("option", name="shank", exact=True).wait_for(timeout=10_000)
        offered = [option.inner_text() for option in page.get_by_role("option").all()]
        # The patella follows the knee through a coupler, and the ankle is locked.
        assert offered == ["pelvis", "thigh", "shank"]
        page.get_by_role("option", name="shank", exact=True).click()
        page.get_by_text("knee", exact=True).wait_for(timeout=10_000)
        labels = [label.inner_text() for label in page.locator("label:visible").all()]
        assert labels == ["bone", "locked", "strength", "knee"]
        before = viewer.session.pose().point("patella", (0.1, 0.1, 0.1))
        i = skeleton.dof_names.index("shank.knee")
        page.locator("[role=slider]:visible").last.focus()
        for _ in range(40):
            page.keyboard.press("ArrowLeft")
        assert wait_for(lambda: viewer.session.q[i] < -np.radians(2.0))
        moved = viewer.session.pose().point("patella", (0.1, 0.1, 0.1)) - before
        assert np.linalg.norm(moved) > 1e-4  # by its coupler
        assert requests_elsewhere(page) == []
        page.close()


def test_a_motion_of_opensim_stands_upright(leg: Path, browser: Any) -> None:
    """OpenSim has y up, which a .mot does not say: the model's file does."""
    skeleton = ik.load_skeleton(leg)
    q = np.tile(skeleton.neutral(), (20, 1))
    q[:, skeleton.dof_names.index("shank.knee")] = np.linspace(-1.0, 0.0, 20)
    ik.Motion(skeleton, q, 50.0).save(leg.with_name("swing.mot"))
    figure, up = load_figure(str(leg))
    motion = read_motion(str(leg.with_name("swing.mot")), figure, None, up)
    with MotionViewer(motion) as viewer:
        page = open_page(browser, viewer)
        page.get_by_text("timeline").wait_for()
        viewer.seek(10)
        page.get_by_text("Frame 10", exact=True).wait_for(timeout=10_000)
        places = viewer.data.figure_motion.forward().positions[10]
        extent = np.ptp(places, axis=0)
        assert extent[2] == extent.max()  # a leg hangs along z, which is up on the page
        assert requests_elsewhere(page) == []
        page.close()
