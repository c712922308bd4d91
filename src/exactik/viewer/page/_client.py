"""viser's page with a script of ours before its own, see _driver.js: skins that follow bones.

viser 1.1 bends meshes of one colour only. What it loads as GLB has materials and textures, but
stands still; the script moves the bones of such a file.
"""

from __future__ import annotations

from functools import cache
from http import HTTPStatus
from importlib.resources import files
from pathlib import Path
from typing import Any

__all__ = ["add_driver", "make_page_response"]

HEAD = "<head>"


@cache
def read_driver() -> str:
    """Return the script."""
    return files("exactik.viewer.page").joinpath("_driver.js").read_text(encoding="utf-8")


def add_driver(page: str) -> str:
    """Return a page of viser with the script before all others."""
    return page.replace(HEAD, f"{HEAD}<script>{read_driver()}</script>", 1)


@cache
def read_page() -> bytes:
    """Return viser's page with the script."""
    import viser

    path = Path(viser.__file__).parent / "client" / "build" / "index.html"
    return add_driver(path.read_text(encoding="utf-8")).encode()


def make_page_response() -> Any:
    """Return the answer to a request for the page; it is hardly smaller when compressed."""
    from websockets.datastructures import Headers
    from websockets.http11 import Response

    body = read_page()
    headers = {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(body))}
    return Response(int(HTTPStatus.OK), "OK", Headers(**headers), body)
