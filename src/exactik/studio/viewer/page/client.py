"""viser's page with scripts of ours before its own.

viser 1.1 bends meshes of one colour only. What it loads as GLB has materials and textures, but
stands still; _driver.js moves the bones of such a file. _desk.js tells what viser does not tell,
_timeline.js draws a timeline, _labels.js keeps names from covering each other, and _uploads.js
refuses files that are too large before they are sent.
"""

from __future__ import annotations

from functools import cache
from http import HTTPStatus
from importlib.resources import files
from pathlib import Path
from typing import Any

from exactik.studio.viewer.page.upload import MAX_UPLOAD_BYTES

HEAD = "<head>"
# Behind the scene: not quite white and not quite black, which robots are.
GROUNDS = {"light": "#f1f3f6", "dark": "#2a2f35"}
STYLE = "".join(
    f'<style>[data-mantine-color-scheme="{scheme}"] canvas[data-engine]'
    f"{{background:{ground}}}</style>"
    for scheme, ground in GROUNDS.items()
)


@cache
def read_script(name: str) -> str:
    """Return a script of this folder."""
    text = files("exactik.studio.viewer.page").joinpath(name).read_text(encoding="utf-8")
    return text.replace("__MAX_UPLOAD_BYTES__", str(MAX_UPLOAD_BYTES))


def add_driver(page: str) -> str:
    """Return a page of viser with the script that moves skins before all others, and a style."""
    return _add_script(page.replace(HEAD, HEAD + STYLE, 1), "_driver.js")


def _add_script(page: str, name: str) -> str:
    return page.replace(HEAD, f"{HEAD}<script>{read_script(name)}</script>", 1)


@cache
def read_page() -> bytes:
    """Return viser's page with all scripts."""
    import viser

    path = Path(viser.__file__).parent / "client" / "build" / "index.html"
    page = add_driver(path.read_text(encoding="utf-8"))
    for name in ("_timeline.js", "_desk.js", "_uploads.js", "_labels.js"):
        page = _add_script(page, name)
    return page.encode()


def make_page_response() -> Any:
    """Return the answer to a request for the page; it is hardly smaller when compressed."""
    from websockets.datastructures import Headers
    from websockets.http11 import Response

    body = read_page()
    headers = {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(body))}
    return Response(int(HTTPStatus.OK), "OK", Headers(**headers), body)
