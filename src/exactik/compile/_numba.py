"""Functions compiled by Numba when they are called, for what the library does not have.

Numba keeps machine code on disk beside the source file, and throws it away when that file changes,
but not when a function that it calls does. All compiled files therefore share one stamp, so that an
edit to any of them counts.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numba

from exactik.compile._library import list_sources
from exactik.compile._link_only import LinkOnlyCompiler

# Instructions that Numba has no function for: modules that teach it, loaded before it compiles.
INSTRUCTIONS = ("exactik.kernels.instructions",)


def make_dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return the function as Python calls it."""
    _load_instructions()
    njit: Any = numba.njit
    try:
        made = njit(**options)(function)
    except RuntimeError:  # nowhere to keep a cache: a read-only installation without a home
        made = njit(**(options | {"cache": False}))(function)
    # The file of the cache is private to Numba; without it the cache is merely less careful.
    index: Any = getattr(getattr(made, "_cache", None), "_cache_file", None)
    if hasattr(index, "_source_stamp") and hasattr(index, "_load_index"):
        index._source_stamp = (index._source_stamp, _STAMP)
        index._load_index = _ignore_unreadable(index._load_index)
    compile_ = made.compile

    def compile_for(signature: Any) -> Any:
        with _keep_interrupts():
            return compile_(signature)

    made.compile = compile_for
    return made


def make_linked_dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return the function as compiled callers see it."""
    _load_instructions()
    options = {**options, "cache": False, "no_cpython_wrapper": True}
    njit: Any = numba.njit
    return njit(**options, pipeline_class=LinkOnlyCompiler)(function)


@contextlib.contextmanager
def _keep_interrupts() -> Iterator[None]:
    """Raise at the end what an interrupt (Ctrl-C) raised inside, if that was lost.

    LLVM calls back into Python, and exceptions do not pass through it.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    raised: list[BaseException] = []

    def handle(number: int, frame: Any) -> None:
        try:
            handler(number, frame)
        except BaseException as error:
            raised.append(error)
            raise

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if raised:
        raise raised[0]


def _load_instructions() -> None:
    for module in INSTRUCTIONS:
        import_module(module)


def _stamp() -> tuple[float, int]:
    """Return the latest change and the total size of all files with compiled functions."""
    files = [f.stat() for f in list_sources(Path(__file__).parent.parent)]
    return max(f.st_mtime for f in files), sum(f.st_size for f in files)


_STAMP = _stamp()


def _ignore_unreadable(load: Callable[[], dict]) -> Callable[[], dict]:
    """Take an index that cannot be unpickled for empty: another version had other classes."""

    def load_or_empty() -> dict:
        try:
            return load()
        except (AttributeError, ImportError):
            return {}

    return load_or_empty
