"""What newcomers get wrong: one sentence each that says what was given and what was expected."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import exactik as ik
from exactik.lab.landscape import compute_landscape
from exactik.lab.synthetic import simulate_recording
from exactik.model import BoneMass
from exactik.recordings.calibration import propose_mapping
from tests.support.models import planar_arm

BONES = [
    ik.Bone("base"),
    ik.Bone("arm", parent="base", joint=ik.Joint.revolute("z", limits=(-2, 2))),
    ik.Bone("hand", parent="arm", offset=(0.3, 0.0, 0.0), joint=ik.Joint.quaternion()),
]
MARKERS = {"A": ("arm", (0.1, 0.0, 0.0)), "B": ("hand", (0.2, 0.1, 0.0))}
ARM = ik.Skeleton.build("arm", BONES, MARKERS)
RECORDING = ik.Markers(np.zeros((5, 2, 3)), ("A", "B"), 100.0)
MOTION = ik.Motion(ARM, np.tile(ARM.neutral(), (5, 1)), 100.0)
STANDING = ik.Motion(ik.human(), ik.human().neutral()[None], 100.0)
GOAL = ik.PositionGoal("hand", (0.1, 0.2, 0.0))
PROBLEM = ik.Problem(ARM, GOAL)
PLANAR_DOFS = ("upper.rz", "lower.rz")
PLANAR = ik.Problem(planar_arm(), ik.MarkerGoal("HAND", (0.3, 0.3, 0.0)))
NAN = float("nan")


def anything(value: object) -> Any:
    """The same, for arguments that a type checker would refuse."""
    return cast(Any, value)


class WithoutSecondDerivative(ik.FrameGoal):
    """Returns the first derivative alone."""

    def residual(self, rotation, position):
        return np.array([1.2 - position[2]])

    def derivatives(self, rotation, position):
        return anything(np.zeros((1, 6)))


WRONG: list[tuple[Callable[[], object], str]] = [
    # skeletons
    (lambda: ik.Bone("b", parent=anything(BONES[0])), "must be the name of a bone, not a Bone"),
    (lambda: ik.Skeleton.build("x", anything(BONES[0])), "of type Bone; a skeleton is built of"),
    (lambda: ik.Skeleton.build("x", anything(None)), "of type NoneType; a skeleton is built of"),
    (lambda: ik.Skeleton.build("x", BONES, anything(["A"])), "expected {name: (bone, point)}"),
    (lambda: ik.Skeleton.build("x", BONES, anything({"A": "arm"})), "expected (bone, point)"),
    (lambda: ik.Skeleton.build("x", BONES, anything({"A": (0, 0, 0)})), "expected (bone, point)"),
    (lambda: ik.Skeleton.build("x", BONES, {"A": (anything((0, 0, 0)), "arm")}), "no bone named"),
    (lambda: ik.Skeleton.build("x", BONES, anything({"1": MARKERS["A"], 1: MARKERS["A"]})), "two"),
    (lambda: ARM.with_masses(anything({"arm": 1.0})), "is 1.0; expected BoneMass"),
    (lambda: ARM.with_masses({"arm": BoneMass(anything("1"), (0, 0, 0))}), "is 1; it must be"),
    (lambda: ARM.bone_index(anything(["arm"])), "no bone named ['arm']"),
    (lambda: ARM.marker(anything(["A"])), "no marker named ['A']"),
    (lambda: ik.Joint.free(limits=anything("wide")), "limits is 'wide', which is no array"),
    (
        lambda: ik.Joint.custom([("x", anything(abs), "a")]),
        "expected a number, None or one of",
    ),
    (lambda: ARM.integrate(np.tile(ARM.neutral(), (2, 1)), np.zeros((3, 4))), "do not broadcast"),
    (lambda: ARM.difference(MOTION.q, MOTION.q[:2]), "q1 has shape (5, 5) and q0 (2, 5)"),
    # problems
    (lambda: ik.Problem(ARM, anything(None)), "None is no goal"),
    (lambda: ik.Problem(ARM, GOAL, lock=anything(5)), "lock is 5; expected a name or pattern"),
    (lambda: ik.Problem(ARM, GOAL, lock=anything(None)), "lock is None; expected a name"),
    (lambda: ik.Problem(ARM, GOAL, lock=anything([1])), "lock is [1]; expected a name"),
    (lambda: ik.Problem(ARM, GOAL, strength=anything(0.2)), "expected {name or pattern: factor}"),
    (lambda: ik.PositionGoal("hand", (0, 0, 0), name=anything(3)), "name of a goal is 3"),
    (lambda: ik.solve(ARM, WithoutSecondDerivative("hand")), "expected (first, second)"),
    (lambda: ik.solve(PROBLEM, solver=anything(ik.Newton)), "is the class Newton; give Newton()"),
    (lambda: ik.check_derivatives(anything(ARM), ARM.neutral()), "of type Skeleton; expected Prob"),
    (lambda: compute_landscape(anything(ARM), ("a", "b")), "of type Skeleton; expected Problem"),
    (lambda: compute_landscape(PLANAR, PLANAR_DOFS, ranges=[(0, 1)]), "shape (1, 2); expected (2"),
    # recordings
    (lambda: simulate_recording(anything("walk.bvh")), "load_motion reads it from a file"),
    (lambda: ik.Markers(np.zeros((1, 2, 3)), anything(None), 100.0), "names of markers are None"),
    (lambda: ik.Markers(np.zeros((1, 2, 3)), anything(("1", 1)), 100.0), "have the same name"),
    (lambda: ik.Markers(np.zeros((1, 1, 3)), ("A",), 100.0, up_axis="up"), "must be 'x', 'y' or"),
    (lambda: ik.Motion(ARM, MOTION.q, 100.0, up_axis="up"), "must be 'x', 'y' or 'z'"),
    (lambda: ik.Motion(anything("arm.bvh"), MOTION.q, 100.0), "load_skeleton reads it from a file"),
    (lambda: RECORDING.between(NAN, 1.0), "start is nan; it must be a number of seconds"),
    (lambda: RECORDING.between(0.0, anything("1")), "end is '1'; it must be a number of seconds"),
    (lambda: RECORDING.scaled(NAN), "factor is nan; it must be a positive number"),
    (lambda: RECORDING.scaled(0.0), "factor is 0.0; it must be a positive number"),
    (lambda: RECORDING.scaled(anything("mm")), "factor is 'mm'; it must be a positive number"),
    (lambda: RECORDING.turned(anything(None)), "axes is None; expected three of X, Y and Z"),
    # files
    (lambda: ik.save_markers(anything(ARM), "x.trc"), "markers is of type Skeleton; expected Mark"),
    (lambda: ik.save_motion(anything(ARM), "x.bvh"), "motion is of type Skeleton; expected Motion"),
    (lambda: ik.save_skeleton(anything("human"), "x.npz"), "expected Skeleton; load_skeleton"),
    (lambda: RECORDING.save("x.trc", units="mm"), "no option 'units' for this format; it takes le"),
    (lambda: MOTION.save("x.npz", length_unit="mm"), "for this format; it takes quality"),
    # tracking and calibration
    (lambda: ik.track(ARM, anything("walk.c3d")), "'walk.c3d'; expected Markers; load_markers"),
    (lambda: ik.track(ARM, anything(Path("walk.c3d"))), "load_markers reads it from a file"),
    (lambda: ik.track(anything(RECORDING), anything(ARM)), "skeleton is of type Markers; expected"),
    (lambda: ik.track(ARM, anything(RECORDING.positions)), "markers is of type ndarray; expected"),
    (lambda: ik.track(ARM, RECORDING, robust=anything(["huber"])), "None, 'huber' or 'tukey'"),
    (lambda: ik.track(ARM, RECORDING, options=anything({"a": 1})), "of type dict; expected Track"),
    (lambda: ik.track_many(ARM, anything(RECORDING)), "expected a list of Markers"),
    (lambda: ik.track_many(ARM, anything(["walk.c3d"])), "load_markers reads it from a file"),
    (lambda: ik.calibrate(ARM, anything("walk.c3d")), "expected Markers; load_markers reads it"),
    (lambda: ik.calibrate(anything(RECORDING), anything(ARM)), "skeleton is of type Markers"),
    (lambda: ik.calibrate(ARM, anything(3)), "markers is 3; expected Markers"),
    (lambda: ik.calibrate(ARM, RECORDING, lock=anything(3)), "lock is 3; expected a name"),
    (lambda: ik.attach_markers(ARM, anything(MOTION), anything(RECORDING)), "of type Motion; exp"),
    # retargeting
    (lambda: ik.retarget(anything(3), ik.human()), "motion is 3; expected Motion"),
    (lambda: ik.retarget(anything("walk.bvh"), ik.human()), "load_motion reads it from a file"),
    (lambda: ik.retarget(MOTION, anything("g1.xml")), "load_skeleton reads it from a file"),
    (lambda: ik.retarget(MOTION, ARM, mapping=anything([1])), "mapping is [1]; expected {part:"),
    (lambda: ik.retarget(MOTION, ARM, mapping=anything({"head": 3})), "expected [source, target]"),
    (lambda: ik.retarget(MOTION, ARM, contacts=anything(3)), "contacts is 3; expected ContactOpt"),
    (lambda: ik.retarget(STANDING, ik.human(), up="up"), "must be 'x', 'y' or 'z'"),
    (lambda: ik.retarget(STANDING, ik.human(), target_up="up"), "must be 'x', 'y' or 'z'"),
    (lambda: ik.retarget(STANDING, ik.human(), threads=0), "threads is 0; it must be a whole"),
    (lambda: propose_mapping(ARM, anything("walk.c3d")), "load_markers reads it from a file"),
]


@pytest.mark.parametrize(("call", "words"), WRONG, ids=[words for _, words in WRONG])
def test_one_sentence_says_what_is_wrong(call: Callable[[], object], words: str) -> None:
    with pytest.raises(ik.ExactikError) as raised:
        call()
    sentence = str(raised.value)
    assert words in sentence
    assert len(sentence) < 200 and "\n" not in sentence


def test_times_beyond_a_recording_mean_its_ends() -> None:
    assert len(RECORDING.between(-np.inf, np.inf)) == 5
    assert len(RECORDING.between(0.01, 1e30)) == 4
    assert len(RECORDING.between(1e30, None)) == len(RECORDING.between(None, -1e30)) == 0


def test_up_axes_are_lower_case() -> None:
    """Files and people write both; all that compares them knows one."""
    markers = ik.Markers(np.zeros((1, 1, 3)), ("A",), 100.0, up_axis="Y")
    assert markers.up_axis == "y" and markers.turned("ZXY").up_axis == "z"
    assert ik.Motion(ARM, MOTION.q, 100.0, up_axis="Z").up_axis == "z"


def test_no_axis_is_up_where_one_points_down() -> None:
    markers = ik.Markers(np.array([[(0.0, 1.8, 0.0)]]), ("HEAD",), 100.0, up_axis="y")
    upright, hanging = markers.turned("X-ZY"), markers.turned("XZ-Y")
    assert upright.up_axis == "z" and upright.positions[0, 0, 2] > 0.0
    assert hanging.up_axis is None and hanging.positions[0, 0, 2] < 0.0
