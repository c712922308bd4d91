"""The plain arrays that describe a kinematic tree to the kernels.

Frames are numbered 1 … n in the order of the bones, so parents come first; frame 0 is the world. A
joint is, in this order: an optional shift along one axis or three, then an optional rotation of one
of the kinds below; CUSTOM stands for both (`custom`). Any axis of a hinge and any twist axis are
turned onto z by folding a constant rotation into `pre` and `post` when the model is packed, so that
rotations here are about coordinate axes only, those of CUSTOM apart.

Coordinates and dofs are numbered twice. `first_q`, `first_v`, `depth` and `dof_…` are those of q
and v, which a user sees. Dofs that a coupling makes follow others are not in q. `joint_q`,
`joint_v`, `joint_depth` and `joint_dofs` count them as well, and forward kinematics and the sweeps
work on these (`couplings` has the way from one to the other). Without couplings both are the same.

Index arrays are uint32 and are widened by np.int64() on use: the compiler then knows them to be
non-negative and drops Numba's wrap-around test for negative indices, which doubled the time of the
sweeps. (Unsigned arithmetic itself is to be avoided: Numba makes uint64 − int64 a float.)
"""

from __future__ import annotations

from typing import NamedTuple

from exactik.typing import Array, IndexArray

NO_ROTATION, AXES, EXP_MAP, SWING_TWIST, QUATERNION, CUSTOM = 0, 1, 2, 3, 4, 5

NONE = 2**32 - 1
"""In index arrays: there is none."""


class Tree(NamedTuple):
    """A packed skeleton with n bones; every per-frame array has n + 1 rows."""

    parent: IndexArray  #      frame of the parent
    first_q: IndexArray  #     first coordinate of the frame's joint; one more entry at the end
    first_v: IndexArray  #     first dof of the frame's joint; one more entry at the end
    shift_count: IndexArray  # number of translational dofs: 0, 1 or 3
    rotation: IndexArray  #    rotation kind
    turn_axes: IndexArray  #   (n + 1, 3): coordinate axes of an AXES rotation, outermost first;
    #                          for CUSTOM its number in `custom_axes`
    depth: IndexArray  #       number of dofs above this joint on the path to the root
    last_child: IndexArray  #  the last frame that hangs on this one; 0 for none
    frame_order: IndexArray  # the frames 1 … n in depth-first order
    dof_order: IndexArray  #   (nv,) the dofs in depth-first order
    dof_parent: IndexArray  #  (nv,) per dof: the dof above it on its path; itself for the first
    dof_level: IndexArray  #   (nv,) per dof: number of dofs above it on its path
    offset: Array  #           (n + 1, 3) joint centre in the parent's frame [m]
    pre: Array  #              (n + 1, 3, 3) constant rotation before the joint
    post: Array  #             (n + 1, 3, 3) constant rotation after the joint
    has_pre: IndexArray  #     0 where `pre` is the identity
    has_post: IndexArray  #    0 where `post` is the identity
    shift_axes: Array  #       (n + 1, 3, 3) axes of the shifts, one per row, after `pre`
    joint_q: IndexArray  #     as first_q, of all coordinates of the joints
    joint_v: IndexArray  #     as first_v, of all dofs of the joints
    joint_depth: IndexArray  # as depth, of all dofs of the joints
    joint_dofs: IndexArray  #  (4, joint nq): see `couplings`
    driven: IndexArray  #      (n_driven, 3): see `couplings`
    custom_axes: Array  #      (n_custom, 6, 3) three shifts, then three turns, in the base frame
    custom_functions: IndexArray  # (n_custom, 6, 5): see `custom`
    function_table: IndexArray  # (n_functions, 3): see `functions`
    function_data: Array  #    numbers of the functions
