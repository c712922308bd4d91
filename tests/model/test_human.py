"""The built-in human: what it has, how it stands, which way its joints bend."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactik.model import human
from exactik.typing import Array

MARKERS = """
    LFHD RFHD LBHD RBHD C7 T10 CLAV STRN RBAC LSHO LUPA LELB LFRM LWRA LWRB LFIN RSHO RUPA RELB RFRM
    RWRA RWRB RFIN LFWT RFWT LBWT RBWT LTHI LKNE LSHN LANK LHEE LMT5 LTOE RTHI RKNE RSHN RANK RHEE
    RMT5 RTOE
""".split()


def other_side(name: str) -> str:
    """The name of the mirror image of a bone or dof."""
    return {"l_": "r_", "r_": "l_"}.get(name[:2], name[:2]) + name[2:]


def mirror_pose(q: Array) -> Array:
    """The mirror image, in the plane y = 0, of a configuration."""
    names = human().dof_names
    flips = {"rx": -1.0, "ry": 1.0, "rz": -1.0, "tx": 1.0, "ty": -1.0, "tz": 1.0}
    out = np.empty_like(q)
    for i, name in enumerate(names):
        out[i] = flips[name.split(".")[1]] * q[names.index(other_side(name))]
    return out


def markers_at(q: Array) -> dict[str, Array]:
    return dict(zip(human().markers, human().forward(q).markers, strict=True))


def bend_joint(dof: str, angle: float) -> dict[str, Array]:
    """Displacements of the markers when one dof is bent from the neutral pose."""
    q = np.zeros(58)
    q[human().dof_names.index(dof)] = angle
    rest = markers_at(np.zeros(58))
    return {name: place - rest[name] for name, place in markers_at(q).items()}


def test_it_has_58_dofs_and_the_41_usual_markers():
    assert (human().nq, human().nv, len(human().bones)) == (58, 58, 27)
    assert list(human().markers) == MARKERS
    assert len(MARKERS) == 41
    assert human().bone_names[0] == "pelvis"


def test_one_object_serves_everybody():
    assert human() is human()


def test_all_joints_but_the_root_have_limits_with_the_neutral_pose_inside():
    limited = np.isfinite(human().lower) & np.isfinite(human().upper)
    np.testing.assert_array_equal(limited, [not n.startswith("pelvis.") for n in human().dof_names])
    np.testing.assert_array_equal(human().neutral(), 0.0)
    assert (human().lower < 0.0).all()
    assert (human().upper > 0.0).all()
    assert np.abs(human().lower[limited]).max() <= np.pi


def test_it_stands_upright_on_the_floor_facing_x():
    pose = human().forward(human().neutral())
    at = markers_at(human().neutral())
    heights = np.array([place[2] for place in at.values()])
    assert 0.0 < heights.min() < 0.05
    assert 1.65 < heights.max() < 1.75
    for segment in (("l_thigh", "l_shin"), ("l_shin", "l_foot")):
        upper, lower = (pose.point(bone) for bone in segment)
        np.testing.assert_allclose((upper - lower)[:2], 0.0, atol=1e-15)
        assert upper[2] - lower[2] > 0.4
    assert at["LTOE"][0] > at["LHEE"][0] + 0.2
    assert at["LFHD"][0] > at["LBHD"][0]
    assert at["STRN"][0] > at["T10"][0]
    for name, place in at.items():
        if name.startswith("L"):
            assert place[1] > 0.0


def test_arms_point_45_degrees_down_and_thumbs_forward():
    pose, at = human().forward(human().neutral()), markers_at(human().neutral())
    along = pose.point("l_hand") - pose.point("l_upper_arm")
    np.testing.assert_allclose(
        along / np.linalg.norm(along), [0, 0.5**0.5, -(0.5**0.5)], atol=1e-15
    )
    assert at["LWRA"][0] > at["LWRB"][0]  # WRA is the thumb's side


@given(st.integers(0, 2**32 - 1))
def test_mirrored_coordinates_give_the_mirrored_figure(seed: int):
    q = np.random.default_rng(seed).uniform(-3.0, 3.0, size=58)
    at, image = markers_at(q), markers_at(mirror_pose(q))
    for name in MARKERS:
        if name != "RBAC":  # on the right shoulder blade only, as usual, to tell the sides apart
            twin = {"L": "R", "R": "L"}.get(name[0], name[0]) + name[1:]
            np.testing.assert_allclose(image[twin], at[name] * (1, -1, 1), atol=1e-14)


def test_limits_are_mirror_images_exactly():
    finite = np.isfinite(human().lower)
    for one, other in ((human().lower, human().upper), (human().upper, human().lower)):
        image = mirror_pose(one)
        same = np.array([name.endswith("ry") for name in human().dof_names])
        np.testing.assert_array_equal(image[finite], np.where(same, one, other)[finite])


def test_every_dof_moves_a_marker():
    q = np.full(58, 0.1)
    total = np.zeros(58)
    for bone, point in human().markers.values():
        total += np.abs(human().jacobian(q, bone, point)).sum(axis=0)
    assert total.min() > 1e-3


@pytest.mark.parametrize(
    ("dof", "degrees", "marker", "axis", "sign"),
    [
        ("l_shin.ry", 60, "LHEE", 0, -1),  # a bent knee brings the heel back
        ("l_shin.ry", 60, "LHEE", 2, 1),
        ("l_thigh.ry", -60, "LKNE", 0, 1),  # a bent hip brings the knee forward
        ("l_thigh.rx", 30, "LKNE", 1, 1),  # the left leg goes out to the left
        ("r_thigh.rx", -30, "RKNE", 1, -1),
        ("l_thigh.rz", 30, "LTOE", 1, 1),  # turned out
        ("l_foot.ry", 30, "LTOE", 2, -1),  # on tiptoe
        ("l_toes.ry", -30, "LTOE", 2, 1),
        ("lower_back.ry", 40, "C7", 0, 1),  # a bow
        ("head.ry", 15, "LFHD", 2, -1),  # a nod
        ("head.rz", 30, "LFHD", 1, 1),  # a look to the left
        ("l_clavicle.rx", 20, "LSHO", 2, 1),  # a shrug
        ("l_clavicle.rz", -20, "LSHO", 0, 1),
        ("l_upper_arm.rx", 40, "LELB", 2, 1),  # an arm raised sideways
        ("l_upper_arm.rz", -60, "LELB", 0, 1),  # an arm swung forward
        ("l_forearm.rz", -90, "LFIN", 0, 1),  # a bent elbow brings the hand forward
        ("r_forearm.rz", 90, "RFIN", 0, 1),
        ("l_hand.rx", -60, "LFIN", 2, -1),  # a bent wrist, palm down
        ("l_fingers.rx", -60, "LFIN", 2, -1),
    ],
)
def test_joints_bend_the_way_people_do(dof: str, degrees: float, marker: str, axis: int, sign: int):
    i, angle = human().dof_names.index(dof), np.radians(degrees)
    assert human().lower[i] <= angle <= human().upper[i]
    assert sign * bend_joint(dof, angle)[marker][axis] > 0.005


def test_knees_and_elbows_do_not_bend_backwards():
    for dof, backwards in (("l_shin.ry", -0.2), ("l_forearm.rz", 0.2), ("r_forearm.rz", -0.2)):
        i = human().dof_names.index(dof)
        assert not human().lower[i] <= backwards <= human().upper[i]


def test_the_joints_of_the_neck_reach_as_far_as_people_do_together():
    """Adults: flexion 50 to 60°, extension 60 to 70°, to the side 45°, rotation 80°."""
    names, lower, upper = human().dof_names, human().lower, human().upper
    for dof, low, high in (("ry", -60.0, 50.0), ("rx", -45.0, 45.0), ("rz", -80.0, 80.0)):
        joints = [names.index(f"{bone}.{dof}") for bone in ("lower_neck", "upper_neck", "head")]
        least, most = np.degrees(lower[joints].sum()), np.degrees(upper[joints].sum())
        # Half as much again and more: how the joints share a motion is not the same in all people.
        assert 1.9 * low < least < 1.2 * low and 1.2 * high < most < 1.9 * high
