"""What is around a figure: floor, lights and camera, on a light page or a dark one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from exactik.studio.viewer.page.camera import AZIMUTH, VIEWS, Framing
from exactik.studio.viewer.page.widgets import on_value
from exactik.typing import Array

# Lines of the floor and of every fourth, of a light page and of a dark one.
FLOOR_COLOURS = (((226, 229, 234), (200, 205, 213)), ((62, 67, 74), (86, 93, 102)))
# Of the reach, from the camera, where lines of the floor fade to nothing: cameras stand three away,
# and somebody who walks off or zooms out shall not leave the floor.
FLOOR_FADE = 20.0
SUN_AZIMUTH = -0.4  # [rad] from the camera: over its left shoulder, wherever a walker goes


class Surroundings:
    """What is around a figure: the floor, the camera, and whether the page is dark."""

    def __init__(self, server: Any, floor: Any, framing: Framing):
        """Begin with a light page."""
        self.server, self.floor, self.framing = server, floor, framing
        self._listeners: list[Callable[[bool], None]] = []
        self._switch: Any = None
        self.set_dark(False)

    def set_dark(self, dark: bool) -> None:
        """Make the page dark, or light again."""
        self.dark = dark
        if self._switch is not None and self._switch.value != dark:
            self._switch.value = dark
        self.server.gui.configure_theme(show_share_button=False, show_logo=False, dark_mode=dark)
        self.floor.cell_color, self.floor.section_color = FLOOR_COLOURS[dark]
        for listener in self._listeners:
            listener(dark)

    def on_dark(self, listener: Callable[[bool], None]) -> None:
        """Call a function with whether the page is dark, now and whenever that changes."""
        self._listeners.append(listener)
        listener(self.dark)

    def add_widget(self, gui: Any) -> Any:
        """Add a switch to a panel."""
        self._switch = on_value(gui.add_checkbox("dark", self.dark), self.set_dark)
        return self._switch

    def add_views(self, gui: Any, look: Callable[[], Array] | None = None) -> None:
        """Add buttons that show a page from its `VIEWS` to a panel.

        Args:
            look: returns what is to be seen by then [m, world], (n, 3); as at first if None.
        """
        buttons = gui.add_button_group("view", tuple(VIEWS))

        async def show(event: Any) -> None:
            if event.client is not None:
                if look is not None:
                    self.framing.points = look()
                self.framing.aim(event.client, event.target.value)

        buttons.on_click(show)


def set_up_scene(
    server: Any, reach: float, framing: Framing, floor_height: float, floor_name: str = "/floor"
) -> Surroundings:
    """Add floor, lights and camera for a figure.

    No environment map and no shadows: they wash the colours out, and cost most of the frames where
    there is no graphics processor. The panel is docked beside the scene, not above it.

    Args:
        reach: of the figure [m].
        floor_height: of the floor [m].
    """
    server.gui.main_panel.dock_right()
    scene = server.scene
    scene.set_up_direction("+z")
    scene.configure_environment_map(hdri=None)
    scene.configure_default_lights(enabled=False, cast_shadow=False)
    scene.add_light_hemisphere("/sky", ground_color=(130, 125, 120), intensity=2.0)
    azimuth = framing.heading + AZIMUTH + SUN_AZIMUTH
    x, y = np.cos(azimuth), np.sin(azimuth)
    scene.add_light_directional("/sun", intensity=3.4, position=(1.8 * x, 1.8 * y, 2.5))
    reach = reach if reach > 0.0 else 1.0  # of a figure that is one point
    cell = 10.0 ** np.floor(np.log10(0.4 * reach)) * 2.5
    floor = scene.add_grid(
        floor_name,
        cell_size=cell,
        section_size=4.0 * cell,
        infinite_grid=True,
        fade_distance=FLOOR_FADE * reach,
        fade_strength=2.0,
        shadow_opacity=0.0,
        position=(0.0, 0.0, floor_height),
    )
    framing.set_initial(server)
    return Surroundings(server, floor, framing)
