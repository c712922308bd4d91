"""What is seen of recorded markers besides their places: labels, trails, the chosen one."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from exactik.studio.viewer.page.anchors import MARKER_ANCHOR
from exactik.studio.viewer.page.colours import (
    CHOSEN_COLOUR,
    NAMED_COLOUR,
    SUSPECT_COLOUR,
    UNNAMED_COLOUR,
    srgb_to_linear,
)
from exactik.studio.viewer.page.scene import add_shell
from exactik.studio.viewer.recording._overview import RecordingOverview
from exactik.typing import Array

NONE, MEASURED, ALL = LABELS = ("none", "measured", "all")
MAX_TRAIL_SEGMENTS = 4000  # of all markers: 96 kB a frame, which a page draws 60 times a second
MAX_SEGMENTS_PER_TRAIL = 40  # more cannot be told apart
MAX_LABELS = 100  # shown at first; moving one costs 0.03 ms of processor time a frame
LABEL_SCALE = 0.8  # of viser's letters: 9.6 pixels high
CHOSEN_LABEL_SCALE = 1.0  # the page shows the larger of two labels that would cover each other
CHOSEN_SCALE = 1.9  # radius of the shell around the chosen marker over that of markers
CHOSEN_OPACITY = 0.45
OLD_COLOURS = (
    (205, 210, 217),
    (84, 91, 100),
)  # that trails fade to, of a light page and a dark one
TRAIL_PIXELS = 1.5  # width
CLICK_PIXELS = 14.0  # from a marker within which a click means it; half a finger


def make_trails(
    positions: Array,
    frame: int,
    steps: int,
    stride: int,
    shown: NDArray[np.bool_] | Literal[True] = True,
) -> NDArray[np.float32]:
    """Return the latest way of every marker as segments [m], (steps · M, 2, 3), the newest first.

    Segments that touch a gap, or reach before the first frame, are points inside a marker that is
    seen, so that nothing shows of them.

    Args:
        positions: of all frames [m], (T, M, 3).
        frame: where trails end.
        steps: segments of each trail.
        stride: frames from one end of a segment to the other.
        shown: which markers have a trail, (M,); True for all.
    """
    frames = frame - stride * np.arange(steps + 1)
    places = positions[np.maximum(frames, 0)]
    ends = np.stack([places[:-1], places[1:]], axis=2)
    whole = np.isfinite(ends).all(axis=(2, 3)) & (frames[1:, None] >= 0) & shown
    seen = np.isfinite(places[0]).all(axis=1) & shown
    hidden = places[0, int(np.argmax(seen))] if seen.any() else np.zeros(3)
    ends = np.where(whole[..., None, None], ends, hidden)
    return ends.reshape(-1, 2, 3).astype(np.float32)


def find_marker_at(places: Array, origin: Array, direction: Array, max_angle: float) -> int | None:
    """Return the marker that lies nearest to a ray from the eye; None if none is near.

    Args:
        places: of the markers [m, world], (M, 3), NaN where missing.
        origin: of the ray [m, world].
        max_angle: between the ray and the way to a marker [rad].
    """
    ways = places - origin
    along = ways @ (direction / np.linalg.norm(direction))
    with np.errstate(invalid="ignore", divide="ignore"):
        angles = np.arccos(np.clip(along / np.linalg.norm(ways, axis=1), -1.0, 1.0))
    angles = np.where(np.isfinite(angles), angles, np.inf)
    nearest = int(np.argmin(angles)) if len(angles) > 0 else -1
    return nearest if nearest >= 0 and angles[nearest] <= max_angle else None


class RecordingScene:
    """Labels and trails of recorded markers, and a shell around the chosen one.

    Attributes:
        chosen: index of the chosen marker, None if none is.
        labels: which markers have a label, one of `LABELS`; the chosen one always has.
        trail_s: how long trails are [s].
        shows_computed: whether points that software computed are shown; the chosen one always is.
        dark: whether trails fade into a dark page.
    """

    def __init__(self, server: Any, overview: RecordingOverview, radius: float, below: str = ""):
        """Add nothing but the shell yet; places are set by `draw`."""
        self.server, self.overview, self._below = server, overview, below
        self.chosen: int | None = None
        self.trail_s = 0.0
        self.labels = MEASURED if int(overview.measured.sum()) <= MAX_LABELS else NONE
        self.shows_computed = not overview.measured.any()
        self._label_nodes: dict[int, Any] = {}
        self._trails: Any = None
        self._steps, self._stride, self.dark = 0, 1, False
        self._shell = add_shell(
            server,
            f"{below}/chosen",
            CHOSEN_SCALE * radius,
            CHOSEN_COLOUR,
            CHOSEN_OPACITY,
            visible=False,
        )

    def colours(self, frame: int | None) -> NDArray[np.uint8]:
        """Return the colours of the markers in a frame, (M, 3), linear."""
        colours = np.where(self.overview.measured[:, None], NAMED_COLOUR, UNNAMED_COLOUR)
        if frame is not None:
            suspect = self.overview.is_suspect[frame]
            colours = np.where(suspect[:, None], SUSPECT_COLOUR, colours)
        return srgb_to_linear(colours)

    def set_trails(self, seconds: float) -> None:
        """Choose how long trails are [s]; 0 for none."""
        self.trail_s = seconds
        if self._trails is not None:
            self._trails.remove()
            self._trails = None
        markers = self.overview.markers
        frames, count = round(seconds * markers.rate), len(markers.names)
        if frames < 1:
            return
        most = max(min(MAX_SEGMENTS_PER_TRAIL, MAX_TRAIL_SEGMENTS // count), 1)
        self._stride = -(-frames // most)
        self._steps = -(-frames // self._stride)
        ages = np.linspace(0.0, 1.0, self._steps + 1)[:, None, None]
        fresh = np.where(self.overview.measured[:, None], NAMED_COLOUR, UNNAMED_COLOUR)
        colours = srgb_to_linear((1.0 - ages) * fresh + ages * np.array(OLD_COLOURS[self.dark]))
        pairs = np.stack([colours[:-1], colours[1:]], axis=2).reshape(-1, 2, 3)
        self._trails = self.server.scene.add_line_segments(
            f"{self._below}/trails",
            np.zeros(pairs.shape, np.float32),
            pairs,
            thickness=TRAIL_PIXELS,
            thickness_units="screen",
        )

    def set_dark(self, dark: bool) -> None:
        """Let old ends of trails fade into a dark page, or into a light one; `draw` puts them."""
        self.dark = dark
        self.set_trails(self.trail_s)

    def draw(self, frame: int | None) -> None:
        """Show a frame of the recording, None outside of it; inside `server.atomic()`."""
        positions = self.overview.markers.positions
        places = np.full(positions.shape[1:], np.nan) if frame is None else positions[frame]
        seen = np.asarray(np.isfinite(places).all(axis=1))
        shown = self._find_labelled()
        for k in [k for k in self._label_nodes if not shown[k]]:
            self._label_nodes.pop(k).remove()
        for k in np.flatnonzero(shown):
            self._add_label(int(k))
        if self._trails is not None and frame is not None:
            shown = self.find_shown()
            self._trails.points = make_trails(positions, frame, self._steps, self._stride, shown)
        is_seen = self.chosen is not None and bool(seen[self.chosen])
        if self._shell.visible != is_seen:
            self._shell.visible = is_seen
        if self.chosen is not None and is_seen:
            self._shell.batched_positions = places[[self.chosen]].astype(np.float32)

    def find_shown(self) -> NDArray[np.bool_]:
        """Return which markers are shown where they are seen, (M,)."""
        shown = ~self.overview.computed | self.shows_computed
        if self.chosen is not None:
            shown = shown | (np.arange(len(shown)) == self.chosen)
        return shown

    def _find_labelled(self) -> NDArray[np.bool_]:
        """Return which markers have a label, (M,)."""
        shown = np.full(len(self.overview.labels), self.labels == ALL)
        if self.labels == MEASURED:
            shown = self.overview.measured
        if self.chosen is not None:
            shown = shown | (np.arange(len(shown)) == self.chosen)
        return shown

    def _add_label(self, marker: int) -> None:
        """Add the label of a marker, unless it is there; the page's script lets it stick."""
        scale = CHOSEN_LABEL_SCALE if marker == self.chosen else LABEL_SCALE
        node = self._label_nodes.get(marker)
        if node is None:
            self._label_nodes[marker] = self.server.scene.add_label(
                f"/labels/{marker}",
                self.overview.labels[marker],
                position=MARKER_ANCHOR.place_label(marker),
                font_screen_scale=scale,
                anchor="bottom-center",
            )
        elif node.font_screen_scale != scale:
            node.font_screen_scale = scale
