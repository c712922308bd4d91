"""The solved figure and its markers as a scene for the player; frames that readers are sent to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from exactik.motion import Markers
from exactik.player import PlayerScene, compose_scene
from exactik.report._summary import compute_frame_errors
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.tracking import Track

__all__ = ["FrameFinder", "compose_track_scene"]

Facts = Mapping[str, Any]


class FrameFinder:
    """Which frame of a stretch to look at: that of its largest error."""

    def __init__(self, track: Track):
        """Take the errors of a track."""
        self._most: Array = np.nan_to_num(compute_frame_errors(track)[1], nan=-1.0)

    def __call__(self, first: int, last: int) -> int:
        """Return the frame between the first and the last one, with both."""
        return int(first + np.argmax(self._most[first : last + 1]))


def compose_track_scene(track: Track, find_frame: FrameFinder, summary: Facts) -> PlayerScene:
    """Return the scene of a track: markers as they were solved, the worst frame first."""
    places = np.where(np.isfinite(track.marker_errors)[:, :, None], track.solved_positions, np.nan)
    wanted = {find_frame(first, last) for first, last in _list_stretches(summary)}
    worst = summary["error"]["worst_frame"]
    return compose_scene(
        track.motion,
        markers=Markers(places, track.names, track.markers.rate),
        marker_points=track.marker_points,
        wanted=sorted(wanted),
        first=0 if worst is None else worst,
    )


def _list_stretches(summary: Facts) -> Iterator[tuple[int, int]]:
    for key in ("attention", "swaps", "ghosts", "frozen"):
        for stretch in summary[key]:
            yield stretch["first"], stretch["last"]
