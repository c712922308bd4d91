"""Remove the names of recordings in ../shared/data, label the points by shape, and count.

    python tools/labels.py            what docs/labelling.md sums up
    python tools/labels.py --others   recordings with markers that no shape tells apart
    python tools/labels.py --scramble points also exchange their identities, at three moments

The labels are the names that a recording's marker set has, at their landmarks on our human; nothing
of the recording itself. With a second file, they are where that one has them (`--like`).
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

import exactik as ik
from exactik.anatomy.marker_sets import read_marker_names, recognise_marker_set
from exactik.model.motion import Markers, turn_to_up
from exactik.recordings.labelling import (
    Labelling,
    Template,
    label_markers,
    make_named_template,
    make_template_like,
)

__all__ = ["CASES", "OTHERS", "LabelCase", "Score", "label_case"]

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SCRAMBLES = 3  # moments at which points exchange their identities


class LabelCase(NamedTuple):
    """A recording whose names are removed.

    Attributes:
        path: below the folder of data.
        like: recording of the same set that says where markers are; "" for the landmarks.
        up: axis that is up, where the file does not say.
    """

    path: str
    like: str = ""
    up: str = "z"


CASES = (
    LabelCase("asf_amc/cmu02/02_01.c3d"),
    LabelCase("asf_amc/hdm05_dg/HDM_dg_03-05_02_120.c3d"),
    LabelCase("c3d/qualisys/Qualisys.c3d"),
    LabelCase("c3d/vicon_pig/PiG_Motion3_FF.c3d"),
    LabelCase("c3d/vicon_pycgm/Sample_Static.c3d"),
    LabelCase("c3d/motionmonitor/innovative_sports_training.c3d"),
    LabelCase("c3d/motion_analysis/motion_analysis_corporation.c3d"),
    LabelCase("c3d/motion_analysis/Gait.c3d"),
    LabelCase("c3d/bts/dynamic.C3D", up="y"),
    LabelCase("opensim/gait2354/subject01_walk1.trc", up="y"),
    LabelCase("opensim/pose2sim/Pose2Sim_markers.trc", up="y"),
    LabelCase("c3d/codamotion/ADemo1_rewrite_c3d_pc_float.c3d"),
    LabelCase("c3d/c3dorg_sample01/Eb015pi.c3d", like="c3d/c3dorg_sample08/TESTBPI.c3d"),
    LabelCase("trc/btk/ballet_reduced.trc", like="asf_amc/cmu02/02_01.c3d", up="y"),
)

OTHERS = (
    LabelCase("c3d/unicode_path/Я могу есть стекло/оно мне не вредит.c3d"),
    LabelCase("opensim/laiarnold_s5_dropjump/DJ1.trc", up="y"),
    LabelCase("c3d/vicon/walking5.c3d"),
    LabelCase("trc/nimble_weird/markers.trc", up="y"),
    LabelCase("c3d/motion_analysis/upside_down_trial2.c3d"),
    LabelCase("c3d/motion_analysis/MACsample.c3d"),
    LabelCase("c3d/vicon/sub_labels.c3d"),
    LabelCase("c3d/optitrack/mocap36.c3d"),
)
"""Sets of which several markers share a landmark or a cluster, and parts of sets: which is which of
them cannot be told by shape alone, and must be doubtful."""


@dataclass(frozen=True, kw_only=True)
class Score:
    """How many marker-frames are right.

    Attributes:
        labels: that points could get.
        points: seen in the recording.
        right: share of the marker-frames with the right label, or rightly none.
        wrong: number of the others.
        doubtful_wrong: of these, marked doubtful or left without a label.
        doubtful_right: share of the right ones that are marked doubtful.
        marker_set: title of the set by the names, "" if it is none that is known.
        seconds: taken.
    """

    labels: int
    points: int
    right: float
    wrong: int
    doubtful_wrong: int
    doubtful_right: float
    marker_set: str
    seconds: float


def label_case(case: LabelCase, data: Path = DATA, scramble: bool = False) -> Score:
    """Remove names, label, and compare."""
    named = _load(data / case.path, case.up)
    reading = read_marker_names(named.names, named.computed)
    real = [n for n in named.names if n not in reading.computed and n not in reading.objects]
    named = named.chosen([n for n in real if not named.missing[:, named.names.index(n)].all()])
    named = named.without_prefix()
    if case.like == "":
        template = make_named_template(ik.human(), named.names)
    else:
        template = make_template_like(ik.human(), _load(data / case.like, "z").without_prefix())
    rng = np.random.default_rng(0)
    points, columns = _remove_names(named, rng, SCRAMBLES if scramble else 0)
    started = time.perf_counter()
    labelling = label_markers(ik.human(), points, marker_set=template)
    seconds = time.perf_counter() - started
    match = recognise_marker_set(named.names)
    title = "" if match is None else match.marker_set.title
    return _count(labelling, named, columns, template, title, seconds)


def _load(path: Path, up: str) -> Markers:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        markers = ik.load_markers(path)
    return turn_to_up(replace(markers, up_axis=markers.up_axis or up), "z")


def _remove_names(
    named: Markers, rng: np.random.Generator, scrambles: int
) -> tuple[Markers, np.ndarray]:
    """Return points in random order, and which marker each column is in each frame, (T, M)."""
    count, frames = len(named.names), len(named)
    moments = np.sort(rng.choice(np.arange(1, frames), min(scrambles, frames - 1), replace=False))
    columns = np.empty((frames, count), dtype=int)
    for start, end in zip([0, *moments], [*moments, frames], strict=True):
        columns[start:end] = rng.permutation(count)
    positions = np.take_along_axis(named.positions, columns[:, :, None], axis=1)
    return replace(named, positions=positions, names=tuple(f"*{k}" for k in range(count))), columns


def _count(
    labelling: Labelling,
    named: Markers,
    columns: np.ndarray,
    template: Template,
    title: str,
    seconds: float,
) -> Score:
    positions = labelling.recording.positions
    right, doubtful = np.zeros(columns.shape, dtype=bool), np.zeros(columns.shape, dtype=bool)
    has_label, is_copy = np.zeros(columns.shape, dtype=bool), np.zeros(columns.shape, dtype=bool)
    is_known = np.array([name in template.names for name in named.names])
    for fragment in labelling.fragments:
        frames, column = slice(fragment.first, fragment.last + 1), int(fragment.point[1:])
        has_label[frames, column] = fragment.label is not None
        is_copy[frames, column] = fragment.code == "copy"
        doubtful[frames, column] = fragment.doubtful or fragment.label is None
        if fragment.label is None:
            right[frames, column] = ~is_known[columns[frames, column]]
        elif fragment.label in named.names:
            # By place, as some files have a marker twice, under a name and under none.
            true = named.marker(fragment.label)[frames]
            right[frames, column] = (positions[frames, column] == true).all(axis=1)
    seen = np.isfinite(positions).all(axis=2) & ~is_copy
    wrong = ~right & seen
    right &= seen
    return Score(
        labels=len(template.names),
        points=int(seen.any(axis=0).sum()),
        right=float(right.sum() / seen.sum()),
        wrong=int(wrong.sum()),
        doubtful_wrong=int((wrong & doubtful).sum()),
        doubtful_right=float((right & doubtful & has_label).sum() / max(right.sum(), 1)),
        marker_set=title,
        seconds=seconds,
    )


def main() -> None:
    """Print a row for each case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--scramble", action="store_true", help="points exchange their identities")
    parser.add_argument("--others", action="store_true", help="the sets with twins and clusters")
    parser.add_argument("--only", default="", help="part of a path")
    given = parser.parse_args()
    print(
        "| recording | marker set | points | right | wrong, of it doubtful | right but doubtful |"
    )
    print("|---|---|---|---|---|---|")
    for case in OTHERS if given.others else CASES:
        if given.only not in case.path:
            continue
        score = label_case(case, scramble=given.scramble)
        doubted = score.doubtful_wrong / score.wrong if score.wrong > 0 else None
        cells = (
            f"{Path(case.path).name}" + (f", like {Path(case.like).name}" if case.like else ""),
            score.marker_set or "–",
            str(score.points),
            f"{100 * score.right:.1f} %",
            "–" if doubted is None else f"{score.wrong}, {100 * doubted:.0f} %",
            f"{100 * score.doubtful_right:.0f} %",
        )
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
