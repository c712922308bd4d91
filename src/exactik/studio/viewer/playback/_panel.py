"""Widgets of playback: a timeline at the bottom left, options and texts in the panel."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from exactik._text import join_names
from exactik.errors import ExactikError
from exactik.io.formats import BVH, GLB, NPZ
from exactik.recordings.angles import JointWords
from exactik.studio.viewer.page.camera import WindowSize
from exactik.studio.viewer.page.channel import PageChannel
from exactik.studio.viewer.page.scene import FigureScene, add_look_widget
from exactik.studio.viewer.page.upload import add_open_button, describe_error
from exactik.studio.viewer.page.widgets import add_hotkey, escape_markdown, on_press, on_value
from exactik.studio.viewer.playback._export import REPORT_ENDING
from exactik.studio.viewer.playback._opening import SHOWN_SUFFIXES
from exactik.studio.viewer.playback._residuals import ErrorCurve, draw_legend
from exactik.studio.viewer.playback._scene import LIMITS, PLAIN, QUALITY, UNCERTAINTY
from exactik.studio.viewer.playback._solve_panel import SolvePanel
from exactik.studio.viewer.playback._uncertainty import (
    LEGEND,
    describe_least_certain,
    draw_quality_legend,
)
from exactik.studio.viewer.recording import AnalogPanel, GapStrip, RecordingPanel, RecordingScene

if TYPE_CHECKING:
    from exactik.studio.viewer.playback._app import MotionViewer


TIMELINE_PIXELS = 420  # wide: it fits beside the panel in a window of 800
TIMELINE_MARGIN = 15  # [pixels] from the corner of the window
CONTROL_PIXELS = 112  # high: the names of the tabs, the slider and the buttons
MAX_BOOKMARKS = 60
MAX_MISSING = 6  # markers of a frame that are named
FIRST, BACK, PLAY, NEXT, LAST = "|◀", "◀", "▶ ❚❚", "▶", "▶|"
NO_BOOKMARK = "…"


class PlayPanel:
    """All widgets of a `MotionViewer`.

    Attributes:
        bookmark: index of the bookmark that was gone to last, −1 before.
        timeline_size: what the timeline covers of the window, from its bottom left.
        low_timeline_size: likewise, of a low window.
    """

    def __init__(self, viewer: MotionViewer):
        """Add the widgets."""
        self.viewer, self.data, self.bookmark = viewer, viewer.data, -1
        self.words = JointWords(self.data.skeleton) if self.data.has_figure else None
        gui = viewer.server.gui
        gui.set_panel_label(self.data.title)
        if self.data.verdict != "":
            gui.add_markdown(f"**{escape_markdown(self.data.verdict)}**")
        self.text = gui.add_markdown("")
        if viewer.scene.markers.worst is not None:
            gui.add_html(draw_legend())
        self.channel = PageChannel(viewer.server)
        self.channel.on("seek", self._seek_share)
        self.channel.on("row", self._choose_row)
        self._add_opening(gui)
        self.recording: RecordingPanel | None = None
        scene = viewer.scene.markers.recording
        if scene is not None:
            viewer.scene.surroundings.on_dark(lambda dark: self._darken(scene, dark))
        if scene is not None and not self.data.has_figure:
            self.recording = RecordingPanel(gui, scene, viewer.change)
        self.solve: SolvePanel | None = None
        if self.data.unsolved is not None:
            self.solve = SolvePanel(viewer, self.data.unsolved)
        if len(self.data.bookmarks) > 0:
            self._add_bookmarks(gui)
        with gui.add_folder("view", expand_by_default=self.data.has_figure):
            self._add_options(gui)
        if scene is not None and self.data.has_figure:
            self.recording = RecordingPanel(gui, scene, viewer.change)
        self._add_analog(gui)
        self._add_notes(gui)
        self._add_export(gui)
        self._add_timeline(gui)
        self._add_hotkeys(gui)

    # --- what is shown

    def show(self, frame: int) -> None:
        """Describe a frame; inside `server.atomic()`, ten times a second at most."""
        self.slider.value = frame
        self.text.content = self.describe(frame)
        if self.curve is not None:
            self.curve.show(frame)
        recorded = self.data.recorded_frame(frame)
        if self.recording is not None:
            self.recording.show(recorded)
        if self.analog is not None:
            self.analog.show(recorded)
        if self.strip is not None:
            self.strip.show(recorded)

    def describe(self, frame: int) -> str:
        """Return the description of a frame, in Markdown."""
        playback, scene = self.data, self.viewer.scene
        first = playback.played.first_frame
        # Suspicions about markers have the numbers of the file, as other programs do.
        is_told = first != 1 or not playback.has_figure
        number = f", number {first + frame} in the file" if is_told else ""
        seconds = frame / playback.rate
        lines = [f"**Frame {frame}** of {len(playback)}{number}, {seconds:.2f} s"]
        if scene.plates is not None:
            forces = scene.plates.describe(playback.recorded_frame(frame))
            lines += [f"Ground reaction: {forces}"] if forces != "" else []
        if not playback.has_figure:
            lines.append(self._describe_seen(frame))
            return "  \n".join(lines)
        if not playback.present[frame]:
            lines.append("There is no pose; the last one before is shown.")
        mean, largest = (values[frame] for values in playback.frame_errors)
        if mean == mean:
            worst = escape_markdown(playback.names[int(np.nanargmax(playback.errors[frame]))])
            text = f"worst **{worst}** {1e3 * largest:.1f} mm"
            lines.append(f"Markers {1e3 * mean:.1f} mm off, {text}")
        elif playback.recorded is not None and len(playback.names) == 0:
            lines.append("The skeleton has none of the recorded markers: no residuals.")
        if playback.track is not None:
            lines.append(f"Status: {playback.track.status[frame]}")
        dofs = [] if scene.limits is None else scene.limits.named(playback.skeleton)
        if len(dofs) > 0 and self.words is not None:
            named = list(dict.fromkeys(self.words.dofs[dof] for dof in dofs))
            lines.append(f"At a limit: {escape_markdown(join_names(named, 3, last=', '))}")
        if scene.deviation is not None and self.words is not None:
            joints = describe_least_certain(list(self.words.joints.values()), scene.deviation)
            lines.append(f"Least certain: {escape_markdown(joints)}")
        return "  \n".join(lines)

    def _describe_seen(self, frame: int) -> str:
        """Return how many markers are seen in a frame, and which are not, in Markdown."""
        assert self.data.overview is not None
        seen = np.isfinite(self.data.targets(frame)).all(axis=1)
        overview = self.data.overview
        groups = (
            (overview.measured, "markers"),
            (overview.computed, "computed points"),
            (overview.unnamed, "points without a name"),
        )
        counts = [
            f"{int((seen & group).sum())} of {int(group.sum())} {what}"
            for group, what in groups
            if group.any()
        ]
        text = f"{', '.join(counts)} seen"
        gone = [overview.labels[k] for k in np.flatnonzero(overview.measured & ~seen)]
        missing = escape_markdown(join_names(gone, MAX_MISSING)) if len(gone) > 0 else ""
        return f"{text}; missing: {missing}" if missing else text

    # --- widgets

    def _add_opening(self, gui: Any) -> None:
        self.open = add_open_button(
            gui,
            self.viewer.uploads,
            "open a file…",
            SHOWN_SUFFIXES,
            self.viewer.open_file,
            self.viewer.say,
        )
        self.message = gui.add_markdown("")

    def say(self, sentence: str) -> None:
        """Show a sentence below the button that opens files; nothing in it is markup."""
        self.message.content = escape_markdown(sentence)

    def _darken(self, scene: RecordingScene, dark: bool) -> None:
        if dark != scene.dark:
            self.viewer.change(lambda: scene.set_dark(dark))

    def _add_analog(self, gui: Any) -> None:
        self.analog: AnalogPanel | None = None
        recorded = None if self.data.recorded is None else self.data.recorded.content
        if recorded is not None and recorded.analog is not None and len(recorded.analog.labels) > 0:
            self.analog = AnalogPanel(gui, recorded, recorded.analog)

    def _add_notes(self, gui: Any) -> None:
        notes = self.data.notes
        if len(notes) > 0:
            with gui.add_folder(f"about the file ({len(notes)})", expand_by_default=False):
                gui.add_markdown("\n".join(f"- {escape_markdown(note)}" for note in notes))

    def _add_options(self, gui: Any) -> None:
        scene = self.viewer.scene
        self.toggles: dict[str, Any] = {}
        if scene.figure is not None:
            self._add_figure_options(gui, scene.figure)
        scene.surroundings.add_views(gui)
        self.dark = scene.surroundings.add_widget(gui)
        follow = scene.follows
        self._add_toggle(gui, "follow", lambda on: setattr(scene, "follows", on), follow)
        nodes = [
            ("markers", scene.markers.model),
            ("measured", scene.markers.measured),
            ("residuals", scene.markers.residuals),
        ]
        for name, node in nodes:
            if node is not None:
                self._add_toggle(gui, name, lambda on, node=node: setattr(node, "visible", on))
        if scene.plates is not None:
            plates = scene.plates.node
            self._add_toggle(gui, "force plates", lambda on: setattr(plates, "visible", on))
        worst = scene.markers.worst
        if worst is not None:
            self._add_toggle(gui, "worst marker", lambda on: setattr(worst, "enabled", on))
        if scene.markers.residuals is not None:
            self.exaggeration = self._add_change(
                gui.add_slider("residuals ×", 1, 20, 1, 1),
                lambda factor: setattr(scene.markers, "exaggeration", float(factor)),
            )

        if len(scene.ghosts) > 0:
            self._add_ghost_options(gui)

    def _add_figure_options(self, gui: Any, figure: FigureScene) -> None:
        scene = self.viewer.scene
        known = {
            LIMITS: True,
            QUALITY: self.data.joint_quality is not None,
            UNCERTAINTY: self.data.knows_deviations,
            PLAIN: True,
        }
        options = [name for name, is_known in known.items() if is_known]
        self.colouring = gui.add_dropdown("colour by", options, initial_value=LIMITS)
        legends = {
            QUALITY: gui.add_html(draw_quality_legend(), visible=False),
            UNCERTAINTY: gui.add_markdown(LEGEND, visible=False),
        }

        def colour_by(colouring: str) -> None:
            for name, legend in legends.items():
                legend.visible = colouring == name
            scene.colour_by(colouring)

        self._add_change(self.colouring, colour_by)
        self.look = add_look_widget(
            gui, figure, lambda look: self.viewer.change(lambda: figure.show_as(look))
        )

    def _add_ghost_options(self, gui: Any) -> None:
        ghosts, start = self.viewer.scene.ghosts, self.data.aside
        self._add_toggle(gui, "ghost", lambda on: [setattr(g, "enabled", on) for g in ghosts])
        farthest = max(2.0, abs(start))
        self.aside = self._add_change(
            gui.add_slider("ghost aside [m]", -farthest, farthest, 0.05, start),
            lambda metres: [ghost.set_offset(float(metres)) for ghost in ghosts],
        )

    def _add_toggle(self, gui: Any, name: str, action: Any, on: bool = True) -> None:
        self.toggles[name] = self._add_change(gui.add_checkbox(name, on), action)

    def _add_change(self, widget: Any, action: Callable[[Any], object]) -> Any:
        """Let a widget change something of the scene between two frames; return the widget."""
        return on_value(widget, lambda value: self.viewer.change(lambda: action(value)))

    def _add_bookmarks(self, gui: Any) -> None:
        bookmarks = self.data.bookmarks[:MAX_BOOKMARKS]
        rate = self.data.rate
        options = [f"{n + 1}. {b.title}, {b.frame / rate:.2f} s" for n, b in enumerate(bookmarks)]
        what = "worst frames" if self.data.has_figure else "suspicions"
        one = " worst" if self.data.has_figure else ""
        with gui.add_folder(f"{what} ({len(self.data.bookmarks)})"):
            self.worst_buttons = gui.add_button_group("", (f"previous{one}", f"next{one}"))
            self.list = gui.add_dropdown(
                "go to", [NO_BOOKMARK, *options], initial_value=NO_BOOKMARK
            )
            self.reason = gui.add_markdown("")

        def go(k: int) -> None:
            self.bookmark = k % len(bookmarks)
            bookmark = bookmarks[self.bookmark]
            self._seek(bookmark.frame)
            self.list.value = options[self.bookmark]
            self.reason.content = bookmark.text

        def step(button: str) -> None:
            go(self.bookmark + 1 if button == f"next{one}" else max(self.bookmark, 0) - 1)

        def choose(option: str) -> None:
            if option != NO_BOOKMARK:
                go(options.index(option))

        on_press(self.worst_buttons, step)
        on_value(self.list, choose, by_page=True)

    def _add_export(self, gui: Any) -> None:
        endings = {"HTML": ".html"}
        if self.data.has_figure:
            endings |= {form.name: form.suffixes[0] for form in (GLB, BVH, NPZ)}
        if self.data.track is not None:
            endings["report"] = REPORT_ENDING
        with gui.add_folder("export", expand_by_default=self.data.verdict != ""):
            hint = "Downloaded by the page: HTML plays offline, NPZ has all that was found."
            self.exports = gui.add_button_group("", tuple(endings), hint=hint)
            self.progress = gui.add_progress_bar(0.0, visible=False)

        @self.exports.on_click
        def _(event: Any) -> None:  # in a thread of its own, since it takes a while
            try:
                self.viewer.send(endings[event.target.value], event.client)
            except ExactikError as error:
                self.say(describe_error(error))

    def _add_timeline(self, gui: Any) -> None:
        transport = self.viewer.transport
        self.window = gui.add_panel()
        with self.window.add_tab("timeline"):
            self.slider = gui.add_slider("frame", 0, max(transport.last, 1), 1, 0)
            on_value(self.slider, self._seek, by_page=True)
            buttons = (FIRST, BACK, PLAY, NEXT, LAST)
            self.buttons = on_press(gui.add_button_group("", buttons), self.press)
            self.curve = None
            if len(self.data.names) > 0:
                self.curve = ErrorCurve(gui, self.data)
            self.strip: GapStrip | None = None
            if self.data.overview is not None and not self.data.has_figure:
                self.strip = GapStrip(gui, self.data.overview)
        if self.data.overview is not None and self.data.has_figure:
            with self.window.add_tab("gaps"):
                self.strip = GapStrip(gui, self.data.overview)
        with self.window.add_tab("speed"):
            self.speed = gui.add_slider("speed ×", 0.1, 4.0, 0.1, 1.0)
            on_value(self.speed, lambda speed: setattr(transport, "speed", float(speed)))
            self.loop = gui.add_checkbox("again and again", True)
            on_value(self.loop, lambda loop: setattr(transport, "loop", bool(loop)))
        self.window.float(x=TIMELINE_MARGIN, y=-TIMELINE_MARGIN, width=TIMELINE_PIXELS)
        strip = None if self.data.has_figure else self.strip  # else it has a tab of its own
        height = CONTROL_PIXELS + (0 if self.curve is None else self.curve.height)
        self.timeline_size, self.low_timeline_size = (
            WindowSize(TIMELINE_PIXELS + TIMELINE_MARGIN, height + gaps + TIMELINE_MARGIN)
            for gaps in ((0, 0) if strip is None else (strip.height, strip.low_height))
        )

    def _seek(self, frame: int) -> None:
        """Pause, and show a frame."""
        self.viewer.play(False)
        self.viewer.seek(frame)

    def _seek_share(self, event: dict[str, Any]) -> None:
        """Go where a plot over time was clicked: a share of all frames."""
        share = float(event["share"])
        if 0.0 <= share <= 1.0:  # which is false for what is not a number
            self._seek(int(share * len(self.data)))

    def _choose_row(self, event: dict[str, Any]) -> None:
        """Choose the marker whose row of the strip was clicked: a share of all rows."""
        share = float(event["share"])
        if self.recording is not None and 0.0 <= share < 1.0:
            order = self.recording.overview.order
            self.recording.choose(order[int(share * len(order))])

    def press(self, button: str) -> None:
        """Run the command of a button of the timeline."""
        viewer, transport = self.viewer, self.viewer.transport
        if button == PLAY:
            viewer.play(not transport.playing)
        elif button in (BACK, NEXT):
            viewer.step(1 if button == NEXT else -1)
        else:
            viewer.seek(0 if button == FIRST else transport.last)

    def _add_hotkeys(self, gui: Any) -> None:
        keys = {
            "Play or pause": ("space", PLAY),
            "One frame back": ("arrowleft", BACK),
            "One frame on": ("arrowright", NEXT),
            "To the first frame": ("home", FIRST),
            "To the last frame": ("end", LAST),
        }
        for label, (key, button) in keys.items():
            add_hotkey(gui, label, key, partial(self.press, button))
