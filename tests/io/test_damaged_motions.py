"""Damaged files of motions for learning: read, or refused in one sentence; nothing in them is run.

Each holds a trap where its format has room for one: an object that makes a file when it is
unpickled.
"""

from __future__ import annotations

import pickle
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik.errors import FileError
from exactik.io.formats import TRAINERS
from exactik.io.smpl import read_smpl_model
from tests.support.fuzzing import mutant
from tests.support.retargeting_figures import make_robot
from tests.support.smpl_files import make_model

DAMAGED = 2000


class Trap:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path):
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")


def make_files(folder: Path, trap: Trap) -> dict[str, bytes]:
    """Sound files, by name; but for the traps in them."""
    rng = np.random.default_rng(11)
    folder.mkdir()
    amass: dict[str, Any] = {
        "poses": 0.6 * rng.normal(size=(7, 72)),
        "trans": rng.normal(size=(7, 3)),
        "betas": rng.normal(size=10),
        "mocap_framerate": np.array(120.0),
        "labels": np.array([trap], dtype=object),
    }
    np.savez(folder / "amass.npz", **amass)
    model: dict[str, Any] = {**make_model(24, rng, vertices=30), "more": amass["labels"]}
    np.savez(folder / "model.npz", **model)
    np.savez(folder / "objects.npz", poses=amass["labels"], trans=amass["labels"])
    robot = make_robot()
    motion = ik.Motion(robot, np.tile(robot.neutral(), (3, 1)), 30.0, up_axis="z")
    motion.save(folder / "ours.npz")
    for form in TRAINERS:
        motion.save(folder / f"robot{form.suffix}")
    (folder / "trap.pkl").write_bytes(pickle.dumps({"root_pos": trap}))
    with zipfile.ZipFile(folder / "trap.motion", "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(trap))
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def readers_of(name: str) -> list[Callable[[Path], object]]:
    """All that somebody may do with a file of this name."""
    found: list[Callable[[Path], object]] = [ik.load_motion, ik.load_skeleton]
    return [*found, lambda path: read_smpl_model(str(path))] if "model" in name else found


def is_refused(path: Path) -> bool:
    """Whether all readers refuse a file, in one line each."""
    refusals, readers = 0, readers_of(path.name)
    for read in readers:
        try:
            read(path)
        except FileError as error:
            text = str(error)
            assert "\n" not in text and text.startswith(str(path)) and len(text) < 600
            refusals += 1
    return refusals == len(readers)


def test_sound_files_are_read_or_refused_and_traps_stay_shut(tmp_path: Path):
    trap = tmp_path / "sprung"
    files = make_files(tmp_path / "in", Trap(trap))
    assert pickle.loads(files["trap.pkl"])["root_pos"].close() is None and trap.exists()
    trap.unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ik.FileWarning)
        refused = {name for name in files if is_refused(tmp_path / "in" / name)}
    assert not trap.exists()
    assert set(files) - refused == {"amass.npz", "model.npz", "ours.npz"}


@pytest.mark.full
def test_damaged_files_are_read_or_refused_in_a_sentence(tmp_path: Path):
    trap = tmp_path / "sprung"
    files = make_files(tmp_path / "in", Trap(trap))
    names, refused = list(files), 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ik.FileWarning)
        for k in range(DAMAGED):
            name = names[k % len(names)]
            path = tmp_path / name
            kind = ".npz" if files[name][:2] == b"PK" else path.suffix
            path.write_bytes(mutant(files[name], kind, Random(k), list(files.values())))
            refused += is_refused(path)
    assert 0.5 * DAMAGED < refused <= DAMAGED and not trap.exists()
