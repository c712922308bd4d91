"""Robots by name: from a cache of robot_descriptions or an installed package, not the network."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import exactik as ik
from exactik.errors import FileError, UnknownNameError
from exactik.io import find_robot, list_robots
from exactik.recordings.pipeline import read_skeleton

pytest.importorskip("robot_descriptions")

ROBOT = """<mujoco model="small"><worldbody><body name="pelvis"><freejoint/>
<body name="leg" pos="0 0 -0.3"><joint name="hip" axis="0 1 0" range="-1 1"/></body>
</body></worldbody><compiler angle="radian"/></mujoco>"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache as robot_descriptions keeps it, with a G1 in it and no other robot."""
    file = tmp_path / "mujoco_menagerie" / "unitree_g1" / "g1.xml"
    file.parent.mkdir(parents=True)
    file.write_text(ROBOT)
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path))
    return file


@pytest.mark.parametrize("name", ["unitree_g1", "G1", "unitree-g1", "g1_mj_description"])
def test_a_robot_that_was_fetched_is_found_by_its_names(cache: Path, name: str):
    assert find_robot(name) == cache


def test_a_name_stands_for_a_file_wherever_figures_are_named(cache: Path):
    loaded = read_skeleton("unitree_g1")
    assert loaded.skeleton == ik.load_skeleton(cache) and loaded.up == "z"
    assert str(cache) in loaded.notes[0]


def test_one_that_was_not_fetched_says_how_to_get_it(cache: Path):
    with pytest.raises(FileError, match=r"`robot_descriptions pull h1_mj_description`") as caught:
        find_robot("unitree_h1")
    assert caught.value.code == "robot-not-here"


def test_one_of_macros_alone_says_so(cache: Path):
    with pytest.raises(FileError, match="xacro"):
        find_robot("ur5_official")


def test_near_misses_are_named(cache: Path):
    with pytest.raises(UnknownNameError, match="unitree_g1"):
        find_robot("unitre_g1")
    with pytest.raises(FileError, match="did you mean unitree_g1"):
        read_skeleton("unitre_g1")


def test_robots_of_example_robot_data_are_found():
    if "talos_reduced" not in list_robots():
        pytest.skip("example-robot-data is not installed")
    assert find_robot("talos_reduced").name == "talos_reduced.urdf"
    assert len(ik.load_skeleton(find_robot("romeo")).bones) > 30


def test_looking_for_a_robot_runs_nothing_of_the_package(cache: Path):
    code = (
        "import sys; from exactik.io import find_robot; find_robot('unitree_g1'); "
        "assert 'git' not in sys.modules and 'robot_descriptions.g1_mj_description' "
        "not in sys.modules and 'robot_descriptions._cache' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
