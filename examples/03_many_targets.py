"""A thousand targets in one call: the same answers for any batch size and number of threads."""

import time
from collections import Counter

import numpy as np

import exactik as ik

figure = ik.human()
problem = ik.Problem(
    figure,
    [
        ik.PositionGoal("r_hand", (0.4, -0.2, 1.0), name="hand"),
        ik.PostureGoal(figure.neutral(), weight=1e-6),
    ],
    lock="pelvis",
)
random = np.random.default_rng(1)
targets = np.array([0.2, -0.3, 1.2]) + random.uniform(-0.6, 0.6, (1000, 3))

ik.solve_batch(problem, {"hand": targets[:1]})  # the first call loads the kernels
start = time.perf_counter()
batch = ik.solve_batch(problem, {"hand": targets})
took = time.perf_counter() - start

print(f"{len(targets)} targets in {1e3 * took:.0f} ms:", dict(Counter(batch.status.tolist())))
missed = int(np.flatnonzero(~batch.reached)[0])
print("one that was missed:", targets[missed].round(2))
print("  ", batch[missed].why)
