"""From markers to motion."""

from exactik.mocap._attention import Attention
from exactik.mocap._track import track
from exactik.mocap._tracked import Track

__all__ = ["Attention", "Track", "track"]
