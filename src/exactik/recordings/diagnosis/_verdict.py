"""The verdict on a recording: what its findings come to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactik._threads import keep_blas_on_one_thread
from exactik.model.motion import find_frozen_markers
from exactik.recordings.angles import JointWords
from exactik.recordings.diagnosis._evidence import Evidence
from exactik.recordings.diagnosis._far_markers import MIN_JUMP
from exactik.recordings.diagnosis._finding import Finding
from exactik.recordings.diagnosis._map import (
    find_concerned,
    map_quality,
    measure_doubt,
)
from exactik.recordings.diagnosis._thresholds import THRESHOLDS
from exactik.recordings.diagnosis._words import describe_unmeasured, describe_usable
from exactik.recordings.diagnosis.criteria import CRITERIA, WITHOUT_MARKERS
from exactik.recordings.tracking import Quality, QualityArray

if TYPE_CHECKING:
    from exactik.recordings.tracking import Track

Grade = Literal["good", "care", "reject"]

GRADE_WORDS = {"good": "Good", "care": "Usable with care", "reject": "Do not use"}
EXIT_CODES = {"good": 0, "care": 1, "reject": 3}
"""With which `exactik solve` ends; 2 is for what cannot be read."""
SEVERITIES = ("reject", "care", "look", "good")  # the gravest first


class Diagnosis(NamedTuple):
    """What there is to say about a track.

    Attributes:
        findings: see `Track.findings`.
        quality: see `Track.quality`.
        quality_finding: see `Track.quality_finding`.
    """

    findings: tuple[Finding, ...]
    quality: QualityArray
    quality_finding: NDArray[np.int32]


@keep_blas_on_one_thread()
def diagnose(track: Track) -> Diagnosis:
    """Return all that there is to say about a track, the gravest first."""
    evidence = Evidence(track)
    if len(evidence.names) == 0:
        found = sort_findings(one for criterion in WITHOUT_MARKERS for one in criterion(evidence))
        shape = (len(track), track.skeleton.nv)
        quality = np.full(shape, Quality.OPEN, dtype=np.uint8)
        return Diagnosis(found, quality, np.full(shape, -1, dtype=np.int32))
    found = [
        *(one for criterion in CRITERIA for one in criterion(evidence)),
        *evidence.stretches,
        *evidence.swaps,
        *_find_frozen_markers(track),
    ]
    offset = track.markers.first_frame
    naming = _Naming(track)
    found = sort_findings(replace(naming.apply(one), offset=offset) for one in found)
    with_dofs = [(one, find_concerned(evidence, one)) for one in found]
    # A small fault of a marker that moves nothing beyond its error bar is not worth a word.
    large = MIN_JUMP * evidence.stature
    with_dofs = [
        (one, dofs)
        for one, dofs in with_dofs
        if dofs is None or dofs.any() or (one.unit == "m" and one.value >= large)
    ]
    found = [one for one, _ in with_dofs]
    concerned = {n: dofs for n, (_, dofs) in enumerate(with_dofs) if dofs is not None}
    drawn = map_quality(evidence, found, concerned)
    doubt = replace(naming.apply(measure_doubt(evidence, drawn.quality)), offset=offset)
    findings = sort_findings((doubt, *found))
    drawn.finding[drawn.finding >= findings.index(doubt)] += 1
    return Diagnosis(findings, drawn.quality, drawn.finding)


class _Naming:
    """Gives findings the words for the joints, limbs and dofs that they name."""

    def __init__(self, track: Track):
        words = self._all = JointWords(track.skeleton)
        self._words: dict[str, dict[str, str]] = {
            "bones-solved": words.bones,
            "closure-gap": words.bones,
            "delayed-limb": words.limbs,
            "doubt": words.joints,
            "gap": words.joints,
            "jump": words.joints,
            "limb-error": words.limbs,
            "limb-symmetry": words.limbs,
            "limits": words.dofs,
            "open-dofs": words.dofs,
            "places": words.limbs,
        }

    def apply(self, found: Finding) -> Finding:
        """Return a finding with its words among its details."""
        words = self._words.get(found.kind)
        if found.kind == "bones-held":
            words = self._all.name_parts(found.names)
        if words is None:
            return found
        details = found.details
        names = {*found.names, *details.get("open", ()), details.get("mirrored")}
        names |= {bone for bone, _, _ in details.get("doubtful", ())}
        mentioned = {name: word for name, word in words.items() if name in names}
        return replace(found, details={**details, "words": mentioned})


def sort_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the gravest first; of the same severity in order of weight, then as they come."""
    weights = {kind: n for n, kind in enumerate(THRESHOLDS)}

    def rank(found: Finding) -> tuple[int, int]:
        return SEVERITIES.index(found.severity), weights.get(found.kind, len(weights))

    return tuple(sorted(findings, key=rank))


def _find_frozen_markers(track: Track) -> list[Finding]:
    found = []
    for frozen in find_frozen_markers(track.markers):
        ends = track.markers.positions[[frozen.first, frozen.last]]
        way = np.linalg.norm(ends[1] - ends[0], axis=1)  # of the markers that move on
        moved = way[np.isfinite(way) & (way > 0.0)]
        found.append(
            Finding(
                kind="frozen-marker",
                severity="look",
                value=float(frozen.last - frozen.first + 1),
                unit="frames",
                frames=(frozen.first, frozen.last),
                names=(frozen.name,),
                details={"distance": float(np.median(moved)) if len(moved) > 0 else 0.0},
            )
        )
    return found


@dataclass(frozen=True, kw_only=True)
class RecordingVerdict:
    """Whether a solved recording can be used, and what of it.

    Attributes:
        grade: "good", "care" (usable with care) or "reject" (do not use).
        reasons: against "good", in order of weight; empty if it is good.
        usable: what is measured and what is doubtful, a sentence; "" if nothing was.
        unmeasured: what is not measured, a sentence; "" if everything is.
        remarks: that count for nothing, such as that hardly anything moves.
        solved: bones that the markers tell something of.
        held: bones without a marker on them or beyond them: they stay at rest.
        span: first and last frame in which the subject is seen, as the file counts, where that is
            not all of them.
    """

    grade: Grade
    reasons: tuple[Finding, ...]
    usable: str = ""
    unmeasured: str = ""
    remarks: tuple[Finding, ...] = ()
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
        """Return two sentences: the grade with its reasons, and what can be used."""
        return f"{self.short}. {self.usable}".rstrip()

    @property
    def short(self) -> str:
        """The grade with its gravest reason, without a full stop."""
        if len(self.reasons) == 0:
            return self.words
        more = f"; and {len(self.reasons) - 1} more" if len(self.reasons) > 1 else ""
        return f"{self.words}: {describe_reason(self.reasons[0])}{more}"

    @property
    def asides(self) -> list[str]:
        """What else is to be known, a sentence each."""
        sentences = [f"{remark.text[:1].upper()}{remark.text[1:]}." for remark in self.remarks]
        sentences += [] if self.unmeasured == "" else [self.unmeasured]
        if self.span is not None:
            sentences.append(f"The subject is seen in frames {self.span[0]} to {self.span[1]}.")
        return sentences

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        return {
            "verdict": self.grade,
            "reasons": [reason.to_dict() for reason in self.reasons],
            "usable": self.usable,
            "unmeasured": self.unmeasured,
            "held": list(self.held),
            "span": None if self.span is None else list(self.span),
        }


def describe_reason(reason: Finding) -> str:
    """Return a reason with what mends it, if anything does."""
    return reason.text if reason.remedy == "" else f"{reason.text} ({reason.remedy})"


def judge_findings(findings: Sequence[Finding]) -> RecordingVerdict:
    """Return the verdict that findings come to by the thresholds."""
    judged = sort_findings(found.judge() for found in findings)
    beyond = [found for found in judged if found.severity in ("care", "reject")]
    grade: Grade = "good"
    if len(beyond) > 0:
        grade = "reject" if beyond[0].severity == "reject" else "care"
    by_kind = {found.kind: found for found in judged}
    seen, doubt = by_kind.get("subject-seen"), by_kind.get("doubt")
    span = None
    if seen is not None and seen.value < 1.0:
        span = (seen.first + seen.offset, seen.last + seen.offset)
    return RecordingVerdict(
        grade=grade,
        reasons=tuple(beyond),
        usable="" if doubt is None else describe_usable(doubt),
        unmeasured=describe_unmeasured(by_kind.get("bones-held"), doubt),
        remarks=tuple(f for f in judged if f.severity == "look" and f.kind in THRESHOLDS),
        solved=by_kind["bones-solved"].names if "bones-solved" in by_kind else (),
        held=by_kind["bones-held"].names if "bones-held" in by_kind else (),
        span=span,
    )
