"""What recorded points are: subjects, things beside them, and labels by shape."""

from exactik.labelling._names import find_unnamed
from exactik.labelling._objects import RigidObject, find_rigid_clusters, find_rigid_objects
from exactik.labelling._subjects import split_subjects

__all__ = [
    "RigidObject",
    "find_rigid_clusters",
    "find_rigid_objects",
    "find_unnamed",
    "split_subjects",
]
