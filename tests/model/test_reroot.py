"""A re-rooted skeleton is the same figure: nothing moves but the root."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactik.errors import ModelError, UnknownNameError
from exactik.model import Bone, Joint, Loop, Skeleton, human, reroot, reroot_coordinates
from tests.support.models import (
    INNER_JOINTS,
    ROOT_JOINTS,
    chain_of,
    configuration,
    recipe_tree,
    skeletons,
)

FREE_ROOTS = tuple(name for name in ROOT_JOINTS if name.startswith("free"))


def placements(skeleton: Skeleton, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotations of the bones by name, and positions of the markers."""
    pose = skeleton.forward(q)
    order = [skeleton.bone_index(name) for name in sorted(skeleton.bone_names)]
    return pose.rotations[..., order, :, :], pose.markers


def assert_same_pose(one: Skeleton, q1: np.ndarray, other: Skeleton, q2: np.ndarray) -> None:
    for a, b in zip(placements(one, q1), placements(other, q2), strict=True):
        np.testing.assert_allclose(a, b, atol=2e-13)


@given(skeletons(roots=FREE_ROOTS), st.data())
def test_free_figure_keeps_every_bone_and_marker(skeleton: Skeleton, data: st.DataObject):
    bone = data.draw(st.sampled_from(skeleton.bone_names))
    q = configuration(skeleton, data.draw(st.integers(0, 1000)))
    other = reroot(skeleton, bone)
    moved = reroot_coordinates(skeleton, bone, q)
    assert_same_pose(skeleton, q, other, moved)
    # … and back again.
    root = skeleton.bone_names[0]
    assert_same_pose(skeleton, q, other.reroot(root), other.reroot_coordinates(root, moved))


@given(skeletons(roots=["fixed"]), st.data())
def test_fixed_figure_keeps_its_shape(skeleton: Skeleton, data: st.DataObject):
    """The fixed root cannot follow: seen from the new root everything is where it was."""
    bone = data.draw(st.sampled_from(skeleton.bone_names))
    q = configuration(skeleton, data.draw(st.integers(0, 1000)))
    other, moved = reroot(skeleton, bone), reroot_coordinates(skeleton, bone, q)
    seen = []
    for figure, coordinates in ((skeleton, q), (other, moved)):
        rotations, markers = placements(figure, coordinates)
        base = figure.forward(coordinates).rotations[figure.bone_index(bone)]
        seen.append((base.T @ rotations, (markers - markers[0]) @ base))
    for a, b in zip(*seen, strict=True):
        np.testing.assert_allclose(a, b, atol=2e-13)
    assert_same_pose(skeleton, skeleton.neutral(), other, other.neutral())


@given(skeletons(roots=FREE_ROOTS), st.data())
def test_neutral_poses_correspond(skeleton: Skeleton, data: st.DataObject):
    bone = data.draw(st.sampled_from(skeleton.bone_names))
    other = reroot(skeleton, bone)
    assert_same_pose(skeleton, skeleton.neutral(), other, other.neutral())
    np.testing.assert_allclose(
        reroot_coordinates(skeleton, bone, skeleton.neutral()), other.neutral(), atol=1e-13
    )


@pytest.mark.parametrize("kind", INNER_JOINTS)
def test_every_joint_kind_reverses(kind: str):
    """One chain per kind, so that a kind that is never drawn cannot hide."""
    skeleton = chain_of([Joint.free(), Joint.revolute("x"), INNER_JOINTS[kind], Joint.prismatic()])
    q = configuration(skeleton, seed=5)
    other = skeleton.reroot("b3")
    assert other.bone_names[0] == "b3"
    assert_same_pose(skeleton, q, other, skeleton.reroot_coordinates("b3", q))


def test_origin_of_a_reversed_bone_is_its_joint():
    skeleton = recipe_tree()
    q = configuration(skeleton, seed=2)
    pose = skeleton.forward(q)
    other = skeleton.reroot("crown")
    now = other.forward(skeleton.reroot_coordinates("crown", q))
    for above, below in [("trunk", "fork"), ("fork", "top"), ("top", "crown")]:
        np.testing.assert_allclose(now.point(above), pose.point(below), atol=1e-14)
    np.testing.assert_allclose(now.point("left"), pose.point("left"), atol=1e-14)
    assert other.nv == skeleton.nv
    assert sorted(other.bone_names) == sorted(skeleton.bone_names)
    assert next(b.parent for b in other.bones if b.name == "trunk") == "fork"


@pytest.mark.parametrize("lead", [(), (3,), (2, 4)])
def test_coordinates_take_any_batch_shape(lead: tuple[int, ...]):
    skeleton = human()
    q = np.random.default_rng(0).uniform(-0.5, 0.5, size=(*lead, skeleton.nq))
    other = skeleton.reroot("l_foot")
    moved = skeleton.reroot_coordinates("l_foot", q)
    assert moved.shape == q.shape
    assert_same_pose(skeleton, q, other, moved)


def test_limits_follow_their_coordinates():
    """A configuration inside the limits is inside those of the re-rooted figure, and only then."""
    skeleton = human()
    other = skeleton.reroot("r_fingers")
    rng = np.random.default_rng(1)
    low, high = np.maximum(skeleton.lower, -1.0), np.minimum(skeleton.upper, 1.0)
    inside = rng.uniform(low, high)
    moved = skeleton.reroot_coordinates("r_fingers", inside)
    assert (other.lower <= moved).all()
    assert (moved <= other.upper).all()
    for dof in np.flatnonzero(np.isfinite(skeleton.upper)):
        beyond = inside.copy()
        beyond[dof] = skeleton.upper[dof] + 0.01
        moved = skeleton.reroot_coordinates("r_fingers", beyond)
        assert ((moved < other.lower) | (moved > other.upper)).sum() == 1


def test_root_itself_changes_nothing():
    skeleton = human()
    q = configuration(skeleton)
    assert skeleton.reroot("pelvis") == skeleton
    np.testing.assert_array_equal(skeleton.reroot_coordinates("pelvis", q), q)


def test_other_roots_stay():
    skeleton = Skeleton.build(
        "pair",
        [
            Bone("a", joint=Joint.free()),
            Bone("b", parent="a", offset=(1, 0, 0), joint=Joint.revolute()),
            Bone("prop", offset=(0, 2, 0), joint=Joint.revolute()),
        ],
        {"P": ("prop", (1, 0, 0)), "A": ("a", (0, 0, 1))},
    )
    q = configuration(skeleton, seed=3)
    assert_same_pose(skeleton, q, skeleton.reroot("b"), skeleton.reroot_coordinates("b", q))


TWIST_ONLY = [(-np.inf, np.inf), (-np.inf, np.inf), (-1.0, 2.0)]


def test_twist_may_be_limited():
    skeleton = chain_of([Joint.free(), Joint.swing_twist("x", limits=TWIST_ONLY)])
    other = skeleton.reroot("b1")
    np.testing.assert_array_equal(other.lower[-3:], [-np.inf, -np.inf, -2.0])
    np.testing.assert_array_equal(other.upper[-3:], [np.inf, np.inf, 1.0])


@pytest.mark.parametrize(
    ("joints", "reason"),
    [
        ([Joint.free(), Joint.free()], "free joint turns before it shifts"),
        ([Joint.free(), Joint.swing_twist("x", limits=[(-1, 1)] * 3)], "limits of a swing"),
        ([Joint.revolute(), Joint.revolute()], "root 'b0' is on a revolute joint"),
        ([Joint.quaternion(), Joint.revolute()], "root 'b0' is on a quaternion joint"),
        ([Joint.free("Y"), Joint.revolute("y")], "turns about 1 axes only"),
        ([Joint.free(limits=[(-1, 1)] * 3), Joint.revolute()], "limits of the root 'b0'"),
    ],
)
def test_what_cannot_be_reversed_says_why(joints: list[Joint], reason: str):
    with pytest.raises(ModelError, match=reason):
        chain_of(joints).reroot("b1")


def test_unknown_bone_is_named():
    with pytest.raises(UnknownNameError, match="did you mean 'l_foot'"):
        human().reroot("l_fot")
    with pytest.raises(UnknownNameError, match="no bone named 'tail'"):
        human().reroot_coordinates("tail", human().neutral())


def test_a_hinge_keeps_its_letter():
    """The knee bends about y from either side; only the sign of its angle and limits changes."""
    figure = human()
    turned = figure.reroot("r_foot")
    knee, other = figure.dof_names.index("r_shin.ry"), turned.dof_names.index("r_thigh.ry")
    assert turned.lower[other] == -figure.upper[knee]
    assert turned.upper[other] == -figure.lower[knee]


def test_a_loop_gapes_as_far_seen_from_any_root():
    ends = ((0.1, 0.0, 0.2), (0.0, -0.1, 0.0))
    figure = human().with_loops(Loop("l_hand", "r_thigh", points=ends))
    q = figure.integrate(figure.neutral(), np.linspace(-0.4, 0.4, figure.nv))
    moved = figure.reroot("l_hand")
    gaps = [
        skeleton.loops[0].measure_gap(skeleton.forward(pose))
        for skeleton, pose in ((figure, q), (moved, figure.reroot_coordinates("l_hand", q)))
    ]
    pose = figure.forward(q)
    apart = pose.point("l_hand", ends[0]) - pose.point("r_thigh", ends[1])
    assert gaps == pytest.approx([np.linalg.norm(apart)] * 2)
