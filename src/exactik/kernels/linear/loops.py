"""The articulated recursion where goals couple two bodies: it carries the twist of the other one.

A goal between bodies A and B, whose branches meet at frame m, adds to the model (`goals.pairs`)

    V_AᵀK V_B − V_mᵀK V_m ,     K = −(𝓗 + ½Λ)ᵀ

the second part because the sums of frames above m leave it out. Up the branch of A a frame has then
absorbed, beside Δ and a, what couples its twist V with Z = V_B, and what is on Z alone:

    −½ VᵀΔV − a·V + VᵀC Z − ½ ZᵀE Z − e·Z            at A:  C = K ,  E = e = 0
    tips → root    Y = CᵀS ;  beside Δ and a :  C −= U_i Y_iᵀ/d ,  E += Y_i Y_iᵀ/d ,  e += Y_i t_i/d
    root → tips    x_i = −(t_i + U_i·V_λ + Y_i·Z)/d_i − Σ_{j<i} l_ij x_j

E and e then join Δ and a of B, whose branch carries Z = V_m with C transposed. At m the twist is
that of both, and Δ_m += E − C − Cᵀ + K + Kᵀ. So the branch of A comes before that of B on the way
up, and after it on the way down: frames are visited depth first, A is the body that comes later.
Other bodies are as in a tree. Pivots are those of LᵀDL of H + μD in this order.

Each loop has six rows [−C | 0 | 0] and six rows [E | e | 0] in `carried`, each dof on one has
[Y | t | 0] in `Y`. Loops that share a frame are not for this: they take whole rows (`ltdl`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.compile import jit, jit_forceinline
from exactik.kernels.linear.articulated import (
    LAST,
    absorb_dof,
    add_product,
    eliminate_any,
    eliminate_joints,
    eliminate_three,
    load_absorbed,
    multiply_rows,
    reduce_right_side,
    start_dof,
    store_absorbed,
    substitute_joints,
)
from exactik.kernels.linear.six_vectors import dot, load
from exactik.kernels.linear.vec8 import (
    add_scaled_vec8,
    add_vec8,
    dot_vec8,
    load_six,
    load_vec8,
    make_vec8,
    replace_entry,
    scale_vec8,
    store_vec8,
    vec8_entry,
)
from exactik.typing import Array, IndexArray

MAX_LOOPS = 8  # more pairs of bodies that touch at once have no frames of their own


class JointPattern(NamedTuple):
    """Which joint hangs on which, and which bodies an evaluation found coupled and how.

    For what has no loops, a `Tree` can be passed in its place.
    """

    parent: IndexArray  #      (n+1,)
    last_child: IndexArray  #  (n+1,)
    first_v: IndexArray  #     (n+2,)
    depth: IndexArray  #       (n+1,)
    frame_order: IndexArray  # (n,)
    on_loop: IndexArray  #     (n+1,) 2l + 1 on the branch of A in loop l, 2l + 2 on that of B, else
    #                          0; of frame 0, which is on none, the number of loops
    bodies: IndexArray  #      (MAX_LOOPS, 3) A, B and m
    coupling: Array  #         (6 MAX_LOOPS, 8) [K | 0 | 0]
    carried: Array  #          (12 MAX_LOOPS, 8) scratch, see above
    Y: Array  #                (nv, 8) likewise


@jit_forceinline
def make_joint_pattern(tree, work):
    """Return the pattern of a tree with the loops that an evaluation left in `work`."""
    return JointPattern(
        parent=tree.parent,
        last_child=tree.last_child,
        first_v=tree.first_v,
        depth=tree.depth,
        frame_order=tree.frame_order,
        on_loop=work.on_loop,
        bodies=work.loop_bodies,
        coupling=work.coupling,
        carried=work.carried,
        Y=work.Y,
    )


@jit_forceinline
def has_loops(joints):
    """Whether any pair of bodies is coupled."""
    return joints.on_loop[0] != 0


@jit_forceinline
def eliminate_blocks(joints, S, P, g, H, damping, descent):
    """As `articulated.eliminate_joints`, where bodies are coupled too."""
    if has_loops(joints):
        return eliminate_loops(joints, S, P, g, H, damping, descent)
    return eliminate_joints(joints, S, P, g, H, damping, descent)


@jit_forceinline
def substitute_blocks(joints, S, descent):
    """As `articulated.substitute_joints`, after `eliminate_blocks`."""
    if has_loops(joints):
        substitute_loops(joints, S, descent)
    else:
        substitute_joints(joints, S, descent)


@jit_forceinline
def reduce_blocks(joints, S, descent):
    """As `articulated.reduce_right_side`, after `eliminate_blocks`."""
    if has_loops(joints):
        reduce_right_side_of_loops(joints, S, descent)
    else:
        reduce_right_side(joints, S, descent)


@jit_forceinline
def start_loops(joints):
    """Write the rows that the branches of A start with."""
    for row in range(6 * np.int64(joints.on_loop[0])):
        carried = 12 * (row // 6) + row % 6
        store_vec8(joints.carried, carried, scale_vec8(-1.0, load_vec8(joints.coupling, row)))
        store_vec8(joints.carried, carried + 6, make_vec8(0.0, 0.0, 0.0, 0.0, 0.0, 0.0))


@jit_forceinline
def cross_to_other_branch(joints, n, rows):
    """Return the rows of body B with what the branch of A left to it; its own carries Cᵀ."""
    C = joints.carried
    for i in range(6):
        for j in range(i):
            C[12 * n + i, j], C[12 * n + j, i] = C[12 * n + j, i], C[12 * n + i, j]
    left = load_absorbed(C, 2 * n + 1)
    for i in range(6):
        store_vec8(C, 12 * n + 6 + i, make_vec8(0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    return add_rows(rows, left)


@jit_forceinline
def add_rows(rows, others):
    """Return the sum of two times six rows."""
    return (
        add_vec8(rows[0], others[0]),
        add_vec8(rows[1], others[1]),
        add_vec8(rows[2], others[2]),
        add_vec8(rows[3], others[3]),
        add_vec8(rows[4], others[4]),
        add_vec8(rows[5], others[5]),
    )


@jit_forceinline
def close_loop(joints, n, rows):
    """Return the rows that the last frame of loop n leaves to m, the twists of both now one."""
    C, K = joints.carried, joints.coupling
    for i in range(6):
        for j in range(6):
            C[12 * n + 6 + i, j] += C[12 * n + i, j] + C[12 * n + j, i]
            C[12 * n + 6 + i, j] += K[6 * n + i, j] + K[6 * n + j, i]
    return add_rows(rows, load_absorbed(C, 2 * n + 1))


@jit_forceinline
def eliminate_on_loop(n, first, count, depth, rows, S, P, g, H, damping, joints, descent):
    """As `articulated.eliminate_any`, for a joint on a branch of loop n."""
    U, L, Y, smallest = descent.U, descent.L, joints.Y, np.inf
    C, E = load_absorbed(joints.carried, 2 * n), load_absorbed(joints.carried, 2 * n + 1)
    for a in range(count):
        i = first + a
        y, u = start_dof(rows, S, P, g, i)
        store_vec8(U, i, u)
        carried = scale_vec8(-1.0, multiply_rows(C, S, i))
        store_vec8(Y, i, replace_entry(carried, LAST, vec8_entry(u, LAST)))
        for b in range(a + 1):
            L[i, depth + b] = H[i, depth + b] - dot_vec8(load_six(S, first + b), y)
        L[i, depth + a] += damping * descent.scale[i]
    for a in range(count - 1, -1, -1):
        i = first + a
        u, v = load_vec8(U, i), load_vec8(Y, i)
        rows, w, inverse, pivot = absorb_dof(rows, i, u, L[i, depth + a], descent)
        z = replace_entry(scale_vec8(inverse, v), LAST, vec8_entry(w, LAST))
        C = add_product(C, u, replace_entry(z, LAST, 0.0))
        E = add_product(E, v, z)
        smallest = min(smallest, pivot)
        for b in range(a):
            j, above = first + b, -L[i, depth + b]
            for c in range(b + 1):
                L[j, depth + c] += above * inverse * L[i, depth + c]
            store_vec8(U, j, add_scaled_vec8(load_vec8(U, j), above, w))
            store_vec8(Y, j, add_scaled_vec8(load_vec8(Y, j), above, z))
        for b in range(a):
            L[i, depth + b] *= inverse
    store_absorbed(joints.carried, 2 * n, C)
    store_absorbed(joints.carried, 2 * n + 1, E)
    return rows, smallest


@jit
def eliminate_loops(joints, S, P, g, H, damping, descent):
    """As `articulated.eliminate_joints`, with the loops of `joints`."""
    A, smallest = descent.absorbed, np.inf
    for i in range(descent.step.shape[0]):
        descent.rhs[i] = descent.step[i]
    nothing = make_vec8(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    start_loops(joints)
    for back in range(1, joints.parent.shape[0]):
        k = np.int64(joints.frame_order[joints.frame_order.shape[0] - back])
        first, depth = np.int64(joints.first_v[k]), np.int64(joints.depth[k])
        count, side = np.int64(joints.first_v[k + 1]) - first, np.int64(joints.on_loop[k])
        rows, pivot, n = (
            (nothing, nothing, nothing, nothing, nothing, nothing),
            np.inf,
            (side - 1) // 2,
        )
        if joints.last_child[k] != 0:
            rows = load_absorbed(A, k)
        if side != 0:
            if k == np.int64(joints.bodies[n, 1]):
                rows = cross_to_other_branch(joints, n, rows)
            rows, pivot = eliminate_on_loop(
                n, first, count, depth, rows, S, P, g, H, damping, joints, descent
            )
        elif count > 3:
            rows, pivot = eliminate_any(first, count, depth, rows, S, P, g, H, damping, descent)
        elif count > 0:
            rows, pivot = eliminate_three(first, count, depth, rows, S, P, g, H, damping, descent)
        smallest = min(smallest, pivot)
        if not smallest > 0.0:
            return smallest
        parent = np.int64(joints.parent[k])
        if side != 0 and parent == np.int64(joints.bodies[n, 2]):
            if side % 2 == 0 or parent == np.int64(joints.bodies[n, 1]):
                rows = close_loop(joints, n, rows)
        if np.int64(joints.last_child[parent]) != k:  # not the first to come here
            rows = add_rows(rows, load_absorbed(A, parent))
        store_absorbed(A, parent, rows)
    return smallest


@jit_forceinline
def load_carried_twist(joints, side, V):
    """Return the twist Z that a branch carries, without the 1 behind it; 0 on no loop."""
    if side == 0:
        return make_vec8(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    body = np.int64(joints.bodies[(side - 1) // 2, 2 - side % 2])
    return load_six(V, body)


@jit
def reduce_right_side_of_loops(joints, S, descent):
    """As `articulated.reduce_right_side`, after `eliminate_loops`."""
    U, wrenches, L, rhs = descent.U, descent.V, descent.L, descent.rhs
    nothing = make_vec8(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for k in range(joints.parent.shape[0]):
        store_vec8(wrenches, k, nothing)
    for n in range(np.int64(joints.on_loop[0])):
        store_vec8(joints.carried, 12 * n, nothing)
    for back in range(1, joints.parent.shape[0]):
        k = np.int64(joints.frame_order[joints.frame_order.shape[0] - back])
        first, end = np.int64(joints.first_v[k]), np.int64(joints.first_v[k + 1])
        shift, parent = np.int64(joints.depth[k]) - first, np.int64(joints.parent[k])
        side, wrench, carried = np.int64(joints.on_loop[k]), load_vec8(wrenches, k), nothing
        n = (side - 1) // 2
        if side != 0:
            carried = load_vec8(joints.carried, 12 * n)
            if k == np.int64(joints.bodies[n, 1]):
                wrench, carried = add_vec8(wrench, carried), nothing
        for i in range(first, end):
            U[i, LAST] = rhs[i] - dot_vec8(load_six(S, i), wrench)
        for i in range(end - 1, first - 1, -1):
            for j in range(first, i):
                U[j, LAST] -= L[i, j + shift] * U[i, LAST]
            t = U[i, LAST] * descent.inverse_pivot[i]
            wrench = add_scaled_vec8(wrench, t, load_six(U, i))
            if side != 0:
                carried = add_scaled_vec8(carried, t, load_six(joints.Y, i))
        if side != 0:
            store_vec8(joints.carried, 12 * n, carried)
            if parent == np.int64(joints.bodies[n, 2]):
                if side % 2 == 0 or parent == np.int64(joints.bodies[n, 1]):
                    wrench = add_vec8(wrench, carried)
        store_vec8(wrenches, parent, add_vec8(load_vec8(wrenches, parent), wrench))


@jit
def substitute_loops(joints, S, descent):
    """As `articulated.substitute_joints`, after `eliminate_loops`."""
    U, V, L, x = descent.U, descent.V, descent.L, descent.rhs
    store_vec8(V, 0, replace_entry(make_vec8(0.0, 0.0, 0.0, 0.0, 0.0, 0.0), LAST, 1.0))
    for n in range(joints.frame_order.shape[0]):
        k = np.int64(joints.frame_order[n])
        first, end = np.int64(joints.first_v[k]), np.int64(joints.first_v[k + 1])
        shift, side = np.int64(joints.depth[k]) - first, np.int64(joints.on_loop[k])
        above = load_vec8(V, np.int64(joints.parent[k]))
        twist, other = above, load_carried_twist(joints, side, V)
        for i in range(first, end):
            if descent.active_set[i] == 0.0:
                t = dot_vec8(load_vec8(U, i), above)
                if side != 0:
                    t += dot_vec8(load_vec8(joints.Y, i), other)
                x[i] = -t * descent.inverse_pivot[i]
                for j in range(first, i):
                    x[i] -= L[i, j + shift] * x[j]
            twist = add_scaled_vec8(twist, x[i], load_six(S, i))
        store_vec8(V, k, twist)


@jit
def loop_quadratic_form(joints, V):
    """Return the share of the loops in xᵀHx for the twists V (n+1, 8) that x gives to frames."""
    total, K = 0.0, joints.coupling
    for n in range(np.int64(joints.on_loop[0])):
        A, B = load(V, np.int64(joints.bodies[n, 0])), load(V, np.int64(joints.bodies[n, 1]))
        m = load(V, np.int64(joints.bodies[n, 2]))
        for i in range(6):
            row = load(K, 6 * n + i)
            total += 2.0 * (A[i] * dot(row, B) - m[i] * dot(row, m))
    return total
