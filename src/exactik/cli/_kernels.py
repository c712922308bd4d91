"""Kernels made ready before work begins, so that no progress bar stands still for them.

What solves a recording takes most of a minute to compile, once. While this process compiles the
tracker, a second one compiles other kernels; each finds in the cache what the other has done.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np

from exactik.cli._app import compiling
from exactik.model import Skeleton, human
from exactik.motion import Markers

__all__ = ["compile_kernels", "compile_other_half"]

WARM_UP_FRAMES = 24  # enough that every kernel of the tracker runs


def compile_kernels(robust: str | None = None, smooth: float | str | None = "auto") -> None:
    """Compile what `track` and its error bars need, or load it, and say so if that takes long."""
    helpers: list[subprocess.Popen[bytes]] = []
    with compiling(lambda: helpers.append(_start_helper())):
        _track_briefly(robust, smooth)
        for helper in helpers:
            helper.wait()


def _track_briefly(robust: str | None, smooth: float | str | None) -> None:
    """Solve a second of somebody who waves, one marker missing: it takes all kernels."""
    from exactik.tracking import track

    solved = track(*_make_recording(), robust=robust, smooth=smooth, starts=2)
    assert solved.certified.shape == (WARM_UP_FRAMES,) and len(solved.sd) == WARM_UP_FRAMES


def _make_recording() -> tuple[Skeleton, Markers]:
    figure = human()
    q = np.tile(figure.neutral(), (WARM_UP_FRAMES, 1))
    q[:, figure.dof_names.index("l_upper_arm.rx")] += np.linspace(0.0, 0.5, WARM_UP_FRAMES)
    places = figure.forward(q).markers.copy()
    places[5:15, list(figure.markers).index("LFIN")] = np.nan
    return figure, Markers(places, tuple(figure.markers), 24.0)


def _start_helper() -> subprocess.Popen[bytes]:
    """Start what compiles the other half; without a second processor, what does nothing."""
    code = "from exactik.cli._kernels import compile_other_half as work; work()"
    code = code if (os.cpu_count() or 1) > 1 else ""
    nowhere = subprocess.DEVNULL
    return subprocess.Popen([sys.executable, "-c", code], stdout=nowhere, stderr=nowhere)


def compile_other_half() -> None:
    """Compile what the tracker comes to late: first the step of a descent, then the error bars."""
    from exactik.kernels.descent.descend import advance
    from exactik.kernels.descent.state import start_descent
    from exactik.kernels.linear.ltdl import AncestorPattern
    from exactik.solvers import Auto
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
