"""The player as part of a page, and as a page of its own for a notebook."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from importlib import resources
from typing import Any

from exactik._text import make_writable
from exactik.studio.player.data import REPORT_LIMITS, LookLimits, encode_scene
from exactik.studio.player.scene import PlayerScene
from exactik.studio.player.still import render_still

# Nothing is fetched: a page that is passed on works where it is opened, and tells nobody.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
)
# Each uses those before it.
SCRIPTS = ("vectors.js", "decode.js", "gl.js", "elements.js", "camera.js", "player.js")
BOOT = """
const host = document.querySelector(".player");
exactikPlayer.create(host, JSON.parse(document.getElementById("data").textContent))
  .then((player) => { window.player = player; })
  .catch((error) => { host.title = `no playback: ${error.message}`; });
"""
PAGE_STYLE = """
:root { color-scheme: light dark; --line: #e2e6e8; --soft: #5c6870; --accent: #0b6a88; }
@media (prefers-color-scheme: dark) {
  :root { --line: #2c3238; --soft: #97a3ab; --accent: #6fc0dc; }
}
html, body { height: 100%; margin: 0; }
body { font: 13px/1.4 system-ui, sans-serif; }
.player { height: 100%; box-sizing: border-box; padding: 2px; display: flex;
  flex-direction: column; }
.player .view { flex: 1; min-height: 0; aspect-ratio: auto; }
"""
# Of poses and markers before compression: a notebook is saved with all that it shows, and a
# player so takes up to 0.5 MB of it, half of that the skin.
NOTEBOOK_BYTES = 600_000
FRAME_HEIGHT = 430  # [px] of a player in a notebook


def dump_json(data: Any) -> str:
    """Return data as JSON for a script element, in which nothing may look like its end."""
    return json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def read_player_script() -> str:
    """Return the script; it defines `exactikPlayer.create(element, data)`."""
    return "\n".join(_read_resource(name) for name in SCRIPTS)


def read_player_style() -> str:
    """Return the style sheet of what is inside an element of class "player"."""
    return _read_resource("player.css")


def render_player_page(
    scene: PlayerScene, *, limits: LookLimits = REPORT_LIMITS, plays: bool = False
) -> str:
    """Return a page that plays a scene without a server or a network."""
    data = {**encode_scene(scene, limits=limits), "plays": plays}
    return make_writable(
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(CONTENT_SECURITY_POLICY)}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(scene.name)}</title><style>\n{read_player_style()}{PAGE_STYLE}</style>"
        f'</head><body><div class="player">{render_still(scene)}</div>'
        f'<script type="application/json" id="data">{dump_json(data)}</script>'
        f"<script>\n{read_player_script()}{BOOT}</script></body></html>\n"
    )


def render_player_frame(scene: PlayerScene, *, height: int = FRAME_HEIGHT) -> str:
    """Return an element that shows the player inside another page, such as a notebook."""
    style = f"width:100%;max-width:760px;height:{height}px;border:0"
    return make_writable(
        f'<iframe srcdoc="{escape(render_player_page(scene))}" style="{style}" '
        f'title="{escape(scene.name)}" sandbox="allow-scripts"></iframe>'
    )


def lay_out_card(
    title: str, facts: Sequence[tuple[str, str]], picture: str, headline: str = ""
) -> str:
    """Return a picture with facts beside it, as HTML.

    Args:
        title: what it is; plain text, like all of the following but the picture.
        facts: names and values; empty values are left out.
        picture: HTML.
    """
    rows = "".join(
        f'<tr style="background:none"><th style="text-align:left;font-weight:normal;opacity:.65;'
        f'padding:1px 12px 1px 0;vertical-align:top;white-space:nowrap">{escape(name)}</th>'
        f'<td style="text-align:left;padding:1px 0;overflow-wrap:anywhere">{escape(value)}</td>'
        "</tr>"
        for name, value in facts
        if value
    )
    sentence = f'<div style="margin:2px 0 6px">{escape(headline)}</div>' if headline else ""
    return make_writable(
        '<div class="exactik-card" style="display:flex;flex-wrap:wrap;gap:8px 20px;'
        'align-items:flex-start;max-width:1100px">'
        f'<div style="flex:1 1 240px;min-width:220px;font-size:13px;line-height:1.45">'
        f'<div style="font-weight:600;font-size:15px;overflow-wrap:anywhere">{escape(title)}</div>'
        f'{sentence}<table style="border-collapse:collapse;border:0;font-size:13px;margin:4px 0 0">'
        f"<tbody>{rows}</tbody></table></div>"
        f'<div style="flex:2 1 320px;min-width:0">{picture}</div></div>'
    )


def _read_resource(name: str) -> str:
    return (
        resources.files("exactik.studio.player")
        .joinpath("script", name)
        .read_text(encoding="utf-8")
    )
