"""What a worker does with a file: read it, solve it, write it, with where it came from."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from exactik.archive.tasks._outputs import (
    TakeOptions,
    describe_solution,
    find_gravest,
    name_outputs,
    write_formats,
)
from exactik.archive.tasks._parts import LEFT_OUT, find_window, trim_errors, write_part
from exactik.archive.tasks._provenance import (
    find_result,
    hash_facts,
    publish_result,
    read_provenance,
    solver_version,
)
from exactik.archive.tasks._storage import Storage, fetch_file, hash_file
from exactik.archive.tasks._worker import TaskResult
from exactik.errors import FileError
from exactik.model.motion import Markers
from exactik.recordings.pipeline import (
    LoadedRecording,
    LoadedSkeleton,
    SolvedRecording,
    rate_columns,
    read_recording,
    read_skeleton,
    solve_recording,
)
from exactik.studio.report import summary_of, write_report

TAKES, PARTS = "takes", "parts"  # folders of the outputs, and of what is to be joined


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure that workers read."""

    file: str  # its .npz file, in the place of the outputs
    sha256: str  # of the file


class FileOptions(Protocol):
    """What is asked of a file."""

    def to_dict(self) -> dict[str, Any]:
        """Return all that the result depends on, as JSON can hold it."""
        ...


@dataclass(frozen=True, kw_only=True)
class FileTask(ABC):
    """A file of which a worker makes something."""

    name: str  # of its outputs
    address: str  # of the file
    fingerprint: str  # of the file when it was listed; "" if unknown
    figure: Figure  # that moves
    options: FileOptions
    outputs: str  # address of the place of the outputs
    # First frame and the one after the last, of a take that was cut; else None
    part: tuple[int, int] | None = None

    @property
    def place(self) -> str:
        """Name of the outputs in their storage, without suffix."""
        return f"{TAKES if self.part is None else PARTS}/{self.name}"

    @abstractmethod
    def read(self, path: Path) -> Any:
        """Return what is in the file."""

    @abstractmethod
    def make(self, content: Any, folder: Path) -> tuple[list[Path], TaskResult]:
        """Write what comes of it into a folder; return files and result, or none if it is cut."""

    def hash_input(self, path: Path) -> str:
        """Return the hash of all that is read."""
        return hash_file(path)

    def perform(self) -> TaskResult:
        """Make what is asked unless it is there; see `Task`."""
        storage, began = Storage(self.outputs), time.perf_counter()
        found = read_provenance(storage, self.place)
        done = self._find_unchanged(storage, found)
        if done is not None:
            return done
        with fetch_file(self.address) as path:
            sha256 = self.hash_input(path)
            key = self.make_key(sha256)
            done = find_result(storage, found, key)
            if done is not None:
                return done
            content, size = self.read(path), path.stat().st_size
        with storage.stage() as folder:
            staged, result = self.make(content, folder)
            if len(staged) == 0:
                return result
            seconds = round(time.perf_counter() - began, 4)
            result = replace(result, solved=True, key=key, seconds=seconds)
            facts = self.describe(sha256, size)
            return publish_result(storage, self.place, staged, result, facts)

    def find_done(self) -> TaskResult | None:
        """Return its result if it is there and the recording's fingerprint did not change."""
        storage = Storage(self.outputs)
        return self._find_unchanged(storage, read_provenance(storage, self.place))

    def _find_unchanged(
        self, storage: Storage, found: Mapping[str, Any] | None
    ) -> TaskResult | None:
        if found is None or self.fingerprint == "":
            return None
        known = found["input"]
        if known["fingerprint"] != self.fingerprint or known["address"] != self.address:
            return None
        return find_result(storage, found, self.make_key(known["sha256"]))

    def describe(self, sha256: str, size: int) -> dict[str, Any]:
        """Return all that the result depends on, for its provenance."""
        return {
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

    def make_key(self, sha256: str) -> str:
        """Return the key of the result for an input with this hash."""
        return hash_facts(
            {
                "input": sha256,
                "figure": self.figure.sha256,
                "options": self.options.to_dict(),
                "part": self.part,
                "solver": solver_version(),
            }
        )


@dataclass(frozen=True, kw_only=True)
class TakeTask(FileTask):
    """A take as it is sent to a worker; its file is a recording."""

    options: TakeOptions

    def read(self, path: Path) -> LoadedRecording:
        """Return the recording."""
        return read_recording(path, None, self.options, align=False)

    def make(self, content: LoadedRecording, folder: Path) -> tuple[list[Path], TaskResult]:
        """Solve the take and write it, unless it is too long for one worker."""
        markers = replace(content.markers, source=self.address)
        if self.part is None and len(markers) > self.options.segment:
            return [], TaskResult(state="cut", frames=len(markers))
        solved = self._solve(markers, load_figure(self.outputs, self.figure))
        tracks, staged = [one.track for one in solved], self._write(solved, folder)
        facts = describe_solution(
            [trim_errors(track, self.part) for track in tracks],
            rate=markers.rate,
            subjects=[one.subject for one in solved],
            markers=len(tracks[0].names),
            reasons=[reason.kind for one in solved for reason in one.verdict.reasons],
            files=staged,
        )
        return staged, TaskResult(
            state="done",
            verdict=find_gravest(one.verdict.grade for one in solved),
            frames=len(markers) if self.part is None else self.part[1] - self.part[0],
            facts=facts,
        )

    def _solve(self, markers: Markers, figure: LoadedSkeleton) -> list[SolvedRecording]:
        if len(figure.skeleton.markers) == 0 and self.options.mapping is None:
            raise FileError(
                figure.name,
                "the figure has no markers; expected some, or a mapping",
                code="no-markers",
            )
        return solve_recording(
            markers,
            figure,
            self.options,
            window=find_window(markers, self.part),
            threads=self.options.threads or 1,  # a worker has one processor
        )

    def _write(self, solved: Sequence[SolvedRecording], folder: Path) -> list[Path]:
        """Write motions and reports of all subjects; the same bits whenever and wherever."""
        staged: list[Path] = []
        stems = name_outputs(self.name.rpartition("/")[2], [one.subject for one in solved])
        for own, one in zip(stems, solved, strict=True):
            if self.part is None:
                asked = self.options
                staged += write_formats(
                    one.track.motion,
                    folder / own,
                    asked.formats,
                    asked.angles,
                    asked.rotations,
                    rate_columns(one.track, LEFT_OUT),
                )
            else:
                staged += write_part(one.track, folder / own, self.part)
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
