"""Fourteen methods behind one call: how they fare on the same noisy markers."""

import numpy as np

import exactik as ik

figure = ik.human()
q = figure.neutral()
q[figure.dof_names.index("l_forearm.rz")] = -1.2
q[figure.dof_names.index("r_thigh.ry")] = -0.8
random = np.random.default_rng(0)
places = figure.forward(q).markers + 0.01 * random.standard_normal((len(figure.markers), 3))
goals = [ik.MarkerGoal(name, place) for name, place in zip(figure.markers, places, strict=True)]
problem = ik.Problem(figure, goals)

print(f"{'method':22} {'cost':>10} {'steps':>6} {'ms':>8}  converged")
for name in ("auto", "newton", "levenberg-marquardt", "gauss-newton", "l-bfgs", "ccd"):
    ik.solve(problem, solver=name)  # the first call loads the kernels
    result = ik.solve(problem, solver=name)
    numbers = f"{result.cost:10.6f} {result.iterations:6d} {1e3 * result.seconds:8.2f}"
    print(f"{name:22} {numbers}  {result.converged}")
