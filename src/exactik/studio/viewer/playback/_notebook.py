"""Playback inside a notebook, without server or network, wherever the notebook is opened."""

from __future__ import annotations

import os
import sys
from functools import cached_property
from html import escape

from exactik.studio.viewer.playback._data import PlaybackData
from exactik.studio.viewer.playback._export import FPS, export_playback, render_html


def is_notebook() -> bool:
    """Return whether this is the kernel of a notebook, whose cells show what they return."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


class EmbeddedView:
    """A playback that a notebook shows.

    Attributes:
        data: what is shown.
        fps: frames a second, at most those of the motion.
        height: of the frame in the notebook [pixels].
    """

    def __init__(self, data: PlaybackData, *, fps: float = FPS, height: int = 480):
        """Keep the data; the page is made when it is shown."""
        self.data, self.fps, self.height = data, fps, height

    def __repr__(self) -> str:
        return f"<EmbeddedView of {self.data.played!r}>"

    @cached_property
    def html(self) -> str:
        """The page, with all that it needs."""
        return render_html(self.data, fps=self.fps)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to .html, or the figure to .glb."""
        export_playback(self.data, path, fps=self.fps)

    def _repr_html_(self) -> str:
        style = f"width:100%;height:{self.height}px;border:1px solid #ddd"
        page = escape(self.html)
        return f'<iframe srcdoc="{page}" style="{style}" sandbox="allow-scripts"></iframe>'
