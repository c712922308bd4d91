"""One call to look at anything that can be looked at."""

from __future__ import annotations

import webbrowser
from typing import Any

from exactik.errors import ModelError
from exactik.model import Skeleton
from exactik.motion import Motion
from exactik.viewer._keyframes import Keyframes
from exactik.viewer._play_app import MotionViewer
from exactik.viewer._pose_app import PoseViewer

__all__ = ["view"]


def view(
    thing: Skeleton | Motion | Keyframes | Any,
    *,
    block: bool = True,
    browser: bool = True,
    **options: Any,
) -> PoseViewer | MotionViewer:
    """Show a figure to be posed, or a motion to be played, in a browser; needs `exactik[viewer]`.

    Args:
        thing: a skeleton, a motion, key frames, or anything with a `motion` or a `skeleton` and
            `q`: a track, a result, a session.
        block: return when Ctrl-C is pressed; else at once, with the viewer still open.
        browser: open the page; else only its address is printed.
        options: `q` for a skeleton; `host`, `port`, `expose`, see `PoseViewer`.
    """
    shown: PoseViewer | MotionViewer
    thing = getattr(thing, "motion", thing)
    problem = getattr(thing, "problem", None)
    if isinstance(thing, Keyframes):
        shown = MotionViewer(thing.bake(), **options)
    elif isinstance(thing, Motion):
        shown = MotionViewer(thing, **options)
    elif isinstance(thing, Skeleton):
        shown = PoseViewer(thing, **options)
    elif isinstance(getattr(thing, "skeleton", None), Skeleton) and hasattr(thing, "q"):
        shown = PoseViewer(thing.skeleton, thing.q, **options)
    elif problem is not None and isinstance(getattr(problem, "skeleton", None), Skeleton):
        shown = PoseViewer(problem.skeleton, thing.q, **options)
    else:
        raise ModelError(f"there is no way to show a {type(thing).__name__}")
    print(
        f"The page is at {shown.url} (Ctrl-C ends it)" if block else f"The page is at {shown.url}"
    )
    if browser:
        webbrowser.open(shown.url)
    if block:
        try:
            shown.wait()
        finally:
            shown.close()
    return shown
