"""Pictures of reports and of a notebook's cells for the documents, taken in a real browser.

    python tools/report_pictures.py [FOLDER]

It takes Chromium and Playwright. The recording is simulated: a walk of which two markers of an
ankle exchange their names for a while; and a walk that a child takes over.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import exactik as ik
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.studio.report import write_retargeting_report

CHROMIUM = "/usr/bin/chromium"
FLAGS = """
    --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync --use-angle=swiftshader --enable-unsafe-swiftshader
""".split()
PAGES = {
    "report": ({"width": 1400, "height": 900}, "light"),
    "report-narrow": ({"width": 800, "height": 1000}, "dark"),
}


def make_track() -> ik.Track:
    """Return twelve seconds of a walk, solved."""
    made = simulate_recording(simulate_performance(12.0), tissue=0.004, swap=("LANK", "LHEE"))
    return ik.track(made.truth.skeleton, replace(made.markers, source="walk.c3d"))


def make_child() -> ik.Skeleton:
    """Return the built-in human, smaller, with shorter legs still."""
    figure, bones = ik.human(), []
    for bone in figure.bones:
        share = 0.6 if bone.parent is None or bone.name[2:] in ("shin", "foot") else 0.7
        offset = tuple(share * value for value in bone.offset)
        bones.append(
            ik.Bone(
                bone.name,
                parent=bone.parent,
                offset=offset,
                pre=bone.pre,
                joint=bone.joint,
                post=bone.post,
            )
        )
    markers = {
        name: (bone, 0.7 * np.array(point)) for name, (bone, point) in figure.markers.items()
    }
    return ik.Skeleton.build("child", bones, markers).with_look_of(figure)


def take_report(browser: Any, path: Path, folder: Path) -> None:
    """Take the report, wide and narrow, after a click on its first finding."""
    for name, (size, scheme) in PAGES.items():
        page = browser.new_page(viewport=size, color_scheme=scheme)
        page.goto(path.as_uri())
        page.wait_for_function("document.documentElement.dataset.player")
        page.locator("#attention tbody tr").first.click()
        page.mouse.move(5, 5)
        page.evaluate("scrollTo(0, 0)")
        page.wait_for_timeout(800)
        page.screenshot(path=folder / f"{name}.png")
        print(folder / f"{name}.png")
        page.close()


def take_retargeting(browser: Any, folder: Path) -> None:
    """Take the report on a walk that a figure of other proportions takes over."""
    walk = replace(simulate_performance(4.0, rate=60.0, acts=("walk",)), source="walk.bvh")
    child = make_child()
    page = browser.new_page(viewport={"width": 1400, "height": 900}, color_scheme="light")
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "retargeted.html"
        command = "exactik retarget walk.bvh --to child.npz -o child-walk.bvh --report walk.html"
        write_retargeting_report(ik.retarget(walk, child), path, command)
        page.goto(path.as_uri())
        page.wait_for_function("document.documentElement.dataset.player")
        page.wait_for_timeout(1500)
        page.screenshot(path=folder / "retargeting-report.png")
    print(folder / "retargeting-report.png")
    page.close()


def take_cells(browser: Any, track: ik.Track, folder: Path) -> None:
    """Take what a notebook shows of a result and of a track."""
    human = ik.human()
    rest = human.forward(human.neutral())
    goals = [
        ik.PositionGoal("r_hand", (0.3, -0.35, 1.35)),
        ik.PositionGoal("l_hand", (0.3, 0.3, 1.1)),
        *(ik.PositionGoal(bone, rest.point(bone)) for bone in ("head", "l_foot", "r_foot")),
    ]
    ik.solve(human, goals)  # the first one loads the compiled code
    result = ik.solve(human, goals)
    page = browser.new_page(viewport={"width": 1000, "height": 800})
    cells = "<hr>".join(thing._repr_html_() for thing in (result, track))
    page.set_content(f'<body style="font-family:sans-serif;margin:16px">{cells}</body>')
    page.wait_for_timeout(2500)
    page.screenshot(path=folder / "notebook.png")
    print(folder / "notebook.png")


def main(folder: Path) -> None:
    """Take all pictures."""
    from playwright.sync_api import sync_playwright

    folder.mkdir(parents=True, exist_ok=True)
    track = make_track()
    with sync_playwright() as p, tempfile.TemporaryDirectory() as place:
        browser = p.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        path = Path(place) / "walk.html"
        track.report(path, command="exactik solve walk.c3d --skeleton human --report walk.html")
        take_report(browser, path, folder)
        take_cells(browser, track, folder)
        take_retargeting(browser, folder)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs"))
