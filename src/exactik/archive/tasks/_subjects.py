"""Subjects of an archive: a figure calibrated once, for all takes of the subject."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from exactik.archive.tasks._outputs import TakeOptions
from exactik.archive.tasks._provenance import (
    find_result,
    hash_facts,
    publish_result,
    read_provenance,
    solver_version,
)
from exactik.archive.tasks._storage import Storage, fetch_file, hash_file
from exactik.archive.tasks._take import Figure, load_figure
from exactik.archive.tasks._worker import TaskResult
from exactik.io import save_skeleton
from exactik.recordings.calibration import calibrate
from exactik.recordings.pipeline import read_trial

SUBJECT_MARK = "@"
"""Before the name of a subject in the ledger; no name of a take has it."""
FOLDER = "subjects"  # of the figures


@dataclass(frozen=True, kw_only=True)
class SubjectTask:
    """A subject as it is sent to a worker."""

    name: str  # of the subject in the ledger, with its mark
    addresses: tuple[str, ...]  # of the takes that it is calibrated on
    figure: Figure  # that is fitted
    options: TakeOptions  # of the archive
    outputs: str  # address of the place of the outputs

    def perform(self) -> TaskResult:
        """Calibrate the figure unless it is there; see `Task`."""
        storage, began, place = Storage(self.outputs), time.perf_counter(), self.place
        figure, options = load_figure(self.outputs, self.figure), self.options
        hashes: dict[str, str] = {}
        trials = []
        for address in self.addresses:
            with fetch_file(address) as path:
                hashes[address] = hash_file(path)
                _, markers, _ = read_trial(
                    path, figure.up, options, options.person, options.mapping
                )
            trials.append(markers)
        asked = self._describe(hashes)
        key = _make_key(asked)
        done = find_result(storage, read_provenance(storage, place), key)
        if done is not None:
            return done
        fit = calibrate(
            figure.skeleton,
            trials,
            bones=options.mapping,
            limits=options.limits,
            lock=options.lock,
        )
        metadata = fit.to_metadata()
        del metadata["calibration"]["seconds"]  # that it took: files are the same to the bit
        with storage.stage() as folder:
            file = folder / f"{place.rpartition('/')[2]}.npz"
            save_skeleton(fit.skeleton, file, up_axis=figure.up, metadata=metadata)
            made = Figure(file=f"{place}.npz", sha256=hash_file(file))
            result = TaskResult(
                state="done",
                solved=True,
                key=key,
                seconds=round(time.perf_counter() - began, 4),
                facts={"figure": asdict(made)},
            )
            return publish_result(storage, place, [file], result, asked)

    @property
    def place(self) -> str:
        """Name of the figure in the storage of the outputs, without suffix."""
        return f"{FOLDER}/{self.name.removeprefix(SUBJECT_MARK)}"

    def find_done(self) -> TaskResult | None:
        """Return its result if it is there and was made of its takes as they are now."""
        storage = Storage(self.outputs)
        found = read_provenance(storage, self.place)
        if found is None:
            return None
        hashes: dict[str, str] = {}
        for address in self.addresses:
            with fetch_file(address) as path:
                hashes[address] = hash_file(path)
        return find_result(storage, found, _make_key(self._describe(hashes)))

    def _describe(self, hashes: Mapping[str, str]) -> dict[str, Any]:
        """Return all that the result depends on, given the hash of each take."""
        return {
            "inputs": dict(hashes),
            "figure": self.figure.sha256,
            "options": self.options.to_dict(),
            "solver": solver_version(),
        }


def _make_key(asked: Mapping[str, Any]) -> str:
    return hash_facts({**asked, "inputs": sorted(asked["inputs"].values())})
