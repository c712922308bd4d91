"""The criteria: each a small function from a solved recording to what it measures of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from exactik._text import count_noun
from exactik.recordings.calibration import compare_with_anthropometry
from exactik.recordings.diagnosis._evidence import Evidence
from exactik.recordings.diagnosis._far_markers import find_far_stretches
from exactik.recordings.diagnosis._figure import (
    find_place_differences,
    find_unpaired_markers,
    measure_heading,
    measure_places,
)
from exactik.recordings.diagnosis._finding import Finding, measure
from exactik.recordings.diagnosis._limbs import find_delays
from exactik.recordings.diagnosis._thresholds import THRESHOLDS

SURE_CONFIDENCE = 0.5  # of a match, below which it is a doubt
GEOMETRY = "geometry"  # code of a match by place and movement
# Mean errors [statures] that no skin explains, by which values are doubtful: 22 mm of a limb (the
# worst soft tissue, of thighs, moves by 10 to 20 mm), 35 mm of a marker.
LIMB_ERROR, MARKER_ERROR = 0.013, 0.021
SIDE_RATIO = 3.0  # of a limb's error to that of the other side, that skin does not explain either
SIDE_ERROR = 0.006
"""[statures] of a limb below which it does not matter that the other is better: 10 mm."""

Criterion = Callable[[Evidence], Iterator[Finding]]


def measure_size(evidence: Evidence) -> Iterator[Finding]:
    """The fitted figure has the height of a person, another one the size that it was given."""
    size, factor = evidence.context.size, evidence.context.unit_factor
    if np.isfinite(compare_with_anthropometry(evidence.skeleton).stature):  # it is a person's
        for kind in ("stature-short", "stature-tall"):
            yield measure(kind, evidence.stature)
    elif size is not None:
        size *= factor
        yield measure("size", max(size, 1.0 / size) if size > 0.0 else math.inf, size=size)
    # The length unit that the file states is that of its numbers.
    yield measure("unit", max(factor, 1.0 / factor), factor=factor)


def measure_errors(evidence: Evidence) -> Iterator[Finding]:
    """The markers fit as well as skin lets them: all, those of each limb, and each by itself."""
    stature, errors, names = evidence.stature, evidence.errors, evidence.track.names
    yield measure("error", evidence.mean_error / stature, error=evidence.mean_error)
    of_limbs = {limb.name: limb.mean_error for limb in evidence.limbs}
    for limb in sorted(evidence.limbs, key=lambda limb: -limb.mean_error):
        error, other = limb.mean_error, of_limbs.get(limb.mirrored or "", math.inf)
        facts = {"mirrored": limb.mirrored, "other": other}
        if error > LIMB_ERROR * stature:
            yield _doubt(evidence, "limb-error", error, limb.name, LIMB_ERROR)
        elif error > SIDE_ERROR * stature and error > SIDE_RATIO * other:
            yield _doubt(evidence, "limb-symmetry", error, limb.name, SIDE_ERROR, **facts)
    for m, name in enumerate(names):
        if name in evidence.names:
            error = float(errors[evidence.seen[:, m], m].mean())
            if error > MARKER_ERROR * stature:
                yield _doubt(evidence, "marker-error", error, name, MARKER_ERROR)


def _doubt(
    evidence: Evidence, kind: str, error: float, name: str, limit: float, **details: Any
) -> Finding:
    """Return that the error of a marker or a limb [m] is beyond a limit [statures] on average."""
    return Finding(
        kind=kind,
        severity="look",
        value=error,
        unit="m",
        threshold=limit * evidence.stature,
        frames=evidence.span,
        names=(name,),
        details=details,
    )


def measure_moments(evidence: Evidence) -> Iterator[Finding]:
    """No marker is far off for a while, and none is suddenly elsewhere."""
    track, first = evidence.track, evidence.span[0]
    errors = np.where(evidence.ignored, np.nan, evidence.errors)
    yield from find_far_stretches(errors, track.names, track.markers.rate, track.sigma, first)
    yield from evidence.marker_jumps


def measure_delays(evidence: Evidence) -> Iterator[Finding]:
    """All markers are of the same time, and of the same recording."""
    for delay in find_delays(evidence.track, evidence.frames):
        yield Finding(
            kind="delayed-limb",
            severity="look",
            value=delay.seconds,
            unit="s",
            frames=evidence.span,
            names=(delay.name,),
            details={
                "bones": delay.bones,
                "ratio": delay.ratio,
                "seconds": abs(delay.seconds),
                "when": "late" if delay.seconds > 0.0 else "early",
            },
        )


def measure_handedness(evidence: Evidence) -> Iterator[Finding]:
    """The markers are those of a person and not of a mirror image, who looks where it goes."""
    handedness = evidence.context.handedness
    if handedness is not None:
        mirrored = handedness < (THRESHOLDS["handedness"].reject or 0.0)
        yield measure("handedness", handedness, variant="mirrored" if mirrored else "")
    heading = measure_heading(evidence.track, evidence.frames, evidence.stature)
    if heading is not None:
        yield measure("backwards", heading)


def measure_redundancy(evidence: Evidence) -> Iterator[Finding]:
    """More was measured than is fitted to it, so that the error tells something.

    Of a static trial nobody expects it, nor that the fit comes to rest: that is said, no more.
    """
    found = measure(
        "redundancy",
        evidence.redundancy,
        error=evidence.mean_error,
        count=count_noun(len(evidence.names), "marker"),
        variant="still" if evidence.is_still else "",
    )
    is_remark = evidence.is_still and found.severity == "care"
    yield replace(found, severity="look") if is_remark else found


def measure_use(evidence: Evidence) -> Iterator[Finding]:
    """Most of the markers on the subject are known and used."""
    used, on_subject = len(evidence.names), evidence.on_subject
    if used == 0:
        yield measure("markers-used", 0.0, variant="none")
        return
    unused = [use for use in on_subject if use.marker is None]
    codes = list(dict.fromkeys(use.code for use in unused))
    yield measure(
        "markers-used",
        used / max(len(on_subject), 1),
        tuple(use.name for use in sorted(unused, key=lambda use: codes.index(use.code))),
        used=used,
        recorded=len(on_subject),
    )


def measure_names(evidence: Evidence) -> Iterator[Finding]:
    """It is sure which marker is which, and none is missing of a pair or a set."""
    context, used = evidence.context, len(evidence.names)
    misnamed = tuple(use.name for use in context.uses if use.code == "misnamed")
    yield measure("misnamed", float(len(misnamed)), misnamed)
    unpaired, paired = find_unpaired_markers(evidence.skeleton, evidence.names)
    if paired > 0:
        yield measure("unpaired", len(unpaired) / paired, tuple(unpaired))
    if context.marker_set is not None and context.set_size > 0:
        missing, size = context.set_missing, context.set_size
        share = 1.0 - len(missing) / size
        facts = {"marker_set": context.marker_set, "missing": len(missing), "size": size}
        yield measure("marker-set", share, missing, **facts)
    if context.label_doubt is not None:
        yield measure("labels", context.label_doubt)
    in_use = [use for use in context.uses if use.marker]
    doubtful = [use.name for use in in_use if use.confidence < SURE_CONFIDENCE]
    guessed = [use.name for use in in_use if use.code == GEOMETRY]
    names = tuple(dict.fromkeys((*doubtful, *guessed)))
    yield measure("matches", len(names) / max(used, 1), names)


def measure_up(evidence: Evidence) -> Iterator[Finding]:
    """Someone says which axis is up, and the figure stands along it."""
    up = evidence.context.up
    if up.cosine is not None:
        yield measure(
            "up-axis",
            up.cosine,
            angle=math.degrees(math.acos(max(-1.0, min(1.0, up.cosine)))),
            axis=up.axis,
            variant="upside down" if up.cosine < -0.5 else "",
        )
    is_guess = up.origin in ("spread", "custom", "unknown")
    yield measure("up-guess", float(is_guess), axis=up.axis or "an axis")


def measure_fit(evidence: Evidence) -> Iterator[Finding]:
    """The figure came to rest at proportions that people have, alike on both sides."""
    context, skeleton = evidence.context, evidence.skeleton
    if context.settled is not None and not evidence.is_still:
        yield measure("calibration", 0.0 if context.settled else 1.0)
    if not context.is_fitted:
        return
    segments = compare_with_anthropometry(skeleton).segments
    known = [segment for segment in segments if segment.bone in evidence.instrumented]
    for worst in sorted(known, key=lambda segment: -abs(segment.z))[:1]:
        ratio = worst.share / worst.expected
        yield measure("proportions", abs(worst.z), (worst.name,), ratio=ratio)
    if evidence.is_still:  # a figure fits one pose wherever the markers are
        places = measure_places(skeleton, context.uses, evidence.names)
        for limb in sorted(places, key=lambda limb: -places[limb])[:1]:
            yield measure("places", places[limb], (limb,))
    pairs = find_place_differences(skeleton, context.uses, evidence.names)
    if len(pairs) > 0:
        rms = math.sqrt(sum(pair.z**2 for pair in pairs) / len(pairs))
        far = [pair for pair in pairs if pair.z >= rms]
        yield measure(
            "marker-symmetry",
            rms,
            tuple(name for pair in far for name in (pair.left, pair.right)),
            pairs=[f"{pair.left}/{pair.right}" for pair in far],
            distance=max(pair.distance for pair in far),
        )


def measure_left_out(evidence: Evidence) -> Iterator[Finding]:
    """Few samples of any marker were left out as gross outliers, or are elsewhere after a jump."""
    track, begin = evidence.track, evidence.span[0]
    is_away = np.array(track.left_out[evidence.frames])
    is_there = evidence.seen | is_away
    for jump in evidence.marker_jumps:
        rows = slice(jump.first - begin, jump.last + 1 - begin)
        is_away[rows, track.names.index(jump.names[0])] = True
    left = (is_away & is_there).sum(axis=0)
    if left.any():
        shares = left / np.maximum(is_there.sum(axis=0), 1)
        order = [m for m in np.argsort(-shares, kind="stable") if left[m] > 0]
        names = tuple(track.names[m] for m in order)
        samples = count_noun(int(left.sum()), "sample")
        yield measure("left-out", float(shares[order[0]]), names, samples=samples)


def measure_loops(evidence: Evidence) -> Iterator[Finding]:
    """Bodies that the figure's file holds together are together."""
    motion = evidence.track.motion
    pose = motion.skeleton.forward(np.array(motion.q[evidence.frames]))
    for loop in motion.skeleton.loops:
        gap = loop.measure_gap(pose)
        mean, largest = float(gap.mean()), float(gap.max())
        value = mean / evidence.stature
        yield measure("closure-gap", value, loop.bones, mean=mean, largest=largest)


def list_bones(evidence: Evidence) -> Iterator[Finding]:
    """Of which bones markers tell something, and in which frames the subject is seen."""
    held = tuple(b.name for b in evidence.skeleton.bones if b.name not in evidence.instrumented)
    solved = tuple(b for limb in evidence.limbs for b in limb.bones if b not in held)
    for kind, names in (("bones-solved", solved), ("bones-held", held)):
        yield Finding(
            kind=kind, severity="good", value=float(len(names)), unit="bones", names=names
        )
    first, last = evidence.span
    share = (last - first + 1) / len(evidence.track)
    yield Finding(
        kind="subject-seen", severity="good", value=share, unit="share", frames=evidence.span
    )


def list_dofs(evidence: Evidence) -> Iterator[Finding]:
    """Of which dofs nothing is known though they have markers, and which are at a limit."""
    names = np.array(evidence.skeleton.dof_names)
    is_open = evidence.has_markers & evidence.is_open
    at_limits = evidence.track.at_limits[evidence.frames].mean(axis=0)
    for kind, share in (("open-dofs", is_open.astype(float)), ("limits", at_limits)):
        about = evidence.has_markers & (share > 0.0)
        yield Finding(
            kind=kind,
            severity="good",
            value=float(share.max(initial=0.0)),
            unit="share",
            names=tuple(names[about].tolist()),
        )


CRITERIA: tuple[Criterion, ...] = (
    measure_size,
    measure_errors,
    measure_moments,
    measure_delays,
    measure_handedness,
    measure_redundancy,
    measure_use,
    measure_names,
    measure_up,
    measure_fit,
    measure_left_out,
    measure_loops,
    list_bones,
    list_dofs,
)
WITHOUT_MARKERS: tuple[Criterion, ...] = (measure_use, list_bones)
"""What there is to say where none is ever seen."""
