"""Kernels made ready before work begins, so that no progress bar stands still for them.

What solves a recording takes some minutes to compile, once. While this process compiles the
tracker, a second one compiles other kernels; each finds in the cache what the other has done.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.event import Listener, install_listener
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from exactik.cli._app import err
from exactik.recordings.precompile import (
    precompile_poses,
    precompile_recordings,
    waiting_for_compiler,
)

COMPILING_RECORDINGS = "two to three minutes on two idle cores"
PATIENCE_S = 1.5  # [s] of compiling before a word is said; people wait for less without one


def compile_kernels(robust: str | None = None, smooth: float | str | None = "auto") -> None:
    """Compile what `track` and its error bars need, or load it, and say so if that takes long.

    From here on nothing is interpreted: the last bits of a pose would depend on whether its kernels
    were compiled yet, and a calibration may follow them to another minimum.
    """
    os.environ["EXACTIK_INTERPRET"] = "0"
    helpers: list[subprocess.Popen[bytes]] = []
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    clock = Progress(*columns, console=err, transient=True, disable=not err.is_terminal)

    def meanwhile() -> None:
        clock.add_task("compiling")
        clock.start()
        helpers.extend(_start_helpers())

    try:
        with compiling(meanwhile, COMPILING_RECORDINGS):
            precompile_recordings(robust, smooth)
            for helper in helpers:
                helper.wait()
            clock.stop()
    finally:
        clock.stop()


def compile_poses() -> None:
    """Compile what solves poses and batches of them, or load it, and say so if that takes long.

    Nothing is interpreted meanwhile: what comes next is long work, which would only compile the
    same kernels again, behind a progress bar that stands still.
    """
    with compiling(), waiting_for_compiler():
        precompile_poses()


@contextmanager
def compiling(
    meanwhile: Callable[[], object] = lambda: None, how_long: str = "about a minute on an idle core"
) -> Iterator[None]:
    """Say so if kernels are compiled in what follows, and how long that took.

    Args:
        meanwhile: called in that case, from another thread.
        how_long: it takes, in words.
    """
    notice = f"Compiling kernels, {how_long}; kept for the next time …"

    def announce() -> None:
        err.print(f"[dim]{notice}[/dim]")
        meanwhile()

    watch = _CompilerWatch(announce)
    start = time.perf_counter()
    try:
        with install_listener("numba:compile", watch):
            yield
    finally:
        announced = watch.stop()
    if announced:
        err.print(f"[dim]… ready after {time.perf_counter() - start:.0f} s.[/dim]")


class _CompilerWatch(Listener):
    """Calls a function once, when Numba has been compiling for a while.

    What is loaded from the cache, slow as that may be on a busy machine, is no compiling.
    """

    def __init__(self, announce: Callable[[], object]):
        self._announce = announce
        self._timer = threading.Timer(PATIENCE_S, self._run)
        self._timer.daemon = True
        self._began = self._announced = False
        self._lock = threading.Lock()

    def _run(self) -> None:
        self._announced = True
        self._announce()

    def on_start(self, event: Any) -> None:
        with self._lock:
            if not self._began:
                self._began = True
                self._timer.start()

    def on_end(self, event: Any) -> None:
        """Nothing: kernels compile one another, and the first beginning is what counts."""

    def stop(self) -> bool:
        """Return whether it was announced, when that is over."""
        if self._began:
            self._timer.cancel()
            self._timer.join()
        return self._announced


def _start_helpers() -> list[subprocess.Popen[bytes]]:
    """Start what compiles the other half, if there is a second processor."""
    if (os.cpu_count() or 1) < 2:
        return []
    command = [sys.executable, "-m", "exactik.recordings.precompile", "error-bars"]
    nowhere = subprocess.DEVNULL
    return [subprocess.Popen(command, stdout=nowhere, stderr=nowhere)]
