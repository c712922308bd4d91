"""Pages for fuzzing: motions, markers, looks and names that nobody would make on purpose.

A run makes a scene and every page that shows it: the player alone, an export of `exactik play`, a
card of a notebook, and of a few a solved recording's report. A page must be text that can be
written, with data that is JSON, pictures of finite numbers, and no script but its own; in a
browser, if one is given, it opens without an error and asks nobody for anything.
"""

from __future__ import annotations

import json
import re
import time
import warnings
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import exactik as ik
from exactik.errors import ExactikError
from exactik.model.visuals import Material, Mesh, Texture, Visual, Visuals, make_box
from exactik.studio.player.page import render_player_page
from exactik.studio.player.scene import compose_scene
from exactik.studio.player.still import render_still
from exactik.studio.report import render_report
from exactik.studio.viewer import EmbeddedView, PlaybackData
from tests.support.browser import wait_on_page
from tests.support.visuals import make_boxed_arm, make_chain, make_png, make_skinned_arm

__all__ = ["BrokenPage", "PlayerFuzzer", "check_page", "make_pages", "open_in_browser"]

NAMES = (
    "</script><script>window.ran=1</script>",
    "<!--<script>",
    "]]><img src=x onerror=window.ran=1>",
    "\"'`&amp;&lt;",
    '" onload="window.ran=1',
    "</style></title><svg onload=window.ran=1>",
    "</iframe><b>",
    "膝 Müller ✓ 👩‍🦽 \u202eevil\u202c",
    "\u2028\u2029\ufeff",
    "\x00\x01\x1b[31m",
    "\ud800",  # half of a pair: no UTF-8 has it
    "__proto__",
    "constructor",
    "${7*7}{{7*7}}\\u003c",
    "x" * 20_000,
    "https://example.invalid/x.png",
    " ",
    "a\nb",
)
VALUES = (0.0, -0.0, 1e-300, 1e-9, 1.0, -3.0, 1e4, -1e9, 1e30, 1e154, -1e308, np.inf, np.nan)
IMAGES = (
    make_png(4, 4),
    make_png(1, 1)[:40],
    b"",
    b"\x89PNG\r\n\x1a\n" + b"\xff" * 40,
    b"<svg xmlns='http://www.w3.org/2000/svg'><image href='https://example.invalid/'/></svg>",
)
PROCESSOR_SECONDS = 8.0  # that all pages of a scene may take to be made
LONGEST = 600 + 20_000  # characters of a sentence, which may name a file of a long name
SECONDS = 20.0  # that a page may take to open: software draws it
EMPTY, FLAT, POINT, LINE = (
    Mesh(np.zeros((0, 3)), np.zeros((0, 3), dtype=int)),
    make_box((1.0, 1.0, 0.0)),
    make_box((0.0, 0.0, 0.0)),
    Mesh(np.eye(3), np.array([[0, 1, 1]])),
)


READY = {"page": "window.player", "export": "window.player"}
READY["report"] = 'document.documentElement.dataset.player === "ready"'


class BrokenPage(AssertionError):
    """A page that is not as it must be."""


class PlayerFuzzer:
    """Makes random scenes, and looks at their pages.

    Attributes:
        name: of this kind of run.
    """

    name = "player"

    def __init__(self, folder: Path, browser: Any = None):
        """Take a folder for the page that is looked at, and a browser, if there is one."""
        self.page, self.browser = folder.resolve() / "page.html", browser

    def run(self, name: str) -> str:
        """Do the run of a name; return "result" or the name of the error, or raise `BrokenPage`."""
        start = time.process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                pages = make_pages(Random(name))
                for kind, text in pages.items():
                    check_page(text, 2 if kind in READY else 0)
                    if self.browser is not None and kind in READY:
                        open_in_browser(self.browser, self.page, text, READY[kind])
        except ExactikError as error:
            if len(str(error)) > LONGEST:
                raise BrokenPage(f"run {name}: {len(str(error))} characters: {error}") from None
            return type(error).__name__
        except Exception as error:
            raise BrokenPage(f"run {name}: {type(error).__name__}: {error}"[:1500]) from error
        if time.process_time() - start > PROCESSOR_SECONDS:
            raise BrokenPage(f"run {name}: took {time.process_time() - start:.1f} s")
        return "result"


def make_pages(rng: Random) -> dict[str, str]:
    """Return pages of a random scene, by what they are; may raise any error of exactik."""
    if rng.random() < 0.06:
        return {"report": render_report(_make_track(rng))}
    markers = _make_markers(rng)
    if rng.random() < 0.3:
        playback = PlaybackData.of(markers)
        return {
            "page": render_player_page(compose_scene(markers)),
            "card": markers._repr_html_(),
            "export": EmbeddedView(playback).html,
        }
    motion = _make_motion(rng)
    beside = markers if rng.random() < 0.5 and len(markers) == len(motion) else None
    pages = {"card": motion._repr_html_() + motion.skeleton._repr_html_()}
    scene = compose_scene(motion, markers=beside, first=rng.choice([0, 1, len(motion) - 1]))
    pages["page"] = render_player_page(scene, plays=rng.random() < 0.3)
    pages["still"] = render_still(scene, with_skin=True)
    ghosts = [_make_motion(rng)] if rng.random() < 0.3 else []
    playback = PlaybackData.of(motion, markers=beside, references=ghosts)
    pages["export"] = EmbeddedView(playback).html
    return pages


def _make_name(rng: Random) -> str:
    return rng.choice(NAMES) if rng.random() < 0.6 else f"n{rng.randrange(99)}"


def _make_values(rng: Random, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of a calm motion, of which a few, or all, are anything."""
    values = np.random.default_rng(rng.randrange(1 << 30)).normal(0.0, 0.4, shape)
    flat = values.reshape(-1)
    wild = rng.choice([0, 0, 1, 3, 30]) if flat.size > 0 else 0
    for _ in range(wild):
        flat[rng.randrange(flat.size)] = rng.choice(VALUES)
    if rng.random() < 0.05:
        flat[:] = rng.choice(VALUES)
    return values


def _make_count(rng: Random) -> int:
    return rng.choice([0, 1, 1, 2, 3, 7, 40])


def _make_rate(rng: Random) -> float:
    return rng.choice([1.0, 30.0, 119.88, 1e-6, 1e9])


def _make_markers(rng: Random) -> ik.Markers:
    names = list(dict.fromkeys(_make_name(rng) for _ in range(_make_count(rng))))
    frames = _make_count(rng)
    if rng.random() < 0.03:
        names, frames = [f"{k}{rng.choice(NAMES)[:30]}" for k in range(4000)], rng.choice([1, 3])
    places = _make_values(rng, (frames, len(names), 3))
    up = rng.choice([None, "x", "y", "z"])
    source = f"/folder/{_make_name(rng)}.c3d"
    return ik.Markers(places, tuple(names), _make_rate(rng), up_axis=up, source=source)


def _make_figure(rng: Random) -> ik.Skeleton:
    figure = rng.choice([make_chain, make_skinned_arm])(rng.choice([1, 2, 5]))
    if rng.random() < 0.3:
        figure = make_boxed_arm()
    elif rng.random() < 0.1:
        figure = ik.human()
    elif rng.random() < 0.2:  # all at one place
        joint = rng.choice([ik.Joint.free(), ik.Joint.fixed(), ik.Joint.prismatic((0, 0, 1))])
        bones = [ik.Bone("a", joint=joint), ik.Bone("b", parent="a", joint=ik.Joint.fixed())]
        figure = ik.Skeleton("point", bones)
    bones = {name: f"{k} {_make_name(rng)}" for k, name in enumerate(figure.bone_names)}
    if rng.random() < 0.5:
        bones = {name: name for name in bones}
    visuals = figure.visuals
    if rng.random() < 0.4:
        visuals = Visuals(rigid=tuple(_make_visual(rng, figure) for _ in range(rng.choice([1, 3]))))
    renamed = [
        ik.Bone(
            bones[bone.name],
            parent=None if bone.parent is None else bones[bone.parent],
            offset=bone.offset,
            joint=bone.joint,
        )
        for bone in figure.bones
    ]
    marks = {_make_name(rng): (bones[b], point) for b, point in figure.markers.values()}
    plain = ik.Skeleton.build(_make_name(rng), renamed, marks)
    if any(bones[name] != name for name in bones):
        return plain
    return plain.with_visuals(visuals)


def _make_visual(rng: Random, figure: ik.Skeleton) -> Visual:
    mesh = rng.choice([EMPTY, FLAT, POINT, LINE, make_box((0.1, 0.2, 0.3)), make_box((1e4,) * 3)])
    textures = {}
    if rng.random() < 0.5:
        kind = rng.choice(["image/png", "image/jpeg", "image/svg+xml", '"><script>', ""])
        sampler = {"wrapS": rng.choice([10497, 33071, 33648, 0, -1, 7]), "wrapT": 10497}
        textures["base_colour"] = Texture(rng.choice(IMAGES), kind, sampler)
        uv = _make_values(rng, (len(mesh.vertices), 2))
        if np.isfinite(uv).all():
            mesh = Mesh(mesh.vertices, mesh.faces, uv=np.clip(uv, -1e30, 1e30))
    colour = (rng.choice([0.0, 0.5, 1.0, 7.0, -1.0]), 0.2, 0.3, rng.choice([0.0, 0.5, 1.0]))
    material = Material(_make_name(rng), colour, alpha_mode="BLEND", textures=textures)
    bone = rng.choice(figure.bone_names)
    return Visual(name=_make_name(rng), bone=bone, mesh=mesh, material=material)


def _make_motion(rng: Random) -> ik.Motion:
    figure, frames = _make_figure(rng), _make_count(rng)
    q = np.tile(figure.neutral(), (frames, 1))
    if rng.random() < 0.7:
        q = q + _make_values(rng, q.shape)
    up = rng.choice([None, "x", "y", "z"])
    return ik.Motion(figure, q, _make_rate(rng), up_axis=up, source=f"/f/{_make_name(rng)}.bvh")


def _make_track(rng: Random) -> Any:
    """A few frames of a chain, solved, with names and places that are anything."""
    chain = make_chain(3)
    names = list(dict.fromkeys(f"{_make_name(rng)}{k}" for k in range(5)))
    marks = {name: (f"b{k % 3}", (0.05 * k, 0.02, 0.03 * k)) for k, name in enumerate(names)}
    figure = ik.Skeleton.build(_make_name(rng), chain.bones, marks)
    frames = rng.choice([1, 2, 12])
    q = np.tile(figure.neutral(), (frames, 1))
    noise = np.clip(_make_values(rng, (frames, len(names), 3)), -1e38, 1e38)  # as C3D can hold
    places = ik.Motion(figure, q, 30.0).forward().markers + 0.1 * noise
    source = f"/folder/{_make_name(rng)}.c3d"
    return ik.track(figure, ik.Markers(places, tuple(names), 30.0, source=source))


class _Scripts(HTMLParser):
    """Elements that run or fetch, and whether the text ends where it should."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts, self.handlers, self.frames = 0, [], []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        for name, value in attrs:
            if name.startswith("on"):
                self.handlers.append(name)
            if name in ("src", "href") and not (value or "").startswith(("data:", "#")):
                self.handlers.append(f"{name}={value}")
            if name == "srcdoc":
                self.frames.append(value or "")


def check_page(text: str, scripts: int) -> None:
    """Look at a page without a browser.

    Args:
        text: of the page.
        scripts: elements of this kind that it has.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BrokenPage(f"cannot be written as UTF-8: {error}"[:300]) from None
    found = _Scripts()
    found.feed(text)
    if found.scripts != scripts or len(found.handlers) > 0:
        raise BrokenPage(f"{found.scripts} scripts, and {found.handlers[:3]}")
    for data in re.findall(r'id="data">(.*?)</script>', text, re.DOTALL):
        json.loads(data, parse_constant=_refuse)
    for picture in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        numbers = re.sub(r'aria-label="[^"]*"', "", picture)
        if re.search(r"[^\w](nan|inf)[^\w]", numbers):
            raise BrokenPage("a picture with numbers that are not finite")
        if re.search(r"\d{18}", numbers):
            raise BrokenPage("a picture with numbers beyond any screen")
    for frame in found.frames:
        check_page(frame, 2)


def _refuse(name: str) -> None:
    raise BrokenPage(f"{name} in the data of a page")


def open_in_browser(browser: Any, path: Path, text: str, ready: str) -> None:
    """Open a page in a browser; raise if it complains, asks for anything or does not get ready.

    Args:
        browser: of Playwright.
        path: where the page is written.
        text: of it.
        ready: a condition in JavaScript that comes true.
    """
    path.write_text(text, encoding="utf-8")
    page = browser.new_page(viewport={"width": 500, "height": 400})
    wrong: list[str] = []
    note: Callable[[str], None] = wrong.append
    page.on("pageerror", lambda error: note(f"error: {error}"))
    page.on("console", lambda m: note(f"{m.type}: {m.text}") if _matters(m) else None)
    page.on(
        "request", lambda r: note(f"asks for {r.url[:200]}") if _is_elsewhere(r, path) else None
    )
    try:
        page.goto(path.as_uri())
        if not wait_on_page(page, lambda: page.evaluate(f"Boolean({ready})"), SECONDS):
            note("is not ready: " + page.evaluate("document.querySelector('.player')?.title ?? ''"))
        page.wait_for_timeout(60)
        if page.evaluate("window.ran === 1"):
            note("a name was run as a script")
    finally:
        page.close()
    if len(wrong) > 0:
        raise BrokenPage("; ".join(wrong)[:800])


def _matters(message: Any) -> bool:
    """Errors, and warnings but those about drawing without a graphics processor."""
    return message.type == "error" or (
        message.type == "warning" and "GPU stall" not in message.text
    )


def _is_elsewhere(request: Any, path: Path) -> bool:
    return request.url != path.as_uri() and not request.url.startswith(("data:", "blob:", "about:"))
