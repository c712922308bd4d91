"""Shapes: capsules that hold what they are fitted to, and what figures have of them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import exactik as ik
from exactik.errors import ExactikError, UnknownNameError
from exactik.model.shapes import Capsule, Cuboid, HalfSpace, Sphere, fit_capsule, split_box
from exactik.spatial import exp_rotation
from exactik.typing import Array


def depth_in(capsule: Capsule, points: Array) -> Array:
    """How deep points are inside a capsule [m], (n,)."""
    start, end = capsule.ends
    way = end - start
    s = np.clip((points - start) @ way / max(float(way @ way), 1e-300), 0.0, 1.0)
    return capsule.radius - np.linalg.norm(points - start - s[:, None] * way, axis=1)


def test_a_fitted_capsule_holds_all_points() -> None:
    rng = np.random.default_rng(1)
    for _ in range(30):
        R = exp_rotation(rng.normal(size=3))
        points = rng.normal(size=(200, 3)) * rng.uniform(0.01, 0.5, 3) @ R.T + rng.normal(size=3)
        assert depth_in(fit_capsule("a", points), points).min() >= -1e-12


def test_a_capsule_is_found_again() -> None:
    rng = np.random.default_rng(2)
    R = exp_rotation(rng.normal(size=3))
    for length, radius in ((0.4, 0.05), (0.1, 0.2)):
        direction = rng.normal(size=(5000, 3))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        points = radius * direction
        points[:, 2] += np.where(points[:, 2] > 0, 0.5, -0.5) * length
        found = fit_capsule("a", points @ R.T)
        assert found.radius == pytest.approx(radius, rel=0.02)
        assert np.linalg.norm(found.ends[1] - found.ends[0]) == pytest.approx(length, rel=0.1)


def test_capsules_of_a_box_are_inside_it_and_fill_it() -> None:
    center, size, R = np.array([1.0, 2, 3]), np.array([0.1, 0.6, 0.25]), exp_rotation([0.3, 1, 2])
    capsules = split_box("a", center, size, R)
    rng = np.random.default_rng(3)
    inside = (rng.uniform(-0.5, 0.5, (5000, 3)) * size) @ R.T + center
    deepest = np.max([depth_in(capsule, inside) for capsule in capsules], axis=0)
    assert (deepest >= 0.0).mean() > 0.75
    for capsule in capsules:
        local = (capsule.ends - center) @ R
        assert (np.abs(local) + capsule.radius <= 0.5 * size + 1e-12).all()


def test_the_human_has_a_capsule_for_each_bone_with_skin() -> None:
    human = ik.human()
    shapes = human.shapes
    assert shapes.source == "meshes"
    bones = {shape.bone for shape in shapes.shapes}
    assert {"l_thigh", "r_forearm", "head", "pelvis"} <= bones
    thigh = next(s for s in shapes.shapes if s.bone == "l_thigh")
    assert isinstance(thigh, Capsule)
    assert 0.06 < thigh.radius < 0.1
    assert 0.3 < np.linalg.norm(thigh.ends[1] - thigh.ends[0]) < 0.5


def test_a_figure_without_meshes_has_capsules_along_its_bones() -> None:
    bones = [ik.Bone("a"), ik.Bone("b", parent="a", offset=(0.5, 0, 0))]
    shapes = ik.Skeleton.build("two", bones).shapes
    assert shapes.source == "bones"
    assert len(shapes.shapes) == len(shapes.notes) == 1
    (capsule,) = shapes.shapes
    assert isinstance(capsule, Capsule)
    assert capsule.bone == "a"
    assert capsule.radius == pytest.approx(0.06)
    assert depth_in(capsule, np.array([[0, 0, 0], [0.5, 0, 0]])) == pytest.approx([0, 0])


def test_given_shapes_are_kept() -> None:
    bones = [ik.Bone("a"), ik.Bone("b", parent="a", offset=(0.5, 0, 0))]
    figure = ik.Skeleton.build("two", bones).with_shapes([Sphere("b", (0, 0, 0), 0.1)])
    (sphere,) = pickle.loads(pickle.dumps(figure)).shapes.shapes
    assert isinstance(sphere, Sphere)
    assert np.array_equal(sphere.ends, np.zeros((2, 3)))
    assert figure.with_bones(bones[:1]).shapes.shapes == ()
    assert figure.with_shapes(None).shapes.source == "bones"
    with pytest.raises(UnknownNameError):
        figure.with_shapes([Sphere("elbow", (0, 0, 0), 0.1)])


def test_shapes_that_are_none_are_refused() -> None:
    with pytest.raises(ExactikError, match="radius of a Capsule is 0"):
        Capsule("a", (0, 0, 0), (1, 0, 0), 0.0)
    with pytest.raises(ExactikError, match="expected three lengths > 0"):
        Cuboid(None, (0, 0, 0), (1, 0, 1))
    with pytest.raises(ExactikError, match="is no rotation"):
        Cuboid(None, (0, 0, 0), (1, 1, 1), np.diag([1.0, 2.0, 1.0]))
    with pytest.raises(ExactikError, match="normal of a HalfSpace is zero"):
        HalfSpace(None, (0, 0, 0))
    with pytest.raises(ExactikError, match="start of a Capsule has shape"):
        Capsule("a", (0, 0), (1, 0, 0), 0.1)
    with pytest.raises(ExactikError, match="expected a name or None"):
        Sphere(3, (0, 0, 0), 0.1)  # type: ignore[arg-type]
