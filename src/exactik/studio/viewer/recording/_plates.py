"""Force plates of a recording: their surfaces, and the ground reaction as an arrow."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactik.model.motion import Markers, sample_reactions
from exactik.studio.player.plates import METRES_PER_NEWTON
from exactik.studio.viewer.page.colours import FORCE_COLOUR, srgb_to_linear

SURFACE_COLOUR, SURFACE_OPACITY = (128, 136, 148), 0.35
EDGE_PIXELS = 1.5  # width of the edges
ABOVE_FLOOR = 2e-3  # [m] by which surfaces are drawn above where they are: the floor is there too
SHAFT_RADIUS, HEAD_RADIUS, HEAD_LENGTH = 0.008, 0.02, 0.06  # [m] of arrows


class PlateScene:
    """Surfaces and arrows of all plates.

    Attributes:
        node: parent of all, to hide them.
    """

    def __init__(self, server: Any, markers: Markers, below: str = ""):
        """Add the plates of a recording to the scene, below a node; arrows are set by `draw`."""
        scene, name = server.scene, f"{below}/plates"
        self.node = scene.add_frame(name, show_axes=False)
        self.reactions = [sample_reactions(plate, markers) for plate in markers.force_plates]
        self._arrows = []
        for k, plate in enumerate(markers.force_plates):
            corners = plate.corners + np.array([0.0, 0.0, ABOVE_FLOOR])
            scene.add_mesh_simple(
                f"{name}/{k}/surface",
                corners.astype(np.float32),
                np.array([(0, 1, 2), (0, 2, 3)], dtype=np.uint32),
                color=SURFACE_COLOUR,
                opacity=SURFACE_OPACITY,
                side="double",
                cast_shadow=False,
                receive_shadow=False,
            )
            scene.add_line_segments(
                f"{name}/{k}/edges",
                np.stack([corners, np.roll(corners, -1, axis=0)], axis=1).astype(np.float32),
                SURFACE_COLOUR,
                thickness=EDGE_PIXELS,
                thickness_units="screen",
            )
            arrow = scene.add_arrows(
                f"{name}/{k}/force",
                np.array([[(0.0, 0.0, 0.0), (0.0, 0.0, 1.0)]], dtype=np.float32),
                srgb_to_linear(FORCE_COLOUR),
                shaft_radius=SHAFT_RADIUS,
                head_radius=HEAD_RADIUS,
                head_length=HEAD_LENGTH,
                visible=False,
            )
            self._arrows.append(arrow)

    def draw(self, frame: int | None) -> None:
        """Show the forces of a frame of the recording, None outside of it."""
        for arrow, reaction in zip(self._arrows, self.reactions, strict=True):
            ends = np.full((2, 3), np.nan)
            if frame is not None:
                place, force = reaction.places[frame], reaction.forces[frame]
                ends = np.stack([place, place + METRES_PER_NEWTON * force])
            loaded = bool(np.isfinite(ends).all())
            if arrow.visible != loaded:
                arrow.visible = loaded
            if loaded:
                arrow.points = ends[None].astype(np.float32)

    def describe(self, frame: int | None) -> str:
        """Return the forces of a frame in words; empty where nothing is on any plate."""
        if frame is None:
            return ""
        loads = [
            (k + 1, float(np.linalg.norm(reaction.forces[frame])))
            for k, reaction in enumerate(self.reactions)
            if np.isfinite(reaction.places[frame]).all()
        ]
        return ", ".join(f"plate {k}: {newtons:.0f} N" for k, newtons in loads)
