"""What a problem asks, and the space to work it out in, as plain arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactik.kernels.calculus.sums import SUMS_SIZE
from exactik.kernels.goals.clouds import Clouds
from exactik.kernels.goals.coordinates import CoordinateGoals
from exactik.kernels.goals.terms import Terms
from exactik.kernels.linear.ltdl import LANES
from exactik.kernels.tree.fk import forward_kinematics, root_position
from exactik.kernels.tree.packed import Tree
from exactik.spatial import jit, jit_forceinline
from exactik.typing import Array

__all__ = [
    "Goals",
    "Workspace",
    "ancestor_row_width",
    "new_workspace",
    "update_kinematics",
    "update_kinematics_noinline",
]

CACHE_LINE = 8  # numbers


class Goals(NamedTuple):
    """All that a problem asks of a tree, as plain arrays."""

    origin: Array  #       (3,) what the targets in here are relative to [m, world]
    free: Array  #         (nv,) 0 for a locked dof, else 1
    terms: Terms  #         goals on bones
    single_terms: NDArray[np.uint32]  # the terms that are in no cloud
    cloud_of_frame: NDArray[np.uint32]  #  (n_frames,) cloud of a frame
    clouds: Clouds
    coordinates: CoordinateGoals


class Workspace(NamedTuple):
    """Scratch and results of one evaluation; one per thread."""

    sine: Array
    cosine: Array
    R: Array  #       (n+1, 3, 3) frames in the world
    origin: Array  #  (3,) the first root, about which all sums are taken [m, world]
    shift: Array  #   (3,) it, from `Goals.origin`
    p: Array  #       (n+1, 3) origins of the frames, relative to it [m]
    S: Array  #       (nv, 6) twists of the dofs
    sums: Array  #    (n+1, 27) see `sums`
    g: Array  #       (nv,) gradient
    H: Array  #       (nv, width) curvature by ancestor rows
    path: Array  #    (6, width)
    e: Array  #       (3,) point, residual, force of a term
    r: Array
    f: Array
    h: Array  #       (6,) its wrench
    D: Array  #       (3, 6) and derivatives
    X: Array  #       (6, 6)


def new_workspace(tree: Tree) -> Workspace:
    """Return the scratch space for problems on a tree."""
    n, nv, nq = len(tree.parent), int(tree.first_v[-1]), int(tree.first_q[-1])
    width = ancestor_row_width(int(tree.dof_level.max(initial=0)) + 1)
    shapes: dict[str, tuple[int, ...]] = {
        **{"sine": (nq,), "cosine": (nq,), "R": (n, 3, 3), "S": (nv, 6)},
        **{"origin": (3,), "shift": (3,), "p": (n, 3)},
        **{"sums": (n, SUMS_SIZE), "g": (nv,), "H": (nv, width), "path": (6, width)},
        **{"e": (3,), "r": (3,), "f": (3,), "h": (6,), "D": (3, 6), "X": (6, 6)},
    }
    return Workspace(**{name: _aligned(shape) for name, shape in shapes.items()})


def ancestor_row_width(longest: int) -> int:
    """Return the width of an array of rows up to this long: whole cache lines."""
    assert CACHE_LINE % LANES == 0
    return -(-longest // CACHE_LINE) * CACHE_LINE


def _aligned(shape: tuple[int, ...]) -> Array:
    """Return zeros that start on a cache line: vector code then never straddles two."""
    count = int(np.prod(shape))
    block = np.zeros(count + CACHE_LINE)
    start = -(block.ctypes.data // 8) % CACHE_LINE
    return block[start : start + count].reshape(shape)


@jit_forceinline
def update_kinematics(tree, goals, q, work):
    """Place the figure about its first root: far from it, lever arms would lose their digits."""
    root_position(tree, q, 1, work.origin)
    for i in range(3):
        work.shift[i] = work.origin[i] - goals.origin[i]
    forward_kinematics(tree, q, work.origin, work.sine, work.cosine, work.R, work.p, work.S)


@jit
def update_kinematics_noinline(tree, goals, q, work):
    """As `place`, but called: where a call does not count, code is better kept small."""
    update_kinematics(tree, goals, q, work)
