"""Bone lengths of a figure against those of adults.

The distance between two joint centres is a share of stature that varies little among adults. The
means are those of de Leva (1996, J. Biomech. 29:1223, men, lengths between joint centres over a
stature of 1.741 m) and of Drillis & Contini (1966, as in Winter, Biomechanics and Motor Control of
Human Movement, fig. 4.1), halfway where they differ. Surveys of adults (ANSUR II, Gordon et al.
2014) give lengths of limbs over stature a standard deviation of 3 to 4 %, breadths 5 to 8 %; half
the difference of the two sources is added, since they do not mean quite the same centres.

A figure has no crown, so its stature is estimated too: the weighted median of length / share.
Each length is then judged against the others: z = ln(length / (share · stature)) / sd.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from exactik.anatomy import SIDES, describe_body
from exactik.model import Skeleton
from exactik.typing import Array

MIN_LENGTH = 1e-6  # [m] so that a bone of no length has a logarithm; any small value does


class _SegmentNorm(NamedTuple):
    """What adults have between two joint centres."""

    name: str  # of the segment, without its side
    # Part of the body at whose joint it starts, or two between whose joints it does
    start: tuple[str, ...]
    end: tuple[str, ...]  # the same for its end
    share: float  # mean length as a share of stature
    sd: float  # standard deviation of the logarithm of that share among adults


_HIPS, _SHOULDERS = ("left_thigh", "right_thigh"), ("left_upper_arm", "right_upper_arm")
_SEGMENTS = (
    # De Leva 0.243, Drillis & Contini 0.245.
    _SegmentNorm("thigh", ("{side}_thigh",), ("{side}_shin",), 0.244, 0.035),
    # 0.249 and 0.246.
    _SegmentNorm("shin", ("{side}_shin",), ("{side}_foot",), 0.248, 0.035),
    # 0.162 and 0.186, which is from nearer the acromion.
    _SegmentNorm("upper arm", ("{side}_upper_arm",), ("{side}_forearm",), 0.174, 0.075),
    # 0.154 and 0.146.
    _SegmentNorm("forearm", ("{side}_forearm",), ("{side}_hand",), 0.150, 0.05),
    # De Leva only, wrist to middle knuckle.
    _SegmentNorm("hand", ("{side}_hand",), ("{side}_fingers",), 0.0495, 0.06),
    # 0.296 and 0.288, middle of the hips to middle of the shoulders.
    _SegmentNorm(
        "trunk", ("left_thigh", "right_thigh"), ("left_upper_arm", "right_upper_arm"), 0.292, 0.04
    ),
    # Drillis & Contini 0.259 from side to side, less half a humeral head and its muscle each side.
    _SegmentNorm("shoulders", _SHOULDERS[:1], _SHOULDERS[1:], 0.215, 0.075),
    # Drillis & Contini 0.191 from side to side; joint centres are 0.17 to 0.18 m apart in adults of
    # 1.75 m (Harrington et al. 2007, J. Biomech. 40:595).
    _SegmentNorm("hips", _HIPS[:1], _HIPS[1:], 0.100, 0.08),
)
# Whose scale moves the ends of a segment that belongs to neither side most.
_UNPAIRED_PARTS = {"trunk": "spine_1", "shoulders": "left_clavicle", "hips": "pelvis"}


class SegmentLength(NamedTuple):
    """A length of a figure, beside what adults have."""

    name: str  # of the segment: "left thigh", "trunk"
    bone: str  # whose scale changes it most
    length: float  # between its joint centres [m]
    share: float  # of the figure's stature
    expected: float  # share that adults have, mean
    sd: float  # standard deviation among adults, as a share of the length
    z: float  # how many of these the length is off, longer positive


@dataclass(frozen=True)
class BodyProportions:
    """The bones of a figure as shares of its stature, beside those of adults."""

    stature: float  # that its bones together suggest [m]; not a number without any of them
    # The lengths; empty for a figure that lacks a part of a body, fingers included
    segments: tuple[SegmentLength, ...]

    @property
    def worst(self) -> SegmentLength | None:
        """The segment farthest from what adults have; None without segments."""
        return max(self.segments, key=lambda segment: abs(segment.z), default=None)

    def to_dict(self) -> dict[str, Any]:
        """Return stature and segments as plain numbers, strings, lists and dicts, for JSON."""
        return {
            "stature_m": self.stature if np.isfinite(self.stature) else None,
            "segments": [segment._asdict() for segment in self.segments],
        }

    def __str__(self) -> str:
        """Return a table: segment, length, share of stature, what adults have, z."""
        lines = [f"stature {self.stature:.2f} m", "", "segment            mm  share  adults      z"]
        for s in self.segments:
            lines.append(
                f"{s.name:16} {1e3 * s.length:5.0f} {100 * s.share:6.1f} "
                f"{100 * s.expected:5.1f} ± {100 * s.expected * s.sd:3.1f} {s.z:+6.1f}"
            )
        return "\n".join(lines)


def compare_with_anthropometry(skeleton: Skeleton) -> BodyProportions:
    """Compare the lengths of a figure with those of adults.

    Lengths are those between joint centres in the neutral pose. Children have other shares: their
    legs are shorter. Without all parts of a body (an animal, a robot) there is nothing to compare.
    """
    lengths = _measure_segments(skeleton)
    if lengths is None:
        return BodyProportions(stature=np.nan, segments=())
    statures = np.array([length / segment.share for _, _, length, segment in lengths])
    weights = np.array([1.0 / segment.sd for *_, segment in lengths])
    stature = _weighted_median(statures, weights)
    return BodyProportions(
        stature=stature,
        segments=tuple(
            SegmentLength(
                name=name,
                bone=bone,
                length=length,
                share=length / stature,
                expected=segment.share,
                sd=segment.sd,
                z=float(np.log(length / (segment.share * stature)) / segment.sd),
            )
            for name, bone, length, segment in lengths
        ),
    )


def _measure_segments(skeleton: Skeleton) -> list[tuple[str, str, float, _SegmentNorm]] | None:
    """Return name, bone, length [m] and expectation of each segment; None if a part is missing."""
    body, positions = describe_body(skeleton), skeleton.forward(skeleton.neutral()).positions
    starts = dict(body.others) | {name: part.start for name, part in body.parts.items()}
    lengths = []
    for segment in _SEGMENTS:
        is_paired = "{side}" in segment.start[0]
        for side in SIDES if is_paired else ("",):
            start, end = ([p.format(side=side) for p in s] for s in (segment.start, segment.end))
            part = start[0] if is_paired else _UNPAIRED_PARTS[segment.name]
            if not {*start, *end, part} <= starts.keys():
                return None
            centers = [
                positions[[skeleton.bone_index(starts[part]) for part in parts]].mean(axis=0)
                for parts in (start, end)
            ]
            length = max(float(np.linalg.norm(centers[1] - centers[0])), MIN_LENGTH)
            lengths.append((f"{side} {segment.name}".strip(), starts[part], length, segment))
    return lengths


def _weighted_median(values: Array, weights: Array) -> float:
    order = np.argsort(values)
    reached = np.cumsum(weights[order]) >= 0.5 * weights.sum()
    return float(values[order][int(np.argmax(reached))])
