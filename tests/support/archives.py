"""Tiny takes for the tests of archives: an arm of three bones that waves for a few frames."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np

from exactik import Bone, Joint, Markers, Skeleton, save_markers, save_skeleton

FRAMES = 12
OFFSETS = {"a": (0.05, 0.02, 0.1), "b": (-0.04, 0.05, 0.2), "c": (0.03, -0.06, 0.15)}


def make_arm() -> Skeleton:
    """A base that moves freely, an upper arm and a forearm; three markers on each."""
    bones = [
        Bone("base", joint=Joint.free()),
        Bone("upper", parent="base", joint=Joint.exp_map(), offset=(0.0, 0.0, 0.3)),
        Bone("fore", parent="upper", joint=Joint.revolute("x"), offset=(0.0, 0.0, 0.3)),
    ]
    markers = {f"{b.name}_{n}": (b.name, place) for b in bones for n, place in OFFSETS.items()}
    return Skeleton.build("arm", bones, markers)


def write_takes(
    folder: Path, count: int, frames: int = FRAMES, seed: int = 0, scale: float = 1.0
) -> Path:
    """Write takes of the arm as .c3d files and the arm as arm.npz beside the folder."""
    arm, rng = make_arm(), np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    figure = folder.parent / "arm.npz"
    save_skeleton(arm, figure, up_axis="z")
    for k in range(count):
        v = 0.3 * rng.standard_normal(arm.nv)
        q = np.array([arm.integrate(arm.neutral(), v * np.sin(0.3 * t)) for t in range(frames)])
        places = scale * arm.forward(q).markers + 0.001 * rng.standard_normal((frames, 9, 3))
        save_markers(
            Markers(places, tuple(arm.markers), 100.0, up_axis="z"), folder / f"take{k:04d}.c3d"
        )
    return figure


def hash_outputs(folder: Path) -> dict[str, str]:
    """Hash of every output of an archive, but the provenance, which tells time and machine."""
    takes = folder / "takes"
    return {
        str(path.relative_to(takes)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(takes.rglob("*"))
        if path.is_file() and path.suffix != ".json"
    }


def check_whole(folder: Path, unclaimed: int = 0) -> int:
    """Check that every output is in a provenance with its hash, and none is partial.

    Args:
        folder: of the archive.
        unclaimed: takes at most that may have files without a provenance: those not done.

    Returns:
        How many takes have a provenance.
    """
    takes, outputs = folder / "takes", hash_outputs(folder)
    told: dict[str, str] = {}
    for path in sorted(takes.rglob("*.json")):
        for name, facts in json.loads(path.read_text())["outputs"].items():
            told[str(Path(name).relative_to("takes"))] = facts["sha256"]
    assert told.items() <= outputs.items()
    assert len({Path(name).stem for name in outputs.keys() - told.keys()}) <= unclaimed
    return len(list(takes.rglob("*.json")))
