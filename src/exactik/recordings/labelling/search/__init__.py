"""Labels by shape: seeds in single frames, poses through the recording, and rival labellings."""

from exactik.recordings.labelling.search._compare import Comparison, compare_alternatives, settle
from exactik.recordings.labelling.search._fragments import Fragment, cut_into_fragments, find_copies
from exactik.recordings.labelling.search._overlaps import TrajectoryLabels, assign_trajectories
from exactik.recordings.labelling.search._poses import (
    MAX_COST,
    LabelProblem,
    LabelState,
    make_label_problem,
)
from exactik.recordings.labelling.search._seed import Seed, find_seeds
from exactik.recordings.labelling.search._seed_frames import choose_seed_frames
from exactik.recordings.labelling.search._size import fit_size
from exactik.recordings.labelling.search._template import Template, make_template, split_template
from exactik.recordings.labelling.search._trajectories import Trajectory, join_fragments
