"""Section files: reading and writing recordings, beside ezc3d and a plain `float()` loop.

All files are of one kind of take, a smooth random motion of the built-in human, in as many frames
as make the files as large as those of a usual recording session.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import exactik as ik
from benchmarks.support.report import Metric, Report
from exactik.typing import Array

RATE = 120.0  # [Hz]
SIZES = {".c3d": 4e6, ".amc": 3e6, ".bvh": 3e6}  # [bytes] asked of some; the others are as long
BARS = {".c3d": 0.5, ".amc": 0.5}  # [s] "well under a second"
FASTER = 5.0  # times a plain loop, at least, for AMC and BVH


def take(skeleton: ik.Skeleton, frames: int, seed: int = 0) -> ik.Motion:
    """A smooth random motion: a few slow waves in every coordinate, within its limits."""
    rng = np.random.default_rng(seed)
    times = np.arange(frames)[:, None, None] / RATE
    rates, phases = rng.uniform(0.2, 2.0, (3, skeleton.nq)), rng.uniform(0, 6.3, (3, skeleton.nq))
    waves = np.sin(rates * times + phases).sum(axis=1)
    return ik.Motion(skeleton, skeleton.clip(skeleton.neutral() + 0.1 * waves), RATE, up_axis="z")


def best(run: Callable[[], object], rounds: int = 7) -> float:
    """Seconds of one call: the fastest of some, after one that does not count."""
    times = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times[1:])


# --- plain Python


def plain_amc(path: Path) -> Array:
    """Numbers of an AMC file: a loop over lines, `float` for each word behind the bone's name."""
    frames: list[list[float]] = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if len(words) == 1 and words[0].isdigit():
                frames.append([])
            elif len(frames) > 0:
                frames[-1] += [float(word) for word in words[1:]]
    return np.array(frames)


def plain_bvh(path: Path) -> Array:
    """Rows of a BVH file."""
    rows: list[list[float]] = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("Frame Time"):
                break
        for line in file:
            rows.append([float(word) for word in line.split()])
    return np.array(rows)


def plain_trc(path: Path) -> Array:
    """Rows of a TRC file; an empty cell is a gap."""
    rows: list[list[float]] = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file):
            if number > 4 and line != "\n":
                cells = line.rstrip("\n").split("\t")
                rows.append([float(cell) if cell != "" else np.nan for cell in cells])
    return np.array(rows)


PLAIN = {".amc": plain_amc, ".bvh": plain_bvh, ".trc": plain_trc}


# --- the take as files


class Files:
    """Writes the takes to a folder, and reads them."""

    def __init__(self, folder: Path):
        """Write every file once, with as many frames as its size takes."""
        self.folder, self.figure = folder, ik.human()
        usual = take(self.figure, 300)
        self.contents: dict[str, Any] = {}
        for suffix in (".c3d", ".amc", ".bvh"):
            probe = self.content(suffix, usual)
            probe.save(folder / f"probe{suffix}")
            empty = self.content(suffix, take(self.figure, 1))
            empty.save(folder / f"empty{suffix}")
            small, large = (self.bytes_of(name, suffix) for name in ("empty", "probe"))
            frames = 1 + round((SIZES[suffix] - small) * 299 / (large - small))
            self.contents[suffix] = self.content(suffix, take(self.figure, frames))
        ik.save_skeleton(self.figure, folder / "take.asf")
        self.acclaim = ik.load_skeleton(folder / "take.asf")
        longest = self.contents[".amc"]
        for suffix in (".trc", ".glb", ".npz"):
            self.contents[suffix] = self.content(suffix, longest)
        for suffix in self.contents:
            self.save(suffix)

    def content(self, suffix: str, motion: ik.Motion) -> Any:
        """Return what goes into a file: markers for formats of markers, else the motion itself."""
        if suffix not in (".c3d", ".trc"):
            return motion
        return ik.Markers(motion.forward().markers, tuple(self.figure.markers), RATE, up_axis="z")

    def path(self, suffix: str) -> Path:
        return self.folder / f"take{suffix}"

    def bytes_of(self, name: str, suffix: str) -> int:
        return (self.folder / f"{name}{suffix}").stat().st_size

    def save(self, suffix: str) -> None:
        self.contents[suffix].save(self.path(suffix))

    def load(self, suffix: str) -> Any:
        if suffix in (".c3d", ".trc"):
            return ik.load_markers(self.path(suffix))
        given = self.acclaim if suffix == ".amc" else None
        unit = "cm" if suffix == ".bvh" else None
        return ik.load_motion(self.path(suffix), given, length_unit=unit)


def check(files: Files, ezc3d: Any) -> None:
    """See that what was written is what is read, and that the rivals read the same numbers."""
    for suffix, content in files.contents.items():
        found = files.load(suffix)
        if suffix in (".c3d", ".trc"):
            np.testing.assert_allclose(found.positions, content.positions, atol=1e-6)
        else:
            hands = [motion.forward().point("r_hand") for motion in (found, content)]
            np.testing.assert_allclose(*hands, atol=1e-5)
    columns = {".amc": files.figure.nq, ".trc": 2 + 3 * len(files.figure.markers)}
    for suffix, width in columns.items():
        shape = (len(files.contents[suffix]), width)
        assert PLAIN[suffix](files.path(suffix)).shape == shape
    assert len(plain_bvh(files.path(".bvh"))) == len(files.contents[".bvh"])
    if ezc3d is not None:
        points = ezc3d.c3d(str(files.path(".c3d")))["data"]["points"][:3]
        ours = files.load(".c3d").positions
        np.testing.assert_allclose(1e-3 * np.moveaxis(points, 0, 2).swapaxes(0, 1), ours, atol=1e-6)


def run(report: Report) -> None:
    """Measure and print the section."""
    with tempfile.TemporaryDirectory() as folder:
        measure(report, Files(Path(folder)))


def measure(report: Report, files: Files) -> None:
    ezc3d = _ezc3d()
    check(files, ezc3d)
    rows, metrics = [], []
    for suffix, content in files.contents.items():
        size = files.bytes_of("take", suffix)
        reading, writing = (
            best(lambda s=suffix: files.load(s)),
            best(lambda s=suffix: files.save(s)),
        )
        rival, name = None, ""
        if suffix in PLAIN:
            rival, name = best(lambda s=suffix: PLAIN[s](files.path(s)), 3), "plain loop"
        elif suffix == ".c3d" and ezc3d is not None:
            rival, name = best(lambda: ezc3d.c3d(str(files.path(".c3d")))), "ezc3d"
        kind = suffix[1:].upper()
        ratio = "" if rival is None else f"{rival / reading:.1f} × {name}"
        rows.append(
            [
                kind,
                f"{len(content)}",
                f"{size / 1e6:.1f}",
                f"{1e3 * reading:.1f}",
                f"{size / 1e6 / reading:.0f}",
                ratio,
                f"{1e3 * writing:.0f}",
                f"{size / 1e6 / writing:.0f}",
            ]
        )
        if suffix in BARS:
            metrics.append(
                Metric(f"load {size / 1e6:.1f} MB of {kind}", reading, "s", BARS[suffix])
            )
        if rival is not None:
            bar = FASTER if suffix in (".amc", ".bvh") else None
            metrics.append(Metric(f"{name} / exactik, {kind}", rival / reading, "×", bar, True))
        report.metrics.append(Metric(f"write {kind}", writing, "s"))
    peer = "" if ezc3d is None else f", ezc3d {version('ezc3d')}"
    report.title(
        f"files: a take of {files.figure.nv} dofs, {len(files.figure.markers)} markers{peer}"
    )
    headers = ["format", "frames", "MB", "load ms", "MB/s", "faster than", "save ms", "MB/s"]
    report.table(headers, rows)
    report.add(*metrics)


def _ezc3d() -> Any:
    try:
        import ezc3d
    except ImportError:
        return None
    return ezc3d
