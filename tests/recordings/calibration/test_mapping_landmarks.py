"""Markers that the figure lacks, points in joints, computed points, names that cannot be true."""

from __future__ import annotations

import numpy as np
import pytest

import exactik as ik
from exactik.anatomy.marker_sets import list_landmarks, list_marker_sets
from exactik.recordings.calibration import calibrate, measure_distances, propose_mapping
from tests.support.subjects import Subject, make_smooth_motion, make_subject


@pytest.fixture(scope="module")
def somebody() -> Subject:
    """A second and a bit, in which every joint has moved."""
    return make_subject(ik.human(), 5, frames=120, away=0.0)


@pytest.fixture(scope="module")
def in_few_frames(somebody: Subject) -> Subject:
    """The same person at six frames a second, slow enough to show no jumps: quick to fit."""
    rng = np.random.default_rng(3)
    q = make_smooth_motion(somebody.skeleton, 1200, rng, share=0.4)[:240:20]
    places = somebody.skeleton.forward(q).markers
    places = places + rng.normal(0.0, 1e-3, places.shape)
    return somebody._replace(q=q, markers=ik.Markers(places, somebody.markers.names, 6.0))


def record(subject: Subject, names: dict[str, str], computed: tuple[str, ...] = ()) -> ik.Markers:
    """Points of a subject at landmarks: recorded name → landmark."""
    pose = subject.skeleton.forward(subject.q)
    # Places of the built-in size are near enough to those of the subject.
    landmarks = [list_landmarks()[i] for i in names.values()]
    places = np.stack([pose.point(place.bone, place.point) for place in landmarks], axis=1)
    return ik.Markers(places, tuple(names), subject.markers.rate, computed=computed)


def set_names(set_id: str) -> dict[str, str]:
    return dict(next(s for s in list_marker_sets() if s.id == set_id).markers)


def test_points_of_video_based_capture_are_used(somebody: Subject):
    """Hips, neck, head, nose and wrists of HALPE_26 are points in joints, and the figure fits."""
    names = {n: i for n, i in set_names("halpe_26").items() if n not in ("CHip", "Hip")}
    mapping = propose_mapping(ik.human(), record(somebody, names), geometry=False)
    assert len(mapping.used) == len(names)
    hip = mapping["RHip"]
    assert (hip.code, hip.kind, hip.bone, hip.marker) == ("joint-centre", "joint", "r_thigh", None)
    assert hip.point == (0.0, 0.0, 0.0) and hip.offset_sd == list_landmarks()["r_hip_joint"].sd
    assert mapping["Nose"].bone == "head" and mapping["LWrist"].bone == "l_hand"
    assert mapping.applied().markers["RHip"] == ("r_thigh", (0.0, 0.0, 0.0))


def test_landmarks_that_the_figure_lacks_get_a_place(somebody: Subject):
    """Medial knees and ankles, trochanters, clusters: at their landmark, with its uncertainty."""
    names = {
        **{"R.ASIS": "r_asis", "L.ASIS": "l_asis", "R.PSIS": "r_psis", "L.PSIS": "l_psis"},
        **{"R.Knee": "r_knee_lateral", "R.Knee.Medial": "r_knee_medial", "R.Hip": "r_trochanter"},
        **{"R.Ankle": "r_ankle_lateral", "R.MedialAnkle": "r_ankle_medial", "R.Heel": "r_heel"},
        **{"R.Thigh1": "r_thigh_cluster", "R.Thigh2": "r_thigh_cluster"},
        "R.Iliac.Crest": "r_iliac_crest",
    }
    markers = record(somebody, names)
    mapping = propose_mapping(ik.human(), markers, geometry=False)
    assert {m.recorded: m.landmark for m in mapping} == names
    assert mapping["R.ASIS"].marker == "RFWT" and mapping["R.Knee"].marker == "RKNE"
    medial = mapping["R.Knee.Medial"]
    assert (medial.marker, medial.bone, medial.code) == (None, "r_thigh", "landmark")
    assert medial.offset_sd == list_landmarks()["r_knee_medial"].sd
    # The set tells more than a name alone, a name of a place more than one of a bone.
    of_bone, of_name = mapping["R.Thigh1"].confidence, mapping["R.Iliac.Crest"].confidence
    assert 0.5 < of_bone < of_name < mapping["R.Knee"].confidence < 0.95
    fit = calibrate(ik.human(), markers, bones=mapping, frames=12)
    assert 1e3 * np.nanmean(fit.errors) < 3.0
    scaled = propose_mapping(fit.skeleton.with_markers({}), markers, geometry=False)
    point, grown = medial.point, scaled["R.Knee.Medial"].point
    assert point is not None and grown is not None
    assert np.allclose(grown, fit.scales["r_thigh"] * np.array(point), rtol=1e-6)


def test_a_set_has_its_toe_marker_elsewhere_than_the_figure(somebody: Subject):
    """LTOE of Plug-in Gait is on the foot; of the figure's own set it is on the toes."""
    names = {n: i for n, i in set_names("plug_in_gait").items() if n[0] == "L" and n != "LFRM"}
    mapping = propose_mapping(ik.human(), record(somebody, names), geometry=False)
    assert mapping["LTOE"].bone == "l_foot" and mapping["LTOE"].code == "landmark"
    assert mapping["LKNE"].code == "same-name" and mapping["LKNE"].offset_sd is not None
    fitted = ik.human().with_markers({"LTOE": ("l_toes", (0.01, 0.0, 0.03))})
    kept = propose_mapping(fitted, record(somebody, names), geometry=False)
    assert kept["LTOE"].code == "same-name"  # a figure of its own knows where its markers are
    own = propose_mapping(ik.human(), somebody.markers, geometry=False)
    assert own["LTOE"].bone == "l_toes" and own["LTOE"].code == "same-name"
    assert own["LTOE"].offset_sd is None


def test_computed_points_are_used_only_on_request(somebody: Subject):
    names = {
        **{"LASI": "l_asis", "RASI": "r_asis", "SACR": "sacrum", "LKNE": "l_knee_lateral"},
        **{"LHJC": "l_hip_joint", "LFEO": "l_knee_joint", "LFEP": "l_hip_joint"},
        **{"LFEA": "l_knee_joint", "Model": "l_ankle_joint"},
    }
    markers = record(somebody, names, computed=("Model",))
    plain = propose_mapping(ik.human(), markers, geometry=False)
    assert [m.recorded for m in plain.used] == ["LASI", "RASI", "SACR", "LKNE"]
    assert {m.code for m in plain if m.bone is None} == {"computed"}
    asked = propose_mapping(ik.human(), markers, geometry=False, computed=True)
    assert asked["LFEO"].code == "joint-centre" and asked["LFEO"].bone == "l_shin"
    hips = [asked["LHJC"].bone, asked["LFEP"].bone]
    assert sorted(map(str, hips)) == ["None", "l_thigh"]  # one of two for the same place
    assert asked["LFEA"].bone is None  # an axis of a frame is no place on a body


def test_names_that_cannot_be_true(somebody: Subject):
    """A knee and an elbow exchanged, and a "forearm" two metres away, are left out and said."""
    some = ["LFWT", "RFWT", "C7", "LSHO", "LELB", "LWRA", "RKNE", "RANK", "RHEE", "LKNE", "LFRM"]
    markers = somebody.markers.chosen(some)
    swapped = markers.renamed({"RKNE": "LELB", "LELB": "RKNE"})
    mapping = propose_mapping(ik.human(), swapped, geometry=False)
    assert {m.recorded for m in mapping if m.code == "misnamed"} == {"RKNE", "LELB"}
    assert "too far from other markers" in mapping["RKNE"].reason
    places = markers.positions.copy()
    places[:, markers.names.index("LFRM")] += (2.0, 0.0, 0.0)
    away = ik.Markers(places, markers.names, markers.rate)
    assert propose_mapping(ik.human(), away, geometry=False)["LFRM"].code == "misnamed"
    assert propose_mapping(ik.human(), away, {"LFRM": "LFRM"}, geometry=False)["LFRM"].bone


def shift_along_forearm(subject: Subject, metres: float) -> str:
    """Return the code of LFRM, moved along its bone."""
    pose = subject.skeleton.forward(subject.q)
    bone, point = subject.skeleton.marker("LFRM")
    places = subject.markers.positions.copy()
    places[:, subject.markers.names.index("LFRM")] = pose.point(bone, np.add(point, (metres, 0, 0)))
    markers = ik.Markers(places, subject.markers.names, 120.0)
    return propose_mapping(ik.human(), markers, geometry=False)["LFRM"].code


def test_how_far_is_too_far(somebody: Subject):
    """What is a third of a metre beside the forearm may be a bar on it, half a metre is not."""
    assert shift_along_forearm(somebody, 0.33) == "same-name"
    assert shift_along_forearm(somebody, 0.45) == "misnamed"


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_true_names_are_never_too_far(somebody: Subject, unit: float):
    """Whatever the unit; and markers that are 0.1 m off, on bars and straps, are let pass."""
    markers = somebody.markers
    places = markers.positions.copy()
    places[:, markers.names.index("LFRM")] += (0.0, 0.1, 0.0)
    scaled = ik.Markers(unit * places, markers.names, markers.rate)
    mapping = propose_mapping(ik.human(), scaled, geometry=False)
    assert len(mapping.used) == len(markers.names)


@pytest.mark.parametrize("side", ["l", "r"])
def test_the_side_that_names_leave_open(somebody: Subject, side: str):
    names = {"rASIS": "r_asis", "lASIS": "l_asis", "rPSIS": "r_psis", "lPSIS": "l_psis"}
    names |= {
        "latKnee": f"{side}_knee_lateral",
        "heel": f"{side}_heel",
        "hip": f"{side}_trochanter",
    }
    mapping = propose_mapping(ik.human(), record(somebody, names), geometry=False)
    assert {m.recorded: m.landmark for m in mapping} == names
    assert 0.5 < mapping["heel"].confidence < mapping["lASIS"].confidence
    # A few millimetres from the middle tell nothing.
    markers = record(somebody, names)
    places = markers.positions.copy()
    beside = (-0.02, 0.006, 0.03)
    places[:, 4:] = somebody.skeleton.forward(somebody.q).point("pelvis", beside)[:, None]
    middle = ik.Markers(places, markers.names, markers.rate)
    assert propose_mapping(ik.human(), middle, geometry=False)["heel"].code == "unclear"


def test_a_short_name_is_settled_by_its_place(in_few_frames: Subject):
    """LSH is a shank below a knee and a shoulder above an elbow."""
    known = {"LFWT": "l_asis", "RFWT": "r_asis", "LBWT": "l_psis", "RBWT": "r_psis", "C7": "c7"}
    known |= {"LKNE": "l_knee_lateral", "LANK": "l_ankle_lateral", "CLAV": "jugular_notch"}
    known |= {"LELB": "l_elbow_lateral", "STRN": "xiphoid"}
    for landmark in ("l_shin_side", "l_acromion"):
        mapping = propose_mapping(ik.human(), record(in_few_frames, {**known, "LSH": landmark}))
        assert mapping["LSH"].landmark == landmark, landmark
        assert 0.5 < mapping["LSH"].confidence < mapping["LKNE"].confidence


def test_a_place_between_two_meanings_settles_nothing(in_few_frames: Subject):
    """LVMH is the head of the 1st or the 5th metatarsal; between them, or far off, neither."""
    known = {"LFWT": "l_asis", "RFWT": "r_asis", "LBWT": "l_psis", "RBWT": "r_psis"}
    known |= {
        "LKNE": "l_knee_lateral",
        "LANK": "l_ankle_lateral",
        "LHEE": "l_heel",
        "LTOE": "l_toe",
    }
    known |= {"LTHI": "l_thigh_side", "LSHN": "l_shin_side"}
    pose = in_few_frames.skeleton.forward(in_few_frames.q)
    markers = record(in_few_frames, {**known, "LVMH": "l_metatarsal_1"})

    def settle(bone: str, point: tuple[float, float, float]) -> str:
        places = markers.positions.copy()
        places[:, -1] = pose.point(bone, point)
        moved = ik.Markers(places, markers.names, markers.rate)
        return propose_mapping(ik.human(), moved)["LVMH"].landmark

    assert settle("l_foot", (0.125, -0.030, -0.045)) == "l_metatarsal_1"
    assert settle("l_toes", (0.0, 0.005, 0.0)) == ""
    assert settle("l_foot", (0.13, -0.17, -0.045)) == ""


def test_other_subjects_and_things(somebody: Subject):
    names = somebody.markers.names
    both = ik.Markers(
        np.concatenate([somebody.markers.positions, somebody.markers.positions + 1.0], axis=1),
        (*(f"A:{n}" for n in names), *(f"B:{n}" for n in names)),
        120.0,
    )
    mapping = propose_mapping(ik.human(), both, geometry=False)
    assert {m.recorded[0] for m in mapping.used} == {"A"} and len(mapping.used) == len(names)
    assert {m.code for m in mapping if m.bone is None} == {"other-subject"}
    few = both.chosen([f"{who}:{n}" for who in "AB" for n in ("LKNE", "LANK", "LHEE", "LTOE")])
    assert [m.code for m in propose_mapping(ik.human(), few, geometry=False)][4:] == (
        4 * ["other-subject"]
    )
    # A prefix that shares one name is a part of the same body.
    parts = somebody.markers.chosen(["LKNE", "LANK", "LHEE", "RKNE", "RANK"])
    names = ["A:LKNE", "A:LANK", "A:LHEE", "B:LKNE", "B:RANK"]
    parts = parts.renamed(dict(zip(parts.names, names, strict=True)))
    assert "other-subject" not in {
        m.code for m in propose_mapping(ik.human(), parts, geometry=False)
    }
    things = somebody.markers.renamed({"LFRM": "WheelchairL", "RFRM": "R.Roue"})
    mapping = propose_mapping(ik.human(), things, geometry=False)
    assert mapping["WheelchairL"].code == "object" and mapping["R.Roue"].code == "object"
    assert "2 are on things (WheelchairL and R.Roue)" in mapping.describe_unused()


def test_markers_without_a_name_that_means_something(in_few_frames: Subject):
    """A bone on which they rest, near enough, and how far they may slide on it."""
    person = in_few_frames
    pose = person.skeleton.forward(person.q)
    on_thigh = pose.point("l_thigh", (0.05, 0.07, -0.25))
    along = pose.rotations[:, person.skeleton.bone_index("l_thigh"), :, 2]
    slide = np.sin(np.arange(len(along)))[:, None] * along
    extra = {
        "flag": pose.point("head", (0.0, 0.0, 0.5)),  # moves as the head does, but no skin is there
        "crown": pose.point("head", (0.0, 0.0, 0.15)),
        "loose": on_thigh + 0.09 * slide,
        "skin": on_thigh + 0.01 * slide,
        "low": pose.point("l_shin", (0.12, 0.045, -0.12)),  # 0.12 m from LSHN, which is not there
        "shin": pose.point("r_shin", (0.03, -0.045, -0.22)),  # 0.02 m below RSHN
    }
    known = person.markers.chosen([n for n in person.markers.names if n not in ("LSHN", "RSHN")])
    markers = ik.Markers(
        np.concatenate([known.positions, np.stack([*extra.values()], axis=1)], axis=1),
        (*known.names, *extra),
        person.markers.rate,
    ).renamed({"low": "zz", "shin": "yy", "skin": "xx"})  # "shin" would mean something
    mapping = propose_mapping(ik.human(), markers)
    assert mapping["flag"].code == "unclear" and "mm from it" in mapping["flag"].reason
    assert (mapping["crown"].code, mapping["crown"].bone) == ("geometry", "head")
    assert mapping["loose"].code == "unclear" and "on no bone at rest" in mapping["loose"].reason
    assert (mapping["xx"].code, mapping["xx"].bone) == ("geometry", "l_thigh")
    assert (mapping["zz"].marker, mapping["zz"].bone) == (None, "l_shin")
    assert (mapping["yy"].marker, mapping["yy"].bone) == ("RSHN", "r_shin")


@pytest.mark.full
def test_where_hardly_anything_moves_places_tell_nothing(somebody: Subject):
    """Knee and ankle that bend by a degree or two do not tell the shin from thigh and foot."""
    skeleton, frames = somebody.skeleton, 12
    q = np.repeat(somebody.q[:1], frames, axis=0)
    q[:, skeleton.dof_names.index("l_shin.ry")] += 0.03 * np.sin(np.arange(frames))
    q[:, skeleton.dof_names.index("l_foot.ry")] += 0.03 * np.cos(np.arange(frames))
    places = skeleton.forward(q).markers
    places = places + np.random.default_rng(0).normal(0.0, 2e-4, places.shape)
    markers = ik.Markers(places, somebody.markers.names, 12.0).renamed({"LSHN": "thing"})
    mapping = propose_mapping(ik.human(), markers)
    assert mapping["thing"].bone is None and mapping["thing"].code == "unclear"


def test_distances(in_few_frames: Subject):
    """A marker 60 mm from its place is told to be about that far, the others nearer."""
    somebody = in_few_frames
    places = somebody.markers.positions.copy()
    pose = somebody.skeleton.forward(somebody.q)
    bone, point = somebody.skeleton.marker("LTHI")
    k = somebody.markers.names.index("LTHI")
    places[:, k] = pose.point(bone, np.add(point, (0.06, 0.0, 0.0)))
    markers = ik.Markers(places, somebody.markers.names, somebody.markers.rate)
    mapping = propose_mapping(ik.human(), markers, geometry=False)
    distances = measure_distances(mapping, markers)
    assert distances["LTHI"] == pytest.approx(0.06, abs=0.02)
    assert np.median(list(distances.values())) < 0.015
    two = markers.chosen(["LTHI", "LKNE"])
    assert measure_distances(propose_mapping(ik.human(), two, geometry=False), two) == {}
