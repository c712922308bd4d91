"""`exactik retarget`: what it writes, shows and ends with."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import exactik as ik
from exactik import cli
from exactik.lab.synthetic import simulate_performance
from tests.support.retargeting_figures import make_character, make_robot


def test_a_character_takes_over_a_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["exactik", "retarget", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    simulate_performance(2.0, rate=20.0, acts=("walk",)).save("walk.bvh")
    ik.save_skeleton(make_character(), "hero.npz")
    ik.save_skeleton(make_robot(), "robot.npz")

    both = ("-o", "out.bvh", "-o", "out.npz", "--save-bones", "map.json")
    code, out, _ = run("walk.bvh", "--to", "hero.npz", *both)
    assert code == 0
    assert "mixamorig:LeftForeArm" in out and "no limit left, no jump" in " ".join(out.split())
    assert len(ik.load_motion("out.bvh", length_unit="cm")) == len(ik.load_motion("out.npz")) == 41
    assert json.loads(Path("map.json").read_text())["head"] == ["head", "mixamorig:Head"]

    code, out, _ = run("walk.bvh", "--to", "hero.npz", "--bones", "map.json", "--json")
    data = json.loads(out)
    assert code == 0 and data["problems"] == [] and data["frames"] == 41
    assert max(data["hand_error_percent"].values()) < 2.0
    assert all(contact["slide_mm"] < 1.0 for contact in data["contacts"])

    code, out, _ = run("walk.bvh", "--to", "robot.npz", "-o", "robot-walk.npz", "--no-feet")
    words = " ".join(out.split())
    assert code == 1 and "feet slide" in words and "moves freely" in words

    assert run("walk.bvh", "--to", "hero.npz")[0] == 2
    code, _, err = run("walk.bvh", "--to", "hand", "-o", "x.bvh")
    assert code == 2 and "no left leg" in err
    assert run("walk.bvh", "--to", "hero.npz", "-o", "walk.bvh")[0] == 2
