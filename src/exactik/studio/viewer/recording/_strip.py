"""When every marker is seen: one row a marker, one column a stretch of time, as SVG."""

from __future__ import annotations

from html import escape
from typing import Any

from exactik.model.motion import find_segments
from exactik.studio.plots.axes import Bins
from exactik.studio.plots.colours import format_hex
from exactik.studio.plots.drawing import draw_bars
from exactik.studio.viewer.page.camera import LOW_WINDOW_PIXELS
from exactik.studio.viewer.page.channel import SEEK_AREA
from exactik.studio.viewer.page.colours import NAMED_COLOUR, SUSPECT_COLOUR, UNNAMED_COLOUR
from exactik.studio.viewer.page.plots import TimePlot
from exactik.studio.viewer.recording._overview import RecordingOverview
from exactik.typing import BoolArray

MAX_COLUMNS = 390  # pixels between the edges of the timeline
STRIP_PIXELS = 180  # high at most; more rows are scrolled
LOW_STRIP_PIXELS = 64  # high in a low window, which the strip would fill
MIN_ROW_PIXELS, MAX_ROW_PIXELS = 3, 9  # with a pixel between two: 60 markers take 180
MARGIN_PIXELS = 16  # left and right, as of the slider above
AXIS_PIXELS = 24  # high, below the rows
CURSOR_COLOUR = "#cc50a0"


def draw_strip(overview: RecordingOverview) -> tuple[str, int]:
    """Return the rows in `RecordingOverview.order`, as HTML, and their height [pixels].

    A column is empty in the row of a marker that is missing in any of its frames, so that no gap is
    too short to be seen.
    """
    frames, count = overview.missing.shape
    bins = Bins.of(frames, MAX_COLUMNS)
    gaps, suspect = bins.any(overview.missing), bins.any(overview.is_suspect)
    row = min(max(STRIP_PIXELS // max(count, 1), MIN_ROW_PIXELS), MAX_ROW_PIXELS)
    titles, paths = [], dict.fromkeys((NAMED_COLOUR, UNNAMED_COLOUR, SUSPECT_COLOUR), "")
    for place, m in enumerate(overview.order):
        colour = NAMED_COLOUR if overview.measured[m] else UNNAMED_COLOUR
        top = place * row
        paths[colour] += _draw_bars(~gaps[:, m], bins, top, row - 1)
        paths[SUSPECT_COLOUR] += _draw_bars(suspect[:, m], bins, top, row - 1)
        titles.append(
            f'<rect y="{top}" width="{frames}" height="{row}" fill="transparent">'
            f"<title>{escape(_describe_row(overview, m))}</title></rect>"
        )
    drawn = "".join(
        f'<path d="{path}" fill="{format_hex(colour)}"/>' for colour, path in paths.items() if path
    )
    height = count * row
    shown = min(height, STRIP_PIXELS)
    svg = (
        f'<svg width="100%" height="{height}" viewBox="0 0 {frames} {height}" '
        f'preserveAspectRatio="none" style="display:block;cursor:pointer" {SEEK_AREA}="rows">'
        f"{drawn}{''.join(titles)}</svg>"
    )
    style = f"margin:0 {MARGIN_PIXELS}px;max-height:{STRIP_PIXELS}px;overflow-y:auto"
    frame = "background:rgba(128,128,128,0.12)"
    rows = f'<div class="exactik-strip" style="{style};{frame}">{svg}</div>'
    return _draw_style(height) + rows + _draw_axis(frames / overview.markers.rate), shown


def _draw_style(height: int) -> str:
    """Return what makes rows of a height [pixels] and their line lower in a low window, as HTML.

    All rows stay in view if they were; else they are scrolled as before.
    """
    low = f"{min(height, LOW_STRIP_PIXELS)}px!important"
    squeezed = f".exactik-strip svg{{height:{low}}}" if height <= STRIP_PIXELS else ""
    return (
        f"<style>@media (max-height:{LOW_WINDOW_PIXELS}px){{.exactik-strip{{max-height:{low}}}"
        f".exactik-strip-line{{height:{low}}}{squeezed}}}</style>"
    )


def _draw_bars(flags: BoolArray, bins: Bins, top: int, height: int) -> str:
    """Return bars for the columns with a flag, as the path of an SVG."""
    spans = ((int(bins.edges[a]), int(bins.ends[b])) for a, b in find_segments(flags))
    return draw_bars(spans, top, height)


def _describe_row(overview: RecordingOverview, marker: int) -> str:
    missing = 100.0 * float(overview.missing[:, marker].mean())
    return f"{overview.markers.names[marker]}: missing in {missing:.1f} % of the frames"


def _draw_axis(seconds: float) -> str:
    """Return the times below the rows."""
    ends = "".join(f"<span>{share * seconds:.3g} s</span>" for share in (0.0, 0.5, 1.0))
    style = (
        f"display:flex;justify-content:space-between;margin:0 {MARGIN_PIXELS}px 6px;"
        "font-size:11px;opacity:0.75"
    )
    return f'<div style="{style}">{ends}</div>'


class GapStrip(TimePlot):
    """The rows on the page, with a line at the current frame.

    Attributes:
        height: of them on the page, with their axis [pixels].
        low_height: likewise, in a low window.
    """

    def __init__(self, gui: Any, overview: RecordingOverview):
        """Add the strip to a panel."""
        rows, height = draw_strip(overview)
        super().__init__(gui, len(overview.markers), lambda share: _draw_line(share, height))
        self.height = height + AXIS_PIXELS
        self.low_height = min(height, LOW_STRIP_PIXELS) + AXIS_PIXELS
        self.draw(rows)


def _draw_line(share: float, height: int) -> str:
    line = (
        f"position:absolute;left:{100.0 * share:.3f}%;top:0;width:2px;margin-left:-1px;"
        f"height:{height}px;background:{CURSOR_COLOUR};pointer-events:none;z-index:1"
    )
    around = f"position:relative;height:0;margin:0 {MARGIN_PIXELS}px"
    return f'<div style="{around}"><div class="exactik-strip-line" style="{line}"></div></div>'
