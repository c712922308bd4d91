"""Jacobians: three routes, two baselines, the oracle and differences all say the same."""

from __future__ import annotations

import itertools
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactik.errors import NonFiniteError, ShapeError, UnknownNameError
from exactik.lab.check import oracle
from exactik.model import (
    Bone,
    Frame,
    Joint,
    Route,
    Rows,
    Skeleton,
    finite_difference_jacobian,
    human,
    unit_velocity_jacobian,
)
from exactik.spatial import axis_rotation, skew
from exactik.typing import Array
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

FRAMES: tuple[Frame, ...] = get_args(Frame)
ROWS: tuple[Rows, ...] = get_args(Rows)
ROUTES: tuple[Route, ...] = get_args(Route)
ANYWHERE = tuple(EVERY_JOINT)
POINT = (0.3, -0.2, 0.5)


def relative_error(a: Array, b: Array) -> float:
    return float(np.abs(a - b).max(initial=0.0) / max(1.0, np.abs(b).max(initial=0.0)))


def adjoint(rotation: Array, position: Array) -> Array:
    """Ad(R, p) on twists (v, ω), as a matrix."""
    return np.block([[rotation, skew(position) @ rotation], [np.zeros((3, 3)), rotation]])


def relative_frame(skeleton: Skeleton, q: Array, b: str, j: str) -> tuple[Array, Array]:
    """The frame of bone j seen from bone b."""
    pose = skeleton.forward(q)
    kb, kj = skeleton.bone_index(b), skeleton.bone_index(j)
    R = pose.rotations[kb].T @ pose.rotations[kj]
    return R, pose.rotations[kb].T @ (pose.positions[kj] - pose.positions[kb])


def block(skeleton: Skeleton, bone: str) -> slice:
    """The dofs of a bone's joint."""
    k = skeleton.bone_index(bone) + 1
    return slice(int(skeleton.tree.first_v[k]), int(skeleton.tree.first_v[k + 1]))


# --- everything against everything


@settings(max_examples=40)  # the oracle takes its time
@given(skeletons(joints=ANYWHERE, roots=ANYWHERE), st.integers(0, 1000), st.data())
def test_routes_and_oracle_agree_on_any_tree(skeleton: Skeleton, seed: int, data: st.DataObject):
    bone = data.draw(st.sampled_from(skeleton.bone_names))
    q = configuration(skeleton, seed)
    v = np.random.default_rng(seed).normal(size=skeleton.nv)
    for frame in FRAMES:
        truth = np.concatenate(oracle.point_jacobian(skeleton, q, bone, POINT, frame))
        J = {
            r: skeleton.jacobian(q, bone, POINT, frame=frame, rows="both", route=r) for r in ROUTES
        }
        for one, other in itertools.combinations(J.values(), 2):
            assert relative_error(one, other) < 1e-12
        assert relative_error(J["cross"], truth) < 1e-12
        slow = unit_velocity_jacobian(skeleton, q, bone, POINT, frame, "both")
        assert relative_error(slow, truth) < 1e-12
        truth = np.concatenate(oracle.point_jacobian_dot(skeleton, q, v, bone, POINT, frame))
        rate = skeleton.jacobian_dot(q, v, bone, POINT, frame=frame, rows="both")
        assert relative_error(rate, truth) < 1e-11


@pytest.mark.parametrize("kind", EVERY_JOINT)
def test_every_joint_kind_against_differences(kind: str):
    """J against differences of forward(), J̇ against those of J, on the joint's own bone too."""
    skeleton = chain_of([Joint.revolute("x"), EVERY_JOINT[kind], Joint.euler("YZ")], seed=4)
    q = configuration(skeleton, seed=1)
    v = np.random.default_rng(2).normal(size=skeleton.nv)
    h = 1e-5
    ahead, behind = skeleton.integrate(q, h * v), skeleton.integrate(q, -h * v)
    for bone, frame in itertools.product(("b1", "b2"), FRAMES):
        J = skeleton.jacobian(q, bone, POINT, frame=frame, rows="both")
        differences = finite_difference_jacobian(skeleton, q, bone, POINT, frame, "both")
        assert relative_error(J, differences) < 1e-8
        J1 = skeleton.jacobian(ahead, bone, POINT, frame=frame, rows="both")
        J0 = skeleton.jacobian(behind, bone, POINT, frame=frame, rows="both")
        rate = skeleton.jacobian_dot(q, v, bone, POINT, frame=frame, rows="both")
        assert relative_error(rate, (J1 - J0) / (2 * h)) < 1e-8


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-8, 1e-4, 1.0, 2.0, np.pi - 1e-9, np.pi, 4.0, 6.0])
@pytest.mark.parametrize("kind", ["exp_map", "swing_twist"])
def test_rotation_vectors_of_any_length(kind: str, angle: float):
    skeleton = chain_of([Joint.revolute(), EVERY_JOINT.get(kind, Joint.swing_twist("y"))])
    q = np.array([0.7, 0.6 * angle, -0.8 * angle, 0.0])
    v = np.array([1.0, -0.4, 0.3, 0.8])
    J = np.concatenate(oracle.point_jacobian(skeleton, q, "b1", POINT))
    rate = np.concatenate(oracle.point_jacobian_dot(skeleton, q, v, "b1", POINT))
    for route in ROUTES:
        assert (
            relative_error(skeleton.jacobian(q, "b1", POINT, rows="both", route=route), J) < 1e-13
        )
    assert relative_error(skeleton.jacobian_dot(q, v, "b1", POINT, rows="both"), rate) < 1e-13


def test_rows_are_trimmed_parts_of_both():
    skeleton = chain_of(list(EVERY_JOINT.values()))
    q = configuration(skeleton)
    v = np.random.default_rng(0).normal(size=skeleton.nv)
    for frame, route in itertools.product(FRAMES, ROUTES):
        both, linear, angular = (
            skeleton.jacobian(q, "b9", POINT, frame=frame, rows=rows, route=route)
            for rows in ("both", "linear", "angular")
        )
        np.testing.assert_array_equal(both, np.concatenate([linear, angular]))
    for frame in FRAMES:
        both, linear, angular = (
            skeleton.jacobian_dot(q, v, "b9", POINT, frame=frame, rows=rows)
            for rows in ("both", "linear", "angular")
        )
        np.testing.assert_array_equal(both, np.concatenate([linear, angular]))


def test_recipe_tree():
    """Floating root, 8 spherical joints, 6 end sites: 30 dofs, and only the path moves a site."""
    skeleton = recipe_tree()
    q = configuration(skeleton, seed=7)
    sites = [chain for chain in skeleton.chains() if "_end" in chain[-1]]
    assert (skeleton.nv, len(sites)) == (30, 6)
    for chain in sites:
        truth = np.concatenate(oracle.point_jacobian(skeleton, q, chain[-1]))
        on_path = np.zeros(30, bool)
        for bone in chain:
            on_path[block(skeleton, bone)] = True
        for route in ROUTES:
            J = skeleton.jacobian(q, chain[-1], rows="both", route=route)
            assert relative_error(J, truth) < 1e-13
            np.testing.assert_array_equal(np.abs(J).max(axis=0) > 0.0, on_path)


@pytest.mark.parametrize("skeleton", [serial_chain(40), bushy_tree(40)], ids=lambda s: s.name)
def test_long_chains_and_bushes(skeleton: Skeleton):
    q = configuration(skeleton)
    tip = skeleton.bone_names[-1]
    truth = np.concatenate(oracle.point_jacobian(skeleton, q, tip, POINT))
    for route in ROUTES:
        assert (
            relative_error(skeleton.jacobian(q, tip, POINT, rows="both", route=route), truth)
            < 1e-13
        )


# --- against what can be said by hand


def test_planar_arm_in_closed_form():
    a, b = 0.4, 0.3
    skeleton, (x, y), (dx, dy) = planar_arm(a, b), (0.5, -1.2), (0.7, 0.4)
    s1, c1, s2, c2 = np.sin(x), np.cos(x), np.sin(x + y), np.cos(x + y)
    J = skeleton.jacobian((x, y), "lower", (b, 0, 0), rows="both")
    expected = [
        [-a * s1 - b * s2, -b * s2],
        [a * c1 + b * c2, b * c2],
        [0, 0],
        [0, 0],
        [0, 0],
        [1, 1],
    ]
    np.testing.assert_allclose(J, expected, atol=1e-16)
    rate = skeleton.jacobian_dot((x, y), (dx, dy), "lower", (b, 0, 0))
    d1, d2 = dx, dx + dy
    expected = [
        [-a * c1 * d1 - b * c2 * d2, -b * c2 * d2],
        [-a * s1 * d1 - b * s2 * d2, -b * s2 * d2],
    ]
    np.testing.assert_allclose(rate, [*expected, [0, 0]], atol=1e-16)


def test_gantry_moves_along_its_rails():
    skeleton = gantry()
    for route in ROUTES:
        J = skeleton.jacobian((1.0, 0.5, -2.0), "hoist", POINT, rows="both", route=route)
        np.testing.assert_array_equal(J, np.eye(6, 3))
        J = skeleton.jacobian((1.0, 0.5, -2.0), "bridge", POINT, route=route)
        np.testing.assert_array_equal(J, np.diag([1.0, 0, 0]))
    np.testing.assert_array_equal(skeleton.jacobian_dot((1, 0.5, -2), (1, 1, 1), "hoist"), 0.0)


@given(skeletons(joints=ANYWHERE, roots=ANYWHERE), st.integers(0, 1000))
def test_acceleration_at_constant_velocity_is_rate_times_velocity(skeleton: Skeleton, seed: int):
    """Along integrate(q, t v) a point has velocity J(t) v, hence acceleration J̇ v."""
    q = configuration(skeleton, seed)
    v = np.random.default_rng(seed).normal(size=skeleton.nv)
    bone, h = skeleton.bone_names[-1], 1e-4
    before, now, after = (
        skeleton.forward(skeleton.integrate(q, t * v)).point(bone, POINT) for t in (-h, 0.0, h)
    )
    expected = skeleton.jacobian_dot(q, v, bone, POINT) @ v
    scale = max(1.0, float(np.abs(expected).max()), float(v @ v))
    assert np.abs((before - 2 * now + after) / h**2 - expected).max() < 1e-5 * scale


def test_frames_differ_by_a_rotation_and_by_the_lever_to_the_origin():
    skeleton = human()
    q = configuration(skeleton)
    pose, k = skeleton.forward(q), skeleton.bone_index("l_hand")
    R, e = pose.rotations[k], pose.point("l_hand", POINT)
    world, body, spatial = (
        skeleton.jacobian(q, "l_hand", POINT, frame=frame, rows="both") for frame in FRAMES
    )
    np.testing.assert_allclose(np.kron(np.eye(2), R) @ body, world, atol=1e-14)
    np.testing.assert_allclose(
        adjoint(R, pose.positions[k])
        @ np.block([[np.eye(3), skew(POINT)], [np.zeros((3, 3)), np.eye(3)]])
        @ body,
        spatial,
        atol=1e-14,
    )
    np.testing.assert_allclose(world[:3] - spatial[:3], np.cross(world[3:].T, e).T, atol=1e-14)


def test_spatial_jacobian_does_not_see_the_point():
    skeleton = chain_of([EVERY_JOINT["free quaternion"], Joint.exp_map(), Joint.euler("XYX")])
    q = configuration(skeleton)
    v = np.random.default_rng(0).normal(size=skeleton.nv)
    for route in ROUTES:
        one, other = (
            skeleton.jacobian(q, "b2", x, frame="spatial", route=route) for x in (POINT, (0, 0, 0))
        )
        np.testing.assert_array_equal(one, other)
    one, other = (skeleton.jacobian_dot(q, v, "b2", x, frame="spatial") for x in (POINT, (0, 0, 0)))
    np.testing.assert_array_equal(one, other)


# --- the adjoint block and how it is trimmed

MIDDLE = {
    "universal": (Joint.free("quaternion"), np.eye(6)),
    "spherical": (Joint.quaternion(), np.eye(6)[:, 3:]),
    "revolute": (Joint.revolute((0.6, 0.0, -0.8)), np.array([[0, 0, 0, 0.6, 0.0, -0.8]]).T),
    "prismatic": (Joint.prismatic((0.6, 0.0, -0.8)), np.array([[0.6, 0.0, -0.8, 0, 0, 0]]).T),
}


@pytest.mark.parametrize("kind", MIDDLE)
@pytest.mark.parametrize("route", ROUTES)
def test_a_joint_takes_its_columns_of_the_adjoint(kind: str, route: Route):
    """All six, the angular three, or one of either kind; then the wanted rows.

    The joint's frame is that of its bone, except that a universal joint shifts along its base.
    """
    joint, columns = MIDDLE[kind]
    skeleton = Skeleton.build(
        "three",
        [
            Bone("a", joint=Joint.euler("ZYX")),
            Bone("b", parent="a", offset=(0.1, 0.2, 0.3), joint=joint),
            Bone("c", parent="b", offset=(0.3, 0, 0.1), joint=Joint.revolute("y")),
        ],
    )
    q = configuration(skeleton, seed=3)
    R, p = relative_frame(skeleton, q, "c", "b")
    Ad = adjoint(R, p)
    if kind == "universal":
        in_parent, _ = relative_frame(skeleton, q, "a", "b")
        Ad[:, :3] = Ad[:, :3] @ in_parent.T
    at = block(skeleton, "b")
    parts: dict[Rows, slice] = {"both": slice(6), "linear": slice(3), "angular": slice(3, 6)}
    for rows, part in parts.items():
        J = skeleton.jacobian(q, "c", frame="body", rows=rows, route=route)[:, at]
        np.testing.assert_allclose(J, (Ad @ columns)[part], atol=1e-15)
        if kind == "prismatic" and rows != "linear":
            np.testing.assert_array_equal(J[-3:], 0.0)


def test_a_point_is_an_adjoint_with_the_negative_lever():
    """The frame at the point sees the bone at −c; with +c the linear rows are wrong."""
    skeleton = recipe_tree()
    q = configuration(skeleton)
    at_origin, at_point = (
        skeleton.jacobian(q, "crown", x, frame="body", rows="both") for x in ((0, 0, 0), POINT)
    )
    right, wrong = (adjoint(np.eye(3), s * np.array(POINT)) @ at_origin for s in (-1.0, 1.0))
    np.testing.assert_allclose(at_point, right, atol=1e-15)
    assert relative_error(wrong, at_point) > 0.1


# --- mistakes that are easy to make: the wrong form is visibly wrong, ours is right


def test_full_adjoint_to_the_world_is_not_the_velocity_of_the_end_effector():
    skeleton = recipe_tree()
    q = configuration(skeleton, seed=1)
    pose, k = skeleton.forward(q), skeleton.bone_index("crown")
    body = skeleton.jacobian(q, "crown", frame="body", rows="both")
    full = adjoint(pose.rotations[k], pose.positions[k]) @ body
    differences = finite_difference_jacobian(skeleton, q, "crown")
    assert relative_error(full[:3], differences) > 0.1
    assert relative_error(skeleton.jacobian(q, "crown"), differences) < 1e-8
    np.testing.assert_allclose(
        full, skeleton.jacobian(q, "crown", frame="spatial", rows="both"), atol=1e-14
    )


def test_a_free_root_shifts_along_world_axes():
    """Columns of the adjoint as they stand, turned or adjusted, would shift along other axes."""
    skeleton = recipe_tree()
    q = configuration(skeleton, seed=2)
    differences = finite_difference_jacobian(skeleton, q, "left", frame="body")[:, :3]
    turned, _ = relative_frame(skeleton, q, "left", "trunk")
    z, y, x = q[3:6]
    Q = skeleton.forward(q).rotations[0]
    U = np.stack(
        [
            np.array([0, 0, 1.0]),
            axis_rotation("z", z)[:, 1],
            (axis_rotation("z", z) @ axis_rotation("y", y))[:, 0],
        ],
        axis=1,
    )
    np.testing.assert_allclose(
        Q, axis_rotation("z", z) @ axis_rotation("y", y) @ axis_rotation("x", x), atol=1e-15
    )
    assert relative_error(turned, differences) > 0.1
    assert relative_error(turned @ Q.T @ U, differences) > 0.1
    for route in ROUTES:
        ours = skeleton.jacobian(q, "left", frame="body", route=route)[:, :3]
        assert relative_error(ours, differences) < 1e-8
        np.testing.assert_allclose(ours, turned @ Q.T, atol=1e-15)


def test_the_bones_own_joint_counts():
    """A climb that begins at the parent loses it: orientation and points off the joint need it."""
    skeleton = recipe_tree()
    q = configuration(skeleton, seed=3)
    own = block(skeleton, "crown")
    for route in ROUTES:
        J = skeleton.jacobian(q, "crown", POINT, rows="both", route=route)
        differences = finite_difference_jacobian(skeleton, q, "crown", POINT, rows="both")
        without = J.copy()
        without[:, own] = 0.0
        assert relative_error(J, differences) < 1e-8
        assert relative_error(without[:3], differences[:3]) > 0.1
        assert relative_error(without[3:], differences[3:]) > 0.1
        # For the joint's own centre, seen from an end site, it makes no difference.
        np.testing.assert_allclose(
            skeleton.jacobian(q, "crown", route=route)[:, own], 0, atol=1e-15
        )


def adjustment(order: str, q: Array) -> Array:
    """R* = QᵀU of an Euler joint, read off the adjusted Jacobian of its own bone."""
    skeleton = Skeleton.build("one", [Bone("b", joint=Joint.euler(order))])
    return skeleton.jacobian(q, "b", frame="body", rows="angular", route="adjusted")


def test_euler_adjustment_is_the_identity_only_without_inner_angles():
    np.testing.assert_allclose(adjustment("XYZ", np.array([1.3, 0, 0])), np.eye(3), atol=1e-16)
    for q in ([0.0, 0.6, 0.0], [0.0, 0.0, 0.6]):
        assert np.abs(adjustment("XYZ", np.array(q)) - np.eye(3)).max() > 0.5


def test_euler_adjustment_is_singular_at_gimbal_lock_and_stays_so():
    """R* is no rotation; making it one would hide the lock."""
    locked = adjustment("XYZ", np.array([0.4, np.pi / 2, 0.7]))
    assert abs(np.linalg.det(locked)) < 1e-15
    skeleton = chain_of([Joint.revolute(), Joint.euler("XYZ")])
    q = np.array([0.3, 0.4, np.pi / 2, 0.7])
    for route in ROUTES:
        J = skeleton.jacobian(q, "b1", rows="angular", route=route)[:, 1:]
        assert np.linalg.matrix_rank(J, tol=1e-12) == 2


def test_rate_of_an_euler_joint_includes_the_motion_of_its_axes():
    """With constant axes, Ȧd = ad_W Ad alone: right for hinges, wrong for Euler joints."""
    for joint, exact in ((Joint.revolute("y"), True), (Joint.euler("ZYX"), False)):
        skeleton = chain_of([Joint.revolute("x"), joint, Joint.revolute("z")])
        q = configuration(skeleton, seed=5)
        v = np.random.default_rng(6).normal(size=skeleton.nv)
        J = skeleton.jacobian(q, "b2", frame="body", rows="both")
        rate = skeleton.jacobian_dot(q, v, "b2", frame="body", rows="both")
        at = block(skeleton, "b1")
        # W: spatial twist of the joint's bone relative to b2, in the axes of b2.
        linear, angular = -(J[:, at.stop :] @ v[at.stop :]).reshape(2, 3)
        ad = np.block([[skew(angular), skew(linear)], [np.zeros((3, 3)), skew(angular)]])
        error = relative_error(ad @ J[:, at], rate[:, at])
        assert error < 1e-14 if exact else error > 0.1


def test_rate_of_a_quaternion_joint_has_the_whole_bracket():
    """Half of it belongs to exponential coordinates about q, not to the tangent space at q(t)."""
    skeleton = Skeleton.build("ball", [Bone("b", joint=Joint.quaternion())])
    q, v, h = configuration(skeleton), np.array([0.4, -1.0, 0.7]), 1e-5
    J = skeleton.jacobian(q, "b", rows="angular")
    ahead, behind = (
        skeleton.jacobian(skeleton.integrate(q, s * h * v), "b", rows="angular") for s in (1, -1)
    )
    rate = skeleton.jacobian_dot(q, v, "b", rows="angular")
    bracket = np.cross(J @ v, J.T).T
    assert relative_error(rate, (ahead - behind) / (2 * h)) < 1e-9
    np.testing.assert_allclose(rate, bracket, atol=1e-15)
    assert relative_error(0.5 * bracket, rate) > 0.1


# --- far away, odd arguments


@pytest.mark.parametrize("frame", ["world", "body"])
def test_ten_kilometres_cost_no_digits(frame: Frame):
    skeleton = recipe_tree()
    near, far = configuration(skeleton), configuration(skeleton)
    far[:3] += (1e4, -1e4, 1e4)
    v = np.random.default_rng(0).normal(size=skeleton.nv)
    for route in ROUTES:
        one, other = (
            skeleton.jacobian(q, "crown", POINT, frame=frame, rows="both", route=route)
            for q in (near, far)
        )
        assert relative_error(other, one) < 1e-14
    one, other = (
        skeleton.jacobian_dot(q, v, "crown", POINT, frame=frame, rows="both") for q in (near, far)
    )
    assert relative_error(other, one) < 1e-14


def test_central_differences_gain_two_orders_for_one():
    skeleton = exp_map_arm()
    q = configuration(skeleton)
    exact = skeleton.jacobian(q, "hand", POINT)
    error = {
        (scheme, h): np.abs(
            finite_difference_jacobian(skeleton, q, "hand", POINT, scheme=scheme, step=h) - exact
        ).max()
        for scheme in ("forward", "central")
        for h in (1e-2, 1e-3)
    }
    assert 9 < error["forward", 1e-2] / error["forward", 1e-3] < 11
    assert 90 < error["central", 1e-2] / error["central", 1e-3] < 110
    default = finite_difference_jacobian(skeleton, q, "hand", POINT, scheme="forward")
    assert relative_error(default, exact) < 1e-6


def test_arguments_stay_as_they_are():
    skeleton = chain_of([Joint.free(), Joint.revolute()])
    q = 2.0 * configuration(skeleton)  # quaternions of another length too
    q.flags.writeable = False
    J = skeleton.jacobian(q, "b1", POINT)
    np.testing.assert_allclose(
        J, skeleton.jacobian(skeleton.normalised(q), "b1", POINT), atol=1e-15
    )


NAN = np.array([np.nan, 0.0])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"frame": "local"}, UnknownNameError, "no frame named 'local'.*world, body, spatial"),
        ({"rows": "top"}, UnknownNameError, "no rows named 'top'.*linear, angular, both"),
        ({"route": "poo"}, UnknownNameError, "no route named 'poo'; did you mean 'poe'"),
        ({"bone": "lowr"}, UnknownNameError, "no bone named 'lowr'; did you mean 'lower'"),
        ({"point": (1, 2)}, ShapeError, r"point has shape \(2,\); expected \(3,\)"),
        ({"q": np.zeros((4, 2))}, ShapeError, r"q has shape \(4, 2\)"),
        ({"q": NAN}, NonFiniteError, r"q\[0\] is nan"),
        ({"point": (0, np.inf, 0)}, NonFiniteError, r"point\[1\] is inf"),
    ],
)
def test_misuse_names_the_argument(arguments: dict, error: type[Exception], message: str):
    call = {"q": np.zeros(2), "bone": "lower", **arguments}
    with pytest.raises(error, match=message):
        planar_arm().jacobian(**call)
    if "route" not in arguments:
        with pytest.raises(error, match=message):
            planar_arm().jacobian_dot(v=np.zeros(2), **call)


def test_misuse_of_the_velocity_names_it():
    with pytest.raises(NonFiniteError, match=r"v\[0\] is nan"):
        planar_arm().jacobian_dot(np.zeros(2), NAN, "lower")
    with pytest.raises(ShapeError, match=r"v has shape \(3,\); expected \(2,\)"):
        planar_arm().jacobian_dot(np.zeros(2), np.zeros(3), "lower")
