"""The panel beside the scene: what holds, what is chosen, sliders, undo, key frames."""

from __future__ import annotations

import time
from typing import Any

from exactik.solvers import Result, solvers
from exactik.viewer.page._scene import HandleScene
from exactik.viewer._limits import LimitState
from exactik.viewer.posing._session import PosingSession, Update
from exactik.viewer.posing._worker import PosingWorker
from exactik.viewer.posing.panel._compare import ComparePanel
from exactik.viewer.posing.panel._joints import JointPanel
from exactik.viewer.posing.panel._keys import KeyPanel
from exactik.viewer.posing.panel._live import ConvergencePlot

__all__ = ["Panel", "plain"]

OFTEN = 0.1  # [s] between two changes of text


class Panel:
    """Widgets that forward what is done to them to the worker, in tabs."""

    def __init__(
        self, server: Any, session: PosingSession, worker: PosingWorker, handles: HandleScene
    ):
        """Add the widgets to a viser server."""
        self.server, self.session, self.worker, self.handles = server, session, worker, handles
        self._last = 0.0
        gui = server.gui
        self.status = gui.add_markdown("at rest")
        self._buttons(gui)
        tabs = gui.add_tab_group()
        with tabs.add_tab("Pose"):
            self._handle_widgets(gui)
            gui.add_divider()
            self._solver_widgets(gui)
            self.live = ConvergencePlot(gui)
        with tabs.add_tab("Joints"):
            self.joints = JointPanel(server, session, worker)
        with tabs.add_tab("Keys"):
            self.keys = KeyPanel(server, session, worker, handles)
        with tabs.add_tab("Compare"):
            self.compare = ComparePanel(server, session)
        handles.on_select = self._selected
        self._selected(handles.selected)

    # --- what is shown

    def show(self, update: Update, limits: LimitState) -> None:
        """Tell how it goes, some times a second."""
        self.live.add(update)
        if update.moved > 0.0:
            self.compare.clear()
        now = time.perf_counter()
        if now - self._last < OFTEN and not update.resting:
            return
        self._last = now
        worst = max(update.misses, key=lambda k: update.misses[k], default="")
        miss = f"{worst} {1e3 * update.misses[worst]:.1f} mm off" if worst else "nothing is held"
        at = limits.named(self.session.skeleton)
        held = f"{len(at)} at limits" + (f": {', '.join(at[:3])}" if len(at) > 0 else "")
        self.status.content = plain(f"{1e3 * update.seconds:.2f} ms, {miss}; {held}")
        self.live.draw()
        self.joints.show(limits)

    def judge(self, verdict: Result | None) -> None:
        """Say what became of the goals."""
        if verdict is not None:
            self.status.content = plain(verdict.why)

    # --- widgets

    def _buttons(self, gui: Any) -> None:
        actions = {
            "undo": (lambda s: s.undo(), "Z"),
            "redo": (lambda s: s.redo(), "Y"),
            "reset": (lambda s: s.reset(), "R"),
        }
        row = gui.add_button_group("", tuple(actions))

        @row.on_click
        async def _(event: Any) -> None:
            self.worker.post(actions[event.target.value][0])

        for name, (action, key) in actions.items():
            command = gui.add_command(name.capitalize(), hotkey=key)

            @command.on_trigger
            async def _(_: Any, action: Any = action) -> None:
                self.worker.post(action)

    def _handle_widgets(self, gui: Any) -> None:
        self.handle = gui.add_dropdown("handle", self.handles.names or ["none"])
        self.pinned = gui.add_checkbox("pinned", False, hint="Stays while others are dragged.")
        self.oriented = gui.add_checkbox("turns too", False, hint="Its rotation is a goal.")
        self.weight = gui.add_slider("weight", 0.1, 10.0, 0.1, 1.0)

        @self.handle.on_update
        async def _(event: Any) -> None:
            if event.client is not None:
                self.handles.select(self.handle.value)

        async def pin(event: Any) -> None:
            if event.client is not None:
                name, on, turns = self.handle.value, self.pinned.value, self.oriented.value
                self.worker.post(lambda s: s.pin(name, on, oriented=turns))

        self.pinned.on_update(pin)
        self.oriented.on_update(pin)

        @self.weight.on_update
        async def _(event: Any) -> None:
            if event.client is not None:
                name, weight = self.handle.value, float(self.weight.value)
                self.worker.post(lambda s: s.weigh(name, weight))

    def _solver_widgets(self, gui: Any) -> None:
        solver = gui.add_dropdown(
            "method", list(solvers()), initial_value=self.session.state.solver
        )
        limits = gui.add_checkbox("keep limits", self.session.state.limits)
        glide = gui.add_checkbox("glide", self.session.glide > 0.0, hint="Follow smoothly.")
        usual = self.session.glide or 0.035

        @solver.on_update
        async def _(_: Any) -> None:
            name = solver.value
            self.worker.post(lambda s: s.choose(name))

        @limits.on_update
        async def _(_: Any) -> None:
            keep = limits.value
            self.worker.post(lambda s: s.keep_limits(keep))

        @glide.on_update
        async def _(_: Any) -> None:
            self.session.glide = usual if glide.value else 0.0

    # --- the selected handle

    def _selected(self, name: str) -> None:
        if name in self.session.handles:
            handle = self.session.handles[name]
            self.handle.value, self.pinned.value = name, handle.pinned
            self.oriented.value, self.weight.value = handle.oriented, handle.weight


def plain(text: str) -> str:
    """Return a text whose names cannot be taken for markup."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>#|!" else c for c in text)
