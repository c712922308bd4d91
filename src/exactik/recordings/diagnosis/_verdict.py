"""The verdict on a recording: what its findings come to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from exactik._text import join_names
from exactik.model.motion import find_frozen_markers
from exactik.recordings.diagnosis._evidence import Evidence
from exactik.recordings.diagnosis._far_markers import find_far_markers
from exactik.recordings.diagnosis._finding import Finding
from exactik.recordings.diagnosis._thresholds import THRESHOLDS
from exactik.recordings.diagnosis.criteria import CRITERIA, WITHOUT_MARKERS

if TYPE_CHECKING:
    from exactik.recordings.tracking import Track

Grade = Literal["good", "care", "reject"]

GRADE_WORDS = {"good": "Good", "care": "Usable with care", "reject": "Do not use"}
EXIT_CODES = {"good": 0, "care": 1, "reject": 3}
"""With which `exactik solve` ends; 2 is for what cannot be read."""
MAX_NAMED_REASONS = 3  # in a sentence
SEVERITIES = ("reject", "care", "look", "good")  # the gravest first
EACH_BY_ITSELF = ("limb-error", "marker-error", "marker-stretch", "marker-jump", "limits")
"""Kinds that measure every marker, limb or dof; those that are beyond are one reason together."""


def diagnose(track: Track) -> tuple[Finding, ...]:
    """Return all that there is to say about a track, the gravest first, see `Track.findings`."""
    evidence = Evidence(track)
    measured = [
        found
        for criterion in (CRITERIA if len(evidence.names) > 0 else WITHOUT_MARKERS)
        for found in criterion(evidence)
    ]
    found = [
        *measured,
        *evidence.stretches,
        *evidence.swaps,
        *find_far_markers(track, evidence.swaps),
        *_find_frozen_markers(track),
    ]
    first_frame = track.markers.first_frame
    return sort_findings(replace(each, first_frame=first_frame) for each in found)


def sort_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the gravest first; of the same severity in order of weight, then as they come."""
    weights = {kind: n for n, kind in enumerate(THRESHOLDS)}

    def rank(found: Finding) -> tuple[int, int]:
        is_look = found.severity == "look"
        return SEVERITIES.index(found.severity), 0 if is_look else weights.get(found.kind, 99)

    return tuple(sorted(findings, key=rank))


def _find_frozen_markers(track: Track) -> list[Finding]:
    return [
        Finding(
            kind="frozen-marker",
            severity="look",
            value=float(frozen.last - frozen.first + 1),
            unit="frames",
            frames=(frozen.first, frozen.last),
            names=(frozen.name,),
        )
        for frozen in find_frozen_markers(track.markers)
    ]


@dataclass(frozen=True, kw_only=True)
class RecordingVerdict:
    """Whether a solved recording can be used.

    Attributes:
        grade: "good", "care" (usable with care) or "reject" (do not use).
        reasons: against "good", in order of weight; empty if it is good.
        solved: bones that the markers tell something of.
        held: bones without a marker on them or beyond them: they stay at rest.
        span: first and last frame in which the subject is seen, where that is not all of them;
            counted from 0.
        first_frame: number of frame 0 in the file, by which the sentence counts.
    """

    grade: Grade
    reasons: tuple[Finding, ...]
    solved: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    span: tuple[int, int] | None = None
    first_frame: int = 0

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
            first, last = (self.first_frame + frame for frame in self.span)
            text += f" The subject is seen in frames {first} to {last}."
        return text

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        return {
            "verdict": self.grade,
            "reasons": [reason.to_dict() for reason in self.reasons],
            "held": list(self.held),
            "span": None if self.span is None else list(self.span),
        }


def judge_findings(findings: Sequence[Finding]) -> RecordingVerdict:
    """Return the verdict that findings come to by the thresholds."""
    judged = sort_findings(found.judge() for found in findings)
    beyond = [found for found in judged if found.severity in ("care", "reject")]
    grade: Grade = "good"
    if len(beyond) > 0:
        grade = "reject" if beyond[0].severity == "reject" else "care"
    by_kind = {found.kind: found for found in judged}
    seen = by_kind.get("subject-seen")
    return RecordingVerdict(
        grade=grade,
        reasons=tuple(_join_reasons(beyond)),
        solved=by_kind["bones-solved"].names if "bones-solved" in by_kind else (),
        held=by_kind["bones-held"].names if "bones-held" in by_kind else (),
        span=None if seen is None or seen.value == 1.0 else seen.frames,
        first_frame=0 if seen is None else seen.first_frame,
    )


def _join_reasons(beyond: Sequence[Finding]) -> list[Finding]:
    """Return the findings, with one for all markers, limbs or dofs of a kind: the worst."""
    reasons: dict[str, Finding] = {}
    for n, found in enumerate(beyond):
        key = found.kind if found.kind in EACH_BY_ITSELF else str(n)
        one = reasons.setdefault(key, found)
        if one is not found:
            worst = found if found.value > one.value else one
            reasons[key] = replace(worst, names=(*one.names, *found.names))
    return list(reasons.values())
