"""What replaces functions of the CPU: twins, and empty functions for what a problem never calls.

The arguments and the types of the results are those of the kernels of the same name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exactik.kernels.calculus.workspace import Goals
from exactik.kernels.cuda._vec8 import VEC8_FUNCTIONS
from exactik.kernels.descent.options import (
    COORDINATE_DESCENT,
    GRADIENT_DESCENT,
    RULE,
    TRUST_REGION,
)
from exactik.kernels.tree.packed import CUSTOM, EXP_MAP, QUATERNION, SWING_TWIST, Tree
from exactik.typing import Array


def find_replacements(
    tree: Tree, goals: Goals, options: Array, is_robust: bool = False
) -> dict[str, Callable[..., Any]]:
    """Return what replaces functions in problems of these goals on this tree, by name.

    `is_robust`: whether frames are solved with a loss other than the quadratic one.
    """
    kinds, rule = set(tree.rotation.tolist()), options[RULE]
    replacements: list[Callable[..., Any]] = [*VEC8_FUNCTIONS, add_pair_terms, write_pair_rows]
    replacements += [is_centroid, is_pair, find_loops, has_loops, eliminate_loops]
    replacements += [substitute_loops, reduce_right_side_of_loops, loop_quadratic_form]
    if len(tree.driven) == 0:
        replacements += [update_driven_kinematics, sweep_driven_tree]
    if CUSTOM not in kinds:
        replacements += [move_custom_joint, custom_shift, subtract_custom_curvature]
    if not kinds & {EXP_MAP, SWING_TWIST, QUATERNION}:
        replacements += [rotate_ball_joint, subtract_ball_curvature]
    if QUATERNION not in kinds:
        replacements += [add_quaternion_posture]
    if not is_robust:
        replacements += [update_robust_weights, compute_robust_cost, take_nearer]
    if len(goals.single_terms) == 0:
        replacements += [add_term]
    if len(goals.coordinates.rest_row) == 0 and len(goals.coordinates.limit_row) == 0:
        replacements += [add_coordinates]
    if rule != TRUST_REGION:
        replacements += [trust_region_step]
    if rule != COORDINATE_DESCENT:
        replacements += [propose_coordinate_step]
    if rule != GRADIENT_DESCENT:
        replacements += [propose_gradient_step]
    return {function.__name__: function for function in replacements}


def update_driven_kinematics(tree, goals, q, work):
    """Do nothing: no dof follows another."""


def sweep_driven_tree(tree, free, order, work):
    """Do nothing: no dof follows another."""


def move_custom_joint(tree, k, q, idx_q, idx_v, end, m, x, y, z, S):
    """Return the frame as it is: no joint is custom."""
    return m, x, y, z


def custom_shift(tree, root, q, idx_q):
    """Return no shift: no joint is custom."""
    return 0.0, 0.0, 0.0


def subtract_custom_curvature(tree, k, q, R, p, sums, free, H):
    """Do nothing: no joint is custom."""


def rotate_ball_joint(kind, q, sine, cosine, idx_q, idx_v, m, x, y, z, S):
    """Return the frame as it is: there is no ball joint."""
    return m


def subtract_ball_curvature(tree, k, q, R, p, S, sums, free, H):
    """Do nothing: there is no ball joint."""


def add_quaternion_posture(tree, goals, n, q, index, first, order, free, g, H, D, X):
    """Return no cost: there is no quaternion joint."""
    return 0.0


def update_robust_weights(tree, goals, frames, t, width, pose, work):
    """Return no change: the loss is quadratic."""
    return 0.0


def compute_robust_cost(tree, goals, frames, t, pose, work):
    """Return no cost: the loss is quadratic."""
    return 0.0


def take_nearer(tree, goals, previous, near_cost, pose, work):
    """Do nothing: the loss is quadratic."""


def add_pair_terms(goals, order, work):
    """Return no cost: goals between bodies are for the CPU."""
    return 0.0


def write_pair_rows(tree, goals, order, work):
    """Do nothing: goals between bodies are for the CPU."""


def find_loops(tree, goals, order, work):
    """Return that blocks of joints are enough: goals between bodies are for the CPU."""
    return True


def has_loops(joints):
    """Return that no bodies are coupled: goals between bodies are for the CPU."""
    return False


def eliminate_loops(joints, S, P, g, H, damping, descent):
    """Return no pivot: there are no loops."""
    return 0.0


def substitute_loops(joints, S, descent):
    """Do nothing: there are no loops."""


def reduce_right_side_of_loops(joints, S, descent):
    """Do nothing: there are no loops."""


def loop_quadratic_form(joints, V):
    """Return nothing: there are no loops."""
    return 0.0


def is_centroid(terms, m):
    """Return that no term is on a sum of points: those are for the CPU."""
    return False


def is_pair(terms, m):
    """Return that no term is between two bodies: those are for the CPU."""
    return False


def add_term(terms, m, shift, row, sums, order, work):
    """Return no cost: all goals on bones are in clouds."""
    return 0.0


def add_coordinates(tree, goals, q, order, free, g, H, D, X):
    """Return no cost: no goal is on coordinates."""
    return 0.0


def trust_region_step(joints, pattern, box, q, g, H, S, P, descent):
    """Return that there is no step: the rule is another."""
    return False


def propose_coordinate_step(pattern, box, q, g, H, descent):
    """Do nothing: the rule is another."""


def propose_gradient_step(box, options, g, descent):
    """Do nothing: the rule is another."""
