"""From markers to motion."""

from exactik.tracking._attention import Attention
from exactik.tracking._track import track
from exactik.tracking._tracked import Track

__all__ = ["Attention", "Track", "track"]
