"""Frames of rest at the ends of a motion: found, said, left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import exactik as ik
from exactik.lab.synthetic import simulate_performance
from exactik.model.motion import Motion
from exactik.retargeting import find_rest_ends, prepare_source
from tests.support.retargeting_figures import make_robot


@pytest.fixture(scope="module")
def walk() -> Motion:
    return simulate_performance(2.0, rate=30.0, acts=("walk",))


def put_frames(motion: Motion, first: int = 0, last: int = 0, pose: np.ndarray | None = None):
    """Return the motion with a pose before and after it, where its first and last frame are."""
    q = motion.skeleton.neutral() if pose is None else pose
    parts = [np.tile(q, (first, 1)), motion.q, np.tile(q, (last, 1))]
    return replace(motion, q=np.concatenate(parts))


def find(motion: Motion) -> tuple[int, int]:
    body, _, _ = prepare_source(motion, {}, None)
    rest = find_rest_ends(body)
    return rest.first, rest.last


def hold_arms_out(motion: Motion) -> np.ndarray:
    """Return a T-pose, which is not the pose of the human's zeros."""
    figure = motion.skeleton
    goals: list[ik.Goal] = [
        ik.DirectionGoal(f"{side}_{bone}", figure_axis(figure, f"{side}_{bone}"), (0.0, way, 0.0))
        for side, way in (("l", 1.0), ("r", -1.0))
        for bone in ("upper_arm", "forearm")
    ]
    goals.append(ik.PostureGoal(figure.neutral(), weight=1e-6))
    return ik.solve(figure, goals, limits="off").q


def figure_axis(figure: ik.Skeleton, bone: str) -> np.ndarray:
    """Return where a bone points to, in its own frame."""
    child = next(b for b in figure.bones if b.parent == bone)
    return np.array(child.offset) / np.linalg.norm(child.offset)


@pytest.mark.parametrize(("first", "last"), [(0, 0), (1, 0), (3, 0), (0, 1), (2, 5)])
@pytest.mark.parametrize("held_out", [False, True])
def test_rest_frames_are_counted(walk: Motion, first: int, last: int, held_out: bool):
    pose = hold_arms_out(walk) if held_out else None
    fast = replace(walk, rate=120.0)  # a body that leaves rest within 1/120 s
    assert find(put_frames(fast, first, last, pose)) == (first, last)


def test_a_body_that_begins_at_rest_is_no_fault(walk: Motion):
    """It leaves rest as bodies do: every frame is kept."""
    figure = walk.skeleton
    share = np.linspace(0.0, 1.0, 40)[:, None] ** 2
    step = figure.difference(walk.q[0], figure.neutral())
    begin = figure.integrate(np.tile(figure.neutral(), (40, 1)), share * step)
    slow = replace(walk, q=np.concatenate([begin, walk.q]), rate=120.0)
    assert find(slow) == (0, 0)


def test_a_motion_that_is_rest_throughout_is_kept(walk: Motion):
    still = replace(walk, q=np.tile(walk.skeleton.neutral(), (5, 1)))
    assert find(still) == (0, 0)
    assert find(replace(still, q=still.q[:1])) == (0, 0)


def test_rest_is_left_out_and_said(walk: Motion):
    fast = replace(put_frames(walk, 2, 1), rate=120.0)
    result = ik.retarget(fast, make_robot())
    assert len(result.motion) == len(walk) == len(result.source)
    assert result.motion.first_frame == result.source.first_frame == walk.first_frame + 2
    expected = "the first 2 frames and the last frame at rest, which the motion leaves at once"
    assert f"{expected}, left out" in result.notes
    kept = ik.retarget(fast, make_robot(), keep_rest_frames=True)
    assert len(kept.motion) == len(fast) and expected in kept.notes
    assert kept.needs_look and kept.fastest_hinge.share > 1.0
    assert kept.fastest_hinge.frame in (1, len(walk) + 1)
