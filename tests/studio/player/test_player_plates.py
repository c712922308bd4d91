"""What was recorded beside a figure's markers: force plates, and markers that nothing explains."""

from __future__ import annotations

import numpy as np
import pytest

from exactik.model import human
from exactik.model.motion import ForcePlate, Markers, Motion
from exactik.studio.player.data import encode_scene
from exactik.studio.player.scene import compose_scene
from exactik.studio.player.still import render_still

CORNERS = [(0.5, 0.3, 0.0), (0.0, 0.3, 0.0), (0.0, 0.0, 0.0), (0.5, 0.0, 0.0)]


@pytest.fixture(scope="module")
def motion() -> Motion:
    figure = human()
    return Motion(figure, np.tile(figure.neutral(), (20, 1)), 60.0)


def make_markers(motion: Motion) -> Markers:
    return Markers(motion.forward().markers, tuple(motion.skeleton.markers), motion.rate)


def make_others(count: int, frames: int) -> Markers:
    wrench = np.zeros((10 * frames, 6))
    wrench[100:, 2] = 700.0
    plate = ForcePlate(wrench, type=2, corners=CORNERS, origin=(0.0, 0.0, 0.0), rate=600.0)
    places = np.tile(np.linspace(0.1, 0.9, count)[None, :, None], (frames, 1, 3))
    return Markers(
        places, tuple(f"*{m}" for m in range(count)), 60.0, force_plates=(plate,), up_axis="z"
    )


def test_markers_that_are_not_used_follow_those_that_are(motion: Motion):
    markers, others = make_markers(motion), make_others(3, len(motion))
    places = np.array(others.positions)
    places[:, 1] = (50.0, 0.0, 0.0)  # a reflection at the end of the hall
    places[5:, 2] = np.nan
    others = Markers(places, others.names, 60.0, force_plates=others.force_plates)
    scene = compose_scene(motion, markers=markers, others=others)
    used = len(markers.names)
    assert scene.marker_names == (*markers.names, "*0", "*1", "*2")
    assert (scene.marker_bones[:used] >= 0).all() and (scene.marker_bones[used:] == -1).all()
    np.testing.assert_allclose(scene.measured[:, used], places[:, 0])
    assert np.isnan(scene.measured[:, used + 1]).all()
    assert np.isnan(scene.model_markers[:, used:]).all()
    assert scene.extent[1].max() < 3.0
    step = encode_scene(scene, with_skin=False)["step"]
    assert step == pytest.approx(2.5e-4)  # far ones would coarsen all


def test_at_most_forty_are_shown_those_that_are_seen_most(motion: Motion):
    others = make_others(60, len(motion))
    places = np.array(others.positions)
    places[1:, :15] = np.nan
    places[:, 15] = np.nan
    scene = compose_scene(
        motion, markers=make_markers(motion), others=Markers(places, others.names, 60.0)
    )
    shown = scene.marker_names[len(motion.skeleton.markers) :]
    assert len(shown) == 40 and "*15" not in shown and "*0" not in shown and "*16" in shown


def test_a_plate_is_shown_with_its_force_in_a_scene_and_in_a_still(motion: Motion):
    scene = compose_scene(
        motion, markers=make_markers(motion), others=make_others(2, len(motion)), first=15
    )
    (plate,) = scene.plates
    np.testing.assert_allclose(plate.corners, CORNERS)
    assert np.isnan(plate.feet[:10]).all() and np.isnan(plate.tips[:10]).all()
    np.testing.assert_allclose(plate.tips[10] - plate.feet[10], (0.0, 0.0, 0.7))  # 1 mm for 1 N
    data = encode_scene(scene, with_skin=False)
    assert np.allclose(data["plates"][0]["corners"], CORNERS)
    assert 'class="plate"' in render_still(scene) and 'class="force"' in render_still(scene)
    turned = compose_scene(make_others(2, len(motion)))
    assert len(turned.plates) == 1
    assert "plate" not in render_still(compose_scene(motion))
