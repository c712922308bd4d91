"""Widgets for recorded markers: labels, trails, the chosen marker in words and as a curve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from exactik.model.motion import Segment
from exactik.studio.viewer.page.widgets import escape_markdown, on_value
from exactik.studio.viewer.recording._curve import QUANTITIES, MarkerCurve
from exactik.studio.viewer.recording._overview import RecordingOverview
from exactik.studio.viewer.recording._scene import (
    CLICK_PIXELS,
    LABELS,
    RecordingScene,
    find_marker_at,
)
from exactik.typing import Array

TRAILS_S = {"none": 0.0, "0.25 s": 0.25, "0.5 s": 0.5, "1 s": 1.0, "2 s": 2.0, "5 s": 5.0}
MAX_LISTED = 5  # gaps, suspicions; more are counted
NO_MARKER = "click one"


def describe_marker(overview: RecordingOverview, marker: int, frame: int | None) -> str:
    """Return what is known of a marker, in Markdown: now, its gaps, its suspicions."""
    markers = overview.markers
    lines = [f"**{escape_markdown(markers.names[marker])}**"]
    if overview.unnamed[marker]:
        lines[0] += " (has no name of its own)"
    if overview.computed[marker]:
        lines[0] += " (computed, not measured)"
    place = np.full(3, np.nan) if frame is None else markers.positions[frame, marker]
    if np.isfinite(place).all():
        x, y, z = place
        speed = overview.speeds(marker)[frame]
        moving = f", {speed:.2f} m/s" if np.isfinite(speed) else ""
        lines.append(f"x {x:.3f}, y {y:.3f}, z {z:.3f} m{moving}")
    else:
        lines.append("missing now")
    lines.append(_describe_gaps(overview, marker))
    texts = [one.text for one in overview.suspicions_of(marker)]
    lines += [f"Suspect: {escape_markdown(text)}." for text in texts[:MAX_LISTED]]
    if len(texts) > MAX_LISTED:
        lines.append(f"and {len(texts) - MAX_LISTED} suspicions more")
    return "  \n".join(lines)


def _describe_gaps(overview: RecordingOverview, marker: int) -> str:
    gaps = overview.gaps(marker)
    if len(gaps) == 0:
        return "no gap"
    longest = sorted(gaps, key=lambda gap: -gap.frame_count)[:MAX_LISTED]
    share = 100.0 * float(overview.missing[:, marker].mean())

    def describe(gap: Segment) -> str:
        return overview.format_segment(gap).removeprefix("frames ")

    listed = ", ".join(describe(gap) for gap in sorted(longest))
    more = f" and {len(gaps) - MAX_LISTED} shorter ones" if len(gaps) > MAX_LISTED else ""
    word = "gap" if len(gaps) == 1 else "gaps"
    return f"missing in {share:.1f} % of the frames, {len(gaps)} {word}: {listed}{more}"


class RecordingPanel:
    """Widgets for the markers of a recording."""

    def __init__(
        self, gui: Any, scene: RecordingScene, change: Callable[[Callable[[], object]], None]
    ):
        """Add the widgets to a panel.

        Args:
            change: runs a function between two frames.
        """
        self.scene, self.overview, self._change = scene, scene.overview, change
        names, self._order = self.overview.markers.names, self.overview.order
        self._options = [NO_MARKER, *(names[k] for k in self._order)]
        self._frame: int | None = 0
        with gui.add_folder(f"markers ({len(names)})"):
            self.labels = gui.add_dropdown("labels", LABELS, initial_value=scene.labels)
            self.computed: Any = None
            if self.overview.computed.any() and self.overview.measured.any():
                count = int(self.overview.computed.sum())
                self.computed = gui.add_checkbox(
                    f"computed points ({count})",
                    scene.shows_computed,
                    hint="Such as joint centres: made of markers by software.",
                )
                on_value(
                    self.computed, lambda on: change(lambda: setattr(scene, "shows_computed", on))
                )
            lengths = {seconds: name for name, seconds in TRAILS_S.items()}
            self.trails = gui.add_dropdown(
                "trails", list(TRAILS_S), initial_value=lengths.get(scene.trail_s, "none")
            )
            self.choice = gui.add_dropdown("marker", self._options, initial_value=NO_MARKER)
            self.text = gui.add_markdown("Click a marker to see its name, curve and gaps.")
            self.quantity = gui.add_dropdown("curve of", QUANTITIES, visible=False)
            self.curve = MarkerCurve(gui, self.overview)
        on_value(self.labels, lambda which: change(lambda: setattr(scene, "labels", which)))
        on_value(self.trails, lambda name: change(lambda: scene.set_trails(TRAILS_S[name])))
        on_value(self.choice, self._choose_option, by_page=True)
        on_value(self.quantity, lambda _: self.choose(scene.chosen))

    def _choose_option(self, option: str) -> None:
        chosen = self._options.index(option) - 1
        self.choose(self._order[chosen] if chosen >= 0 else None)

    def choose(self, marker: int | None) -> None:
        """Choose a marker, by its index; None for none."""
        self._change(lambda: self._choose(marker))

    def _choose(self, marker: int | None) -> None:
        self.scene.chosen = marker
        names = self.overview.markers.names
        self.choice.value = NO_MARKER if marker is None else names[marker]
        self.quantity.visible = marker is not None
        self.curve.choose(marker, self.quantity.value)
        self.show(self._frame)

    def click(self, event: Any, places: Array) -> None:
        """Choose the marker under a click, if there is one.

        Args:
            places: of the markers where they are drawn [m, world], (M, 3).
        """
        camera = event.client.camera
        pixel = float(camera.fov) / max(float(camera.image_height), 1.0)
        origin, direction = np.array(event.ray_origin), np.array(event.ray_direction)
        marker = find_marker_at(places, origin, direction, CLICK_PIXELS * pixel)
        if marker is not None:
            self.choose(marker)

    def show(self, frame: int | None) -> None:
        """Describe the chosen marker in a frame of the recording."""
        self._frame = frame
        if self.scene.chosen is not None:
            self.text.content = describe_marker(self.overview, self.scene.chosen, frame)
            if frame is not None:
                self.curve.show(frame)
