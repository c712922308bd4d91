"""Labels by shape: seeds in single frames, poses through the recording, and rival labellings."""

from exactik.recordings.labelling.search._assignment import TrajectoryLabels, assign_trajectories
from exactik.recordings.labelling.search._compare import Comparison, compare_alternatives, settle
from exactik.recordings.labelling.search._poses import (
    MAX_COST,
    LabelProblem,
    LabelState,
    fit_size,
    make_label_problem,
)
from exactik.recordings.labelling.search._seed import Seed, choose_seed_frames, find_seeds
from exactik.recordings.labelling.search._template import Template, make_template, split_template
from exactik.recordings.labelling.search._trajectories import (
    Trajectory,
    cut_into_fragments,
    find_copies,
    join_fragments,
)
