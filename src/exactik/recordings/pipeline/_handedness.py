"""Whether a recording is a mirror image of a person, or has left and right exchanged.

Four markers that are not in a plane have a handedness, the sign of the volume

    V = (p₂ − p₁) · ((p₃ − p₁) × (p₄ − p₁))

which no movement of a rigid body changes and every mirror does. Exchanged names of left and right
do the same, since a body is its own mirror image. Volumes of markers on a bone and its neighbours
are compared with those of the figure at rest, so that a fit that hides the fault by moving markers
has no say.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from exactik.model import Skeleton
from exactik.model.motion import Markers
from exactik.recordings.pipeline._units import pair_with_rest
from exactik.typing import Array, IntArray

MAX_FRAMES = 25  # looked at, spread over the recording
MAX_QUADRUPLES = 150  # of a bone and its neighbours, chosen by their volume at rest
MIN_VOLUME = 2e-5
"""[m³, of a figure of 1.75 m] at rest, below which four markers are as good as in a plane: a box of
3 × 3 × 2 cm. Markers are placed by hand, within 1 to 2 cm."""
MIN_QUADRUPLES = 10  # that must be seen to say anything


def measure_handedness(
    markers: Markers, skeleton: Skeleton, names: Mapping[str, str]
) -> float | None:
    """Return how far the volumes between markers have the signs of the figure's, from −1 to 1.

    1 if all have, −1 if none has: a mirror image; None if the markers are too few, or in a plane,
    so that it cannot be told.

    Args:
        skeleton: the figure before it is fitted, with markers where their names say.
        names: recorded name → the skeleton's.
    """
    known = [name for name in markers.names if name in names]
    places, at_rest = pair_with_rest(markers, skeleton, names, MAX_FRAMES)
    quadruples = _choose_quadruples(skeleton, [names[name] for name in known], at_rest)
    if len(quadruples) == 0:
        return None
    recorded = _compute_volumes(places, quadruples)
    expected = _compute_volumes(at_rest[None], quadruples)
    seen = np.isfinite(recorded)
    if seen.any(axis=0).sum() < MIN_QUADRUPLES:
        return None
    # Cube roots: lengths, so that a few large volumes do not outvote all others.
    votes = np.where(seen, np.cbrt(np.where(seen, recorded, 0.0)), 0.0) * np.cbrt(expected)
    total = float(np.abs(votes).sum())
    return float(votes.sum()) / total if total > 0.0 else None


def _choose_quadruples(skeleton: Skeleton, markers: list[str], at_rest: Array) -> IntArray:
    """Return indices of four markers each, (n, 4), on a bone and its neighbours, not in a plane."""
    bones = [skeleton.marker(name)[0] for name in markers]
    parents = {bone.name: bone.parent for bone in skeleton.bones}
    chosen: set[tuple[int, ...]] = set()
    for bone in skeleton.bones:
        near = {bone.name, bone.parent} | {
            c for c, parent in parents.items() if parent == bone.name
        }
        members = [k for k, name in enumerate(bones) if name in near]
        if len(members) < 4:
            continue
        groups = np.array(list(combinations(members, 4)))
        volumes = np.abs(_compute_volumes(at_rest[None], groups)[0])
        largest = np.argsort(-volumes)[:MAX_QUADRUPLES]
        chosen |= {tuple(groups[k].tolist()) for k in largest if volumes[k] >= MIN_VOLUME}
    return np.array(sorted(chosen), dtype=np.int64).reshape(-1, 4)


def _compute_volumes(places: Array, quadruples: IntArray) -> Array:
    """Return the signed volumes that four points each span [m³], (T, n).

    Args:
        places: of the markers [m], (T, M, 3).
        quadruples: indices of four markers each, (n, 4).
    """
    p = places[:, quadruples]
    a, b, c = p[:, :, 1] - p[:, :, 0], p[:, :, 2] - p[:, :, 0], p[:, :, 3] - p[:, :, 0]
    return np.einsum("tni,tni->tn", a, np.cross(b, c))
