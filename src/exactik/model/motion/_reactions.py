"""What force plates measured at the times of a recording's frames."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.errors import ExactikError
from exactik.model.motion._force_plates import ForcePlate
from exactik.model.motion._markers import Markers
from exactik.typing import Array


class PlateReactions(NamedTuple):
    """What a plate measured at the times of the frames.

    Attributes:
        places: centre of pressure [m, world], (T, 3); NaN where nothing is on the plate.
        forces: ground reaction [N, world], (T, 3).
    """

    places: Array
    forces: Array


def sample_reactions(plate: ForcePlate, markers: Markers) -> PlateReactions:
    """Return the samples of a plate at the times of the frames; nothing where it has none."""
    nothing = np.full((len(markers), 3), np.nan)
    try:
        places, forces = plate.centre_of_pressure, plate.force
    except ExactikError:  # its file has gone
        return PlateReactions(places=nothing, forces=nothing)
    samples = np.rint(np.arange(len(markers)) * plate.rate / markers.rate).astype(np.int64)
    inside = samples < len(places)
    sampled = np.array([nothing, nothing])
    sampled[:, inside] = np.stack([places, forces])[:, samples[inside]]
    return PlateReactions(places=sampled[0], forces=sampled[1])
