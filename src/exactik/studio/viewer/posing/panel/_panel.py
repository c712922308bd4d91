"""The panel beside the scene: handles, solver, convergence, joints, key frames, comparison."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from exactik.io import readable_suffixes
from exactik.solvers import Result, list_solvers
from exactik.studio.plots.colours import format_hex
from exactik.studio.viewer._balance import describe_balance
from exactik.studio.viewer._history import UndoOrder
from exactik.studio.viewer._limits import LimitState
from exactik.studio.viewer.page.channel import PageChannel
from exactik.studio.viewer.page.colours import DRAGGED_COLOUR, PINNED_COLOUR
from exactik.studio.viewer.page.plots import add_curve_plot
from exactik.studio.viewer.page.scene import add_look_widget
from exactik.studio.viewer.page.surroundings import Surroundings
from exactik.studio.viewer.page.upload import Uploads, add_open_button
from exactik.studio.viewer.page.widgets import add_hotkey, escape_markdown, on_press, on_value
from exactik.studio.viewer.posing._balance_scene import BalanceScene
from exactik.studio.viewer.posing._gizmo import GIZMO_AXES
from exactik.studio.viewer.posing._scene import HandleScene
from exactik.studio.viewer.posing._session import PosingSession, Update
from exactik.studio.viewer.posing._worker import PosingWorker
from exactik.studio.viewer.posing.panel._compare import ComparePanel
from exactik.studio.viewer.posing.panel._joints import JointPanel
from exactik.studio.viewer.posing.panel._keys import KeyPanel
from exactik.studio.viewer.posing.panel._library import LibraryPanel
from exactik.studio.viewer.posing.panel._timeline import TimelineBar

FIGURE_SUFFIXES = readable_suffixes("skeleton")
CLICK_HINT = "Click a bone to turn it; drag it to pull it."
TEXT_PERIOD_S = 0.1  # between two changes of text
PLOTTED_UPDATES = 240  # four seconds
MIN_PLOTTED = 1e-12  # costs below are as good as zero


class Panel:
    """Widgets in tabs, which post commands to the worker."""

    def __init__(
        self,
        server: Any,
        session: PosingSession,
        worker: PosingWorker,
        handles: HandleScene,
        surroundings: Surroundings,
        balance: BalanceScene,
        *,
        uploads: Uploads,
        open_file: Callable[[Path], object],
        say: Callable[[str], object],
    ):
        """Add the widgets to a viser server.

        `open_file` is called with files from the page, `say` with why one cannot be opened: by
        then another file may have replaced this panel.
        """
        self.surroundings, self.balance = surroundings, balance
        self.server, self.session, self.worker, self.handles = server, session, worker, handles
        self._last_text = 0.0
        gui = server.gui
        self.channel = PageChannel(server)
        timeline = TimelineBar(server, self.channel)
        self.status = gui.add_markdown("at rest")
        self._add_buttons(gui)
        self.open = add_open_button(gui, uploads, "open a figure…", FIGURE_SUFFIXES, open_file, say)
        self.message = gui.add_markdown("", visible=False)
        tabs = gui.add_tab_group()
        with tabs.add_tab("Pose"):
            self._add_handle_widgets(gui)
            gui.add_divider()
            self._add_solver_widgets(gui)
            self.convergence = ConvergencePlot(gui)
        with tabs.add_tab("Joints"):
            self.joints = JointPanel(server, session, worker)
        with tabs.add_tab("Keys"):
            self.keys = KeyPanel(server, session, worker, handles, timeline)
        with tabs.add_tab("Library"):
            self.library = LibraryPanel(server, self.keys.keys, self.keys.post)
        with tabs.add_tab("Compare"):
            self.compare = ComparePanel(server, session)
        self.channel.on("tab", lambda event: self.compare.set_tab(str(event["name"])))
        self.keys.on_change = self.library.show
        surroundings.on_dark(self.keys.onion_skins.set_dark)
        self.keys.refresh()
        self.order = UndoOrder({"pose": session, "keys": self.keys})
        session.on_step(lambda: self.order.note("pose"))
        self.keys.keys.on_step(lambda: self.order.note("keys"))
        handles.on_select = self._show_selected
        handles.on_select_bone = self._show_bone
        self._show_selected(handles.selected)

    # --- what is shown

    def show(self, update: Update, limits: LimitState) -> None:
        """Show the result of an update; texts change ten times a second at most."""
        self.convergence.add(update)
        if update.moved > 0.0:
            self.compare.clear()
        now = time.perf_counter()
        if now - self._last_text < TEXT_PERIOD_S and not update.resting:
            return
        self._last_text = now
        errors = update.handle_errors
        worst = max(errors, key=lambda name: errors[name], default="")
        error = "nothing is held"
        if worst:
            error = f"{1e3 * update.seconds:.2f} ms, {worst} {1e3 * errors[worst]:.1f} mm off"
        at_limits = limits.named(self.session.skeleton)
        count = f"{len(at_limits)} at limits"
        names = f": {', '.join(at_limits[:3])}" if len(at_limits) > 0 else ""
        self.status.content = escape_markdown(f"{error}; {count}{names}")
        self.convergence.draw()
        self.joints.show(limits)
        self.show_balance()

    def show_balance(self) -> None:
        """Show whether the figure would fall, if that is asked for."""
        balance = self.balance.draw(self.session.pose())
        self.balance_text.visible = self.balance.visible
        if self.balance.visible:
            note = self.session.skeleton.masses_note
            self.balance_text.content = escape_markdown(describe_balance(balance, note))

    def say(self, sentence: str) -> None:
        """Show a sentence below the button that opens files; nothing in it is markup."""
        self.message.content = escape_markdown(sentence)
        self.message.visible = sentence != ""

    def show_verdict(self, verdict: Result | None) -> None:
        """Say how well the goals are met."""
        if verdict is not None:
            self.status.content = escape_markdown(verdict.why)

    # --- widgets

    def _add_buttons(self, gui: Any) -> None:
        actions = {
            "undo": (lambda _: self.order.undo(), "Z", "cmd/ctrl"),
            "redo": (lambda _: self.order.redo(), "Z", "cmd/ctrl+shift"),
            "reset": (lambda s: s.reset(), "R", None),
        }
        row = gui.add_button_group("", tuple(actions))
        on_press(row, lambda name: self.worker.post(actions[name][0]))
        for name, (action, key, modifier) in actions.items():
            add_hotkey(gui, name.capitalize(), key, partial(self.worker.post, action), modifier)

    def _add_handle_widgets(self, gui: Any) -> None:
        self.handle = gui.add_dropdown("handle", self.handles.names or ["none"])
        self.pinned = gui.add_checkbox("pinned", False, hint="Stays while others are dragged.")
        self.oriented = gui.add_checkbox("orientation", False, hint="Its rotation is a goal.")
        self.weight = gui.add_slider("weight", 0.1, 10.0, 0.1, 1.0)
        self.bone = gui.add_markdown(CLICK_HINT)
        axes = gui.add_dropdown("gizmo axes", GIZMO_AXES, hint="Of the bone, or of the world.")

        def pin(_: bool) -> None:
            name, pinned, oriented = self.handle.value, self.pinned.value, self.oriented.value
            self.worker.post(lambda s: s.pin(name, pinned, oriented=oriented))

        def weigh(weight: float) -> None:
            name = self.handle.value
            self.worker.post(lambda s: s.weigh(name, float(weight)))

        on_value(axes, self.handles.set_axes)
        on_value(self.handle, self.handles.select, by_page=True)
        on_value(self.pinned, pin, by_page=True)
        on_value(self.oriented, pin, by_page=True)
        on_value(self.weight, weigh, by_page=True)

    def _add_solver_widgets(self, gui: Any) -> None:
        solver = gui.add_dropdown(
            "method", list(list_solvers()), initial_value=self.session.state.solver
        )
        limits = gui.add_checkbox("keep limits", self.session.state.limits)
        self.look = add_look_widget(gui, self.handles.figure, self._show_as)
        self.dark = self.surroundings.add_widget(gui)
        self.balance_switch = gui.add_checkbox(
            "balance", False, hint="The centre of mass above what touches the floor."
        )
        self.balance_text = gui.add_markdown("", visible=False)
        glide = gui.add_checkbox("glide", self.session.glide > 0.0, hint="Follow smoothly.")
        time_constant = self.session.glide or 0.035

        def show_balance(on: bool) -> None:
            self.balance.visible = bool(on)
            self.worker.post(lambda s: None)  # redraws

        def follow(smoothly: bool) -> None:
            self.session.glide = time_constant if smoothly else 0.0

        on_value(solver, lambda name: self.worker.post(lambda s: s.choose(name)))
        on_value(limits, lambda keep: self.worker.post(lambda s: s.keep_limits(keep)))
        on_value(self.balance_switch, show_balance)
        on_value(glide, follow)

    def _show_as(self, look: str) -> None:
        with self.server.atomic():
            self.handles.figure.show_as(look)
        self.server.flush()

    # --- the selected handle

    def _show_selected(self, name: str) -> None:
        if name in self.session.handles:
            handle = self.session.handles[name]
            self.handle.value, self.pinned.value = name, handle.pinned
            self.oriented.value, self.weight.value = handle.oriented, handle.weight
        self.bone.content = CLICK_HINT

    def _show_bone(self, name: str) -> None:
        self.bone.content = f"The gizmo turns `{name}` by its joint alone."
        self.joints.choose(name)


class ConvergencePlot:
    """Cost and largest handle error of the last updates, on a scale of powers of ten."""

    def __init__(self, gui: Any):
        """Add the plot to a panel."""
        self._history: deque[tuple[float, float]] = deque(maxlen=PLOTTED_UPDATES)
        curves = (
            ("cost [m²]", format_hex(PINNED_COLOUR)),
            ("worst miss [mm]", format_hex(DRAGGED_COLOUR)),
        )
        x, y = "updates, the last at 0", "log₁₀ of the values"
        self._plot = add_curve_plot(gui, "convergence", x, curves, y, aspect=1.5)

    def add(self, update: Update) -> None:
        """Add the result of an update, unless the figure rested already."""
        if update.seconds > 0.0:
            worst = 1e3 * max(update.handle_errors.values(), default=0.0)
            self._history.append((max(update.cost, MIN_PLOTTED), max(worst, MIN_PLOTTED)))

    def draw(self) -> None:
        """Send the curves."""
        if len(self._history) > 1:
            self._plot.visible = True
            cost, worst = np.log10(np.array(self._history)).T.copy()
            self._plot.data = (np.arange(1.0 - len(cost), 1.0), cost, worst)
