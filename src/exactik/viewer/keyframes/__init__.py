"""Key frames and the motion between them."""

from exactik.viewer.keyframes._clock import PlayClock
from exactik.viewer.keyframes._constraints import Key, PinConstraint
from exactik.viewer.keyframes._keyframes import Keyframes, KeyframesState
from exactik.viewer.keyframes._locks import BoneLock
from exactik.viewer.keyframes._mirror import Mirror

__all__ = ["BoneLock", "Key", "Keyframes", "KeyframesState", "Mirror", "PinConstraint", "PlayClock"]
