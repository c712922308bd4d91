"""Positions of markers over time, and what force plates measured at those times."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from exactik._arguments import require_names
from exactik._arrays import as_floats, fill_masked, freeze, is_number
from exactik._registry import find
from exactik._text import count_noun
from exactik.errors import ExactikError, ShapeError, UnknownNameError, UsageError
from exactik.model.motion._analog import Analog, ForcePlate
from exactik.model.motion._segments import (
    axes_matrix,
    check_rate,
    check_up_axis,
    compute_resampled_positions,
    permute_axis,
    slice_frames,
)
from exactik.typing import Array, BoolArray

Sampled = TypeVar("Sampled", Analog, ForcePlate)


class Series(NamedTuple):
    """Numbers of a file that are no marker: angles, forces, moments, powers, scalars.

    Attributes:
        kind: "angle", "force", "moment", "power", "scalar" or "other".
        values: (T, 3), not a number where missing, in the unit of the file.
        unit: as the file has it.
    """

    kind: str
    values: Array
    unit: str


@dataclass(frozen=True, eq=False, repr=False)
class Markers:
    """A recording of markers.

    Attributes:
        positions: [m], (T, M, 3), world axes of the file; not a number where missing. Infinite and
            masked entries are taken as missing.
        names: of the markers, (M,), each once: a name that a file has twice becomes "NAME#2".
        rate: frames a second [Hz].
        first_frame: number of the first frame in the file.
        units_in_file: length unit of the file, such as "mm"; positions are in metres whatever it
            was.
        up_axis: "x", "y" or "z" where the file or the user says so, else None.
        source: path of the file.
        others: what the file has besides markers, by name.
        metadata: what else the file says, such as its maker and encoding.
        notes: what is odd about the file, a sentence each.
        computed: names of points that the file itself says are computed from markers.
        analog: channels sampled beside the markers, None without any. They keep their own rate, are
            cut with the frames, and read from the file only when their values are asked for.
        force_plates: what the file has of them, in the world axes of the markers; likewise.
        start_time: of the first frame [s], as the file counts.
    """

    positions: Array
    names: tuple[str, ...]
    rate: float
    first_frame: int = 1
    units_in_file: str = "m"
    up_axis: str | None = None
    source: str = ""
    others: Mapping[str, Series] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    computed: tuple[str, ...] = ()
    analog: Analog | None = None
    force_plates: tuple[ForcePlate, ...] = ()
    start_time: float = 0.0

    def __post_init__(self) -> None:
        """Check shapes; keep arrays read-only."""
        positions = as_floats("positions", fill_masked(self.positions))
        if not isinstance(self.names, Iterable):
            raise UsageError(f"names of markers are {self.names!r}; expected a list of names")
        names = tuple(map(str, self.names))
        if positions.ndim != 3 or positions.shape[1:] != (len(names), 3):
            raise ShapeError(
                f"positions have shape {positions.shape}; expected (T, {len(names)}, 3)"
            )
        if len(set(names)) < len(names):
            raise UsageError("two markers have the same name; names must be unique")
        positions = np.array(positions, dtype=float)
        infinite = np.isinf(positions)
        if infinite.any():
            positions[infinite] = np.nan
            count = int(infinite.any(axis=2).sum())
            note = f"{count_noun(count, 'position is', 'positions are')} infinite: taken as missing"
            object.__setattr__(self, "notes", (*self.notes, note))
        object.__setattr__(self, "positions", freeze(positions))
        object.__setattr__(self, "names", names)
        object.__setattr__(
            self, "computed", tuple(name for name in map(str, self.computed) if name in names)
        )
        object.__setattr__(self, "rate", check_rate(self.rate))
        if self.up_axis is not None:
            object.__setattr__(self, "up_axis", check_up_axis(self.up_axis))
        object.__setattr__(self, "others", MappingProxyType(dict(self.others)))
        object.__setattr__(self, "metadata", MappingProxyType(dict(self.metadata)))

    def __len__(self) -> int:
        """Number of frames."""
        return len(self.positions)

    def __repr__(self) -> str:
        share = 100.0 * float(self.missing.mean()) if self.missing.size > 0 else 0.0
        counts = f"{len(self)} frames at {self.rate:g} Hz, {len(self.names)} markers"
        return f"<Markers: {counts}, {share:.1f} % missing>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: one frame of them, and how many are missing."""
        return find("render_card")(self)

    def __reduce__(self) -> tuple[Any, ...]:
        plain = (dict(self.others), dict(self.metadata), self.notes, self.computed)
        plain += (self.analog, self.force_plates, self.start_time)
        head = (self.positions, self.names, self.rate, self.first_frame)
        return type(self), (*head, self.units_in_file, self.up_axis, self.source, *plain)

    @property
    def times(self) -> Array:
        """Time of each frame [s], as the file counts, (T,)."""
        return self.start_time + np.arange(len(self)) / self.rate

    @property
    def missing(self) -> BoolArray:
        """Where a marker is missing, (T, M)."""
        return np.asarray(np.isnan(self.positions).any(axis=2))

    def marker(self, name: str) -> Array:
        """Return the path of a marker [m], (T, 3)."""
        if name not in self.names:
            raise UnknownNameError("marker", name, self.names)
        return self.positions[:, self.names.index(name)]

    def chosen(self, names: Sequence[str]) -> Markers:
        """Return only these markers, in this order."""
        names = require_names("names", names)
        for name in names:
            self.marker(name)
        index = [self.names.index(name) for name in names]
        positions = np.take(self.positions, index, axis=1)
        return replace(self, positions=positions, names=names)

    def renamed(self, names: Mapping[str, str]) -> Markers:
        """Return the same with other names: old → new; the others keep theirs."""
        for name in names:
            self.marker(name)
        return self._with_names(tuple(names.get(name, name) for name in self.names))

    def without_prefix(self) -> Markers:
        """Return the same with "Subject:" taken off every name where that leaves names unique."""
        bare = tuple(name.rpartition(":")[2] or name for name in self.names)
        return self._with_names(bare) if len(set(bare)) == len(bare) else self

    def _with_names(self, names: tuple[str, ...]) -> Markers:
        new = dict(zip(self.names, names, strict=True))
        return replace(self, names=names, computed=tuple(new[name] for name in self.computed))

    def between(self, start: float | None = None, end: float | None = None) -> Markers:
        """Return the frames from `start` to `end`, both included [s from the first frame]."""
        part = slice_frames(len(self), self.rate, start, end)
        others = {name: s._replace(values=s.values[part]) for name, s in self.others.items()}
        first = self.first_frame + part.start
        return replace(
            self,
            positions=self.positions[part],
            first_frame=first,
            others=others,
            analog=None if self.analog is None else self._cut_samples(self.analog, part),
            force_plates=tuple(self._cut_samples(plate, part) for plate in self.force_plates),
            start_time=self.start_time + part.start / self.rate,
        )

    def _cut_samples(self, sampled: Sampled, frames: slice) -> Sampled:
        """Return the samples that were taken during these frames."""
        samples_per_frame = sampled.rate / self.rate
        first, stop = (round(frame * samples_per_frame) for frame in (frames.start, frames.stop))
        return sampled.cut(first, max(min(stop, len(sampled)), first))

    def scaled(self, factor: float) -> Markers:
        """Return the same with all lengths multiplied; force plates and their moments too.

        Args:
            factor: > 0.
        """
        if not is_number(factor) or not 0.0 < factor < np.inf:
            raise UsageError(f"factor is {factor!r}; it must be a positive number")
        return replace(
            self,
            positions=self.positions * factor,
            force_plates=tuple(plate.scaled(factor) for plate in self.force_plates),
        )

    def resampled(self, rate: float) -> Markers:
        """Return the same at another rate [Hz], linear between frames; gaps stay gaps.

        Analog channels and force plates keep theirs.
        """
        times = compute_resampled_positions(len(self), self.rate, rate)

        def interpolate(values: Array) -> Array:
            low = np.minimum(times.astype(int), max(len(values) - 1, 0))
            high = np.minimum(low + 1, max(len(values) - 1, 0))
            share = (times - low).reshape(-1, *([1] * (values.ndim - 1)))
            is_exact = share < 1e-9  # a gap in the next frame does not touch this one
            between = (1.0 - share) * values[low] + share * values[high]
            return np.where(is_exact, values[low], between)

        others = {n: s._replace(values=interpolate(s.values)) for n, s in self.others.items()}
        return replace(self, positions=interpolate(self.positions), rate=rate, others=others)

    def turned(self, axes: str) -> Markers:
        """Return the same in permuted axes: "YZX" makes the file's y the new x, its z the new y.

        A letter after a minus is turned round: "X-ZY" swaps y up for z up and keeps right-handed.
        Force plates turn with the markers. `others` stay as they are: not all of them are vectors
        in the axes of the world.
        """
        matrix = axes_matrix(axes)
        positions, up = self.positions @ matrix.T, permute_axis(self.up_axis, matrix)
        plates = tuple(plate.turned(matrix) for plate in self.force_plates)
        return replace(self, positions=positions, up_axis=up, force_plates=plates)

    def save(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write to .c3d, .trc, .csv or .npz; see `exactik.io.save_markers`."""
        find("save_markers")(self, path, **options)


class PlateReactions(NamedTuple):
    """What a plate measured at the times of the frames."""

    places: Array  # centre of pressure [m, world], (T, 3); NaN where nothing is on the plate
    forces: Array  # ground reaction [N, world], (T, 3)


def sample_reactions(plate: ForcePlate, markers: Markers) -> PlateReactions:
    """Return the samples of a plate at the times of the frames; nothing where it has none."""
    nothing = np.full((len(markers), 3), np.nan)
    try:
        places, forces = plate.centre_of_pressure, plate.force
    except ExactikError:  # its file has gone
        return PlateReactions(places=nothing, forces=nothing)
    samples = np.rint(np.arange(len(markers)) * plate.rate / markers.rate).astype(np.int64)
    inside = samples < len(places)
    sampled = np.array([nothing, nothing])
    sampled[:, inside] = np.stack([places, forces])[:, samples[inside]]
    return PlateReactions(places=sampled[0], forces=sampled[1])
