"""Work in parts on threads, which an interrupt stops between parts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["run_in_threads"]

T = TypeVar("T")


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
