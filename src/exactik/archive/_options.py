"""Options of `solve_archive`: what is asked of its takes, how a run goes, and how far it is."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from exactik._options import describe, option, to_arguments
from exactik.archive.tasks import ClipOptions, TakeOptions
from exactik.recordings.pipeline import FigureOptions

if TYPE_CHECKING:
    from distributed import Client

TIME_LIMIT = 3600.0
"""[s] for a take. A segment of five minutes takes minutes; what takes an hour loops."""


@dataclass
class Progress:
    """How far a run is."""

    total: int = 0  # takes that were asked for
    done: int = 0  # takes that ended, now or before
    found: int = 0  # of these, takes that were done before
    solved: int = 0  # takes that this run solved
    failed: int = 0  # takes that failed now or were set aside
    frames: int = 0  # solved by this run
    threads: int = 0  # of all workers at the moment
    began: float = field(default_factory=time.monotonic)  # when it began [s], by `time.monotonic`

    @property
    def rate(self) -> float:
        """Frames a second."""
        return self.frames / max(time.monotonic() - self.began, 1e-9)


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How a run over an archive goes."""

    outputs: str | None = option(
        None,
        "Folder of motions and reports, if not the archive's: a path or s3://bucket/….",
        more="One that all workers see, or an address that fsspec knows.",
        metavar="FOLDER",
        flags="--motions",
    )
    client: Client | None = option(
        None,
        "Client of a Dask cluster; it stays open.",
        more="Workers with one thread each can be held to `time_limit`.",
    )
    scheduler: str | None = option(
        None, "Address of a running Dask scheduler: tcp://host:8786.", metavar="URL"
    )
    workers: int | None = option(
        None, "Processes on this machine; one per processor if not given.", metavar="N", least=1
    )
    retry: Sequence[str] = option(
        (), "Takes to try again: failed or aside; may be given repeatedly.", metavar="STATE"
    )
    only: Mapping[str, str] | None = option(
        None,
        "Takes to choose, by column: verdict=care, state=failed, subject=…, name=….",
        more="Column → pattern, of `FILTERS`.",
        metavar="COLUMN=VALUE",
    )
    check: bool = option(
        False,
        "Compare all inputs with the ledger, by their bytes.",
        why="Size and time of a file tell nearly always.",
        flags="--check",
    )
    time_limit: float | None = option(
        TIME_LIMIT,
        "Time for a take, after which its worker is ended.",
        more="None for none.",
        why="A segment of five minutes takes minutes; what takes an hour loops.",
        unit="s",
        metavar="SECONDS",
        least=1.0,
    )
    progress: Callable[[Progress], object] | None = option(
        None, "Is called with a `Progress` whenever a take ended."
    )


@dataclass(frozen=True, kw_only=True)
class ArchiveOptions(TakeOptions, FigureOptions, RunOptions):
    """How the takes of an archive are solved."""

    skeleton: str | os.PathLike[str] = field(
        metadata=describe(
            "The figure: a file (.npz .osim .bvh …), or human, ours.", metavar="FIGURE"
        )
    )
    subjects: bool = option(
        False,
        "Take the folder of a take as its subject, and calibrate each once.",
        flags="--subject-folders",
    )
    calibrate: bool | None = option(
        None,
        "Fit the figure to each take that has no subject; human always is fitted.",
        more="None: our own human is fitted, others are not.",
        why="Nobody has the size of our own human.",
        flags="--calibrate/--no-calibrate",
    )
    calibrate_on: str | None = option(
        None,
        "Takes on which subjects are calibrated, such as '*static*'; the first if not given.",
        more="A pattern of names; a manifest may say it, too.",
        metavar="PATTERN",
    )

    def of_takes(self) -> TakeOptions:
        """Return what is asked of each take: all that a worker is told, and the key knows."""
        return TakeOptions(**to_arguments(self, TakeOptions))


@dataclass(frozen=True, kw_only=True)
class RetargetArchiveOptions(ClipOptions, RunOptions):
    """How another figure takes over the clips of an archive."""

    to: str | os.PathLike[str] = field(
        metadata=describe(
            "Who takes them over: a figure's or robot's file, human, or a name: unitree_g1.",
            metavar="FIGURE",
        )
    )
    keep: Sequence[str] = option(
        (),
        "Clips that kept.txt names, such as 'slide<1mm'; of several all must hold.",
        more="Conditions on slide [mm], wrist, limits and speed [%], jumps and seconds.",
        metavar="CONDITION",
    )

    def of_clips(self) -> ClipOptions:
        """Return what is asked of each clip: all that a worker is told, and the key knows."""
        return ClipOptions(**to_arguments(self, ClipOptions))
