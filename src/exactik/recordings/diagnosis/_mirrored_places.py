"""Whether markers of the same landmark sit alike on the left and on the right.

A fit moves markers on their bones to where the recording has them, and so hides a leg that is not
where it should be, the more the less moves. How far a marker moved says little: the place that a
landmark has on the figure may be wrong by several centimetres, but then it is on both sides.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from exactik.anatomy.marker_sets import list_landmarks
from exactik.model import Skeleton, human
from exactik.recordings.calibration import has_landmarks
from exactik.recordings.diagnosis._context import MarkerUse
from exactik.recordings.diagnosis._figure import measure_stature

MIN_PLACE_SD = 0.02
"""[m, of a figure of 1.75 m] to which a bony landmark is found alike on both sides, at best: hands
differ by 1 to 2 cm, and the bone's frame turns by some degrees. Landmarks of the pelvis have a
smaller sd, for the sake of the hips."""
MIRROR = np.array([1.0, -1.0, 1.0])
"""From a place on a left bone to that on the right one: the frames of `human` have y to the left on
both sides."""


class PlaceDifference(NamedTuple):
    """How far the markers of a landmark are from being mirror images of each other.

    Attributes:
        left: marker of the skeleton.
        right: its partner.
        distance: of the one's place on its bone from the mirror image of the other's [m].
        z: the same in standard deviations of such a place, at the figure's size.
    """

    left: str
    right: str
    distance: float
    z: float


def find_place_differences(
    skeleton: Skeleton, uses: Sequence[MarkerUse], seen: Collection[str]
) -> tuple[PlaceDifference, ...]:
    """Return how left and right markers differ in their places on their bones, the worst first.

    Nothing on a figure without the bones of `human`, whose left and right frames are not known to
    be mirror images.

    Args:
        skeleton: the figure, with markers where a fit has put them.
        uses: what each marker is.
        seen: markers of the skeleton that the recording has.
    """
    if not has_landmarks(skeleton):
        return ()
    landmarks = list_landmarks()
    markers = {
        use.landmark: use.marker
        for use in uses
        if use.marker in seen
        and use.landmark in landmarks
        and not landmarks[use.landmark].is_cluster
        and landmarks[use.landmark].bone == use.bone
    }
    size = measure_stature(skeleton) / measure_stature(human())
    found = []
    for landmark, left in markers.items():
        right = markers.get(f"r_{landmark[2:]}") if landmarks[landmark].side == "l" else None
        if left is None or right is None:
            continue
        image = MIRROR * skeleton.marker(left)[1]
        distance = float(np.linalg.norm(image - skeleton.marker(right)[1]))
        sd = size * max(landmarks[landmark].sd, MIN_PLACE_SD)
        found.append(PlaceDifference(left, right, distance, distance / sd))
    return tuple(sorted(found, key=lambda difference: -difference.z))
