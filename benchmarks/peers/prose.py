"""What the page says around its tables."""

from __future__ import annotations

LEFT_OUT = {
    "Momentum (pymomentum-cpu)": "its wheels are for CPython 3.12 and 3.13 and bring PyTorch with "
    "CUDA, 7 GB; not measured",
    "PyRoki": "no release on PyPI",
}

OPENING = """# Benchmarks beside other tools

`make peers` installs each tool from PyPI in an environment of its own under `.peers/`, gives all
the same tasks, has their answers judged by the same forward kinematics in plain numpy
(`benchmarks/peers/judge.py`), which shares no code with any of them, exactik included, and writes
this page. A tool that does not install or fails is left out, with the reason.

* **Times are CPU time** for each solve, on one thread, measured inside the process of each tool
  around one call from Python; loading, compiling and a first call are not counted. Two rows of
  exactik differ: "one batch" times each problem inside by the clock, "track" divides the whole by
  the number of frames; newton and PyTorch Kinematics solve batches, too, which are not measured.
  Tools were measured one after the other while other work ran beside them, not all equally much:
  the same run moves by up to a factor of {tie}, and smaller gaps are ties.
* **Tuning was unequal.** Exactik runs with its defaults, which its authors chose; every other tool
  has one honest setting, at best the better of a few that were tried (the damping of mink, Pink and
  placo for markers was chosen on take 01-03_01). Its own authors would do better. What each was
  given stands at the end.
* The tools are made for different things: mink, Pink and placo for control at every time step,
  newton for thousands of problems at once on a GPU, Drake and CasADi for far more constraints than
  these. A row says what one gets from them for this task, no more.

Measured on {about}.
"""

ARMS = """## Poses of arms

An arm is to reach a pose that random joints inside the limits have reached, from other random
joints. Success: within 1 mm and 0.01 rad, all joints inside their limits; in brackets what it
would be if limits did not count. "30 attempts": the start and 29 others, until the tool says that
it arrived; the same points for all, but exactik, the Robotics Toolbox and TRAC-IK draw their own.
One attempt of exactik may be three descents: where limits stop the first, one more goes without
them, and from its end one inside them again. "No detour" is a single descent, as most others
make. Slow tools answer fewer poses, as many as 20 s of the processor allow. Rows are in the order
of their time with 30 attempts. The poses of the other tables than the first were drawn with seeds
on which nothing was tuned.
"""

FIGURES = """## Motion capture

Takes of HDM05, 58 degrees of freedom, 41 markers at fixed places on their bones, no limits; the
figure is given as URDF, one hinge or slider for each dof. *Tracking*: 300 frames from the middle
of the take, or to its end, each from the answer before, the first from the pose that comes with
the take. *Cold*: 60 frames spread over the take, each from the pose at rest brought to the
markers as a rigid body. Error is the mean distance of a marker; the shares compare ½ Σ‖r‖² with
the best that any tool or a search from {search} starts found for the frame. Frames have several
minima close to each other, so that a small error does not tell who is at the best one: the shares
do.

"A call a frame" is exactik used like the others: `ik.solve`, which also proves its answer and says
why it ended. "track" is `ik.track` over the recording as a whole, which may look ahead to choose a
way through it, and starts cold frames from 24 poses; "no branches" follows one way, from one pose.
The search is exactik's, too: that it finds better minima than the others do is what lowers their
shares, and nobody else was asked to search.

Exactik is the fastest here. In a single descent from afar it ends at the best minimum as often as
the best of the others or more often; with 24 starts, nearly always. While tracking, SciPy and IPOPT
find the same minima as exactik, and looking for branches does not pay on these short pieces.
No setting of another tool was chosen on take 06-03_03; the rule by which exactik lowers its damping
was found on it.
"""
