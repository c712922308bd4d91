"""What a worker does with a take: read it, solve it, write it, with where it came from."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from exactik.archive.tasks._keys import hash_facts, solver_version
from exactik.archive.tasks._options import TakeOptions
from exactik.archive.tasks._provenance import find_result, publish_result, read_provenance
from exactik.archive.tasks._storage import Storage, fetch_file, hash_file, make_name
from exactik.archive.tasks._worker import TaskResult
from exactik.errors import FileError
from exactik.motion import Markers
from exactik.pipeline import (
    LoadedRecording,
    LoadedSkeleton,
    SolvedRecording,
    read_recording,
    read_skeleton,
    solve_recording,
    write_motion,
)
from exactik.report import summary_of, write_report
from exactik.tracking import Track
from exactik.typing import Array

__all__ = ["Figure", "TakeTask", "load_figure"]

FOLDER = "takes"  # of the outputs
CURVE_BINS = 60  # points of the thumbnail of a take's errors, one for two pixels of it
MARGIN_SECONDS = 1.0
"""[s] solved beyond both ends of a part and not written: the smoother's memory is 0.2 s at 5 Hz."""
GRAVITY = ("good", "care", "reject")


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure that workers read.

    Attributes:
        file: its .npz file, in the place of the outputs.
        sha256: of the file.
    """

    file: str
    sha256: str


@dataclass(frozen=True, kw_only=True)
class TakeTask:
    """A take as it is sent to a worker.

    Attributes:
        name: of its outputs.
        address: of the recording.
        fingerprint: of the recording when it was listed; "" if unknown.
        figure: that moves.
        options: of the take.
        outputs: address of the place of the outputs.
        part: first frame and the one after the last, of a take that was cut; else None.
    """

    name: str
    address: str
    fingerprint: str
    figure: Figure
    options: TakeOptions
    outputs: str
    part: tuple[int, int] | None = None

    def perform(self) -> TaskResult:
        """Solve the take unless its result is there; see `Task`."""
        storage, began = Storage(self.outputs), time.perf_counter()
        place = f"{FOLDER}/{self.name}"
        found = read_provenance(storage, place)
        if found is not None and self.fingerprint not in ("", None):
            known = found["input"]
            if known["fingerprint"] == self.fingerprint and known["address"] == self.address:
                done = find_result(storage, found, self._key(known["sha256"]))
                if done is not None:
                    return done
        with fetch_file(self.address) as path:
            sha256 = hash_file(path)
            key = self._key(sha256)
            done = find_result(storage, found, key)
            if done is not None:
                return done
            recording = read_recording(path, None, self.options.recording, align=False)
            size = path.stat().st_size
        markers = replace(recording.markers, source=self.address)
        if self.part is None and len(markers) > self.options.segment:
            return TaskResult(state="cut", frames=len(markers))
        figure = load_figure(self.outputs, self.figure)
        solved = self._solve(_cut(markers, self.part), figure)
        with storage.stage() as folder:
            staged = self._write(solved, folder)
            result = TaskResult(
                state="done",
                solved=True,
                key=key,
                verdict=max((one.verdict.grade for one in solved), key=GRAVITY.index),
                frames=_count_frames(markers, self.part),
                seconds=round(time.perf_counter() - began, 4),
                facts=_describe(solved, recording, staged),
            )
            facts = {
                "input": {
                    "address": self.address,
                    "sha256": sha256,
                    "bytes": size,
                    "fingerprint": self.fingerprint,
                },
                "part": self.part,
                "figure": asdict(self.figure),
                "options": self.options.to_dict(),
                "solver": solver_version(),
            }
            return publish_result(storage, place, staged, result, facts)

    def _key(self, sha256: str) -> str:
        return hash_facts(
            {
                "input": sha256,
                "figure": self.figure.sha256,
                "options": self.options.to_dict(),
                "part": self.part,
                "solver": solver_version(),
            }
        )

    def _solve(self, markers: Markers, figure: LoadedSkeleton) -> list[SolvedRecording]:
        options = self.options
        origin = "user" if options.recording.up is not None else "file"
        if len(figure.skeleton.markers) == 0 and options.mapping is None:
            raise FileError(
                figure.name,
                "the figure has no markers; expected some, or a mapping",
                code="no-markers",
            )
        tracking = asdict(options.tracking)
        tracking["threads"] = tracking["threads"] or 1  # a worker has one processor
        return solve_recording(
            markers,
            figure.skeleton,
            skeleton_up=figure.up,
            up_origin="axes" if options.recording.axes is not None else origin,
            fit=options.fit,
            mapping=options.mapping,
            computed=options.computed,
            subject=options.person,
            weights=options.weights,
            **tracking,
        )

    def _write(self, solved: Sequence[SolvedRecording], folder: Path) -> list[Path]:
        """Write motions and reports of all subjects; the same bits whenever and wherever."""
        staged: list[Path] = []
        stem = self.name.rpartition("/")[2]
        for one in solved:
            own = stem if len(solved) == 1 else f"{stem}-{make_name(one.subject)}"
            motion = _trim(one.track, self.part)
            for suffix in self.options.formats:
                path = folder / f"{own}{suffix}"
                written = write_motion(motion, path, self.options.angles, self.options.rotations)
                staged += [file for file, _ in written if file not in staged]
            if self.options.report:
                page = folder / f"{own}.html"
                summary = summary_of(one.track, repeatable=True)
                write_report(one.track, str(page), summary=summary)
                staged.append(page)
        return staged


@lru_cache(maxsize=8)
def load_figure(outputs: str, figure: Figure) -> LoadedSkeleton:
    """Return a figure that the archive keeps at the address of its outputs; read once a process."""
    address = Storage(outputs).join(figure.file)
    with fetch_file(address) as path:
        if hash_file(path) != figure.sha256:
            raise FileError(address, "is not the figure that was asked for", code="figure")
        return read_skeleton(str(path))


def _cut(markers: Markers, part: tuple[int, int] | None) -> Markers:
    """Return the frames of a part, and some beyond its ends."""
    if part is None:
        return markers
    margin = round(MARGIN_SECONDS * markers.rate)
    first, last = max(part[0] - margin, 0), min(part[1] + margin, len(markers)) - 1
    return markers.between(first / markers.rate, last / markers.rate)


def _trim(track: Track, part: tuple[int, int] | None) -> Any:
    """Return the motion without what was solved beyond the ends of a part."""
    if part is None:
        return track.motion
    rate = track.markers.rate
    skip = min(part[0], round(MARGIN_SECONDS * rate))
    return track.motion.between(skip / rate, (skip + part[1] - part[0] - 1) / rate)


def _count_frames(markers: Markers, part: tuple[int, int] | None) -> int:
    return len(markers) if part is None else part[1] - part[0]


def _describe(
    solved: Sequence[SolvedRecording], recording: LoadedRecording, staged: Sequence[Path]
) -> dict[str, Any]:
    """Return what index and summary tell of a take: errors [mm] over all of its subjects."""
    errors = np.concatenate([one.track.marker_errors.ravel() for one in solved])
    errors = 1e3 * errors[np.isfinite(errors)]
    mean, p95, most = None, None, None
    if len(errors) > 0:
        mean, p95, most = (
            round(float(v), 4) for v in (errors.mean(), np.percentile(errors, 95.0), errors.max())
        )
    return {
        "rate_hz": float(recording.markers.rate),
        "subjects": [one.subject for one in solved],
        "markers": len(solved[0].track.names),
        "mean_mm": mean,
        "p95_mm": p95,
        "max_mm": most,
        "reasons": [reason.code for one in solved for reason in one.verdict.reasons],
        "files": [path.name for path in staged],
        "curve": _draw_curve(solved[0].track.marker_errors),
    }


def _draw_curve(errors: Array) -> list[float | None]:
    """Return the mean error of the frames [mm], in at most `CURVE_BINS` equal parts."""
    seen = np.isfinite(errors)
    bins = np.array_split(np.arange(len(errors)), min(CURVE_BINS, max(len(errors), 1)))
    sums = np.where(seen, errors, 0.0).sum(axis=1)
    counts = seen.sum(axis=1)
    return [
        round(1e3 * float(sums[b].sum() / counts[b].sum()), 2) if counts[b].sum() > 0 else None
        for b in bins
    ]
