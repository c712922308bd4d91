"""Every stage of `track` and `calibrate` switched off in turn: what it gains, and on what.

    python tools/ablation.py [track] [calibrate] [--write]

A stage is switched off by an argument, or by putting something that does nothing in its place. On
synthetic recordings the truth is known; on parts of HDM05 (EXACTIK_HDM05, or beside the checkout)
the fit is. --write puts the tables into build/. Times are of the processor.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from exactik.recordings.calibration import Calibration

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import exactik as ik  # noqa: E402
from benchmarks.support.hdm05 import LOCK, TAKES, find_hdm05_folder, load_take  # noqa: E402
from exactik.lab.synthetic import SyntheticRecording, simulate_performance, simulate_recording  # noqa: E402
from exactik.recordings.tracking import find_jumps  # noqa: E402
from exactik.typing import Array  # noqa: E402

FOLDER = ROOT / "build"
SPARSE = tuple("LFHD RBHD C7 LSHO RSHO LELB RELB LWRA RWRA LKNE RKNE LANK RANK LTOE RTOE".split())
ARM = ("LUPA", "LELB", "LFRM", "LWRA", "LWRB", "LFIN")


@dataclass(frozen=True)
class Stage:
    """One stage, and how to do without it.

    Attributes:
        name: of the row.
        options: arguments of `track` or `calibrate` that switch it off.
        places: what is put in its place: "module:name" → a function or a number.
    """

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    places: dict[str, Any] = field(default_factory=dict)


def do_nothing(*_: Any, **__: Any) -> None:
    """Stand in for a stage that changes what it is given."""


def keep_first(first: Any, *_: Any, **__: Any) -> Any:
    """Stand in for a stage that returns what it is given, changed."""
    return first


@contextmanager
def without(off: Stage) -> Iterator[None]:
    """Put what does nothing in the place of a stage."""
    kept = []
    for place, stand_in in off.places.items():
        module_name, name = place.split(":")
        module = import_module(f"exactik.{module_name}")
        kept.append((module, name, getattr(module, name)))
        setattr(module, name, stand_in)
    try:
        yield
    finally:
        for module, name, function in kept:
            setattr(module, name, function)


# --- track


class Case(NamedTuple):
    """A recording to be tracked, with its truth if that is known."""

    name: str
    skeleton: ik.Skeleton
    markers: ik.Markers
    truth: SyntheticRecording | None
    options: dict[str, Any]


def make_track_cases() -> Iterator[Case]:
    """Recordings that each stage should gain something on, and ordinary ones."""
    motion = simulate_performance(5.0, 60.0, seed=5, acts=("wave", "kick"))
    figure = motion.skeleton
    clean = simulate_recording(motion, noise=0.001, gaps=0.0, swap=False)
    skin = simulate_recording(motion, noise=0.001, tissue=0.012, gaps=0.15, swap=False)
    yield Case("skin slides 12 mm, 15 % hidden", figure, skin.markers, skin, {})
    bad = simulate_recording(motion, noise=0.001, tissue=0.008, gaps=0.05, outliers=0.02)
    yield Case("outliers and a swap, Huber", figure, bad.markers, bad, {"robust": "huber"})
    lost = clean.markers.positions.copy()
    lost[100:220, [clean.markers.names.index(name) for name in ARM]] = np.nan
    arm = replace(clean.markers, positions=lost)
    yield Case("an arm lost for 2 s", figure, arm, replace(clean, markers=arm), {})
    jacks = simulate_performance(5.0, 60.0, seed=2, acts=("jack", "walk"))
    few = simulate_recording(jacks, noise=0.001, tissue=0.005, gaps=0.05, swap=False, seed=2)
    sparse = few.markers.chosen(SPARSE)
    yield Case(f"{len(SPARSE)} markers", jacks.skeleton, sparse, few, {})
    folder = find_hdm05_folder()
    if folder is None:
        return
    for name in TAKES:
        take = load_take(folder, name)
        markers = take.markers.between(4.0, 8.0)
        options = {"lock": LOCK, "limits": "off"}
        yield Case(f"HDM05 {name}, 4 s", take.skeleton, markers, None, options)


def list_track_stages() -> list[Stage]:
    """Return the stages of `track` in their order."""
    off = {
        "without outliers removed": {"_prepare:remove_outliers": _keep_outliers},
        "without gaps filled in": {"_prepare:fill_gaps": keep_first},
        "without mending": {"_track:improve_poor_segments": do_nothing},
        "without courses in gaps": {"_track:solve_gap_frames": do_nothing},
    }
    return [
        Stage("all stages"),
        Stage("without a robust loss", options={"robust": None}),
        Stage("from one cold start", options={"starts": 1}),
        Stage("without branches", options={"branches": False}),
        Stage("without smoothing", options={"smooth": None}),
        *(
            Stage(
                name, places={f"recordings.tracking.{place}": new for place, new in places.items()}
            )
            for name, places in off.items()
        ),
    ]


def _keep_outliers(problem: Any, *_: Any) -> Any:
    from exactik.recordings.tracking.preparation import Outliers

    return problem, Outliers(swaps=(), spikes=np.zeros((0, 0), dtype=bool))


def run_track() -> str:
    """Return the table of `track`."""
    lines = [
        "| recording | stage | error [mm] | joints off [mm] | angles off [°] | jumps | time [s] |",
        "|---|---|---|---|---|---|---|",
    ]
    for case in make_track_cases():
        ik.track(case.skeleton, case.markers, **case.options)  # kernels may have to be compiled
        for off in list_track_stages():
            options = {**case.options, **off.options}
            if off.name == "without a robust loss" and "robust" not in case.options:
                continue
            with without(off):
                started = time.process_time()
                track = ik.track(case.skeleton, case.markers, **options)
                seconds = time.process_time() - started
            cells = [case.name, off.name, f"{1e3 * track.mean_error:.2f}"]
            cells += _compare(track, case.truth)
            jumps = len(find_jumps(track.problem, np.array(track.motion.q)))
            cells += [str(jumps), f"{seconds:.1f}"]
            lines.append("| " + " | ".join(cells) + " |")
            print(lines[-1], flush=True)
    return "\n".join(lines)


def _compare(track: ik.Track, truth: SyntheticRecording | None) -> list[str]:
    """Return how far joints [mm] and turns of the bones [°, rms] are from the truth."""
    if truth is None:
        return ["–", "–"]
    pose, true = track.motion.forward(), truth.truth.forward()
    joints = 1e3 * np.linalg.norm(pose.positions - true.positions, axis=2).mean()
    turn = np.einsum("tbij,tbik->tbjk", pose.rotations, true.rotations)
    trace = np.einsum("tbii->tb", turn)
    angle = np.degrees(np.arccos(np.clip(0.5 * (trace - 1.0), -1.0, 1.0)))
    return [f"{joints:.2f}", f"{np.sqrt((angle**2).mean()):.2f}"]


# --- calibrate


class Subject(NamedTuple):
    """A recording of somebody whose size is known, or not."""

    name: str
    markers: ik.Markers
    scales: dict[str, float] | None
    held_out: ik.Markers


def make_subjects() -> Iterator[Subject]:
    """Somebody synthetic with faults, and a part of HDM05."""
    from tests.support.subjects import make_subject

    own = make_subject(ik.human(), 0, frames=600)
    scales = {
        group[0]: float(np.exp(own.theta[g])) for g, group in enumerate(own.figure.scale_groups)
    }
    first, last = own.markers.between(0, 4), own.markers.between(4, None)
    spoilt = first.positions.copy()
    rng = np.random.default_rng(0)
    off = rng.random(spoilt.shape[:2]) < 0.03
    spoilt[off] += rng.normal(0.0, 0.3, (int(off.sum()), 3))
    yield Subject("somebody, 3 % outliers", replace(first, positions=spoilt), scales, last)
    folder = find_hdm05_folder()
    if folder is not None:
        take = ik.load_markers(folder / f"HDM_dg_{TAKES[0]}_120.c3d").without_prefix()
        yield Subject("HDM05, 5 s", take.between(2, 7), None, take.between(10, 12))


def list_calibrate_stages() -> list[Stage]:
    """Return the stages of `calibrate`, and its priors."""
    skeleton, poses = (f"recordings.calibration.fitting.{name}" for name in MODULES)
    return [
        Stage("all stages"),
        Stage("not robust", options={"robust": False}),
        Stage("without the prior on sizes", options={"scale_sd": 100.0}),
        Stage("without the prior on places", options={"offset_sd": 100.0}),
        Stage("every frame counts", options={"sigma": 0.002}),
        Stage("frames evenly spread", places={f"{skeleton}:choose_diverse_frames": _spread_frames}),
        Stage("from the neutral pose alone", places={f"{poses}:COLD_STARTS": 1}),
    ]


MODULES = ("_fit_skeleton", "_poses")


def _spread_frames(trials: Any, count: int) -> Any:
    """Stand in for `choose_diverse_frames`."""
    from exactik.recordings.calibration.fitting._fit_skeleton import choose_diverse_frames

    chosen = choose_diverse_frames(trials, 10**6)
    rows = np.unique(np.linspace(0, len(chosen.frames) - 1, count).astype(np.int64))
    return chosen.take(rows)


def run_calibrate() -> str:
    """Return the table of `calibrate`."""
    lines = [
        "| subject | stage | error there [mm] | error elsewhere [mm] | scales off [%] | time [s] |",
        "|---|---|---|---|---|---|",
    ]
    for subject in make_subjects():
        for off in list_calibrate_stages():
            with without(off):
                started = time.process_time()
                fit = ik.calibrate(ik.human(), subject.markers, frames=60, **off.options)
                seconds = time.process_time() - started
            there = 1e3 * float(np.nanmean(fit.errors))
            track = ik.track(fit.skeleton, subject.held_out, smooth=None)
            cells = [subject.name, off.name, f"{there:.2f}", f"{1e3 * track.mean_error:.2f}"]
            cells += [_scale_error(fit, subject.scales), f"{seconds:.1f}"]
            lines.append("| " + " | ".join(cells) + " |")
            print(lines[-1], flush=True)
    return "\n".join(lines)


def _scale_error(fit: Calibration, scales: dict[str, float] | None) -> str:
    if scales is None:
        return "–"
    errors: Array = np.array([fit.scales[bone] / scale - 1.0 for bone, scale in scales.items()])
    return f"{100 * np.sqrt((errors**2).mean()):.1f}"


SECTIONS = {"track": run_track, "calibrate": run_calibrate}


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("sections", nargs="*", help="track, calibrate; both by default")
    parser.add_argument("--write", action="store_true", help="write build/ablation-SECTION.md")
    arguments = parser.parse_args()
    for name in arguments.sections or SECTIONS:
        table = SECTIONS[name]()
        if arguments.write:
            FOLDER.mkdir(exist_ok=True)
            (FOLDER / f"ablation-{name}.md").write_text(f"{table}\n", "utf-8")


if __name__ == "__main__":
    main()
