"""A model of OpenSim as a skeleton: each body a bone of the same name and frame.

    X_parent_child = X_parent_F · X_FM(q) · X_child_M⁻¹

A bone is placed by an offset and a rotation, moved by its joint, and turned once more; it is not
shifted after its joint. So a body whose joint is away from its origin takes two bones: one that has
the joint's name and moves, and the body, which stands on it.

Every joint that moves is a custom one, whose coordinates have their own names: a dof is called
`<bone>.<coordinate>`. With x, y, z the axes of F and angles α, β, γ:

    Pin              R_z(α)                     Gimbal, Ball     R_x(α) R_y(β) R_z(γ)
    Slider           shift along x              Free             shift (x, y, z), then as Gimbal
    Universal        R_x(α) R_y(β)              Planar           shift (x, y), then R_z(α)
    Weld             nothing                    Custom           shifts, then turns, by functions
    Ellipsoid        as Gimbal, the origin on the ellipsoid where its z axis is the normal
                     of the unit sphere: (a sin β, −b sin α cos β, c cos α cos β)
    Scapulothoracic  an ellipsoid whose frames are turned by 90° about z, then a pin in the
                     plane of its x and y

Ranges hold where a coordinate is clamped; one that is locked has its default for both limits.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from exactik.errors import ExactikError, FileError
from exactik.io._notes import Notes
from exactik.io.opensim._description import GROUND, OpenSimCoordinate, OpenSimJoint, OpenSimModel
from exactik.io.opensim._geometry import read_opensim_visuals
from exactik.io.opensim._model import describe_not_read, load_opensim_model
from exactik.model import Bone, BoneMass, Coupling, Joint, JointAxis, Skeleton
from exactik.model.functions import Constant, Product, Sine
from exactik.model.visuals import LazyVisuals
from exactik.spatial import axis_rotation
from exactik.typing import Array

QUARTER_TURN = 0.5 * math.pi
UNIT = np.eye(3)


def read_opensim_skeleton(path: str, notes: Notes) -> Skeleton:
    """Return the skeleton in an .osim file."""
    model = load_opensim_model(path, notes)
    with warnings.catch_warnings():
        # What a function says about itself to a programmer; the note below is for the file's user.
        warnings.simplefilter("ignore", UserWarning)
        skeleton = build_skeleton(model)
    _note_losses(model, notes)
    if not any(len(body.meshes) > 0 for body in model.bodies):
        return skeleton
    make = partial(read_opensim_visuals, os.path.abspath(path))
    return skeleton.with_visuals(LazyVisuals(make))


def build_skeleton(model: OpenSimModel) -> Skeleton:
    """Return a model as a skeleton; names of bones are those of bodies."""
    names = {body.name for body in model.bodies}
    bones: list[Bone] = []
    bone_of_coordinate: dict[str, str] = {}
    if any(marker.body == GROUND for marker in model.markers):
        bones.append(Bone(GROUND))
    try:
        for joint in model.joints:
            added = _make_bones(joint, names)
            for bone in added:
                bone_of_coordinate |= dict.fromkeys(bone.joint.coordinates, bone.name)
            bones += added
        couplings = [
            Coupling(
                driven=f"{bone_of_coordinate[coupler.dependent]}.{coupler.dependent}",
                driver=f"{bone_of_coordinate[coupler.independent]}.{coupler.independent}",
                function=coupler.function,
            )
            for coupler in model.couplers
        ]
        markers = {marker.name: (marker.body, marker.position) for marker in model.markers}
        known = {bone.name for bone in bones}
        masses = {
            body.name: BoneMass(body.mass, body.mass_center)
            for body in model.bodies
            if body.name in known and math.isfinite(body.mass) and body.mass > 0.0
        }
        figure = Skeleton.build(model.name, bones, markers, couplings=couplings, masses=masses)
        return figure.with_loops(model.loops)
    except ExactikError as error:
        raise FileError(model.path, str(error)) from error


class _Stage(NamedTuple):
    """A motion inside a joint: where its base is in the frame before it, and what moves."""

    offset: Array
    pre: Array
    joint: Joint


def _make_bones(joint: OpenSimJoint, taken: set[str]) -> list[Bone]:
    """Return the bones of a joint and its child body, and take their names."""
    parent = None if joint.parent.body == GROUND else joint.parent.body
    stages, tail_offset, tail_rotation = _make_stages(joint)
    # Behind the joint: X_child_M⁻¹, its rotation and the shift that comes after it.
    tail_rotation = tail_rotation @ joint.child.rotation.T
    tail_offset = tail_offset - tail_rotation @ joint.child.position
    bones = []
    for k, stage in enumerate(stages, start=1):
        is_body = k == len(stages) and not tail_offset.any()
        name = joint.child.body if is_body else _choose_name(joint, k, len(stages), taken)
        post = tail_rotation if is_body else None
        bones.append(
            Bone(
                name,
                parent=parent,
                offset=stage.offset,
                pre=stage.pre,
                joint=stage.joint,
                post=post,
            )
        )
        parent = name
    if bones[-1].name != joint.child.body:
        bones.append(Bone(joint.child.body, parent=parent, offset=tail_offset, pre=tail_rotation))
    return bones


def _choose_name(joint: OpenSimJoint, k: int, count: int, taken: set[str]) -> str:
    """Return a name for a bone that is no body: the joint's, unless a body has it."""
    stem = joint.name or f"{joint.child.body}_joint"
    candidates = [stem if k == count else f"{stem}_{k}", f"{joint.child.body}_joint{k}"]
    candidates += [f"{candidates[-1]}_{n}" for n in range(2, len(taken) + 3)]
    name = next(name for name in candidates if name not in taken)
    taken.add(name)
    return name


def _make_stages(joint: OpenSimJoint) -> tuple[list[_Stage], Array, Array]:
    """Return the motions of a joint, and the offset and rotation behind the last of them."""
    start, turn = joint.parent.position, joint.parent.rotation
    if joint.kind == "Scapulothoracic":
        # Simbody's ellipsoid is turned by a quarter on both sides, for the signs of its angles.
        quarter = axis_rotation("z", QUARTER_TURN)
        a, b, c = joint.radii
        on_ellipsoid = _make_ellipsoid(joint.coordinates[:3], (b, a, c))
        origin = np.array([*joint.winging_origin, 0.0])
        direction = joint.winging_direction
        axis = (-math.sin(direction), math.cos(direction), 0.0)
        winging = _make_joint(joint.coordinates[3:], turns=[(axis, joint.coordinates[3].name)])
        stages = [
            _Stage(start, turn @ quarter, on_ellipsoid),
            _Stage(quarter.T @ origin, quarter.T, winging),
        ]
        return stages, -origin, UNIT
    return [_Stage(start, turn, _convert_joint(joint))], np.zeros(3), UNIT


def _convert_joint(joint: OpenSimJoint) -> Joint:
    """Return what moves in a joint of one stage."""
    coordinates = joint.coordinates
    names = [coordinate.name for coordinate in coordinates]
    if joint.kind == "Weld":
        return Joint.fixed()
    if joint.kind == "Custom":
        return _make_custom(joint)
    if joint.kind == "Ellipsoid":
        return _make_ellipsoid(coordinates, joint.radii)
    if joint.kind == "Slider":
        return _make_joint(coordinates, shifts=[("x", names[0])])
    turning = {"Pin": "z", "Planar": "z", "Universal": "xy"}.get(joint.kind, "xyz")
    shifting = {"Planar": "xy", "Free": "xyz"}.get(joint.kind, "")
    turns = list(zip(turning, names, strict=False))
    return _make_joint(
        coordinates,
        turns=turns,
        shifts=list(zip(shifting, names[len(turns) :], strict=True)),
    )


def _make_joint(
    coordinates: Sequence[OpenSimCoordinate],
    *,
    turns: Sequence[tuple[str | tuple[float, float, float], str]] = (),
    shifts: Sequence[tuple[str, str]] = (),
) -> Joint:
    """Return a joint whose axes are driven by one coordinate each, directly."""
    return Joint.custom(
        turns=[JointAxis(axis, None, name) for axis, name in turns],
        shifts=[JointAxis(axis, None, name) for axis, name in shifts],
        coordinates=[coordinate.name for coordinate in coordinates],
        limits=[_limits_of(coordinate) for coordinate in coordinates],
    )


def _make_custom(joint: OpenSimJoint) -> Joint:
    axes = [
        JointAxis(axis.axis, axis.function, () if axis.coordinate is None else axis.coordinate)
        for axis in joint.axes
    ]
    is_idle = [isinstance(a.function, Constant) and a.function.value == 0.0 for a in axes]
    return Joint.custom(
        turns=[axis for axis, idle in zip(axes[:3], is_idle[:3], strict=True) if not idle],
        shifts=[axis for axis, idle in zip(axes[3:], is_idle[3:], strict=True) if not idle],
        coordinates=[coordinate.name for coordinate in joint.coordinates],
        limits=[_limits_of(coordinate) for coordinate in joint.coordinates],
    )


def _make_ellipsoid(
    coordinates: Sequence[OpenSimCoordinate], radii: tuple[float, float, float]
) -> Joint:
    alpha, beta, gamma = (coordinate.name for coordinate in coordinates)
    a, b, c = radii
    cosine = Sine(phase=QUARTER_TURN)
    return Joint.custom(
        turns=[
            JointAxis("x", None, alpha),
            JointAxis("y", None, beta),
            JointAxis("z", None, gamma),
        ],
        shifts=[
            JointAxis("x", Sine(a), beta),
            JointAxis("y", Product(Sine(-b), cosine), (alpha, beta)),
            JointAxis("z", Product(Sine(c, phase=QUARTER_TURN), cosine), (alpha, beta)),
        ],
        coordinates=(alpha, beta, gamma),
        limits=[_limits_of(coordinate) for coordinate in coordinates],
    )


def _limits_of(coordinate: OpenSimCoordinate) -> tuple[float, float]:
    if coordinate.locked:
        return coordinate.default, coordinate.default
    return (coordinate.low, coordinate.high) if coordinate.clamped else (-math.inf, math.inf)


def _note_losses(model: OpenSimModel, notes: Notes) -> None:
    """Say what of a model is not in its skeleton; what moves it is warned of."""
    prescribed = [c.name for c in model.coordinates if c.prescribed]
    if len(prescribed) > 0:
        listed = ", ".join(prescribed[:5])
        text = f"coordinates that a function of time prescribes are free: {listed}"
        notes.flag_damage(text, code="prescribed-not-kept")
    if len(model.not_read) > 0:
        text = f"not read: {describe_not_read(model.not_read)}"
        notes.remark(text, code="not-read", value=str(sum(model.not_read.values())))
