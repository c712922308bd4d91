"""What `solve` writes, and where: planned before the work, so that nothing fails after it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from exactik.errors import FileError
from exactik.io import choose_unit, files_to_write, find_format, writable_suffixes, write_files
from exactik.motion import Motion

__all__ = ["Plan", "planned", "write_motion"]


@dataclass(frozen=True)
class Plan:
    """What becomes of a recording.

    Attributes:
        source: the recording.
        targets: files of its motion.
        report: of it, or None.
    """

    source: Path
    targets: tuple[Path, ...]
    report: Path | None


def planned(
    sources: Sequence[Path],
    outputs: Sequence[str],
    formats: str | None,
    report: str | None,
    others: Sequence[str] = (),
) -> list[Plan]:
    """Return what is to be written for each recording; folders are made.

    Args:
        sources: the recordings.
        outputs: files, or folders for files called like the recordings.
        formats: of the files in folders, separated by commas; BVH if None.
        report: file, or folder.
        others: files that are read too, and must not be written.
    """
    suffixes = _suffixes(formats)
    plans = []
    for source in sources:
        targets: list[Path] = []
        for output in outputs:
            targets += _targets(source, output, suffixes, len(sources))
        if formats is not None and len(outputs) > 0:
            lacking = [s for s in suffixes if s not in {t.suffix.lower() for t in targets}]
            # A single -o take.bvh with --format bvh,glb means take.glb as well.
            targets += [targets[0].with_suffix(suffix) for suffix in lacking]
        page = None if report is None else _report(source, report, len(sources))
        plans.append(Plan(source, tuple(dict.fromkeys(targets)), page))
    _check(plans, [*map(str, sources), *others])
    return plans


def _suffixes(formats: str | None) -> list[str]:
    found = [f".{part.strip().lstrip('.').lower()}" for part in (formats or "bvh").split(",")]
    for suffix in found:
        if suffix not in writable_suffixes("motion"):
            known = ", ".join(s.removeprefix(".") for s in writable_suffixes("motion"))
            raise FileError(formats or "", f"no format of motions; expected some of {known}")
    return list(dict.fromkeys(found))


def _is_folder(name: str) -> bool:
    return os.path.isdir(name) or name.endswith(("/", os.sep)) or Path(name).suffix == ""


def _targets(source: Path, output: str, suffixes: Sequence[str], count: int) -> list[Path]:
    if _is_folder(output):
        return [Path(output) / f"{source.stem}{suffix}" for suffix in suffixes]
    path = Path(output)
    if path.suffix.lower() not in writable_suffixes("motion"):
        known = " ".join(writable_suffixes("motion"))
        raise FileError(output, f"no motion can be written as {path.suffix}; expected {known}")
    if count > 1:
        raise FileError(output, f"is one file for {count} recordings; expected a folder")
    return [path]


def _report(source: Path, report: str, count: int) -> Path:
    if _is_folder(report):
        return Path(report) / f"{source.stem}.html"
    if Path(report).suffix.lower() not in (".html", ".htm"):
        raise FileError(report, "is no name of a report; expected .html, or a folder")
    if count > 1:
        raise FileError(report, f"is one report for {count} recordings; expected a folder")
    return Path(report)


def _check(plans: Sequence[Plan], read: Sequence[str]) -> None:
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
    form, up, said = find_format(path), motion.up_axis, ""
    assert form is not None  # as planned
    # Readers of a format that cannot say which axis is up expect the customary one.
    wanted = None if "motion" in form.states_up_axis else form.up_axis
    if wanted is not None and up is not None and up != wanted:
        # Blender and its like take y for up in these files and z for forward.
        motion = motion.turned("YZX" if up == "z" else "ZXY")
        said = f", turned from {up} up to {wanted} up, as readers of {form.suffix} expect"
    files = files_to_write(str(path), ())
    write_files(motion, files, choose_unit(motion, form), motion.up_axis)
    words = f"{len(motion)} frames of {motion.skeleton.nv} dofs{said}"
    return [(path, words), *((Path(file), "its skeleton") for file in files[1:])]
