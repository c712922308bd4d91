"""Parts of the body, judged each by itself: one bad leg must not hide in a good mean.

A limb whose markers come late, or from another recording, may fit, if its joints give way. But no
joint lets a hip out of its socket, and the pelvis moves on while the leg does not follow. So the
markers of each arm and leg are shifted in time against all others and some frames solved again: if
that fits much better than as recorded, the limb is late by so much. The fit has put markers where
they suit the limb as recorded (who walks straight on has a late leg behind him all the time): so
each shift is tried with the markers where they fit it best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exactik.anatomy import describe_body, find_limbs, find_partners
from exactik.model import Skeleton
from exactik.model.motion import choose_even_frames
from exactik.recordings.diagnosis._swaps import SOLVER
from exactik.recordings.tracking import solve_frames
from exactik.typing import Array, IntArray

if TYPE_CHECKING:
    from exactik.recordings.tracking import Track

DELAYS = (0.04, 0.07, 0.1, 0.14, 0.2, 0.25, 0.3)  # [s] that are tried, both ways
FIRST_DELAYS = (0.1, 0.25)  # [s] that are tried first, with few frames
DELAY_FRAMES, FIRST_FRAMES = 60, 16  # that are solved again
MIN_LIMB_MARKERS = 2  # that tell where a limb is
SUSPICIOUS_RATIO = 0.97  # of squared errors, below which all delays are tried
MAX_DELAYED_RATIO = 0.8
"""Of the squared errors of all markers, with the limb shifted over those as recorded. Of limbs in
time the least is 0.85, in 83 recordings of the campaign (even seeds) and of people that are not
rejected; of 49 legs that were made late in those that move, the greatest is 0.68."""
MIN_BETTER_SHARE = 0.4  # of the frames that fit better: a limb is late in all frames that it moves


@dataclass(frozen=True, kw_only=True)
class LimbFacts:
    """A limb of the body, its trunk or its head."""

    bones: tuple[str, ...]  # from the trunk outwards
    mirrored: str | None  # first bone of the same part on the other side, None if there is none
    mean_error: float  # of the markers that were used and seen [m]

    @property
    def name(self) -> str:
        """What to call it: its first bone, "l_thigh" for the left leg."""
        return self.bones[0]


def find_instrumented_bones(skeleton: Skeleton, markers: Sequence[str]) -> set[str]:
    """Return the bones that have some of the markers on them or on bones beyond them."""
    parents = {bone.name: bone.parent for bone in skeleton.bones}
    found: set[str] = set()
    for name in markers:
        bone: str | None = skeleton.marker(name)[0]
        while bone is not None and bone not in found:
            found.add(bone)
            bone = parents[bone]
    return found


def measure_limbs(track: Track, frames: slice) -> tuple[LimbFacts, ...]:
    """Return the parts of a track's figure that have markers, in the frames of its subject."""
    skeleton, errors = track.skeleton, track.errors_that_count[frames]
    marker_bones = np.array([skeleton.marker(name)[0] for name in track.names])
    limbs, partners = [], find_partners(skeleton)
    for bones in find_limbs(skeleton):
        samples = errors[:, np.isin(marker_bones, bones)]
        samples = samples[np.isfinite(samples)]
        if len(samples) > 0:
            mirrored, mean_error = partners.get(bones[0]), float(samples.mean())
            limbs.append(LimbFacts(bones=bones, mirrored=mirrored, mean_error=mean_error))
    return tuple(limbs)


@dataclass(frozen=True, kw_only=True)
class LimbDelay:
    """A limb whose markers fit better at another time."""

    name: str  # of the limb: its first bone
    bones: tuple[str, ...]  # those that are late
    seconds: float  # by which they are late, below zero if they are early
    ratio: float  # of the squared errors of all markers, in time over as recorded


def find_delays(track: Track, span: slice) -> list[LimbDelay]:
    """Return arms and legs whose markers are not of the same time as the others.

    Args:
        track: the solved recording.
        span: frames to look at.
    """
    skeleton, found = track.skeleton, list[LimbDelay]()
    marker_bones = np.array([skeleton.marker(name)[0] for name in track.names])
    body = {
        bone.name: role
        for bone, role in zip(skeleton.bones, describe_body(skeleton).roles, strict=True)
    }
    limbs: dict[str, tuple[str, ...]] = {}
    for bones in find_limbs(skeleton):
        # Markers of a shoulder are the trunk's as much as the arm's.
        own = tuple(bone for bone in bones if body[bone].part != "clavicle")
        is_limb = body[bones[0]].limb.endswith(("_leg", "_arm"))
        if is_limb and np.isin(marker_bones, own).sum() >= MIN_LIMB_MARKERS:
            limbs[bones[0]] = own
    shifted = np.zeros(len(track.names))  # seconds by which markers are brought forward
    while len(limbs) > 0:
        tried = [_try_delays(track, span, name, limbs[name], shifted) for name in limbs]
        best = min(tried, key=lambda delay: delay.ratio)
        if best.ratio > MAX_DELAYED_RATIO:
            break
        found.append(best)
        del limbs[best.name]
        shifted[np.isin(marker_bones, best.bones)] = best.seconds
    return found


def _try_delays(
    track: Track, span: slice, name: str, bones: tuple[str, ...], shifted: Array
) -> LimbDelay:
    """Return the delay of a limb with which it fits best; markers are `shifted` already, (M,) [s].

    The delay is 0 and the ratio 1 if there is nothing to suspect.
    """
    skeleton, rate = track.skeleton, track.motion.rate
    own = np.array([skeleton.marker(name)[0] in bones for name in track.names])
    marker_bones = [skeleton.bone_index(skeleton.marker(name)[0]) for name in track.names]
    first_q = skeleton.tree.first_q
    columns = [skeleton.bone_index(bone) + 1 for bone in bones]
    coordinates = np.concatenate([np.arange(first_q[k], first_q[k + 1]) for k in columns])
    longest = min(max(DELAYS), (span.stop - span.start) / rate / 4.0)
    ends = np.arange(span.start, span.stop)
    margin = round(longest * rate)
    ends = ends[margin : len(ends) - margin]

    def solve_shifted(frames: IntArray, seconds: float) -> Array:
        q, markers = np.array(track.motion.q[frames]), track.problem.targets.position
        late = np.where(own, seconds, shifted)
        moved = np.stack([markers[frames + round(s * rate), m] for m, s in enumerate(late)], axis=1)
        q[:, coordinates] = track.motion.q[frames + round(seconds * rate)][:, coordinates]
        problem = track.problem.select(frames).with_targets(position=moved)
        options = SOLVER.options(problem.frame_problem)
        rows = np.arange(len(frames))
        q = solve_frames(problem, options, rows, q).q
        to_bone = np.swapaxes(skeleton.forward(q).rotations[:, marker_bones], 2, 3)
        beside = (to_bone @ problem.residuals(q)[..., None])[..., 0]
        point = problem.targets.point + _average(beside)
        problem = problem.with_targets(point=np.ascontiguousarray(point))
        q = solve_frames(problem, options, rows, q).q
        errors = problem.residuals(q)[:, problem.counts]
        seen = np.isfinite(errors[:, :, 0]).sum(axis=1)
        return np.nansum(errors**2, axis=(1, 2)) / np.maximum(seen, 1)

    best = LimbDelay(name=name, bones=bones, seconds=0.0, ratio=1.0)
    for delays, count in ((FIRST_DELAYS, FIRST_FRAMES), (DELAYS, DELAY_FRAMES)):
        frames = ends[choose_even_frames(len(ends), count)] if len(ends) > 0 else ends
        tried = [s * d for d in delays if d <= longest for s in (-1.0, 1.0)]
        if len(frames) < 3 or len(tried) == 0:
            return best
        as_recorded = solve_shifted(frames, 0.0)
        costs = [solve_shifted(frames, seconds) for seconds in tried]
        sums = [float(cost.sum()) for cost in costs]
        k = int(np.argmin(sums))
        is_usual = (costs[k] < as_recorded).mean() >= MIN_BETTER_SHARE
        ratio = sums[k] / max(float(as_recorded.sum()), 1e-12) if is_usual else 1.0
        best = LimbDelay(name=name, bones=bones, seconds=tried[k], ratio=ratio)
        if ratio > SUSPICIOUS_RATIO:
            break
    return best


def _average(beside: Array) -> Array:
    """Return the mean over frames, (M, 3) of (n, M, 3), 0 for a marker that is never there."""
    count = np.isfinite(beside).sum(axis=0)
    return np.nansum(beside, axis=0) / np.maximum(count, 1)
