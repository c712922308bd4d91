"""What a set-up file of OpenSim's scale tool asks for: a model scaled, its markers placed.

A calibrated figure is written in the same way. Scaling measures distances between markers in the
recording and on the model in its default pose. Placing solves the mean frame of a static pose for
its tasks, and then puts every marker of the model that is not fixed where it was recorded.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from exactik.errors import FileError
from exactik.io import GenericModel, load_scale_setup
from exactik.io.opensim import OpenSimMarker, OpenSimModel, build_skeleton
from exactik.io.opensim.scaling import (
    MarkerPlacing,
    ModelScaling,
    ScaleSetup,
    default_pose,
    write_marker_set,
    write_scale_set,
)
from exactik.model import Skeleton
from exactik.recordings.calibration import Calibration
from exactik.recordings.pipeline.opensim._tasks import (
    TaskSetup,
    read_timed_markers,
    track_tasks,
    write_coordinates,
)
from exactik.recordings.tracking import Track
from exactik.typing import Array

Vector = tuple[float, float, float]
PathLike = str | os.PathLike[str]
GROUND = "ground"


@dataclass(frozen=True, kw_only=True)
class ScaledSubject:
    """What the scale tool's set-up led to."""

    setup: ScaleSetup  # what it asks for
    factors: Mapping[str, Vector]  # body → factors along x, y and z
    model: OpenSimModel  # as it is scaled
    pose: Track | None  # of the markers of the static pose; None if no markers were placed
    moved: Mapping[str, float]  # marker → how far it was moved on its body [m]
    written: tuple[tuple[str, str], ...]  # files, and what they are
    notes: tuple[str, ...]  # what was left out or done otherwise, a sentence each


def scale_model(path: str | os.PathLike[str]) -> ScaledSubject:
    """Do what a set-up file of OpenSim's scale tool asks for, and write its files."""
    setup = load_scale_setup(path)
    generic = GenericModel(setup.generic_path, setup.marker_set_path)
    written: list[tuple[str, str]] = []
    notes: list[str] = [note.as_sentence() for note in setup.notes]
    factors: dict[str, Vector] = {body.name: (1.0, 1.0, 1.0) for body in generic.model.bodies}
    if setup.scaling is not None:
        factors, said = _compute_factors(setup, setup.scaling, generic)
        notes += said
    model = generic.scale(
        {body: np.array(values) for body, values in factors.items()},
        mass=setup.mass if setup.scaling is not None else -1.0,
        keeps_mass_distribution=setup.scaling is None or setup.scaling.keeps_mass_distribution,
    )
    if setup.scaling is not None:
        written += _write_scaling(setup, setup.scaling, generic, factors)
    if generic.wrapped_muscles > 0:
        count = generic.wrapped_muscles
        notes.append(f"{count} muscles wrap around surfaces; they grow as their straight paths do.")
    pose, moved = None, {}
    if setup.placing is not None:
        pose, moved, said = _place_markers(setup, setup.placing, generic, model)
        notes += said
        written += _write_placing(setup, setup.placing, generic, model, pose)
    return ScaledSubject(
        setup=setup,
        factors=factors,
        model=model,
        pose=pose,
        moved=moved,
        written=tuple(written),
        notes=tuple(notes),
    )


def _compute_factors(
    setup: ScaleSetup, scaling: ModelScaling, generic: GenericModel
) -> tuple[dict[str, Vector], list[str]]:
    """Return the factors of all bodies, and sentences about measurements that were left out."""
    factors = {body.name: np.ones(3) for body in generic.model.bodies}
    notes: list[str] = []
    for step in scaling.order:
        if step == "manualScale":
            for scale in scaling.scales:
                if scale.body in factors:
                    factors[scale.body] = np.array(scale.factors)
            continue
        if len(scaling.measurements) == 0:
            continue
        assert scaling.marker_path is not None  # as read
        markers, times = read_timed_markers(scaling.marker_path)
        frames = _bracket(setup.path, times, scaling.time_range)
        on_model = _model_markers(generic)
        for measurement in scaling.measurements:
            ratios = []
            for first, second in measurement.pairs:
                if not all(n in on_model and n in markers.names for n in (first, second)):
                    ratios.append(np.nan)
                    continue
                apart = markers.marker(first)[frames] - markers.marker(second)[frames]
                length = np.linalg.norm(apart, axis=1)
                on_body = np.linalg.norm(on_model[first] - on_model[second])
                ratios.append(float(np.nanmean(length) / on_body))
            if len(ratios) == 0 or not np.isfinite(ratios).all():
                notes.append(f"Measurement {measurement.name!r} has markers that are not there.")
                continue
            for body, axes in measurement.bodies.items():
                for axis in axes:
                    if body in factors:
                        factors[body]["xyz".index(axis)] = np.mean(ratios)
    return {body: _as_vector(values) for body, values in factors.items()}, notes


def _as_vector(values: Array) -> Vector:
    x, y, z = values.tolist()
    return x, y, z


def _model_markers(generic: GenericModel) -> dict[str, Array]:
    """Return where the markers are on the generic model in its default pose [m]."""
    model = replace(generic.model, markers=tuple(generic.markers))
    skeleton = build_skeleton(model)
    places = skeleton.forward(default_pose(model, skeleton)).markers
    return dict(zip(skeleton.markers, places, strict=True))


def _bracket(setup: str, times: Array, time_range: tuple[float, float]) -> slice:
    """Return the frames from the last one not after the begin to the first not before the end."""
    begin, end = time_range
    if begin > times[-1] or end < times[0]:
        raise FileError(
            setup,
            f"time_range is {begin:g} to {end:g} s, but the markers are from {times[0]:g} to "
            f"{times[-1]:g} s",
        )
    before, after = np.flatnonzero(times <= begin), np.flatnonzero(times >= end - 1e-14)
    first = int(before[-1]) if len(before) > 0 else 0
    last = int(after[after >= first][0]) if (after >= first).any() else len(times) - 1
    return slice(first, last + 1)


def _place_markers(
    setup: ScaleSetup, placing: MarkerPlacing, generic: GenericModel, model: OpenSimModel
) -> tuple[Track, dict[str, float], list[str]]:
    """Solve the static pose and move markers of the model; return the pose and how far."""
    markers, times = read_timed_markers(placing.marker_path)
    bracket = _bracket(setup.path, times, placing.time_range)
    inside = (times >= placing.time_range[0]) & (times <= placing.time_range[1])
    if not inside.any():
        inside[bracket] = True
    generic.markers = [m for m in generic.markers if m.name in markers.names]
    model = replace(model, markers=tuple(generic.markers))
    skeleton = build_skeleton(model)
    mean = replace(markers, positions=np.nanmean(markers.positions[inside], axis=0)[None])
    tasks = TaskSetup(
        path=setup.path,
        marker_path=placing.marker_path,
        coordinate_path=placing.coordinate_path,
        marker_weights=placing.marker_weights,
        coordinate_tasks=placing.coordinate_tasks,
    )
    pose, said = track_tasks(tasks, model, skeleton, mean, times[inside][:1])
    moved: dict[str, float] = {}
    if placing.moves_markers:
        places = np.nanmean(markers.positions[bracket], axis=0)
        frames = skeleton.forward(pose.motion.q[0])
        for k, marker in enumerate(generic.markers):
            place = places[markers.names.index(marker.name)]
            if marker.fixed or not np.isfinite(place).all():
                continue
            bone = skeleton.bone_index(marker.body)
            local = frames.rotations[bone].T @ (place - frames.positions[bone])
            moved[marker.name] = float(np.linalg.norm(local - marker.position))
            generic.markers[k] = marker._replace(position=_as_vector(local))
    return pose, moved, said


def _write_scaling(
    setup: ScaleSetup,
    scaling: ModelScaling,
    generic: GenericModel,
    factors: Mapping[str, Vector],
) -> list[tuple[str, str]]:
    written = []
    if scaling.model_path is not None:
        generic.save(scaling.model_path, setup.name)
        written.append((scaling.model_path, "the scaled model"))
    if scaling.scales_path is not None:
        write_scale_set(scaling.scales_path, {"ground": (1.0, 1.0, 1.0), **factors})
        written.append((scaling.scales_path, "the scales"))
    return written


def _write_placing(
    setup: ScaleSetup,
    placing: MarkerPlacing,
    generic: GenericModel,
    model: OpenSimModel,
    pose: Track,
) -> list[tuple[str, str]]:
    written = []
    if placing.model_path is not None:
        generic.save(placing.model_path, setup.name)
        written.append((placing.model_path, "the scaled model with its markers placed"))
    if placing.markers_path is not None:
        write_marker_set(placing.markers_path, generic.markers)
        written.append((placing.markers_path, "the markers"))
    if placing.motion_path is not None:
        times = np.array([max(placing.time_range[0], 0.0)])
        write_coordinates(placing.motion_path, "static pose", model, times, pose.motion)
        written.append((placing.motion_path, "the static pose"))
    return written


def load_marked_skeleton(path: PathLike, marker_set: PathLike) -> Skeleton:
    """Return the skeleton of an .osim file with the markers of a marker set on it."""
    generic = GenericModel(path, marker_set)
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
    model = GenericModel(generic)
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
