"""Functions, screws and custom joints as JSON, for NPZ files."""

from __future__ import annotations

import warnings
from dataclasses import fields
from typing import Any

from exactik.errors import ModelError
from exactik.functions import (
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
from exactik.model import Joint, JointAxis

__all__ = [
    "driven_joint_from_json",
    "driven_joint_to_json",
    "function_from_json",
    "function_to_json",
]

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
