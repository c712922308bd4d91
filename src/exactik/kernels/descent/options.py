"""The options of a descent: one array, whose slots a method sets and the kernels read.

RULE                 how steps are made and accepted, one of the rules below
CURVATURE            GAUSS_NEWTON or EXACT of `sums`, or HYBRID
GRADIENT_TOLERANCE   relative projected gradient at which a descent has converged
NEGLIGIBLE_COST      cost at which nothing is left to gain
MAX_ITERATIONS       accepted steps
INITIAL_DAMPING      μ, relative to the curvature of each dof
INITIAL_TRUST_RADIUS, INITIAL_STEP_LENGTH   of the rules that have one
MAX_STEP_ENTRY       [rad or m] largest change of a dof in a gradient step
ESCAPE_SADDLES       1: leave saddles along a direction of negative curvature
TRY_DETOUR           1: where limits stop a descent short, try once more without them (`starts`)
LAYOUT               of the Hessian, see `calculus.evaluate`: WHOLE_ROWS, factored as LᵀDL, or
                     JOINT_BLOCKS, for the articulated recursion
METRIC               D of the rule DAMPED: CURVATURE_OF_DOF, each dof by its own curvature, or
                     CURVATURE_OF_KIND, all turns alike and all shifts alike
"""

from __future__ import annotations

RULE, CURVATURE, GRADIENT_TOLERANCE, NEGLIGIBLE_COST, MAX_ITERATIONS = range(5)
INITIAL_DAMPING, INITIAL_TRUST_RADIUS, INITIAL_STEP_LENGTH, MAX_STEP_ENTRY = range(5, 9)
ESCAPE_SADDLES, TRY_DETOUR, LAYOUT, METRIC, OPTIONS_SIZE = range(9, 14)

DAMPED, FLETCHER, TRUST_REGION, LINE_SEARCH, GRADIENT_DESCENT, COORDINATE_DESCENT = range(6)
"""Values of RULE, see `descend`."""

HYBRID = 4
"""A value of CURVATURE, beside GAUSS_NEWTON and EXACT of `sums`: see `descend`."""

CURVATURE_OF_DOF, CURVATURE_OF_KIND = range(2)
"""Values of METRIC. Curvatures of a figure differ by four powers of ten, from fingers to root.
Damping by each dof's own makes the step insensitive to that, which is best near a solution; far
from it, where the exact Hessian is indefinite and damping large, it holds the root fast while the
tips turn wildly (docs/maths.md §14)."""
