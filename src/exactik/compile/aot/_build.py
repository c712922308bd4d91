"""Make the library of one level on all cores.

One worker types the kernels of trees and generates their code, another one all other kernels: each
knows what it has typed, so that more of them would type much twice. Whoever is free optimises a
part as soon as it is there. Typing is Python and takes nearly as long as the rest.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from exactik.compile._library import hash_sources
from exactik.compile._signatures import read_signatures
from exactik.compile.aot._library import generate_parts, link_library, make_object
from exactik.errors import KernelError

MOST_WORKERS = 4  # two generate, and two optimise faster than they
TREES = ("exactik.kernels.tree.", "exactik.spatial.")  # no goals, so little in common with others
_news: Any = None  # of a worker: where it tells how far it is


def build_library(level: str) -> Path:
    """Make the library of a level, and show how far that is.

    Raises:
        KernelError: a worker died, or the parts cannot be linked.
    """
    begin, sources = time.perf_counter(), hash_sources()
    kernels = [row.kernel for row in read_signatures()[0]]
    trees = [n for n, kernel in enumerate(kernels) if kernel.startswith(TREES)]
    # Backwards: what follows recordings needs nearly all there is, and is the largest part.
    others = [n for n in reversed(range(len(kernels))) if n not in trees]
    print(f"Compiling {len(kernels)} kernels for {level}, once …", file=sys.stderr, flush=True)
    # Numba asks for the level once, when it is imported, and names what it makes in the order of
    # sets; here and not in a worker, since a process takes its seed of hashes when it starts.
    os.environ |= {"NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": "", "PYTHONHASHSEED": "0"}
    spawn = multiprocessing.get_context("spawn")
    news, workers = spawn.SimpleQueue(), min(os.cpu_count() or 1, MOST_WORKERS)
    with (
        tempfile.TemporaryDirectory() as place,
        ProcessPoolExecutor(workers, spawn, initializer=_listen, initargs=(news,)) as pool,
    ):
        folder = Path(place)
        try:
            parts = _make_parts(pool, news, level, folder, [trees, others])
        except BrokenProcessPool:
            raise KernelError(f"the kernels could not be compiled for {level}") from None
        path = link_library(level, sources, parts, folder)
    seconds, size = time.perf_counter() - begin, path.stat().st_size / 1e6
    print(f"… {path.name}, {size:.1f} MB, after {seconds:.0f} s.", file=sys.stderr)
    return path


def _make_parts(
    pool: ProcessPoolExecutor, news: Any, level: str, folder: Path, chapters: list[list[int]]
) -> list[str]:
    """Generate chapters, optimise their parts as they come, and return their names in order."""
    total, parts, live = sum(map(len, chapters)), [], sys.stderr.isatty()
    made = [pool.submit(_generate, folder, numbers) for numbers in chapters]
    for chapter in made:
        chapter.add_done_callback(lambda _: news.put(None))  # also if its process died
    running, done = len(chapters), 0
    while running > 0:
        told = news.get()
        if told is None:
            running -= 1
            continue
        name, is_part = told
        if is_part:
            parts.append(name)
            made.append(pool.submit(make_object, level, name, folder))
        else:
            done += 1
        if live:
            print(f"\r{done} of {total}", end="", file=sys.stderr, flush=True)
    for step in made:
        step.result()
    if live:
        print(end="\r", file=sys.stderr)
    return sorted(parts, key=int)


def _listen(news: Any) -> None:
    global _news
    _news = news


def _generate(folder: Path, numbers: list[int]) -> None:
    gc.disable()  # Numba makes millions of objects that all live to the end
    generate_parts(folder, numbers, lambda name, is_part: _news.put((name, is_part)))
