"""The criteria: each a small function from facts to what it finds, and the verdict of all."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from exactik._text import count_noun, join_names
from exactik.verdict._facts import RecordingFacts
from exactik.verdict._thresholds import THRESHOLDS
from exactik.verdict._verdict import RecordingVerdict, VerdictReason

__all__ = ["CRITERIA", "Finding", "judge_facts"]

MAX_NAMES = 4  # in a reason


class Finding(NamedTuple):
    """What a criterion measured, before it is compared with its threshold.

    Attributes:
        code: key of `THRESHOLDS`.
        value: in the unit of the threshold.
        text: in words, in case it is beyond.
        names: of markers, bones or dofs that it is about.
    """

    code: str
    value: float
    text: str
    names: tuple[str, ...] = ()


Criterion = Callable[[RecordingFacts], Iterator[Finding]]


def judge_facts(facts: RecordingFacts) -> RecordingVerdict:
    """Return the verdict on what is known of a recording."""
    reasons = []
    for criterion in CRITERIA if facts.used > 0 else (judge_used,):
        for finding in criterion(facts):
            beyond = THRESHOLDS[finding.code].grade(finding.value)
            if beyond is not None:
                severity, threshold = beyond
                reasons.append(
                    VerdictReason(
                        code=finding.code,
                        value=finding.value,
                        threshold=threshold,
                        severity="reject" if severity == "reject" else "care",
                        text=finding.text,
                        names=finding.names,
                    )
                )
    order = list(THRESHOLDS)
    reasons.sort(key=lambda reason: (reason.severity != "reject", order.index(reason.code)))
    severities = {reason.severity for reason in reasons}
    grade: Literal["good", "care", "reject"] = "good"
    if len(severities) > 0:
        grade = "reject" if "reject" in severities else "care"
    solved = tuple(bone for limb in facts.limbs for bone in limb.bones)
    return RecordingVerdict(
        grade=grade,
        reasons=tuple(reasons),
        solved=tuple(bone for bone in solved if bone not in facts.uninstrumented),
        held=facts.uninstrumented,
        span=facts.span if facts.span != (0, facts.frames - 1) else None,
    )


def _mm(length: float) -> str:
    return f"{1e3 * length:.0f} mm" if length >= 0.00995 else f"{1e3 * length:.1f} mm"


def _percent(share: float) -> str:
    return f"{100.0 * share:.0f} %"


def _list(names: Sequence[str]) -> str:
    return join_names(names, MAX_NAMES, spare=1)


def judge_stature(facts: RecordingFacts) -> Iterator[Finding]:
    """The fitted figure has the height of a person, if it is one."""
    if not facts.is_person:
        return
    text = f"the figure would be {facts.stature:.2g} m tall"
    for code in ("stature-short", "stature-tall"):
        yield Finding(code, facts.stature, text)


def judge_size(facts: RecordingFacts) -> Iterator[Finding]:
    """Another figure, such as a hand, has the size that it was given."""
    if facts.is_person or facts.size is None:
        return
    size = facts.size * facts.unit_factor
    text = f"what was recorded has {size:.2g} times the size of the figure"
    yield Finding("size", max(size, 1.0 / size) if size > 0.0 else math.inf, text)


def judge_unit(facts: RecordingFacts) -> Iterator[Finding]:
    """The length unit that the file states is that of its numbers."""
    factor = facts.unit_factor
    text = f"the length unit of the file cannot be right, lengths were multiplied by {factor:g}"
    yield Finding("unit", max(factor, 1.0 / factor), text)


def judge_error(facts: RecordingFacts) -> Iterator[Finding]:
    """The markers fit as well as skin lets them."""
    text = f"markers are off by {_mm(facts.mean_error)} on average"
    yield Finding("error", facts.mean_error / facts.stature, text)


def judge_limb_errors(facts: RecordingFacts) -> Iterator[Finding]:
    """So do those of each part of the body."""
    limit = (THRESHOLDS["limb-error"].care or 0.0) * facts.stature
    bad = sorted(facts.limbs, key=lambda limb: -limb.mean_error)
    names = tuple(limb.name for limb in bad if limb.mean_error > limit)
    if len(bad) > 0:
        worst = bad[0].mean_error
        text = f"the markers of {_list(names)} are off by up to {_mm(worst)} on average"
        yield Finding("limb-error", worst / facts.stature, text, names)


def judge_marker_errors(facts: RecordingFacts) -> Iterator[Finding]:
    """No marker is where its landmark cannot be."""
    limit = (THRESHOLDS["marker-error"].care or 0.0) * facts.stature
    far = [name for name, error in facts.marker_errors.items() if not error <= limit]
    worst = max(facts.marker_errors.values(), default=float("nan"))
    verb = "is" if len(far) == 1 else "are"
    text = f"{_list(far)} {verb} off by up to {_mm(worst)} on average"
    yield Finding("marker-error", worst / facts.stature, text, tuple(far))


def judge_stretches(facts: RecordingFacts) -> Iterator[Finding]:
    """Nor is one there for a while."""
    limit = (THRESHOLDS["marker-stretch"].care or 0.0) * facts.stature
    far = [stretch for stretch in facts.far_stretches if stretch.error > limit]
    for worst in facts.far_stretches[:1]:
        text = f"{worst.marker} is off by up to {_mm(worst.largest)} in frames "
        text += f"{worst.first} to {worst.last}"
        others = [stretch.marker for stretch in far[1:]]
        if len(others) > 0:
            text += f", {_list(others)} in others"
        names = tuple(stretch.marker for stretch in far)
        yield Finding("marker-stretch", worst.error / facts.stature, text, names)


def judge_marker_jumps(facts: RecordingFacts) -> Iterator[Finding]:
    """No marker is suddenly elsewhere."""
    limit = (THRESHOLDS["marker-jump"].care or 0.0) * facts.stature
    far = [jump.marker for jump in facts.marker_jumps if jump.distance > limit]
    for worst in facts.marker_jumps[:1]:
        text = f"{worst.marker} jumps by {_mm(worst.distance)} in frame {worst.frame}"
        if len(far) > 1:
            text += f", {_list(far[1:])} in others"
        yield Finding("marker-jump", worst.distance / facts.stature, text, tuple(far))


def judge_handedness(facts: RecordingFacts) -> Iterator[Finding]:
    """The markers are those of a person and not of a mirror image."""
    if facts.handedness is not None:
        mirrored = facts.handedness < (THRESHOLDS["handedness"].reject or 0.0)
        text = "left and right are exchanged, or two axes" if mirrored else "names are mixed up"
        yield Finding("handedness", facts.handedness, f"{text}, as places of markers show")


def judge_heading(facts: RecordingFacts) -> Iterator[Finding]:
    """Who goes somewhere looks there."""
    if facts.heading is not None:
        text = "the figure goes backwards: left and right, or two axes, may be exchanged"
        yield Finding("backwards", facts.heading, text)


def judge_redundancy(facts: RecordingFacts) -> Iterator[Finding]:
    """More was measured than is fitted, so that the error tells something."""
    if facts.poses < 3:
        text = (
            f"hardly anything moves, so that {_mm(facts.mean_error)} is no evidence of a good fit"
        )
    else:
        text = (
            f"{count_noun(facts.used, 'marker')} are hardly more than is fitted to them, so that "
            f"{_mm(facts.mean_error)} is no evidence of a good fit"
        )
    yield Finding("redundancy", facts.redundancy, text)


def judge_open_dofs(facts: RecordingFacts) -> Iterator[Finding]:
    """Markers determine the joints of the parts that they are on."""
    share = len(facts.open_dofs) / max(facts.instrumented_dofs, 1)
    bones = list(dict.fromkeys(name.rpartition(".")[0] for name in facts.open_dofs))
    count = f"{len(facts.open_dofs)} of {facts.instrumented_dofs} dofs with markers beyond them"
    yield Finding(
        "open-dofs", share, f"{count} are not determined ({_list(bones)})", facts.open_dofs
    )


def judge_used(facts: RecordingFacts) -> Iterator[Finding]:
    """Most of the markers on the subject are known and used."""
    if facts.used == 0:
        yield Finding("used", 0.0, "no marker of the figure is ever seen")
        return
    share = facts.used / max(facts.recorded, 1)
    names = tuple(name for group in facts.unused.values() for name in group)
    text = f"only {facts.used} of {facts.recorded} markers are used, without {_list(names)}"
    yield Finding("used", share, text, names)


def judge_pairs(facts: RecordingFacts) -> Iterator[Finding]:
    """Left and right have the same markers."""
    if facts.paired == 0:
        return
    share = len(facts.unpaired) / facts.paired
    text = f"{_list(facts.unpaired)} have no partner on the other side"
    yield Finding("unpaired", share, text, facts.unpaired)


def judge_marker_set(facts: RecordingFacts) -> Iterator[Finding]:
    """The marker set that was recognised is complete."""
    if facts.marker_set is None or facts.set_size == 0:
        return
    share = 1.0 - len(facts.set_missing) / facts.set_size
    text = f"the marker set {facts.marker_set} lacks {len(facts.set_missing)} of {facts.set_size}"
    yield Finding("marker-set", share, f"{text} ({_list(facts.set_missing)})", facts.set_missing)


def judge_up_axis(facts: RecordingFacts) -> Iterator[Finding]:
    """The figure stands along the axis that is said to be up."""
    if facts.up is None or facts.up.cosine is None:
        return
    cosine = facts.up.cosine
    angle = math.degrees(math.acos(max(-1.0, min(1.0, cosine))))
    how = "is upside down" if cosine < -0.5 else f"leans by {angle:.0f}° on average"
    yield Finding("up-axis", cosine, f"the figure {how} if {facts.up.axis} is up")


def judge_up_origin(facts: RecordingFacts) -> Iterator[Finding]:
    """Someone says which axis is up: the file, the user, or the figure that stands along it."""
    if facts.up is not None:
        is_guess = facts.up.origin in ("spread", "custom", "unknown")
        text = (
            f"neither the file nor the figure tells that {facts.up.axis or 'an axis'} is up (--up)"
        )
        yield Finding("up-guess", float(is_guess), text)


def judge_labels(facts: RecordingFacts) -> Iterator[Finding]:
    """Markers without names were labelled without doubt."""
    if facts.label_doubt is not None:
        text = f"the labels of {_percent(facts.label_doubt)} of the samples are doubtful"
        yield Finding("labels", facts.label_doubt, f"{text}, found by shape")


def judge_matches(facts: RecordingFacts) -> Iterator[Finding]:
    """It is sure which marker is which."""
    names = tuple(dict.fromkeys((*facts.doubtful, *facts.guessed)))
    text = f"what {_list(names)} are is a guess"
    yield Finding("matches", len(names) / max(facts.used, 1), text, names)


def judge_limits(facts: RecordingFacts) -> Iterator[Finding]:
    """No joint is at its limit all the time."""
    share = max(facts.limit_shares.values(), default=0.0)
    limit = THRESHOLDS["limits"].care or 0.0
    dofs = [name for name, value in facts.limit_shares.items() if value > limit]
    verb = "is at its limit" if len(dofs) == 1 else "are at their limits"
    text = f"{_list(dofs)} {verb} in up to {_percent(share)} of the frames"
    yield Finding("limits", share, text, tuple(dofs))


def judge_proportions(facts: RecordingFacts) -> Iterator[Finding]:
    """The fitted bones are in proportion to each other."""
    for segment in facts.deviations[:1]:
        text = f"the {segment.name} would have {segment.ratio:.2f} times the usual length"
        yield Finding("proportions", abs(segment.z), text, (segment.name,))


def judge_places(facts: RecordingFacts) -> Iterator[Finding]:
    """Markers of the same landmarks sit alike on the left and on the right, taken together."""
    pairs = facts.place_differences
    if len(pairs) == 0:
        return
    rms = math.sqrt(sum(pair.z**2 for pair in pairs) / len(pairs))
    far = [pair for pair in pairs if pair.z >= rms]
    longest = max(pair.distance for pair in far)
    who = _list([f"{pair.left}/{pair.right}" for pair in far])
    text = f"{who} sit at places that are not mirror images, by up to {_mm(longest)}"
    yield Finding("places", rms, text, tuple(n for pair in far for n in (pair.left, pair.right)))


def judge_sides(facts: RecordingFacts) -> Iterator[Finding]:
    """Left and right fit alike."""
    errors = {limb.name: limb.mean_error for limb in facts.limbs}
    for limb in facts.limbs:
        other = errors.get(limb.mirrored or "")
        if other is None or not limb.mean_error > other:
            continue
        if limb.mean_error < SIDE_ERROR * facts.stature:
            continue
        ratio = limb.mean_error / max(other, 1e-6)
        text = f"{limb.name} is off by {_mm(limb.mean_error)}, {limb.mirrored} by {_mm(other)}"
        yield Finding("sides", ratio, text, (limb.name,))


SIDE_ERROR = 0.006
"""[statures] of a limb below which it does not matter that the other is better: 10 mm."""


def judge_frames(facts: RecordingFacts) -> Iterator[Finding]:
    """Most frames are solved, and from markers."""
    shares = (
        ("blind", facts.blind_share, "fewer than three markers are seen"),
        ("not-converged", facts.not_converged_share, "the solve did not come to rest"),
        ("jumps", facts.jump_share, "the pose jumps though no marker does"),
        ("poor-frames", facts.poor_share, "markers fit far worse than elsewhere"),
    )
    for code, share, what in shares:
        yield Finding(code, share, f"{what} in {_percent(share)} of the frames")


def judge_swaps(facts: RecordingFacts) -> Iterator[Finding]:
    """No two markers were solved under each other's names."""
    pairs = list(dict.fromkeys(swap.names for swap in facts.swaps))
    who = _list([f"{one}/{other}" for one, other in pairs])
    text = f"{who} seem to have exchanged their names for a while (--robust huber exchanges them)"
    names = tuple(dict.fromkeys(name for pair in pairs for name in pair))
    yield Finding("swaps", facts.swap_share, text, names)


def judge_gaps(facts: RecordingFacts) -> Iterator[Finding]:
    """Every limb has its markers most of the time."""
    worst = max(facts.limbs, key=lambda limb: limb.gap_share, default=None)
    where = "" if worst is None else f" of {worst.name}"
    text = f"joints{where} had lost their markers in {_percent(facts.gap_share)} of the time"
    yield Finding("gaps", facts.gap_share, text)


def judge_calibration(facts: RecordingFacts) -> Iterator[Finding]:
    """The fit of the figure came to rest."""
    if facts.settled is not None:
        text = "the fit of the figure to the subject did not come to rest"
        yield Finding("calibration", 0.0 if facts.settled else 1.0, text)


CRITERIA: tuple[Criterion, ...] = (
    judge_stature,
    judge_size,
    judge_unit,
    judge_error,
    judge_limb_errors,
    judge_marker_errors,
    judge_handedness,
    judge_heading,
    judge_redundancy,
    judge_open_dofs,
    judge_used,
    judge_pairs,
    judge_marker_set,
    judge_up_axis,
    judge_up_origin,
    judge_labels,
    judge_matches,
    judge_limits,
    judge_proportions,
    judge_places,
    judge_sides,
    judge_swaps,
    judge_stretches,
    judge_marker_jumps,
    judge_gaps,
    judge_frames,
    judge_calibration,
)
