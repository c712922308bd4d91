"""Recorded markers beside their places on the figure at rest."""

from __future__ import annotations

from collections.abc import Mapping

from exactik.model import Skeleton
from exactik.model.motion import Markers, choose_even_frames
from exactik.typing import Array


def pair_with_rest(
    markers: Markers, skeleton: Skeleton, names: Mapping[str, str], max_frames: int
) -> tuple[Array, Array]:
    """Return where known markers are in a recording, and where they are on the figure at rest.

    Args:
        skeleton: the figure, with markers.
        names: recorded name → the skeleton's, of the markers that are known.
        max_frames: of the recording, spread over it.

    Returns:
        Places in the recording, in its axes and unit, (T, M, 3), and in the neutral pose [m, world
        of the skeleton], (M, 3); in the order of the recording.
    """
    known = [name for name in markers.names if name in names]
    frames = choose_even_frames(len(markers), max_frames)
    columns = [markers.names.index(name) for name in known]
    rest = skeleton.forward(skeleton.neutral()).markers
    rows = [list(skeleton.markers).index(names[name]) for name in known]
    return markers.positions[frames][:, columns], rest[rows]
