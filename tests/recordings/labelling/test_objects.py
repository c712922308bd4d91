"""Rigid things beside a body are found by shape or by name; bones are not taken for things."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.model.motion import Markers
from exactik.recordings.labelling import find_rigid_clusters, find_rigid_objects
from exactik.spatial import axis_rotation

THING = np.array([[0.1, 0.0, 0.0], [0.0, 0.12, 0.0], [0.0, 0.0, 0.09], [-0.1, 0.05, 0.0]])


@pytest.fixture(scope="module")
def walk() -> Markers:
    """Our human, 3 s, without faults but noise."""
    recording = simulate_recording(simulate_performance(3.0), noise=0.001, gaps=0.0, swap=False)
    return recording.markers


def with_thing(walk: Markers, path: np.ndarray, names: list[str], noise: float = 5e-4) -> Markers:
    rng = np.random.default_rng(3)
    path = path + rng.normal(0.0, noise, path.shape)
    positions = np.concatenate([walk.positions, path], axis=1)
    return replace(walk, positions=positions, names=(*walk.names, *names))


def flying(walk: Markers) -> np.ndarray:
    t = walk.times
    center = np.column_stack([2.0 * t, np.sin(3.0 * t), 1.0 + 0.5 * np.cos(4.0 * t)])
    turned = np.array([THING @ axis_rotation("z", angle).T for angle in 5.0 * t])
    return turned + center[:, None]


def test_bones_are_no_things(walk: Markers):
    assert find_rigid_objects(walk) == []
    assert len(find_rigid_clusters(walk)) > 0


def test_a_racket_and_a_plate_are_found_by_shape(walk: Markers):
    names = ["*1", "*2", "*3", "*4"]
    racket = find_rigid_objects(with_thing(walk, flying(walk), names))
    assert [(thing.names, thing.code) for thing in racket] == [(tuple(names), "unattached")]
    plate = np.broadcast_to(5.0 * THING * (1, 1, 0) + (1, 1, 0), (len(walk), 4, 3))
    found = find_rigid_objects(with_thing(walk, plate, names))
    assert [(thing.names, thing.code) for thing in found] == [(tuple(names), "static")]


def test_what_spreads_like_skin_is_no_thing(walk: Markers):
    """The same path with 5 mm of noise may be a limb that is joined where nobody looked."""
    soft = with_thing(walk, flying(walk), ["*1", "*2", "*3", "*4"], noise=2.5e-3)
    assert find_rigid_objects(soft) == []


def test_a_wheelchair_is_known_by_its_name(walk: Markers):
    """Also where it stands still with the person in it and nothing bends."""
    still = walk.between(0.0, 0.02)
    names = ["WheelchairRearL", "WheelchairRearR", "R.Roue", "Ball:1"]
    found = find_rigid_objects(with_thing(still, np.broadcast_to(THING, (len(still), 4, 3)), names))
    assert {name for thing in found for name in thing.names} == set(names)
    assert {thing.code for thing in found} == {"named"}


def test_nothing_is_rigid_where_nothing_moves(walk: Markers):
    still = replace(walk, positions=np.repeat(walk.positions[:1], 30, axis=0))
    assert find_rigid_clusters(still) == []
    assert find_rigid_objects(still) == []
