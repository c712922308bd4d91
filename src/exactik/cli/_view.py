"""`exactik pose`, and what it shares with `exactik play`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from exactik.cli._app import app, compiling, say
from exactik.model import Skeleton

__all__ = ["Open", "Port", "figure_of", "pose", "serve"]

BUILT_IN = ("human", "quadruped", "hand", "octopus")

Port = Annotated[int, typer.Option(help="Port to listen on; 0 for any that is free.", min=0)]
Open = Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page.")]


@app.command()
def pose(
    model: Annotated[
        str, typer.Argument(help=f"A skeleton file, or one of {', '.join(BUILT_IN)}.")
    ] = "human",
    port: Port = 0,
    browser: Open = True,
) -> None:
    """Pose a figure in the browser: drag handles or bones, the body follows."""
    from exactik.viewer import PoseViewer

    with compiling():
        shown = PoseViewer(_upright(model), port=port)
    serve(shown, browser)


def figure_of(name: str) -> tuple[Skeleton, str | None]:
    """Return a built-in figure, or the one in a file; and which axis is up."""
    from exactik import model
    from exactik.cli.solve._inputs import read_figure

    if name.lower() in BUILT_IN and not Path(name).exists():
        return getattr(model, name.lower())(), "z"
    figure = read_figure(name, None, None)
    return figure.skeleton, figure.up


def _upright(name: str) -> Skeleton:
    """Return a figure whose up axis is z, as that of the scene is."""
    from exactik.motion import cyclic_axes, turn_skeleton

    skeleton, up = figure_of(name)
    return skeleton if up in (None, "z") else turn_skeleton(skeleton, cyclic_axes(up, "z"))


def serve(shown: Any, browser: bool) -> None:
    """Say where the page is, open it, and wait for Ctrl-C."""
    say(f"The page is at {shown.url}; Ctrl-C ends it.")
    shown.serve(browser)
