"""A synthetic motion: a person walks, punches, kicks, squats, jumps; and reaches for goals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exactik.errors import UnknownNameError, UsageError
from exactik.goals import AimGoal, Goal, PoseGoal, PositionGoal, PostureGoal
from exactik.lab.synthetic._acts import ACTS
from exactik.lab.synthetic._coordinates import compute_coordinates
from exactik.lab.synthetic._timeline import Timeline
from exactik.model import Skeleton, human
from exactik.model.motion import Motion
from exactik.problem import Problem
from exactik.solvers import Result, solve
from exactik.typing import Array

# Slow sway of some channels, as nobody stands quite still: largest deviation [° or m].
_SWAY_AMPLITUDES = {
    "trunk.bend": 0.6,
    "trunk.lean": 0.5,
    "trunk.twist": 1.0,
    "pelvis.sway": 0.005,
    "head.nod": 1.5,
    "head.tilt": 1.0,
    "head.turn": 3.0,
    "l_arm.rx": 1.0,
    "r_arm.rx": 1.0,
    "l_arm.elbow": 1.5,
    "r_arm.elbow": 1.5,
}


def simulate_performance(
    seconds: float = 20.0,
    rate: float = 120.0,
    seed: int = 0,
    *,
    acts: Sequence[str] = ("walk", "punch", "kick", "squat", "jack"),
) -> Motion:
    """Return a person's performance: `exactik.human()` doing some acts.

    Made in closed form, without a solver. Accelerations are continuous, all dofs keep their limits,
    and feet on the floor z = 0 stay where they are. One round of the default acts takes 20 s.

    Args:
        seconds: how long, at least 2 [s]. A longer one goes on with the next round, mirrored and
            varied; a shorter one is cut.
        rate: frames a second, at least 10 [Hz].
        seed: of the small variations; the same seed makes the same motion.
        acts: what to do, in this order and then again: any of "walk", "punch", "kick", "squat",
            "jack" (three jumping jacks) and "wave".

    Returns:
        Coordinates [rad or m] of `round(seconds · rate) + 1` frames; x forward, y left, z up. Its
        `metadata["acts"]` has a (name, start, end) for each act [s].
    """
    if not 2.0 <= seconds < np.inf:
        raise UsageError(f"seconds is {seconds!r}; a performance takes at least 2 s")
    if not 10.0 <= rate < np.inf:
        raise UsageError(f"rate is {rate!r}; expected at least 10 frames a second")
    if isinstance(acts, str) or len(acts) == 0:
        raise UsageError(f"acts is {acts!r}; expected one or more names, such as ('walk', 'kick')")
    for name in acts:
        if name not in ACTS:
            raise UnknownNameError("act", name, ACTS)
    timeline, played = _build_timeline(seconds, seed, acts)
    times = np.arange(round(seconds * rate) + 1) / rate
    channels = timeline.evaluate(times)
    for name, size in _SWAY_AMPLITUDES.items():
        channels[name] = channels[name] + size * _make_slow_noise(timeline.random, times)
    figure = human()
    # Only rounding is clipped: the keys lie well within the limits.
    q = figure.clip(compute_coordinates(channels))
    return Motion(figure, q, rate, up_axis="z", metadata={"acts": played})


def _build_timeline(
    seconds: float, seed: int, acts: Sequence[str]
) -> tuple[Timeline, tuple[tuple[str, float, float], ...]]:
    """Return a timeline of at least so many seconds, and its acts: name, start, end [s]."""
    timeline = Timeline(seed)
    timeline.add_rest(0.0)
    now, done, played = 0.0, 0, []
    while now < seconds:
        name = acts[done % len(acts)]
        times = done // len(acts)
        timeline.mirrored = times % 2 == 1
        ACTS[name].add_to(timeline, now, times)
        end = round(now + ACTS[name].seconds, 6)
        played.append((name, now, min(end, seconds)))
        now, done = end, done + 1
        timeline.add_rest(now)
    return timeline, tuple(played)


def _make_slow_noise(random: np.random.Generator, times: Array) -> Array:
    """Return a smooth random curve within ±1, (T,): three sines of 0.1 to 0.5 Hz."""
    rates, phases = random.uniform(0.1, 0.5, 3), random.uniform(0.0, 2.0 * np.pi, 3)
    return np.sin(2.0 * np.pi * times[:, None] * rates + phases) @ np.array([0.5, 0.3, 0.2])


def make_reach_goals(figure: Skeleton) -> list[Goal]:
    """Return the goals: feet planted, one hand at a cup, one at a high shelf, eyes on the cup."""
    rest = figure.neutral()
    pose = figure.forward(rest)
    goals: list[Goal] = []
    for foot, side in (("l_foot", "left"), ("r_foot", "right")):
        k = figure.bone_index(foot)
        planted = np.eye(4)
        planted[:3, :3], planted[:3, 3] = pose.rotations[k], pose.positions[k]
        goals.append(PoseGoal(foot, planted, name=f"{side} foot planted"))
    cup, shelf = np.array([0.40, -0.25, 1.05]), np.array([0.30, 0.35, 1.65])
    goals.append(PositionGoal("r_hand", cup, name="right hand at the cup"))
    goals.append(PositionGoal("l_hand", shelf, name="left hand at the shelf"))
    goals.append(AimGoal("head", (1.0, 0.0, 0.0), cup, weight=0.2, name="eyes on the cup"))
    trunk = ("pelvis", "lower_back", "upper_back", "thorax")
    weight = [1e-3 if dof.split(".")[0] in trunk else 1e-4 for dof in figure.dof_names]
    goals.append(PostureGoal(rest, weight=weight, name="stay relaxed"))
    return goals


def solve_reach() -> Result:
    """Solve the demo's problem from the rest pose; with a history."""
    figure = human()
    problem = Problem(figure, make_reach_goals(figure))
    solve(problem, history=True)  # compile, or load what was compiled before
    return solve(problem, history=True)
