"""A skeleton as a body: its parts, how they are at rest, its limbs."""

from exactik.retargeting.body._anatomy import (
    ARM_PARTS,
    LEG_PARTS,
    SIDES,
    Anatomy,
    BodyPart,
    find_stem,
)
from exactik.retargeting.body._bone_names import read_bone_name
from exactik.retargeting.body._figure import (
    BodyFigure,
    SourceBody,
    find_up_direction,
    measure_standing,
    rotation_between,
)
from exactik.retargeting.body._find_anatomy import find_anatomy
from exactik.retargeting.body._limbs import (
    LIMBS,
    Limb,
    find_bones_below,
    find_limb,
    find_limb_dofs,
    find_moving_coordinates,
    find_other_bones,
    find_root_dofs,
    find_stretching_dofs,
)
from exactik.retargeting.body._rest_measure import make_body_figure

__all__ = [
    "ARM_PARTS",
    "LEG_PARTS",
    "LIMBS",
    "SIDES",
    "Anatomy",
    "BodyFigure",
    "BodyPart",
    "Limb",
    "SourceBody",
    "find_anatomy",
    "find_bones_below",
    "find_limb",
    "find_limb_dofs",
    "find_moving_coordinates",
    "find_other_bones",
    "find_root_dofs",
    "find_stem",
    "find_stretching_dofs",
    "find_up_direction",
    "make_body_figure",
    "measure_standing",
    "read_bone_name",
    "rotation_between",
]
