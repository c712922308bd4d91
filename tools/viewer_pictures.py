"""Pictures of the viewer for the documents, taken in a real browser.

    python tools/viewer_pictures.py [FOLDER] [NAME …]

It takes Chromium and Playwright; without names all pictures are taken, in two sizes of the window.
The large ones are those of the documents; the small ones show that panels do not overlap.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import exactik as ik
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.studio.viewer import MotionViewer, PoseViewer

CHROMIUM = "/usr/bin/chromium"
FLAGS = """
    --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync --use-angle=swiftshader --enable-unsafe-swiftshader
""".split()
SIZES = {"": (1280, 800), "-small": (800, 600)}


@contextmanager
def open_page(browser: Any, viewer: Any, size: tuple[int, int]) -> Iterator[Any]:
    """Open the page of a viewer and wait until it shows the scene; close it in the end."""
    page = browser.new_page(viewport={"width": size[0], "height": size[1]})
    page.goto(viewer.url)
    while len(viewer.server.get_clients()) == 0:
        time.sleep(0.05)
    page.wait_for_timeout(2500)
    for cross in page.locator(".mantine-Notification-closeButton").all():
        cross.click()  # that there is no graphics processor is no news
    yield page
    page.close()
    while len(viewer.server.get_clients()) > 0:
        time.sleep(0.05)


def wait_until_resting(viewer: PoseViewer) -> None:
    """Wait until the figure rests and the page had time to show it."""
    time.sleep(0.3)
    while not viewer.session.resting or len(viewer.worker.mailbox) > 0:
        time.sleep(0.05)
    time.sleep(0.5)


def show_tab(page: Any, name: str) -> None:
    """Show a tab of the panel."""
    page.get_by_role("tab", name=name, exact=True).click()
    page.wait_for_timeout(600)


def pose_hand(page: Any, viewer: PoseViewer) -> None:
    """A hand is dragged; the feet stay."""
    viewer.handles.select("r_hand")
    for place in ((0.35, -0.35, 1.2), (0.45, -0.45, 1.4), (0.4, -0.4, 1.55)):
        viewer.worker.drag("r_hand", place)
        time.sleep(0.25)
    viewer.worker.drag("pelvis", (0.0, 0.0, 0.85))
    wait_until_resting(viewer)
    page.wait_for_timeout(1500)


def reach_limit(page: Any, viewer: PoseViewer) -> None:
    """A hand is asked for more than the body can do: red is at a limit, the line is missing."""
    viewer.handles.select("l_hand")
    viewer.worker.post(lambda session: session.pin("pelvis"))
    viewer.worker.drag("l_hand", (0.95, 0.8, 1.5))
    wait_until_resting(viewer)
    show_tab(page, "Joints")
    page.wait_for_timeout(1500)


def add_keys(page: Any, viewer: PoseViewer) -> None:
    """Key frames of a crouch with a locked hand, and the pose between two of them."""
    show_tab(page, "Keys")
    panel = viewer.panel.keys
    for k, place in enumerate(((0.0, 0.0, 0.95), (0.1, 0.0, 0.6), (0.0, 0.05, 0.9))):
        viewer.worker.drag("pelvis", place)
        wait_until_resting(viewer)
        panel.run_command(viewer.session, "add", 0.6 * k)
    viewer.worker.post(lambda session: session.release())
    wait_until_resting(viewer)
    panel.keys.lock("r_hand", 0.0, 0.6)
    viewer.worker.post(lambda session: panel.run_command(session, "scrub", 0.35))
    wait_until_resting(viewer)
    page.wait_for_timeout(1500)


def turn_bone(page: Any, viewer: PoseViewer) -> None:
    """A clicked bone is turned by its own joint."""
    viewer.worker.post(lambda session: session.set_dof("l_upper_arm.rx", 0.6))
    wait_until_resting(viewer)
    viewer.handles.select_bone("l_upper_arm")
    page.wait_for_timeout(1500)


def show_balance(page: Any, viewer: PoseViewer) -> None:
    """A figure that leans too far, and where its centre of mass is."""
    viewer.panel.balance_switch.value = True
    viewer.worker.drag("r_hand", (0.85, -0.25, 0.75))
    viewer.worker.drag("pelvis", (0.12, 0.0, 0.8))
    wait_until_resting(viewer)
    page.wait_for_timeout(1500)


def compare_solvers(page: Any, viewer: PoseViewer) -> None:
    """All solvers on one drag."""
    show_tab(page, "Advanced")
    viewer.worker.drag("l_hand", (0.4, 0.35, 1.6))
    wait_until_resting(viewer)
    viewer.panel.advanced.compare.run()
    page.wait_for_timeout(2500)


def show_playback(page: Any, viewer: MotionViewer) -> None:
    """A solved recording beside the truth, residuals as long as they are, the worst one named."""
    viewer.panel.aside.value = 0.8
    page.wait_for_timeout(300)
    viewer.seek(viewer.data.bookmarks[0].frame)
    page.wait_for_timeout(2500)


def show_markers(page: Any, viewer: MotionViewer) -> None:
    """Markers before they are solved: a chosen one with its curve, its gap and its suspicion."""
    viewer.seek(300)
    overview, panel = viewer.data.overview, viewer.panel.recording
    assert overview is not None and panel is not None
    panel.choose(overview.labels.index("RFIN"))
    page.wait_for_timeout(2500)


def open_markers_viewer() -> MotionViewer:
    """Five seconds of a performance, with gaps, exchanged names, a point without one, a leap."""
    recording = simulate_recording(simulate_performance(5.0), noise=0.001, gaps=0.08)
    markers = recording.markers.renamed({"LFIN": "*12"})
    positions = np.array(markers.positions)
    finger = markers.names.index("RFIN")
    positions[300, finger] = positions[299, finger] + (0.0, 0.12, 0.05)
    positions[420:470, finger] = np.nan
    return MotionViewer(replace(markers, positions=positions, source="performance.c3d"))


def open_pose_viewer() -> PoseViewer:
    """The human, to be posed."""
    return PoseViewer(ik.human())


def open_motion_viewer() -> MotionViewer:
    """Five seconds of a performance, solved, beside the truth."""
    recording = simulate_recording(simulate_performance(5.0), noise=0.004, gaps=0.05)
    return MotionViewer(
        ik.track(recording.truth.skeleton, recording.markers), references=[recording.truth]
    )


PICTURES: dict[str, tuple[Callable[[], Any], Callable[[Any, Any], None]]] = {
    "posing": (open_pose_viewer, pose_hand),
    "limit": (open_pose_viewer, reach_limit),
    "keys": (open_pose_viewer, add_keys),
    "turn": (open_pose_viewer, turn_bone),
    "balance": (open_pose_viewer, show_balance),
    "compare": (open_pose_viewer, compare_solvers),
    "playback": (open_motion_viewer, show_playback),
    "markers": (open_markers_viewer, show_markers),
}


def main(folder: Path, names: list[str]) -> None:
    """Take pictures."""
    from playwright.sync_api import sync_playwright

    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        for name, (make, act) in PICTURES.items():
            for ending, size in SIZES.items() if not names or name in names else ():
                with make() as viewer, open_page(browser, viewer, size) as page:
                    act(page, viewer)
                    path = folder / f"viewer-{name}{ending}.png"
                    page.screenshot(path=path)
                    print(path)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs"), sys.argv[2:])
