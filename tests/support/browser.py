"""A real browser for tests: the Chromium of the machine, drawing without a graphics processor."""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exactik.spatial import matrix_from_wxyz

CHROMIUM = os.environ.get("EXACTIK_CHROMIUM", "/usr/bin/chromium")
FLAGS = """
    --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync --use-angle=swiftshader --enable-unsafe-swiftshader
""".split()
SIZE = {"width": 800, "height": 500}


def wait_for(condition: Callable[[], bool], seconds: float = 20.0) -> bool:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser without pages; the test is skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api")
    if not Path(CHROMIUM).exists():
        pytest.skip("no Chromium")
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        yield browser
        browser.close()


def open_page(browser: Any, viewer: Any, script: str = "") -> Any:
    """A page of a viewer that is connected; `page.requested` is all that it asked for.

    A script is run before those of the page.
    """
    page = browser.new_page(viewport=SIZE)
    page.add_init_script(script)
    page.requested = []
    page.on("request", lambda request: page.requested.append(request.url))
    page.goto(viewer.url)
    assert wait_for(lambda: len(viewer.server.get_clients()) > 0, 60.0)
    return page


def close_notices(page: Any) -> None:
    """Close what covers the page: that there is no graphics processor is no news."""
    crosses = "[...document.querySelectorAll('.mantine-Notification-closeButton')]"
    page.evaluate(f"{crosses}.forEach((cross) => cross.click())")  # some go by themselves meanwhile


def wait_on_page(page: Any, condition: Callable[[], bool], seconds: float = 30.0) -> bool:
    """Whether something comes true; the page goes on meanwhile."""
    for _ in range(int(seconds / 0.05)):
        if condition():
            return True
        page.wait_for_timeout(50)
    return False


def requests_elsewhere(page: Any) -> list[str]:
    """What a page asked of other machines."""
    return [url for url in page.requested if "127.0.0.1" not in url and "blob:" not in url]


def find_pixel(viewer: Any, place: Any) -> Any:
    """Where a point of the world [m] is on the page."""
    camera = next(iter(viewer.server.get_clients().values())).camera
    turn = matrix_from_wxyz(np.array(camera.wxyz))
    right, down, ahead = turn.T @ (place - camera.position)
    focal = 0.5 * camera.image_height / np.tan(0.5 * camera.fov)
    middle = 0.5 * np.array([camera.image_width, camera.image_height])
    return middle + focal * np.array([right, down]) / ahead


def pull_mouse(page: Any, start: Any, by: Any, steps: int = 12) -> None:
    """Press the button, move, and stay."""
    page.mouse.move(*start)
    page.mouse.down()
    for k in range(1, steps + 1):
        page.mouse.move(*(start + by * k / steps))
        page.wait_for_timeout(60)
    page.wait_for_timeout(200)


def scrub_slider(page: Any, last: int, pixels: float, steps: int = 7) -> None:
    """Drag the thumb of the slider that ends at frame `last`, from where it is to the right."""
    box = page.locator(f"[role=slider][aria-valuemax='{last}']").bounding_box()
    assert box is not None
    middle = np.array([box["x"] + box["width"] / 2, box["y"] + box["height"] / 2])
    pull_mouse(page, middle, np.array([pixels, 0.0]), steps)
    page.mouse.up()


def choose_file(page: Any, button: str, path: Path) -> None:
    """Click a button and choose a file as a user does."""
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name=button).click()
    chooser.value.set_files(path)


def drop_file(page: Any, path: Path) -> None:
    """Drop a file on the page."""
    content = base64.b64encode(path.read_bytes()).decode()
    page.evaluate(
        """([name, content]) => {
            const bytes = Uint8Array.from(atob(content), (c) => c.charCodeAt(0));
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File([bytes], name));
            const options = { bubbles: true, cancelable: true, dataTransfer };
            document.querySelector("canvas").dispatchEvent(new DragEvent("drop", options));
        }""",
        [path.name, content],
    )
