"""exactik: exact second-order inverse kinematics of articulated figures."""

import typing as _typing

from exactik import functions
from exactik.archive import ArchiveResult, archive
from exactik.batch import BatchResult, solve_batch
from exactik.calibration import (
    Calibration,
    MarkerMapping,
    attach_markers,
    calibrate,
    propose_mapping,
)
from exactik.check import check_derivatives
from exactik.errors import (
    CoordinateError,
    ExactikError,
    FileError,
    FileWarning,
    GoalError,
    ModelError,
    NonFiniteError,
    ShapeError,
    UnknownNameError,
    UsageError,
)
from exactik.goals import (
    AimGoal,
    DirectionGoal,
    FrameGoal,
    Goal,
    MarkerGoal,
    OrientationGoal,
    PoseGoal,
    PositionGoal,
    PostureGoal,
    SoftLimitGoal,
)
from exactik.io import (
    Conversion,
    JointPlace,
    convert,
    load_joint_names,
    load_markers,
    load_motion,
    load_skeleton,
    save_markers,
    save_motion,
    save_skeleton,
)
from exactik.model import (
    Bone,
    Coupling,
    Joint,
    JointAxis,
    Pose,
    Skeleton,
    hand,
    human,
    octopus,
    quadruped,
)
from exactik.motion import Analog, ForcePlate, Markers, Motion, Series
from exactik.problem import Problem, ScipyProblem
from exactik.retargeting import Retargeting, retarget
from exactik.solvers import (
    BFGS,
    CCD,
    LBFGS,
    STATUSES,
    Auto,
    Certificate,
    CompiledMethod,
    Covariance,
    DampedLeastSquares,
    GaussNewton,
    History,
    JacobianTranspose,
    LevenbergMarquardt,
    Method,
    Newton,
    NewtonHigham,
    NewtonPCG,
    Place,
    ProjectedCG,
    ProjectedGradient,
    PseudoInverse,
    PythonMethod,
    Result,
    Solver,
    Stepper,
    View,
    solve,
    solvers,
)
from exactik.tracking import Attention, Track, track, track_many

if _typing.TYPE_CHECKING:
    from exactik.viewer import Keyframes, PosingSession, view

__all__ = [
    "BFGS",
    "CCD",
    "LBFGS",
    "STATUSES",
    "AimGoal",
    "Analog",
    "ArchiveResult",
    "Attention",
    "Auto",
    "BatchResult",
    "Bone",
    "Calibration",
    "Certificate",
    "CompiledMethod",
    "Conversion",
    "CoordinateError",
    "Coupling",
    "Covariance",
    "DampedLeastSquares",
    "DirectionGoal",
    "ExactikError",
    "FileError",
    "FileWarning",
    "ForcePlate",
    "FrameGoal",
    "GaussNewton",
    "Goal",
    "GoalError",
    "History",
    "JacobianTranspose",
    "Joint",
    "JointAxis",
    "JointPlace",
    "Keyframes",
    "LevenbergMarquardt",
    "MarkerGoal",
    "MarkerMapping",
    "Markers",
    "Method",
    "ModelError",
    "Motion",
    "Newton",
    "NewtonHigham",
    "NewtonPCG",
    "NonFiniteError",
    "OrientationGoal",
    "Place",
    "Pose",
    "PoseGoal",
    "PosingSession",
    "PositionGoal",
    "PostureGoal",
    "Problem",
    "ProjectedCG",
    "ProjectedGradient",
    "PseudoInverse",
    "PythonMethod",
    "Result",
    "Retargeting",
    "ScipyProblem",
    "Series",
    "ShapeError",
    "Skeleton",
    "SoftLimitGoal",
    "Solver",
    "Stepper",
    "Track",
    "UnknownNameError",
    "UsageError",
    "View",
    "archive",
    "attach_markers",
    "calibrate",
    "check_derivatives",
    "convert",
    "functions",
    "hand",
    "human",
    "load_joint_names",
    "load_markers",
    "load_motion",
    "load_skeleton",
    "octopus",
    "propose_mapping",
    "quadruped",
    "retarget",
    "save_markers",
    "save_motion",
    "save_skeleton",
    "solve",
    "solve_batch",
    "solvers",
    "track",
    "track_many",
    "view",
]

__version__ = "0.2.0"


def __getattr__(name: str) -> _typing.Any:
    """Load the viewer when it is first asked for: most programs solve and show no page."""
    if name in ("Keyframes", "PosingSession", "view"):
        from exactik import viewer

        return getattr(viewer, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
