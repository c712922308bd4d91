"""What came of a calibration: the skeleton, what moved by how much, and what a file keeps."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from exactik.model import Skeleton
from exactik.model.motion import Markers
from exactik.recordings.calibration._figure_errors import estimate_figure_errors
from exactik.recordings.calibration._undetermined import (
    MAX_STATIC_MOVEMENT,
    Undetermined,
    describe_undetermined,
    find_undetermined,
    measure_movement,
)
from exactik.recordings.calibration.fitting import SkeletonFit
from exactik.recordings.calibration.mapping import MarkerMapping
from exactik.recordings.tracking import FigureErrors
from exactik.typing import Array, IntArray

if TYPE_CHECKING:
    from exactik.recordings.tracking import Track

LINE_WIDTH = 100  # characters of a printed sentence, as wide as the tables
# Mean marker error of a recording, as a multiple of that of the trials that the figure was fitted
# on, from which the figure does not fit it: another trial of the same movement has 1.0 to 1.5.
MISFIT_RATIO = 2.0
MIN_MISFIT = 0.004  # [m] mean error below which no figure needs to be fitted again


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Calibration:
    """A figure fitted to its recording; `print` shows what moved by how much.

    Attributes:
        mapping: what each recorded marker was taken for.
        before: the skeleton as it was, its markers called as in the recording.
        fit: parameters and poses.
        trials: the markers that were used, all frames of each recording.
        limits: "hard", "soft" or "off".
        lock: bones or dofs that stayed where they were.
        seconds: that it took.
    """

    mapping: MarkerMapping
    before: Skeleton
    fit: SkeletonFit
    trials: tuple[Markers, ...]
    limits: str
    lock: tuple[str, ...]
    seconds: float

    @property
    def skeleton(self) -> Skeleton:
        """The figure as calibrated, with its markers."""
        return self.fit.solution.problem.skeleton

    @cached_property
    def scales(self) -> Mapping[str, float]:
        """Scale of each bone: name → factor."""
        scale = self.fit.solution.scaled.bone_scales(self.fit.solution.theta)
        return {bone.name: float(scale[k]) for k, bone in enumerate(self.before.bones)}

    @cached_property
    def scale_sds(self) -> Mapping[str, float]:
        """Standard deviation of each bone's scale, as a share of it; nought where it is fixed."""
        scaled, sd = self.fit.solution.scaled, self._sds
        by_bone = np.append(sd[: len(scaled.scale_groups)], 0.0)[scaled.bone_groups]
        return {bone.name: float(by_bone[k]) for k, bone in enumerate(self.before.bones)}

    @cached_property
    def offsets(self) -> Mapping[str, Array]:
        """Place of each marker in its bone's frame: name → [m], (3,)."""
        points = self.fit.solution.scaled.scaled_points(self.fit.solution.theta)
        return dict(zip(self.fit.solution.scaled.marker_names, points, strict=True))

    @cached_property
    def moved(self) -> Mapping[str, Array]:
        """How far each marker moved on its bone, beyond growing with it: name → [m], (3,)."""
        shifts = self.fit.solution.scaled.marker_shifts(self.fit.solution.theta)
        return dict(zip(self.fit.solution.scaled.marker_names, shifts, strict=True))

    @cached_property
    def offset_sds(self) -> Mapping[str, float]:
        """Standard deviation of each marker's place [m], of its three coordinates together."""
        scaled = self.fit.solution.scaled
        sd = np.zeros((len(scaled.marker_names), 3))
        sd[scaled.movable] = self._sds[len(scaled.scale_groups) :].reshape(-1, 3)
        return dict(zip(scaled.marker_names, np.linalg.norm(sd, axis=1).tolist(), strict=True))

    @property
    def frames(self) -> IntArray:
        """Frames that were used, numbers in their trial, (F,)."""
        return self.fit.chosen.frames

    @property
    def trial_numbers(self) -> IntArray:
        """Of which trial each of them is, (F,)."""
        return self.fit.chosen.trials

    @property
    def markers(self) -> Markers:
        """The markers that were used, all frames; of several trials those of the last."""
        return self.trials[-1]

    @property
    def q(self) -> Array:
        """Poses of the calibrated skeleton in these frames, (F, nq)."""
        return self.fit.solution.solutions.q

    @property
    def errors_before(self) -> Array:
        """Distance of each marker in each frame used, the skeleton as it was [m], (F, M)."""
        return self.fit.errors_before

    @cached_property
    def errors(self) -> Array:
        """Distance of each marker in each frame used, as calibrated [m], (F, M)."""
        return np.linalg.norm(self.fit.solution.problem.residuals(self.q), axis=2)

    @property
    def settled(self) -> bool:
        """Whether the fit converged before it ran out of steps."""
        return self.fit.solution.converged

    @cached_property
    def figure_errors(self) -> FigureErrors:
        """How far the figure, as it may be wrong, turns the joints of its poses."""
        return estimate_figure_errors(self.fit.solution)

    @cached_property
    def undetermined(self) -> tuple[Undetermined, ...]:
        """Scales and marker places that the trials left as uncertain as they were."""
        return find_undetermined(self.fit)

    @cached_property
    def is_static(self) -> bool:
        """Whether the trials hold one pose only, which tells joint centres badly."""
        return measure_movement(self.fit) < MAX_STATIC_MOVEMENT

    @property
    def warnings(self) -> list[str]:
        """What the figure cannot be trusted with, a sentence each."""
        warnings = []
        if self.is_static:
            warnings.append(
                "Nothing moves in these frames: where joints are and how long bones are is seen in "
                "movement. Fit the figure on a trial that moves as well, a walk for instance."
            )
        elif not self.settled:
            warnings.append("The fit did not come to rest: take its figures as rough.")
        return [*warnings, *describe_undetermined(self.undetermined)]

    @cached_property
    def track(self) -> Track:
        """The recording, or the last, followed by the calibrated skeleton when asked for."""
        from exactik.recordings.tracking import track

        solved = track(self.skeleton, self.markers, limits=self.limits, lock=self.lock)
        return replace(solved, figure_errors=self.figure_errors)

    @cached_property
    def _sds(self) -> Array:
        return np.sqrt(np.diag(self.fit.solution.covariance))

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain numbers, strings, lists and dicts, for JSON."""
        bones = {bone: self.scales[bone] for group in self.scale_groups for bone in group}
        return {
            "skeleton": self.skeleton.name,
            "trials": [
                {
                    "file": trial.source,
                    "frames": self.frames[self.trial_numbers == k].tolist(),
                    "markers": len(trial.names),
                }
                for k, trial in enumerate(self.trials)
            ],
            "seconds": self.seconds,
            "settled": self.settled,
            "static": self.is_static,
            "undetermined": [entry._asdict() for entry in self.undetermined],
            "undetermined_words": describe_undetermined(self.undetermined),
            "error_before_mm": 1e3 * float(np.nanmean(self.errors_before)),
            "error_after_mm": 1e3 * float(np.nanmean(self.errors)),
            "scales": {
                bone: {"scale": scale, "sd": self.scale_sds[bone]} for bone, scale in bones.items()
            },
            "markers": {
                name: {
                    "bone": self.skeleton.marker(name)[0],
                    "offset_m": self.offsets[name].tolist(),
                    "moved_mm": 1e3 * float(np.linalg.norm(self.moved[name])),
                    "sd_mm": 1e3 * self.offset_sds[name],
                    "error_before_mm": before,
                    "error_after_mm": after,
                }
                for name, before, after in zip(self.moved, *self._errors_mm, strict=True)
            },
        }

    def to_metadata(self) -> dict[str, Any]:
        """Return what the skeleton's file keeps beside it: how it was fitted, and how surely."""
        return {"calibration": self.to_dict(), "figure_errors": self.figure_errors.to_dict()}

    @property
    def scale_groups(self) -> tuple[tuple[str, ...], ...]:
        """Bones that share a scale; those in none have nothing that grows with them."""
        return self.fit.solution.scaled.scale_groups

    @property
    def _errors_mm(self) -> tuple[list[float], list[float]]:
        """Mean error of each marker before and after [mm]."""
        before, after = (
            (1e3 * np.nanmean(np.where(seen.any(axis=0), errors, 0.0), axis=0)).tolist()
            for errors in (self.errors_before, self.errors)
            for seen in [~np.isnan(errors)]
        )
        return before, after

    @property
    def _of_trials(self) -> str:
        return "" if len(self.trials) == 1 else f" of {len(self.trials)} trials"

    def __repr__(self) -> str:
        before, after = (1e3 * np.nanmean(e) for e in (self.errors_before, self.errors))
        return f"<Calibration of {self.before.name!r}: {before:.1f} → {after:.1f} mm a marker>"

    def __str__(self) -> str:
        """Return tables of the scales and of the markers, and what is left over."""
        before, after = (1e3 * np.nanmean(e) for e in (self.errors_before, self.errors))
        lines = [
            f"{self.before.name}: {len(self.frames)} frames{self._of_trials}, "
            f"{len(self.moved)} markers, "
            f"{self.seconds:.1f} s",
            f"mean distance of a marker: {before:.1f} mm before, {after:.1f} mm after",
        ]
        if len(self.scale_groups) > 0:
            lines += ["", "scale [%]  ± sd   bones"]
        for group in self.scale_groups:
            change, sd = 100 * (self.scales[group[0]] - 1), 100 * self.scale_sds[group[0]]
            lines.append(f"{change:+8.1f}  {sd:6.1f}   {', '.join(group)}")
        width = max((len(name) for name in self.moved), default=6)
        lines += ["", f"{'marker'.ljust(width)}  moved  ± sd  error before → after [mm]   bone"]
        for name, old, new in zip(self.moved, *self._errors_mm, strict=True):
            moved, sd = 1e3 * np.linalg.norm(self.moved[name]), 1e3 * self.offset_sds[name]
            bone = self.skeleton.marker(name)[0]
            lines.append(
                f"{name.ljust(width)}  {moved:5.1f}  {sd:4.1f}  {old:12.1f} → {new:<14.1f}  {bone}"
            )
        warnings = [textwrap.fill(text, LINE_WIDTH) for text in self.warnings]
        return "\n".join([*lines, "", *warnings]).rstrip()


class CalibrationRecord(NamedTuple):
    """How a subject's skeleton was made, as its file says."""

    figure: str  # name of the skeleton that was fitted
    trials: tuple[str, ...]  # files that it was fitted on
    error: float  # mean distance of a marker in them [m]
    is_static: bool  # whether they hold one pose only
    undetermined: tuple[str, ...]  # what they did not tell, a sentence each

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any]) -> CalibrationRecord | None:
        """Return the record in what a skeleton's file says beside it; None if it has none."""
        try:
            facts = metadata["calibration"]
            return cls(
                figure=str(facts["skeleton"]),
                trials=tuple(str(trial["file"]) for trial in facts["trials"]),
                error=1e-3 * float(facts["error_after_mm"]),
                is_static=bool(facts["static"]),
                undetermined=tuple(map(str, facts["undetermined_words"])),
            )
        except (KeyError, TypeError, ValueError):
            return None

    def describe_misfit(self, error: float, recording: str, subject: str) -> str | None:
        """Return a sentence if the figure fits a recording far worse than its own trials.

        Args:
            error: mean distance of a marker in the recording [m].
            recording: its file.
            subject: file of the skeleton.
        """
        if error < max(MISFIT_RATIO * self.error, MIN_MISFIT):
            return None
        files = [file for file in self.trials if file not in ("", recording)]
        where = " and ".join(Path(file).name for file in files) or "another recording"
        pose = ", which holds one pose only" if self.is_static else ""
        command = shlex.join(
            ["exactik", "calibrate", *files, recording, "--skeleton", self.figure, "-o", subject]
        )
        return (
            f"The figure was fitted on {where}{pose}, where markers are off by "
            f"{1e3 * self.error:.1f} mm; here it is {1e3 * error:.1f} mm. Fit it on this recording "
            f"as well: {command}"
        )
