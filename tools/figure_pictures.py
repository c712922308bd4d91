"""Pictures of figures and recordings, light and dark, in two sizes of the window.

    python tools/figure_pictures.py FOLDER THING… [--views pose play curves player report] [--solve]

A THING is the name of a built-in figure, or a file: a robot, a character, a motion, a recording.
Views are `pose` and `play`, the viewer's pages; `curves`, the latter of a recording alone, with a
chosen marker that has gaps and an analog channel; `player`, the page that `play -o` writes; and
`report`, of a recording that is solved. A figure without a motion of its own plays one in which
every joint turns to and fro. With --solve a recording is solved with the human, and all views stand
at its worst frame. Chromium and Playwright are needed.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from viewer_pictures import CHROMIUM, FLAGS, open_page

import exactik as ik
from exactik.cli._play import read_motion
from exactik.errors import ExactikError
from exactik.io import find_content, find_format
from exactik.recordings.pipeline import read_recording, read_skeleton, solve_recording
from exactik.studio.viewer import (
    MotionViewer,
    PlaybackData,
    PoseViewer,
    UnsolvedRecording,
    export_playback,
)
from exactik.studio.viewer.playback import make_solved_playback
from exactik.studio.viewer.posing._robots import choose_first_pose

SIZES = ((1400, 900), (800, 600))
SECONDS, RATE = 4.0, 30.0  # of a made-up motion
SWING = np.radians(12.0)  # by which its joints turn to both sides, at most
POSE, PLAY, CURVES, PLAYER, REPORT = VIEWS = ("pose", "play", "curves", "player", "report")


def make_motion(skeleton: ik.Skeleton) -> ik.Motion:
    """Every joint that has two limits turns to and fro inside them, each at its own time."""
    first = choose_first_pose(skeleton)
    limited = skeleton.turns & np.isfinite(skeleton.upper) & np.isfinite(skeleton.lower)
    phases = np.arange(skeleton.nv) * 2.4  # [rad], the golden angle: no two swing alike
    times = np.arange(0.0, SECONDS, 1.0 / RATE)
    steps = np.where(limited, SWING * np.sin(2.0 * np.pi * times[:, None] / SECONDS + phases), 0.0)
    poses = [skeleton.clip(skeleton.integrate(first, step)) for step in steps]
    return ik.Motion(skeleton, np.array(poses), RATE)


def read_playback(thing: str, solve: bool) -> tuple[PlaybackData, int]:
    """Return what is played of a thing, and the frame to stand at."""
    if find_format(thing) is not None and find_content(thing) == "markers":
        read = read_recording(Path(thing), "z", align=False)
        recording = UnsolvedRecording(read.markers, notes=tuple(read.notes))
        if not solve:
            return PlaybackData.of(recording), len(read.markers) // 2
        human = read_skeleton("human")
        solved = solve_recording(read.markers, human.skeleton, skeleton_up=human.up, fit=True)
        data = make_solved_playback(recording, solved)
        return data, int(np.nanargmax(data.frame_errors[1]))
    try:
        motion = read_motion(thing, None, None)
    except ExactikError:  # a figure alone
        motion = make_motion(read_skeleton(thing).upright)
    return PlaybackData.of(motion), len(motion) // 2


def show_curves(viewer: MotionViewer, page: Any) -> None:
    """Choose the marker with most gaps, and the analog channel that changes most for its size."""
    recording, analog = viewer.panel.recording, viewer.panel.analog
    assert recording is not None
    overview = recording.overview
    shares = overview.missing.mean(axis=0)
    recording.choose(int(np.argmax(np.where(shares < 1.0, shares, -1.0))))
    if analog is not None and overview.markers.analog is not None:
        channels = overview.markers.analog
        ranges = {label: float(np.ptp(channels.channel(label))) for label in channels.labels}
        page.get_by_text(f"analog ({len(channels.labels)})").click()
        analog.choose(max(ranges, key=lambda label: ranges[label]))
        page.wait_for_timeout(600)
        page.locator(".exactik-analog").scroll_into_view_if_needed()


class Photographer:
    """Takes pictures in all sizes, light and dark.

    Attributes:
        browser: Playwright's.
        folder: of the pictures.
    """

    def __init__(self, browser: Any, folder: Path):
        """Begin with a browser."""
        self.browser, self.folder = browser, folder

    def save(self, page: Any, name: str, width: int, dark: bool) -> None:
        """Write what a page shows."""
        path = self.folder / f"{name}-{width}-{'dark' if dark else 'light'}.png"
        page.screenshot(path=path)
        print(path, flush=True)

    def take_viewer(
        self,
        viewer: PoseViewer | MotionViewer,
        name: str,
        act: Callable[[Any], None] = lambda page: None,
    ) -> None:
        """Take the pictures of a page of the viewer, after an action on it, and close it."""
        scene = viewer.scene if isinstance(viewer, MotionViewer) else viewer
        with viewer:
            for width, height in SIZES:
                with open_page(self.browser, viewer, (width, height)) as page:
                    act(page)
                    for dark in (False, True):
                        scene.surroundings.set_dark(dark)
                        page.wait_for_timeout(1200)
                        self.save(page, name, width, dark)

    def take_file(self, write: Callable[[Path], object], name: str, frame: int) -> None:
        """Take the pictures of a page that needs no server."""
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "page.html"
            write(path)
            for width, height in SIZES:
                for dark in (False, True):
                    scheme = "dark" if dark else "light"
                    page = self.browser.new_page(
                        viewport={"width": width, "height": height}, color_scheme=scheme
                    )
                    page.goto(path.as_uri())
                    page.wait_for_timeout(1200)
                    page.evaluate("frame => window.player && player.seek(frame)", frame)
                    page.wait_for_timeout(600)
                    self.save(page, name, width, dark)
                    page.close()


def main() -> None:
    """Take the pictures."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("things", nargs="+")
    parser.add_argument("--views", nargs="+", choices=VIEWS, default=[POSE, PLAY, PLAYER])
    parser.add_argument("--solve", action="store_true")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        camera = Photographer(browser, given.folder)
        for thing in given.things:
            name = Path(thing).stem
            data, frame = read_playback(thing, given.solve)
            if POSE in given.views and data.has_figure:
                camera.take_viewer(PoseViewer(read_skeleton(thing).upright), f"{name}-pose")
            if PLAY in given.views:
                viewer = MotionViewer(data)
                viewer.seek(frame)
                camera.take_viewer(viewer, f"{name}-play")
            if CURVES in given.views and not data.has_figure:
                viewer = MotionViewer(data)
                viewer.seek(frame)
                camera.take_viewer(viewer, f"{name}-curves", partial(show_curves, viewer))
            if PLAYER in given.views:
                camera.take_file(partial(export_playback, data), f"{name}-player", frame)
            if REPORT in given.views and data.track is not None:
                camera.take_file(data.track.report, f"{name}-report", frame)
        browser.close()


if __name__ == "__main__":
    main()
