"""Markers are put on a skeleton from a take that has both."""

from __future__ import annotations

import numpy as np
import pytest

import exactik as ik
from exactik.errors import UnknownNameError
from exactik.recordings.calibration import attach_markers
from tests.support.subjects import make_smooth_motion

BONES = {name: bone for name, (bone, _) in ik.human().markers.items()}


def make_take(frames: int = 50, noise: float = 0.0) -> tuple[ik.Motion, ik.Markers]:
    rng = np.random.default_rng(0)
    q = make_smooth_motion(ik.human(), frames, rng)
    places = ik.human().forward(q).markers
    places = places + rng.normal(0.0, noise, places.shape)
    names = tuple(f"Someone:{name}" for name in ik.human().markers)
    return ik.Motion(ik.human(), q, 120.0), ik.Markers(places, names, 120.0)


def test_places_are_those_of_the_take():
    motion, markers = make_take()
    bare = ik.human().with_markers({})
    marked = attach_markers(bare, markers, motion, BONES)
    assert list(marked.markers) == list(BONES)
    for name, (bone, point) in marked.markers.items():
        assert bone == BONES[name]
        assert np.allclose(point, ik.human().markers[name][1], atol=1e-12)


def test_noise_is_averaged_and_gaps_are_left_out():
    motion, markers = make_take(400, noise=5e-3)
    places, q = markers.positions.copy(), motion.q.copy()
    places[:100, 3] = np.nan
    q[200:210] = np.nan
    markers = ik.Markers(places, markers.names, 120.0)
    motion = ik.Motion(motion.skeleton, q, 120.0)
    marked = attach_markers(ik.human().with_markers({}), markers, motion, BONES)
    for name, (_, point) in marked.markers.items():
        assert np.linalg.norm(np.subtract(point, ik.human().markers[name][1])) < 2e-3


def test_without_bones_the_skeletons_own_markers_are_moved():
    motion, markers = make_take()
    off = {name: (bone, np.add(point, 0.02)) for name, (bone, point) in ik.human().markers.items()}
    marked = attach_markers(ik.human().with_markers(off), markers, motion)
    assert np.allclose(marked.markers["LKNE"][1], ik.human().markers["LKNE"][1])
    one = attach_markers(ik.human().with_markers(off), markers, motion, {"LKNE": "l_thigh"})
    assert np.allclose(one.markers["LKNE"][1], ik.human().markers["LKNE"][1])
    assert np.allclose(one.markers["RKNE"][1], off["RKNE"][1])  # not asked for: kept


def test_misuse_is_refused():
    motion, markers = make_take()
    bare = ik.human().with_markers({})
    with pytest.raises(ik.UsageError, match="50 frames and the motion 40"):
        attach_markers(bare, markers, ik.Motion(bare, motion.q[:40], 120.0), BONES)
    with pytest.raises(ik.UsageError, match="120 frames a second and the motion 60"):
        attach_markers(bare, markers, ik.Motion(bare, motion.q, 60.0), BONES)
    with pytest.raises(UnknownNameError, match="no bone named 'hed'"):
        attach_markers(bare, markers, motion, {"LFHD": "hed"})
    with pytest.raises(UnknownNameError, match="no marker named 'LHEAD'"):
        attach_markers(bare, markers, motion, {"LHEAD": "head"})
    with pytest.raises(ik.UsageError, match="not in the same axes"):
        attach_markers(bare, markers.turned("YZX"), motion, BONES)
    with pytest.raises(ik.UsageError, match="say which bone"):
        attach_markers(bare, markers, motion)
    gone = ik.Markers(np.full_like(markers.positions, np.nan), markers.names, 120.0)
    with pytest.raises(ik.UsageError, match="is in no frame"):
        attach_markers(bare, gone, motion, BONES)
    other = ik.human().reroot("head")
    with pytest.raises(ik.UsageError, match="whose bones differ"):
        attach_markers(other, markers, motion, BONES)
