"""The first poses are interpreted while another process compiles."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik.compile import has_machine_code, interpret
from exactik.kernels import MAX_INTERPRETED_POSES, compiled_or_interpreted, tiers
from exactik.kernels.calculus import evaluate as calculus
from exactik.kernels.descent.starts import solve_problems
from exactik.kernels.tree import fk
from exactik.recordings import precompile
from exactik.recordings.precompile import one_at_a_time
from exactik.solvers import CCD, Auto, LevenbergMarquardt, Method, Newton

pytestmark = pytest.mark.skipif(
    not hasattr(calculus.evaluate, "py_func"), reason="nothing is compiled here at all"
)

FIRST_POSE = """
import numba.core.event as event
with event.install_recorder("numba:compile") as compiled:
    import exactik as ik
    figure = ik.human()
    result = ik.solve(figure, [ik.MarkerGoal("LFIN", (0.4, 0.3, 1.2))])
    figure.forward(result.q), figure.jacobian(result.q, "l_hand"), result.certificate
from exactik.kernels import tiers
[compiler] = tiers._compilers
assert compiler.poll() is None and compiler.args[1:] == ["-m", "exactik.recordings.precompile"]
compiler.kill()
print(len(compiled.buffer), result.status)
print(*result.q)
"""


class FakeCompiler:
    """A process that runs until told."""

    code: int | None = None

    def poll(self) -> int | None:
        return self.code


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> FakeCompiler:
    """Nothing is cached, and what compiles in the background is done when the test says so."""
    fake = FakeCompiler()
    monkeypatch.setenv("EXACTIK_INTERPRET", "1")
    monkeypatch.setattr(tiers, "_compiled", set())
    monkeypatch.setattr(tiers, "_interpreted", {})
    monkeypatch.setattr(tiers, "_compilers", [])
    monkeypatch.setattr(tiers, "is_cached", lambda kernel: False)
    monkeypatch.setattr(tiers, "has_machine_code", lambda kernel: False)
    monkeypatch.setattr(tiers, "_start_compiler", lambda: fake)
    return fake


def test_a_first_pose_compiles_nothing_and_is_the_same(tmp_path: Path):
    environment = {**os.environ, "EXACTIK_INTERPRET": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    answer = subprocess.run(
        [sys.executable, "-W", "error", "-c", FIRST_POSE],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    head, q = answer.stdout.strip().split("\n")
    assert head == "0 reached"
    compiled = ik.solve(ik.human(), [ik.MarkerGoal("LFIN", (0.4, 0.3, 1.2))])
    assert np.abs(np.array(q.split(), float) - compiled.q).max() < 1e-9


def test_calls_are_interpreted_until_the_compiler_is_done(compiler: FakeCompiler):
    assert compiled_or_interpreted(calculus.evaluate) is not calculus.evaluate
    assert compiled_or_interpreted(calculus.evaluate) is compiled_or_interpreted(calculus.evaluate)
    compiler.code = 0
    assert compiled_or_interpreted(calculus.evaluate) is calculus.evaluate
    assert compiled_or_interpreted(fk.forward_kinematics_batch) is fk.forward_kinematics_batch


def test_long_work_waits_for_machine_code(compiler: FakeCompiler):
    batch = fk.forward_kinematics_batch
    assert compiled_or_interpreted(batch, MAX_INTERPRETED_POSES) is not batch
    assert compiled_or_interpreted(batch, MAX_INTERPRETED_POSES + 1) is batch


@pytest.mark.parametrize("reason", ["asked not to", "cached", "no cache", "embedded"])
def test_no_call_is_interpreted(
    compiler: FakeCompiler, monkeypatch: pytest.MonkeyPatch, reason: str
):
    if reason == "asked not to":
        monkeypatch.setenv("EXACTIK_INTERPRET", "0")
    elif reason == "embedded":  # starting Blender again would compile nothing
        monkeypatch.setattr(sys, "executable", "/opt/blender/blender")
    else:
        monkeypatch.setattr(tiers, "is_cached", lambda kernel: reason == "cached" or None)
    assert compiled_or_interpreted(calculus.evaluate) is calculus.evaluate
    assert tiers._compilers == []


METHODS = [
    Auto(max_iterations=3),
    Newton(max_iterations=3),
    CCD(max_iterations=3),
    LevenbergMarquardt(max_iterations=3),
]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_interpreted_and_compiled_solutions_agree(compiler: FakeCompiler, method: Method):
    """Marker, orientation and posture goals on the human, from poses that are no rest."""
    rng = np.random.default_rng(5)
    figure = ik.human()
    names = list(figure.markers)
    pose = figure.forward(figure.integrate(figure.neutral(), rng.normal(0.0, 0.3, figure.nv)))
    hand = figure.bone_index("l_hand")
    goals = [
        *(ik.MarkerGoal(names[i], pose.markers[i]) for i in range(0, len(names), 3)),
        ik.OrientationGoal("l_hand", pose.rotations[hand], weight=0.1),
        ik.PostureGoal(figure.neutral(), weight=0.05),
    ]
    interpreted = ik.solve(ik.Problem(figure, goals), solver=method)
    compiler.code = 0
    compiled = ik.solve(ik.Problem(figure, goals), solver=method)
    assert interpreted.iterations == compiled.iterations
    assert interpreted.cost == pytest.approx(compiled.cost, rel=1e-10)
    assert np.abs(interpreted.q - compiled.q).max() < 1e-9


def test_the_interpreter_divides_by_zero_as_machine_code_does():
    """As in machine code an infinite coordinate is no error in the kernels."""
    figure = ik.human()
    n, nq = len(figure.bones) + 1, figure.nq
    q = np.full((1, nq), np.inf)
    R, p, S = np.empty((1, n, 3, 3)), np.empty((1, n, 3)), np.empty((figure.nv, 6))
    place = interpret(fk.forward_kinematics_batch)
    place(figure.tree, q, np.zeros(3), np.empty(nq), np.empty(nq), R, p, S)
    assert np.isnan(R[0, -1]).any()


def test_of_several_processes_one_compiles(capsys: pytest.CaptureFixture[str]):
    entered = threading.Event()

    def enter() -> None:
        with one_at_a_time("a test"):
            entered.set()

    with one_at_a_time("a test"):
        thread = threading.Thread(target=enter)
        thread.start()
        assert not entered.wait(0.2)
    assert entered.wait(10.0)
    thread.join()


def test_what_is_compiled_beforehand_is_what_first_poses_call():
    """The sample calls run, and leave machine code of the kernels that `solve` calls."""
    precompile.precompile_poses()
    assert has_machine_code(solve_problems) and has_machine_code(calculus.evaluate)


def test_an_unknown_part_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("EXACTIK_INTERPRET", "0")
    with pytest.raises(
        SystemExit, match="no part figures; there are poses, recordings, error-bars"
    ):
        precompile.compile_parts(["figures"])


@pytest.mark.parametrize("before", [None, "1"])
def test_nothing_is_interpreted_while_the_compiler_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, before: str | None
):
    if before is None:
        monkeypatch.delenv("EXACTIK_INTERPRET", raising=False)
    else:
        monkeypatch.setenv("EXACTIK_INTERPRET", before)
    with precompile.waiting_for_compiler():
        assert os.environ["EXACTIK_INTERPRET"] == "0"
    assert os.environ.get("EXACTIK_INTERPRET") == before
