"""Problems that verdicts were once wrong about, a family each, and a judge that shares no code.

Every family takes a random generator and returns a `Trial`; `find_falsehood` says what is wrong
with the verdict on it, by the second computation of `hinge_chains`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

import exactik as ik
from exactik.solvers import BFGS, CCD, GaussNewton, Method
from exactik.typing import Array
from tests.support.hinge_chains import HingeChain

__all__ = ["FAMILIES", "TOLERANCE", "Trial", "find_falsehood", "limit", "random_chain"]

Rng = np.random.Generator

TOLERANCE = 1e-3  # [m] of a marker by default
# How far a pose is pushed before it rolls [rad]: a minimum may be no wider than this, and what is
# left at a saddle must fall off it.
NUDGES, SADDLE_NUDGES = (1e-5, 1e-4), (1e-3, 3e-2)
FALL = 1e-6  # share of the cost: less is what a method leaves that stops at its tolerance


@dataclass(frozen=True, eq=False)
class Trial:
    """A problem, where to start, and how to solve it."""

    chain: HingeChain
    q0: Array
    solver: Method
    starts: int = 1

    def solve(self) -> ik.Result:
        """Let the library solve it."""
        return ik.solve(self.chain.problem, q0=self.q0, solver=self.solver, starts=self.starts)


def unit(rng: Rng) -> Array:
    """A direction."""
    vector = rng.normal(size=3)
    return vector / np.linalg.norm(vector)


def random_chain(rng: Rng, size: int) -> HingeChain:
    """Hinges about any axes, with links of 0.1 to 0.5 m and no limits."""
    offsets = np.array([rng.uniform(0.1, 0.5) * unit(rng) for _ in range(size)])
    chain = HingeChain(
        axes=np.array([unit(rng) for _ in range(size)]),
        offsets=offsets,
        tip=rng.uniform(0.1, 0.5) * unit(rng),
        target=np.zeros(3),
        lower=np.full(size, -np.inf),
        upper=np.full(size, np.inf),
    )
    return replace(chain, target=rng.uniform(0.1, 1.5) * unit(rng))


def limit(rng: Rng, chain: HingeChain) -> HingeChain:
    """The same with limits on most hinges."""
    middle, half = rng.uniform(-1.0, 1.0, chain.size), rng.uniform(0.1, 1.5, chain.size)
    free = rng.random(chain.size) < 0.2
    lower, upper = np.where(free, -np.inf, middle - half), np.where(free, np.inf, middle + half)
    return replace(chain, lower=lower, upper=upper)


def straight_chain(rng: Rng) -> HingeChain:
    """Two to five hinges across a line on which the target is; limits at the straight pose."""
    size = int(rng.integers(2, 6))
    axes = np.eye(3)[rng.integers(1, 3, size=size)]
    if rng.random() < 0.5:
        axes[:] = (0.0, 0.0, 1.0)
    offsets, lower, upper = np.zeros((size, 3)), np.full(size, -np.inf), np.full(size, np.inf)
    offsets[1:, 0] = rng.uniform(0.1, 0.5, size - 1)
    for k in range(size):
        kind, room = rng.random(), rng.uniform(0.3, 3.0)
        if kind < 0.45:
            lower[k], upper[k] = 0.0, room
        elif kind < 0.75:
            lower[k], upper[k] = -room, 0.0
        elif kind < 0.9:
            lower[k], upper[k] = -room, rng.uniform(0.3, 3.0)
    along = rng.uniform(-1.3, 1.3) * (offsets[:, 0].sum() + 0.3)
    return HingeChain(
        axes=axes,
        offsets=offsets,
        tip=np.array([0.3, 0.0, 0.0]),
        target=np.array([along, 0.0, 0.0]),
        lower=lower,
        upper=upper,
    )


def choose_method(rng: Rng) -> Method:
    """Mostly auto."""
    others = (ik.Newton(), ik.LevenbergMarquardt(), GaussNewton(), BFGS())
    return ik.Auto() if rng.random() < 0.5 else others[int(rng.integers(len(others)))]


# --- the families


def unmoved(rng: Rng) -> Trial:
    """No free hinge moves the tip: it is on the axes of all of them; the others are locked."""
    size = int(rng.integers(1, 5))
    chain, free = random_chain(rng, size), int(rng.integers(1, size + 1))
    q0, axes, offsets = rng.uniform(-2.0, 2.0, size), chain.axes.copy(), chain.offsets.copy()
    tip = rng.uniform(0.1, 0.5) * axes[-1]
    for k in range(size - 1, size - free, -1):  # joints one after the other on one line
        offsets[k], axes[k - 1] = rng.uniform(0.1, 0.5) * axes[k], axes[k]
    locked = tuple(k < size - free for k in range(size))
    return Trial(
        replace(chain, axes=axes, offsets=offsets, tip=tip, locked=locked), q0, choose_method(rng)
    )


def loose(rng: Rng) -> Trial:
    """Methods that stop early, on chains with and without limits."""
    chain = random_chain(rng, int(rng.integers(2, 7)))
    chain = limit(rng, chain) if rng.random() < 0.5 else chain
    if rng.random() < 0.3:
        chain = straight_chain(rng)
    how = 10.0 ** rng.uniform(-7, -4)
    methods = (
        ik.ProjectedGradient(tolerance=how),
        CCD(tolerance=how),
        ik.Auto(tolerance=how),
        ik.Newton(tolerance=how),
        ik.LevenbergMarquardt(tolerance=how),
        BFGS(tolerance=how),
    )
    q0 = np.clip(rng.uniform(-2.0, 2.0, chain.size), chain.lower, chain.upper)
    return Trial(chain, q0, methods[int(rng.integers(len(methods)))])


def touched(rng: Rng) -> Trial:
    """Straight, with limits touched but not pushed against."""
    chain = straight_chain(rng)
    return Trial(chain, np.zeros(chain.size), choose_method(rng))


def nearly_touched(rng: Rng) -> Trial:
    """The same 1e-15 to 1e-10 rad inside the limits."""
    chain = straight_chain(rng)
    inside = 10.0 ** rng.uniform(-15, -10, chain.size) * (rng.random(chain.size) < 0.7)
    q0 = np.where(chain.lower == 0.0, inside, np.where(chain.upper == 0.0, -inside, 0.0))
    return Trial(chain, q0, choose_method(rng))


def unfinished(rng: Rng) -> Trial:
    """Stopped after a few steps: the relative gradient has any size."""
    chain = limit(rng, random_chain(rng, int(rng.integers(1, 7))))
    if rng.random() < 0.5:  # nearly folded upon its root: the exact curvature almost vanishes
        chain = replace(chain, target=chain.target * 10.0 ** rng.uniform(-3, 3))
    steps = int(rng.integers(0, 4))
    methods = (
        ik.Auto(max_iterations=steps),
        ik.Newton(max_iterations=steps),
        ik.LevenbergMarquardt(max_iterations=steps),
        CCD(max_iterations=steps),
    )
    q0 = np.clip(rng.uniform(-2.0, 2.0, chain.size), chain.lower, chain.upper)
    return Trial(chain, q0, methods[int(rng.integers(len(methods)))])


def flat_weights(rng: Rng) -> Trial:
    """A weight matrix of rank one or two, in any axes."""
    chain, rank = random_chain(rng, int(rng.integers(2, 6))), int(rng.integers(1, 3))
    rows = np.array([rng.uniform(0.3, 3.0) * unit(rng) for _ in range(rank)])
    chain = limit(rng, chain) if rng.random() < 0.5 else chain
    q0 = np.clip(rng.uniform(-2.0, 2.0, chain.size), chain.lower, chain.upper)
    return Trial(replace(chain, weight=rows.T @ rows), q0, choose_method(rng))


def far(rng: Rng) -> Trial:
    """Targets of 1e4 to 1e12 m away."""
    chain = random_chain(rng, int(rng.integers(1, 6)))
    chain = limit(rng, chain) if rng.random() < 0.5 else chain
    q0 = np.clip(rng.uniform(-2.0, 2.0, chain.size), chain.lower, chain.upper)
    target = 10.0 ** rng.uniform(4, 12) * unit(rng)
    return Trial(replace(chain, target=target), q0, choose_method(rng))


def limited(rng: Rng) -> Trial:
    """Limits in the way, from one start or several."""
    chain = limit(rng, random_chain(rng, int(rng.integers(2, 7))))
    q0 = np.clip(rng.uniform(-2.0, 2.0, chain.size), chain.lower, chain.upper)
    return Trial(chain, q0, choose_method(rng), starts=int(rng.choice([1, 1, 4])))


FAMILIES: dict[str, Callable[[Rng], Trial]] = {
    "unmoved": unmoved,
    "loose": loose,
    "touched": touched,
    "nearly touched": nearly_touched,
    "unfinished": unfinished,
    "flat weights": flat_weights,
    "far": far,
    "limited": limited,
}


# --- the judge


def measure_miss(chain: HingeChain, q: Array) -> float:
    """How far [m] the tip is from its target in the directions that have weight."""
    r = (chain.target.astype(np.longdouble) - chain.place(q)[0]).astype(float)
    values, vectors = np.linalg.eigh(chain.weight)
    return float(np.linalg.norm(vectors[:, values > 1e-9 * values[-1]].T @ r))


def find_falsehood(trial: Trial, result: ik.Result, rng: Rng) -> str:
    """What is wrong with a verdict, in words; nothing if all that it says is true."""
    chain, q, status, why = trial.chain, result.q, result.status, result.why
    if (q < chain.lower).any() or (q > chain.upper).any():
        return "outside its limits"
    for slope in (result.projected_gradient, result.certificate.projected_gradient):
        if not 0.0 <= slope <= 1.0:
            return f"a relative gradient of {slope}"
    miss, cost = measure_miss(chain, q), float(chain.cost(q))
    told = next(iter(result.goal_errors.values()))
    if abs(miss - told) > 1e-9 + 1e-9 * miss:
        return f"the tip is {miss} m away, not {told}"
    if (miss <= TOLERANCE) != (status == "reached"):
        return f"the tip is {miss} m away"
    if status == "reached":
        return ""
    if status == "out-of-reach":
        named = re.match(r"out of reach: TIP is (\S+) m", why)
        assert named is not None, why
        best = np.sqrt(2.0 * chain.search(q, rng, 3) / chain.weight[0, 0])
        return "" if best >= 0.995 * float(named[1]) else f"it gets as near as {best} m"
    if not result.converged:
        return "" if status in ("stalled", "iteration-limit") else "it is not converged"
    if status == "stationary":
        return ""
    least = chain.roll_from_nearby(q, rng, SADDLE_NUDGES if status == "saddle" else NUDGES)
    falls = least < (1.0 - FALL) * cost - gain_by_gradient(chain, q)
    if falls != (status == "saddle"):
        return f"the cost {cost:.6g} {'falls to' if falls else 'does not fall below'} {least:.6g}"
    if status == "saddle":
        return "" if falls_along_descent(trial, result) else "it does not fall along descent"
    if "because no dof is free" in why:
        return ""
    searched = re.search(r"nothing better was found in (\d+) descents", why)
    if (searched is None) == (trial.starts > 1) or ("not excluded" not in why and searched is None):
        return "it does not say what was searched"
    if status == "at-limits":
        g = chain.gradient(q)
        named = re.findall(r"b(\d)\.\w+ is at its (lower|upper) limit", why)
        assert len(named) > 0, why
        for k, side in named:
            end, sign = (chain.lower, 1) if side == "lower" else (chain.upper, -1)
            if q[int(k)] != end[int(k)] or sign * g[int(k)] <= 0.0:
                return f"b{k} is not pushed against its {side} limit"
    return ""


def gain_by_gradient(chain: HingeChain, q: Array) -> float:
    """What the rest of the way to the stationary point may gain, where a method stopped early."""
    g = chain.gradient(q).astype(float)
    own = ((q <= chain.lower) & (g > 0.0)) | ((q >= chain.upper) & (g < 0.0))
    moving = ~own & np.isin(np.arange(chain.size), chain.free)
    g = g[moving]
    values, vectors = np.linalg.eigh(chain.hessian(q)[np.ix_(moving, moving)])
    if len(values) == 0:
        return 0.0
    stiffness = np.maximum(np.abs(values), 1e-6 * np.abs(values).max()) + 1e-300
    return 2.0 * float(((vectors.T @ g) ** 2 / stiffness).sum())


def falls_along_descent(trial: Trial, result: ik.Result) -> bool:
    """Whether the cost falls along the certificate's direction without leaving the limits."""
    chain, way = trial.chain, result.certificate.descent
    assert way is not None
    for length in (1e-4, 1e-3, 1e-2, 0.1):
        q = result.q + length * way
        inside = np.clip(q, chain.lower, chain.upper)
        if np.abs(q - inside).max() <= 1e-8 and chain.cost(inside) < chain.cost(result.q):
            return True
    return False
