"""Force plates in a scene: their surfaces, and ground reactions as vectors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.model.motion import Markers, sample_reactions
from exactik.typing import Array, IntArray

METRES_PER_NEWTON = 1e-3  # of a vector: who stands on both legs gets two that reach to the knees


class ShownPlate(NamedTuple):
    """A force plate at the frames that are shown; z up."""

    corners: Array  # of its surface [m, world], (4, 3)
    feet: Array  # centres of pressure [m, world], (K, 3); NaN where nothing is on it
    tips: Array  # where the vectors of the ground reaction end [m, world], (K, 3)


def show_plates(
    recording: Markers, frames: IntArray, R_shown_world: Array
) -> tuple[ShownPlate, ...]:
    """Return the force plates of a recording.

    Args:
        frames: that are shown, (K,).
        R_shown_world: from axes of the recording to those that are shown, (3, 3).
    """
    plates = []
    for plate in recording.force_plates:
        reactions = sample_reactions(plate, recording)
        feet = reactions.places[frames]
        tips = feet + METRES_PER_NEWTON * reactions.forces[frames]
        feet, tips = (np.where(np.isfinite(tips), ends, np.nan) for ends in (feet, tips))
        plates.append(
            ShownPlate(
                corners=plate.corners @ R_shown_world.T,
                feet=feet @ R_shown_world.T,
                tips=tips @ R_shown_world.T,
            )
        )
    return tuple(plates)
