"""What recorded points are: subjects, things beside them, and labels by shape."""

from exactik.labelling._known_sets import (
    SetFit,
    list_fitting_sets,
    make_named_template,
    make_set_template,
    make_template_like,
)
from exactik.labelling._label import label_markers
from exactik.labelling._labelling import LabelledFragment, Labelling
from exactik.labelling._names import find_unnamed
from exactik.labelling._objects import RigidObject, find_rigid_clusters, find_rigid_objects
from exactik.labelling._subjects import split_subjects
from exactik.labelling._template import Template, make_template

__all__ = [
    "LabelledFragment",
    "Labelling",
    "RigidObject",
    "SetFit",
    "Template",
    "find_rigid_clusters",
    "find_rigid_objects",
    "find_unnamed",
    "label_markers",
    "list_fitting_sets",
    "make_named_template",
    "make_set_template",
    "make_template",
    "make_template_like",
    "split_subjects",
]
