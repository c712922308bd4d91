"""The solved figure and its markers as a scene for the player; frames that readers are sent to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from exactik.model.motion import Markers
from exactik.studio.player.page import NOTEBOOK_BYTES, lay_out_card, render_player_frame
from exactik.studio.player.scene import (
    MAX_MOTION_BYTES,
    PlayerScene,
    carry_quality,
    compose_scene,
)
from exactik.studio.report._headline import format_millimetres, format_share
from exactik.studio.report._summary import (
    find_missing,
    find_recorded_columns,
)
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.recordings.tracking import Track


Facts = Mapping[str, Any]

MAX_FINDINGS = 3  # that a notebook names
# Bytes of poses and markers before compression: 1.6 MB up to five minutes at 120 Hz, more of longer
# recordings, whose curves take more too: an hour of 41 markers is shown at 2.5 Hz, in 2 MB of text.
MOTION_BYTES_PER_FRAME, MAX_LONG_BYTES = 45, 4_000_000


class FrameFinder:
    """Which frame of a stretch to look at: that of its largest error."""

    def __init__(self, track: Track):
        """Take the errors of a track."""
        self._most: Array = np.nan_to_num(track.frame_errors[1], nan=-1.0)

    def __call__(self, first: int, last: int) -> int:
        """Return the frame between the first and the last one, with both."""
        return int(first + np.argmax(self._most[first : last + 1]))


def compose_track_scene(track: Track, find_frame: FrameFinder, summary: Facts) -> PlayerScene:
    """Return the scene of a track: markers as they were solved, the worst frame first."""
    wanted = {find_frame(first, last) for first, last in _list_stretches(summary)}
    scene = compose_scene(
        track.motion,
        markers=_used_markers(track),
        marker_points=track.marker_points,
        wanted=sorted(wanted),
        first=find_frame(0, len(track) - 1),
        others=_find_others(track),
        max_bytes=min(max(MAX_MOTION_BYTES, MOTION_BYTES_PER_FRAME * len(track)), MAX_LONG_BYTES),
    )
    quality = carry_quality(track.skeleton, track.joint_quality[scene.frames])
    return replace(scene, quality=quality)


def render_track_card(track: Track) -> str:
    """Return what a notebook shows of a track: verdict, facts, and a player."""
    find_frame = FrameFinder(track)
    seen = track.marker_errors[np.isfinite(track.marker_errors)]
    worst = find_frame(0, len(track) - 1)
    missing = format_share(float(find_missing(track).mean()))
    facts = [
        ("frames", f"{len(track)} at {track.markers.rate:g} Hz"),
        ("markers", f"{len(track.names)}, {missing} missing"),
        ("mean error", format_millimetres(1e3 * track.mean_error if len(seen) > 0 else None)),
        ("solver", f"{track.solver}, {track.seconds:.2g} s"),
    ]
    if len(seen) > 0:
        m = int(np.nanargmax(track.marker_errors[worst]))
        error = format_millimetres(1e3 * float(track.marker_errors[worst, m]))
        number = worst + track.markers.first_frame
        facts.append(("worst", f"{error}, {track.names[m]} in frame {number}"))
    for n, segment in enumerate(track.attention[:MAX_FINDINGS]):
        first, last = (t + track.markers.first_frame for t in (segment.first, segment.last))
        frames = f"{first}–{last}: {segment.text}"
        facts.append(("needs a look" if n == 0 else "", frames))
    scene = compose_scene(
        track.motion,
        markers=_used_markers(track),
        marker_points=track.marker_points,
        wanted=[find_frame(a.first, a.last) for a in track.attention[:MAX_FINDINGS]],
        first=worst,
        max_bytes=NOTEBOOK_BYTES,
    )
    title = f"Track of {track.skeleton.name}"
    return lay_out_card(title, facts, render_player_frame(scene), str(track.verdict))


def _used_markers(track: Track) -> Markers:
    """Return the markers as they were solved, without what was left out."""
    places = np.where(np.isfinite(track.marker_errors)[:, :, None], track.solved_positions, np.nan)
    return Markers(places, track.names, track.markers.rate)


def _find_others(track: Track) -> Markers:
    """Return what else was measured: markers that are not used, and force plates."""
    recorded = track.markers
    used = set(find_recorded_columns(track))
    names = [
        name
        for m, name in enumerate(recorded.names)
        if m not in used and name not in recorded.computed
    ]
    columns = [recorded.names.index(name) for name in names]
    return Markers(
        recorded.positions[:, columns],
        tuple(names),
        recorded.rate,
        force_plates=recorded.force_plates,
    )


def _list_stretches(summary: Facts) -> Iterator[tuple[int, int]]:
    for key in ("attention", "swaps"):
        for stretch in summary[key]:
            yield stretch["first"], stretch["last"]
