"""The body in words, once: sides, parts and limbs of any figure, by names and by shape.

`describe_body` says what each bone of a skeleton is, `find_symmetry` which bones are each other's
mirror images, `find_figure_up` which axis is up, `read_bone_name` what a single name says. Names of
markers and where they are on the body: `exactik.anatomy.marker_sets`.
"""

from exactik.anatomy._bone_tree import (
    ARM_PARTS,
    LEG_PARTS,
    LIKELY,
    LIMB_PARTS,
    LIMBS,
    SIDES,
    Anatomy,
    BodyPart,
    find_stem,
)
from exactik.anatomy._describe import describe_body, describe_whole_body, find_limbs
from exactik.anatomy._names import (
    find_mirrored_name,
    is_side_word,
    list_mirrored_names,
    read_bone_name,
)
from exactik.anatomy._standing import (
    find_body_up,
    find_figure_up,
    find_left_direction,
    find_rest_pose,
    find_up_axis,
    find_up_direction,
    make_unit,
    measure_standing,
    stand_up_skeleton,
)
from exactik.anatomy._symmetry import (
    Symmetry,
    find_moving_parts,
    find_partners,
    find_symmetry,
    reflect,
)

__all__ = [
    "ARM_PARTS",
    "LEG_PARTS",
    "LIKELY",
    "LIMBS",
    "LIMB_PARTS",
    "SIDES",
    "Anatomy",
    "BodyPart",
    "Symmetry",
    "describe_body",
    "describe_whole_body",
    "find_body_up",
    "find_figure_up",
    "find_left_direction",
    "find_limbs",
    "find_mirrored_name",
    "find_moving_parts",
    "find_partners",
    "find_rest_pose",
    "find_stem",
    "find_symmetry",
    "find_up_axis",
    "find_up_direction",
    "is_side_word",
    "list_mirrored_names",
    "make_unit",
    "measure_standing",
    "read_bone_name",
    "reflect",
    "stand_up_skeleton",
]
