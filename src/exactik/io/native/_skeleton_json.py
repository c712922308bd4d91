"""Skeletons as JSON, in NPZ files."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactik.errors import ExactikError
from exactik.io._notes import Notes
from exactik.io.native._mechanisms import (
    driven_joint_from_json,
    driven_joint_to_json,
    function_from_json,
    function_to_json,
)
from exactik.model import Bone, BoneMass, Coupling, Joint, Skeleton, dress

__all__ = ["CONTENT_ERRORS", "describe_content_error", "skeleton_from_json", "skeleton_to_json"]

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
    if skeleton.home is not None:
        contents["home"] = skeleton.home.tolist()
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


def _joint_from_json(value: dict[str, Any]) -> Joint:
    kind, pairs = value["kind"], [[float(x) for x in pair] for pair in value["limits"]]
    limits: Any = pairs if len(pairs) > 0 else None
    if kind in ("screw", "custom"):
        return driven_joint_from_json(value, limits)
    if kind == "fixed":
        return Joint.fixed()
    if kind in ("revolute", "prismatic"):
        return getattr(Joint, kind)(value["axis"], limits[0])
    if kind == "euler":
        return Joint.euler(value["order"], limits)
    if kind == "swing_twist":
        return Joint.swing_twist(value["order"].lower(), limits)
    if kind == "free":
        return Joint.free(_joint_from_json(value["rotation"]), limits)
    if kind == "quaternion":
        return Joint.quaternion()
    return getattr(Joint, kind)(limits)


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
        built = Skeleton.build(value["name"], bones, markers, couplings, masses=masses)
        return dress(built.with_home(value.get("home")))
    except (*CONTENT_ERRORS, IndexError, RecursionError) as error:
        raise notes.error(
            f"the skeleton cannot be built: {describe_content_error(error)}"
        ) from None
