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
FILE_BYTES = {
    ".c3d": 4e6,
    ".amc": 3e6,
    ".bvh": 3e6,
}  # of files made to this size; the others have as many frames as the AMC
MAX_LOAD_S = {".c3d": 0.5, ".amc": 0.5}  # "well under a second"
MIN_SPEED_UP = 5.0  # over a plain loop, for AMC and BVH


def make_motion(skeleton: ik.Skeleton, frames: int, seed: int = 0) -> ik.Motion:
    """Return a smooth random motion: a few slow waves in every coordinate, within its limits."""
    rng = np.random.default_rng(seed)
    times = np.arange(frames)[:, None, None] / RATE
    rates, phases = rng.uniform(0.2, 2.0, (3, skeleton.nq)), rng.uniform(0, 6.3, (3, skeleton.nq))
    waves = np.sin(rates * times + phases).sum(axis=1)
    return ik.Motion(skeleton, skeleton.clip(skeleton.neutral() + 0.1 * waves), RATE, up_axis="z")


def time_fastest(run: Callable[[], object], rounds: int = 7) -> float:
    """Return the time of one call [s]: the fastest of some, after one that does not count."""
    times = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times[1:])


# --- plain Python


def read_plain_amc(path: Path) -> Array:
    """Return the numbers of an AMC file: a loop over lines, `float` for each value."""
    frames: list[list[float]] = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if len(words) == 1 and words[0].isdigit():
                frames.append([])
            elif len(frames) > 0:
                frames[-1] += [float(word) for word in words[1:]]
    return np.array(frames)


def read_plain_bvh(path: Path) -> Array:
    """Return the rows of a BVH file."""
    rows: list[list[float]] = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("Frame Time"):
                break
        for line in file:
            rows.append([float(word) for word in line.split()])
    return np.array(rows)


def read_plain_trc(path: Path) -> Array:
    """Return the rows of a TRC file; an empty cell is a gap."""
    rows: list[list[float]] = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file):
            if number > 4 and line != "\n":
                cells = line.rstrip("\n").split("\t")
                rows.append([float(cell) if cell != "" else np.nan for cell in cells])
    return np.array(rows)


PLAIN_READERS = {".amc": read_plain_amc, ".bvh": read_plain_bvh, ".trc": read_plain_trc}


# --- the take as files


class TakeFiles:
    """Writes the takes to a folder, and reads them."""

    def __init__(self, folder: Path):
        """Write every file once, with as many frames as its size takes."""
        self.folder, self.figure = folder, ik.human()
        usual = make_motion(self.figure, 300)
        self.contents: dict[str, Any] = {}
        for suffix in (".c3d", ".amc", ".bvh"):
            probe = self.select_content(suffix, usual)
            probe.save(folder / f"probe{suffix}")
            empty = self.select_content(suffix, make_motion(self.figure, 1))
            empty.save(folder / f"empty{suffix}")
            small, large = (self.file_bytes(name, suffix) for name in ("empty", "probe"))
            frames = 1 + round((FILE_BYTES[suffix] - small) * 299 / (large - small))
            self.contents[suffix] = self.select_content(suffix, make_motion(self.figure, frames))
        ik.save_skeleton(self.figure, folder / "take.asf")
        self.acclaim = ik.load_skeleton(folder / "take.asf")
        longest = self.contents[".amc"]
        for suffix in (".trc", ".glb", ".npz"):
            self.contents[suffix] = self.select_content(suffix, longest)
        for suffix in self.contents:
            self.save(suffix)

    def select_content(self, suffix: str, motion: ik.Motion) -> Any:
        """Return what goes into a file: markers for formats of markers, else the motion itself."""
        if suffix not in (".c3d", ".trc"):
            return motion
        return ik.Markers(motion.forward().markers, tuple(self.figure.markers), RATE, up_axis="z")

    def path(self, suffix: str) -> Path:
        return self.folder / f"take{suffix}"

    def file_bytes(self, name: str, suffix: str) -> int:
        return (self.folder / f"{name}{suffix}").stat().st_size

    def save(self, suffix: str) -> None:
        self.contents[suffix].save(self.path(suffix))

    def load(self, suffix: str) -> Any:
        if suffix in (".c3d", ".trc"):
            return ik.load_markers(self.path(suffix))
        given = self.acclaim if suffix == ".amc" else None
        unit = "cm" if suffix == ".bvh" else None
        return ik.load_motion(self.path(suffix), given, length_unit=unit)


def check_readers(files: TakeFiles, ezc3d: Any) -> None:
    """Check that what was written is what is read, and that the rivals read the same numbers."""
    for suffix, content in files.contents.items():
        loaded = files.load(suffix)
        if suffix in (".c3d", ".trc"):
            np.testing.assert_allclose(loaded.positions, content.positions, atol=1e-6)
        else:
            hands = [motion.forward().point("r_hand") for motion in (loaded, content)]
            np.testing.assert_allclose(*hands, atol=1e-5)
    columns = {".amc": files.figure.nq, ".trc": 2 + 3 * len(files.figure.markers)}
    for suffix, width in columns.items():
        shape = (len(files.contents[suffix]), width)
        assert PLAIN_READERS[suffix](files.path(suffix)).shape == shape
    assert len(read_plain_bvh(files.path(".bvh"))) == len(files.contents[".bvh"])
    if ezc3d is not None:
        points = ezc3d.c3d(str(files.path(".c3d")))["data"]["points"][:3]
        ours = files.load(".c3d").positions
        np.testing.assert_allclose(1e-3 * np.moveaxis(points, 0, 2).swapaxes(0, 1), ours, atol=1e-6)


def run(report: Report) -> None:
    """Measure and print the section."""
    with tempfile.TemporaryDirectory() as folder:
        measure(report, TakeFiles(Path(folder)))


def measure(report: Report, files: TakeFiles) -> None:
    ezc3d = import_ezc3d()
    check_readers(files, ezc3d)
    rows, metrics = [], []
    for suffix, content in files.contents.items():
        size = files.file_bytes("take", suffix)
        reading, writing = (
            time_fastest(lambda s=suffix: files.load(s)),
            time_fastest(lambda s=suffix: files.save(s)),
        )
        rival, name = None, ""
        if suffix in PLAIN_READERS:
            rival, name = (
                time_fastest(lambda s=suffix: PLAIN_READERS[s](files.path(s)), 3),
                "plain loop",
            )
        elif suffix == ".c3d" and ezc3d is not None:
            rival, name = time_fastest(lambda: ezc3d.c3d(str(files.path(".c3d")))), "ezc3d"
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
        if suffix in MAX_LOAD_S:
            metrics.append(
                Metric(f"load {size / 1e6:.1f} MB of {kind}", reading, "s", MAX_LOAD_S[suffix])
            )
        if rival is not None:
            bar = MIN_SPEED_UP if suffix in (".amc", ".bvh") else None
            metrics.append(Metric(f"{name} / exactik, {kind}", rival / reading, "×", bar, True))
        report.metrics.append(Metric(f"write {kind}", writing, "s"))
    peer = "" if ezc3d is None else f", ezc3d {version('ezc3d')}"
    report.title(
        f"files: a take of {files.figure.nv} dofs, {len(files.figure.markers)} markers{peer}"
    )
    headers = ["format", "frames", "MB", "load ms", "MB/s", "faster than", "save ms", "MB/s"]
    report.table(headers, rows)
    report.add(*metrics)


def import_ezc3d() -> Any:
    try:
        import ezc3d
    except ImportError:
        return None
    return ezc3d
