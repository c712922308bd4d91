"""Set-up files of OpenSim's scale tool, run on a leg whose scales are known."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik.errors import FileError
from exactik.io import (
    GenericModel,
    load_coordinate_table,
    load_opensim_model,
    load_timed_markers,
)
from exactik.io.tables import list_coordinate_columns
from exactik.recordings.pipeline import ScaledSubject, scale_model
from exactik.typing import Array
from tests.support.opensim_files import ask_judge, make_leg

FACTORS = {"thigh": 1.1, "foot": 1.25}
MUSCLE = (
    '<Thelen2003Muscle name="calf"><GeometryPath name="path"><PathPointSet><objects>'
    '<PathPoint name="P1"><socket_parent_frame>/bodyset/thigh</socket_parent_frame>'
    "<location>-0.02 -0.38 0</location></PathPoint>"
    '<PathPoint name="P2"><socket_parent_frame>/bodyset/foot</socket_parent_frame>'
    "<location>-0.05 0.02 0</location></PathPoint></objects></PathPointSet></GeometryPath>"
    "<optimal_fiber_length>0.1</optimal_fiber_length>"
    "<tendon_slack_length>0.3</tendon_slack_length></Thelen2003Muscle>"
)


def measurement(body: str, first: str, second: str) -> str:
    return (
        f'<Measurement name="{body}"><apply>true</apply><MarkerPairSet><objects><MarkerPair>'
        f"<markers>{first} {second}</markers></MarkerPair></objects></MarkerPairSet>"
        f'<BodyScaleSet><objects><BodyScale name="{body}"><axes>X Y Z</axes></BodyScale>'
        "</objects></BodyScaleSet></Measurement>"
    )


def make_setup() -> str:
    tasks = "".join(
        f'<IKMarkerTask name="{name}"><apply>true</apply><weight>1</weight></IKMarkerTask>'
        for name in ("R.ASIS", "Sacrum", "knee-lat", "shin", "Heel", "Toe")
    )
    return (
        '<OpenSimDocument Version="20302"><ScaleTool name="subject"><mass>15</mass>'
        "<GenericModelMaker><model_file>leg.osim</model_file>"
        "<marker_set_file>Unassigned</marker_set_file></GenericModelMaker>"
        "<ModelScaler><apply>true</apply><scaling_order>measurements manualScale</scaling_order>"
        f"<MeasurementSet><objects>{measurement('foot', 'Heel', 'Toe')}</objects></MeasurementSet>"
        "<ScaleSet><objects><Scale><scales>1.1 1.1 1.1</scales><segment>thigh</segment>"
        "<apply>true</apply></Scale></objects></ScaleSet><marker_file>static.trc</marker_file>"
        "<time_range>0 0.1</time_range><preserve_mass_distribution>true"
        "</preserve_mass_distribution><output_model_file>scaled.osim</output_model_file>"
        "<output_scale_file>scales.xml</output_scale_file></ModelScaler>"
        f"<MarkerPlacer><apply>true</apply><IKTaskSet><objects>{tasks}</objects></IKTaskSet>"
        "<marker_file>static.trc</marker_file><time_range>0 0.1</time_range>"
        "<output_motion_file>static.mot</output_motion_file>"
        "<output_model_file>placed.osim</output_model_file></MarkerPlacer>"
        "</ScaleTool></OpenSimDocument>"
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a leg that has a muscle, and a static pose of a larger one."""
    text = make_leg().replace("</objects></ForceSet>", f"{MUSCLE}</objects></ForceSet>")
    (tmp_path / "leg.osim").write_text(text)
    (tmp_path / "setup.xml").write_text(make_setup())
    larger = GenericModel(tmp_path / "leg.osim")
    factors = {body: np.full(3, factor) for body, factor in FACTORS.items()}
    larger.scale(factors, mass=15.0, keeps_mass_distribution=True)
    larger.save(str(tmp_path / "larger.osim"), "larger")
    skeleton = ik.load_skeleton(tmp_path / "larger.osim")
    q = skeleton.clip(np.linspace(-0.1, 0.1, skeleton.nq))
    markers = skeleton.forward(np.tile(q, (6, 1))).markers
    ik.Markers(markers, tuple(skeleton.markers), 50.0).save(tmp_path / "static.trc")
    return tmp_path


def test_scales_are_found_and_the_subject_has_its_mass(folder: Path) -> None:
    scaled = scale_model(folder / "setup.xml")
    for body, factor in scaled.factors.items():
        assert factor == pytest.approx((FACTORS.get(body, 1.0),) * 3, abs=1e-7)
    assert load_opensim_model(folder / "scaled.osim").mass == pytest.approx(15.0)
    assert load_opensim_model(folder / "placed.osim").name == "subject"
    # The recording is of this very leg: its markers stay where scaling put them.
    assert max(scaled.moved.values()) < 1e-6
    first, second = (ik.load_skeleton(folder / f"{name}.osim") for name in ("larger", "placed"))
    for name, (bone, point) in first.markers.items():
        assert second.markers[name][0] == bone
        assert second.markers[name][1] == pytest.approx(point, abs=1e-6)
    assert "<segment>foot</segment>" in (folder / "scales.xml").read_text()


def test_only_numbers_of_the_text_change(folder: Path) -> None:
    """Comments, muscles, unknown objects and layout are those of the generic model."""
    path = folder / "leg.osim"
    text = path.read_text().replace("<Model name", "<!--kept <a> & all--><Model name")
    path.write_text(text)
    scale_model(folder / "setup.xml")
    scaled = (folder / "scaled.osim").read_text()
    assert "<!--kept <a> & all-->" in scaled

    def outline(text: str) -> list[str]:
        """Tags in their order, without markers and the multiples that scaling adds."""
        text = re.sub(r"<MarkerSet.*?</MarkerSet>", "", text, flags=re.S)
        text = re.sub(
            r"<MultiplierFunction[^>]*><function>|</function><scale>.*?Function>", "", text
        )
        added = r"<scale_factors>.*?</scale_factors>"
        return re.findall(r"</?\w+", re.sub(added, "", text))

    multiples = text.count("<MultiplierFunction")
    assert multiples == 1  # it is of the shank's translation, whose scale is changed in place
    assert outline(text) == outline(scaled)


def test_muscles_grow_with_their_paths(folder: Path) -> None:
    scale_model(folder / "setup.xml")
    lengths = [
        float(re.findall(r"<optimal_fiber_length>(.*?)<", (folder / name).read_text())[0])
        for name in ("leg.osim", "scaled.osim", "placed.osim")
    ]
    assert lengths[1] == lengths[2]
    # The thigh's tenth is a small part of a calf, and the heel's quarter moves its end backwards.
    assert 1.0 < lengths[1] / lengths[0] < 1.1


OLD_EXTRAS = (  # what the leg of version 4 has in another form, or not at all
    "<inertia_xx>1</inertia_xx><inertia_yy>1</inertia_yy><inertia_zz>1</inertia_zz>"
    "<inertia_xy>0</inertia_xy><inertia_xz>0</inertia_xz><inertia_yz>0</inertia_yz>"
    "<VisibleObject><GeometrySet><objects><DisplayGeometry><geometry_file>bone.vtp</geometry_file>"
    "<transform>0.1 0.2 0.3 0.4 0.5 0.6</transform></DisplayGeometry></objects></GeometrySet>"
    "<scale_factors>1 1 2</scale_factors></VisibleObject>"
)
STRETCH = {"thigh": np.array([1.2, 1.1, 0.9]), "foot": np.array([1.3, 1.0, 0.8])}


@pytest.mark.parametrize("version", [20302, 20303, 30000])
def test_documents_before_version_4_are_scaled(tmp_path: Path, version: int) -> None:
    """As the same leg of version 4 is: bodies, joints, masses and markers; in its own words."""
    texts = {40000: make_leg(), version: make_leg(version)}
    texts[version] = texts[version].replace("</mass_center>", f"</mass_center>{OLD_EXTRAS}")
    places, masses = [], []
    for name, text in texts.items():
        path, scaled = tmp_path / f"{name}.osim", tmp_path / f"{name}_scaled.osim"
        path.write_text(text)
        generic = GenericModel(path)
        generic.scale(STRETCH, mass=15.0, keeps_mass_distribution=False)
        generic.save(str(scaled), "larger")
        model, skeleton = load_opensim_model(scaled), ik.load_skeleton(scaled)
        assert model.version == name and model.name == "larger"
        pose = skeleton.forward(skeleton.clip(np.linspace(-0.2, 0.3, skeleton.nq)))
        markers = dict(zip(skeleton.markers, pose.markers, strict=True))
        markers.pop("ThighFront", None)  # version 4 has no names with blanks
        places.append(np.concatenate([pose.positions, list(markers.values())]))
        masses.append([(body.mass, *body.mass_center) for body in model.bodies])
    np.testing.assert_allclose(places[0], places[1], atol=1e-14)
    np.testing.assert_allclose(masses[0], masses[1], atol=1e-14)
    text = (tmp_path / f"{version}_scaled.osim").read_text()
    foot = text[text.index('<Body name="foot">') :]
    inertia = [float(x) for x in re.findall(r"<inertia_..>(.*?)<", foot)]
    new = (tmp_path / "40000_scaled.osim").read_text()
    expected = re.findall(r"<inertia>(.*?)<", new[new.index('<Body name="foot">') :])[0]
    assert inertia == pytest.approx([float(x) for x in expected.split()])
    numbers = {
        tag: [float(x) for x in re.findall(rf"<{tag}>(.*?)<", foot)[0].split()]
        for tag in ("transform", "scale_factors")
    }
    assert numbers["transform"] == pytest.approx([0.1, 0.2, 0.3, 0.4 * 1.3, 0.5, 0.6 * 0.8])
    assert numbers["scale_factors"] == pytest.approx([1.3, 1.0, 1.6])
    assert "<body>foot</body>" in text and "socket" not in text


@pytest.mark.parametrize("version", [20301, 30500, 30516])
def test_documents_of_passing_versions_are_refused_in_a_sentence(
    folder: Path, version: int
) -> None:
    text = make_leg(30000).replace('Version="30000"', f'Version="{version}"')
    (folder / "leg.osim").write_text(text)
    known = "expected 20302 to 30499, or 30517 and later"
    with pytest.raises(FileError, match=f"document version {version}; {known}"):
        scale_model(folder / "setup.xml")


@pytest.mark.slow
def test_an_old_gait2354_is_scaled_as_opensim_scales_it(shared_data: Path, tmp_path: Path) -> None:
    """Of version 20303, with 54 muscles: OpenSim reads ours, still old, and its own, made new."""
    old = shared_data / "data" / "opensim" / "core_ik_synthetic" / "subject01_simbody.osim"
    found = {}
    for name in ("ours", "theirs"):
        setup = lay_out_scaling(shared_data, tmp_path / name)
        shutil.copy(old, setup.parent / "gait2354_simbody.osim")
        if name == "ours":
            scale_model(setup)
        else:
            ask_judge("scale", setup)
        out = tmp_path / f"{name}.npz"
        ask_judge("properties", setup.parent / "subject01_scaledOnly.osim", out)
        with np.load(out) as file:
            found[name] = dict(file)
    text = (tmp_path / "ours" / "subject01_scaledOnly.osim").read_text()
    assert 'OpenSimDocument Version="20303"' in text
    assert found["ours"]["muscle"].shape == (54, 3) and found["ours"]["mesh"].shape == (19, 3)
    # Where OpenSim makes new elements of old ones (inertias, joints, meshes) it keeps six digits.
    rounded = {"inertia": 1e-5, "mesh": 1e-5, "place": 2e-6, "muscle": 2e-6}
    for key, values in found["ours"].items():
        off = np.abs(values - found["theirs"][key]).max(initial=0.0)
        assert off < rounded.get(key, 1e-12), key


def lay_out_scaling(shared: Path, folder: Path) -> Path:
    """Copy gait2354 to where its set-up of the scale tool expects things; return the set-up."""
    source = shared / "data" / "opensim" / "gait2354"
    folder.mkdir()
    for file in ("subject01_Setup_Scale.xml", "gait2354_Scale_MarkerSet.xml"):
        shutil.copy(source / file, folder / file)
    shutil.copy(source / "subject01_static.trc", folder)
    shutil.copy(source / "gait2354_simbody_generic.osim", folder / "gait2354_simbody.osim")
    return folder / "subject01_Setup_Scale.xml"


@pytest.mark.slow
def test_gait2354_is_scaled_as_opensim_scales_it(shared_data: Path, tmp_path: Path) -> None:
    """Masses, inertias, frames, markers, meshes, fibre and tendon lengths of all 54 muscles."""
    setups = {name: lay_out_scaling(shared_data, tmp_path / name) for name in ("ours", "theirs")}
    scaled = scale_model(setups["ours"])
    source = shared_data / "data" / "opensim" / "gait2354"
    published = (source / "subject01_scaleSet_applied.xml").read_text()
    for body, (x, _, _) in scaled.factors.items():
        pattern = rf"<scales> (\S+) \S+ \S+</scales>\s*<segment>{body}</segment>"
        assert f"{x:.6g}" == re.findall(pattern, published)[0]
    ask_judge("scale", setups["theirs"])
    found = {}
    for name in ("ours", "theirs"):
        out = tmp_path / f"{name}.npz"
        ask_judge("properties", tmp_path / name / "subject01_scaledOnly.osim", out)
        with np.load(out) as file:
            found[name] = dict(file)
    assert found["ours"]["mesh"].shape == (19, 3)
    for key, values in found["ours"].items():
        assert np.abs(values - found["theirs"][key]).max(initial=0.0) < 1e-12, key


STATIC_ANGLE = np.radians(0.1)
STATIC_PLACE = 1e-3  # [m]


def read_coordinates(path: Path) -> dict[str, Array]:
    table = load_coordinate_table(path)
    return dict(zip(table.names, table.values.T, strict=True))


@pytest.mark.slow
def test_gait2354_has_its_static_pose_and_markers_where_opensim_has_its_optimum(
    shared_data: Path, tmp_path: Path
) -> None:
    """The placer of OpenSim stops at 1e-4; with 1e-9 it comes to where we are.

    And its inverse kinematics finds the same motion on both models.
    """
    setups = {name: lay_out_scaling(shared_data, tmp_path / name) for name in ("ours", "theirs")}
    scaled = scale_model(setups["ours"])
    ask_judge("scale", setups["theirs"])
    ask_judge("place", setups["theirs"], "tight.osim", "--accuracy", "1e-9")
    assert scaled.pose is not None
    skeleton, q = scaled.pose.skeleton, scaled.pose.motion.q[0]

    tight = ik.load_motion(tmp_path / "theirs" / "tight.mot", skeleton, rate=60.0).q[0]
    assert np.abs(tight - q).max() < min(STATIC_ANGLE, STATIC_PLACE)
    model = load_opensim_model(tmp_path / "theirs" / "tight.osim")
    ours = load_opensim_model(tmp_path / "ours" / "subject01_simbody.osim")
    assert len(ours.markers) == len(model.markers) == 39
    places = {marker.name: marker.position for marker in model.markers}
    for marker in ours.markers:
        assert marker.position == pytest.approx(places[marker.name], abs=STATIC_PLACE)

    # What the tool itself wrote costs more.
    stopped = load_coordinate_table(tmp_path / "theirs" / "subject01_static_output.mot")
    values = {
        name.split("/")[-2]: stopped.values[0, k]
        for k, name in enumerate(stopped.names)
        if name.endswith("/value")
    }
    early = np.array([values[name.rpartition(".")[2]] for name in skeleton.dof_names])
    costs = [static_cost(scaled, pose) for pose in (q, tight, early)]
    assert costs[0] < costs[1] * (1.0 + 1e-9)
    assert costs[0] < costs[2] * (1.0 - 1e-4)

    walks = []
    source = shared_data / "data" / "opensim" / "gait2354"
    shutil.copy(tmp_path / "theirs" / "tight.osim", tmp_path / "theirs" / "subject01_simbody.osim")
    for name in ("ours", "theirs"):
        for file in ("subject01_Setup_IK.xml", "subject01_walk1.trc"):
            shutil.copy(source / file, tmp_path / name)
        setup = tmp_path / name / "subject01_Setup_IK.xml"
        ask_judge("ik", setup, tmp_path / "seconds.npz", "--accuracy", "1e-7")
        walks.append(read_coordinates(tmp_path / name / "subject01_walk1_ik.mot"))
    first, second = walks
    assert list(first) == list(second) and len(first) == 23
    for name, degrees in first.items():
        limit = STATIC_PLACE if name in ("pelvis_tx", "pelvis_ty", "pelvis_tz") else 0.1
        assert np.abs(degrees - second[name]).max() < limit, name


def static_cost(scaled: ScaledSubject, q: Array) -> float:
    """OpenSim's cost of a static pose."""
    assert scaled.pose is not None and scaled.setup.placing is not None
    placing, skeleton = scaled.setup.placing, scaled.pose.skeleton
    markers, times = load_timed_markers(placing.marker_path)
    first, last = placing.time_range
    target = markers.positions[(times >= first) & (times <= last)].mean(axis=0)
    names = [n for n in markers.names if n in placing.marker_weights and n in skeleton.markers]
    places = dict(zip(skeleton.markers, skeleton.forward(q).markers, strict=True))
    weights = np.array([placing.marker_weights[name] for name in names])
    squares = np.array(
        [((places[name] - target[markers.names.index(name)]) ** 2).sum() for name in names]
    )
    columns = {column.name: column.q_index for column in list_coordinate_columns(skeleton)}
    tasks = sum(t.weight * (q[columns[t.name]] - t.value) ** 2 for t in placing.coordinate_tasks)
    return 0.5 * float(squares @ weights / weights.sum() + tasks)
