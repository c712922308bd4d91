"""Markers before they are solved: outliers left out or exchanged back, gaps filled in."""

from exactik.recordings.tracking.preparation._fill import (
    close_step,
    count_bones_between,
    cut_gaps,
    fill_gaps,
    find_neighbours,
    move_rigidly,
)
from exactik.recordings.tracking.preparation._outliers import (
    Outliers,
    PreparedMarkers,
    estimate_initial_noise,
    find_spikes,
    fits_better_exchanged,
    prepare_markers,
    remove_outliers,
)
from exactik.recordings.tracking.preparation._repair import find_gross_outliers, repair_outliers
