"""What the page says around its tables."""

from __future__ import annotations

LEFT_OUT = {
    "Momentum (pymomentum-cpu)": "its wheels are for CPython 3.12 and 3.13 and bring PyTorch with "
    "CUDA, 7 GB; not measured",
    "PyRoki": "no release on PyPI",
}

OPENING = """# Benchmarks beside other tools

`make peers` installs each tool from PyPI in an environment of its own and gives all of them the
same tasks. One judge compares the answers: forward kinematics in plain numpy
(`benchmarks/peers/judge.py`), which shares no code with any tool. The command writes this page, and
all tables into `build/benchmarks.md`.

* **Times are CPU time** for each solve, on one thread, measured inside the process of each tool
  around one call from Python. Loading, compiling and a first call do not count. In the rows "one
  batch" and "track" exactik's time is divided by the number of problems or frames. The same run
  moves by up to a factor of {tie}; smaller gaps are ties.
* **Tuning was unequal.** Exactik runs with its defaults, which its authors chose. Every other tool
  has one honest setting; its own authors would do better.
* **The tools are made for different things**: mink, Pink and placo for control at every time step,
  newton for thousands of problems at once on a GPU, Drake and CasADi for far more constraints than
  these.

Measured on {about}.
"""

ARMS = """## Poses of arms

An arm has to reach a pose that random joints inside the limits have reached, from other random
joints. Success: within 1 mm and 0.01 rad, all joints inside their limits; in brackets what it
would be if limits did not count. "30 attempts" are the start and 29 others, until the tool says
that it arrived. One attempt of exactik may be three descents; "no detour" is a single one. Slow
tools answer as many poses as 20 s of the processor allow. The poses of all tasks but the first were
drawn with seeds on which nothing was tuned.
"""

FIGURES = """## Motion capture

Takes of HDM05: 58 degrees of freedom, 41 markers at fixed places on their bones, no limits. The
figure is given as URDF, one hinge or slider for each dof. *Tracking*: 300 frames from the middle
of the take, or to its end, each from the answer before. *Cold*: 60 frames spread over the take,
each from the pose at rest brought to the markers as a rigid body. Error is the mean distance of a
marker. The shares compare ½ Σ‖r‖² with the best that any tool, or a search of exactik from {search}
starts, found for the frame, because frames have several minima close to each other.

"A call a frame" is exactik used like the others: `ik.solve`, which also proves its answer. "track"
is `ik.track` over the recording as a whole; "no branches" follows one way, from one pose.

Exactik is the fastest here. In a single descent from afar it ends at the best minimum as often as
the best of the others or more often; with 24 starts, nearly always. While tracking, SciPy and IPOPT
find the same minima. The rule by which exactik lowers its damping was found on take 06-03_03.
"""
