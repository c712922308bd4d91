"""Set-up files of OpenSim's scale tool: measurements, scales by hand, a static pose.

A measurement is the mean, over pairs of markers, of the recorded distance over that on the model in
its default pose; it becomes the scale of some bodies along some axes. What comes later in the order
of scaling replaces what came before.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass

from exactik.errors import Note
from exactik.io._notes import Notes
from exactik.io._xml import Element
from exactik.io.opensim._document import objects_of, open_set, read_document
from exactik.io.opensim._ik_setup import (
    CoordinateTask,
    is_setup,
    read_existing_path,
    read_path,
    read_tasks,
    read_time_range,
    require_path,
)

ORDERS = ("measurements", "manualScale")
AXES = "xyz"


@dataclass(frozen=True)
class Measurement:
    """A measurement: its name, pairs of markers, and body → the axes that it scales, of "xyz"."""

    name: str
    pairs: tuple[tuple[str, str], ...]
    bodies: Mapping[str, str]


@dataclass(frozen=True)
class ManualScale:
    """A scale by hand: the body, and its factors along x, y and z."""

    body: str
    factors: tuple[float, float, float]


@dataclass(frozen=True)
class ModelScaling:
    """The step that scales."""

    order: tuple[str, ...]  # of "measurements" and "manualScale"
    measurements: tuple[Measurement, ...]  # those that apply
    scales: tuple[ManualScale, ...]  # those that apply
    marker_path: str | None  # recording in which distances are measured; None without measurements
    time_range: tuple[float, float]  # of it [s]
    keeps_mass_distribution: bool  # whether masses stay in proportion, else they go with volume
    model_path: str | None  # .osim to write; None for none
    scales_path: str | None  # .xml of the scales to write; None for none


@dataclass(frozen=True)
class MarkerPlacing:
    """The step that puts markers of the model where they were recorded in a static pose."""

    marker_path: str  # recording of the static pose
    coordinate_path: str | None  # .mot or .sto with values of coordinates; None if there is none
    time_range: tuple[float, float]  # of it, whose mean is the pose [s]
    marker_weights: Mapping[str, float]  # as in `IkSetup`
    coordinate_tasks: tuple[CoordinateTask, ...]  # as in `IkSetup`
    moves_markers: bool  # whether markers that are not fixed are moved
    model_path: str | None  # .osim to write; None for none
    motion_path: str | None  # .mot of the pose to write; None for none
    markers_path: str | None  # .xml of the markers to write; None for none


@dataclass(frozen=True)
class ScaleSetup:
    """What a scale tool is to do."""

    path: str  # of the set-up file
    name: str  # of the subject, which becomes the model's
    mass: float  # of the subject [kg]; not positive if the model's is kept
    generic_path: str  # the .osim file to scale
    marker_set_path: str | None  # .xml with markers to put on it; None for none
    scaling: ModelScaling | None  # None if it does not apply
    placing: MarkerPlacing | None  # None if it does not apply
    notes: tuple[Note, ...] = ()  # what is odd about the file


def is_scale_setup(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a set-up of the scale tool, by its first lines."""
    return is_setup(path, "ScaleTool")


def load_scale_setup(path: str | os.PathLike[str]) -> ScaleSetup:
    """Return what a set-up file of the scale tool asks for; files that it names must exist."""
    path = os.fspath(path)
    notes = Notes(path)
    tool = read_document(path, notes, "ScaleTool").root
    maker = tool.first("GenericModelMaker")
    if maker is None:
        raise tool.error("no <GenericModelMaker>; expected the model to scale")
    marker_set = read_existing_path(maker, "marker_set_file")
    scaler, placer = tool.first("ModelScaler"), tool.first("MarkerPlacer")
    return ScaleSetup(
        path=path,
        name=tool.plain_name,
        mass=tool.number_of("mass", -1.0),
        generic_path=require_path(maker, "model_file", "the model to scale, an .osim file"),
        marker_set_path=marker_set,
        scaling=None if scaler is None else _read_scaling(scaler, notes),
        placing=None if placer is None else _read_placing(placer, notes),
        notes=notes.all,
    )


def _read_scaling(scaler: Element, notes: Notes) -> ModelScaling | None:
    if not scaler.flag_of("apply", True):
        return None
    order = scaler.words_of("scaling_order") or ORDERS
    for word in order:
        if word not in ORDERS:
            raise scaler.error(f"scaling_order has {word[:40]!r}; expected {' or '.join(ORDERS)}")
    measurements = tuple(
        _read_measurement(element)
        for element in objects_of(open_set(scaler, "MeasurementSet", notes))
        if element.flag_of("apply", True)
    )
    markers = read_path(scaler, "marker_file")
    if len(measurements) > 0 and "measurements" in order:
        markers = require_path(scaler, "marker_file", "the recording to measure, a .trc file")
    return ModelScaling(
        order=order,
        measurements=measurements,
        scales=tuple(_read_scales(scaler, notes)),
        marker_path=markers,
        time_range=read_time_range(scaler),
        keeps_mass_distribution=scaler.flag_of("preserve_mass_distribution", False),
        model_path=read_path(scaler, "output_model_file"),
        scales_path=read_path(scaler, "output_scale_file"),
    )


def _read_measurement(element: Element) -> Measurement:
    pairs = []
    for pair in objects_of(element.first("MarkerPairSet")):
        names = pair.words_of("markers")
        if len(names) != 2:
            raise pair.error(f"{len(names)} markers; expected two")
        pairs.append((names[0], names[1]))
    bodies = {}
    for body in objects_of(element.first("BodyScaleSet")):
        axes = "".join(body.words_of("axes")).lower()
        if not set(axes) <= set(AXES):
            raise body.error(f"axes are {axes[:20]!r}; expected some of X Y Z")
        bodies[body.plain_name] = axes
    return Measurement(name=element.plain_name, pairs=tuple(pairs), bodies=bodies)


def _read_scales(scaler: Element, notes: Notes) -> list[ManualScale]:
    scales = []
    for element in objects_of(open_set(scaler, "ScaleSet", notes)):
        if element.flag_of("apply", True):
            factors = element.vector_of("scales", (1.0, 1.0, 1.0))
            if not all(math.isfinite(f) and f > 0.0 for f in factors):
                raise element.error(f"scales are {factors}; expected three positive numbers")
            scales.append(ManualScale(element.text_of("segment"), factors))
    return scales


def _read_placing(placer: Element, notes: Notes) -> MarkerPlacing | None:
    if not placer.flag_of("apply", True):
        return None
    weights, tasks = read_tasks(placer, notes)
    coordinates = read_existing_path(placer, "coordinate_file")
    return MarkerPlacing(
        marker_path=require_path(placer, "marker_file", "the static pose, a .trc file"),
        coordinate_path=coordinates,
        time_range=read_time_range(placer),
        marker_weights=weights,
        coordinate_tasks=tasks,
        moves_markers=placer.flag_of("move_model_markers", True),
        model_path=read_path(placer, "output_model_file"),
        motion_path=read_path(placer, "output_motion_file"),
        markers_path=read_path(placer, "output_marker_file"),
    )
