"""What was found out about a solved recording: one kind of record for all of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from exactik._text import Reason
from exactik.recordings.diagnosis._thresholds import THRESHOLDS
from exactik.recordings.diagnosis._words import describe

Severity = Literal["good", "look", "care", "reject"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Something that was measured of a solved recording, or frames that deserve a look.

    Attributes:
        kind: what it is: a key of `THRESHOLDS`, or of another kind, see docs/verdict.md.
        severity: "reject" or "care" if the verdict counts it, "look" if the frames deserve a look,
            "good" if nothing is wrong.
        value: that was measured.
        unit: of the value and the threshold.
        threshold: that the value is beyond, or would have to be; None without one.
        frames: first and last frame that it is about, counted from 0; None if it is about all.
        names: of markers, bones or dofs that it is about.
        details: what else its sentence needs, lengths in metres where the name has no unit.
        offset: number that the file gives to the first frame: sentences count as the file does.
    """

    kind: str
    severity: Severity
    value: float
    unit: str = ""
    threshold: float | None = None
    frames: tuple[int, int] | None = None
    names: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    offset: int = 0

    @property
    def code(self) -> str:
        """The kind, as summaries in JSON call it."""
        return self.kind

    @property
    def first(self) -> int:
        """First frame."""
        return 0 if self.frames is None else self.frames[0]

    @property
    def last(self) -> int:
        """Last frame."""
        return 0 if self.frames is None else self.frames[1]

    @property
    def remedy(self) -> str:
        """Option or command that mends it, or shows where it comes from; "" if there is none."""
        is_beyond = self.severity in ("care", "reject") and self.kind in THRESHOLDS
        return THRESHOLDS[self.kind].remedy if is_beyond else ""

    @property
    def text(self) -> Reason:
        """The same in words: no capital letter, no full stop."""
        return describe(self)

    def judge(self) -> Finding:
        """Return it with the severity that its threshold gives it, if it has one in the table."""
        if self.severity == "look" or self.kind not in THRESHOLDS:
            return self
        threshold = THRESHOLDS[self.kind]
        severity, limit = threshold.grade(self.value)
        return replace(self, severity=severity, threshold=limit, unit=threshold.unit)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        return {
            "code": self.kind,
            "value": float(f"{self.value:.6g}") if self.value == self.value else None,
            "threshold": self.threshold,
            "severity": self.severity,
            "remedy": self.remedy,
            "text": self.text,
            "names": list(self.names),
        }


def measure(
    kind: str,
    value: float,
    names: tuple[str, ...] = (),
    frames: tuple[int, int] | None = None,
    **details: Any,
) -> Finding:
    """Return a finding of a kind that has thresholds, judged by them."""
    return Finding(
        kind=kind, severity="good", value=value, names=names, frames=frames, details=details
    ).judge()
