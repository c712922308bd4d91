"""HDM05 as the exact-Hessian paper used it, where its files are given.

Lengths of the skeleton and of the root are multiplied as in the published scripts, where an inch
is 2.5189 cm. Thumbs, four dofs that no marker shows, are kept at zero, which leaves 58.

The take of Figures 3 to 5, dg_03-02_01, and those of all rows of Table 4 but one are not to be had
where the scripts are. Frames are chosen from two others by the speed of hands, feet and pelvis.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

from exactik.errors import FileError, FileWarning
from exactik.io import load_markers, load_motion, load_skeleton
from exactik_papers.recording import (
    CM,
    MIN_FRAME_SPACING_S,
    MotionFrames,
    Recording,
    Take,
    find_fastest_frames,
    make_take,
    scale_skeleton,
    spread_frames,
)

__all__ = ["TAKES", "load_hdm05"]

TAKES = ("03-05_02", "01-03_01")
SKELETON, FILE = "HDM_dg.asf", "HDM_dg_{}_120.{}"
INCH, THEIR_INCH = 2.54, 2.5189  # [cm]
LOCK = ("lthumb*", "rthumb*")
WALK, STILL = (0.8, 1.6), 0.5  # speeds [m/s] of a pelvis that walks, of feet that stand
BONES = {
    "root": "LFWT RFWT LBWT RBWT",
    "head": "LFHD RFHD LBHD RBHD",
    "lowerneck": "C7",
    "lowerback": "T10",
    "upperback": "STRN RBAC",
    "thorax": "CLAV",
    **{
        f"{side}{bone}": " ".join(f"{side.upper()}{name}" for name in names.split())
        for side in "lr"
        for bone, names in {
            "femur": "THI KNE",
            "tibia": "SHN",
            "foot": "ANK HEE",
            "toes": "TOE MT5",
            "clavicle": "SHO",
            "humerus": "UPA ELB",
            "radius": "FRM",
            "wrist": "WRA WRB",
            "fingers": "FIN",
        }.items()
    },
}
"""Which markers each bone carries, as in the published scripts."""


def load_hdm05(folder: Path) -> Recording:
    """Return the recording of a folder with HDM_dg.asf and AMC and C3D of the two takes."""
    files = [SKELETON, *(FILE.format(name, kind) for name in TAKES for kind in ("amc", "c3d"))]
    if not folder.is_dir():
        raise FileError(folder, f"no such folder; expected one of HDM05 with {', '.join(files)}")
    missing = [name for name in files if not (folder / name).is_file()]
    if len(missing) > 0:
        raise FileError(folder, f"no folder of HDM05: {', '.join(missing)} not in it")
    workout, walk = (load_take(folder, name) for name in TAKES)
    pelvis = walk.speed("LFWT", "RFWT", "LBWT", "RBWT")
    hands, feet = (
        np.maximum(workout.speed("LFIN"), workout.speed("RFIN")),
        np.maximum(workout.speed("LTOE"), workout.speed("RTOE")),
    )
    kicks = np.maximum(walk.speed("LTOE"), walk.speed("RTOE"))
    apart = f"at least {MIN_FRAME_SPACING_S:g} s apart"
    kinds = {
        "walking": MotionFrames(
            walk,
            spread_frames((pelvis > WALK[0]) & (pelvis < WALK[1])),
            f"frames of {walk.name} spread evenly over those whose pelvis moves at "
            f"{WALK[0]:g} to {WALK[1]:g} m/s",
        ),
        "punching": MotionFrames(
            workout,
            find_fastest_frames(hands, feet < STILL, workout.rate),
            f"no punches in these takes; in their place frames of {workout.name}, {apart}, where a "
            f"hand is fastest while both feet are below {STILL:g} m/s",
        ),
        "kicking": MotionFrames(
            walk,
            find_fastest_frames(kicks, np.ones(len(walk), dtype=bool), walk.rate),
            f"no kicks in these takes; in their place frames of {walk.name}, {apart}, where a foot "
            "is fastest",
        ),
        "workout": MotionFrames(
            workout,
            spread_frames(np.ones(len(workout), dtype=bool)),
            f"frames spread evenly over {workout.name}",
        ),
    }
    about = "; ".join(f"{take.name}, {len(take)} frames at 120 Hz" for take in (workout, walk))
    about = f"HDM05, {about}: 58 dofs, 41 markers, an inch of {THEIR_INCH} cm"
    return Recording("HDM05", about, {take.name: take for take in (workout, walk)}, kinds)


def load_take(folder: Path, name: str) -> Take:
    """Read a take."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileWarning)  # limits that the data do not keep
        skeleton = load_skeleton(folder / SKELETON)
        motion = load_motion(folder / FILE.format(name, "amc"), skeleton)
        path = folder / FILE.format(name, "c3d")
        recorded = load_markers(path, axes="YZX").without_prefix()
    bone_of = {marker: bone for bone, names in BONES.items() for marker in names.split()}
    absent = [marker for marker in bone_of if marker not in recorded.names]
    if len(absent) > 0:
        raise FileError(path, f"no markers named {', '.join(absent)}")
    count = min(len(motion), len(recorded))
    figure, q = scale_skeleton(skeleton, np.array(motion.q[:count]), CM * THEIR_INCH / INCH)
    places = CM * recorded.positions[:count]
    markers = {
        marker: (bone_of[marker], places[:, m])
        for m, marker in enumerate(recorded.names)
        if marker in bone_of
    }
    return make_take(f"dg_{name}", figure, q, markers, recorded.rate, "y", LOCK)
