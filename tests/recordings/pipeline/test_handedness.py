"""Mirror images and exchanged sides, seen before any fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import exactik as ik
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.recordings.pipeline import measure_handedness, solve_recording

FIGURE = ik.human()
NAMES = {name: name for name in FIGURE.markers}


@pytest.fixture(scope="module")
def walk() -> ik.Markers:
    motion = simulate_performance(3.0, 20.0)
    return simulate_recording(motion, noise=0.001, gaps=0.02, swap=False).markers


def exchange_sides(markers: ik.Markers) -> ik.Markers:
    opposite = str.maketrans("LR", "RL")
    swapped = {name: name[0].translate(opposite) + name[1:] for name in markers.names}
    return markers.renamed({n: m for n, m in swapped.items() if n != m and m in markers.names})


def test_a_person_has_the_handedness_of_the_figure_and_a_mirror_image_the_other(walk: ik.Markers):
    true = measure_handedness(walk, FIGURE, NAMES)
    assert true is not None and true > 0.6
    mirrored = replace(walk, positions=walk.positions[..., [1, 0, 2]])
    assert measure_handedness(mirrored, FIGURE, NAMES) == pytest.approx(-true)
    exchanged = measure_handedness(exchange_sides(walk), FIGURE, NAMES)
    assert exchanged is not None and exchanged < -0.6
    turned = measure_handedness(walk.turned("YZX"), FIGURE, NAMES)
    assert turned == pytest.approx(true)


def test_shuffled_names_have_none(walk: ik.Markers):
    order = np.random.default_rng(0).permutation(walk.names).tolist()
    shuffled = walk.renamed(dict(zip(order, [*order[1:], order[0]], strict=True)))
    value = measure_handedness(shuffled, FIGURE, NAMES)
    assert value is not None and abs(value) < 0.2


def test_markers_in_a_plane_do_not_tell(walk: ik.Markers):
    assert measure_handedness(walk.chosen(["LFHD", "RFHD", "LBHD"]), FIGURE, NAMES) is None
    flat = {name: (bone, (p[0], p[1], 0.0)) for name, (bone, p) in FIGURE.markers.items()}
    head = FIGURE.with_markers({n: flat[n] for n in ("LFHD", "RFHD", "LBHD", "RBHD")})
    assert measure_handedness(walk.chosen(list(head.markers)), head, NAMES) is None


def test_who_walks_forwards_heads_forwards_and_backwards_in_time_backwards(walk: ik.Markers):
    (one,) = solve_recording(walk, FIGURE, fit=False)
    assert "backwards" not in [reason.code for reason in one.verdict.reasons]
    back = replace(walk, positions=walk.positions[::-1])
    (other,) = solve_recording(back, FIGURE, fit=False)
    (reason,) = [reason for reason in other.verdict.reasons if reason.code == "backwards"]
    assert reason.value < -0.7
