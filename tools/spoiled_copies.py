"""Recordings spoiled on purpose, in ways that happen in laboratories; no copy may be called good.

Each fault takes a recording and a random generator and returns a copy, or None where the recording
does not have what the fault needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from exactik.anatomy import find_mirrored_name
from exactik.model.motion import Markers
from exactik.recordings.diagnosis import RecordingContext

__all__ = ["FAULTS", "MIRRORING_FAULTS", "Fault"]

TRIAL_DISTANCE = 0.15
"""[m] from where a person stood in another trial: nobody steps on the same spot twice. Without it a
leg of someone who stands still would be the leg of the same trial."""

DELAYS = (0.1, 0.3)  # [s] by which the markers of a limb come late
MIN_DELAYED_WAY = 0.02  # [m] rms that its markers go in that time: else nothing is spoiled
LIMBS = (("thigh", "shin", "foot", "toes"), ("upper_arm", "forearm", "wrist", "hand", "fingers"))
PERMUTED_NAMES = 5

STRAY_DISTANCE = 0.1  # [m] of a marker from its place: as far as the next one, or a reflection
STRAY_SECONDS = 0.4  # [s] for which it strays: a sixth of a copy

Fault = Callable[[Markers, RecordingContext, np.random.Generator], Markers | None]


def shuffle_labels(
    markers: Markers, context: RecordingContext, rng: np.random.Generator
) -> Markers | None:
    """All names in use go round in a random circle: no marker keeps its own."""
    return _move_names(markers, _used_names(context), rng)


def shuffle_some_labels(
    markers: Markers, context: RecordingContext, rng: np.random.Generator
) -> Markers | None:
    """A third of the names in use do."""
    used = _used_names(context)
    chosen = rng.permutation(used)[: max(len(used) // 3, 3)].tolist()
    return _move_names(markers, chosen, rng)


def drop_half(
    markers: Markers, context: RecordingContext, rng: np.random.Generator
) -> Markers | None:
    """Half of the markers in use are gone, and whatever was not in use."""
    used = _used_names(context)
    kept = set(rng.permutation(used)[: (len(used) + 1) // 2].tolist())
    return markers.chosen([name for name in markers.names if name in kept])


def swap_axes(
    markers: Markers, context: RecordingContext, rng: np.random.Generator
) -> Markers | None:
    """Two axes are exchanged: the world is seen in a mirror."""
    a, b = rng.permutation(3)[:2]
    order = [0, 1, 2]
    order[a], order[b] = order[b], order[a]
    return replace(markers, positions=markers.positions[:, :, order])


def mistake_unit(
    markers: Markers, context: RecordingContext, rng: np.random.Generator
) -> Markers | None:
    """Lengths are a thousand times too large, or too small."""
    factor = 1e3 if rng.random() < 0.5 else 1e-3
    return replace(markers, positions=markers.positions * factor)


def exchange_sides(
    markers: Markers, context: RecordingContext, rng: np.random.Generator
) -> Markers | None:
    """What is called left is right."""
    partners = {}
    for name in _used_names(context):
        partner = find_partner(name, markers.names)
        if partner is not None:
            partners[name] = partner
    if len(partners) < 6:
        return None
    return markers.renamed({name: partners[name] for name in partners if name in partners.values()})


def take_leg_from_elsewhere(
    markers: Markers, context: RecordingContext, rng: np.random.Generator
) -> Markers | None:
    """One leg's markers are those of another trial: the same motion, later and beside it."""
    side = "l" if rng.random() < 0.5 else "r"
    leg = _limb_names(context, side, LIMBS[0])
    if len(leg) < 3 or len(markers) < 40:
        return None
    positions = np.array(markers.positions)
    columns = [markers.names.index(name) for name in leg]
    shift = len(markers) // 2
    direction = rng.normal(size=3)
    beside = TRIAL_DISTANCE * direction / np.linalg.norm(direction)
    positions[:, columns] = np.roll(positions[:, columns], shift, axis=0) + beside
    return replace(markers, positions=positions)


def let_marker_stray(
    markers: Markers, context: RecordingContext, rng: np.random.Generator
) -> Markers | None:
    """A marker is beside itself for a while: another point was taken for it."""
    column = markers.names.index(str(rng.choice(_used_names(context))))
    count = max(round(STRAY_SECONDS * markers.rate), 1)
    seen = np.flatnonzero(np.isfinite(markers.positions[:, column, 0]))
    if len(seen) < 2 * count:
        return None
    begin = int(rng.integers(len(seen) - count + 1))
    direction = rng.normal(size=3)
    positions = np.array(markers.positions)
    stray = STRAY_DISTANCE * direction / np.linalg.norm(direction)
    positions[seen[begin : begin + count], column] += stray
    return replace(markers, positions=positions)


def permute_some_labels(
    markers: Markers, context: RecordingContext, rng: np.random.Generator
) -> Markers | None:
    """Five names in use go round."""
    chosen = rng.permutation(_used_names(context))[:PERMUTED_NAMES].tolist()
    return _move_names(markers, chosen, rng) if len(chosen) == PERMUTED_NAMES else None


def delay_limb(
    markers: Markers, context: RecordingContext, rng: np.random.Generator
) -> Markers | None:
    """The markers of a leg or an arm come late."""
    names = _limb_names(context, str(rng.choice(["l", "r"])), LIMBS[int(rng.integers(2))])
    delay = max(round(float(rng.uniform(*DELAYS)) * markers.rate), 1)
    if len(names) < 3 or len(markers) <= delay:
        return None
    positions = np.array(markers.positions)
    columns = [markers.names.index(name) for name in names]
    late = np.maximum(np.arange(len(markers)) - delay, 0)
    moved = positions[late][:, columns]
    way = np.linalg.norm(moved - positions[:, columns], axis=2)
    if not np.nanmean(way**2) > MIN_DELAYED_WAY**2:
        return None
    positions[:, columns] = moved
    return replace(markers, positions=positions)


def _limb_names(context: RecordingContext, side: str, parts: tuple[str, ...]) -> list[str]:
    """Return the recorded names of the markers of a limb that are in use."""
    bones = {f"{side}_{part}" for part in parts}
    return [use.name for use in context.uses if use.bone in bones]


def find_partner(name: str, names: tuple[str, ...]) -> str | None:
    """Return the name of the same marker on the other side, if there is one."""
    return find_mirrored_name(name, names)


def _used_names(context: RecordingContext) -> list[str]:
    return [use.name for use in context.uses if use.marker is not None]


def _move_names(markers: Markers, names: list[str], rng: np.random.Generator) -> Markers | None:
    if len(names) < 3:
        return None
    order = rng.permutation(names).tolist()
    return markers.renamed(dict(zip(order, [*order[1:], order[0]], strict=True)))


FAULTS: dict[str, Fault] = {
    "labels shuffled": shuffle_labels,
    "a third of the labels shuffled": shuffle_some_labels,
    "half of the markers gone": drop_half,
    "axes swapped": swap_axes,
    "unit wrong by 1,000": mistake_unit,
    "left and right exchanged": exchange_sides,
    "one leg from elsewhere": take_leg_from_elsewhere,
    "a marker strays for 0.4 s": let_marker_stray,
    "a limb comes late": delay_limb,
    "five names permuted": permute_some_labels,
}

MIRRORING_FAULTS = ("axes swapped", "left and right exchanged")
"""What cannot be seen on a set that has no handedness: clusters named after their bones."""
