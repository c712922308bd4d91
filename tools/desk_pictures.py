"""Pictures to look at: the desk, a retargeted motion, pages; two widths, light and dark.

    python tools/desk_pictures.py FOLDER desk FIGURE…           # human, or any file of a figure
    python tools/desk_pictures.py FOLDER retarget MOTION FIGURE
    python tools/desk_pictures.py FOLDER page FILE…             # a report, the site's index.html

It takes Chromium and Playwright. None of them is part of the documents.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from viewer_pictures import CHROMIUM, FLAGS, open_page, show_tab, wait_until_resting

from exactik.recordings.pipeline import read_skeleton
from exactik.studio.viewer import MotionViewer, PlaybackData, PoseViewer

SIZES = {"1400": (1400, 900), "800": (800, 600)}
THEMES = {"light": False, "dark": True}


def each_look(page: Any, viewer: Any, surroundings: Any) -> Iterator[str]:
    """Yield the name of a size and of a theme, with the page so."""
    for theme, dark in THEMES.items():
        surroundings.set_dark(dark)
        for name, (width, height) in SIZES.items():
            page.set_viewport_size({"width": width, "height": height})
            viewer.server.flush()
            page.get_by_text("open a fi").first.wait_for()  # the panel is made anew
            page.wait_for_timeout(1500)
            yield f"{name}-{theme}"


def set_desk(page: Any, viewer: PoseViewer) -> None:
    """Three keys of a crouch, onion skins, the rings of a clicked bone, balance."""
    session, panel = viewer.session, viewer.panel.keys
    names = list(session.handles)
    places = {name: np.array(handle.position) for name, handle in session.handles.items()}
    heights = session.pose().positions[:, 2]
    size = float(heights.max() - heights.min())
    moved = names[0], names[-1]
    shifts = np.array([(0.0, 0.0, 0.0), (0.06, 0.02, -0.14), (0.02, 0.05, -0.05)])
    for k, shift in enumerate(shifts):
        for name, factor in zip(moved, (1.0, -1.4), strict=True):
            viewer.worker.drag(name, places[name] + factor * size * shift)
        wait_until_resting(viewer)
        panel.run_command(session, "add", 0.6 * k)
    viewer.worker.post(lambda s: s.release())
    wait_until_resting(viewer)
    viewer.worker.post(lambda s: panel.run_command(s, "scrub", 0.35))
    viewer.panel.balance_switch.value = True
    wait_until_resting(viewer)
    skeleton = session.skeleton
    turning = [b.name for b in skeleton.bones if b.parent is not None and b.joint.nv > 0]
    arms = [n for n in turning if any(w in n.lower() for w in ("upper_arm", "shoulder", "arm"))]
    viewer.handles.select_bone((arms or turning)[0])
    page.wait_for_timeout(1500)


def take_desk(browser: Any, folder: Path, figure: str) -> None:
    """The desk with a figure, on each tab that an animator uses."""
    with (
        PoseViewer(read_skeleton(figure).upright) as viewer,
        open_page(browser, viewer, SIZES["1400"]) as page,
    ):
        set_desk(page, viewer)
        for tab in ("Pose", "Keys"):
            show_tab(page, tab)
            for look in each_look(page, viewer, viewer.surroundings):
                take(page, folder / f"desk-{Path(figure).stem}-{tab.lower()}-{look}.png")


def take_retargeted(browser: Any, folder: Path, motion: str, figure: str) -> None:
    """A figure that takes over a motion, beside its source, in a frame of the middle."""
    from exactik.cli._play import read_motion
    from exactik.cli._pose import load_figure
    from exactik.cli._retarget import GAP
    from exactik.retargeting import retarget

    source = read_motion(motion, None, None, None, by_custom=False)
    result = retarget(source, load_figure(figure)[0])
    print(result)
    playback = PlaybackData.of(result.motion, references=[result.source], aside=GAP)
    with (
        MotionViewer(playback) as viewer,
        open_page(browser, viewer, SIZES["1400"]) as page,
    ):
        viewer.play(False)
        viewer.seek(len(result.motion) // 2)
        for look in each_look(page, viewer, viewer.scene.surroundings):
            take(page, folder / f"retarget-{Path(figure).stem}-{look}.png")


def take_page(browser: Any, folder: Path, file: str) -> None:
    """A page, its first screen and all of it."""
    for theme in THEMES:
        for name, (width, height) in SIZES.items():
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=theme)
            page.goto(Path(file).resolve().as_uri())
            page.wait_for_timeout(2500)
            stem = f"page-{Path(file).stem}-{name}-{theme}"
            take(page, folder / f"{stem}.png")
            take(page, folder / f"{stem}-whole.png", whole=True)
            page.close()


def take(page: Any, path: Path, whole: bool = False) -> None:
    """Write a picture, and say where."""
    page.screenshot(path=path, full_page=whole)
    print(path, f"{time.perf_counter():.0f} s")


def main(folder: Path, what: str, arguments: list[str]) -> None:
    """Take pictures."""
    from playwright.sync_api import sync_playwright

    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        if what == "retarget":
            take_retargeted(browser, folder, *arguments)
        for argument in arguments if what != "retarget" else ():
            (take_desk if what == "desk" else take_page)(browser, folder, argument)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
