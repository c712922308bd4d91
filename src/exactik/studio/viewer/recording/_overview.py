"""What there is to know of a recording before it is solved: gaps, names, suspicions."""

from __future__ import annotations

from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from exactik.anatomy.marker_sets import find_computed_points, find_unnamed, shorten_names
from exactik.model.motion import (
    Markers,
    Segment,
    find_frozen_markers,
    find_segments,
    find_swaps,
)
from exactik.recordings.tracking import find_spikes
from exactik.typing import Array, BoolArray

SuspicionKind = Literal["swap", "frozen", "spike"]


class MarkerSuspicion(NamedTuple):
    """Frames in which a marker looks wrong."""

    kind: SuspicionKind  # of what
    markers: tuple[int, ...]  # indices of those that are concerned
    segment: Segment  # the frames, from 0
    text: str  # the same in words: no capital letter at its beginning but of names, no full stop


class RecordingOverview:
    """Names, gaps and suspicions of a recording; each is found when it is asked for.

    Attributes:
        markers: the recording.
        unnamed: markers without a name of their own, (M,).
        computed: points that software made of markers, such as joint centres, (M,).
        measured: markers with a name of their own, (M,).
        order: indices with the measured markers first, then computed points, then the unnamed.
        labels: short names, without what all have in common, (M,).
        missing: where a marker is missing, (T, M).
    """

    def __init__(self, markers: Markers):
        """Begin with the names."""
        self.markers = markers
        computed = find_computed_points(markers)
        self.computed: BoolArray = np.array([name in computed for name in markers.names], bool)
        self.unnamed: BoolArray = find_unnamed(markers.names) & ~self.computed
        self.measured: BoolArray = ~self.unnamed & ~self.computed
        self.order = np.argsort(self.computed + 2 * self.unnamed, kind="stable").tolist()
        short = shorten_names(markers.names)
        self.labels = tuple(short[name] for name in markers.names)
        self.missing = markers.missing

    def gaps(self, marker: int) -> list[Segment]:
        """Return the segments in which a marker is missing."""
        return find_segments(self.missing[:, marker])

    def speeds(self, marker: int) -> Array:
        """Return the speed of a marker [m/s], (T,): centred; NaN beside gaps and at the ends."""
        path, speed = self.markers.positions[:, marker], np.full(len(self.markers), np.nan)
        steps = path[2:] - path[:-2]
        speed[1:-1] = np.linalg.norm(steps, axis=1) * 0.5 * self.markers.rate
        return speed

    @cached_property
    def suspicions(self) -> tuple[MarkerSuspicion, ...]:
        """All that looks wrong, in order of time."""
        found = [*self._find_swaps(), *self._find_frozen()]
        known = np.zeros(self.missing.shape, dtype=bool)
        for one in found:  # who stands still leaps in the end; that is not another suspicion
            known[one.segment.first : one.segment.last + 2, list(one.markers)] = True
        found += self._find_spikes(known)
        found = [one for one in found if not self.computed[list(one.markers)].any()]
        return tuple(sorted(found, key=lambda one: (one.segment.first, one.markers)))

    def suspicions_of(self, marker: int) -> tuple[MarkerSuspicion, ...]:
        """Return what looks wrong about a marker."""
        return tuple(one for one in self.suspicions if marker in one.markers)

    @cached_property
    def is_suspect(self) -> BoolArray:
        """Where a marker looks wrong, (T, M)."""
        suspect = np.zeros(self.missing.shape, dtype=bool)
        for one in self.suspicions:
            suspect[one.segment.first : one.segment.last + 1, list(one.markers)] = True
        return suspect & ~self.missing

    def format_segment(self, segment: Segment) -> str:
        """Return "frame 7" or "frames 7 to 12", numbered as in the file."""
        first, last = (self.markers.first_frame + frame for frame in segment)
        return f"frame {first}" if first == last else f"frames {first} to {last}"

    def _find_swaps(self) -> list[MarkerSuspicion]:
        suspicions, names = [], self.markers.names
        for swap in find_swaps(self.markers):
            pair, segment = tuple(map(names.index, swap.names)), Segment(swap.first, swap.last)
            a, b = (self.labels[k] for k in pair)
            where = self.format_segment(segment)
            text = f"{a} and {b}, {1e3 * swap.distance:.0f} mm apart, seem to be swapped in {where}"
            suspicions.append(MarkerSuspicion("swap", pair, segment, text))
        return suspicions

    def _find_frozen(self) -> list[MarkerSuspicion]:
        suspicions = []
        for frozen in find_frozen_markers(self.markers):
            k, segment = self.markers.names.index(frozen.name), Segment(frozen.first, frozen.last)
            where = self.format_segment(segment)
            text = f"{self.labels[k]} stands still to the last digit in {where}"
            suspicions.append(MarkerSuspicion("frozen", (k,), segment, text))
        return suspicions

    def _find_spikes(self, known: BoolArray) -> list[MarkerSuspicion]:
        spikes = find_spikes(self.markers.positions, self.markers.rate) & ~known
        suspicions = []
        for k in np.flatnonzero(spikes.any(axis=0)):
            for segment in find_segments(spikes[:, k]):
                text = f"{self.labels[k]} leaps away and back in {self.format_segment(segment)}"
                suspicions.append(MarkerSuspicion("spike", (int(k),), segment, text))
        return suspicions
