"""Key frames and the motion between them."""

from exactik.studio.viewer.keyframes._constraints import Key, PinConstraint
from exactik.studio.viewer.keyframes._interpolation import PlayClock, PoseInterpolator
from exactik.studio.viewer.keyframes._keyframes import Keyframes, KeyframesState
from exactik.studio.viewer.keyframes._locks import BoneLock
from exactik.studio.viewer.keyframes._mirror import Mirror
