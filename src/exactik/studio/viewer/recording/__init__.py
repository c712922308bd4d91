"""A recording to look at before it is solved: names, gaps, suspicions, paths of its markers."""

from exactik.studio.viewer.recording._analog_panel import (
    CHANNEL_COLOUR,
    AnalogPanel,
    draw_channel_curve,
)
from exactik.studio.viewer.recording._cloud import CloudPath, measure_cloud
from exactik.studio.viewer.recording._curve import COORDINATE_COLOURS, NEVER_KNOWN, SPEED_COLOUR
from exactik.studio.viewer.recording._overview import RecordingOverview
from exactik.studio.viewer.recording._panel import RecordingPanel, describe_marker
from exactik.studio.viewer.recording._plates import PlateScene
from exactik.studio.viewer.recording._scene import (
    ALL,
    CLICK_PIXELS,
    MAX_SEGMENTS_PER_TRAIL,
    MAX_TRAIL_SEGMENTS,
    NONE,
    OLD_COLOURS,
    RecordingScene,
    find_marker_at,
    make_trails,
)
from exactik.studio.viewer.recording._strip import MAX_COLUMNS, STRIP_PIXELS, GapStrip, draw_strip
