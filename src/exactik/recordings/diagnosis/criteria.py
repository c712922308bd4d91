"""The criteria: each a small function from a solved recording to what it measures of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from exactik._text import count_noun
from exactik.model.motion import mark_segments
from exactik.recordings.calibration import compare_with_anthropometry
from exactik.recordings.diagnosis._attention import name_bones
from exactik.recordings.diagnosis._evidence import Evidence
from exactik.recordings.diagnosis._far_markers import find_far_stretches, find_marker_jumps
from exactik.recordings.diagnosis._figure import measure_heading
from exactik.recordings.diagnosis._finding import Finding, measure
from exactik.recordings.diagnosis._mirrored_places import find_place_differences
from exactik.recordings.diagnosis._sides import find_unpaired_markers
from exactik.recordings.diagnosis._thresholds import THRESHOLDS
from exactik.recordings.tracking import NEIGHBOUR_RATIO

SURE_CONFIDENCE = 0.5  # of a match, below which it is a doubt
GEOMETRY = "geometry"  # code of a match by place and movement
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
    stature, errors = evidence.stature, evidence.errors
    yield measure("error", evidence.mean_error / stature, error=evidence.mean_error)
    for limb in sorted(evidence.limbs, key=lambda limb: -limb.mean_error):
        error = limb.mean_error
        yield measure("limb-error", error / stature, (limb.name,), error=error)
    for m, name in enumerate(evidence.track.names):
        if name in evidence.names:
            error = float(errors[evidence.seen[:, m], m].mean())
            yield measure("marker-error", error / stature, (name,), error=error)


def measure_moments(evidence: Evidence) -> Iterator[Finding]:
    """No marker is far off for a while, and none is suddenly elsewhere."""
    track, first, ignored = evidence.track, evidence.span[0], evidence.ignored
    errors = np.where(ignored, np.nan, evidence.errors)
    rate, stature = track.markers.rate, evidence.stature
    yield from find_far_stretches(errors, track.names, rate, stature, first)
    positions = track.solved_positions[evidence.frames]
    yield from find_marker_jumps(
        positions, ignored, track.names, rate, NEIGHBOUR_RATIO, stature, first
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
    """More was measured than is fitted to it, so that the error tells something."""
    coordinates = 3.0 * evidence.seen.sum(axis=1).mean()
    # Equal poses tell nothing new of the parameters that are fitted to all frames together.
    fitted = int(evidence.has_markers.sum()) + evidence.context.parameters / evidence.poses
    yield measure(
        "redundancy",
        float(1.0 - fitted / coordinates),
        error=evidence.mean_error,
        count=count_noun(len(evidence.names), "marker"),
        variant="still" if evidence.poses < 3 else "",
    )


def measure_open_dofs(evidence: Evidence) -> Iterator[Finding]:
    """Markers determine the joints of the parts that they are on, away from their limits."""
    track, names = evidence.track, np.array(evidence.skeleton.dof_names)
    count, is_open = int(evidence.has_markers.sum()), evidence.has_markers & evidence.is_open
    dofs = tuple(names[is_open].tolist())
    facts = {"open": len(dofs), "count": count, "bones": name_bones(dofs)}
    yield measure("open-dofs", len(dofs) / max(count, 1), dofs, **facts)
    at_limits = track.at_limits[evidence.frames].mean(axis=0)
    for k in np.flatnonzero(evidence.has_markers & (at_limits > 0.0)):
        yield measure("limits", float(at_limits[k]), (str(names[k]),))


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
    if context.settled is not None:
        yield measure("calibration", 0.0 if context.settled else 1.0)
    if not context.is_fitted:
        return
    segments = compare_with_anthropometry(skeleton).segments
    known = [segment for segment in segments if segment.bone in evidence.instrumented]
    for worst in sorted(known, key=lambda segment: -abs(segment.z))[:1]:
        ratio = worst.share / worst.expected
        yield measure("proportions", abs(worst.z), (worst.name,), ratio=ratio)
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


def measure_sides(evidence: Evidence) -> Iterator[Finding]:
    """Left and right fit alike."""
    errors = {limb.name: limb.mean_error for limb in evidence.limbs}
    for limb in evidence.limbs:
        error, other = limb.mean_error, errors.get(limb.mirrored or "")
        if other is not None and error > other and error >= SIDE_ERROR * evidence.stature:
            facts = {"error": error, "mirrored": limb.mirrored, "other": other}
            yield measure("limb-symmetry", error / max(other, 1e-6), (limb.name,), **facts)


def measure_swaps(evidence: Evidence) -> Iterator[Finding]:
    """No two markers were solved under each other's names, as their paths and neighbours show."""
    swaps = [swap for swap in evidence.swaps if swap.details["is_sure"]]
    pairs = list(dict.fromkeys(swap.names for swap in swaps))
    yield measure(
        "swaps",
        max((swap.value for swap in swaps), default=0.0),
        tuple(dict.fromkeys(name for pair in pairs for name in pair)),
        pairs=[f"{one}/{other}" for one, other in pairs],
    )


def measure_left_out(evidence: Evidence) -> Iterator[Finding]:
    """Few samples of any marker were left out as gross outliers."""
    track = evidence.track
    left = track.left_out[evidence.frames].sum(axis=0)
    if left.any():
        shares = left / np.maximum(left + evidence.seen.sum(axis=0), 1)
        order = [m for m in np.argsort(-shares, kind="stable") if left[m] > 0]
        names = tuple(track.names[m] for m in order)
        samples = count_noun(int(left.sum()), "sample")
        yield measure("left-out", float(shares[order[0]]), names, samples=samples)


def measure_frames(evidence: Evidence) -> Iterator[Finding]:
    """Every limb has its markers most of the time, and most frames are solved from markers."""
    track, frames = evidence.track, evidence.frames
    worst = max(evidence.limbs, key=lambda limb: limb.gap_share, default=None)
    if worst is None:
        yield measure("gaps", 1.0, variant="of no limb")
    else:
        yield measure("gaps", worst.gap_share, limb=worst.name)
    poor = [s.frames for s in evidence.stretches if s.kind == "poor-fit" and s.frames is not None]
    yield measure("blind", float((evidence.seen.sum(axis=1) < 3).mean()))
    yield measure("not-converged", float((~track.converged[frames]).mean()))
    yield measure("jumps", float(track.jumps[frames].mean()))
    yield measure("poor-frames", float(mark_segments(len(track), poor)[frames].mean()))


def measure_closures(evidence: Evidence) -> Iterator[Finding]:
    """Points that the figure's file holds together are together."""
    motion = evidence.track.motion
    pose = motion.skeleton.forward(np.array(motion.q[evidence.frames]))
    for closure in motion.skeleton.closures:
        gap = closure.measure_gap(pose)
        facts = {"mean": float(gap.mean()), "largest": float(gap.max())}
        yield measure("closure-gap", facts["mean"] / evidence.stature, closure.bones, **facts)


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


CRITERIA: tuple[Criterion, ...] = (
    measure_size,
    measure_errors,
    measure_moments,
    measure_handedness,
    measure_redundancy,
    measure_open_dofs,
    measure_use,
    measure_names,
    measure_up,
    measure_fit,
    measure_sides,
    measure_swaps,
    measure_left_out,
    measure_frames,
    measure_closures,
    list_bones,
)
WITHOUT_MARKERS: tuple[Criterion, ...] = (measure_use, list_bones)
"""What there is to say where none is ever seen."""
