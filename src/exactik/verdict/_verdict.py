"""The verdict on a recording, and its reasons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from exactik._text import join_names

if TYPE_CHECKING:
    from exactik.tracking import Track

__all__ = [
    "EXIT_CODES",
    "GRADE_WORDS",
    "Grade",
    "RecordingVerdict",
    "VerdictReason",
    "judge_track",
]

Grade = Literal["good", "care", "reject"]

GRADE_WORDS = {"good": "Good", "care": "Usable with care", "reject": "Do not use"}
EXIT_CODES = {"good": 0, "care": 1, "reject": 3}
"""With which `exactik solve` ends; 2 is for what cannot be read."""
MAX_NAMED_REASONS = 3  # in a sentence


@dataclass(frozen=True, kw_only=True)
class VerdictReason:
    """Why a recording is not simply good.

    Attributes:
        code: criterion, a key of `THRESHOLDS`.
        value: that was measured, in the unit of the threshold.
        threshold: that it is beyond.
        severity: "care" or "reject".
        text: the same in words: no capital letter, no full stop.
        names: of markers, bones or dofs that it is about.
    """

    code: str
    value: float
    threshold: float
    severity: Literal["care", "reject"]
    text: str
    names: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        return {
            "code": self.code,
            "value": float(f"{self.value:.6g}") if self.value == self.value else None,
            "threshold": self.threshold,
            "severity": self.severity,
            "text": self.text,
            "names": list(self.names),
        }


@dataclass(frozen=True, kw_only=True)
class RecordingVerdict:
    """Whether a solved recording can be used.

    Attributes:
        grade: "good", "care" (usable with care) or "reject" (do not use).
        reasons: against "good", in order of weight; empty if it is good.
        solved: bones that the markers tell something of.
        held: bones without a marker on them or beyond them: they stay at rest.
        span: first and last frame in which the subject is seen, where that is not all of them.
    """

    grade: Grade
    reasons: tuple[VerdictReason, ...]
    solved: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    span: tuple[int, int] | None = None

    @property
    def words(self) -> str:
        """The grade in words."""
        return GRADE_WORDS[self.grade]

    @property
    def exit_code(self) -> int:
        """With which a command ends: 0, 1 or 3."""
        return EXIT_CODES[self.grade]

    def __str__(self) -> str:
        """Return a sentence or two."""
        text = self.words
        if len(self.reasons) > 0:
            causes = [reason.text for reason in self.reasons[:MAX_NAMED_REASONS]]
            more = len(self.reasons) - len(causes)
            text += f": {'; '.join(causes)}" + (f"; and {more} more" if more > 0 else "")
        text += "."
        if len(self.held) > 0 and len(self.solved) > 0:
            who = join_names(self.held, 4)
            text += f" No marker tells anything of {who}: held at rest."
        if self.span is not None:
            text += f" The subject is seen in frames {self.span[0]} to {self.span[1]}."
        return text

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        return {
            "verdict": self.grade,
            "reasons": [reason.to_dict() for reason in self.reasons],
            "held": list(self.held),
            "span": None if self.span is None else list(self.span),
        }


def judge_track(track: Track) -> RecordingVerdict:
    """Return the verdict on a track; on what a pipeline knows of its recording, too."""
    from exactik.verdict._criteria import judge_facts
    from exactik.verdict._facts import collect_facts

    return judge_facts(collect_facts(track))
