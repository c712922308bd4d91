"""Settings and fixtures that every test shares."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from exactik.compile import load_library
from tests.support.checkout import DATA

if TYPE_CHECKING:
    from exactik_papers.recording import Recording

# Compilation makes the first example slow, so there is no deadline. Under CI the examples are
# the same in every run; elsewhere each run looks at new ones.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


class _NothingIsCompiled(logging.Handler):
    """An error where the package calls a kernel of its own that the library does not have.

    Tests may call kernels themselves, and goals of their own are compiled; so are sweeps of what
    the quick tests leave out.
    """

    quick = True  # whether the test that runs now is a quick one

    def emit(self, record: logging.LogRecord) -> None:
        if not self.quick:
            return
        frame = sys._getframe(1)
        while frame.f_globals["__name__"] in ("logging", "exactik.compile._jit"):
            assert frame.f_back is not None
            frame = frame.f_back
        caller, told = frame.f_globals["__name__"], record.args
        own = isinstance(told, tuple) and str(told[0]).startswith("exactik.")
        if own and caller.startswith("exactik."):
            raise AssertionError(f"{caller}: {record.getMessage()} (tools/signatures.py adds it)")


def pytest_configure(config: pytest.Config) -> None:
    """Let no test pass in which the package needs a compiler, if the library was made."""
    if load_library() is not None:
        log = logging.getLogger("exactik.compile")
        log.setLevel(logging.INFO)
        log.addHandler(_NothingIsCompiled(logging.INFO))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip tests marked `gpu` where there is no CUDA device; look whether a test is quick."""
    markers = {marker.name for marker in item.iter_markers()}
    _NothingIsCompiled.quick = markers.isdisjoint({"full", "slow", "gpu", "browser"})
    if item.get_closest_marker("gpu") is not None:
        cuda = pytest.importorskip("numba.cuda")
        if not cuda.is_available():
            pytest.skip("no CUDA device")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real files beside the checkout, too large to be part of it."""
    folder = DATA.parent
    if not folder.is_dir():
        pytest.skip("real files are absent: no folder ../shared beside the checkout")
    return folder


@pytest.fixture(scope="session")
def recording() -> Recording:
    """Our own recording, as `exactik reproduce` takes it; made once."""
    from exactik_papers.recording import make_synthetic_recording

    return make_synthetic_recording()
