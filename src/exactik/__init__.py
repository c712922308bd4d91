"""exactik: exact second-order inverse kinematics of articulated figures.

What programs begin with is here; what they meet later is in the packages: `exactik.solvers` has
every method and what results are made of, `exactik.errors` the exceptions, `exactik.model` and
`exactik.model.motion` the parts of figures and recordings.
"""

import typing as _typing

from exactik import _registry
from exactik._renamed import warn_renamed as _warn_renamed
from exactik._version import __version__ as __version__
from exactik.errors import ExactikError, FileError, FileWarning, UsageError
from exactik.goals import (
    AimGoal,
    CenterOfMassGoal,
    Collisions,
    DirectionGoal,
    DistanceGoal,
    FrameGoal,
    Goal,
    LineGoal,
    MarkerGoal,
    OrientationGoal,
    PlaneGoal,
    PoseGoal,
    PositionGoal,
    PostureGoal,
    SoftLimitGoal,
)
from exactik.model import Bone, Coupling, Joint, Loop, Skeleton, hand, human, octopus, quadruped
from exactik.model.motion import Markers, Motion
from exactik.problem import Problem
from exactik.solvers import (
    Auto,
    LevenbergMarquardt,
    Newton,
    ProjectedGradient,
    Result,
    Solver,
    list_solvers,
    solve,
)
from exactik.solvers.batch import solve_batch
from exactik.solvers.control import Servo

if _typing.TYPE_CHECKING:
    from exactik.archive import solve_archive
    from exactik.io import (
        convert,
        load_markers,
        load_motion,
        load_skeleton,
        save_markers,
        save_motion,
        save_skeleton,
    )
    from exactik.lab.check import check_derivatives
    from exactik.recordings.calibration import attach_markers, calibrate, propose_mapping
    from exactik.recordings.tracking import Track, track, track_many
    from exactik.retargeting import retarget
    from exactik.studio.viewer import Keyframes, PosingSession, view

__all__ = [
    "AimGoal",
    "Auto",
    "Bone",
    "CenterOfMassGoal",
    "Collisions",
    "Coupling",
    "DirectionGoal",
    "DistanceGoal",
    "ExactikError",
    "FileError",
    "FileWarning",
    "FrameGoal",
    "Goal",
    "Joint",
    "Keyframes",
    "LevenbergMarquardt",
    "LineGoal",
    "Loop",
    "MarkerGoal",
    "Markers",
    "Motion",
    "Newton",
    "OrientationGoal",
    "PlaneGoal",
    "PoseGoal",
    "PosingSession",
    "PositionGoal",
    "PostureGoal",
    "Problem",
    "ProjectedGradient",
    "Result",
    "Servo",
    "Skeleton",
    "SoftLimitGoal",
    "Solver",
    "Track",
    "UsageError",
    "attach_markers",
    "calibrate",
    "check_derivatives",
    "convert",
    "hand",
    "human",
    "list_solvers",
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
    "solve_archive",
    "solve_batch",
    "track",
    "track_many",
    "view",
]

for _name, _place in {
    "ANGLE_NAMES": "exactik.recordings.angles:ANGLE_NAMES",
    "compute_joint_angles": "exactik.recordings.angles:compute_joint_angles",
    "render_card": "exactik.studio.cards:render_card",
    "write_report": "exactik.studio.report:write_report",
    "save_markers": "exactik.io:save_markers",
    "save_motion": "exactik.io:save_motion",
    "write_retargeting_report": "exactik.studio.report:write_retargeting_report",
    "diagnose": "exactik.recordings.diagnosis:diagnose",
    "explain_frames": "exactik.recordings.diagnosis:explain_frames",
    "judge_findings": "exactik.recordings.diagnosis:judge_findings",
    "list_stretches": "exactik.recordings.diagnosis:list_stretches",
}.items():
    _registry.provide(_name, _place)

# Loaded when first asked for: a program that solves poses waits for none of it.
_LATE = {
    "archive": "solve_archive",
    "io": "convert load_markers load_motion load_skeleton save_markers save_motion save_skeleton",
    "lab.check": "check_derivatives",
    "recordings.calibration": "attach_markers calibrate propose_mapping",
    "recordings.tracking": "Track track track_many",
    "retargeting": "retarget",
    "studio.viewer": "Keyframes PosingSession view",
}
_LATE_PACKAGES = ("anatomy", "archive", "io", "lab", "recordings", "retargeting", "studio")

# Where the names are that were here once; they still work, with a warning.
_MOVED = {
    "archive": "ArchiveResult",
    "errors": "CoordinateError GoalError ModelError NonFiniteError ShapeError UnknownNameError",
    "io": "Conversion JointPlace load_joint_names",
    "model": "JointAxis Pose functions",
    "model.motion": "Analog ForcePlate Series",
    "problem": "ScipyProblem",
    "recordings.calibration": "Calibration MarkerMapping",
    "recordings.diagnosis": "Finding",
    "retargeting": "Retargeting",
    "solvers": "BFGS CCD LBFGS STATUSES Certificate CompiledMethod Covariance DampedLeastSquares "
    "GaussNewton History Iterate JacobianTranspose Method NewtonHigham NewtonPCG ProjectedCG "
    "PseudoInverse PythonMethod Stepper View",
    "solvers.batch": "BatchResult",
}


def _find_package(name: str, table: dict[str, str]) -> str | None:
    """Return the package that a table lists the name in."""
    return next((package for package, names in table.items() if name in names.split()), None)


def __getattr__(name: str) -> _typing.Any:
    """Load what is not loaded yet, or find a name of an earlier version where it is now."""
    from importlib import import_module

    if name in _LATE_PACKAGES:
        return import_module(f"exactik.{name}")
    if (package := _find_package(name, _LATE)) is not None:
        found = globals()[name] = getattr(import_module(f"exactik.{package}"), name)
        return found
    renamed = {"Place": ("solvers", "Iterate"), "Attention": ("recordings.diagnosis", "Finding")}
    package, own = renamed.get(name, (_find_package(name, _MOVED), name))
    if package is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    _warn_renamed(f"exactik.{name}", f"exactik.{package}.{own}")
    return getattr(import_module(f"exactik.{package}"), own)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_LATE_PACKAGES})
