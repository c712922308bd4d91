"""Kernels compiled ahead of time: what is called, what is refused, and what is said without it."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exactik.compile import jit, jit_forceinline, list_libraries, load_library
from exactik.errors import KernelError
from exactik.kernels.linear.active_set import clip_to_limits
from exactik.typing import Array
from tests.support.checkout import ROOT

SOLVE = """
import exactik as ik
result = ik.solve(ik.Problem(ik.human(), ik.PositionGoal("r_hand", (0.3, 0.4, 1.2))))
print("solved" if result.reached else result)
"""
OWN_GOAL = """
import numpy as np, exactik as ik

class Height(ik.FrameGoal):
    def residual(self, rotation, position):
        return np.array([position[2] - 1.2])

print(ik.solve(ik.Problem(ik.human(), Height("r_hand"))).reached)
"""
WITHOUT_NUMBA = "import sys; sys.modules['numba'] = sys.modules['llvmlite'] = None\n"


@pytest.fixture(autouse=True)
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may be compiled: a call that the library does not take is an error."""
    if load_library() is None:
        pytest.skip("no library of kernels for this processor: `make library` makes it")
    monkeypatch.setenv("EXACTIK_COMPILED", "strict")


def run(code: str, source: Path = ROOT / "src", **variables: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(source), **variables}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300
    )


@pytest.fixture
def copied_source(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "src"


# --- which library is used


def test_every_library_here_was_made_from_these_sources():
    files = sorted((ROOT / "src" / "exactik" / "compile" / "lib").glob("kernels-*.so"))
    assert list_libraries() == files, "`make library` makes it anew"


@pytest.mark.parametrize(
    "file", ["kernels/tree/fk.py", "spatial/_sincos.py", "compile/signatures.json"]
)
def test_a_library_of_other_sources_is_not_used(copied_source: Path, file: str):
    with (copied_source / "exactik" / file).open("a", encoding="utf-8") as edited:
        edited.write("\n")
    done = run(SOLVE, copied_source)
    assert "KernelError" in done.stderr and "would be compiled" in done.stderr
    said = run("import exactik.compile as c; print(c.describe_library())", copied_source)
    assert said.stdout.startswith("kernels compiled by Numba") and "does not fit" in said.stdout


def test_a_file_that_is_no_library_is_passed_over(copied_source: Path):
    for file in (copied_source / "exactik" / "compile" / "lib").glob("kernels-*.so"):
        file.write_bytes(b"\x7fELF and no more")
    done = run("import exactik.compile as c; print(c.describe_library())", copied_source)
    assert done.returncode == 0 and "compiled by Numba" in done.stdout
    assert "cannot be used" in done.stderr


def test_a_processor_without_the_instructions_has_another_library():
    done = run(
        "import exactik.compile as c; print(c.describe_library())",
        NPY_DISABLE_CPU_FEATURES="X86_V3 X86_V4 AVX2 FMA3 AVX512F AVX512_SKX",
        PYTHONWARNINGS="ignore",
    )
    assert done.returncode == 0, done.stderr
    assert "x86-64-v3" not in done.stdout.partition("(")[0]


def test_switched_off_it_is_not_used():
    done = run("import exactik.compile as c; print(c.describe_library())", EXACTIK_COMPILED="0")
    assert done.stdout.strip() == (
        "kernels compiled by Numba when they are called (EXACTIK_COMPILED=0)"
    )


# --- which calls an entry takes

COORDINATE, LOWER, UPPER = np.array([0, -1, 1]), np.full(3, -1.0), np.full(3, 1.0)


def clip(q: Array, lower: Array = LOWER) -> Array:
    clip_to_limits(COORDINATE, lower, UPPER, q)
    return q


def test_arrays_are_written_in_place():
    np.testing.assert_array_equal(clip(np.array([3.0, -0.5, 7.0])), [1.0, -0.5, 7.0])


def test_arrays_from_another_process_are_taken():
    """Their objects of types are others, of the same kind."""
    q = pickle.loads(pickle.dumps(np.array([3.0, -5.0, 7.0])))
    np.testing.assert_array_equal(clip(q, pickle.loads(pickle.dumps(LOWER))), [1.0, -1.0, 7.0])


def test_an_array_that_is_only_read_may_be_read_only():
    lower = LOWER.copy()
    lower.flags.writeable = False
    np.testing.assert_array_equal(clip(np.array([-3.0, 0.0]), lower), [-1.0, 0.0])


def read_only(q: Array) -> Array:
    q.flags.writeable = False
    return q


@pytest.mark.parametrize(
    "q",
    [
        pytest.param(np.zeros(3, np.float32), id="single precision"),
        pytest.param(np.zeros(3, ">f8"), id="other byte order"),
        pytest.param(np.zeros(3, np.int64), id="integers"),
        pytest.param(np.zeros(3, complex), id="complex"),
        pytest.param(np.zeros((3, 1)), id="two dimensions"),
        pytest.param(np.zeros(6)[::2], id="with gaps"),
        pytest.param(np.frombuffer(bytes(25), np.uint8)[1:].view(float), id="not aligned"),
        pytest.param(read_only(np.zeros(3)), id="written, but read-only"),
        pytest.param(np.zeros(3).view(np.ma.MaskedArray), id="another class of arrays"),
        pytest.param([0.0, 0.0, 0.0], id="list"),
        pytest.param(None, id="nothing"),
        pytest.param(0.0, id="number"),
    ],
)
def test_what_an_entry_was_not_made_for_is_refused_untouched(q: Array):
    before = np.array(q)
    with pytest.raises(KernelError, match=r"clip_to_limits would be compiled: .*arguments"):
        clip(q)
    np.testing.assert_array_equal(np.array(q), before)


def test_too_few_arguments_are_refused():
    with pytest.raises(KernelError):
        clip_to_limits(COORDINATE, LOWER)  # pyright: ignore[reportCallIssue]


# --- with and without a compiler

# Numba asks for the code of `interrupted` while it compiles, in a call of C that loses exceptions.
INTERRUPTED = """
import ctypes, os, signal, sys
from numba.extending import overload
from exactik.compile import jit

sys.unraisablehook = lambda lost: print("lost", lost.exc_type.__name__)

def interrupted(): ...

@overload(interrupted)
def compile_interrupted():
    ctypes.CFUNCTYPE(None)(lambda: os.kill(os.getpid(), signal.SIGINT))()
    return lambda: 1.0

@jit
def kernel():
    return interrupted()

try:
    print("finished", kernel())
except KeyboardInterrupt:
    print("interrupted")
print("again", kernel())
"""


def test_only_what_says_so_becomes_part_of_its_callers():
    pytest.importorskip("numba")
    called: Any = jit(lambda x: x + 1.0)
    caller: Any = jit_forceinline(lambda x: called(x))  # compiled first, it compiles the other
    caller.linked.compile("(float64,)")
    inlined = [[c.fndesc.inline for c in k.linked.overloads.values()] for k in (called, caller)]
    assert inlined == [[False], [True]]


def test_an_interrupt_that_is_lost_while_compiling_is_raised_after_it():
    said = run(INTERRUPTED, EXACTIK_COMPILED="0").stdout
    assert said.split("\n")[:3] == ["lost KeyboardInterrupt", "interrupted", "again 1.0"]


def test_numba_is_not_imported_for_what_the_library_has():
    done = run(SOLVE + "import sys; print('numba' in sys.modules, 'llvmlite' in sys.modules)")
    assert done.stdout.split() == ["solved", "False", "False"], done.stderr


def test_a_solve_needs_no_numba():
    done = run(WITHOUT_NUMBA + SOLVE, EXACTIK_COMPILED="1")
    assert done.stdout.strip() == "solved", done.stderr


def test_without_library_and_numba_one_sentence_says_what_to_install():
    done = run(WITHOUT_NUMBA + SOLVE, EXACTIK_COMPILED="0")
    last = done.stderr.strip().splitlines()[-1]
    assert "KernelError" in last and "pip install 'exactik[jit]'" in last


def test_an_own_goal_in_plain_python_needs_no_numba():
    done = run(WITHOUT_NUMBA + OWN_GOAL, EXACTIK_COMPILED="1")
    assert done.stdout.strip() == "True", done.stderr
