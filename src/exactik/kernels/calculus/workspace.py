"""The goals of a problem as plain arrays, and the workspace in which they are evaluated."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.compile import jit, jit_forceinline
from exactik.kernels.goals.centroids import Centroids
from exactik.kernels.goals.clouds import Clouds
from exactik.kernels.goals.coordinates import CoordinateGoals
from exactik.kernels.goals.sums import SUMS_SIZE
from exactik.kernels.goals.terms import Terms
from exactik.kernels.linear.loops import MAX_LOOPS
from exactik.kernels.linear.ltdl import LANES, AncestorPattern
from exactik.kernels.tree.couplings import LEVEL, expand_coordinates
from exactik.kernels.tree.fk import forward_kinematics, root_position
from exactik.kernels.tree.packed import Tree
from exactik.typing import Array, IndexArray

CACHE_LINE = 8  # numbers
SLOPE, BEND, JOINT_GRADIENT, ONE = 0, 1, 2, 3
"""Rows of `Workspace.joint_dofs`."""


class Goals(NamedTuple):
    """All goals of a problem on a tree."""

    origin: Array  #              (3,) what the targets in here are relative to [m, world]
    free: Array  #                (nv,) 0 for a locked dof, else 1
    terms: Terms  #               goals on bones
    single_terms: IndexArray  #   the terms in the world that are in no cloud
    pair_terms: IndexArray  #     the terms on several bodies, see `pairs` and `centroids`
    centroids: Centroids
    meeting: IndexArray  #        (n, 2) of these: the nearest frame that both bodies hang on; 1 if
    #                             `other` comes later than `frame` depth first, or hangs on it
    pattern: AncestorPattern  #   rows of H: those of the tree, or longer ones where pairs couple
    columns: IndexArray  #        (nv, tree's width) with pairs: level in it of entries of the tree
    cloud_of_frame: IndexArray  # (n_frames,) cloud of a frame
    clouds: Clouds
    coordinates: CoordinateGoals


class Workspace(NamedTuple):
    """Scratch arrays and results of one evaluation; one per thread."""

    sine: Array  #   (joint nq,)
    cosine: Array
    R: Array  #      (n+1, 3, 3) frames in the world
    origin: Array  # (3,) the first root, about which all sums are taken [m, world]
    shift: Array  #  (3,) it, from `Goals.origin`
    p: Array  #      (n+1, 3) origins of the frames, relative to it [m]
    S: Array  #      (joint nv, 6) twists of the dofs of the joints
    sums: Array  #   (n+1, 27) see `sums`
    g: Array  #      (nv,) gradient
    H: Array  #      (nv, width) curvature by ancestor rows
    path: Array  #   (6, width)
    joint_q: Array  # (joint nq,) coordinates of all joints, if some follow others; else (0,)
    joint_dofs: Array  # (4, joint nv) φ', φ'', g_c and 1 for each dof of the joints, see below
    joint_H: Array  # (joint nv, width) H_c by their ancestor rows; else (0, width)
    P: Array  #      (nv, 6) momenta of the dofs, see `sweeps.sweep_joint_blocks`
    e: Array  #      (5,) point of a term; of SEGMENTS and BOX how far along both it is
    r: Array  #      (3,) residual and force of a term
    f: Array
    h: Array  #      (6,) its wrench
    D: Array  #      (3, 6) and derivatives
    X: Array  #      (6, 6)
    no_shift: Array  #    (3,) zeros
    pair_target: Array  # (n, 3) of terms between two bodies: target, rotation, weight and axes of
    pair_turn: Array  #   (n, 3, 3) the rows in the world, see `pairs`; 0 rows without such terms
    pair_weight: Array  # (n, 3, 3) of terms on a sum of points: its own curvature
    pair_axes: Array  #   (n, 3, 3)
    pair_sums: Array  #   (n, 27) their wrench and 6×6, as in `sums`; behind them those of loops
    pair_H: Array  #      (nv, width) curvature by the rows of `Goals.pattern`
    on_loop: IndexArray  # (n+1,) which bodies are coupled, see `linear.loops.JointPattern`
    loop_bodies: IndexArray  # (MAX_LOOPS, 3)
    coupling: Array  #    (6 MAX_LOOPS, 8)
    carried: Array  #     (12 MAX_LOOPS, 8)
    Y: Array  #           (nv, 8)


def new_workspace(tree: Tree, goals: Goals | None = None) -> Workspace:
    """Return the workspace of problems on a tree; of these goals if they are between bodies."""
    n, nv = len(tree.parent), int(tree.first_v[-1])
    joint_nv, joint_nq = int(tree.joint_v[-1]), int(tree.joint_q[-1])
    has_driven = len(tree.driven) > 0
    longest = max(tree.dof_level.max(initial=0), tree.joint_dofs[LEVEL, :joint_nv].max(initial=0))
    width = ancestor_row_width(int(longest) + 1)
    terms, pair_width, loops = 0, 0, 0
    if goals is not None and len(goals.pair_terms) > 0:
        terms, loops = len(goals.terms.kind), MAX_LOOPS
        pair_width = ancestor_row_width(int(goals.pattern.dof_level.max(initial=0)) + 1)
    return Workspace(
        sine=aligned_zeros(joint_nq),
        cosine=aligned_zeros(joint_nq),
        R=aligned_zeros(n, 3, 3),
        origin=aligned_zeros(3),
        shift=aligned_zeros(3),
        p=aligned_zeros(n, 3),
        S=aligned_zeros(joint_nv, 6),
        sums=aligned_zeros(n, SUMS_SIZE),
        g=aligned_zeros(nv),
        H=aligned_zeros(nv, width),
        path=aligned_zeros(6, width),
        joint_q=aligned_zeros(joint_nq if has_driven else 0),
        joint_dofs=aligned_zeros(4, joint_nv),
        joint_H=aligned_zeros(joint_nv if has_driven else 0, width),
        P=aligned_zeros(nv, 6),
        e=aligned_zeros(5),
        r=aligned_zeros(3),
        f=aligned_zeros(3),
        h=aligned_zeros(6),
        D=aligned_zeros(3, 6),
        X=aligned_zeros(6, 6),
        no_shift=aligned_zeros(3),
        pair_target=aligned_zeros(terms, 3),
        pair_turn=aligned_zeros(terms, 3, 3),
        pair_weight=aligned_zeros(terms, 3, 3),
        pair_axes=aligned_zeros(terms, 3, 3),
        pair_sums=aligned_zeros(terms + loops, SUMS_SIZE),
        pair_H=aligned_zeros(nv if terms > 0 else 0, pair_width),
        on_loop=np.zeros(n if terms > 0 else 1, np.uint32),
        loop_bodies=np.zeros((loops, 3), np.uint32),
        coupling=aligned_zeros(6 * loops, 8),
        carried=aligned_zeros(12 * loops, 8),
        Y=aligned_zeros(nv if terms > 0 else 0, 8),
    )


def curvature_rows(work: Workspace) -> Array:
    """Return where evaluations leave the curvature: rows of `Goals.pattern`."""
    return work.pair_H if len(work.pair_H) > 0 else work.H


def ancestor_row_width(longest: int) -> int:
    """Return the width of an array of ancestor rows up to this long: whole cache lines."""
    assert CACHE_LINE % LANES == 0
    return -(-longest // CACHE_LINE) * CACHE_LINE


def aligned_zeros(*shape: int) -> Array:
    """Return zeros that start on a cache line: vector loads then never straddle two."""
    count = int(np.prod(shape))
    block = np.zeros(count + CACHE_LINE)
    start = -(block.ctypes.data // 8) % CACHE_LINE
    return block[start : start + count].reshape(shape)


@jit_forceinline
def update_kinematics(tree, goals, q, work):
    """Compute all frames, about the first root: far from it, lever arms would lose their digits."""
    if tree.driven.shape[0] == 0:
        place_frames(tree, goals, q, work)
    else:
        update_driven_kinematics(tree, goals, q, work)


@jit_forceinline
def place_frames(tree, goals, joint_q, work):
    """As `update_kinematics`, for the coordinates of all joints."""
    root_position(tree, joint_q, 1, work.origin)
    for i in range(3):
        work.shift[i] = work.origin[i] - goals.origin[i]
    forward_kinematics(tree, joint_q, work.origin, work.sine, work.cosine, work.R, work.p, work.S)


@jit
def update_driven_kinematics(tree, goals, q, work):
    """As `update_kinematics`, where dofs follow others."""
    expand_coordinates(tree, q, work.joint_q, work.joint_dofs[SLOPE], work.joint_dofs[BEND])
    for i in range(work.joint_dofs.shape[1]):
        work.joint_dofs[ONE, i] = 1.0
    place_frames(tree, goals, work.joint_q, work)


@jit
def update_kinematics_noinline(tree, goals, q, work):
    """As `update_kinematics`, but called: less machine code where the cost of a call is small."""
    update_kinematics(tree, goals, q, work)
