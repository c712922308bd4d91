"""Which markers a fit should not believe: weights of a robust loss.

As in tracking, a marker pulls as the distance up to c and no harder beyond it (Huber), c being so
many standard deviations of the markers. Unlike there, a marker much farther off hardly counts at
all: poses of one frame recover when an outlier is gone, bones of the wrong length stay.

    w(r) = 1                   r ≤ c
           c / r               c < r ≤ g c
           (c / r)(g c / r)²   beyond

The weights are held during a step and are set anew after it, once steps gain little.
"""

from __future__ import annotations

import numpy as np

from exactik.typing import Array

# [standard deviations along each axis] c. Of markers without outliers 0.6 % are farther off.
HUBER_WIDTH = 3.5
GROSS_RATIO = 2.0  # g: a swapped pair or a spike is far beyond it, skin that slides is not
MEDIAN_DISTANCE = 1.538  # [standard deviations along each axis] of a normal distribution in space
MIN_WIDTH = 1e-3  # [m] of c, so that a figure that fits perfectly does not fall out with rounding
# Largest mean change of the weights at which they are taken to be settled. With 5e-3 the sum of the
# loss came out 0.1 to 0.4 % higher on some recordings, with 2e-2 1 to 5 %.
WEIGHT_TOLERANCE = 1.5e-3


def compute_robust_weights(distances: Array) -> Array:
    """Return the weight of each marker in each frame by its distance [m], (F, M); 0 if missing."""
    seen = ~np.isnan(distances)
    if not seen.any():
        return np.zeros(distances.shape)
    width = HUBER_WIDTH * float(np.median(distances[seen])) / MEDIAN_DISTANCE
    ratio = np.where(seen, distances, 0.0) / max(width, MIN_WIDTH)
    weight = 1.0 / np.maximum(ratio, 1.0)
    weight *= np.minimum(GROSS_RATIO / np.maximum(ratio, 1e-12), 1.0) ** 2
    return np.where(seen, weight, 0.0)
