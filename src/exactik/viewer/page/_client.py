"""viser's page with scripts of ours before its own.

_driver.js: skins that follow bones. viser 1.1 bends meshes of one colour only. What it loads as GLB
has materials and textures, but stands still; the script moves the bones of such a file.

_uploads.js: files that are too large are refused before they are sent.
"""

from __future__ import annotations

from functools import cache
from http import HTTPStatus
from importlib.resources import files
from pathlib import Path
from typing import Any

from exactik.viewer.page._upload import MAX_UPLOAD_BYTES

__all__ = ["add_driver", "make_page_response"]

HEAD = "<head>"


@cache
def read_script(name: str) -> str:
    """Return one of the scripts."""
    text = files("exactik.viewer.page").joinpath(name).read_text(encoding="utf-8")
    return text.replace("__MAX_UPLOAD_BYTES__", str(MAX_UPLOAD_BYTES))


def add_driver(page: str) -> str:
    """Return a page of viser with the script that bends skins before all others."""
    return add_script(page, "_driver.js")


def add_script(page: str, name: str) -> str:
    """Return a page with a script before all others."""
    return page.replace(HEAD, f"{HEAD}<script>{read_script(name)}</script>", 1)


@cache
def read_page() -> bytes:
    """Return viser's page with the scripts."""
    import viser

    path = Path(viser.__file__).parent / "client" / "build" / "index.html"
    page = add_script(path.read_text(encoding="utf-8"), "_uploads.js")
    return add_driver(page).encode()


def make_page_response() -> Any:
    """Return the answer to a request for the page; it is hardly smaller when compressed."""
    from websockets.datastructures import Headers
    from websockets.http11 import Response

    body = read_page()
    headers = {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(body))}
    return Response(int(HTTPStatus.OK), "OK", Headers(**headers), body)
