"""What recorded points are: subjects, things beside them, and labels by shape."""

from exactik.recordings.labelling._known_sets import (
    make_named_template,
    make_set_template,
    make_template_like,
)
from exactik.recordings.labelling._label import label_markers
from exactik.recordings.labelling._labelling import Labelling
from exactik.recordings.labelling._objects import (
    RigidObject,
    find_rigid_clusters,
    find_rigid_objects,
)
from exactik.recordings.labelling._several import LabelledSubjects, label_recording, label_subjects
from exactik.recordings.labelling._subjects import split_subjects
from exactik.recordings.labelling.search import Template

__all__ = [
    "LabelledSubjects",
    "Labelling",
    "RigidObject",
    "Template",
    "find_rigid_clusters",
    "find_rigid_objects",
    "label_markers",
    "label_recording",
    "label_subjects",
    "make_named_template",
    "make_set_template",
    "make_template_like",
    "split_subjects",
]
