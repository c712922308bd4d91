"""Widgets of playback: a timeline at the bottom left, choices and words in the panel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from exactik.viewer.playback._error_curve import ErrorCurve
from exactik.viewer.playback._scene import LIMITS, PLAIN, UNCERTAINTY
from exactik.viewer.playback._uncertainty import LEGEND, describe_least_certain

if TYPE_CHECKING:
    from exactik.viewer.playback._app import MotionViewer

__all__ = ["PlayPanel"]

WIDTH = 420  # [pixels] of the timeline: beside the panel in a window of 800
MOST_STOPS = 60
FIRST, BACK, PLAY, ON, LAST = "|◀", "◀", "▶ ❚❚", "▶", "▶|"
NOWHERE = "…"


class PlayPanel:
    """All widgets of a `MotionViewer`.

    Attributes:
        stop: index in the footage's stops that was gone to last, −1 before.
    """

    def __init__(self, viewer: MotionViewer):
        """Add the widgets."""
        self.viewer, self.data, self.stop = viewer, viewer.data, -1
        gui = viewer.server.gui
        gui.configure_theme(show_share_button=False, show_logo=False)
        gui.set_panel_label(self.data.skeleton.name)
        self.text = gui.add_markdown("")
        self._view(gui)
        if len(self.data.bookmarks) > 0:
            self._stops(gui)
        self._export(gui)
        self._timeline(gui)
        self._keys(gui)

    # --- what is shown

    def show(self, frame: int) -> None:
        """Say what a frame is; inside `server.atomic()`, ten times a second at most."""
        self.slider.value = frame
        self.text.content = self.words(frame)
        if self.curve is not None:
            self.curve.show(frame)

    def words(self, frame: int) -> str:
        """Return what there is to say about a frame, in Markdown."""
        playback, scene = self.data, self.viewer.scene
        first = playback.motion.first_frame
        number = f", number {first + frame} in the file" if first != 1 else ""
        seconds = frame / playback.motion.rate
        lines = [f"**Frame {frame}** of {len(playback)}{number}, {seconds:.2f} s"]
        if not playback.present[frame]:
            lines.append("There is no pose; the last one before is shown.")
        mean, most = (values[frame] for values in playback.frame_errors)
        if mean == mean:
            worst = playback.names[int(np.nanargmax(playback.errors[frame]))]
            lines.append(f"Markers {1e3 * mean:.1f} mm off, worst {worst} {1e3 * most:.1f} mm")
        elif playback.recorded is not None and len(playback.names) == 0:
            lines.append("The skeleton has none of the recorded markers: no residuals.")
        if playback.track is not None:
            lines.append(f"Status: {playback.track.status[frame]}")
        at = scene.limits.named(playback.skeleton)
        if len(at) > 0:
            more = f" and {len(at) - 3} more" if len(at) > 3 else ""
            lines.append(f"At a limit: {', '.join(at[:3])}{more}")
        if scene.deviation is not None:
            lines.append(f"Least certain: {describe_least_certain(playback.skeleton, scene.deviation)}")
        return "  \n".join(lines)

    # --- widgets

    def _view(self, gui: Any) -> None:
        scene, viewer = self.viewer.scene, self.viewer
        by = [LIMITS, *([UNCERTAINTY] if self.data.knows_deviations else []), PLAIN]
        self.colouring = gui.add_dropdown("colour by", by, initial_value=LIMITS, hint=LEGEND)
        self._legend = gui.add_markdown("", visible=False)

        @self.colouring.on_update
        async def _(_: Any) -> None:
            self._legend.content = LEGEND
            self._legend.visible = self.colouring.value == UNCERTAINTY
            viewer.change(lambda: scene.colour_by(self.colouring.value))

        self.toggles: dict[str, Any] = {}
        follow = scene.follows
        self._toggle(gui, "follow", lambda on: setattr(scene, "follows", on), follow)
        nodes = [
            ("markers", scene.markers.model),
            ("measured", scene.markers.measured),
            ("residuals", scene.markers.residuals),
        ]
        for name, node in nodes:
            if node is not None:
                self._toggle(gui, name, lambda on, node=node: setattr(node, "visible", on))
        if scene.markers.residuals is not None:
            self.exaggeration = gui.add_slider("residuals ×", 1, 20, 1, 1)

            @self.exaggeration.on_update
            async def _(_: Any) -> None:
                factor = float(self.exaggeration.value)
                viewer.change(lambda: setattr(scene.markers, "exaggeration", factor))

        if len(scene.ghosts) > 0:

            def want(on: bool) -> None:
                for ghost in scene.ghosts:
                    ghost.wanted = on

            self._toggle(gui, "ghost", want)
            self.aside = gui.add_slider("ghost aside [m]", -2.0, 2.0, 0.05, 0.0)

            @self.aside.on_update
            async def _(_: Any) -> None:
                metres = float(self.aside.value)
                viewer.change(lambda: [ghost.put_aside(metres) for ghost in scene.ghosts])

    def _toggle(self, gui: Any, name: str, do: Any, on: bool = True) -> None:
        box = self.toggles[name] = gui.add_checkbox(name, on)

        @box.on_update
        async def _(_: Any) -> None:
            on = bool(box.value)
            self.viewer.change(lambda: do(on))

    def _stops(self, gui: Any) -> None:
        stops = self.data.bookmarks[:MOST_STOPS]
        rate = self.data.motion.rate
        options = [f"{n + 1}. {s.title}, {s.frame / rate:.2f} s" for n, s in enumerate(stops)]
        with gui.add_folder(f"worst frames ({len(self.data.bookmarks)})"):
            self.walk = gui.add_button_group("", ("previous worst", "next worst"))
            self.list = gui.add_dropdown("go to", [NOWHERE, *options], initial_value=NOWHERE)
            self.reason = gui.add_markdown("")

        def go(k: int) -> None:
            self.stop = k % len(stops)
            stop = stops[self.stop]
            self.viewer.play(False)
            self.viewer.seek(stop.frame)
            self.list.value = options[self.stop]
            self.reason.content = stop.text

        @self.walk.on_click
        async def _(event: Any) -> None:
            forward = event.target.value == "next worst"
            go(self.stop + 1 if forward else max(self.stop, 0) - 1)

        @self.list.on_update
        async def _(event: Any) -> None:
            if event.client is not None and self.list.value != NOWHERE:
                go(options.index(self.list.value))

    def _export(self, gui: Any) -> None:
        with gui.add_folder("export", expand_by_default=False):
            self.exports = gui.add_button_group("", ("HTML", "GLB"), hint="downloaded by the page")
            self.progress = gui.add_progress_bar(0.0, visible=False)

        @self.exports.on_click
        def _(event: Any) -> None:  # in a thread of its own: it takes a while
            self.viewer.send(f".{event.target.value.lower()}", event.client)

    def _timeline(self, gui: Any) -> None:
        viewer, transport = self.viewer, self.viewer.transport
        self.window = gui.add_panel()
        with self.window.add_tab("timeline"):
            self.slider = gui.add_slider("frame", 0, max(transport.last, 1), 1, 0)
            self.buttons = gui.add_button_group("", (FIRST, BACK, PLAY, ON, LAST))
            self.curve = None
            if len(self.data.names) > 0:
                self.curve = ErrorCurve(viewer.server, self.data)
        with self.window.add_tab("speed"):
            self.speed = gui.add_slider("speed ×", 0.1, 4.0, 0.1, 1.0)
            self.loop = gui.add_checkbox("again and again", True)
        self.window.float(x=15, y=-15, width=WIDTH)

        @self.slider.on_update
        async def _(event: Any) -> None:
            if event.client is not None:
                viewer.play(False)
                viewer.seek(int(self.slider.value))

        @self.buttons.on_click
        async def _(event: Any) -> None:
            self.press(event.target.value)

        @self.speed.on_update
        async def _(_: Any) -> None:
            transport.speed = float(self.speed.value)

        @self.loop.on_update
        async def _(_: Any) -> None:
            transport.loop = bool(self.loop.value)

    def press(self, button: str) -> None:
        """Do what a button of the timeline does."""
        viewer, transport = self.viewer, self.viewer.transport
        if button == PLAY:
            viewer.play(not transport.playing)
        elif button in (BACK, ON):
            viewer.step(1 if button == ON else -1)
        else:
            viewer.seek(0 if button == FIRST else transport.last)

    def _keys(self, gui: Any) -> None:
        keys = {
            "Play or pause": ("space", PLAY),
            "One frame back": ("arrowleft", BACK),
            "One frame on": ("arrowright", ON),
            "To the first frame": ("home", FIRST),
            "To the last frame": ("end", LAST),
        }
        for label, (key, button) in keys.items():

            async def press(_: Any, button: str = button) -> None:
                self.press(button)

            gui.add_command(label, hotkey=key).on_trigger(press)
