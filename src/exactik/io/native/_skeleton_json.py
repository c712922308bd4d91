"""Skeletons as JSON, in NPZ files; with functions, screws and custom joints."""

from __future__ import annotations

import warnings
from dataclasses import fields
from inspect import signature
from typing import Any

import numpy as np

from exactik.errors import ExactikError, ModelError
from exactik.io._notes import Notes
from exactik.model import (
    JOINT_KINDS,
    Bone,
    BoneMass,
    Coupling,
    Joint,
    JointAxis,
    Loop,
    Skeleton,
    dress,
)
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

MAX_DEPTH = 20
"""Functions within functions that a file may hold; ours have two."""

FUNCTION_TYPES: dict[str, type[CoordinateFunction]] = {
    "constant": Constant,
    "linear": Linear,
    "polynomial": Polynomial,
    "sine": Sine,
    "cubic spline": CubicSpline,
    "piecewise linear": PiecewiseLinear,
    "scaled": Scaled,
    "product": Product,
}
_NAMES = {kind: name for name, kind in FUNCTION_TYPES.items()}


def function_to_json(function: CoordinateFunction) -> dict[str, Any]:
    """Return a function as its type's name and its fields."""
    if type(function) not in _NAMES:
        raise ModelError(f"{type(function).__name__} is no function that a file can hold")
    value: dict[str, Any] = {"type": _NAMES[type(function)]}
    for field in fields(function):  # pyright: ignore[reportArgumentType]
        part = getattr(function, field.name)
        value[field.name] = function_to_json(part) if isinstance(part, CoordinateFunction) else part
    return value


def function_from_json(value: dict[str, Any], depth: int = 0) -> CoordinateFunction:
    """Return the function of `function_to_json`."""
    if depth > MAX_DEPTH:
        raise ModelError("functions within functions without end")
    parts = {
        name: function_from_json(part, depth + 1) if isinstance(part, dict) else part
        for name, part in value.items()
        if name != "type"
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # whoever made it was told of its corners
        return FUNCTION_TYPES[value["type"]](**parts)


def driven_joint_to_json(joint: Joint) -> dict[str, Any]:
    """Return a screw or a custom joint."""
    limits = [[repr(float(x)) for x in pair] for pair in joint.limits]  # may be infinite
    if joint.kind == "screw":
        return {"kind": "screw", "axis": joint.axis, "pitch": joint.pitch, "limits": limits}
    return {
        "kind": "custom",
        "turns": [_axis_to_json(axis) for axis in joint.turns],
        "shifts": [_axis_to_json(axis) for axis in joint.shifts],
        "coordinates": joint.coordinates,
        "limits": limits,
    }


def _axis_to_json(axis: JointAxis) -> list[Any]:
    return [axis.axis, function_to_json(axis.function), axis.coordinates]


def driven_joint_from_json(value: dict[str, Any], limits: Any) -> Joint:
    """Return the joint of `driven_joint_to_json`, with limits, None for none."""
    if value["kind"] == "screw":
        return Joint.screw(value["axis"], value["pitch"], limits)
    turns, shifts = (
        [
            JointAxis(axis, function_from_json(function), coordinates)
            for axis, function, coordinates in value[part]
        ]
        for part in ("turns", "shifts")
    )
    return Joint.custom(turns, shifts, coordinates=value["coordinates"], limits=limits)


# What contents of the wrong type or size raise: a text for a number, a list for a name.
CONTENT_ERRORS = (ExactikError, KeyError, TypeError, ValueError, AttributeError, OverflowError)


def describe_content_error(error: Exception) -> str:
    """Return what is wrong, as the end of a sentence."""
    return f"no {error}" if type(error) is KeyError else str(error)


def skeleton_to_json(skeleton: Skeleton) -> dict[str, Any]:
    """Return all that a skeleton holds but its looks."""
    bones = [
        {
            "name": bone.name,
            "parent": bone.parent,
            "offset": list(bone.offset),
            "pre": None if bone.pre is None else np.asarray(bone.pre).tolist(),
            "post": None if bone.post is None else np.asarray(bone.post).tolist(),
            "joint": _joint_to_json(bone.joint),
            **({} if bone.joint_name == "" else {"joint_name": bone.joint_name}),
            **({} if bone.is_body else {"is_body": False}),
        }
        for bone in skeleton.bones
    ]
    markers = {name: [bone, list(point)] for name, (bone, point) in skeleton.markers.items()}
    couplings = [
        [coupling.driven, coupling.driver, function_to_json(coupling.function)]
        for coupling in skeleton.couplings
    ]
    contents = {"name": skeleton.name, "bones": bones, "markers": markers}
    if len(couplings) > 0:
        contents["couplings"] = couplings
    if len(skeleton.masses) > 0:
        contents["masses"] = {
            bone: [entry.mass, list(entry.center)] for bone, entry in skeleton.masses.items()
        }
    if len(skeleton.loops) > 0:
        contents["loops"] = [_loop_to_json(loop) for loop in skeleton.loops]
    if skeleton.home is not None:
        contents["home"] = skeleton.home.tolist()
    if np.isfinite(skeleton.max_speed).any():
        pairs = zip(skeleton.dof_names, skeleton.max_speed.tolist(), strict=True)
        contents["max_speed"] = {dof: speed for dof, speed in pairs if speed < np.inf}
    return contents


def _joint_to_json(joint: Joint) -> dict[str, Any]:
    if joint.kind in ("screw", "custom"):
        return driven_joint_to_json(joint)
    return {
        "kind": joint.kind,
        "axis": None if joint.axis is None else list(joint.axis),
        "order": joint.order,
        "limits": [[repr(float(x)) for x in pair] for pair in joint.limits],  # may be infinite
        "rotation": None if joint.rotation is None else _joint_to_json(joint.rotation),
    }


def _loop_to_json(loop: Loop) -> dict[str, Any]:
    """Return what of a loop is not as it would be by itself."""
    entries = {field.name: (getattr(loop, field.name), field.default) for field in fields(loop)}
    return {name: value for name, (value, default) in entries.items() if value != default}


def _joint_from_json(value: dict[str, Any]) -> Joint:
    kind, pairs = value["kind"], [[float(x) for x in pair] for pair in value["limits"]]
    limits: Any = pairs if len(pairs) > 0 else None
    if kind in ("screw", "custom"):
        return driven_joint_from_json(value, limits)
    if kind not in JOINT_KINDS:
        raise ValueError(f"there is no joint {kind!r}")
    inner, order = value["rotation"], value["order"]
    arguments = {
        "axis": value["axis"],
        "order": order,
        "twist": order.lower(),
        "rotation": None if inner is None else _joint_from_json(inner),
        "limits": limits,
    }
    make = getattr(Joint, kind)
    joint = make(**{name: arguments[name] for name in signature(make).parameters})
    if len(joint.limits) != len(pairs):
        raise ValueError(f"a joint has {len(pairs)} limits; expected {len(joint.limits)}")
    return joint


def skeleton_from_json(contents: dict[str, Any], notes: Notes) -> Skeleton:
    """Return the skeleton in the contents of a file."""
    try:
        value = contents["skeleton"]
        bones = [
            Bone(
                bone["name"],
                parent=bone["parent"],
                offset=bone["offset"],
                pre=bone["pre"],
                joint=_joint_from_json(bone["joint"]),
                post=bone["post"],
                joint_name=str(bone.get("joint_name", "")),
                is_body=bool(bone.get("is_body", True)),
            )
            for bone in value["bones"]
        ]
        markers = {name: (bone, point) for name, (bone, point) in value["markers"].items()}
        couplings = [
            Coupling(driven, driver, function_from_json(function))
            for driven, driver, function in value.get("couplings", [])
        ]
        masses = {
            bone: BoneMass(float(mass), center)
            for bone, (mass, center) in value.get("masses", {}).items()
        }
        speeds = value.get("max_speed")
        built = Skeleton.build(
            value["name"], bones, markers, couplings, masses=masses, max_speed=speeds
        )
        built = built.with_loops([Loop(**loop) for loop in value.get("loops", [])])
        return dress(built.with_home(value.get("home")))
    except (*CONTENT_ERRORS, IndexError, RecursionError) as error:
        raise notes.error(
            f"the skeleton cannot be built: {describe_content_error(error)}"
        ) from None
