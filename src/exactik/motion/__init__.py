"""Recordings: marker positions and joint coordinates over time."""

from exactik.motion._markers import Markers, Series
from exactik.motion._motion import Motion

__all__ = ["Markers", "Motion", "Series"]
