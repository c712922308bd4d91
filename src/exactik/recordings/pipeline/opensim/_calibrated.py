"""A calibrated figure as the .osim file it came from: its text with other numbers."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from exactik.io import load_generic_model
from exactik.io.opensim import OpenSimMarker, build_skeleton
from exactik.io.opensim.scaling import GenericModel
from exactik.model import Skeleton
from exactik.recordings.calibration import Calibration

PathLike = str | os.PathLike[str]
GROUND = "ground"


def load_marked_skeleton(path: PathLike, marker_set: PathLike) -> Skeleton:
    """Return the skeleton of an .osim file with the markers of a marker set on it."""
    generic = load_generic_model(path, marker_set)
    return build_skeleton(replace(generic.model, markers=tuple(generic.markers)))


def save_calibrated_model(calibration: Calibration, generic: PathLike, path: PathLike) -> None:
    """Write the model that was calibrated as a scaled one, with the markers of the recording.

    Bodies of which nothing is told grow as the one that carries them, and masses stay as they are:
    recordings do not weigh anybody.

    Args:
        calibration: of the skeleton of the generic model.
        generic: its .osim file, of document version 30517 or later.
        path: of the .osim file to write.
    """
    model = load_generic_model(generic)
    factors = _find_factors(calibration, model)
    model.scale(
        {body: np.full(3, factor) for body, factor in factors.items()},
        mass=-1.0,
        keeps_mass_distribution=True,
    )
    fixed = {marker.name for marker in model.markers if marker.fixed}
    model.markers = _list_markers(calibration.skeleton, {GROUND, *factors}, fixed)
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    model.save(os.fspath(path), Path(path).stem)


def _find_factors(calibration: Calibration, model: GenericModel) -> dict[str, float]:
    """Return the factor of each body."""
    skeleton, told = calibration.skeleton, calibration.scales
    sized = {bone for group in calibration.scale_groups for bone in group}
    bodies = {body.name for body in model.model.bodies}
    factors: dict[str, float] = {}
    for bone in skeleton.bones:  # parents come first
        name, above = bone.name, bone.parent
        if name not in sized and above is not None:
            factors[name] = factors[above]
        else:
            factors[name] = told[name]
    return {name: factor for name, factor in factors.items() if name in bodies}


def _list_markers(skeleton: Skeleton, bodies: set[str], fixed: set[str]) -> list[OpenSimMarker]:
    """Return the markers in the frames of bodies: some bones are only where a joint is."""
    pose = skeleton.forward(skeleton.neutral())
    markers = []
    for name, (bone, point) in skeleton.markers.items():
        body, place = bone, point
        while body not in bodies:
            body = next(b.name for b in skeleton.bones if b.parent == body)
        if body != bone:
            k = skeleton.bone_index(body)
            place = (pose.point(bone, point) - pose.positions[k]) @ pose.rotations[k]
        x, y, z = np.asarray(place, dtype=float).tolist()
        markers.append(OpenSimMarker(name, body, (x, y, z), name in fixed))
    return markers
