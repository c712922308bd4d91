"""What commands read, write and say: files found and planned, paragraphs about the result."""

from __future__ import annotations

import os
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from exactik._options import option
from exactik._text import count_noun
from exactik.cli._app import (
    LINE_WIDTH,
    Stopwatch,
    command_line,
    complain,
    format_entry,
    print_json,
    say,
)
from exactik.cli._options import to_flag
from exactik.errors import ExactikError, FileError, UsageError
from exactik.io import files_to_write, readable_suffixes, suffix_of, with_suffix, writable_suffixes
from exactik.io.formats import BVH, CSV, MOT, NPZ
from exactik.recordings.angles import NormalGait, read_normal_gait
from exactik.recordings.diagnosis import EXIT_CODES
from exactik.recordings.pipeline import RecordingOptions, rate_columns, write_motion
from exactik.recordings.tracking import Quality, Track
from exactik.studio.report import (
    describe_error,
    describe_first_look,
    headline_of,
    summary_of,
    write_report,
)

MAX_LISTED_SEGMENTS = 6  # that need attention, without --all
MAX_STAGES = 2  # that took most of the time, without --verbose


@dataclass(frozen=True, kw_only=True)
class MotionOutputs:
    """What is written of motions."""

    output: tuple[str, ...] = option(
        (),
        "File or folder to write; may be given repeatedly.",
        metavar="FILE",
        flags="--output -o",
    )
    report: str | None = option(
        None, "HTML report to write; a folder for many recordings.", metavar="FILE"
    )
    normal: str | None = option(
        None,
        "Normal range of walking for the report: .csv of angle, percent, mean, sd.",
        why="Each laboratory has its own.",
        metavar="FILE",
    )
    formats: tuple[str, ...] | None = option(
        None,
        "Formats to write, such as bvh,glb: some of bvh, amc, glb, npz, mot, csv.",
        metavar="FORMATS",
        flags="--format",
    )
    mask: bool = option(
        False, "Leave out values of .csv and .mot that are doubtful or open.", flags="--mask"
    )
    fill_open: bool = option(
        False,
        "Write values that nothing determines too; .csv and .mot leave them out.",
        flags="--fill-open",
    )

    @property
    def blank(self) -> tuple[Quality, ...]:
        """Qualities of the values that tables leave out."""
        if self.mask:
            return (Quality.DOUBTFUL, Quality.OPEN)
        return () if self.fill_open else (Quality.OPEN,)


@dataclass(frozen=True)
class OutputPlan:
    """What becomes of a recording."""

    source: Path  # the recording
    targets: tuple[Path, ...]  # files of its motion
    report: Path | None  # of it, or None
    blank: tuple[Quality, ...] = (Quality.OPEN,)  # qualities of the values that tables leave out
    normal: NormalGait | None = None  # range of walking, for the report

    def of_subject(self, name: str) -> OutputPlan:
        """Return the plan for one of several subjects: its name is added to those of the files."""
        safe = re.sub(r"[^\w.-]+", "_", name)
        targets = tuple(with_suffix(p, f"-{safe}{suffix_of(p)}") for p in self.targets)
        report = (
            None if self.report is None else self.report.with_stem(f"{self.report.stem}-{safe}")
        )
        return replace(self, targets=targets, report=report)


def find_recordings(given: Sequence[str]) -> list[Path]:
    """Return the recordings that names, patterns and folders mean; each once."""
    paths: list[Path] = []
    known = readable_suffixes("markers")
    for name in given:
        path = Path(name)
        if path.is_dir():
            inside = sorted(p for p in path.iterdir() if suffix_of(p) in known)
            inside = [p for p in inside if suffix_of(p) != NPZ.suffix]
            if len(inside) == 0:
                raise FileError(name, f"no recording in it; expected one of {' '.join(known)}")
            paths += inside
        elif has_magic(name) and not path.exists():
            matches = sorted(map(Path, glob(name, recursive=True)))
            if len(matches) == 0:
                raise FileError(name, "no file fits this pattern")
            paths += matches
        else:
            paths.append(path)
    return list(dict.fromkeys(paths))


def plan_outputs(
    sources: Sequence[Path], outputs: MotionOutputs, others: Sequence[str] = ()
) -> list[OutputPlan]:
    """Return what is to be written for each recording; folders are made.

    Args:
        sources: the recordings.
        outputs: files, or folders for files called like the recordings; in BVH if nothing is said.
        others: files that are read too, and must not be written.
    """
    if outputs.mask and outputs.fill_open:
        raise UsageError("--mask leaves out what --fill-open writes; expected one of them")
    normal = None if outputs.normal is None else read_normal_gait(outputs.normal)
    suffixes = _parse_formats(outputs.formats or (BVH.suffix,))
    plans = []
    for source in sources:
        targets: list[Path] = []
        for output in outputs.output:
            targets += _target_paths(source, output, suffixes, len(sources))
        if outputs.formats is not None and len(outputs.output) > 0:
            lacking = [s for s in suffixes if s not in map(suffix_of, targets)]
            # A single -o take.bvh with --format bvh,glb means take.glb as well.
            targets += [with_suffix(targets[0], suffix) for suffix in lacking]
        report = outputs.report
        page = None if report is None else _report_path(source, report, len(sources))
        files = tuple(dict.fromkeys(targets))
        plans.append(OutputPlan(source, files, page, outputs.blank, normal))
    _check_paths(plans, [*map(str, sources), *others])
    return plans


def _parse_formats(formats: Sequence[str]) -> list[str]:
    suffixes = [f".{part.strip().lstrip('.').lower()}" for part in formats]
    for suffix in suffixes:
        if suffix not in writable_suffixes("motion"):
            known = ", ".join(s.removeprefix(".") for s in writable_suffixes("motion"))
            raise FileError(",".join(formats), f"no format of motions; expected some of {known}")
    return list(dict.fromkeys(suffixes))


def _is_folder(name: str) -> bool:
    return os.path.isdir(name) or name.endswith(("/", os.sep)) or Path(name).suffix == ""


def _target_paths(source: Path, output: str, suffixes: Sequence[str], count: int) -> list[Path]:
    if _is_folder(output):
        return [Path(output) / f"{source.stem}{suffix}" for suffix in suffixes]
    path = Path(output)
    if suffix_of(path) not in writable_suffixes("motion"):
        known = " ".join(writable_suffixes("motion"))
        raise FileError(output, f"no motion can be written as {suffix_of(path)}; expected {known}")
    if count > 1:
        raise FileError(output, f"is one file for {count} recordings; expected a folder")
    return [path]


def _report_path(source: Path, report: str, count: int) -> Path:
    if _is_folder(report):
        return Path(report) / f"{source.stem}.html"
    if Path(report).suffix.lower() not in (".html", ".htm"):
        raise FileError(report, "is no name of a report; expected .html, or a folder")
    if count > 1:
        raise FileError(report, f"is one report for {count} recordings; expected a folder")
    return Path(report)


def _check_paths(plans: Sequence[OutputPlan], read: Sequence[str]) -> None:
    """Refuse what would overwrite a file that is read, or be written twice; make folders."""
    paths = [path for plan in plans for path in (*plan.targets, plan.report) if path is not None]
    twice = [path for path, count in Counter(paths).items() if count > 1]
    if len(twice) > 0:
        sources = [str(p.source) for p in plans if twice[0] in (*p.targets, p.report)]
        raise FileError(twice[0], f"would be written twice, of {' and '.join(sources)}")
    for path in paths:
        files_to_write(str(path), tuple(read))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(path, f"cannot be written: {error.strerror or error}") from None


def format_attention(segments: Sequence[dict[str, Any]], list_all: bool) -> list[str]:
    """Return segments of frames with their reason, the worst first, a line or two each."""
    if len(segments) == 0:
        return []
    shown = segments if list_all else segments[:MAX_LISTED_SEGMENTS]
    frames = [_format_range(s["first_in_file"], s["last_in_file"], "d") for s in shown]
    times = [_format_range(s["start_s"], s["end_s"], ".2f") for s in shown]
    frames_width, times_width = max(map(len, frames)), max(map(len, times))
    lines = ["Frames that need attention, the worst first:"]
    for frame, moment, segment in zip(frames, times, shown, strict=True):
        head = f"  {frame.rjust(frames_width)}  {moment.rjust(times_width)} s  "
        lines += textwrap.wrap(
            segment["text"], LINE_WIDTH, initial_indent=head, subsequent_indent=" " * len(head)
        )
    if len(shown) < len(segments):
        lines.append(f"  and {len(segments) - len(shown)} more; --all lists them")
    return lines


def _format_range(first: float, last: float, form: str) -> str:
    return f"{first:{form}}" if first == last else f"{first:{form}}–{last:{form}}"


def print_solved(
    summary: dict[str, Any],
    written: Sequence[tuple[Path, str]],
    *,
    verbose: bool,
    list_all: bool,
    advice: str = "",
) -> None:
    """Print what came of a recording: four lines, or everything.

    The lines are the verdict, the error, what to look at or to do first, and the written files.
    """
    if not verbose:
        say(f"verdict  {summary['verdict_short']}.")
        say(f"error    {describe_error(summary)}")
        say(f"next     {advice}" if advice else f"look at  {describe_first_look(summary)}")
        if len(written) > 0:
            say(f"written  {', '.join(str(path) for path, _ in written)}")
        return
    say()
    say(textwrap.fill(headline_of(summary), LINE_WIDTH))
    lines = format_attention(summary["attention"], list_all)
    if len(lines) > 0:
        say()
        say("\n".join(lines))
    if len(written) > 0:
        say()
    for path, words in written:
        say(format_entry("written", f"{path}: {words}"))


def write_tracked(
    track: Track, plan: OutputPlan, options: RecordingOptions, subject: str, watch: Stopwatch
) -> tuple[dict[str, Any], list[tuple[Path, str]]]:
    """Write motions and report of a track; return its summary, and files with words about them."""
    written: list[tuple[Path, str]] = []
    rated = {CSV.suffix, MOT.suffix, NPZ.suffix} & {suffix_of(path) for path in plan.targets}
    with watch.measure("judging"):
        quality = rate_columns(track, plan.blank) if len(rated) > 0 else None
        summary = summary_of(track, command_line())
    with watch.measure("writing"):
        for path in plan.targets:
            written += write_motion(track.motion, path, options.angles, options.rotations, quality)
    if plan.report is not None:
        with watch.measure("report"):
            write_report(track, str(plan.report), summary=summary, normal=plan.normal)
        written.append((plan.report, "the report"))
    return {**summary, "subject": subject}, written


def run_each(
    plans: Sequence[OutputPlan],
    run: Callable[[int, OutputPlan], list[dict[str, Any]]],
    watch: Stopwatch,
    *,
    as_json: bool,
    verbose: bool,
) -> tuple[int, int]:
    """Run plans one after the other; return how many failed, and the exit code.

    The exit code is that of the gravest verdict, or 2 if a plan failed: that is told, unless it is
    alone. The last line says where the time went.
    """
    solved: list[dict[str, Any]] = []
    failed: list[dict[str, str]] = []
    for n, plan in enumerate(plans):
        if not as_json and not verbose and len(plans) > 1:
            say(f"{plan.source}:" if n == 0 else f"\n{plan.source}:")
        try:
            solved += run(n, plan)
        except ExactikError as error:
            error = error.renamed(to_flag) if isinstance(error, FileError) else error
            if len(plans) == 1:
                raise error from None
            failed.append({"source": str(plan.source), "error": str(error)})
            complain(f"exactik: {error}")
    if as_json:
        seconds = {stage: round(value, 3) for stage, value in watch.seconds.items()}
        print_json({"solved": solved, "failed": failed, "seconds": seconds})
    elif len(solved) > 0 and verbose:
        say(f"\n{textwrap.fill(watch.describe(), LINE_WIDTH)}")
    elif len(solved) > 0:
        notes = sum(len(summary["notes"]) for summary in solved)
        more = f" -v says more ({count_noun(notes, 'note')})." if notes > 0 else ""
        say(f"{watch.describe(MAX_STAGES)}{more}")
    codes = [EXIT_CODES[summary["verdict"]] for summary in solved if "verdict" in summary]
    return len(failed), 2 if len(failed) > 0 else max(codes, default=0)
