"""Markers solved while people move: sources, the pose of each frame, and where poses go.

A `FrameSource` delivers `LiveFrame`s, `LiveSolver` makes a `LivePose` of each and a `PoseSink`
takes it; `LiveSession` runs them.
"""

from exactik.recordings.live._frames import (
    FrameSource,
    LiveEvent,
    LiveFrame,
    LivePose,
    PoseSink,
    SourceLostError,
)
from exactik.recordings.live._prepare import collect_markers, prepare_live
from exactik.recordings.live._session import MIN_PREPARE_SECONDS, LiveReport, LiveSession
from exactik.recordings.live._sinks import LslSink, MotionFile, UdpSink, read_part, remove_part
from exactik.recordings.live._solver import LiveSolver
from exactik.recordings.live._sources import (
    LOOPBACK,
    FileSource,
    UdpSource,
    format_frame,
    parse_frame,
)
from exactik.recordings.live._vendors import LslSource, OptiTrackSource, QualisysSource

__all__ = [
    "LOOPBACK",
    "MIN_PREPARE_SECONDS",
    "FileSource",
    "FrameSource",
    "LiveEvent",
    "LiveFrame",
    "LivePose",
    "LiveReport",
    "LiveSession",
    "LiveSolver",
    "LslSink",
    "LslSource",
    "MotionFile",
    "OptiTrackSource",
    "PoseSink",
    "QualisysSource",
    "SourceLostError",
    "UdpSink",
    "UdpSource",
    "collect_markers",
    "format_frame",
    "parse_frame",
    "prepare_live",
    "read_part",
    "remove_part",
]
