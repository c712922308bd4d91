"""The worst marker of a frame: a line from the figure's marker to the measured one, and its name.

At its true length a residual of some millimetres is hardly seen beside a person. So the worst one
of each frame is drawn as an arrow that keeps its width on the screen, with a shell around both its
ends, and says its marker and its length.
"""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from exactik.studio.player.shapes import SPHERE_MESH
from exactik.studio.plots.axes import Bins, round_axis_end
from exactik.studio.plots.colours import format_hex
from exactik.studio.viewer.page.anchors import WORST_ANCHOR
from exactik.studio.viewer.page.colours import MARKER_COLOUR, NAMED_COLOUR, RESIDUAL_COLOUR
from exactik.studio.viewer.page.plots import (
    AROUND_PIXELS,
    TimeCurve,
    TimePlot,
    draw_time_line,
    draw_time_plot,
)
from exactik.studio.viewer.page.scene import add_shell
from exactik.studio.viewer.playback._data import PlaybackData
from exactik.typing import Array

LINE_PIXELS = 6.0  # width of the worst residual's line; twice that of the others
SHELL_OPACITY = 0.3
SHELL_SCALE = 3.0  # radius of the shell over that of a marker, where the residual is shorter
LABEL_SCALE = 1.0  # of letters over viser's


def find_worst(errors: Array) -> int | None:
    """Return the index of the largest error of a frame, None if there is none.

    Args:
        errors: of the markers [m], (K,), NaN where missing.
    """
    return int(np.nanargmax(errors)) if np.isfinite(errors).any() else None


class WorstMarkerScene:
    """The worst residual of a frame.

    Attributes:
        node: parent of all its parts.
        enabled: whether it is shown.
        marker: index of the marker that is shown, None if none is.
    """

    def __init__(self, server: Any, names: tuple[str, ...], radius: float, below: str = ""):
        """Add it to the scene, hidden.

        Args:
            names: of the figure's markers that were recorded.
        """
        self._server, self._names, self._radius = server, names, radius
        self.enabled = True
        self.marker: int | None = None
        self.node = server.scene.add_frame(f"{below}/worst", show_axes=False, visible=False)
        self._line = server.scene.add_line_segments(
            f"{below}/worst/line",
            np.zeros((1, 2, 3), np.float32),
            RESIDUAL_COLOUR,
            thickness=LINE_PIXELS,
            thickness_units="screen",
        )
        self._shell = add_shell(
            server,
            f"{below}/worst/shell",
            SHELL_SCALE * radius,
            RESIDUAL_COLOUR,
            SHELL_OPACITY,
            visible=True,
            mesh=WORST_ANCHOR.mark(SPHERE_MESH),
        )
        self._label = server.scene.add_label(
            "/worst_label",
            "",
            position=WORST_ANCHOR.place_label(0),
            font_screen_scale=LABEL_SCALE,
            anchor="bottom-left",
            visible=False,
        )

    def draw(self, errors: Array, model: Array, measured: Array, exaggeration: float) -> None:
        """Show the worst marker of a frame; to be called inside `server.atomic()`.

        Args:
            errors: of the markers [m], (K,), NaN where missing.
            model: where they are on the figure [m, world], (K, 3).
            measured: where they were measured [m, world], (K, 3).
        """
        self.marker = worst = find_worst(errors) if self.enabled else None
        if self.node.visible != (worst is not None):
            self.node.visible = self._label.visible = worst is not None
        if worst is None:
            return
        start = model[worst]
        end = start + exaggeration * (measured[worst] - start)
        length = float(np.linalg.norm(end - start))
        radius = max(0.5 * length + self._radius, SHELL_SCALE * self._radius)
        self._line.points = np.stack([start, end])[None].astype(np.float32)
        self._shell.batched_positions = (0.5 * (start + end))[None].astype(np.float32)
        self._shell.batched_scales = np.array([radius], np.float32)
        text = f"{self._names[worst]}: {1e3 * errors[worst]:.1f} mm off"
        if self._label.text != text:
            self._label.text = text


def draw_legend() -> str:
    """Return what the shapes and colours of markers mean, as HTML."""
    model, measured, residual = map(format_hex, (MARKER_COLOUR, NAMED_COLOUR, RESIDUAL_COLOUR))
    entries = (
        (f'<path d="M7 1L13 7L7 13L1 7z" fill="{model}"/>', "on the figure"),
        (f'<circle cx="7" cy="7" r="4.5" fill="{measured}"/>', "measured"),
        (f'<path d="M1 13L13 1" stroke="{residual}" stroke-width="2"/>', "residual"),
        (
            f'<circle cx="7" cy="7" r="6" fill="{residual}" opacity="0.35"/>'
            f'<path d="M4 10L10 4" stroke="{residual}" stroke-width="4"/>',
            "worst of the frame",
        ),
    )
    words = "".join(
        '<span style="display:inline-flex;align-items:center;margin-right:10px;white-space:nowrap">'
        f'<svg width="14" height="14" style="margin-right:4px">{shape}</svg>{escape(text)}</span>'
        for shape, text in entries
    )
    return f'<div class="exactik-legend" style="margin:2px 14px;font-size:12px">{words}</div>'


# --- marker errors over time: with axes and units, a line at the current frame, to click


MAX_POINTS = 390  # pixels between the edges of the timeline; each shows the largest of its frames
PLOT_PIXELS = 84  # high
NOTHING = "No marker of the figure is seen in any of these frames: there are no errors to show."


def draw_error_curve(playback: PlaybackData) -> str | None:
    """Return the largest and the mean error of each frame over time, with axes, as HTML.

    None if there are none.
    """
    mean, largest = playback.frame_errors
    if not np.isfinite(largest).any():
        return None
    bins = Bins.of(len(playback), MAX_POINTS)
    top = round_axis_end(1e3 * float(np.nanmax(largest)))
    curves = [
        TimeCurve(label, format_hex(colour), bins.middles, values, width)
        for label, colour, values, width in (
            ("worst marker", RESIDUAL_COLOUR, 1e3 * bins.most(largest), 1.2),
            ("mean of all", MARKER_COLOUR, 1e3 * bins.most(mean), 2.0),
        )
    ]
    return draw_time_plot(
        "error of markers [mm]",
        curves,
        (0.0, 0.5 * top, top),
        len(playback),
        playback.rate,
        height=PLOT_PIXELS,
        name="exactik-errors",
    )


class ErrorCurve(TimePlot):
    """The plot on the page, with a line at the current frame.

    Attributes:
        height: of it on the page, with its axes [pixels].
    """

    height = PLOT_PIXELS + AROUND_PIXELS

    def __init__(self, gui: Any, playback: PlaybackData):
        """Add the plot to a panel."""
        super().__init__(gui, len(playback), lambda share: draw_time_line(share, PLOT_PIXELS))
        drawn = draw_error_curve(playback)
        if drawn is None:
            self.say(NOTHING)
        else:
            self.draw(drawn)
