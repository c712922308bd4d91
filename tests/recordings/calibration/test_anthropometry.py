"""Lengths of a figure are told from those of adults, whatever its size."""

from __future__ import annotations

import json

import numpy as np
import pytest

import exactik as ik
from exactik.recordings.calibration import compare_with_anthropometry
from exactik.recordings.calibration.fitting import make_scaled_skeleton


def grow(**scales: float) -> ik.Skeleton:
    """Return our human with bones, both sides of them, multiplied."""
    figure = make_scaled_skeleton(ik.human(), (), "symmetric")
    theta = np.zeros(figure.parameter_count)
    for g, group in enumerate(figure.scale_groups):
        theta[g] = np.log(scales.get("all", 1.0) * scales.get(group[0], 1.0))
    return figure.build(theta)


@pytest.mark.parametrize("size", [0.85, 1.0, 1.15])
def test_our_human_has_the_proportions_of_adults_at_any_size(size: float):
    found = compare_with_anthropometry(grow(all=size))
    assert found.stature == pytest.approx(1.75 * size, rel=0.02)
    assert found.worst is not None and abs(found.worst.z) < 1.5
    assert len(found.segments) == 13


@pytest.mark.parametrize(
    ("bone", "name", "factor"),
    [
        ("l_thigh", "left thigh", 0.8),
        ("l_shin", "left shin", 1.2),
        ("l_upper_arm", "left upper arm", 1.4),
        ("l_forearm", "left forearm", 1.6),
        ("l_hand", "left hand", 0.7),
        ("lower_back", "trunk", 1.5),
        ("l_clavicle", "shoulders", 1.35),
        ("pelvis", "hips", 1.4),
    ],
)
def test_a_bone_that_no_adult_has_stands_out(bone: str, name: str, factor: float):
    found = compare_with_anthropometry(grow(**{bone: factor}))
    assert found.worst is not None
    z = {segment.name: segment.z for segment in found.segments}
    assert abs(z[name]) == max(map(abs, z.values()))
    assert abs(z[name]) > 3.5 and np.sign(z[name]) == np.sign(factor - 1.0)
    assert found.stature == pytest.approx(1.75, rel=0.03)  # one bone does not make a giant
    segment = next(s for s in found.segments if s.name == name)
    assert segment.share == pytest.approx(segment.length / found.stature)
    assert segment.expected * np.exp(segment.z * segment.sd) == pytest.approx(segment.share)


def test_only_figures_with_these_bones_are_compared():
    found = compare_with_anthropometry(ik.quadruped())
    assert found.segments == () and found.worst is None and np.isnan(found.stature)
    json.dumps(compare_with_anthropometry(ik.human()).to_dict(), allow_nan=False)
    json.dumps(found.to_dict(), allow_nan=False)
    assert "left thigh" in str(compare_with_anthropometry(ik.human()))
