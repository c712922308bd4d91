"""What a subject's file keeps of the calibration that made it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

# Mean marker error of a recording, as a multiple of that of the trials that the figure was fitted
# on, from which the figure does not fit it: another trial of the same movement has 1.0 to 1.5.
MISFIT_RATIO = 2.0
MIN_MISFIT = 0.004  # [m] mean error below which no figure needs to be fitted again


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
