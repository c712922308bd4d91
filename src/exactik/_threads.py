"""Threads: work in parts on those that were asked for, and none that nobody asked for."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


class _BlasLimit:
    """How many calls keep BLAS to one thread now, and what to restore after the last of them.

    The number of threads of BLAS belongs to the process: calls of several threads share one limit.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depth = 0
        self._limits: Any = None

    def enter(self) -> None:
        """Begin a call; the first one sets the limit."""
        # Imported now: NumPy and SciPy have loaded their libraries by the first call.
        from threadpoolctl import OpenBLASController, threadpool_limits

        with self._lock:
            if self._depth == 0:
                OpenBLASController.clear_controlling_thread(force=True)
                self._limits = threadpool_limits(1, user_api="blas")
            self._depth += 1

    def leave(self) -> None:
        """End a call; the last one restores what was."""
        from threadpoolctl import OpenBLASController

        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                # Which may be on another thread than the first one, which set it.
                OpenBLASController.clear_controlling_thread(force=True)
                self._limits.restore_original_limits()
                OpenBLASController.clear_controlling_thread()


_blas_limit = _BlasLimit()


@contextlib.contextmanager
def keep_blas_on_one_thread() -> Iterator[None]:
    """Keep BLAS to the calling thread; a context, or a decorator of a function.

    BLAS starts a thread for each core, and they spin while they wait. Our matrices are small: alone
    on a machine these threads save nothing, and beside other work they take five times as long.
    """
    _blas_limit.enter()
    try:
        yield
    finally:
        _blas_limit.leave()


def run_in_threads(
    threads: int,
    work: Callable[[T], object],
    parts: Iterable[T],
    stop: threading.Event | None = None,
) -> None:
    """Call `work` with each of the parts, on a thread pool unless `threads` is 1.

    An interrupt (Ctrl-C) or an exception of a part ends it all: parts that have not begun are
    dropped, and those under way are waited for.

    Args:
        threads: number of threads.
        work: is called with a part.
        parts: in the order to begin them.
        stop: is set then, for parts that look at it from time to time.
    """
    if threads == 1:
        for part in parts:
            work(part)
        return
    pool = ThreadPoolExecutor(threads)
    try:
        for future in [pool.submit(work, part) for part in parts]:
            future.result()
    except BaseException:
        if stop is not None:
            stop.set()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
