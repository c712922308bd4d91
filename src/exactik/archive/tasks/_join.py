"""What a worker does when all parts of a long take are there: one motion, one provenance."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exactik.archive.tasks._outputs import (
    describe_solution,
    find_gravest,
    name_outputs,
    write_formats,
)
from exactik.archive.tasks._parts import ERRORS, MOTION, QUALITY, join_motions, join_quality
from exactik.archive.tasks._provenance import find_result, publish_result, read_provenance
from exactik.archive.tasks._storage import Storage, fetch_file
from exactik.archive.tasks._take import PARTS, TakeTask
from exactik.archive.tasks._worker import TaskResult
from exactik.errors import FileError
from exactik.io import load_motion
from exactik.model.motion import Motion
from exactik.recordings.tracking import keep_speeds

SEAM_LIMIT = 0.01
"""[m] that the solutions of neighbouring parts may differ where one takes over: about the error of
a marker on skin. Beyond it the motion steps in a way that is seen, and the take needs care."""
SEAM = "seam"  # code of this reason


@dataclass(frozen=True, kw_only=True)
class JoinTask:
    """A take that was solved in parts, as it is sent to a worker."""

    take: TakeTask  # the whole; its result has the key that it would have had in one piece
    parts: tuple[str, ...]  # their names, in order

    @property
    def name(self) -> str:
        """Name of the take."""
        return self.take.name

    def perform(self) -> TaskResult:
        """Join the parts unless that is done; then remove them; see `Task`."""
        storage = Storage(self.take.outputs)
        found = [read_provenance(storage, f"{PARTS}/{name}") for name in self.parts]
        there = [facts for facts in found if facts is not None]
        whole = read_provenance(storage, self.take.place)
        hashes = {facts["input"]["sha256"] for facts in there}
        if whole is not None:
            hashes.add(whole["input"]["sha256"])
        for sha256 in hashes:
            done = find_result(storage, whole, self.take.make_key(sha256))
            if done is not None:
                _remove(storage, self.parts, there)
                return done
        if len(there) < len(self.parts):
            raise FileError(self.take.address, "parts of it are gone", code="parts")
        if len({facts["input"]["sha256"] for facts in there}) > 1:
            raise FileError(
                self.take.address, "changed while its parts were solved", code="changed"
            )
        result = self._join(storage, there)
        _remove(storage, self.parts, there)
        return result

    def find_done(self) -> TaskResult | None:
        """Return the result of the whole take if it is there; see `TakeTask`."""
        return self.take.find_done()

    def _join(self, storage: Storage, found: Sequence[Mapping[str, Any]]) -> TaskResult:
        began = time.perf_counter()
        results = [TaskResult(**facts["result"]) for facts in found]
        subjects = list(results[0].facts["subjects"])
        if any(list(result.facts["subjects"]) != subjects for result in results):
            raise FileError(self.take.address, "its parts have different subjects", code="parts")
        ranges = [(facts["part"][0], facts["part"][1]) for facts in found]
        stem = self.name.rpartition("/")[2]
        errors, seam = [], 0.0
        with storage.stage() as folder:
            staged: list[Path] = []
            for n, own in enumerate(name_outputs(stem, subjects)):
                motions, of_parts, rated = self._read(storage, n, subjects)
                joined = join_motions(
                    motions, ranges, hard_limits=self.take.options.limits == "hard"
                )
                if self.take.options.max_speed is not None:  # parts kept them, seams may not
                    kept = keep_speeds(joined.motion, self.take.options.max_speed)
                    joined = joined._replace(motion=kept)
                errors.append(np.concatenate(of_parts))
                seam = max(seam, joined.seam)
                asked = self.take.options
                staged += write_formats(
                    joined.motion,
                    folder / own,
                    asked.formats,
                    asked.angles,
                    asked.rotations,
                    join_quality(rated),
                )
            staged += self._copy_reports(storage, results, folder)
            reasons = [code for result in results for code in result.facts["reasons"]]
            grades = [result.verdict or "reject" for result in results]
            if seam > SEAM_LIMIT:
                reasons.append(SEAM)
                grades.append("care")
            source = found[0]["input"]
            facts = self.take.describe(source["sha256"], source["bytes"])
            facts["parts"] = [{"frames": f["part"], "key": f["key"]} for f in found]
            facts["solved_with"] = found[0]["figure"]
            result = TaskResult(
                state="done",
                solved=True,
                key=self.take.make_key(source["sha256"]),
                verdict=find_gravest(grades),
                frames=sum(result.frames or 0 for result in results),
                seconds=round(
                    sum(result.seconds or 0.0 for result in results) + time.perf_counter() - began,
                    4,
                ),
                facts=describe_solution(
                    errors,
                    rate=results[0].facts["rate_hz"],
                    subjects=subjects,
                    markers=results[0].facts["markers"],
                    reasons=list(dict.fromkeys(reasons)),
                    files=staged,
                )
                | {"parts": len(found), "seam_mm": round(1e3 * seam, 4)},
            )
            return publish_result(storage, self.take.place, staged, result, facts)

    def _read(
        self, storage: Storage, n: int, subjects: Sequence[str]
    ) -> tuple[list[Motion], list[Any], list[Any]]:
        """Return what a subject has in all parts: motions with margins, errors, names and codes."""
        motions, errors, rated = [], [], []
        for name in self.parts:
            place = f"{PARTS}/{name.rpartition('/')[0]}".rstrip("/")
            own = name_outputs(name.rpartition("/")[2], subjects)[n]
            with fetch_file(storage.join(f"{place}/{own}{MOTION}")) as path:
                motions.append(load_motion(path))
            with fetch_file(storage.join(f"{place}/{own}{ERRORS}")) as path:
                errors.append(np.load(path))
            with (
                fetch_file(storage.join(f"{place}/{own}{QUALITY}")) as path,
                np.load(path) as arrays,
            ):
                rated.append((arrays["names"], arrays["codes"]))
        return motions, errors, rated

    def _copy_reports(
        self, storage: Storage, results: Sequence[TaskResult], folder: Path
    ) -> list[Path]:
        """Give the take the reports of its parts: one of the whole would be too large to open."""
        copies: list[Path] = []
        for name, result in zip(self.parts, results, strict=True):
            place = f"{PARTS}/{name.rpartition('/')[0]}".rstrip("/")
            for file in result.facts["files"]:
                if file.endswith(".html"):
                    with fetch_file(storage.join(f"{place}/{file}")) as path:
                        shutil.copyfile(path, folder / file)
                    copies.append(folder / file)
        return copies


def _remove(storage: Storage, parts: Sequence[str], found: Sequence[Mapping[str, Any]]) -> None:
    """Remove what the parts left; the provenance first, which makes it valid."""
    for name in parts:
        storage.remove(f"{PARTS}/{name}.json")
    for facts in found:
        for output in facts["outputs"]:
            storage.remove(output)
