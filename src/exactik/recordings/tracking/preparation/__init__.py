"""Markers before they are solved: outliers left out or exchanged back, gaps filled in."""

from exactik.recordings.tracking.preparation._fill import (
    HALF_TRUST_NOISE,
    close_step,
    count_bones_between,
    cut_gaps,
    fill_gaps,
    find_neighbours,
    move_rigidly,
)
from exactik.recordings.tracking.preparation._outliers import (
    MEDIAN_DISTANCE,
    Outliers,
    PreparedMarkers,
    estimate_initial_noise,
    find_spikes,
    fits_better_exchanged,
    prepare_markers,
    remove_outliers,
)
from exactik.recordings.tracking.preparation._repair import (
    MAX_CROSSED_SHARE,
    MAX_OUTLIER_SHARE,
    MIN_OUTLIER_M,
    MIN_SUDDEN_SHARE,
    OUTLIER_RATIO,
    OUTLIER_RATIO_OF_ALL,
    repair_outliers,
)
