"""What is shown stands: one way to find out which axis is up, for motions, figures and markers."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import exactik as ik
from exactik.anatomy import describe_whole_body, stand_up_skeleton
from exactik.errors import FileWarning, ModelError
from exactik.model.motion import turn_skeleton
from exactik.recordings.pipeline import (
    find_motion_up,
    find_upright_person,
    read_motion,
)
from exactik.studio.viewer import PlaybackData
from tests.support.checkout import DATA

TO_Y = "YZX"  # axes that make z up y up
FIGURES = {"human": ik.human, "dog": ik.quadruped}


def find_files(folder: str, *suffixes: str) -> list[str]:
    paths = [p for p in (DATA / folder).rglob("*") if p.suffix.lower() in suffixes]
    return sorted(path.relative_to(DATA).as_posix() for path in paths)


def rest_of(skeleton: ik.Skeleton) -> ik.Motion:
    return ik.Motion(skeleton, np.tile(skeleton.neutral(), (3, 1)), 30.0)


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("axes", ["XYZ", TO_Y])
def test_a_figure_that_says_nothing_is_shown_standing(name, axes):
    figure = FIGURES[name]()
    turned = turn_skeleton(figure, axes)
    assert find_motion_up(rest_of(turned)) == ("z" if axes == "XYZ" else "y")
    for skeleton in (stand_up_skeleton(turned), PlaybackData.of(rest_of(turned)).skeleton):
        places = skeleton.forward(skeleton.neutral()).positions
        np.testing.assert_allclose(
            places, figure.forward(figure.neutral()).positions, rtol=0.0, atol=1e-12
        )


def test_what_a_motion_says_goes_before_what_it_looks_like():
    motion = rest_of(ik.human())
    assert find_motion_up(replace(motion, up_axis="y")) == "y"
    assert find_motion_up(replace(motion, source="a.amc")) == "y"  # a rule of the format
    assert find_motion_up(replace(motion, source="a.bvh")) == "z"  # but a custom of this one
    tip = ik.Bone("tip", parent="base", offset=(1.0, 0.0, 0.0))
    arm = rest_of(ik.Skeleton.build("arm", [ik.Bone("base"), tip]))
    assert find_motion_up(arm) is None
    assert find_motion_up(replace(arm, source="a.bvh")) == "y"
    assert PlaybackData.of(arm).skeleton == arm.skeleton


def test_somebody_who_lies_all_the_time_is_not_set_upright():
    figure = ik.human()
    q = np.tile(figure.neutral(), (3, 1))
    lying = ik.Motion(turn_skeleton(figure, TO_Y), q, 30.0)
    assert find_motion_up(lying) == "y"
    root = [figure.dof_names.index(f"pelvis.r{axis}") for axis in "xyz"]
    lying.q.flags.writeable = True
    lying.q[:, root[0]] += 0.5 * np.pi
    assert find_motion_up(lying) == "y"


@pytest.mark.parametrize(("share", "up"), [(0.02, "y"), (0.2, None)])
def test_a_creature_stands_on_its_feet_where_zero_is(share, up):
    """One with names of its own, y up, whose paws are a little or a lot above zero."""
    legs = [(x, z) for x in (-0.2, 0.2) for z in (-0.5, 0.5)]
    bones = [ik.Bone("a", offset=(0, 0.6, 0)), ik.Bone("b", parent="a", offset=(0, 0.4, 0.7))]
    for k, (x, z) in enumerate(legs):
        bones.append(ik.Bone(f"c{k}", parent="a", offset=(x, share - 0.6, z)))
    assert find_motion_up(rest_of(ik.Skeleton.build("creature", bones))) == up


def test_a_lamp_on_one_foot_may_as_well_hang():
    bones = [ik.Bone("a", offset=(0, 0.6, 0)), ik.Bone("b", parent="a", offset=(0, 0.4, 0.7))]
    bones.append(ik.Bone("c", parent="a", offset=(0.0, -0.6, 0.1)))
    assert find_motion_up(rest_of(ik.Skeleton.build("lamp", bones))) is None


@pytest.mark.parametrize(("degrees", "up"), [(0.0, "y"), (20.0, "y"), (40.0, None)])
def test_a_body_away_from_zero_is_up_where_its_head_is_above_its_feet(degrees, up):
    """Its hips are at the origin, and it leans."""
    figure = turn_skeleton(ik.human(), TO_Y)
    root, *others = figure.bones
    angle = np.radians(degrees)
    lean = [[1, 0, 0], [0, np.cos(angle), -np.sin(angle)], [0, np.sin(angle), np.cos(angle)]]
    pre = np.array(lean) if root.pre is None else np.array(lean) @ np.array(root.pre)
    moved = ik.Bone(root.name, offset=(0, 0, 0), pre=pre, joint=root.joint, post=root.post)
    assert find_motion_up(rest_of(figure.with_bones([moved, *others]))) == up


def test_markers_and_a_motion_that_both_say_nothing_are_turned_alike():
    figure = ik.human()
    motion = rest_of(turn_skeleton(figure, TO_Y))
    paths = motion.forward().markers
    markers = ik.Markers(paths, tuple(figure.markers), 30.0)
    data = PlaybackData.of(motion, markers=markers)
    assert np.nanmax(data.errors) < 1e-12
    np.testing.assert_allclose(data.targets(0), figure.forward(figure.neutral()).markers, atol=1e-9)


# --- real files


def assert_stands(data: PlaybackData) -> None:
    """The head is above the ankles in the first frame, more than aside."""
    try:
        parts = describe_whole_body(data.skeleton, data.skeleton.neutral()).parts
    except ModelError:
        pytest.skip("no body with arms and legs")
    place = data.pose(0).positions
    index = {name: data.skeleton.bone_index(part.bone) for name, part in parts.items()}
    ankles = 0.5 * (place[index["left_foot"]] + place[index["right_foot"]])
    way = place[index.get("head", index["pelvis"])] - ankles
    assert way[2] > 2.0 * np.linalg.norm(way[:2])


UPRIGHT = [
    name
    for name in find_files("bvh", ".bvh") + find_files("gltf", ".glb", ".gltf")
    if not any(part in name for part in ("sinusoidal", "dog", "Fox"))
]


@pytest.mark.full
@pytest.mark.parametrize("name", UPRIGHT)
def test_figures_of_real_files_stand_in_the_first_frame(name, shared_data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileWarning)
        try:
            loaded = ik.load_motion(DATA / name, length_unit="auto")
        except ik.FileError:
            pytest.skip("it holds no motion")
        assert_stands(PlaybackData.of(loaded))
        assert_stands(PlaybackData.of(read_motion(str(DATA / name)).motion))


def test_an_unusual_axis_of_a_real_file_is_noted(shared_data):
    notes = read_motion(str(DATA / "bvh/pybvh/bvh_example.bvh")).notes
    assert any("z is taken for up, along which the figure stands" in note for note in notes)
    notes = read_motion(str(DATA / "bvh/cmu_cgspeed/02_01.bvh")).notes
    assert not any("taken for up" in note for note in notes)


@pytest.mark.slow
@pytest.mark.parametrize("name", find_files("c3d", ".c3d"))
def test_people_in_real_recordings_stand_in_the_first_frame(name, shared_data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileWarning)
        markers = ik.load_markers(DATA / name)
    if not np.isfinite(markers.positions).any() or "upside_down" in name:
        pytest.skip("nobody stands in it")
    data = PlaybackData.of(markers)
    assert data.recorded is not None
    seen = find_upright_person(data.recorded.content.between(0.0, 0.5))
    if seen is None:
        pytest.skip("no names that our human knows")
    assert seen.axis == "z" and seen.cosine > 0.8
