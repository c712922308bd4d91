"""What goes wrong with recordings in laboratories, for the campaign.

A fault takes a take and a random generator, and returns its markers spoiled, or None where the take
does not have what the fault needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from exactik.model.motion import Markers
from exactik.typing import Array

__all__ = ["FAULTS", "Fault", "Take"]


class Take(NamedTuple):
    """A recording and what is known of it.

    Attributes:
        markers: the recording.
        bones: that each marker is on, (M,).
        rotations: R_world_bone of these, (T, M, 3, 3).
    """

    markers: Markers
    bones: tuple[str, ...]
    rotations: Array


Fault = Callable[[Take, np.random.Generator], Markers | None]

LIMBS = (("thigh", "shin", "foot", "toes"), ("upper_arm", "forearm", "wrist", "hand", "fingers"))


def swap_pairs(take: Take, rng: np.random.Generator) -> Markers | None:
    """Two near markers change places for 0.3 to 1.2 s, twice."""
    positions = np.array(take.markers.positions)
    for _ in range(2):
        column, other = _find_near_pair(positions, rng)
        frames = _draw_stretch(take.markers, rng, 0.3, 1.2)
        positions[frames, [column, other]] = positions[frames, [other, column]]
    return replace(take.markers, positions=positions)


def throw_samples(take: Take, rng: np.random.Generator) -> Markers | None:
    """Five samples in a hundred are 10 to 50 cm away."""
    positions = np.array(take.markers.positions)
    thrown = rng.random(positions.shape[:2]) < 0.05
    positions[thrown] += _draw_vectors(rng, int(thrown.sum()), 0.1, 0.5)
    return replace(take.markers, positions=positions)


def shift_marker(take: Take, rng: np.random.Generator) -> Markers | None:
    """A marker is knocked: from some frame on it sits 3 to 8 cm elsewhere on its bone."""
    column = int(rng.integers(len(take.markers.names)))
    positions = np.array(take.markers.positions)
    start = round(len(take.markers) * float(rng.uniform(0.2, 0.7)))
    vector = _draw_vectors(rng, 1, 0.03, 0.08)[0]
    positions[start:, column] += take.rotations[start:, column] @ vector
    return replace(take.markers, positions=positions)


def follow_ghost(take: Take, rng: np.random.Generator) -> Markers | None:
    """A reflection that stands still is taken for a marker for 0.4 to 1.5 s, four others appear."""
    column = int(rng.integers(len(take.markers.names)))
    frames = _draw_stretch(take.markers, rng, 0.4, 1.5)
    positions = np.array(take.markers.positions)
    positions[frames, column] = positions[frames.start, column] + _draw_vectors(rng, 1, 0.05, 0.2)
    ghosts = np.full((len(take.markers), 4, 3), np.nan)
    middle = np.nanmean(positions, axis=(0, 1))
    for k in range(4):
        seen = _draw_stretch(take.markers, rng, 0.2, 2.0)
        ghosts[seen, k] = middle + _draw_vectors(rng, 1, 0.1, 1.0)
    names = (*take.markers.names, *(f"*{k + 1}" for k in range(4)))
    return replace(take.markers, positions=np.concatenate([positions, ghosts], axis=1), names=names)


def permute_names(take: Take, rng: np.random.Generator) -> Markers | None:
    """Five names go round."""
    return _rotate_names(take.markers, 5, rng)


def mislabel_third(take: Take, rng: np.random.Generator) -> Markers | None:
    """A third of the names go round."""
    return _rotate_names(take.markers, len(take.markers.names) // 3, rng)


def mistake_unit(take: Take, rng: np.random.Generator) -> Markers | None:
    """Lengths are a thousand times too large, or in inches instead of centimetres."""
    factor = float(rng.choice([1e3, 1e-3, 2.54, 1.0 / 2.54]))
    return replace(take.markers, positions=factor * take.markers.positions)


def freeze_marker(take: Take, rng: np.random.Generator) -> Markers | None:
    """A marker stays where it was for 0.5 to 2 s, as gaps are filled by some."""
    column, frames = (
        int(rng.integers(len(take.markers.names))),
        _draw_stretch(take.markers, rng, 0.5, 2.0),
    )
    positions = np.array(take.markers.positions)
    positions[frames, column] = positions[frames.start, column]
    return replace(take.markers, positions=positions)


def drift_marker(take: Take, rng: np.random.Generator) -> Markers | None:
    """A marker comes off: it wanders by 4 to 12 cm over the recording."""
    column = int(rng.integers(len(take.markers.names)))
    positions = np.array(take.markers.positions)
    share = np.linspace(0.0, 1.0, len(take.markers))[:, None]
    vector = _draw_vectors(rng, 1, 0.04, 0.12)[0]
    positions[:, column] += share * (take.rotations[:, column] @ vector)
    return replace(take.markers, positions=positions)


def start_late(take: Take, rng: np.random.Generator) -> Markers | None:
    """The subject enters after a third of the recording, some markers later than others."""
    positions = np.array(take.markers.positions)
    entries = rng.uniform(0.25, 0.4, len(take.markers.names)) * len(take.markers)
    positions[np.arange(len(take.markers))[:, None] < entries] = np.nan
    return replace(take.markers, positions=positions)


def delay_limb(take: Take, rng: np.random.Generator) -> Markers | None:
    """The markers of a leg or an arm are 0.1 to 0.3 s late."""
    columns = _find_columns(take, rng)
    delay = round(float(rng.uniform(0.1, 0.3)) * take.markers.rate)
    if len(columns) < 3:
        return None
    positions = np.array(take.markers.positions)
    late = np.maximum(np.arange(len(take.markers)) - delay, 0)
    positions[:, columns] = positions[late][:, columns]
    return replace(take.markers, positions=positions)


def lose_limb(take: Take, rng: np.random.Generator) -> Markers | None:
    """All markers of an arm or a leg are hidden for 0.5 to 1.5 s."""
    columns = _find_columns(take, rng)
    if len(columns) < 2:
        return None
    positions = np.array(take.markers.positions)
    positions[_draw_stretch(take.markers, rng, 0.5, 1.5), columns] = np.nan
    return replace(take.markers, positions=positions)


def _find_columns(take: Take, rng: np.random.Generator) -> list[int]:
    """Return the markers of a random leg or arm."""
    side, parts = str(rng.choice(["l", "r"])), LIMBS[int(rng.integers(2))]
    bones = {f"{side}_{part}" for part in parts}
    return [k for k, bone in enumerate(take.bones) if bone in bones]


def _draw_vectors(rng: np.random.Generator, count: int, least: float, most: float) -> Array:
    """Return random vectors of lengths between two [m], (count, 3)."""
    vectors = rng.standard_normal((count, 3))
    lengths = rng.uniform(least, most, count)
    return lengths[:, None] * vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _draw_stretch(markers: Markers, rng: np.random.Generator, least: float, most: float) -> slice:
    """Return frames of a length between two [s]."""
    count = min(max(round(float(rng.uniform(least, most)) * markers.rate), 2), len(markers) - 1)
    first = int(rng.integers(len(markers) - count))
    return slice(first, first + count)


def _find_near_pair(positions: Array, rng: np.random.Generator) -> tuple[int, int]:
    """Return a marker and one of the two nearest to it on average."""
    column = int(rng.integers(positions.shape[1]))
    distance = np.linalg.norm(positions - positions[:, column : column + 1], axis=2)
    mean = np.nanmean(np.where(np.isnan(distance), 10.0, distance), axis=0)
    mean[column] = np.inf
    return column, int(rng.choice(np.argsort(mean)[:2]))


def _rotate_names(markers: Markers, count: int, rng: np.random.Generator) -> Markers | None:
    if not 3 <= count <= len(markers.names):
        return None
    order = rng.permutation(markers.names)[:count].tolist()
    return markers.renamed(dict(zip(order, [*order[1:], order[0]], strict=True)))


FAULTS: dict[str, Fault | None] = {
    "none": None,
    "swaps": swap_pairs,
    "thrown samples": throw_samples,
    "shifted marker": shift_marker,
    "ghost": follow_ghost,
    "five names permuted": permute_names,
    "a third of the names wrong": mislabel_third,
    "wrong unit": mistake_unit,
    "frozen marker": freeze_marker,
    "drifting marker": drift_marker,
    "late start": start_late,
    "delayed limb": delay_limb,
    "hidden limb": lose_limb,
}
"""All recordings have noise, moving skin and gaps besides."""
