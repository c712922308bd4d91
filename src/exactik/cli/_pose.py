"""`exactik pose`, and what it shares with `exactik play`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from exactik._options import option
from exactik.cli._app import ANIMATE, command, remark, say
from exactik.cli._options import argument
from exactik.model import Skeleton
from exactik.recordings.pipeline import (
    BUILT_IN,
    LoadedSkeleton,
    RecordingOptions,
    read_skeleton,
)

if TYPE_CHECKING:
    from exactik.studio.viewer import MotionViewer, PoseViewer


@dataclass(frozen=True, kw_only=True)
class PageOptions:
    """Where a page is served."""

    port: int = option(0, "Port to listen on; 0 for any that is free.", metavar="N", least=0)
    browser: bool = option(True, "Open the page.", flags="--browser/--no-browser")


@command(ANIMATE)
def pose(
    model: Annotated[
        str,
        argument(
            "FIGURE",
            f"A skeleton file, one of {', '.join(BUILT_IN)}, or a robot such as unitree_g1.",
        ),
    ] = "human",
    *,
    reading: Annotated[RecordingOptions, ("up",)],
    page: PageOptions,
) -> None:
    """Pose a figure in the browser: drag handles or bones, the body follows.

    Examples:
        exactik pose human
        exactik pose hero.glb
        exactik pose panda.urdf --port 8080 --no-browser
        exactik pose laikago.urdf --up y
    """
    from exactik.studio.viewer import PoseViewer
    from exactik.studio.viewer.posing import find_state_folder, release_walker

    figure = read_figure(model)
    print_look_notes(model, figure.skeleton)
    skeleton = release_walker(figure.skeleton)
    if skeleton is not figure.skeleton:
        root = skeleton.bone_names[0]
        remark(model, f"the root {root!r}, fixed in its file, moves freely here")
    viewer = PoseViewer(
        skeleton,
        up_axis=reading.up or figure.up,
        port=page.port,
        autosave=find_state_folder(),
    )
    serve(viewer, page.browser)


def print_look_notes(name: str, figure: Skeleton) -> None:
    """Say which meshes of a figure are missing or damaged."""
    for note in figure.visuals.notes:
        remark(name, note)


def load_figure(name: str) -> tuple[Skeleton, str | None]:
    """Return a built-in figure, or the one in a file; and which axis is up. Print its notes."""
    loaded = read_figure(name)
    return loaded.skeleton, loaded.up


def read_figure(name: str) -> LoadedSkeleton:
    """Return a built-in figure, or the one in a file. Print its notes."""
    loaded = read_skeleton(name)
    for note in loaded.notes:
        remark(name, note)
    return loaded


def serve(viewer: MotionViewer | PoseViewer, browser: bool) -> None:
    """Say where the page is, open it, and wait for Ctrl-C."""
    # A terminal would take a mark right behind the address for a part of it.
    say(f"The page is at {viewer.url} (Ctrl-C ends it)")
    viewer.serve(browser)
