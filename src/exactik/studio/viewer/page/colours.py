"""The colours of the scene, and the form in which the page expects them.

The page takes the colours of batched meshes as linear light, not as sRGB: amber sent as it is comes
out yellow, and blue teal. `srgb_to_linear` converts them.

The colours differ for the colour-blind too; text says the same in words. Those of curves have a
contrast of 3 or more to their ground on light pages and on dark ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exactik.model.visuals import srgb_to_linear as convert_to_linear

BONE_COLOUR, JOINT_COLOUR = (126, 138, 156), (74, 84, 100)
LIMIT_COLOURS = (BONE_COLOUR, (230, 159, 0), (200, 30, 30))  # inside, near a limit, at it
# Handles.
FREE_COLOUR, PINNED_COLOUR, DRAGGED_COLOUR = (236, 238, 242), (0, 132, 204), (204, 80, 160)
MARKER_COLOUR = (0, 150, 109)  # of the figure
RESIDUAL_COLOUR, GHOST_COLOUR = (204, 80, 160), (86, 140, 233)
# Of a ghost on a light page and on a dark one, where colours shine less; through one of them
# another must be seen.
GHOST_OPACITIES = (0.35, 0.6)
# Markers alone: with a name, without one, that look wrong, the chosen one.
NAMED_COLOUR, UNNAMED_COLOUR = (0, 132, 204), (122, 127, 134)
SUSPECT_COLOUR, CHOSEN_COLOUR = (213, 94, 0), (230, 159, 0)
FORCE_COLOUR = (176, 30, 60)  # of a ground reaction


def srgb_to_linear(colours: ArrayLike) -> NDArray[np.uint8]:
    """Return linear colours, (…, 3), of sRGB colours, (…, 3), both from 0 to 255."""
    linear = convert_to_linear(np.asarray(colours, dtype=float) / 255.0)
    return np.round(255.0 * linear).astype(np.uint8)
