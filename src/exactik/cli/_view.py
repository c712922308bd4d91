"""`exactik pose` and `exactik play`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from exactik.cli._app import app, compiling, say
from exactik.model import Skeleton

__all__ = ["figure_of", "play", "pose"]

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
    _show(shown, browser)


@app.command()
def play(
    motion: Annotated[Path, typer.Argument(help="A motion file: BVH, GLB, AMC, NPZ or MOT.")],
    skeleton: Annotated[
        str | None, typer.Option(help="Skeleton file, for motions that hold none (AMC).")
    ] = None,
    port: Port = 0,
    browser: Open = True,
) -> None:
    """Play a motion in the browser."""
    from exactik.io import load_motion
    from exactik.viewer import MotionViewer

    unit: dict[str, Any] = {"length_unit": "auto"} if motion.suffix.lower() == ".bvh" else {}
    figure = None if skeleton is None else figure_of(skeleton)[0]
    with compiling():
        shown = MotionViewer(load_motion(motion, skeleton=figure, **unit), port=port)
        shown.play()
    _show(shown, browser)


def figure_of(name: str) -> tuple[Skeleton, str | None]:
    """Return a built-in figure, or the one in a file; and which axis is up."""
    from exactik import model
    from exactik.cli._solve_inputs import read_figure

    if name.lower() in BUILT_IN and not Path(name).exists():
        return getattr(model, name.lower())(), "z"
    figure = read_figure(name, None, None)
    return figure.skeleton, figure.up


def _upright(name: str) -> Skeleton:
    """Return a figure whose up axis is z, as that of the scene is."""
    from exactik.motion import Motion
    from exactik.motion._axes import quarter_turn

    skeleton, up = figure_of(name)
    if up in (None, "z"):
        return skeleton
    still = Motion(skeleton, skeleton.neutral()[None], 1.0, up_axis=up)
    return still.turned(quarter_turn(up, "z")).skeleton


def _show(shown: Any, browser: bool) -> None:
    import webbrowser

    say(f"The page is at {shown.url}; Ctrl-C ends it.")
    if browser:
        webbrowser.open(shown.url)
    try:
        shown.wait()
    finally:
        shown.close()
