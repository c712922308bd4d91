"""`exactik live`: replays, what is written and said, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import exactik as ik
from exactik.cli import app, load_commands
from exactik.errors import ExactikError
from exactik.lab.synthetic import simulate_performance, simulate_recording

load_commands(["live"])


@pytest.fixture(scope="module")
def take(tmp_path_factory: pytest.TempPathFactory) -> Path:
    motion = simulate_performance(2.0, 100.0, seed=3, acts=("punch",))
    path = tmp_path_factory.mktemp("live") / "take.c3d"
    simulate_recording(motion, gaps=0.02, swap=True, seed=1).markers.save(path)
    return path


def run(*words: object) -> str:
    result = CliRunner().invoke(app, ["live", *map(str, words)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


def test_a_replay_is_solved_and_written(take: Path, tmp_path: Path):
    out = tmp_path / "out.npz"
    said = run(take, "--skeleton", "human", "--rate", "inf", "-o", out, "--send", "udp:9")
    assert "201 poses of 201 frames" in said and "nothing lost" in said and str(out) in said
    motion = ik.load_motion(out)
    assert len(motion) == 201 and np.isfinite(motion.q).all()


def test_the_figure_is_fitted_first(take: Path, tmp_path: Path):
    out = tmp_path / "out.npz"
    words = "--skeleton human --rate inf --calibrate-seconds 1 --lag 3 -o".split()
    run(take, *words, out)
    motion = ik.load_motion(out)
    assert len(motion) == 201 and motion.skeleton != ik.human()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("udp:5005",), "expected --skeleton"),
        (("udp:x", "--skeleton", "human"), "SOURCE is 'udp:x'"),
        (("qualisys:99999", "--skeleton", "human"), "SOURCE is"),
        (("TAKE", "--skeleton", "human", "--rate", "-5"), "--rate is -5"),
        (("TAKE", "--skeleton", "human", "-o", "out.txt"), "-o is 'out.txt'"),
        (("TAKE", "--skeleton", "human", "--send", "carrier:7", "--rate", "inf"), "--send is"),
        (("TAKE", "--skeleton", "human", "--send", "lsl", "--rate", "inf"), "whole network"),
        (("none.bvh.part",), "none.bvh.part: cannot be read"),
        (("none.c3d", "--skeleton", "human"), "none.c3d"),
    ],
)
def test_misuse_is_a_sentence(take: Path, words: tuple[str, ...], text: str):
    with pytest.raises(ExactikError) as error:
        run(*(str(take) if word == "TAKE" else word for word in words))
    assert text in str(error.value)
