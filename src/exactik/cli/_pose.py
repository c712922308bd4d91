"""`exactik pose`, and what it shares with `exactik play`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from exactik.cli._app import ANIMATE, command, err, say
from exactik.cli._kernels import compiling
from exactik.cli._options import UpOption
from exactik.model import Skeleton

if TYPE_CHECKING:
    from exactik.pipeline import LoadedSkeleton
    from exactik.viewer import MotionViewer, PoseViewer

__all__ = [
    "BrowserOption",
    "PortOption",
    "load_figure",
    "load_upright_figure",
    "pose",
    "print_look_notes",
    "read_figure",
    "serve",
]

BUILT_IN = ("human", "quadruped", "hand", "octopus")

PortOption = Annotated[
    int, typer.Option(metavar="N", help="Port to listen on; 0 for any that is free.", min=0)
]
BrowserOption = Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page.")]


@command(ANIMATE)
def pose(
    model: Annotated[
        str,
        typer.Argument(metavar="FIGURE", help=f"A skeleton file, or one of {', '.join(BUILT_IN)}."),
    ] = "human",
    up: UpOption = None,
    port: PortOption = 0,
    browser: BrowserOption = True,
) -> None:
    """Pose a figure in the browser: drag handles or bones, the body follows.

    Examples:
        exactik pose human
        exactik pose hero.glb
        exactik pose panda.urdf --port 8080 --no-browser
        exactik pose laikago.urdf --up y
    """
    from exactik.viewer import PoseViewer

    with compiling():
        figure = read_figure(model)
        print_look_notes(model, figure.skeleton)
        viewer = PoseViewer(figure.skeleton, up_axis=up or figure.up, port=port)
    serve(viewer, browser)


def print_look_notes(name: str, figure: Skeleton) -> None:
    """Say which meshes of a figure are missing or damaged."""
    for note in figure.visuals.notes:
        err.print(f"{name}: {note}", style="dim", markup=False, highlight=False, soft_wrap=True)


def load_figure(name: str) -> tuple[Skeleton, str | None]:
    """Return a built-in figure, or the one in a file; and which axis is up. Print its notes."""
    loaded = read_figure(name)
    return loaded.skeleton, loaded.up


def read_figure(name: str) -> LoadedSkeleton:
    """Return a built-in figure, or the one in a file. Print its notes."""
    from exactik import model
    from exactik.pipeline import LoadedSkeleton, read_skeleton

    if name.lower() in BUILT_IN and not Path(name).exists():
        return LoadedSkeleton(getattr(model, name.lower())(), name.lower(), "z")
    loaded = read_skeleton(name)
    for note in loaded.notes:
        err.print(f"{name}: {note}", style="dim", markup=False, highlight=False, soft_wrap=True)
    return loaded


def load_upright_figure(name: str) -> Skeleton:
    """Return a figure whose up axis is z, as that of the scene is."""
    from exactik.pipeline import stand_up_skeleton

    return stand_up_skeleton(*load_figure(name))


def serve(viewer: MotionViewer | PoseViewer, browser: bool) -> None:
    """Say where the page is, open it, and wait for Ctrl-C."""
    # A terminal would take a mark right behind the address for a part of it.
    say(f"The page is at {viewer.url} (Ctrl-C ends it)")
    viewer.serve(browser)
