"""The parts that can be compiled beforehand, and which of them the cache does not have."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import numpy as np

from exactik.goals import MarkerGoal
from exactik.model import Skeleton, human
from exactik.model.motion import Markers
from exactik.problem import Problem
from exactik.solvers import solve

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
    from exactik.recordings.tracking import track

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


def precompile_error_bars() -> None:
    """Compile what `track` comes to last: error bars, and whether frames are minima.

    A process that does this beside one that tracks shortens the wait.
    """
    from exactik.recordings.tracking import (
        are_minima,
        compute_combination_deviations,
        compute_standard_deviations,
        make_tracking_problem,
    )

    recording = make_tracking_problem(*_make_recording())
    skeleton = recording.skeleton
    poses = np.tile(skeleton.neutral(), (WARM_UP_FRAMES, 1))
    compute_standard_deviations(recording, poses, 1e-3, 1)
    rows = np.zeros((WARM_UP_FRAMES, 1, skeleton.nv))
    compute_combination_deviations(recording, poses, 1e-3, 1, 1, lambda _: rows)
    are_minima(recording, poses)


PARTS = {
    "poses": precompile_poses,
    "recordings": precompile_recordings,
    "error-bars": precompile_error_bars,
}


@contextlib.contextmanager
def one_at_a_time(part: str) -> Iterator[None]:
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


def list_missing() -> list[str]:
    """Return the parts for recordings and reports on them that the cache does not have."""
    from exactik.kernels import lacks_machine_code
    from exactik.kernels.recording.combination_error_bars import estimate_combination_deviations
    from exactik.kernels.recording.sequence import solve_sequence

    last = {"recordings": solve_sequence, "error-bars": estimate_combination_deviations}
    return [part for part, kernel in last.items() if lacks_machine_code(kernel)]


def compile_missing() -> None:
    """Compile what tracks recordings and reports on them, as far as the cache does not have it.

    Of several processes of a machine one works and the others wait for it.
    """
    for part in list_missing():
        with one_at_a_time(part):
            PARTS[part]()


@contextlib.contextmanager
def waiting_for_compiler() -> Iterator[None]:
    """Let every call wait for machine code, as EXACTIK_INTERPRET=0 does."""
    before = os.environ.get("EXACTIK_INTERPRET")
    os.environ["EXACTIK_INTERPRET"] = "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ["EXACTIK_INTERPRET"]
        else:
            os.environ["EXACTIK_INTERPRET"] = before


def compile_parts(parts: list[str]) -> None:
    """Compile the parts named, in their order; what solves poses if none is."""
    unknown = sorted(set(parts) - set(PARTS))
    if unknown:
        sys.exit(f"precompile: no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    for part in parts or ["poses"]:
        with one_at_a_time(part), waiting_for_compiler():
            PARTS[part]()
