"""Pictures of figures with their meshes, light and dark, in two sizes of the window.

    python tools/figure_pictures.py FOLDER FIGURE… [--motion] [--pose DEGREES]

FIGURE is a file of a robot or a character, or the name of a built-in figure. With --motion a file
with a motion is played, and its middle frame taken. Chromium and Playwright are needed.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from exactik.cli._play import read_motion
from exactik.cli._pose import load_upright_figure
from exactik.viewer import MotionViewer, PoseViewer
from tools.viewer_pictures import CHROMIUM, FLAGS, open_page

SIZES = ((1400, 900), (800, 600))


def make_viewer(figure: str, motion: bool, degrees: float) -> PoseViewer | MotionViewer:
    """A page of the figure: playing, or posed with all hinges turned by so much."""
    if motion:
        viewer = MotionViewer(read_motion(figure, None, None))
        viewer.seek(len(viewer.data) // 2)
        return viewer
    skeleton = load_upright_figure(figure)
    step = np.where(skeleton.turns & np.isfinite(skeleton.upper), np.radians(degrees), 0.0)
    signs = np.where(np.arange(skeleton.nv) % 2 == 0, 1.0, -1.0)
    return PoseViewer(skeleton, skeleton.clip(skeleton.integrate(skeleton.neutral(), signs * step)))


def main() -> None:
    """Take the pictures."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("figures", nargs="+")
    parser.add_argument("--motion", action="store_true")
    parser.add_argument("--pose", type=float, default=0.0, metavar="DEGREES")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        for figure in given.figures:
            with make_viewer(figure, given.motion, given.pose) as viewer:
                scene = viewer.scene if isinstance(viewer, MotionViewer) else viewer
                for width, height in SIZES:
                    with open_page(browser, viewer, (width, height)) as page:
                        for dark in (False, True):
                            scene.surroundings.set_dark(dark)
                            page.wait_for_timeout(1200)
                            name = f"{Path(figure).stem}-{width}-{'dark' if dark else 'light'}.png"
                            page.screenshot(path=given.folder / name)
                            print(given.folder / name)
        browser.close()


if __name__ == "__main__":
    main()
