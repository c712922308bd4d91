"""Compile kernels before they are needed, into the cache: once per installation.

    python -m exactik.precompile [poses] [recordings] [steps]

Without arguments it compiles what solves poses, which takes most of a minute. Nothing is compiled
twice: of several such processes one works and the others wait for it.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np

from exactik.goals import MarkerGoal
from exactik.model import Skeleton, human
from exactik.motion import Markers
from exactik.problem import Problem
from exactik.solvers import Auto, solve

__all__ = ["precompile_poses", "precompile_recordings", "precompile_steps"]

WARM_UP_FRAMES = 24  # enough that every kernel of the tracker runs


def precompile_poses() -> None:
    """Compile what places a figure, solves a pose and says how good it is."""
    figure = human()
    problem = Problem(figure, [MarkerGoal("LFIN", (0.4, 0.3, 1.2))])
    result = solve(problem)
    problem.hessian(result.q)
    figure.difference(result.q, figure.integrate(result.q, np.zeros(figure.nv)))
    assert figure.forward(result.q).markers.shape == (len(figure.markers), 3)
    assert figure.jacobian(result.q, "l_hand").shape[1] == figure.nv
    assert len(result.why) > 0 and result.certificate is not None


def precompile_recordings(robust: str | None = None, smooth: float | str | None = "auto") -> None:
    """Compile what `track` and its error bars need, with these options."""
    from exactik.tracking import track

    # A second of somebody who waves, one marker missing: it takes all kernels.
    solved = track(*_make_recording(), robust=robust, smooth=smooth, starts=2)
    assert solved.certified.shape == (WARM_UP_FRAMES,) and len(solved.sd) == WARM_UP_FRAMES


def _make_recording() -> tuple[Skeleton, Markers]:
    figure = human()
    q = np.tile(figure.neutral(), (WARM_UP_FRAMES, 1))
    q[:, figure.dof_names.index("l_upper_arm.rx")] += np.linspace(0.0, 0.5, WARM_UP_FRAMES)
    places = figure.forward(q).markers.copy()
    places[5:15, list(figure.markers).index("LFIN")] = np.nan
    return figure, Markers(places, tuple(figure.markers), 24.0)


def precompile_steps() -> None:
    """Compile what `track` comes to late: first the step of a descent, then the error bars.

    A process that does this beside one that tracks halves the wait.
    """
    from exactik.kernels.descent.descend import advance
    from exactik.kernels.descent.state import start_descent
    from exactik.kernels.linear.ltdl import AncestorPattern
    from exactik.tracking import (
        are_minima,
        compute_combination_deviations,
        compute_standard_deviations,
        make_tracking_problem,
    )

    recording = make_tracking_problem(*_make_recording())
    problem, tree, buffers = recording.frame_problem, recording.skeleton.tree, recording.buffers
    options, q = replace(Auto(), max_iterations=1).options(problem), problem.skeleton.neutral()
    start_descent(problem.box, options, True, q, buffers.descent_state)
    work = buffers.workspace
    pattern = AncestorPattern(tree.dof_order, tree.dof_parent, tree.dof_level)
    descent = buffers.descent_state
    advance(tree, pattern, problem.box, options, q, 0.0, work.g, work.H, work.S, work.P, descent)
    poses = np.tile(q, (WARM_UP_FRAMES, 1))
    compute_standard_deviations(recording, poses, 1e-3, 1)
    rows = np.zeros((WARM_UP_FRAMES, 1, problem.skeleton.nv))
    compute_combination_deviations(recording, poses, 1e-3, 1, 1, lambda _: rows)
    are_minima(recording, poses)


PARTS = {
    "poses": precompile_poses,
    "recordings": precompile_recordings,
    "steps": precompile_steps,
}


@contextlib.contextmanager
def _one_at_a_time(part: str) -> Iterator[None]:
    """Wait until no other process compiles this part of this installation."""
    try:
        import fcntl
    except ImportError:  # Windows: they may then work side by side, and each finds what is done
        yield
        return
    installation = sha256(f"{__file__} {part}".encode()).hexdigest()[:16]
    lock = Path(tempfile.gettempdir()) / f"exactik-{os.getuid()}-{installation}.lock"
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def main(parts: list[str]) -> None:
    """Compile the parts named, in their order."""
    os.environ["EXACTIK_INTERPRET"] = "0"
    unknown = sorted(set(parts) - set(PARTS))
    if unknown:
        sys.exit(f"exactik.precompile: no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    for part in parts or ["poses"]:
        with _one_at_a_time(part):
            PARTS[part]()


if __name__ == "__main__":
    main(sys.argv[1:])
