"""The hot path: forward kinematics, sums, sweeps, factorisation; one problem per call.

What a kernel may be:

*   a function of plain arrays, or NamedTuples of them; it knows no skeleton and no goal;
*   without allocation: results and scratch are arguments, small vectors are scalars or tuples
    (`spatial._jit` compiles without Numba's memory runtime, so that one that allocates fails);
*   one source for CPU and CUDA: bounded loops, no Python objects, `math.sqrt` and not `np.sqrt`.

Start with `tree` (what a figure is), `sums` and `sweeps` (how derivatives are made), `evaluate`.
"""
