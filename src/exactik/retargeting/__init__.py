"""Motions taken over by other figures and robots: `retarget` and what it is made of."""

from exactik.retargeting._bodies import make_target_figure, prepare_source, prepare_target
from exactik.retargeting._contacts import (
    Contact,
    ContactOptions,
    find_contacts,
    find_ground_level,
    trim_pivots,
)
from exactik.retargeting._copy_orientations import (
    OTHER_WEIGHT,
    PART_WEIGHTS,
    TWIST_WEIGHT,
    PartsCopy,
    copy_orientations,
    find_restarts,
)
from exactik.retargeting._correspondence import (
    BonePair,
    Correspondence,
    load_mapping,
    make_correspondence,
    save_mapping,
)
from exactik.retargeting._elbow_path import (
    SWIVEL_ANGLES,
    ArmSearch,
    choose_candidates,
    extract_arm,
    find_elbow_circle,
    find_elbow_path,
    place_elbows,
)
from exactik.retargeting._feet import find_stances, place_feet, shift_root
from exactik.retargeting._foot_plan import plan_foot
from exactik.retargeting._hand_reach import find_hand_reach, measure_hand_places
from exactik.retargeting._hands import Arms
from exactik.retargeting._jumps import (
    find_jump_frames,
    find_limb_jumps,
    measure_trunk_steps,
    spread_jumps,
    spread_limb_jumps,
)
from exactik.retargeting._quality import ALLOWED, LIMIT_TOLERANCE, ClipQuality, measure_quality
from exactik.retargeting._result import (
    MAX_HAND_ERROR,
    MAX_SLIDE,
    Retargeting,
    TurnSteps,
)
from exactik.retargeting._retarget import PlainRetargetOptions, RetargetOptions, retarget
from exactik.retargeting.body import (
    MAX_EXTENSION,
    MAX_HINGE_SPEED,
    BodyFigure,
    HingeSpeed,
    RestEnds,
    SourceBody,
    bend_at_least,
    find_rest_ends,
    find_speed_limits,
    is_robot,
    limit_extension,
    lower_hips,
)

__all__ = [
    "ALLOWED",
    "LIMIT_TOLERANCE",
    "MAX_EXTENSION",
    "MAX_HAND_ERROR",
    "MAX_HINGE_SPEED",
    "MAX_SLIDE",
    "OTHER_WEIGHT",
    "PART_WEIGHTS",
    "SWIVEL_ANGLES",
    "TWIST_WEIGHT",
    "ArmSearch",
    "Arms",
    "BodyFigure",
    "BonePair",
    "ClipQuality",
    "Contact",
    "ContactOptions",
    "Correspondence",
    "HingeSpeed",
    "PartsCopy",
    "PlainRetargetOptions",
    "RestEnds",
    "RetargetOptions",
    "Retargeting",
    "SourceBody",
    "TurnSteps",
    "bend_at_least",
    "choose_candidates",
    "copy_orientations",
    "extract_arm",
    "find_contacts",
    "find_elbow_circle",
    "find_elbow_path",
    "find_ground_level",
    "find_hand_reach",
    "find_jump_frames",
    "find_limb_jumps",
    "find_rest_ends",
    "find_restarts",
    "find_speed_limits",
    "find_stances",
    "is_robot",
    "limit_extension",
    "load_mapping",
    "lower_hips",
    "make_correspondence",
    "make_target_figure",
    "measure_hand_places",
    "measure_quality",
    "measure_trunk_steps",
    "place_elbows",
    "place_feet",
    "plan_foot",
    "prepare_source",
    "prepare_target",
    "retarget",
    "save_mapping",
    "shift_root",
    "spread_jumps",
    "spread_limb_jumps",
    "trim_pivots",
]
