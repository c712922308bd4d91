"""Compiled code: forward kinematics, derivatives, factorisation, descents; no allocation.

What a kernel is:

*   a function of plain arrays, or NamedTuples of them; it knows no skeleton and no goal;
*   without allocation: results and scratch are arguments, small vectors are scalars or tuples
    (`compile.jit` compiles without Numba's memory runtime, so that one that allocates fails);
*   one source for CPU and CUDA: bounded loops, no Python objects, `math.sqrt` and not `np.sqrt`.

Start with `tree.packed` (what a skeleton is), `goals.sums` and `calculus.sweeps` (how
derivatives are made) and `calculus.evaluate`; then `descent.state` and `descent.descend`.
"""
