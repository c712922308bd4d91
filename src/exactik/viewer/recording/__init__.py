"""A recording to look at before it is solved: names, gaps, suspicions, paths of its markers."""

from exactik.viewer.recording._analog_panel import AnalogPanel, draw_channel_curve
from exactik.viewer.recording._cloud import CloudPath, measure_cloud
from exactik.viewer.recording._overview import MarkerSuspicion, RecordingOverview
from exactik.viewer.recording._panel import RecordingPanel, describe_marker
from exactik.viewer.recording._plates import PlateScene
from exactik.viewer.recording._scene import ALL, NONE, RecordingScene
from exactik.viewer.recording._strip import GapStrip, draw_strip

__all__ = [
    "ALL",
    "NONE",
    "AnalogPanel",
    "CloudPath",
    "GapStrip",
    "MarkerSuspicion",
    "PlateScene",
    "RecordingOverview",
    "RecordingPanel",
    "RecordingScene",
    "describe_marker",
    "draw_channel_curve",
    "draw_strip",
    "measure_cloud",
]
