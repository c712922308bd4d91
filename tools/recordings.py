"""Solve every recording of a person in ../shared/data as a newcomer would, and judge it.

    python tools/recordings.py [TEXT …] [--plain] [--spoiled] [--write] [--jobs N] [--seconds S]
                               [--copies N] [--keep FILE] [--again FILE]

Nothing is given but our human. One line each: markers used of those there, mean and 95 % error,
values measured and doubtful, verdict, seconds, reasons. TEXT chooses recordings whose path
contains it. --plain solves each again without branches and smoothing, from the same fitted figure,
and says which is better.
--spoiled makes copies of those that are good (tools/spoiled_copies.py) and counts what is called
good of them: none may be. --write keeps the table in build/recordings-table.md. Nothing is cached,
but --keep FILE writes the findings, and --again FILE judges those of such a file by
today's thresholds, without solving anything.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import pickle
import sys
import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np  # noqa: E402

from exactik.errors import ExactikError  # noqa: E402
from exactik.io import load_markers  # noqa: E402
from exactik.lab.synthetic import simulate_performance, simulate_recording  # noqa: E402
from exactik.model import human  # noqa: E402
from exactik.model.motion import Markers  # noqa: E402
from exactik.recordings.diagnosis import (  # noqa: E402
    Finding,
    RecordingContext,
    is_on_subject,
    judge_findings,
)
from exactik.recordings.pipeline import SolvedRecording, solve_recording  # noqa: E402
from exactik.recordings.tracking import Track, track  # noqa: E402
from tools.spoiled_copies import FAULTS, MIRRORING_FAULTS  # noqa: E402

DATA = ROOT.parent / "shared" / "data"
TARGET = ROOT / "build" / "recordings-table.md"
SUFFIXES = (".c3d", ".trc", ".tsv")
DEMO = "exactik demo"  # the recording that the demo makes, among the real ones
SPOILED_SECONDS = 2.5  # [s] of a recording that is copied and spoiled; two strides
SPOILED_RATE = 50.0  # [Hz] at most, of such a copy: people move below 10 Hz
MAX_RISE_MM = 0.05  # of a mean error that is printed with one digit
SEED = 14

NOT_PERSONS = {
    "c3d/odd/1123x01EMG.c3d": "no markers, only EMG",
    "c3d/odd/Analysis.c3d": "no markers",
    "c3d/odd/MyCube.c3d": "a cube",
    "c3d/odd/parameterOverflow.c3d": "markers without a single sample",
    "c3d/theia/C3DRotationExample.c3d": "no markers, only rotations",
    "c3d/peak/FP1.C3D": "eight points of a force-plate test",
    "c3d/ndi_ktk/sample_probing_acromion_R.c3d": "a probe and a wheelchair; the person sits still",
    "trc/btk/10002-20130626160334-Unnamed.trc": "ten unnamed points, seen a quarter of the time",
    "trc/opensim/exampleFormat.trc": "three invented points in five frames",
    "trc/opensim/dataWithEformat.trc": "five frames, for the number format",
    "trc/opensim/dataWithNaNsOfDifferentCases.trc": "five frames, for the spelling of NaN",
    "tsv_qualisys/Measurement1.tsv": "fifteen loose points that no body has",
}


@dataclass(frozen=True, kw_only=True)
class Row:
    """What came of a recording, or of a copy of one.

    Attributes:
        name: path below the data folder, with the subject if there are several.
        fault: of a copy, else "".
        used: number of markers used.
        recorded: number of markers on the subject.
        mean_mm: error.
        p95_mm: error.
        measured: share of the values of dofs with markers that are measured.
        doubtful: share of those that markers determine that are doubtful.
        held: number of bones without any marker.
        verdict: grade, or "refused".
        reasons: codes and texts, in order.
        seconds: of processor that it took.
        frames_mm: mean error of the frames before they are smoothed together.
        plain_mm: the same of plain tracking, not a number if it was not asked for.
        can_be_seen: whether anything in the recording could tell the fault of a copy.
        context: for copies; None if it was refused.
        findings: by which it was judged; None if it was refused.
    """

    name: str
    fault: str = ""
    used: int = 0
    recorded: int = 0
    mean_mm: float = float("nan")
    p95_mm: float = float("nan")
    measured: float = 0.0
    doubtful: float = float("nan")
    held: int = 0
    verdict: str = "refused"
    reasons: tuple[tuple[str, str], ...] = ()
    seconds: float = 0.0
    frames_mm: float = float("nan")
    plain_mm: float = float("nan")
    can_be_seen: bool = True
    context: RecordingContext | None = field(default=None, repr=False)
    findings: tuple[Finding, ...] | None = field(default=None, repr=False)

    def judge(self) -> Row:
        """Return the same with the verdict of today's thresholds."""
        if self.findings is None:
            return self
        verdict = judge_findings(self.findings)
        reasons = tuple((reason.kind, reason.text) for reason in verdict.reasons)
        return replace(self, verdict=verdict.grade, reasons=reasons, held=len(verdict.held))


def find_persons(chosen: Iterable[str] = ()) -> list[str]:
    """Return the demo and the paths of all recordings of persons below the data folder."""
    chosen = tuple(chosen)
    found = [DEMO] if len(chosen) == 0 or any(text in DEMO for text in chosen) else []
    for path in sorted(DATA.rglob("*")):
        name = path.relative_to(DATA).as_posix()
        if path.suffix.lower() in SUFFIXES and not name.startswith("malformed/"):
            is_chosen = len(chosen) == 0 or any(text in name for text in chosen)
            if name not in NOT_PERSONS and is_chosen:
                found.append(name)
    return found


def solve_one(job: tuple[str, bool, float | None]) -> list[Row]:
    """Solve a recording; one row for each subject.

    Args:
        job: path, whether to compare with plain tracking, seconds to cut it to.
    """
    name, plain, seconds = job
    try:
        return solve_markers(name, load_quietly(name, seconds), plain=plain)
    except ExactikError as error:
        return [Row(name=name, reasons=(("refused", str(error).rpartition(f"{name}: ")[2]),))]


def simulate_demo() -> Markers:
    """Return the recording of `exactik demo`: noise, gaps and a swap."""
    return simulate_recording(simulate_performance(20.0), noise=0.001, gaps=0.05).markers


def load_quietly(name: str, seconds: float | None = None) -> Markers:
    """Return the markers of a recording, without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        markers = simulate_demo() if name == DEMO else load_markers(DATA / name)
    return markers if seconds is None else markers.between(0.0, seconds)


def solve_markers(
    name: str, markers: Markers, *, fault: str = "", plain: bool = False
) -> list[Row]:
    """Solve a recording in memory; one row for each subject, "refused" if it cannot be."""
    begin = time.process_time()
    try:
        solved = solve_recording(markers, human(), subject="all")
    except ExactikError as error:
        text = str(error).rpartition(f"{name}: ")[2]
        seconds = time.process_time() - begin
        return [Row(name=name, fault=fault, reasons=(("refused", text),), seconds=seconds)]
    seconds = (time.process_time() - begin) / len(solved)
    return [make_row(name, one, fault, seconds, plain) for one in solved]


def make_row(name: str, solved: SolvedRecording, fault: str, seconds: float, plain: bool) -> Row:
    """Return what came of a subject."""
    one, context = solved.track, solved.track.context
    assert context is not None
    doubt = next((found for found in one.findings if found.kind == "doubt"), None)
    errors = 1e3 * one.marker_errors[np.isfinite(one.marker_errors)]
    plain_mm = float("nan")
    if plain:
        markers = one.markers
        other = track(one.skeleton, markers, branches=False, smooth=None)
        plain_mm = 1e3 * other.mean_error
    on_subject = [use for use in context.uses if is_on_subject(use)]
    row = Row(
        name=name if solved.subject == "" else f"{name} ({solved.subject})",
        fault=fault,
        used=len(one.names),
        recorded=len(on_subject),
        mean_mm=float(errors.mean()),
        p95_mm=float(np.percentile(errors, 95.0)),
        measured=0.0 if doubt is None else doubt.details["measured"],
        doubtful=float("nan") if doubt is None else doubt.value,
        seconds=seconds,
        frames_mm=1e3 * measure_frames(one),
        plain_mm=plain_mm,
        context=context,
        findings=one.findings,
    )
    return row.judge()


def measure_frames(one: Track) -> float:
    """Return the mean error of a track before its frames were smoothed together [m]."""
    if one.frame_q is None:
        return one.mean_error
    distance = np.linalg.norm(one.problem.residuals(np.array(one.frame_q)), axis=2)
    return float(np.nanmean(distance))


def spoil_one(job: tuple[str, str, RecordingContext, int]) -> Row | None:
    """Solve a spoiled copy of a recording; None if it cannot be spoiled that way."""
    name, fault, context, seed = job
    markers = load_quietly(name, SPOILED_SECONDS)
    if markers.rate > SPOILED_RATE:
        markers = markers.resampled(SPOILED_RATE)
    copy = FAULTS[fault](markers, context, np.random.default_rng((SEED, seed)))
    if copy is None:
        return None
    can_be_seen = fault not in MIRRORING_FAULTS or context.handedness is not None
    return replace(solve_markers(name, copy, fault=fault)[0], can_be_seen=can_be_seen, context=None)


def format_row(row: Row) -> str:
    """Return a row as a line of text."""
    numbers = f"{row.used:3d}/{row.recorded:<3d} {row.mean_mm:6.1f} {row.p95_mm:6.1f} mm"
    numbers += f" {row.measured:4.0%} measured {row.doubtful:5.1%} doubtful"
    numbers += f" {row.verdict:7} {row.seconds:5.1f} s"
    if np.isfinite(row.plain_mm):
        numbers += f" plain {row.plain_mm:6.1f} mm"
    name = row.name if len(row.name) <= 44 else f"…{row.name[-43:]}"
    fault = f" [{row.fault}]" if row.fault != "" else ""
    return f"{name:44}{fault} {numbers}  {'; '.join(text for _, text in row.reasons)}"


def main() -> int:
    """Solve, print, write; return 1 if a promise is broken."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("chosen", nargs="*", metavar="TEXT")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--spoiled", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=None)
    parser.add_argument("--copies", type=int, default=290)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--again", type=Path)
    arguments = parser.parse_args()
    if arguments.again is not None:
        kept_rows, kept_copies = pickle.loads(arguments.again.read_bytes())
        rows = [row.judge() for row in kept_rows]
        return report([*rows], [row.judge() for row in kept_copies], arguments.write, show=True)
    if not DATA.is_dir():
        print(f"no recordings: {DATA} is absent")
        return 0
    names = find_persons(arguments.chosen)
    rows: list[Row] = []
    copies: list[Row] = []
    # Spawned, not forked: each process compiles or loads its kernels by itself.
    with multiprocessing.get_context("spawn").Pool(arguments.jobs, maxtasksperchild=50) as pool:
        jobs = [(name, arguments.plain, arguments.seconds) for name in names]
        for found in pool.imap(solve_one, jobs):
            rows += found
            keep(arguments.keep, rows, copies)
            print("\n".join(map(format_row, found)), flush=True)
        if arguments.spoiled:
            for copy in pool.imap(spoil_one, list_spoiled(rows, arguments.copies)):
                if copy is not None:
                    copies.append(copy)
                    keep(arguments.keep, rows, copies)
                    print(format_row(copy), flush=True)
    return report(rows, copies, arguments.write)


def keep(path: Path | None, rows: list[Row], copies: list[Row]) -> None:
    """Write what was measured so far, if a file is given for it."""
    if path is not None:
        path.write_bytes(pickle.dumps((rows, copies)))


def report(rows: list[Row], copies: list[Row], write: bool, *, show: bool = False) -> int:
    """Print what came of all, and write the page; return 1 if a spoiled copy is called good."""
    if show:
        print("\n".join(format_row(row) for row in (*rows, *copies)))
    print(f"\n{describe_counts(rows, copies)}")
    if write:
        TARGET.parent.mkdir(exist_ok=True)
        TARGET.write_text(make_page(rows, copies), encoding="utf-8")
        print(f"written: {TARGET.relative_to(ROOT)}")
    return 1 if any(copy.verdict == "good" and copy.can_be_seen for copy in copies) else 0


def list_spoiled(rows: list[Row], count: int) -> list[tuple[str, str, RecordingContext, int]]:
    """Return copies to make of the recordings that are good, all faults alike."""
    # The same recording in another encoding is not spoiled twice.
    distinct = {(row.used, round(row.mean_mm, 3)): row for row in reversed(rows)}
    good = [row for row in rows if row.verdict == "good" and row in distinct.values()]
    jobs: list[tuple[str, str, RecordingContext, int]] = []
    seed = 0
    while len(good) > 0 and len(jobs) < count:
        for row in good:
            for fault in FAULTS:
                if row.context is not None:
                    jobs.append((row.name, fault, row.context, seed))
                seed += 1
    return jobs[: max(count, len(FAULTS))]


def describe_counts(rows: list[Row], copies: list[Row]) -> str:
    """Return how many are what, in a sentence or two."""
    grades = [row.verdict for row in rows]
    text = ", ".join(f"{grades.count(g)} {g}" for g in ("good", "care", "reject", "refused"))
    text = f"{len(rows)} recordings: {text}."
    worse = [row.name for row in rows if row.frames_mm > row.plain_mm + MAX_RISE_MM]
    if any(np.isfinite(row.plain_mm) for row in rows):
        text += f" Frames that fit worse than by plain tracking: {', '.join(worse) or 'none'}."
    if len(copies) > 0:
        seen = [copy for copy in copies if copy.can_be_seen]
        good = [f"{copy.name} ({copy.fault})" for copy in seen if copy.verdict == "good"]
        text += f" Spoiled copies: {len(seen)}, called good: {', '.join(good) or 'none'}."
        hidden = [f"{c.name} ({c.fault}): {c.verdict}" for c in copies if not c.can_be_seen]
        if len(hidden) > 0:
            text += f" Not counted, since nothing could tell: {', '.join(hidden)}."
    return text


def make_page(rows: list[Row], copies: list[Row]) -> str:
    """Return build/recordings-table.md."""
    lines = [
        "# Every recording of a person, solved and judged",
        "",
        "`make recordings` solves them with nothing but `--skeleton human` and writes this table.",
        "Measured, doubtful: shares of the values of dofs with markers; bones without a marker",
        "are held at rest. Frames: the mean error before all frames are smoothed together, which",
        "gives up some of it where it is noise; plain: the same without branches. Seconds of",
        "processor, calibration included. docs/verdict.md explains the verdicts.",
        "",
        "| recording | markers | mean, 95 % [mm] | frames, plain | measured, doubtful, held "
        "| verdict | s | reasons |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        plain = f"{row.frames_mm:.1f}, {row.plain_mm:.1f}" if np.isfinite(row.plain_mm) else ""
        reasons = "; ".join(text for _, text in row.reasons).replace("|", "/")
        error = f"{row.mean_mm:.1f}, {row.p95_mm:.1f}" if row.verdict != "refused" else ""
        lines.append(
            f"| `{row.name}` | {row.used} of {row.recorded} | {error} | {plain} | "
            f"{row.measured:.0%}, {row.doubtful:.1%}, {row.held} | {row.verdict} | "
            f"{row.seconds:.0f} | {reasons} |"
        )
    lines += ["", describe_counts(rows, copies), ""]
    if len(copies) > 0:
        lines += ["## Spoiled copies", "", "| fault | copies | good | care | reject | refused |"]
        lines += ["|---|---|---|---|---|---|"]
        for fault in FAULTS:
            grades = [c.verdict for c in copies if c.fault == fault and c.can_be_seen]
            counts = " | ".join(str(grades.count(g)) for g in ("good", "care", "reject", "refused"))
            lines.append(f"| {fault} | {len(grades)} | {counts} |")
        lines.append("")
    lines += ["## Not persons", "", "| file | why it is left out |", "|---|---|"]
    lines += [f"| `{name}` | {why} |" for name, why in NOT_PERSONS.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
