"""Joint angles of our human against those that were published for the same recordings.

    python tools/compare_angles.py                      # all recordings below
    python tools/compare_angles.py gait2354 pig         # those whose name contains a word
    python tools/compare_angles.py gait2354 --motion walk.npz   # a motion already solved
    python tools/compare_angles.py --markdown           # the table of docs/angles.md

Every recording is solved as a user would, `exactik solve FILE --skeleton human`, options after `--`
added; its angles (`exactik.recordings.angles`) are compared with OpenSim's inverse kinematics
(another skeleton, scaled and with markers registered by hand) or with Plug-in Gait's (in the C3D
itself). Shown is the rms difference after a constant offset [°], and that offset: definitions of
the neutral pose differ from model to model by constants, the movement should not."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from exactik.io import load_markers, load_motion
from exactik.model.motion import Motion
from exactik.recordings.angles import compute_joint_angles

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SIDES = ("r", "l")

# What OpenSim and Plug-in Gait call our angles, and their sign. OpenSim's knees flex to the
# negative in the older models (gait2354, gait10dof) and to the positive in the later ones.
OPENSIM = {
    "hip_flexion": ("hip_flexion", 1.0),
    "hip_adduction": ("hip_adduction", 1.0),
    "hip_rotation": ("hip_rotation", 1.0),
    "knee_flexion": ("knee_angle", 1.0),
    "ankle_dorsiflexion": ("ankle_angle", 1.0),
}
OLD_OPENSIM = {**OPENSIM, "knee_flexion": ("knee_angle", -1.0)}
PLUG_IN_GAIT = {
    "hip_flexion": ("HipAngles", 0),
    "hip_adduction": ("HipAngles", 1),
    "hip_rotation": ("HipAngles", 2),
    "knee_flexion": ("KneeAngles", 0),
    "ankle_dorsiflexion": ("AnkleAngles", 0),
}


class Case(NamedTuple):
    """A recording and the angles published for it.

    Attributes:
        name: short.
        recording: below the data folder.
        angles: MOT file below it, or empty: the C3D holds them.
        columns: what they are called there.
        start: time of the recording's first frame in the MOT file [s].
        is_gait: whether the tolerances of gait hold.
    """

    name: str
    recording: str
    angles: str = ""
    columns: Mapping[str, tuple[str, float]] = OPENSIM
    start: float = 0.0
    is_gait: bool = False


CASES = (
    Case(
        name="gait2354",
        recording="opensim/gait2354/subject01_walk1.trc",
        angles="opensim/gait2354/subject01_walk1_ik.mot",
        columns=OLD_OPENSIM,
        is_gait=True,
    ),
    Case(
        name="gait10dof",
        recording="opensim/gait10dof/subject01_walk.trc",
        angles="opensim/gait10dof/subject01_walk_IK.mot",
        columns=OLD_OPENSIM,
        is_gait=True,
    ),
    Case(
        name="dropjump",
        recording="opensim/laiarnold_s5_dropjump/DJ1.trc",
        angles="opensim/laiarnold_s5_dropjump/DJ1.mot",
    ),
    Case(
        name="pose2sim",
        recording="opensim/pose2sim/Pose2Sim_markers.trc",
        angles="opensim/pose2sim/Pose2Sim_motion.mot",
        start=1.0 / 60.0,
    ),
    Case(name="pig-motion", recording="c3d/vicon_pig/PiG_Motion3_FF.c3d", is_gait=True),
    Case(name="pig-sub-labels", recording="c3d/vicon/sub_labels.c3d", is_gait=True),
    Case(name="pig-static", recording="c3d/vicon_pycgm/Sample_Static.c3d"),
)


class Difference(NamedTuple):
    """Ours minus the published angle, over the frames that have both.

    Attributes:
        angle: with side.
        rms: after the offset [°].
        offset: mean [°].
        worst: largest after the offset [°].
        spread: rms of the published angle about its mean [°].
        frames: number of them.
    """

    angle: str
    rms: float
    offset: float
    worst: float
    spread: float
    frames: int


def solve_recording(path: Path, options: Sequence[str] = ()) -> Motion:
    """Return the motion that the command line finds."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "motion.npz"
        command = [sys.executable, "-m", "exactik", "solve", str(path), "--skeleton", "human"]
        run = subprocess.run(
            [*command, "-o", str(target), *options], capture_output=True, text=True, check=False
        )
        if not target.exists():
            raise SystemExit(f"{path.name}: {run.stdout}{run.stderr}")
        return load_motion(target)


def read_published(case: Case, motion: Motion, data: Path = DATA) -> dict[str, np.ndarray]:
    """Return the published angles [°] at the frames of the motion, (T,), NaN where none are."""
    if case.angles != "":
        return _read_opensim(case, motion, data)
    others = load_markers(data / case.recording).others
    published = {}
    for ours, (theirs, axis) in PLUG_IN_GAIT.items():
        for side in SIDES:
            for name, series in others.items():
                if name.rpartition(":")[2].startswith(f"{side.upper()}{theirs}"):
                    values = np.where(
                        np.any(series.values != 0.0, axis=1)[:, None], series.values, np.nan
                    )
                    published[f"{ours}_{side}"] = values[:, axis]
    return published


def _read_opensim(case: Case, motion: Motion, data: Path) -> dict[str, np.ndarray]:
    lines = (data / case.angles).read_text(encoding="utf-8").splitlines()
    head = next(k for k, line in enumerate(lines) if line.startswith("time"))
    names = lines[head].split()
    rows = np.array(
        [[float(x) for x in line.split()] for line in lines[head + 1 :] if line.strip()]
    )
    times = case.start + motion.times
    inside = (times > rows[0, 0] - 1e-3) & (times < rows[-1, 0] + 1e-3)
    published = {}
    for ours, (theirs, sign) in case.columns.items():
        for side in SIDES:
            if f"{theirs}_{side}" in names:
                values = np.interp(times, rows[:, 0], rows[:, names.index(f"{theirs}_{side}")])
                published[f"{ours}_{side}"] = np.where(inside, sign * values, np.nan)
    return published


def compare(case: Case, motion: Motion, data: Path = DATA) -> list[Difference]:
    """Return the difference of every angle that both have."""
    angles = compute_joint_angles(motion)
    differences = []
    for name, published in read_published(case, motion, data).items():
        ours = np.degrees(angles.angle(name))
        both = np.isfinite(ours) & np.isfinite(published)
        if both.sum() < 2:
            continue
        off = (ours - published)[both]
        rest = off - off.mean()
        differences.append(
            Difference(
                angle=name,
                rms=float(np.sqrt(np.mean(rest**2))),
                offset=float(off.mean()),
                worst=float(np.abs(rest).max()),
                spread=float(published[both].std()),
                frames=int(both.sum()),
            )
        )
    return differences


def print_case(case: Case, differences: Sequence[Difference], markdown: bool) -> None:
    """Print a line for each angle, right and left."""
    for difference in differences:
        cells = (
            case.name,
            difference.angle,
            f"{difference.rms:.1f}",
            f"{difference.offset:+.1f}",
            f"{difference.worst:.1f}",
            f"{difference.spread:.1f}",
            f"{difference.frames}",
        )
        if markdown:
            print(f"| {' | '.join(cells)} |")
        else:
            print("{:<15} {:<22} {:>6} {:>7} {:>6} {:>7} {:>6}".format(*cells), flush=True)


def main() -> None:
    """Solve, compare, print."""
    own, _, options = " ".join(sys.argv[1:]).partition(" -- ")
    parser = argparse.ArgumentParser(description="Joint angles against published ones")
    parser.add_argument("words", nargs="*", help="parts of names of recordings")
    parser.add_argument("--motion", help="a motion of the recording, already solved")
    parser.add_argument("--markdown", action="store_true", help="a table for the documentation")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the recordings")
    asked = parser.parse_args(own.split())
    head = ("recording", "angle", "rms °", "offset", "worst", "spread", "frames")
    if asked.markdown:
        print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    else:
        print("{:<15} {:<22} {:>6} {:>7} {:>6} {:>7} {:>6}".format(*head))
    for case in CASES:
        if len(asked.words) > 0 and not any(word in case.name for word in asked.words):
            continue
        if asked.motion is not None:
            motion = load_motion(asked.motion)
        else:
            motion = solve_recording(asked.data / case.recording, options.split())
        print_case(case, compare(case, motion, asked.data), asked.markdown)


if __name__ == "__main__":
    main()
