"""A body measured at rest, one that moves, and which of its dofs move a limb."""

from exactik.retargeting.body._figure import BodyFigure, SourceBody, rotation_between
from exactik.retargeting.body._limbs import (
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
    "BodyFigure",
    "Limb",
    "SourceBody",
    "find_bones_below",
    "find_limb",
    "find_limb_dofs",
    "find_moving_coordinates",
    "find_other_bones",
    "find_root_dofs",
    "find_stretching_dofs",
    "make_body_figure",
    "rotation_between",
]
