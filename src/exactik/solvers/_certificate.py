"""What is true of a place, however it was found: gradient and curvature on the free dofs.

A minimum is told from a saddle on the critical cone: dofs on a limit that the goals push against
stay, dofs on a limit without push may leave it but not pass it, all others go both ways. What
counts as flat grows with the gradient that is left, because curvature that changes on the rest of
the way proves nothing; so before a saddle is claimed, Newton's method goes that way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from exactik.kernels.descent.saddles import NEAR_LIMIT
from exactik.kernels.goals.terms import BOX, DISTANCE, LEVEL, POSITION, SEGMENTS
from exactik.kernels.tree.packed import NONE
from exactik.problem import Problem
from exactik.solvers._critical_cone import ConeAnswer, find_descent_in_cone
from exactik.solvers._view import Iterate, View
from exactik.typing import Array, BoolArray, IntArray

CONVERGED_GRADIENT = 1e-8
"""Relative projected gradient that counts as none, whatever tolerance a method aimed at."""
FLAT_EIGENVALUE = 1e-8  # of the largest curvature: one within this of zero does not count as rank
ROUNDED_CURVATURE = 1e-11  # share of weight · lever² that may be rounding
FLAT_COST = 1e-9  # share of the cost that a turn of 1 rad or a shift of 1 m must take away
FLAT_PER_GRADIENT = 10.0  # growth of what is flat with the relative gradient that is left
PUSH_ROUNDING = 1e-9  # relative gradient below which a limit is touched but not pushed against
# Newton's way to the stationary point itself: it must be short and lead there.
POLISH_STEPS = 8
MAX_POLISH = 0.05  # [rad or m] largest change of a dof
POLISHED_GRADIENT = 1e-9  # relative gradient at which curvature can be trusted
POLISH_RANK = 1e-7  # eigenvalues below this share of the largest are not divided by


@dataclass(frozen=True, eq=False)
class Certificate:
    """Proof that a result is a minimum, a saddle or neither.

    Reduced means: on the dofs that are neither locked nor held by a limit that the goals push
    against.

    Attributes:
        projected_gradient: largest |gradient| of a reduced dof, relative: over √(2 cost · curvature
            of the dof), which makes it the cosine of the angle between the residual and the effect
            of the dof; 0 at a stationary point, never above 1.
        min_eigenvalue: smallest eigenvalue of the reduced exact Hessian; negative at a saddle.
        max_eigenvalue: the largest.
        rank: number of its eigenvalues that are not zero (relative to 1e-8 of the largest).
        size: number of reduced dofs; those beyond the rank are undetermined.
        descent: direction of negative curvature that the limits leave open, unit vector (nv,), or
            None.
        decided: False where neither a way down was found nor its absence is proven: the place is
            too far from a stationary point, or too many dofs touch limits without push.
    """

    projected_gradient: float
    min_eigenvalue: float
    max_eigenvalue: float
    rank: int
    size: int
    descent: Array | None
    decided: bool

    @property
    def saddle(self) -> bool:
        """Whether the cost falls along a direction of negative curvature."""
        return self.descent is not None


class _Cone(NamedTuple):
    """The critical cone of a place: its dofs, (n,), and which way each may go (0 for both)."""

    dofs: IntArray
    sides: IntArray


def find_active_dofs(problem: Problem, iterate: Iterate) -> BoolArray:
    """Return the dofs that are locked, or pushed against a limit by more than rounding, (nv,).

    Where a method stopped early, what is left of the gradient elsewhere is noise, too.
    """
    largest = float(iterate.scale.max(initial=0.0))
    scale = np.maximum(iterate.scale, PUSH_ROUNDING * largest)
    noise = max(PUSH_ROUNDING, 10.0 * iterate.projected_gradient) * scale
    return problem.locked | (iterate.active & (np.abs(iterate.gradient) > noise))


def compute_flat_curvature(problem: Problem, iterate: Iterate, slope: float = 0.0) -> float:
    """Return the curvature [cost per rad² or m²] below which there is none.

    Args:
        problem: what is asked.
        iterate: where.
        slope: relative gradient that is left there: on the way to where it vanishes curvature may
            change by as much, so that less proves nothing of that place.
    """
    lever, weight = problem.remember("lever and weight", lambda: measure_levers(problem))
    scale = weight * lever**2 + np.sqrt(2.0 * max(iterate.cost, 0.0) * weight) * lever
    share = max(ROUNDED_CURVATURE, FLAT_PER_GRADIENT * slope)
    return max(share * float(scale), FLAT_COST * iterate.cost, 1e-300)


def make_certificate(problem: Problem, q: Array) -> Certificate:
    """Return the certificate of a configuration inside the limits, (nq,)."""
    view = View(problem)
    iterate = view.at(q)
    cone = _find_cone(view, iterate)
    size = len(cone.dofs)
    if size == 0:
        return Certificate(
            projected_gradient=iterate.projected_gradient,
            min_eigenvalue=0.0,
            max_eigenvalue=0.0,
            rank=0,
            size=0,
            descent=None,
            decided=True,
        )
    H = problem.hessian(q)[np.ix_(cone.dofs, cone.dofs)]
    values = np.linalg.eigvalsh(H)
    largest = float(np.abs(values).max())
    rank = int((np.abs(values) > FLAT_EIGENVALUE * largest).sum()) if largest > 0.0 else 0
    flat = compute_flat_curvature(problem, iterate)
    answer = ConeAnswer(None, decided=True)
    if values[0] < -flat:
        answer = _examine_cone(view, iterate)
    return Certificate(
        projected_gradient=iterate.projected_gradient,
        min_eigenvalue=float(values[0]),
        max_eigenvalue=float(values[-1]),
        rank=rank,
        size=size,
        descent=answer.direction,
        decided=answer.decided,
    )


def measure_levers(problem: Problem) -> tuple[float, float]:
    """Return the longest lever [m] between a joint and a goal, and the largest weight.

    One radian or metre where goals are angles or dofs are shifts.
    """
    skeleton, packed = problem.skeleton, problem.packed
    reach = np.zeros(len(skeleton.bones))
    places = skeleton.forward(skeleton.neutral()).positions
    for k, bone in enumerate(skeleton.bones):
        parent = int(skeleton.parents[k])
        length = float(np.linalg.norm(bone.offset))
        if len(bone.joint.driven_axes[1]) > 0 and parent >= 0:  # lengths may be in its functions
            length = max(length, float(np.linalg.norm(places[k] - places[parent])))
        reach[k] = length + (reach[parent] if parent >= 0 else 0.0)
    terms = packed.arrays.terms
    members = packed.arrays.centroids
    points = [
        *zip(terms.frame, terms.point, strict=True),
        *zip(members.frame, members.point, strict=True),
    ]
    ends = [
        reach[int(frame) - 1] + float(np.linalg.norm(point))
        for frame, point in points
        if frame != NONE
    ]
    ends += [
        reach[int(terms.other[m]) - 1] + float(np.linalg.norm(terms.target[m]))
        for m in packed.arrays.pair_terms
        if terms.other[m] not in (0, NONE)
    ]
    only_places = bool(np.isin(terms.kind, (POSITION, DISTANCE, LEVEL, SEGMENTS, BOX)).all())
    only_places &= len(packed.custom) == 0
    only_places &= 3 * len(terms.kind) == packed.size and bool(skeleton.turns.all())
    weight = max(float(np.abs(block).max(initial=0.0)) for block in packed.weights)
    return max([*ends, 0.0 if only_places else 1.0]), weight


def _find_sides(view: View, q: Array) -> tuple[BoolArray, BoolArray]:
    """Return which dofs cannot go down and which cannot go up, both (nv,)."""
    low, high = view.room(q)
    near = NEAR_LIMIT * np.minimum(high - low, 1.0)
    return low >= -near, high <= near


def _find_cone(view: View, iterate: Iterate) -> _Cone:
    at_lower, at_upper = _find_sides(view, iterate.q)
    shut = at_lower & at_upper
    dofs = np.flatnonzero(~find_active_dofs(view.problem, iterate) & ~shut)
    sides = at_lower.astype(np.int64) - at_upper.astype(np.int64)
    return _Cone(dofs=dofs, sides=sides[dofs])


def _examine_cone(view: View, iterate: Iterate) -> ConeAnswer:
    """Look for a way down in the critical cone of the stationary point that a place is near."""
    problem, start = view.problem, iterate
    iterate = find_stationary_point(view, iterate)
    moved = float(np.abs(view.moved(iterate.q, start.q)).max(initial=0.0))
    if iterate.projected_gradient > POLISHED_GRADIENT or moved > MAX_POLISH:
        return ConeAnswer(None, decided=False)
    cone = _find_cone(view, iterate)
    flat = compute_flat_curvature(problem, iterate, iterate.projected_gradient)
    H = problem.hessian(iterate.q)[np.ix_(cone.dofs, cone.dofs)]
    answer = find_descent_in_cone(H, cone.sides, flat)
    if answer.direction is None:
        return answer
    direction = np.zeros(view.nv)
    direction[cone.dofs] = answer.direction
    one_way = (np.abs(answer.direction) > 0.0) & (cone.sides != 0)
    if not one_way.any() and float(start.gradient @ direction) > 0.0:
        direction = -direction
    return ConeAnswer(direction, decided=True)


def find_stationary_point(view: View, iterate: Iterate) -> Iterate:
    """Return the stationary point next to a place, by Newton's method on its two-sided dofs."""
    problem = view.problem
    for _ in range(POLISH_STEPS):
        cone = _find_cone(view, iterate)
        free = cone.dofs[cone.sides == 0]
        if len(free) == 0 or iterate.projected_gradient == 0.0:
            break
        values, vectors = np.linalg.eigh(problem.hessian(iterate.q)[np.ix_(free, free)])
        use = np.abs(values) > POLISH_RANK * np.abs(values).max()
        step = np.zeros(view.nv)
        slopes = vectors.T @ iterate.gradient[free]
        step[free] = -vectors[:, use] @ (slopes[use] / values[use])
        following = view.at(view.move(iterate.q, step))
        halved = following.projected_gradient < 0.5 * iterate.projected_gradient
        if not halved or np.abs(step).max() > MAX_POLISH:
            break
        iterate = following
    return iterate
