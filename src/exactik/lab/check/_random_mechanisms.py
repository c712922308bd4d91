"""Random mechanisms: screws, custom joints and couplings put into a random skeleton."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from exactik.model import Bone, Coupling, Joint, JointAxis, Skeleton
from exactik.model.functions import (
    Constant,
    CoordinateFunction,
    CubicSpline,
    Linear,
    PiecewiseLinear,
    Polynomial,
    Product,
    Scaled,
    Sine,
)

Rng = np.random.Generator

BALLS = ("quaternion", "exp_map", "swing_twist")


def add_mechanisms(rng: Rng, skeleton: Skeleton) -> Skeleton:
    """Return the skeleton with some joints replaced by mechanisms and some dofs coupled."""
    bones = []
    for bone in skeleton.bones:
        joint = bone.joint
        if rng.random() < 0.4:
            joint = _draw_screw(rng) if rng.random() < 0.25 else _draw_custom_joint(rng)
        bones.append(replace(bone, joint=joint))
    couplings = _draw_couplings(rng, bones) if rng.random() < 0.7 else []
    return Skeleton.build(skeleton.name, bones, skeleton.markers, couplings)


def _draw_axis(rng: Rng) -> np.ndarray:
    axis = rng.normal(size=3)
    return axis / np.linalg.norm(axis)


def _draw_limits(rng: Rng, count: int) -> list[tuple[float, float]] | None:
    if rng.random() < 0.5:
        return None
    return [(-rng.uniform(0.1, 2.0), rng.uniform(0.1, 2.0)) for _ in range(count)]


def _draw_screw(rng: Rng) -> Joint:
    return Joint.screw(_draw_axis(rng), rng.normal(scale=0.5), limits=_draw_limits(rng, 1))


def _draw_function(rng: Rng) -> CoordinateFunction:
    """Return a function of one coordinate, of order one in the range of a turn."""
    kind = rng.integers(6)
    if kind == 0:
        return Linear(rng.normal(), rng.normal(scale=0.3))
    if kind == 1:
        powers = np.arange(rng.integers(1, 5))
        return Polynomial(tuple(rng.normal(scale=0.5 / 3.0**powers).tolist()))
    if kind == 2:
        return Sine(*rng.normal(size=4))
    points = np.cumsum(rng.uniform(0.3, 1.0, size=rng.integers(2, 7)))
    x = tuple((points - points.mean()).tolist())
    y = tuple(rng.normal(scale=0.5, size=len(points)).tolist())
    if kind == 3:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it has corners
            return PiecewiseLinear(x, y)
    spline = CubicSpline(x, y)
    return spline if kind == 4 else Scaled(spline, rng.normal())


def _draw_joint_axis(rng: Rng, names: list[str]) -> JointAxis:
    kind = rng.random()
    if kind < 0.15:
        return JointAxis(_draw_axis(rng), float(rng.normal(scale=0.5)))
    if kind < 0.3:
        product = Product(_draw_function(rng), _draw_function(rng))
        return JointAxis(_draw_axis(rng), product, [str(x) for x in rng.choice(names, size=2)])
    function = None if kind < 0.5 else _draw_function(rng)
    return JointAxis(_draw_axis(rng), function, str(rng.choice(names)))


def _draw_custom_joint(rng: Rng) -> Joint:
    names = [f"c{i}" for i in range(rng.integers(1, 5))]
    turns = [_draw_joint_axis(rng, names) for _ in range(rng.integers(0, 4))]
    shifts = [_draw_joint_axis(rng, names) for _ in range(rng.integers(0, 4))]
    used = {name for axis in (*turns, *shifts) for name in axis.coordinates}
    order = [str(name) for name in rng.permutation(sorted(used))]
    limits = _draw_limits(rng, len(order)) if len(order) > 0 else None
    return Joint.custom(turns, shifts, coordinates=order, limits=limits)


def _draw_couplings(rng: Rng, bones: list[Bone]) -> list[Coupling]:
    """Return couplings of some dofs, also of dofs that follow others, and of held ones."""
    dofs = [
        f"{bone.name}.{dof}"
        for bone in bones
        for dof in bone.joint.dof_names
        if bone.joint.rotation_part.kind not in BALLS
    ]
    dofs = [str(dof) for dof in rng.permutation(dofs)]
    couplings = []
    for n in range(1, len(dofs)):
        if rng.random() < 0.35:
            if rng.random() < 0.1:
                coupling = Coupling(dofs[n], None, Constant(rng.normal()))
            else:
                coupling = Coupling(dofs[n], dofs[rng.integers(n)], _draw_function(rng))
            couplings.append(coupling)
    return [couplings[k] for k in rng.permutation(len(couplings))]
