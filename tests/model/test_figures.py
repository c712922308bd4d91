"""The built-in animals and the hand: what they have, how they stand, that they can be posed."""

from __future__ import annotations

import numpy as np
import pytest

import exactik as ik
from exactik.typing import Array

FIGURES = {"quadruped": ik.quadruped, "hand": ik.hand, "octopus": ik.octopus}
TIPS = {
    "quadruped": ["LFOREPAW", "RFOREPAW", "LHINDPAW", "RHINDPAW", "NOSE", "TAIL"],
    "hand": ["THUMB", "INDEX", "MIDDLE", "RING", "LITTLE"],
    "octopus": [f"ARM{k}" for k in range(1, 9)],
}
every_figure = pytest.mark.parametrize("name", FIGURES)


def markers_at(figure: ik.Skeleton, q: Array) -> dict[str, Array]:
    return dict(zip(figure.markers, figure.forward(q).markers, strict=True))


def random_pose(figure: ik.Skeleton, seed: int, share: float = 0.6) -> Array:
    """A pose inside the limits, the root a little away from where it was."""
    rng = np.random.default_rng(seed)
    return figure.integrate(figure.neutral(), share * rng.uniform(*limits_of(figure)))


def limits_of(figure: ik.Skeleton) -> tuple[Array, Array]:
    low = np.where(np.isfinite(figure.lower), figure.lower, -0.3)
    return low, np.where(np.isfinite(figure.upper), figure.upper, 0.3)


def test_sizes():
    assert (ik.quadruped().nq, ik.quadruped().nv) == (45, 45)
    assert (ik.hand().nq, ik.hand().nv) == (26, 26)
    assert (ik.octopus().nq, ik.octopus().nv) == (170, 169)
    kinds = {bone.joint.rotation_part.kind for bone in ik.octopus().bones}
    assert kinds == {"quaternion", "exp_map", "swing_twist", "euler"}


@every_figure
def test_one_object_serves_everybody(name: str):
    assert FIGURES[name]() is FIGURES[name]()


@every_figure
def test_all_joints_but_the_root_have_limits_with_the_neutral_pose_inside(name: str):
    figure = FIGURES[name]()
    limited = np.isfinite(figure.lower) & np.isfinite(figure.upper)
    np.testing.assert_array_equal(limited, np.arange(figure.nv) >= 6)
    assert (figure.lower < 0.0).all()
    assert (figure.upper > 0.0).all()
    assert np.abs(figure.lower[limited]).max() < np.pi


@every_figure
def test_it_stands_on_the_floor(name: str):
    figure = FIGURES[name]()
    pose = figure.forward(figure.neutral())
    lowest = min(pose.positions[:, 2].min(), pose.markers[:, 2].min())
    assert -1e-9 < lowest < 0.004


def test_all_paws_are_on_the_floor_and_the_dog_looks_along_x():
    at = markers_at(ik.quadruped(), ik.quadruped().neutral())
    paws = np.array([at[paw] for paw in TIPS["quadruped"][:4]])
    np.testing.assert_allclose(paws[:, 2], 0.0, atol=1e-9)
    assert at["NOSE"][0] > paws[:, 0].max() > paws[:, 0].min() > at["TAIL"][0]
    assert 0.6 < at["WITHERS"][2] < 0.7
    middle = at["WITHERS"][0], at["RUMP"][0]
    assert paws[:, 0].min() < middle[1] + 0.2
    assert paws[:, 0].max() > middle[0] - 0.2


def test_a_mirrored_pose_of_the_dog_mirrors_its_markers():
    figure, q = ik.quadruped(), random_pose(ik.quadruped(), 0)
    names = figure.dof_names
    swap = {"l_": "r_", "r_": "l_"}
    flips = {"rx": -1.0, "ry": 1.0, "rz": -1.0, "tx": 1.0, "ty": -1.0, "tz": 1.0}
    other = np.empty_like(q)
    for i, name in enumerate(names):
        twin = names.index(swap.get(name[:2], name[:2]) + name[2:])
        other[i] = flips[name.split(".")[1]] * q[twin]
        sign = flips[name.split(".")[1]]
        wanted = sorted((sign * figure.lower[twin], sign * figure.upper[twin]))
        np.testing.assert_allclose(wanted, (figure.lower[i], figure.upper[i]))
    mine, twin = markers_at(figure, q), markers_at(figure, other)
    for name, place in mine.items():
        partner = {"L": "R", "R": "L"}.get(name[0], "") + name[1:]
        partner = partner if partner in mine and name != "RUMP" else name
        np.testing.assert_allclose(twin[partner], place * (1, -1, 1), atol=1e-12)


def test_the_left_hand_is_the_mirror_image_of_the_right_one():
    right, left = ik.hand(), ik.hand("left")
    q = random_pose(right, 1)
    flips = [
        -1.0 if name.rpartition(".")[2] in ("rx", "rz", "ty") else 1.0 for name in left.dof_names
    ]
    mirrored = np.array(flips) * q
    np.testing.assert_array_equal(left.clip(mirrored), mirrored)
    np.testing.assert_allclose(
        left.forward(mirrored).markers, right.forward(q).markers * (1, -1, 1), atol=1e-12
    )
    with pytest.raises(ik.UsageError, match="'right' or 'left'"):
        ik.hand("both")


def test_fingers_bend_towards_the_palm_and_the_thumb_towards_the_fingers():
    figure = ik.hand()
    rest = markers_at(figure, figure.neutral())
    for finger in ("index", "middle", "ring", "little", "thumb"):
        q = figure.neutral()
        q[[figure.dof_names.index(f"{finger}_{k}.ry") for k in (1, 2, 3)]] = 0.5
        moved = markers_at(figure, q)[finger.upper()] - rest[finger.upper()]
        assert moved[0] > 0.02  # out of the palm's plane, to its inner side
        if finger == "thumb":
            assert moved[1] < -0.02


def test_the_arms_of_the_octopus_are_alike():
    figure = ik.octopus()
    at = markers_at(figure, figure.neutral())
    tips = np.array([at[tip] for tip in TIPS["octopus"]])
    np.testing.assert_allclose(np.hypot(tips[:, 0], tips[:, 1]), np.hypot(*tips[0, :2]))
    bearings = np.unwrap(np.arctan2(tips[:, 1], tips[:, 0]))
    np.testing.assert_allclose(np.diff(bearings), np.pi / 4)
    np.testing.assert_allclose(tips[:, 2], tips[0, 2])


@every_figure
@pytest.mark.parametrize("seed", range(3))
def test_tips_are_reached_where_a_pose_has_them(name: str, seed: int):
    figure = FIGURES[name]()
    wanted = markers_at(figure, random_pose(figure, seed))
    goals = [ik.MarkerGoal(tip, wanted[tip]) for tip in TIPS[name]]
    result = ik.solve(figure, goals, starts=4)
    assert result.reached, result.why
    np.testing.assert_array_equal(figure.clip(result.q), result.q)


@every_figure
def test_derivatives(name: str):
    figure = FIGURES[name]()
    wanted = markers_at(figure, random_pose(figure, 5))
    goals: list[ik.Goal] = [ik.MarkerGoal(tip, wanted[tip]) for tip in TIPS[name]]
    goals.append(ik.PostureGoal(figure.neutral(), weight=0.1))
    report = ik.check_derivatives(ik.Problem(figure, goals), random_pose(figure, 6))
    assert report.ok, report
