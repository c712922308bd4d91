"""Models of OpenSim: five versions of one leg, what is odd or wrong in files, coordinates.

What OpenSim itself says is in tests/io/test_opensim_judge.py; the numbers in `LEG_PLACES` are
its answers for the leg of `tests.support.opensim_files`.
"""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik.errors import FileError, FileWarning
from exactik.io import inspect_file, load_opensim_model
from exactik.io.opensim.scaling import GenericModel
from exactik.io.tables import _mot
from exactik.spatial import euler_angles, exp_rotation
from exactik.typing import Array
from tests.support.checkout import ROOT
from tests.support.opensim_files import make_leg

VERSIONS = (20302, 20303, 30000, 40000, 40500)
LEG_PLACES = ROOT / "tests" / "support" / "opensim_leg.json"


@pytest.fixture
def leg(tmp_path: Path) -> Path:
    path = tmp_path / "leg.osim"
    path.write_text(make_leg())
    return path


@pytest.mark.parametrize("version", VERSIONS)
def test_a_leg_stands_where_opensim_has_it(tmp_path: Path, version: int) -> None:
    """All versions say the same; a spline, a polynomial, a coupler and turned frames are in it."""
    path = tmp_path / "leg.osim"
    path.write_text(make_leg(version))
    skeleton = ik.load_skeleton(path)
    answers = json.loads(LEG_PLACES.read_text())
    values = dict(zip(answers["coordinates"], np.array(answers["values"]).T, strict=True))
    q = np.stack([values[name.rpartition(".")[2]] for name in skeleton.dof_names], axis=1)
    markers = skeleton.forward(q).markers
    for k, name in enumerate(skeleton.markers):
        expected = np.array(answers["places"])[:, answers["markers"].index(name)]
        assert np.abs(markers[:, k] - expected).max() < 1e-12
    assert "patella.beta" not in skeleton.dof_names


def test_ranges_hold_where_they_are_clamped_and_locks_where_they_are_locked(leg: Path) -> None:
    skeleton = ik.load_skeleton(leg)
    limits = dict(
        zip(skeleton.dof_names, zip(skeleton.lower, skeleton.upper, strict=True), strict=True)
    )
    assert limits["shank.knee"] == (-1.5, 0.8)
    assert limits["ankle.ankle_angle"] == (0.1, 0.1)
    assert limits["thigh.flexion"] == (-np.inf, np.inf)


def test_what_a_model_has_besides_joints(leg: Path) -> None:
    model = load_opensim_model(leg)
    assert model.mass == pytest.approx(7.5)
    assert model.bodies[0].mass_center == (0.0, -0.1, 0.0)
    assert model.bodies[0].meshes == ("bone.vtp",)
    assert model.not_read == {"CoordinateActuator": 1}
    facts = inspect_file(leg)
    assert facts.details["not read"] == "1 CoordinateActuator"
    assert "1 locked (ankle_angle)" in facts.details["joints"]


def test_markers_may_stand_in_a_file_of_their_own(tmp_path: Path) -> None:
    text = make_leg()
    markers = re.search(r"<MarkerSet.*</MarkerSet>", text)
    assert markers is not None
    (tmp_path / "markers.xml").write_text(
        f'<OpenSimDocument Version="40000">{markers[0]}</OpenSimDocument>'
    )
    path = tmp_path / "leg.osim"
    path.write_text(text.replace(markers[0], '<MarkerSet file="markers.xml"/>'))
    assert "R.ASIS" in ik.load_skeleton(path).markers


def test_bytes_of_cp1252_and_stray_tags_are_read(tmp_path: Path) -> None:
    """A strict parser refuses both, OpenSim neither."""
    text = make_leg().replace('<Model name="leg">', '<Model name="leg"><credits>A – B</credits>')
    path = tmp_path / "leg.osim"
    path.write_bytes(text.encode("cp1252") + b"</OpenSimDocument>")
    assert ik.load_skeleton(path).nv == 8


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("<socket_parent_frame>pelvis_offset</socket_parent_frame>", "", "socket_parent_frame"),
        ("PinJoint", "HingeJoint", "a joint of type HingeJoint"),
        ("<socket_parent>/bodyset/thigh<", "<socket_parent>/bodyset/x<", "'/bodyset/x'"),
        ("<x>-2 -1 -0.3 0.2 1</x>", "", "0 values of x and 5 of y"),
        ("<x>-2 -1 -0.3 0.2 1</x>", "<x>-2 -1 -1 0.2 1</x>", "do not increase"),
        ("frame>/bodyset/foot</socket_parent_frame>", "frame>/x</socket_parent_frame>", "'/x'"),
        ("<dependent_coordinate_name>beta", "<dependent_coordinate_name>gamma", "'gamma'"),
        ("<axis>0.1 0 1</axis>", "<axis>0 0 0</axis>", "no direction"),
        ("<range>-1.5 0.8</range>", "<range>-1.5 x</range>", "'x'"),
        ("<clamped>true</clamped>", "<clamped>maybe</clamped>", "expected true or false"),
        ("SimmSpline>", "GCVSpline>", "a function of type GCVSpline"),
        ('Version="40000"', 'Version="x"', "Version is 'x'"),
        ("Model", "Body", "expected a <Model>"),
    ],
)
def test_faults_are_one_sentence_with_their_place(
    leg: Path, old: str, new: str, expected: str
) -> None:
    text = leg.read_text()
    assert old in text
    leg.write_text(text.replace(old, new))
    with pytest.raises(FileError) as caught:
        ik.load_skeleton(leg)
    message = str(caught.value)
    assert expected in message
    assert message.count("\n") == 0 and message.startswith(str(leg))


def test_frames_that_stand_on_each_other_are_refused(leg: Path) -> None:
    text = leg.read_text().replace(
        "<socket_parent>/bodyset/pelvis</socket_parent>",
        "<socket_parent>/jointset/hip/pelvis_offset</socket_parent>",
    )
    leg.write_text(text)
    with pytest.raises(FileError, match="ring: pelvis_offset"):
        ik.load_skeleton(leg)


def test_constraints_that_are_not_kept_are_warned_of(leg: Path) -> None:
    """Those of unknown kinds, and those that do not say which bodies, or the ground alone."""
    coupler, text = "<CoordinateCouplerConstraint", leg.read_text()
    line = "PointOnLineConstraint"
    for tag, inside in (
        ("PointConstraint", "<isEnforced>true</isEnforced>"),
        ("PointConstraint", "<body_1>pelvis</body_1>"),
        ("PointConstraint", "<body_2>pelvis</body_2>"),
        ("PointConstraint", "<body_1>ground</body_1><body_2>ground</body_2>"),
        (line, "<line_body>pelvis</line_body>"),
        (line, "<follower_body>pelvis</follower_body>"),
        (line, "<line_body>pelvis</line_body><follower_body>ground</follower_body>"),
        ("RollingOnSurfaceConstraint", ""),
    ):
        leg.write_text(text.replace(coupler, f'<{tag} name="p">{inside}</{tag}>{coupler}'))
        with pytest.warns(FileWarning, match=f"constraints that are not kept: 1 {tag}"):
            assert ik.load_skeleton(leg).loops == ()


LOOPS = """
<PointConstraint name="strap"><socket_body_1>/bodyset/pelvis</socket_body_1>
  <socket_body_2>/bodyset/shank</socket_body_2><location_body_1>0 -0.1 0</location_body_1>
  <location_body_2>0 0.3 0.01</location_body_2></PointConstraint>
<ConstantDistanceConstraint name="rod"><body_1>ground</body_1><body_2>shank</body_2>
  <location_body_1>0 1 0</location_body_1><location_body_2>0 0 0.1</location_body_2>
  <constant_distance>0.6</constant_distance></ConstantDistanceConstraint>
<PointOnLineConstraint name="rail"><socket_line_body>/bodyset/pelvis</socket_line_body>
  <socket_follower_body>/bodyset/shank</socket_follower_body>
  <line_direction_vec>0 2 0</line_direction_vec><point_on_line>0.1 0 0</point_on_line>
  <point_on_follower>0 -0.1 0</point_on_follower></PointOnLineConstraint>
<PointConstraint name="off"><isEnforced>false</isEnforced></PointConstraint>
"""


def test_constraints_that_close_loops_are_kept_and_closed(leg: Path) -> None:
    """Each is closed to 1e-8 m, by what OpenSim's words mean."""
    coupler = "<CoordinateCouplerConstraint"
    leg.write_text(leg.read_text().replace(coupler, f"{LOOPS}{coupler}"))
    figure = ik.load_skeleton(leg)
    facts = inspect_file(leg)
    assert facts.skeleton is not None and facts.skeleton.loops == 3
    assert [loop.kind for loop in figure.loops] == ["point", "distance", "line"]
    stay = ik.PostureGoal(figure.neutral(), weight=1e-3)
    poses = {}
    for loop in figure.loops:
        result = ik.solve(figure.with_loops(loop), stay, limits="off")
        assert result.status != "loop-open", result.why
        poses[loop.name] = figure.forward(result.q)
    near = 1.1e-8
    pose = poses["strap"]
    gap = pose.point("pelvis", (0, -0.1, 0)) - pose.point("shank", (0, 0.3, 0.01))
    assert np.linalg.norm(gap) < near
    length = np.linalg.norm(poses["rod"].point("shank", (0, 0, 0.1)) - (0, 1, 0))
    assert length == pytest.approx(0.6, abs=near)
    pose = poses["rail"]
    k = figure.bone_index("pelvis")
    seen = (pose.point("shank", (0, -0.1, 0)) - pose.positions[k]) @ pose.rotations[k]
    assert seen[[0, 2]] == pytest.approx((0.1, 0.0), abs=near)


def test_a_scaled_model_keeps_its_loops_as_opensim_does(leg: Path, tmp_path: Path) -> None:
    """OpenSim 4.6 scales the frames of a weld, and no point, line or distance of the others."""
    coupler = "<CoordinateCouplerConstraint"
    weld = """<WeldConstraint name="weld"><socket_frame1>own</socket_frame1>
      <socket_frame2>/ground</socket_frame2><frames><PhysicalOffsetFrame name="own">
      <socket_parent>/bodyset/shank</socket_parent><translation>0.1 0.2 0.3</translation>
      <orientation>0 0 0</orientation></PhysicalOffsetFrame></frames></WeldConstraint>"""
    leg.write_text(leg.read_text().replace(coupler, f"{LOOPS}{weld}{coupler}"))
    generic, factors = GenericModel(leg), np.array([2.0, 3.0, 4.0])
    bodies = [body.name for body in generic.model.bodies]
    generic.scale(dict.fromkeys(bodies, factors), mass=-1.0, keeps_mass_distribution=True)
    generic.save(str(tmp_path / "scaled.osim"), "")
    *others, moved = ik.load_skeleton(tmp_path / "scaled.osim").loops
    *before, plain = ik.load_skeleton(leg).loops
    assert others == before and len(others) == 3
    np.testing.assert_allclose(np.asarray(moved.points)[0], (0.2, 0.6, 1.2), atol=1e-12)
    assert (moved.name, moved.kind, moved.b) == (plain.name, "weld", None)


def test_welded_frames_are_where_the_file_has_them(leg: Path) -> None:
    """Of two versions, in numbers that hold in one pose: there both are closed."""
    figure = ik.load_skeleton(leg)
    q = figure.clip(np.random.default_rng(5).uniform(-0.3, 0.3, figure.nq))
    pose = figure.forward(q)
    pelvis, shank = (figure.bone_index(name) for name in ("pelvis", "shank"))
    R, p = pose.rotations, pose.positions

    def numbers(values: Array) -> str:
        return " ".join(repr(float(x)) for x in values)

    turn = exp_rotation(np.array([0.0, 0.0, 0.2]))
    R_pelvis_weld = R[pelvis].T @ R[shank] @ turn
    old = f"""<WeldConstraint name="old"><body_1>pelvis</body_1><body_2>shank</body_2>
      <location_body_1>{numbers(R[pelvis].T @ (p[shank] - p[pelvis]))}</location_body_1>
      <orientation_body_1>{numbers(euler_angles("XYZ", R_pelvis_weld))}</orientation_body_1>
      <orientation_body_2>0 0 0.2</orientation_body_2></WeldConstraint>"""
    new = f"""<WeldConstraint name="new"><socket_frame1>own</socket_frame1>
      <socket_frame2>/ground</socket_frame2><frames><PhysicalOffsetFrame name="own">
      <socket_parent>/bodyset/shank</socket_parent>
      <translation>{numbers(-R[shank].T @ p[shank])}</translation>
      <orientation>{numbers(euler_angles("XYZ", R[shank].T))}</orientation></PhysicalOffsetFrame>
      </frames></WeldConstraint>"""
    coupler = "<CoordinateCouplerConstraint"
    leg.write_text(leg.read_text().replace(coupler, f"{old}{new}{coupler}"))
    loops = ik.load_skeleton(leg).loops
    assert [(loop.a, loop.b) for loop in loops] == [("pelvis", "shank"), ("shank", None)]
    for loop in loops:
        assert loop.kind == "weld" and loop.measure_gap(pose) < 1e-14
        assert loop.measure_gap(figure.forward(0.5 * q)) > 0.01


# --- tables of coordinates


def random_motion(skeleton: ik.Skeleton) -> ik.Motion:
    q = np.random.default_rng(3).uniform(-0.5, 0.5, (7, skeleton.nq))
    return ik.Motion(skeleton, skeleton.clip(q), 50.0)


def test_coordinates_are_written_under_opensims_names_and_read_again(
    leg: Path, tmp_path: Path
) -> None:
    """Also the coordinate that follows another, which OpenSim expects a column for."""
    skeleton = ik.load_skeleton(leg)
    motion = random_motion(skeleton)
    path = tmp_path / "walk.mot"
    motion.save(path)
    lines = path.read_text().splitlines()
    names = lines[lines.index("endheader") + 1].split("\t")
    assert names[1:4] == ["tilt", "tx", "ty"] and "beta" in names
    again = ik.load_motion(path, skeleton)
    assert np.abs(again.q - motion.q).max() < 1e-12
    row = [float(x) for x in lines[lines.index("endheader") + 2].split("\t")]
    spline = skeleton.couplings[0].function
    knee = np.radians(row[names.index("knee")])
    assert np.radians(row[names.index("beta")]) == pytest.approx(float(spline(knee)), abs=1e-12)
    assert row[names.index("tx")] == pytest.approx(motion.q[0, 1])


def test_no_column_has_the_name_of_another(
    leg: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Models call coordinates as clinical angles are called, which a body is also given."""
    motion = random_motion(ik.load_skeleton(leg))
    clinical = [_mot.Column("knee", "deg", np.zeros(len(motion)))]
    monkeypatch.setattr(_mot, "list_clinical_columns", lambda motion, angles: clinical)
    motion.save(tmp_path / "walk.mot")
    lines = (tmp_path / "walk.mot").read_text().splitlines()
    columns = lines[lines.index("endheader") + 1].split("\t")
    assert columns.count("knee") == 1
    again = ik.load_motion(tmp_path / "walk.mot", motion.skeleton)
    assert np.abs(again.q - motion.q).max() < 1e-12


@pytest.mark.parametrize("layout", ["SIMM", "radians", "states"])
def test_other_headers_mean_the_same(leg: Path, tmp_path: Path, layout: str) -> None:
    """The old header of SIMM, without a word on degrees; radians; OpenSim's paths of states."""
    skeleton = ik.load_skeleton(leg)
    factor = 1.0 if layout == "radians" else 180.0 / np.pi
    name = "/jointset/knee_joint/knee/value" if layout == "states" else "knee"
    says = {"SIMM": "", "radians": "inDegrees=no\n", "states": "inDegrees=yes\n"}[layout]
    header = f"walk\ndatacolumns 3\ndatarows 2\n{says}endheader\n"
    rows = "".join(f"{t}\t{factor * 0.2 * t:.12f}\t{0.3 + t}\n" for t in (0.0, 0.1))
    path = tmp_path / "old.mot"
    path.write_text(f"{header}time\t{name}\ttx\n{rows}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        q = ik.load_motion(path, skeleton).q
    columns = dict(zip(skeleton.dof_names, q.T, strict=True))
    assert columns["shank.knee"] == pytest.approx([0.0, 0.02], abs=1e-9)
    assert columns["pelvis.tx"] == pytest.approx([0.3, 0.4])
