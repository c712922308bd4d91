"""Closed loops in recordings: hands on a bar stay on it, and the pose is the better for it."""

from __future__ import annotations

import numpy as np
import pytest

import exactik as ik
from exactik.lab.synthetic import simulate_performance
from exactik.model.shapes import Capsule, HalfSpace
from exactik.typing import Array

BAR = ik.Loop("l_hand", "r_hand", kind="distance", distance=0.45, name="bar")
NOISE = 0.004  # m


@pytest.fixture(scope="module")
def truth() -> ik.Motion:
    """A performance of half a second with both hands on a bar."""
    motion = simulate_performance(3.0, 60.0, seed=5)
    figure, q = motion.skeleton.with_loops(BAR), motion.q[60:90]
    names = ("l_foot", "r_foot", "head")
    problem = ik.Problem(figure, [ik.PositionGoal(n, np.zeros(3), name=n) for n in names])
    pose = figure.forward(q)
    places = {n: pose.positions[:, figure.bone_index(n)] for n in names}
    closed = ik.solve_batch(problem, places, q0=q)
    assert set(closed.status) == {"reached"}
    return ik.Motion(figure, closed.q, 60.0)


def measure_jerk(places: Array) -> float:
    return float(np.abs(np.diff(places, 3, axis=0)).mean())


def test_hands_stay_on_the_bar_that_they_hold(truth: ik.Motion) -> None:
    figure, rng = truth.skeleton, np.random.default_rng(2)
    exact = truth.forward().markers
    seen = exact + rng.normal(scale=NOISE, size=exact.shape)
    seen[10:14, :3] = np.nan
    markers = ik.Markers(positions=seen, names=tuple(figure.markers), rate=60.0)
    reports: list[int] = []
    held = ik.track(figure, markers, progress=lambda done, _: reports.append(done))
    free = ik.track(figure.opened, markers)
    gaps = BAR.measure_gap(held.motion.forward())
    assert gaps.max() <= 1e-8 < BAR.measure_gap(free.motion.forward()).max()
    assert (held.motion.q >= figure.lower).all() and (held.motion.q <= figure.upper).all()
    errors = [
        np.linalg.norm(track.motion.forward().markers - exact, axis=2).mean()
        for track in (held, free)
    ]
    assert errors[0] < 1.01 * errors[1] < NOISE
    jerks = [measure_jerk(track.motion.forward().markers) for track in (held, free)]
    assert jerks[0] < 1.2 * jerks[1]
    assert reports == sorted(reports) and reports[-1] == len(seen)
    (found,) = (f for f in held.findings if f.kind == "closure-gap")
    assert found.severity == "good" and found.names == ("l_hand", "r_hand")
    again = ik.track(figure, markers, threads=3)
    assert (again.motion.q == held.motion.q).all()


def test_bodies_are_kept_apart(truth: ik.Motion) -> None:
    """A wall where the left hand went: it stays outside, and the rest is as it was."""
    figure, exact = truth.skeleton.opened, truth.forward().markers[:8]
    hand = truth.forward().positions[:8, figure.bone_index("l_hand")]
    normal = np.array([0.0, -1.0, 0.0])
    through = hand.mean(axis=0) + 0.02 * normal
    wall = HalfSpace(None, normal, through)
    apart = ik.Collisions(figure, pairs=[("l_hand", "l_thigh")], obstacles=[wall], margin=0.01)
    markers = ik.Markers(positions=exact, names=tuple(figure.markers), rate=60.0)
    kept, free = (ik.track(figure, markers, smooth=None, collisions=c) for c in (apart, None))
    (shape,) = [s for s in figure.shapes.shapes if s.bone == "l_hand" and isinstance(s, Capsule)]
    least = []
    for track in (kept, free):
        pose = track.motion.forward()
        ends = np.stack([pose.point("l_hand", end) for end in shape.ends])
        least.append(float(((ends - through) @ normal).min() - shape.radius))
    assert least[1] < -0.05 and least[0] > 0.0, least
    far = [list(figure.markers).index(name) for name in ("RFHD", "RFIN", "RWRA")]
    assert kept.marker_errors[:, far].max() < 0.01
    with pytest.raises(ik.ExactikError, match="beside collisions"):
        ik.track(figure, markers, collisions=apart, max_speed=9.0)
