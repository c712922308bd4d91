"""Batches on a GPU: the answers of the CPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import exactik as ik
from exactik.kernels.cuda import find_gpu
from tests.support.checkout import ROOT
from tests.support.gpu_batches import describe_tracks, make_problem, make_targets, solve, track

pytest.importorskip("numba.cuda", reason="needs numba-cuda, which the CUDA simulator comes with")

CASES = (
    "mixed:auto",
    "coupled:auto",
    "coupled:gauss-newton",
    "track:quadratic",
    "track:tukey",
)


@pytest.mark.full
def test_the_simulator_gives_the_answers_of_the_cpu() -> None:
    """All kinds of joints, goals and couplings; limits; several starts; passes equal."""
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    answer = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.support.gpu_batches", "2", *CASES],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stderr
    for case, found in json.loads(answer.stdout).items():
        kind, _, solver = case.partition(":")
        if kind == "track":
            loss = None if solver == "quadratic" else solver
            expected = describe_tracks(track("coupled", loss, 2, 6, 3, "cpu"))
            np.testing.assert_allclose(found["q"], expected["q"], atol=1e-9)
            assert found["iterations"] == expected["iterations"]
            assert (found["device"], expected["device"]) == ("cuda: simulator", "cpu")
            continue
        expected = solve(kind, solver, 2, "cpu")
        np.testing.assert_allclose(found["q"], expected.q, atol=1e-9)
        for name, errors in expected.goal_errors.items():
            np.testing.assert_allclose(found["errors"][name], errors, atol=1e-9)
        assert found["evaluations"] == expected.evaluations.tolist()
        assert found["attempts"] == expected.attempts.tolist()
        assert found["ended"] == expected.ended.tolist()
        assert found["device"] == "cuda: simulator"


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.parametrize("case", ["mixed:auto", "mixed:levenberg-marquardt", "coupled:auto"])
def test_a_gpu_gives_the_answers_of_the_cpu(case: str) -> None:
    kind, _, solver = case.partition(":")
    expected, found = (solve(kind, solver, 2000, device) for device in ("cpu", "cuda"))
    equal = np.abs(found.q - expected.q).max(axis=1) < 1e-10
    assert equal.mean() > 0.99
    assert (found.ended == expected.ended).mean() > 0.99
    np.testing.assert_allclose(found.cost[equal], expected.cost[equal], rtol=1e-9, atol=1e-18)
    lower, upper = found.problem.skeleton.lower, found.problem.skeleton.upper
    plain = found.problem.skeleton.plain_q
    assert (found.q[:, plain[plain >= 0]] >= lower[plain >= 0]).all()
    assert (found.q[:, plain[plain >= 0]] <= upper[plain >= 0]).all()


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mixed", "coupled"])
@pytest.mark.parametrize("loss", [None, "huber", "tukey"])
def test_a_gpu_follows_recordings_as_the_cpu(kind: str, loss: str | None) -> None:
    expected, found = (track(kind, loss, 20, 40, 10, device) for device in ("cpu", "cuda"))
    q = [np.concatenate([one.motion.q for one in tracks]) for tracks in (expected, found)]
    assert (np.abs(q[0] - q[1]).max(axis=1) < 1e-9).mean() > 0.99
    assert found[0].device.startswith("cuda")


def test_too_little_memory_halves_what_is_copied_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from exactik.kernels.cuda.transfer import OUT_OF_MEMORY, allocate_or_halve, cuda

    monkeypatch.setattr(cuda, "synchronize", lambda: None)
    asked: list[int] = []

    def allocate(size: int) -> str:
        asked.append(size)
        if size > most:
            raise cuda.cudadrv.driver.CudaAPIError(OUT_OF_MEMORY, "out of memory")
        return "room"

    most = 60
    assert allocate_or_halve(allocate, 200) == ("room", 50)
    assert asked == [200, 100, 50]
    most = 0
    with pytest.raises(ik.UsageError, match="the GPU has too little free memory for this figure"):
        allocate_or_halve(allocate, 100)
    assert asked[-1] == 32


def test_without_a_gpu_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = make_problem("coupled")
    monkeypatch.setattr("numba.cuda.is_available", lambda: False)
    with pytest.raises(ik.UsageError, match=r"needs a GPU of NVIDIA's and its driver"):
        ik.solve_batch(problem, make_targets(problem, 2), device="cuda")
    assert find_gpu() is None
    monkeypatch.setitem(sys.modules, "numba.cuda", None)
    monkeypatch.delattr("numba.cuda", raising=False)
    with pytest.raises(ik.UsageError, match=r"pip install '.\[gpu\]'"):
        ik.solve_batch(problem, make_targets(problem, 2), device="cuda")


def test_the_device_is_one_of_three_and_the_result_names_it() -> None:
    problem = make_problem("coupled")
    targets = make_targets(problem, 2)
    with pytest.raises(ik.UsageError, match="device is 'gpu'; it must be one of 'cpu'"):
        ik.solve_batch(problem, targets, device="gpu")
    batch = ik.solve_batch(problem, targets, device="auto")  # too few for a GPU
    assert batch.device == "cpu" and "device 'cpu'" in repr(batch)


def test_what_a_gpu_cannot_do_the_cpu_does_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = make_problem("coupled")
    targets = make_targets(problem, 2)
    monkeypatch.setattr("exactik.kernels.cuda._find.require_gpu", lambda: "stub")
    with pytest.warns(UserWarning, match="on the CPU, since the method 'newton' does not run on"):
        found = ik.solve_batch(problem, targets, solver="newton", device="cuda")
    np.testing.assert_array_equal(found.q, ik.solve_batch(problem, targets, solver="newton").q)
