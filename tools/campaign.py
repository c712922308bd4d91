"""How far qualities and error bars can be believed: recordings whose truth is known, solved.

    python tools/campaign.py [--data FOLDER] [--seeds 800] [--parity odd] [--jobs N] [--write]

By seed: a motion of a real person, somebody of another build, a marker set or a part of one, a rate
of 50 to 250 Hz, noise, skin that moves, gaps, and a fault. The markers are solved as `exactik
solve` does it, and every value of a joint is compared with the truth. Even seeds are for tuning,
odd ones for the report. --write puts tables into build/campaign.md and the picture into docs/.
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
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tools")]

from campaign_faults import FAULTS, Take  # noqa: E402
from campaign_people import MOTIONS, make_person, read_motion_of  # noqa: E402

from exactik import human  # noqa: E402
from exactik.anatomy.marker_sets import Landmark, list_marker_sets  # noqa: E402
from exactik.errors import ExactikError  # noqa: E402
from exactik.lab.synthetic import simulate_recording  # noqa: E402
from exactik.model import Skeleton  # noqa: E402
from exactik.model.motion import Motion  # noqa: E402
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
WIDTHS = (0.126, 0.253, 0.385, 0.524, 0.674, 0.842, 1.036, 1.282, 1.645, 1.960, 2.576)
"""Standard deviations to both sides within which a normal distribution has these shares."""
BAR = 9  # the level of 95 %


class Cells(NamedTuple):
    """Numbers of values of joints, one for each dof in each frame that is compared.

    Attributes:
        counts: of each quality, (5,).
        wrong: of these, by more than 10°.
        within: values called measured that lie within bars of each of `LEVELS`, (11,).
        by_joint: joint → all, measured, within 95 % of these, wrong, wrong and called measured.
    """

    counts: Array
    wrong: Array
    within: Array
    by_joint: dict[str, Array]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of one recording.

    Attributes:
        seed: of it.
        person: file that the motion is of.
        marker_set: that the markers are of, and how many there are.
        fault: name of it.
        grade: of the verdict, "refused" if it was not solved.
        cells: how its values compare with the truth; None if it was not solved.
        seconds: of processor.
    """

    seed: int
    person: str
    marker_set: str
    fault: str
    grade: str = "refused"
    cells: Cells | None = None
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
    stems = list(
        dict.fromkeys(
            landmark.id.removeprefix(f"{landmark.side}_") for landmark in landmarks.values()
        )
    )
    most = MOST_MARKERS
    if rng.random() < THINNED_SHARE:
        most = int(rng.integers(min(LEAST_MARKERS, len(landmarks)), len(landmarks) + 1))
    rng.shuffle(stems)
    markers: dict[str, tuple[str, Array]] = {}
    for stem in stems:
        own = [(name, one) for name, one in landmarks.items() if _name_stem(one) == stem]
        if len(markers) + len(own) <= most:
            for name, landmark in own:
                beside = min(landmark.sd, PLACING_SD) * rng.standard_normal(3)
                point = np.array(find_landmark_point(person, landmark)) + beside
                markers[name] = (landmark.bone, point)
    return {name: markers[name] for name in landmarks if name in markers}


def _name_stem(landmark: Landmark) -> str:
    """Return the name that it has on both sides."""
    return landmark.id[2:] if landmark.side != "" else landmark.id


def compare(track: Track, truth: Motion) -> Cells:
    """Return how values of joints compare with the truth; where the body is does not count."""
    skeleton = track.skeleton
    shift = track.markers.first_frame - truth.first_frame
    frames = np.arange(0, len(track), max(round(truth.rate / CELL_RATE), 1))
    frames = frames[(frames + shift >= 0) & (frames + shift < len(truth.q))]
    joints = skeleton.turns & (skeleton.parents[skeleton.dof_bones] >= 0)
    error = skeleton.difference(track.motion.q[frames], truth.q[frames + shift])[:, joints]
    error = np.abs(np.arctan2(np.sin(error), np.cos(error)))
    sd, quality = track.sd[frames][:, joints], track.quality[frames][:, joints]
    measured, wrong = quality == Quality.MEASURED, error > WRONG
    within = np.array([measured & (error <= width * sd) for width in WIDTHS])
    names = [skeleton.bone_names[k] for k in skeleton.dof_bones[joints]]
    names = np.array([name.removeprefix("l_").removeprefix("r_") for name in names])
    by_joint = {}
    for name in dict.fromkeys(names.tolist()):
        parts = (np.ones_like(wrong), measured, within[BAR], wrong, wrong & measured)
        by_joint[name] = np.array([part[:, names == name].sum() for part in parts], dtype=float)
    return Cells(
        counts=np.bincount(quality.ravel(), minlength=len(Quality)).astype(float),
        wrong=np.bincount(quality[wrong], minlength=len(Quality)).astype(float),
        within=within.sum(axis=(1, 2)).astype(float),
        by_joint=by_joint,
    )


@cache
def _load(data: Path, name: str) -> Motion:
    return read_motion_of(data, name)


def run_one(job: tuple[int, Path]) -> Outcome:
    """Make a recording, solve it, compare."""
    seed, data = job
    warnings.simplefilter("ignore")
    person = MOTIONS[seed // 2 % len(MOTIONS)]
    take, truth, set_name, fault = make_take(seed, _load(data, person))
    one = Outcome(
        seed=seed,
        person=person,
        marker_set=f"{set_name}, {len(take.bones)}",
        fault=fault,
    )
    begin = time.process_time()
    try:
        solved = solve_recording(take.markers, human(), subject="all")[0].track
    except ExactikError:
        return one
    return replace(
        one,
        grade=solved.verdict.grade,
        cells=compare(solved, truth),
        seconds=time.process_time() - begin,
    )


def write_tables(outcomes: Sequence[Outcome]) -> str:
    """Return the tables of the shares: of all, by fault, by verdict and by joint."""
    solved = [one for one in outcomes if one.cells is not None]
    people = len({one.person for one in outcomes})
    lines = [
        f"{len(outcomes)} recordings of {people} motions, {len(solved)} solved.",
        "",
        _HEADER.format("recordings"),
        _RULE,
        _write_row("all", solved),
        _write_row("not rejected", [one for one in solved if one.grade != "reject"]),
        "",
        _HEADER.format("fault"),
        _RULE,
        *(_write_row(fault, [one for one in solved if one.fault == fault]) for fault in FAULTS),
        "",
        _HEADER.format("verdict"),
        _RULE,
        *(
            _write_row(grade, [one for one in solved if one.grade == grade])
            for grade in ("good", "care", "reject")
        ),
        "",
        "| joint | measured | within 95 % | within 10° | caught |",
        "|---|---|---|---|---|",
    ]
    joints = dict.fromkeys(name for one in solved if one.cells for name in one.cells.by_joint)
    for name in joints:
        numbers = sum(one.cells.by_joint.get(name, np.zeros(5)) for one in solved if one.cells)
        total, measured, within, wrong, slipped = np.asarray(numbers)
        lines.append(
            f"| {name} | {_share(measured, total)} | {_share(within, measured)} "
            f"| {_share(measured - slipped, measured)} | {_share(wrong - slipped, wrong)} |"
        )
    grades = [one.grade for one in outcomes]
    counts = ", ".join(f"{grades.count(g)} {g}" for g in ("good", "care", "reject", "refused"))
    return "\n".join([*lines, "", f"Verdicts: {counts}."]) + "\n"


_HEADER = "| {} | number | values measured | within 95 % bar | within 10° | wrong ones caught |"
_RULE = "|---|---|---|---|---|---|"


def _write_row(name: str, outcomes: Sequence[Outcome]) -> str:
    cells = sum_cells(outcomes)
    measured, slipped = cells.counts[Quality.MEASURED], cells.wrong[Quality.MEASURED]
    return (
        f"| {name} | {len(outcomes)} | {_share(measured, cells.counts.sum())} "
        f"| {_share(cells.within[BAR], measured)} | {_share(measured - slipped, measured)} "
        f"| {_share(cells.wrong.sum() - slipped, cells.wrong.sum())} |"
    )


def _share(part: float, whole: float) -> str:
    return f"{100.0 * part / whole:.1f} %" if whole > 0 else "–"


def draw_reliability(outcomes: Sequence[Outcome]) -> str:
    """Return the picture: of values called measured, the share within bars that should have it."""
    cells = sum_cells(outcomes)
    shares = cells.within / max(cells.counts[Quality.MEASURED], 1.0)
    path = draw_path(100.0 * LEVELS, 100.0 * (1.0 - shares))
    dots = "".join(
        f'<circle cx="{100 * x:.1f}" cy="{100 * (1 - y):.2f}" r="1"/>'
        for x, y in zip(LEVELS, shares, strict=True)
    )
    ticks = "".join(
        f'<text x="{v}" y="106" text-anchor="middle">{v}</text>'
        f'<text x="-3" y="{101.5 - v}" text-anchor="end">{v}</text>'
        f'<path d="M{v},0V100M0,{v}H100" stroke="#8884" stroke-width=".3"/>'
        for v in range(0, 101, 20)
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="-18 -4 124 124" width="480" '
        'font-family="sans-serif" font-size="4" fill="#808080">'
        f"<title>Share of measured values whose truth lies within their bars</title>{ticks}"
        '<path d="M0,100L100,0" stroke="#808080" stroke-dasharray="2 2" stroke-width=".5"/>'
        f'<path d="{path}" fill="none" stroke="#3b82c4" stroke-width="1"/>'
        f'<g fill="#3b82c4">{dots}</g>'
        '<text x="50" y="114" text-anchor="middle">share that a bar should have [%]</text>'
        '<text x="-50" y="-13" transform="rotate(-90)" text-anchor="middle">'
        "share that it has [%]</text></svg>\n"
    )


def sum_cells(outcomes: Sequence[Outcome]) -> Cells:
    """Return the numbers of all recordings together."""
    known = [one.cells for one in outcomes if one.cells is not None]
    zero = np.zeros(len(Quality))
    return Cells(
        counts=sum((cells.counts for cells in known), zero),
        wrong=sum((cells.wrong for cells in known), zero),
        within=sum((cells.within for cells in known), np.zeros(len(LEVELS))),
        by_joint={},
    )


def main() -> int:
    """Make, solve, compare, print and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the motions")
    parser.add_argument("--seeds", type=int, default=800, help="seeds from 0 on, half of them odd")
    parser.add_argument("--parity", choices=("even", "odd", "both"), default="odd")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", type=Path, help="file for the numbers of each recording")
    parser.add_argument("--again", type=Path, help="such a file, to write tables from")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    if arguments.again is not None:
        outcomes = pickle.loads(arguments.again.read_bytes())
    elif not arguments.data.is_dir():
        print(f"no motions: {arguments.data} is absent")
        return 0
    else:
        kinds = {"even": (0, 2), "odd": (1, 2), "both": (0, 1)}
        first, step = kinds[arguments.parity]
        jobs = [(seed, arguments.data) for seed in range(first, arguments.seeds, step)]
        outcomes = []
        for one in _run_all(jobs, arguments.jobs):
            outcomes.append(one)
            if arguments.keep is not None:
                arguments.keep.write_bytes(pickle.dumps(outcomes))
    tables = write_tables(outcomes)
    print(tables)
    if arguments.write:
        (ROOT / "build").mkdir(exist_ok=True)
        (ROOT / "build" / "campaign.md").write_text(tables, "utf-8")
        PICTURE.write_text(draw_reliability(outcomes), "utf-8")
    return 0


def _run_all(jobs: Sequence[tuple[int, Path]], processes: int) -> Iterator[Outcome]:
    """Yield what came of each, and print it."""
    # Spawned, not forked: each process loads its kernels by itself.
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for one in pool.imap_unordered(run_one, jobs):
            print(
                f"{one.seed:4} {one.person[-36:]:36} {one.marker_set:24} {one.fault:26} "
                f"{one.grade:8} {one.seconds:5.1f} s",
                flush=True,
            )
            yield one


if __name__ == "__main__":
    sys.exit(main())
