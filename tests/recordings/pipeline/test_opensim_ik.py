"""Set-up files of OpenSim's inverse kinematics tool, run on a leg whose motion is known."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik import cli
from exactik.errors import FileError, ShapeError, UnknownNameError, UsageError
from exactik.io import load_coordinate_table, load_ik_setup
from exactik.recordings.pipeline import solve_ik_setup, write_ik_results
from exactik.recordings.tracking import CoordinateReference
from exactik.typing import Array
from tests.support.opensim_files import MARKERS, make_leg

RATE, FRAMES = 50.0, 12
WEIGHTS = {name: 1.0 + k for k, name in enumerate(MARKERS) if " " not in name}


def make_setup(
    tasks: str = "", time_range: str = "-Inf Inf", trc: str = "walk.trc", more: str = ""
) -> str:
    markers = "".join(
        f'<IKMarkerTask name="{name}"><apply>true</apply><weight>{weight}</weight></IKMarkerTask>'
        for name, weight in WEIGHTS.items()
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<OpenSimDocument Version="30000">\n'
        '<InverseKinematicsTool name="leg">\n<model_file> leg.osim </model_file>\n'
        "<constraint_weight>20</constraint_weight><accuracy>1e-005</accuracy>\n"
        f"<IKTaskSet><objects>{markers}{tasks}</objects></IKTaskSet>\n"
        f"<marker_file>{trc}</marker_file>\n<time_range>{time_range}</time_range>\n"
        f"<output_motion_file>walk_ik.mot</output_motion_file>{more}\n"
        "</InverseKinematicsTool></OpenSimDocument>\n"
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the leg and a recording of a motion of it."""
    (tmp_path / "leg.osim").write_text(make_leg())
    skeleton = ik.load_skeleton(tmp_path / "leg.osim")
    motion = ik.Motion(skeleton, make_truth(skeleton), RATE)
    markers = ik.Markers(motion.forward().markers, tuple(skeleton.markers), RATE)
    markers.save(tmp_path / "walk.trc")
    return tmp_path


def make_truth(skeleton: ik.Skeleton) -> Array:
    """A smooth motion inside the ranges."""
    phase = np.linspace(0.0, 1.0, FRAMES)[:, None] + np.arange(skeleton.nq)
    return skeleton.clip(-0.3 + 0.3 * np.sin(2.0 * phase))


def run(folder: Path, text: str) -> Path:
    path = folder / "setup.xml"
    path.write_text(text)
    write_ik_results(solve_ik_setup(path))
    return path


def test_a_known_motion_is_found_and_written_as_opensim_does(folder: Path) -> None:
    more = "<report_marker_locations>true</report_marker_locations>"
    run(folder, make_setup(more=more))
    lines = (folder / "walk_ik.mot").read_text().splitlines()
    assert lines[:5] == [
        "Coordinates",
        "version=1",
        f"nRows={FRAMES}",
        "nColumns=10",
        "inDegrees=yes",
    ]
    table = load_coordinate_table(folder / "walk_ik.mot")
    expected = ("tilt", "tx", "ty", "flexion", "adduction", "rotation", "knee", "beta")
    assert table.names == (*expected, "ankle_angle")
    skeleton = ik.load_skeleton(folder / "leg.osim")
    found = ik.load_motion(folder / "walk_ik.mot", skeleton)
    assert np.abs(found.q - make_truth(skeleton)).max() < 1e-7  # TRC has nine digits
    errors = load_coordinate_table(folder / "leg_ik_marker_errors.sto")
    assert errors.names == ("total_squared_error", "marker_error_RMS", "marker_error_max")
    assert errors.values.max() < 1e-7
    places = load_coordinate_table(folder / "leg_ik_model_marker_locations.sto")
    assert places.names[:3] == ("R.ASIS_tx", "R.ASIS_ty", "R.ASIS_tz")
    markers = ik.load_markers(folder / "walk.trc")
    assert places.values[:, :3] == pytest.approx(markers.marker("R.ASIS"), abs=1e-7)


def test_only_the_frames_nearest_to_the_time_range_are_solved(folder: Path) -> None:
    run(folder, make_setup(time_range="0.045 0.121"))
    table = load_coordinate_table(folder / "walk_ik.mot")
    assert table.times == pytest.approx([0.04, 0.06, 0.08, 0.1, 0.12])


def test_motions_of_other_names_have_the_same_times(folder: Path) -> None:
    """Beside the file that the set-up names: MOT, CSV and our own."""
    (folder / "setup.xml").write_text(make_setup(time_range="0.045 0.121"))
    motion = solve_ik_setup(folder / "setup.xml").track.motion
    for name in ("x.mot", "x.csv", "x.npz"):
        motion.save(folder / name)
    times = pytest.approx([0.04, 0.06, 0.08, 0.1, 0.12])
    assert load_coordinate_table(folder / "x.mot").times == times
    rows = (folder / "x.csv").read_text().splitlines()[1:]
    assert [float(row.split(",")[1]) for row in rows] == times
    assert ik.load_motion(folder / "x.npz").times == times
    assert ik.load_motion(folder / "x.mot", motion.skeleton).times == times
    assert motion.between(0.04).times == pytest.approx([0.08, 0.1, 0.12])


def track_with_strap(folder: Path, place: str) -> ik.Track:
    """With a constraint that holds a point of the pelvis to a place of the shank."""
    text = (folder / "leg.osim").read_text()
    constraint = (
        '<PointConstraint name="strap"><body_1>pelvis</body_1>'
        "<location_body_1>0 -0.1 0</location_body_1><body_2>shank</body_2>"
        f"<location_body_2>{place}</location_body_2></PointConstraint>"
    )
    coupler = "<CoordinateCouplerConstraint"
    (folder / "leg.osim").write_text(text.replace(coupler, f"{constraint}{coupler}"))
    (folder / "setup.xml").write_text(make_setup())
    return solve_ik_setup(folder / "setup.xml").track


def test_loops_of_a_model_are_closed_in_every_frame(folder: Path) -> None:
    """The markers are then missed by no more than they must: no closed pose near by fits better."""
    track = track_with_strap(folder, "0 0.3 0")
    skeleton, q = track.skeleton, track.motion.q
    (strap,), names = skeleton.loops, track.names
    assert strap.measure_gap(skeleton.forward(q)).max() <= 1e-8
    (found,) = (f for f in track.findings if f.kind == "closure-gap")
    assert found.severity == "good"
    markers = ik.load_markers(folder / "walk.trc")
    goals = [ik.MarkerGoal(n, markers.marker(n)[0], weight=WEIGHTS[n]) for n in names]
    best = ik.solve(skeleton, goals, q0=q[0])
    assert best.status != "loop-open"
    open_cost = ik.solve(skeleton.opened, goals, q0=q[0]).cost
    assert open_cost < 0.5 * best.cost
    assert ik.Problem(skeleton, goals).cost(q[0]) == pytest.approx(best.cost, rel=0.1)
    track.motion.save(folder / "x.npz")
    assert ik.load_motion(folder / "x.npz").skeleton.loops == skeleton.loops


def test_a_loop_that_cannot_be_closed_is_said(folder: Path) -> None:
    track = track_with_strap(folder, "0 3 0")
    gap = track.skeleton.loops[0].measure_gap(track.motion.forward())
    (found,) = (f for f in track.findings if f.kind == "closure-gap")
    assert found.severity == "care" and found.names == ("pelvis", "shank")
    assert found.details["mean"] == pytest.approx(gap.mean()) and gap.mean() > 0.5
    assert "on average, up to" in found.text


def coordinate_task(name: str, kind: str, value: float = 0.0) -> str:
    return (
        f'<IKCoordinateTask name="{name}"><apply>true</apply><weight>0.5</weight>'
        f"<value_type>{kind}</value_type><value>{value}</value></IKCoordinateTask>"
    )


@pytest.mark.parametrize("kind", ["default_value", "manual_value", "from_file"])
def test_coordinates_are_drawn_to_the_values_of_their_tasks(folder: Path, kind: str) -> None:
    """The minimum is that of OpenSim's cost: means of markers and squares of coordinates."""
    target, more = {"default_value": 0.0, "manual_value": 0.2, "from_file": 0.1}[kind], ""
    if kind == "from_file":
        rows = "".join(f"{t}\t{np.degrees(0.1)}\n" for t in (-1.0, 0.0, 0.5, 1.0))
        header = "a\nversion=1\nnRows=4\nnColumns=2\ninDegrees=yes\nendheader\ntime\tflexion\n"
        (folder / "values.mot").write_text(header + rows)
        more = "<coordinate_file>values.mot</coordinate_file>"
    run(folder, make_setup(coordinate_task("flexion", kind, 0.2), more=more))
    skeleton = ik.load_skeleton(folder / "leg.osim")
    q = ik.load_motion(folder / "walk_ik.mot", skeleton).q
    markers = ik.load_markers(folder / "walk.trc")
    weights = np.array([WEIGHTS[name] for name in markers.names])
    flexion = skeleton.dof_names.index("thigh.flexion")

    def cost(q: Array) -> Array:
        squares = ((skeleton.forward(q).markers - markers.positions) ** 2).sum(axis=2)
        return squares @ weights / weights.sum() + 0.5 * (q[:, flexion] - target) ** 2

    best = cost(q)
    inside = skeleton.upper - skeleton.lower > 0.0
    for dof in np.flatnonzero(inside):
        for step in (1e-4, -1e-4):
            assert (cost(skeleton.clip(q + step * np.eye(skeleton.nq)[dof])) >= best).all()
    # It lies between the truth and the value asked for, and at neither.
    share = (q[:, flexion] - target) / (make_truth(skeleton)[:, flexion] - target)
    assert (share > 0.001).all() and (share < 0.9).all()


def test_missing_markers_do_not_count_in_their_frame(folder: Path) -> None:
    lines = (folder / "walk.trc").read_text().split("\n")
    row = lines[-3].split("\t")
    row[2:5] = ["", "", ""]
    lines[-3] = "\t".join(row)
    (folder / "walk.trc").write_text("\n".join(lines))
    run(folder, make_setup(coordinate_task("tilt", "default_value")))
    assert np.isfinite(load_coordinate_table(folder / "walk_ik.mot").values).all()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (make_setup(trc="../gone.trc"), "<marker_file>: '../gone.trc' does not exist"),
        (make_setup(time_range="3 4"), "markers in walk.trc are from 0 to 0.22 s"),
        (make_setup(time_range="2 1"), "ends at 1 s, before it begins at 2 s"),
        (make_setup(coordinate_task("elbow", "manual_value")), "'elbow' is for no coordinate"),
        (make_setup(coordinate_task("tilt", "guess")), "value_type is 'guess'"),
        (make_setup(coordinate_task("tilt", "from_file")), "no coordinate_file is given"),
        (make_setup().replace("<weight>1.0<", "<weight>-1<"), "its weight is -1"),
        (make_setup().replace("leg.osim", ""), "no <model_file>"),
        (make_setup().replace("IKMarkerTask", "IKOtherTask"), "a task of type IKOtherTask"),
    ],
)
def test_faults_of_set_up_files_are_one_sentence(folder: Path, text: str, expected: str) -> None:
    path = folder / "setup.xml"
    path.write_text(text)
    with pytest.raises(FileError) as caught:
        solve_ik_setup(path)
    assert expected in str(caught.value)
    assert "setup.xml" in str(caught.value) and "\n" not in str(caught.value)


def test_tasks_may_stand_in_a_file_that_ends_with_a_stray_tag(folder: Path) -> None:
    text = make_setup()
    begin, end = text.index("<IKTaskSet>"), text.index("</IKTaskSet>") + len("</IKTaskSet>")
    (folder / "tasks.xml").write_text(f"{text[begin:end]}\n</OpenSimDocument>\n")
    (folder / "setup.xml").write_text(f'{text[:begin]}<IKTaskSet file="tasks.xml"/>{text[end:]}')
    assert load_ik_setup(folder / "setup.xml").marker_weights == WEIGHTS


def test_the_command_line_runs_set_up_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def call(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["exactik", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, " ".join((printed.out + printed.err).split())

    monkeypatch.chdir(folder)
    Path("setup.xml").write_text(make_setup())
    code, said = call("solve", "setup.xml", "-v")
    assert code in (0, 1)
    assert "walk_ik.mot" in said and "couplers hold exactly" in said
    assert Path("leg_ik_marker_errors.sto").exists()
    code, said = call("solve", "setup.xml", "--skeleton", "human")
    assert code == 2 and "names its model" in said
    code, said = call("solve", "walk.trc", "-o", "walk.bvh")
    assert code == 2 and "--skeleton" in said


def test_references_that_cannot_be_are_refused(folder: Path) -> None:
    skeleton = ik.load_skeleton(folder / "leg.osim")
    markers = ik.load_markers(folder / "walk.trc")
    one = CoordinateReference(0.1, 1.0)
    with pytest.raises(UsageError, match="need smooth=None"):
        ik.track(skeleton, markers, references={"shank.knee": one})
    for name, reference, error in (
        ("knee", one, UnknownNameError),
        ("shank.knee", CoordinateReference(0.1, -1.0), UsageError),
        ("shank.knee", CoordinateReference([0.1, 0.2], 1.0), ShapeError),
        ("shank.knee", CoordinateReference(np.nan, 1.0), ShapeError),
    ):
        with pytest.raises(error):
            ik.track(skeleton, markers, smooth=None, references={name: reference})
