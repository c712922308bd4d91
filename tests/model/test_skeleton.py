"""Skeletons: building, refusing nonsense, staying as they are, and moving."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactik.errors import (
    CoordinateError,
    ExactikError,
    ModelError,
    NonFiniteError,
    ShapeError,
    UnknownNameError,
)
from exactik.lab.check import oracle
from exactik.model import EULER_ORDERS, Bone, Joint, Skeleton, human
from exactik.spatial import axis_rotation, exp_rotation, matrix_from_wxyz
from tests.support.models import (
    EVERY_JOINT,
    bushy_tree,
    chain_of,
    configuration,
    exp_map_arm,
    gantry,
    planar_arm,
    recipe_tree,
    serial_chain,
    skeletons,
)

ANYWHERE = tuple(EVERY_JOINT)
MODELS = [planar_arm(), gantry(), exp_map_arm(), recipe_tree(), human(), serial_chain(6)]


# --- building


def test_children_may_come_before_their_parents():
    bones = [
        Bone("hand", parent="lower", joint=Joint.revolute()),
        Bone("lower", parent="upper", joint=Joint.revolute()),
        Bone("prop"),
        Bone("upper", joint=Joint.revolute()),
    ]
    skeleton = Skeleton.build("arm", bones)
    assert skeleton.bone_names == ("upper", "lower", "hand", "prop")
    assert skeleton.parents.tolist() == [-1, 0, 1, -1]


def test_an_order_that_works_is_kept():
    names = ("a", "c", "b", "d")
    bones = [Bone("a"), Bone("c", parent="a"), Bone("b", parent="a"), Bone("d", parent="c")]
    assert Skeleton.build("tree", bones).bone_names == names


def test_dofs_run_over_the_bones_in_order():
    skeleton = Skeleton.build(
        "names",
        [
            Bone("root", joint=Joint.free()),
            Bone("ball", parent="root", joint=Joint.exp_map()),
            Bone("slide", parent="ball", joint=Joint.prismatic("y", limits=(-1, 2))),
            Bone("hinge", parent="slide", joint=Joint.revolute((0.6, 0.8, 0.0))),
            Bone("swing", parent="hinge", joint=Joint.swing_twist("z")),
            Bone("proper", parent="swing", joint=Joint.euler("ZXZ")),
            Bone("tip", parent="proper"),
        ],
    )
    assert (skeleton.nq, skeleton.nv) == (18, 17)
    assert skeleton.dof_names == (
        "root.tx",
        "root.ty",
        "root.tz",
        "root.wx",
        "root.wy",
        "root.wz",
        "ball.ex",
        "ball.ey",
        "ball.ez",
        "slide.ty",
        "hinge.r",
        "swing.swing_x",
        "swing.swing_y",
        "swing.twist_z",
        "proper.rz",
        "proper.rx",
        "proper.rz2",
    )
    expected = np.full(17, np.inf)
    expected[9] = 2.0
    np.testing.assert_array_equal(skeleton.upper, expected)
    expected[9] = 1.0
    np.testing.assert_array_equal(skeleton.lower, -expected)


@pytest.mark.parametrize(
    ("bones", "error", "message"),
    [
        ([], ModelError, "at least one bone"),
        ([Bone("a"), Bone("a")], ModelError, "two bones are named 'a'"),
        ([Bone("a", parent="a")], ModelError, "cycle: a → a"),
        (
            [Bone("r"), Bone("a", parent="c"), Bone("b", parent="a"), Bone("c", parent="b")],
            ModelError,
            "cycle: a → c → b → a",
        ),
        ([Bone("arm"), Bone("b", parent="amr")], UnknownNameError, "'amr'; did you mean 'arm'"),
    ],
)
def test_impossible_trees_are_refused(bones: list[Bone], error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        Skeleton.build("no", bones)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Bone(""), ModelError, "non-empty string"),
        (lambda: Bone("a", joint="hinge"), ModelError, "must be a Joint, not str"),  # type: ignore
        (lambda: Bone("a", offset=(1, 2)), ShapeError, "offset of bone 'a' has shape"),
        (
            lambda: Bone("a", offset=(1, np.nan, 2)),
            NonFiniteError,
            r"offset of bone 'a'\[1\] is nan",
        ),
        (lambda: Bone("a", pre=np.zeros((3, 3))), ModelError, "pre of bone 'a' is not a rotation"),
        (lambda: Bone("a", post=-np.eye(3)), ModelError, "post of bone 'a' is not a rotation"),
        (lambda: Bone("a", pre=np.eye(4)), ShapeError, "pre of bone 'a' has shape"),
        (lambda: Joint.revolute("w"), ModelError, "axis 'w'"),
        (lambda: Joint.revolute((0, 0, 2)), ModelError, "length 2; it must be a unit vector"),
        (lambda: Joint.prismatic((0, 0, 0)), ModelError, "length 0"),
        (lambda: Joint.revolute((0, 1)), ShapeError, "axis has shape"),
        (lambda: Joint.revolute("x", (1, -1)), ModelError, "'rx' are swapped: lower 1 > upper -1"),
        (lambda: Joint.revolute("x", (np.nan, 1)), NonFiniteError, "limits hold NaN"),
        (lambda: Joint.revolute("x", (np.inf, np.inf)), ModelError, "leave no room"),
        (lambda: Joint.euler("ZYX", [(-1, 1)]), ShapeError, r"expected \(3, 2\)"),
        (lambda: Joint.euler("XXY"), ModelError, "'XXY' is not one of"),
        (lambda: Joint.euler("XYZX"), ModelError, "'XYZX' is not one of"),
        (lambda: Joint.euler("ABC"), ModelError, "'ABC' is not one of"),
        (lambda: Joint.euler(""), ModelError, "'' is not one of"),
        (lambda: Joint.swing_twist("n"), ModelError, "twist axis 'n'"),
        (lambda: Joint.free(Joint.prismatic()), ModelError, "needs a rotation joint inside"),
        (lambda: Joint.free("quaternion", [(-1, 1)] * 6), ModelError, "cannot be limited"),
    ],
)
def test_impossible_parts_are_refused(make: Any, error: type[Exception], message: str):
    with pytest.raises(error, match=message) as caught:
        make()
    assert isinstance(caught.value, ExactikError)


def test_markers_sit_on_bones_that_exist():
    bones = [Bone("arm", joint=Joint.revolute())]
    with pytest.raises(UnknownNameError, match="no bone named 'leg'"):
        Skeleton.build("no", bones, {"M": ("leg", (0, 0, 0))})
    with pytest.raises(ShapeError, match="point of marker 'M' has shape"):
        Skeleton.build("no", bones, {"M": ("arm", (0, 0))})
    with pytest.raises(NonFiniteError, match="point of marker 'M'"):
        Skeleton.build("no", bones, {"M": ("arm", (0, np.inf, 0))})


def test_several_markers_share_a_bone_and_move_with_it():
    skeleton = Skeleton.build(
        "arm",
        [Bone("arm", joint=Joint.revolute("z"))],
        {"A": ("arm", (1, 0, 0)), "B": ("arm", (0, 2, 0))},
    )
    np.testing.assert_allclose(
        skeleton.forward([np.pi / 2]).markers, [[0, 1, 0], [-2, 0, 0]], atol=1e-15
    )
    assert skeleton.marker("B") == ("arm", (0.0, 2.0, 0.0))
    with pytest.raises(UnknownNameError, match="no marker named 'C'"):
        skeleton.marker("C")
    other = skeleton.with_markers({"C": ("arm", (0, 0, 1))})
    assert (list(other.markers), list(skeleton.markers)) == (["C"], ["A", "B"])


def test_chains_run_from_the_root_to_every_leaf():
    chains = recipe_tree().chains()
    assert len(chains) == 6
    assert ("trunk", "fork", "left", "left_twig", "left_twig_end0") in chains
    parents = dict(zip(recipe_tree().bone_names, recipe_tree().parents.tolist(), strict=True))
    for chain in chains:
        assert parents[chain[0]] == -1
        for above, below in itertools.pairwise(chain):
            assert recipe_tree().bone_names[parents[below]] == above


def test_growing_models_have_the_size_they_say():
    for n in (1, 2, 10, 57):
        assert (serial_chain(n).nv, bushy_tree(n).nv) == (n, n)
    assert len(serial_chain(57).chains()) == 1
    assert len(bushy_tree(57).chains()) == len(bushy_tree(57).markers) > 19


# --- staying as they are


def test_skeletons_and_their_parts_cannot_be_changed():
    skeleton = planar_arm()
    for name in ("name", "bones", "anything"):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(skeleton, name, None)
    with pytest.raises(AttributeError, match="immutable"):
        del skeleton.bones
    with pytest.raises(TypeError):
        skeleton.markers["X"] = ("upper", (0, 0, 0))  # type: ignore[index]
    with pytest.raises(AttributeError):
        skeleton.bones[0].name = "x"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        skeleton.bones[0].joint.kind = "x"  # type: ignore[misc]
    for array in (skeleton.lower, skeleton.upper, skeleton.parents, skeleton.tree.offset):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@pytest.mark.parametrize("skeleton", MODELS, ids=lambda s: s.name)
def test_pickling_gives_an_equal_skeleton_that_moves_alike(skeleton: Skeleton):
    copy = pickle.loads(pickle.dumps(skeleton))
    assert copy == skeleton
    assert hash(copy) == hash(skeleton)
    q = configuration(skeleton)
    np.testing.assert_array_equal(copy.forward(q).markers, skeleton.forward(q).markers)


def test_equality_sees_every_difference():
    assert planar_arm() == planar_arm()
    assert planar_arm() != planar_arm(upper=0.5)
    assert planar_arm() != planar_arm().with_markers({})
    assert planar_arm() != "planar arm"


def test_errors_survive_pickling():
    with pytest.raises(UnknownNameError) as caught:
        planar_arm().bone_index("lowr")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value)


def test_printing_shows_the_tree():
    text = str(recipe_tree())
    lines = text.splitlines()
    assert len(lines) == 1 + len(recipe_tree().bones)
    assert lines[0] == "recipe tree: 15 bones, 30 dofs, 0 markers"
    assert lines[1] == "trunk  [free euler ZYX]"
    assert lines[2] == "├─ fork  [euler ZYX]"
    assert lines[3] == "│  ├─ left  [euler ZYX]"
    assert lines[-1] == "   └─ low_end5  [fixed]"
    assert "limited" in str(gantry())
    assert repr(gantry()) == "<Skeleton 'gantry': 3 bones, 3 dofs, 1 markers>"


# --- forward kinematics


@given(skeletons(joints=ANYWHERE, roots=ANYWHERE), st.integers(0, 1000))
def test_forward_is_the_definition(skeleton: Skeleton, seed: int):
    """Against the oracle, which multiplies the matrices of the bones as they are documented."""
    q = configuration(skeleton, seed)
    positions, rotations = oracle.forward(skeleton, q)
    pose = skeleton.forward(q)
    np.testing.assert_allclose(pose.positions, positions, atol=1e-13)
    np.testing.assert_allclose(pose.rotations, rotations, atol=1e-13)


@pytest.mark.parametrize("rotation", ["quaternion", "exp_map", "swing_twist", "ZYX", "oblique"])
def test_a_free_joint_shifts_along_its_base_whatever_turns_inside(rotation: str):
    joint = Joint.free(Joint.revolute((0.6, 0.8, 0)) if rotation == "oblique" else rotation)
    skeleton = Skeleton.build("free", [Bone("b", joint=joint)])
    q = configuration(skeleton)
    np.testing.assert_allclose(skeleton.forward(q).positions[0], q[:3], atol=1e-15)


@pytest.mark.parametrize("order", [*EULER_ORDERS, "X", "YZ"])
def test_euler_joints_turn_about_their_first_axis_last(order: str):
    skeleton = Skeleton.build("e", [Bone("b", joint=Joint.euler(order))])
    q = np.array([0.4, -1.1, 2.0])[: len(order)]
    expected = np.eye(3)
    for letter, angle in zip(order, q, strict=True):
        expected = expected @ axis_rotation(letter, angle)
    np.testing.assert_allclose(skeleton.forward(q).rotations[0], expected, atol=1e-15)


@pytest.mark.parametrize("twist", "xyz")
def test_swing_twist_swings_about_the_two_axes_that_follow_the_twist(twist: str):
    skeleton = Skeleton.build("s", [Bone("b", joint=Joint.swing_twist(twist))])
    n = "xyz".index(twist)
    w = np.zeros(3)
    w[(n + 1) % 3], w[(n + 2) % 3] = 0.7, -0.4
    expected = exp_rotation(w) @ axis_rotation(twist, 1.2)
    np.testing.assert_allclose(
        skeleton.forward([0.7, -0.4, 1.2]).rotations[0], expected, atol=1e-15
    )


@pytest.mark.parametrize("lead", [(), (1,), (5,), (2, 3), (0,)])
def test_forward_takes_any_batch_shape(lead: tuple[int, ...]):
    skeleton = chain_of(list(EVERY_JOINT.values()))
    n = len(skeleton.bones)
    one = configuration(skeleton)
    q = np.broadcast_to(one, (*lead, skeleton.nq))
    pose = skeleton.forward(q)
    assert pose.positions.shape == (*lead, n, 3)
    assert pose.rotations.shape == (*lead, n, 3, 3)
    assert pose.markers.shape == (*lead, 1, 3)
    assert pose.point("b3", (1, 2, 3)).shape == (*lead, 3)
    single = skeleton.forward(one)
    np.testing.assert_array_equal(pose.positions, np.broadcast_to(single.positions, (*lead, n, 3)))


def test_a_skeleton_without_dofs_still_has_a_pose():
    statue = Skeleton.build("statue", [Bone("a", offset=(1, 0, 0)), Bone("b", parent="a")])
    np.testing.assert_array_equal(statue.forward([]).positions, [[1, 0, 0], [1, 0, 0]])
    assert statue.forward(np.zeros((4, 0))).positions.shape == (4, 2, 3)
    assert statue.integrate([], []).shape == statue.difference([], []).shape == (0,)


# --- moving in the space of configurations


@given(skeletons(joints=ANYWHERE, roots=ANYWHERE), st.integers(0, 1000))
def test_integrate_and_difference_are_inverse(skeleton: Skeleton, seed: int):
    q0, q1 = configuration(skeleton, seed), configuration(skeleton, seed + 1)
    v = skeleton.difference(q1, q0)
    assert v.shape == (skeleton.nv,)
    there = skeleton.integrate(q0, v)
    np.testing.assert_allclose(
        skeleton.forward(there).rotations, skeleton.forward(q1).rotations, atol=1e-13
    )
    np.testing.assert_allclose(skeleton.difference(there, q1), 0.0, atol=1e-13)
    small = np.random.default_rng(seed).uniform(-1.0, 1.0, size=skeleton.nv)
    np.testing.assert_allclose(
        skeleton.difference(skeleton.integrate(q0, small), q0), small, atol=1e-13
    )
    np.testing.assert_allclose(skeleton.integrate(q0, np.zeros(skeleton.nv)), q0, rtol=1e-15)
    np.testing.assert_allclose(
        skeleton.integrate(skeleton.integrate(q0, 0.3 * small), 0.5 * small),
        skeleton.integrate(q0, 0.8 * small),
        atol=1e-14,
    )


def test_quaternions_are_updated_on_the_right():
    skeleton = Skeleton.build("ball", [Bone("b", joint=Joint.quaternion())])
    q, v = configuration(skeleton), np.array([0.3, -0.8, 0.5])
    moved = skeleton.integrate(q, v)
    np.testing.assert_allclose(
        matrix_from_wxyz(moved), matrix_from_wxyz(q) @ exp_rotation(v), atol=1e-15
    )
    np.testing.assert_allclose(np.linalg.norm(moved), 1.0, atol=1e-15)


def test_difference_takes_the_shorter_way_round():
    skeleton = Skeleton.build("ball", [Bone("b", joint=Joint.quaternion())])
    q = configuration(skeleton)
    for turn in (0.1, 3.0, np.pi):
        for sign in (1.0, -1.0):  # q and −q are the same rotation
            v = skeleton.difference(sign * skeleton.integrate(q, (0, 0, turn)), q)
            np.testing.assert_allclose(np.abs(v), (0, 0, turn), atol=1e-14)
    v = skeleton.difference(skeleton.integrate(q, (0, 0, 4.0)), q)
    np.testing.assert_allclose(v, (0, 0, 4.0 - 2 * np.pi), atol=1e-14)


@given(st.sampled_from([(), (3,), (2, 1)]), st.sampled_from([(), (3,), (4,), (2, 3)]))
def test_batch_axes_of_steps_broadcast(lead_q: tuple[int, ...], lead_v: tuple[int, ...]):
    skeleton = chain_of([Joint.free(), Joint.exp_map(), Joint.revolute()])
    rng = np.random.default_rng(0)
    q = rng.normal(size=(*lead_q, skeleton.nq))
    v = rng.normal(scale=0.3, size=(*lead_v, skeleton.nv))
    try:
        lead = np.broadcast_shapes(lead_q, lead_v)
    except ValueError:
        with pytest.raises(ShapeError, match="broadcast"):
            skeleton.integrate(q, v)
        return
    moved = skeleton.integrate(q, v)
    assert moved.shape == (*lead, skeleton.nq)
    every_q = np.broadcast_to(q, (*lead, skeleton.nq))
    every_v = np.broadcast_to(v, (*lead, skeleton.nv))
    for index in np.ndindex(lead):
        np.testing.assert_array_equal(
            moved[index], skeleton.integrate(every_q[index], every_v[index])
        )
    np.testing.assert_allclose(skeleton.difference(moved, q), every_v, atol=1e-13)


def test_neutral_is_zero_inside_the_limits():
    skeleton = Skeleton.build(
        "bounded",
        [
            Bone("r", joint=Joint.free()),
            Bone("a", parent="r", joint=Joint.revolute(limits=(0.5, 1))),
            Bone("b", parent="a", joint=Joint.prismatic(limits=(-2, -1))),
            Bone("c", parent="b", joint=Joint.revolute(limits=(-1, 1))),
        ],
    )
    np.testing.assert_array_equal(skeleton.neutral(), [0, 0, 0, 1, 0, 0, 0, 0.5, -1, 0])


def test_clip_moves_only_what_is_outside():
    skeleton = Skeleton.build(
        "bounded",
        [
            Bone("r", joint=Joint.free(limits=[(-1, 1), (-np.inf, 0), (-np.inf, np.inf)])),
            Bone("a", parent="r", joint=Joint.euler("XZ", limits=[(-1, 1), (0, 2)])),
        ],
    )
    q = np.array([[3.0, 4, 5, 2, 0, 0, 0, -4, 1], [0.5, -4, 5, 2, 0, 0, 0, 0.5, -1]])
    expected = [[1.0, 0, 5, 2, 0, 0, 0, -1, 1], [0.5, -4, 5, 2, 0, 0, 0, 0.5, 0]]
    np.testing.assert_array_equal(skeleton.clip(q), expected)
    assert q[0, 0] == 3.0


# --- re-parameterisation


@pytest.mark.parametrize("joint", [Joint.exp_map(), Joint.swing_twist("y"), Joint.free("exp_map")])
@pytest.mark.parametrize("angle", [0.5, 3.1, 3.2, 5.0, 2 * np.pi, 9.0, 14.0])
def test_reparameterising_keeps_the_pose_and_shortens_the_vector(joint: Joint, angle: float):
    skeleton = Skeleton.build("ball", [Bone("b", joint=joint)])
    q = np.zeros(skeleton.nq)
    at = skeleton.nq - 3
    q[at:] = 0.6 * angle, -0.8 * angle, 0.0
    shorter = skeleton.reparameterise(q)
    assert np.linalg.norm(shorter[at : at + 2]) <= np.pi
    np.testing.assert_allclose(
        skeleton.forward(shorter).rotations, skeleton.forward(q).rotations, atol=1e-14
    )
    if angle < np.pi:
        np.testing.assert_array_equal(shorter, q)


def test_reparameterising_leaves_other_coordinates_alone():
    skeleton = chain_of([Joint.free(), Joint.euler("ZYX"), Joint.revolute(), Joint.swing_twist()])
    q = configuration(skeleton)
    q[7:11] = 7.0
    q[-1] = 9.0  # the twist is an angle like any other
    np.testing.assert_array_equal(skeleton.reparameterise(q), q)


def test_limits_can_forbid_a_reparameterisation():
    for limits, moves in (([(-4, 4)] * 3, True), ([(0, 4), (-4, 4), (-4, 4)], False)):
        skeleton = Skeleton.build("ball", [Bone("b", joint=Joint.exp_map(limits=limits))])
        q = np.array([3.9, 0.0, 0.0])
        expected = [3.9 - 2 * np.pi, 0, 0] if moves else q
        np.testing.assert_allclose(skeleton.reparameterise(q), expected, atol=1e-15)


# --- misuse


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s, x: s.forward(x), r"q\[1\] is nan"),
        (lambda s, x: s.clip(x), r"q\[1\] is nan"),
        (lambda s, x: s.reparameterise(x), r"q\[1\] is nan"),
        (lambda s, x: s.integrate(x, np.zeros(2)), r"q\[1\] is nan"),
        (lambda s, x: s.integrate(np.zeros(2), x), r"v\[1\] is nan"),
        (lambda s, x: s.difference(x, np.zeros(2)), r"q1\[1\] is nan"),
        (lambda s, x: s.difference(np.zeros(2), x), r"q0\[1\] is nan"),
    ],
)
def test_numbers_that_are_none_name_the_argument(call: Any, message: str):
    with pytest.raises(NonFiniteError, match=message):
        call(planar_arm(), np.array([0.0, np.nan]))
    with pytest.raises(NonFiniteError, match=message.replace("nan", "inf")):
        call(planar_arm(), np.array([0.0, np.inf]))


def test_wrong_lengths_name_the_argument():
    with pytest.raises(ShapeError, match=r"q has shape \(3,\); expected \(…, 2\)"):
        planar_arm().forward(np.zeros(3))
    with pytest.raises(ShapeError, match=r"v has shape \(1,\); expected \(…, 2\)"):
        planar_arm().integrate(np.zeros(2), np.zeros(1))
    with pytest.raises(ShapeError, match=r"q has shape \(\)"):
        planar_arm().forward(0.0)


def test_a_zero_quaternion_is_refused():
    skeleton = Skeleton.build("ball", [Bone("b", joint=Joint.quaternion())])
    with pytest.raises(CoordinateError, match="zero quaternion for bone 'b'"):
        skeleton.forward(np.zeros(4))


@pytest.mark.parametrize("kind", ["banana", "revolute", "prismatic"])
def test_a_joint_that_no_constructor_makes_is_refused(kind: str):
    with pytest.raises(ModelError, match=kind):
        Joint(kind)


def test_what_is_no_bone_is_refused_and_any_iterable_of_bones_taken():
    with pytest.raises(ModelError, match="'x' is no Bone"):
        Skeleton.build("a", ["x"])  # type: ignore[list-item]
    bones: Any = (Bone(name) for name in ("a", "b"))
    assert Skeleton.build("two", bones).bone_names == ("a", "b")
