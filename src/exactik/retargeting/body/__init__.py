"""A body measured at rest, one that moves, which dofs move a limb, and how fast."""

from exactik.retargeting.body._figure import (
    MAX_EXTENSION,
    BodyFigure,
    SourceBody,
    bend_at_least,
    limit_extension,
    lower_hips,
    rotation_between,
)
from exactik.retargeting.body._limbs import (
    MAX_HINGE_SPEED,
    HingeSpeed,
    Limb,
    find_bones_below,
    find_limb,
    find_limb_dofs,
    find_moving_coordinates,
    find_other_bones,
    find_root_dofs,
    find_speed_limits,
    find_stretching_dofs,
    is_robot,
    measure_hinges,
)
from exactik.retargeting.body._mirror import UnmirroredLimit, find_unmirrored_limits, mirror_limits
from exactik.retargeting.body._rest_ends import RestEnds, find_rest_ends, leave_out
from exactik.retargeting.body._rest_measure import make_body_figure
