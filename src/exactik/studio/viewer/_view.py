"""One function that shows skeletons, motions, tracks, markers and key frames."""

from __future__ import annotations

import webbrowser
from typing import Any

from exactik.errors import UsageError
from exactik.model import Skeleton
from exactik.model.motion import Markers, Motion
from exactik.recordings.tracking import Track
from exactik.studio.viewer.keyframes import Keyframes
from exactik.studio.viewer.playback import EmbeddedView, MotionViewer, PlaybackData, is_notebook
from exactik.studio.viewer.posing import PoseViewer

SHOWN_WITH_MOTION = ("markers", "references")


def view(
    thing: Skeleton | Motion | Track | Markers | Keyframes | Any,
    *,
    block: bool | None = None,
    browser: bool = True,
    static: bool | None = None,
    **options: Any,
) -> PoseViewer | MotionViewer | EmbeddedView:
    """Show a figure to be posed, or a motion to be played, in a browser; needs `exactik[viewer]`.

    What is shown has z up: it is turned where a motion or markers say that another axis is, or
    where the figure itself shows it, with its head above its feet. Coordinates are the same;
    positions on the page, and those of a `PoseViewer`'s session, are in the turned axes.

    Args:
        thing: a skeleton, a motion, a track (with its markers, errors and error bars), markers
            (which can be solved from the page), key frames, or anything with a `motion`, or a
            `skeleton` and `q`: a result, a session.
        block: return when Ctrl-C is pressed; else at once, with the viewer still open. Without it
            notebooks go on, and scripts wait.
        browser: open the page; else only its address is printed.
        static: return something that a notebook shows, without a server: figure, ghosts and markers
            that play. Without it, motions are shown so in notebooks.
        options: `q` for a skeleton; `markers` and `references` for a motion; `host`, `port`,
            `expose`, see `PoseViewer`; `fps` and `height` if static.
    """
    if not isinstance(thing, Track):
        thing = getattr(thing, "motion", thing)
    notebook = is_notebook()
    server_options = {"host", "port", "expose"} & set(options)
    moving = isinstance(thing, Track | Motion | Markers | Keyframes)
    if static is None:
        static = notebook and moving and block is None and len(server_options) == 0
    if static:
        return _embed(thing, options)
    block = not notebook if block is None else block
    viewer = _open(thing, options)
    end = " (Ctrl-C ends it)" if block else ""
    print(f"The page is at {viewer.url}{end}")
    if block:
        viewer.serve(browser)
    elif browser:
        webbrowser.open(viewer.url)
    return viewer


def _open(thing: Any, options: dict[str, Any]) -> PoseViewer | MotionViewer:
    if isinstance(thing, Track | Motion | Markers):
        return MotionViewer(thing, **options)
    if isinstance(thing, Keyframes):
        return MotionViewer(thing.bake(), **options)
    skeleton, q = _find_figure(thing)
    return PoseViewer(skeleton, **({} if q is None else {"q": q}), **options)


def _embed(thing: Any, options: dict[str, Any]) -> EmbeddedView:
    shown = {name: options.pop(name) for name in SHOWN_WITH_MOTION if name in options}
    if isinstance(thing, Keyframes):
        thing = thing.bake()
    elif not isinstance(thing, Track | Motion | Markers):
        skeleton, q = _find_figure(thing)
        pose = options.pop("q", skeleton.neutral() if q is None else q)
        thing = Motion(skeleton, pose[None], 1.0)
    return EmbeddedView(PlaybackData.of(thing, **shown), **options)


def _find_figure(thing: Any) -> tuple[Skeleton, Any]:
    """Return the skeleton of something, and its pose, None if it has none."""
    if isinstance(thing, Skeleton):
        return thing, None
    for owner in (thing, getattr(thing, "problem", None)):
        skeleton = getattr(owner, "skeleton", None)
        if isinstance(skeleton, Skeleton) and hasattr(thing, "q"):
            return skeleton, thing.q
    raise UsageError(f"there is no way to show a {type(thing).__name__}")
