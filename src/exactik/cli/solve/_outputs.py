"""What `solve` writes, and where: planned before the work, so that nothing fails after it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from exactik.errors import FileError
from exactik.io._save import MOTIONS
from exactik.io.conversion._convert import files_to_write, write_files
from exactik.motion import Motion

__all__ = ["OutputPlan", "plan_outputs", "write_motion"]

CUSTOM = {".bvh": "y", ".amc": "y"}  # which axis is up for readers of a format that cannot say


@dataclass(frozen=True)
class OutputPlan:
    """What becomes of a recording.

    Attributes:
        source: the recording.
        targets: files of its motion.
        report: of it, or None.
    """

    source: Path
    targets: tuple[Path, ...]
    report: Path | None


def plan_outputs(
    sources: Sequence[Path],
    outputs: Sequence[str],
    formats: str | None,
    report: str | None,
    others: Sequence[str] = (),
) -> list[OutputPlan]:
    """Return what is to be written for each recording; folders are made.

    Args:
        sources: the recordings.
        outputs: files, or folders for files called like the recordings.
        formats: of the files in folders, separated by commas; BVH if None.
        report: file, or folder.
        others: files that are read too, and must not be written.
    """
    suffixes = _parse_formats(formats)
    plans = []
    for source in sources:
        targets: list[Path] = []
        for output in outputs:
            targets += _target_paths(source, output, suffixes, len(sources))
        if formats is not None and len(outputs) > 0:
            lacking = [s for s in suffixes if s not in {t.suffix.lower() for t in targets}]
            # A single -o take.bvh with --format bvh,glb means take.glb as well.
            targets += [targets[0].with_suffix(suffix) for suffix in lacking]
        page = None if report is None else _report_path(source, report, len(sources))
        plans.append(OutputPlan(source, tuple(dict.fromkeys(targets)), page))
    _check_paths(plans, [*map(str, sources), *others])
    return plans


def _parse_formats(formats: str | None) -> list[str]:
    found = [f".{part.strip().lstrip('.').lower()}" for part in (formats or "bvh").split(",")]
    for suffix in found:
        if suffix not in MOTIONS:
            known = ", ".join(s.removeprefix(".") for s in MOTIONS)
            raise FileError(formats or "", f"no format of motions; expected some of {known}")
    return list(dict.fromkeys(found))


def _is_folder(name: str) -> bool:
    return os.path.isdir(name) or name.endswith(("/", os.sep)) or Path(name).suffix == ""


def _target_paths(source: Path, output: str, suffixes: Sequence[str], count: int) -> list[Path]:
    if _is_folder(output):
        return [Path(output) / f"{source.stem}{suffix}" for suffix in suffixes]
    path = Path(output)
    if path.suffix.lower() not in MOTIONS:
        known = " ".join(MOTIONS)
        raise FileError(output, f"no motion can be written as {path.suffix}; expected {known}")
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
    every = [path for plan in plans for path in (*plan.targets, plan.report) if path is not None]
    twice = [path for path, count in Counter(every).items() if count > 1]
    if len(twice) > 0:
        of = [str(p.source) for p in plans if twice[0] in (*p.targets, p.report)]
        raise FileError(twice[0], f"would be written twice, of {' and '.join(of)}")
    for path in every:
        files_to_write(str(path), tuple(read))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(path, f"cannot be written: {error.strerror or error}") from None


def write_motion(motion: Motion, path: Path) -> list[tuple[Path, str]]:
    """Write a motion as what its name says; return the files and what is in them, in words."""
    suffix, up = path.suffix.lower(), motion.up_axis
    wanted, said = CUSTOM.get(suffix), ""
    if wanted is not None and up is not None and up != wanted:
        # Blender and its like take y for up in these files and z for forward.
        motion = motion.turned("YZX" if up == "z" else "ZXY")
        said = f", turned from {up} up to {wanted} up, as readers of {suffix} expect"
    unit = None
    if suffix == ".amc":
        from exactik.io.acclaim import choose_asf_unit

        unit = choose_asf_unit(motion.skeleton, None)
    files = files_to_write(str(path), ())
    write_files(motion, files, unit, motion.up_axis)
    words = f"{len(motion)} frames of {motion.skeleton.nv} dofs{said}"
    return [(path, words), *((Path(file), "its skeleton") for file in files[1:])]
