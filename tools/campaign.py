"""How far qualities and error bars can be believed: recordings whose truth is known, solved as files.

    python tools/campaign.py [--data FOLDER] [--seeds 400] [--parity odd] [--jobs N] [--write]

By seed: a motion of a real person, somebody of another build, a marker set or a part of one, a rate
of 50 to 250 Hz, noise, skin that moves, gaps, and a fault. The markers are solved as `exactik solve`
does it, and every value of a joint is compared with the truth. Even seeds are for tuning, odd ones
for the report. --write puts tables into build/campaign.md and the picture into docs/.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import pickle
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tools")]

from campaign_faults import FAULTS, Take  # noqa: E402
from campaign_people import MOTIONS, make_person, read_motion_of  # noqa: E402

from exactik import human  # noqa: E402
from exactik.anatomy.marker_sets import list_marker_sets  # noqa: E402
from exactik.errors import ExactikError  # noqa: E402
from exactik.lab.synthetic import simulate_recording  # noqa: E402
from exactik.model import Skeleton  # noqa: E402
from exactik.model.motion import Markers, Motion  # noqa: E402
from exactik.recordings.calibration.mapping import find_landmark_point  # noqa: E402
from exactik.recordings.pipeline import solve_recording  # noqa: E402
from exactik.recordings.tracking import Quality, Track  # noqa: E402
from exactik.studio.plots.drawing import draw_path  # noqa: E402
from exactik.typing import Array  # noqa: E402

DATA = ROOT.parent / "shared" / "data"
PICTURE = ROOT / "docs" / "reliability.svg"
SETS = (
    "bts_davis cgm2 cleveland_clinic codamotion helen_hayes ior motion_monitor opencap "
    "opensim_gait2354 opensim_rajagopal optitrack_baseline plug_in_gait qualisys_animation "
    "qualisys_sports rizzoli_clusters vicon_41"
).split()
RATES = (50.0, 60.0, 100.0, 120.0, 150.0, 200.0, 250.0)  # [Hz]
LEAST_MARKERS, MOST_MARKERS = 12, 60
THINNED_SHARE = 0.3  # of the recordings, that have a part of their set only
PLACING_SD = 0.025  # [m] at most, by which a marker is beside its landmark, along each axis
NOISE, SKIN, GAPS = (0.0002, 0.0015), (0.002, 0.010), (0.0, 0.06)  # [m], [m], share
FAULTY_SHARE = 0.75  # of the recordings have a fault
CELL_RATE = 25.0  # [Hz] at which values are compared: those between are much the same
WRONG = np.radians(10.0)  # [rad]
LEVELS = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99])
WIDTHS = np.array([0.1257, 0.2533, 0.3853, 0.5244, 0.6745, 0.8416, 1.0364, 1.2816, 1.6449, 1.96, 2.5758])
"""Standard deviations to both sides within which a normal distribution has these shares."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of one recording.

    Attributes:
        seed: of it.
        person: file that the motion is of.
        marker_set: that the markers are of, and how many there are.
        fault: name of it.
        grade: of the verdict, "refused" if it was not solved.
        cells: number of values of each quality, (5,).
        wrong: of these, by more than 10°.
        within: values called measured that lie within bars of each of `LEVELS`, (11,).
        by_joint: joint → numbers measured, within 95 %, wrong, wrong and not called measured.
        seconds: of processor.
    """

    seed: int
    person: str
    marker_set: str
    fault: str
    grade: str = "refused"
    cells: Array = field(default_factory=lambda: np.zeros(len(Quality)))
    wrong: Array = field(default_factory=lambda: np.zeros(len(Quality)))
    within: Array = field(default_factory=lambda: np.zeros(len(LEVELS)))
    by_joint: dict[str, Array] = field(default_factory=dict)
    seconds: float = 0.0


def make_take(seed: int, motion: Motion) -> tuple[Take, Motion, str, str]:
    """Return a recording by its seed, with the truth, the name of its set and its fault."""
    rng = np.random.default_rng(seed)
    person = make_person(rng)
    set_name = str(rng.choice(SETS))
    person = person.with_markers(_place_markers(person, set_name, rng))
    rate = float(rng.choice(RATES))
    # The motion was the built-in human's: the way grows with the body.
    q = np.array(motion.q)
    q[:, :3] *= person.rest_offsets[0, 2] / motion.skeleton.rest_offsets[0, 2]
    truth = Motion(person, person.clip(q), motion.rate, up_axis=motion.up_axis).resampled(rate)
    recording = simulate_recording(
        truth,
        noise=float(rng.uniform(*NOISE)),
        tissue=float(rng.uniform(*SKIN)),
        gaps=float(rng.uniform(*GAPS)),
        swap=False,
        seed=seed,
    )
    bones = tuple(person.markers[name][0] for name in recording.markers.names)
    columns = [person.bone_index(bone) for bone in bones]
    take = Take(recording.markers, bones, truth.forward().rotations[:, columns])
    fault = "none"
    if rng.random() < FAULTY_SHARE:
        fault = str(rng.choice([name for name in FAULTS if name != "none"]))
        spoil = FAULTS[fault]
        spoiled = spoil(take, rng) if spoil is not None else None
        fault = fault if spoiled is not None else "none"
        take = take if spoiled is None else take._replace(markers=spoiled)
    return take, truth, set_name, fault


def _place_markers(
    person: Skeleton, set_name: str, rng: np.random.Generator
) -> dict[str, tuple[str, Array]]:
    """Return markers of a set as somebody put them on, or of a part of the set."""
    found = next(one for one in list_marker_sets() if one.id == set_name)
    first = {landmark.id: name for name, landmark in reversed(found.landmarks.items())}
    landmarks = {name: found.landmarks[name] for name in first.values()}
    stems = list(dict.fromkeys(landmark.id.removeprefix(f"{landmark.side}_") for landmark in landmarks.values()))
    most = MOST_MARKERS
    if rng.random() < THINNED_SHARE:
        most = int(rng.integers(LEAST_MARKERS, max(len(landmarks), LEAST_MARKERS + 1)))
    rng.shuffle(stems)
    markers: dict[str, tuple[str, Array]] = {}
    for stem in stems:
        own = [(n, one) for n, one in landmarks.items() if one.id.endswith(stem) and one.id.removeprefix(f"{one.side}_") == stem]
        if len(markers) + len(own) <= most:
            for name, landmark in own:
                beside = min(landmark.sd, PLACING_SD) * rng.standard_normal(3)
                point = np.array(find_landmark_point(person, landmark)) + beside
                markers[name] = (landmark.bone, point)
    return {name: markers[name] for name in landmarks if name in markers}


def compare(track: Track, truth: Motion) -> dict[str, Array | dict[str, Array]]:
    """Return the numbers of `Outcome`."""
    skeleton = track.skeleton
    step = max(round(truth.rate / CELL_RATE), 1)
    first = track.markers.first_frame - truth.first_frame
    frames = np.arange(0, len(track), step)
    frames = frames[(frames + first >= 0) & (frames + first < len(truth.q))]
    joints = skeleton.turns & (skeleton.parents[skeleton.dof_bones] >= 0)
    error = np.abs(skeleton.difference(track.motion.q[frames], truth.q[frames + first]))[:, joints]
    sd, quality = track.sd[frames][:, joints], track.quality[frames][:, joints]
    measured, wrong = quality == Quality.MEASURED, error > WRONG
    names = np.array([name.rpartition(".")[0] for name in skeleton.dof_names])[joints]
    names = np.array([name.removeprefix("l_").removeprefix("r_") for name in names])
    by_joint = {}
    for name in dict.fromkeys(names.tolist()):
        own = names == name
        kept = measured[:, own], (error <= WIDTHS[9] * sd)[:, own], wrong[:, own]
        by_joint[name] = np.array(
            [kept[0].sum(), (kept[0] & kept[1]).sum(), kept[2].sum(), (kept[2] & ~kept[0]).sum()]
        )
    return {
        "cells": np.bincount(quality.ravel(), minlength=len(Quality)).astype(float),
        "wrong": np.bincount(quality[wrong], minlength=len(Quality)).astype(float),
        "within": np.array([(measured & (error <= width * sd)).sum() for width in WIDTHS]) * 1.0,
        "by_joint": by_joint,
    }


@cache
def _load(data: Path, name: str) -> Motion:
    return read_motion_of(data, name)


def run_one(job: tuple[int, Path]) -> Outcome:
    """Make a recording, solve it, compare."""
    seed, data = job
    warnings.simplefilter("ignore")
    person = MOTIONS[seed // 2 % len(MOTIONS)]
    motion = _load(data, person)
    take, truth, set_name, fault = make_take(seed, motion)
    label = f"{set_name}, {len(take.bones)}"
    begin = time.process_time()
    plain = Outcome(seed=seed, person=person, marker_set=label, fault=fault)
    try:
        solved = solve_recording(take.markers, human(), subject="all")[0].track
    except ExactikError:
        return plain
    return Outcome(
        seed=seed,
        person=person,
        marker_set=label,
        fault=fault,
        grade=solved.verdict.grade,
        seconds=time.process_time() - begin,
        **compare(solved, truth),  # pyright: ignore[reportArgumentType]
    )
