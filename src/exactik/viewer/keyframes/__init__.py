"""Key frames and the motion between them."""

from exactik.viewer.keyframes._constraints import Key, PinConstraint
from exactik.viewer.keyframes._keyframes import Keyframes

__all__ = ["Key", "Keyframes", "PinConstraint"]
