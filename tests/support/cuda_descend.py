"""Solve a few problems in a CUDA kernel that calls the very functions of the CPU, a thread each.

As a program it prints the solutions as JSON, under numba's simulator (NUMBA_ENABLE_CUDASIM=1, and
NUMBA_DISABLE_JIT=1 because the simulator's arrays cannot be passed to compiled functions). A GPU
would need functions that numba-cuda can compile in place of `Kernel` and of octets.
"""

from __future__ import annotations

import json
from typing import Any

import numba.cuda  # noqa: TID253
import numpy as np
from numpy.typing import NDArray

from exactik import Bone, Joint, MarkerGoal, OrientationGoal, PostureGoal, Problem, Skeleton
from exactik.kernels.calculus.workspace import Workspace, new_workspace
from exactik.kernels.descent.descend import run_descent
from exactik.kernels.descent.state import DescentState, new_descent_state, start_descent
from exactik.solvers import CCD, Auto, CompiledMethod, Newton
from exactik.typing import Array

cuda: Any = numba.cuda  # its annotations do not know how kernels are launched
PASSES = 100
METHODS = (Auto(), Newton(), CCD(max_iterations=2))  # a damping, a radius, one dof at a time


def mixed_arm() -> Skeleton:
    """A small tree with a joint of every kind."""
    bones = [
        Bone("base", joint=Joint.free("quaternion")),
        Bone("a", parent="base", offset=(0.1, 0.0, 0.3), joint=Joint.euler("ZYX")),
        Bone("b", parent="a", offset=(0.0, 0.1, 0.3), joint=Joint.exp_map()),
        Bone("c", parent="a", offset=(0.0, -0.1, 0.3), joint=Joint.swing_twist("z")),
        Bone("d", parent="c", offset=(0.0, 0.0, 0.2), joint=Joint.prismatic((0.6, 0.0, 0.8))),
        Bone("e", parent="b", offset=(0.0, 0.0, 0.2), joint=Joint.revolute((0.0, 0.6, 0.8))),
    ]
    corners = {"P": (0.1, 0.0, 0.0), "Q": (0.0, 0.1, 0.0), "R": (0.0, 0.0, 0.1)}
    markers = {f"{b}{m}": (b, x) for b in ("base", "b", "d", "e") for m, x in corners.items()}
    return Skeleton.build("mixed arm", bones, markers)


def problem_of(skeleton: Skeleton) -> Problem:
    """Markers and an orientation of a random pose, and a weak pull to rest."""
    rng = np.random.default_rng(3)
    pose = skeleton.forward(
        skeleton.integrate(skeleton.neutral(), rng.normal(scale=0.3, size=skeleton.nv))
    )
    targets = pose.markers + rng.normal(scale=0.005, size=pose.markers.shape)
    return Problem(
        skeleton,
        [
            *(MarkerGoal(m, t) for m, t in zip(skeleton.markers, targets, strict=True)),
            OrientationGoal("e", pose.rotations[skeleton.bone_index("e")], weight=0.1),
            PostureGoal(skeleton.neutral(), weight=1e-3),
        ],
    )


def kernel_body(tree, goals, box, options, q, passes, descent, work):
    """One thread, one problem: row b of every array."""
    b = cuda.grid(1)
    if b < q.shape[0]:
        thread_work = Workspace(
            sine=work.sine[b],
            cosine=work.cosine[b],
            R=work.R[b],
            origin=work.origin[b],
            shift=work.shift[b],
            p=work.p[b],
            S=work.S[b],
            sums=work.sums[b],
            g=work.g[b],
            H=work.H[b],
            path=work.path[b],
            joint_q=work.joint_q[b],
            joint_dofs=work.joint_dofs[b],
            joint_H=work.joint_H[b],
            P=work.P[b],
            e=work.e[b],
            r=work.r[b],
            f=work.f[b],
            h=work.h[b],
            D=work.D[b],
            X=work.X[b],
        )
        thread_descent = DescentState(
            state=descent.state[b],
            lower=descent.lower[b],
            upper=descent.upper[b],
            trial=descent.trial[b],
            step=descent.step[b],
            rhs=descent.rhs[b],
            active_set=descent.active_set[b],
            max_curvature=descent.max_curvature[b],
            scale=descent.scale[b],
            path=descent.path[b],
            L=descent.L[b],
            absorbed=descent.absorbed[b],
            U=descent.U[b],
            inverse_pivot=descent.inverse_pivot[b],
            V=descent.V[b],
            best_q=descent.best_q[b],
            start_q=descent.start_q[b],
        )
        start_descent(box, options, True, q[b], thread_descent)
        passes[b] = run_descent(
            tree, goals, box, options, q[b], PASSES, thread_descent, thread_work
        )


def starts_of(skeleton: Skeleton, count: int = 3) -> Array:
    """Configurations near rest, (count, nq)."""
    steps = np.random.default_rng(4).normal(scale=0.1, size=(count, skeleton.nv))
    return skeleton.integrate(skeleton.neutral(), steps)


def solve_on_cpu(method: CompiledMethod) -> tuple[Array, NDArray[np.int64]]:
    """Solutions of the compiled loop, (count, nq), and passes made, (count,)."""
    skeleton = mixed_arm()
    problem, work = problem_of(skeleton), new_workspace(skeleton.tree)
    descent, options = new_descent_state(skeleton.tree, work.H.shape[1]), method.options(problem)
    solutions, passes = starts_of(skeleton), []
    for q in solutions:
        start_descent(problem.box, options, True, q, descent)
        arguments = (problem.packed.arrays, problem.box, options, q, PASSES, descent, work)
        passes.append(run_descent(skeleton.tree, *arguments))
    return solutions, np.array(passes)


def solve_on_cuda(method: CompiledMethod) -> tuple[Array, NDArray[np.int64]]:
    """The same by the same loop in a CUDA kernel."""
    skeleton = mixed_arm()
    problem, work = problem_of(skeleton), new_workspace(skeleton.tree)
    descent, options = new_descent_state(skeleton.tree, work.H.shape[1]), method.options(problem)
    q = starts_of(skeleton)
    passes = np.zeros(len(q), np.int64)
    many = (batch_of(descent, len(q)), batch_of(work, len(q)))
    on_device = to_device((q, passes, *many))
    given = to_device((skeleton.tree, problem.packed.arrays, problem.box, options))
    kernel = cuda.jit(kernel_body)
    kernel[1, 32](*given, *on_device)
    return on_device[0].copy_to_host(), on_device[1].copy_to_host()


def batch_of(one: Any, count: int) -> Any:
    """The same arrays with one more axis in front, and no numbers in them."""
    return type(one)(*(np.full((count, *array.shape), np.nan) for array in one))


def to_device(value: Any) -> Any:
    """Copy every array of a tuple of tuples to the device."""
    if isinstance(value, np.ndarray):
        return cuda.to_device(np.array(value))
    if hasattr(value, "_fields"):
        return type(value)(*(to_device(x) for x in value))
    if isinstance(value, tuple):
        return tuple(to_device(x) for x in value)
    return value


if __name__ == "__main__":
    found = {method.name: solve_on_cuda(method) for method in METHODS}
    print(json.dumps({name: [x.tolist() for x in both] for name, both in found.items()}))
