"""A scene inside a notebook: no server, no network, it plays wherever the notebook is opened."""

from __future__ import annotations

import os
import sys
from functools import cached_property
from html import escape

from exactik.viewer.playback._export import FPS, export, render_html
from exactik.viewer.playback._data import PlaybackData

__all__ = ["EmbeddedView", "is_notebook"]


def is_notebook() -> bool:
    """Whether this is the kernel of a notebook, whose cells show what they return."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


class EmbeddedView:
    """Footage that a notebook shows.

    Attributes:
        footage: what is shown.
        fps: frames a second, at most those of the motion.
        height: of the frame in the notebook [pixels].
    """

    def __init__(self, playback: PlaybackData, *, fps: float = FPS, height: int = 480):
        """Keep what is to be shown; the page is made when somebody looks."""
        self.data, self.fps, self.height = playback, fps, height

    def __repr__(self) -> str:
        return f"<EmbeddedView of {self.data.motion!r}>"

    @cached_property
    def html(self) -> str:
        """The page, with all that it needs."""
        return render_html(self.data, fps=self.fps)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to .html, or the figure to .glb."""
        export(self.data, path, fps=self.fps)

    def _repr_html_(self) -> str:
        style = f"width:100%;height:{self.height}px;border:1px solid #ddd"
        return f'<iframe srcdoc="{escape(self.html)}" style="{style}"></iframe>'
