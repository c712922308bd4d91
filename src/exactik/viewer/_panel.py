"""The panel beside the scene: what holds, what is chosen, sliders, undo, key frames."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from exactik.solvers import Result, solvers
from exactik.viewer._panel_compare import ComparePanel
from exactik.viewer._panel_keys import KeyPanel
from exactik.viewer._scene import HandleScene
from exactik.viewer._session import PosingSession, Update
from exactik.viewer._worker import PosingWorker

__all__ = ["Panel"]

OFTEN = 0.1  # [s] between two changes of text


class Panel:
    """Widgets that forward what is done to them to the worker."""

    def __init__(
        self, server: Any, session: PosingSession, worker: PosingWorker, handles: HandleScene
    ):
        """Add the widgets to a viser server."""
        self.server, self.session, self.worker, self.handles = server, session, worker, handles
        self._last, self._sliders, self._own = 0.0, {}, False
        gui = server.gui
        gui.configure_theme(show_share_button=False, show_logo=False)
        self.status = gui.add_markdown("at rest")
        self._buttons(gui)
        with gui.add_folder("Handle"):
            self._handle_widgets(gui)
        with gui.add_folder("Solver"):
            self._solver_widgets(gui)
        with gui.add_folder("Joints"):
            names = [b.name for b in session.skeleton.bones if b.joint.nv > 0]
            self.bone = gui.add_dropdown("bone", names)
            self.lock = gui.add_checkbox("locked", False)
            self.strength = gui.add_slider("strength", 0.1, 3.0, 0.1, 1.0)
            self.joint = gui.add_folder("angles")
        with gui.add_folder("Keys"):
            self.keys = KeyPanel(server, session, worker, handles.figure)
        with gui.add_folder("Compare", expand_by_default=False):
            self.compare = ComparePanel(server, session)
        self.bone.on_update(self._bone_chosen)
        self.lock.on_update(self._locked)
        self.strength.on_update(self._strengthened)
        handles.on_select = self._selected
        self._selected(handles.selected)
        self._make_sliders()

    # --- what is shown

    def show(self, update: Update) -> None:
        """Tell how it goes, some times a second."""
        now = time.perf_counter()
        if now - self._last < OFTEN and not update.resting:
            return
        self._last = now
        worst = max(update.misses, key=lambda k: update.misses[k], default="")
        miss = f"{worst} {1e3 * update.misses[worst]:.1f} mm off" if worst else "nothing is held"
        at = self.session.limits().named(self.session.skeleton)
        held = f"{len(at)} at limits" + (f": {', '.join(at[:3])}" if len(at) > 0 else "")
        self.status.content = f"{1e3 * update.seconds:.2f} ms, {miss}; {held}"
        self._own = True
        try:
            for dof, slider in self._sliders.items():
                slider.value = self._degrees(dof)
        finally:
            self._own = False

    def judge(self, verdict: Result | None) -> None:
        """Say what became of the goals."""
        if verdict is not None:
            self.status.content = _plain(verdict.why)

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
        self.handle = gui.add_dropdown("selected", self.handles.names or ["none"])
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

    # --- the selected handle, the chosen bone

    def _selected(self, name: str) -> None:
        if name in self.session.handles:
            handle = self.session.handles[name]
            self.handle.value, self.pinned.value = name, handle.pinned
            self.oriented.value, self.weight.value = handle.oriented, handle.weight

    async def _bone_chosen(self, _: Any) -> None:
        state = self.session.state
        self.lock.value = self.bone.value in state.locked
        self.strength.value = state.strength.get(self.bone.value, 1.0)
        self._make_sliders()

    async def _locked(self, event: Any) -> None:
        if event.client is not None:
            bone, locked = self.bone.value, self.lock.value
            self.worker.post(lambda s: s.lock(bone, locked))

    async def _strengthened(self, event: Any) -> None:
        if event.client is not None:
            bone, strength = self.bone.value, float(self.strength.value)
            self.worker.post(lambda s: s.strengthen(bone, strength))

    def _make_sliders(self) -> None:
        """Make one slider for each angle of the chosen bone: all at once would be unusable."""
        for slider in self._sliders.values():
            slider.remove()
        self._sliders = {}
        skeleton = self.session.skeleton
        for i, dof in enumerate(skeleton.dof_names):
            if dof.rpartition(".")[0] != self.bone.value or skeleton.plain_q[i] < 0:
                continue
            scale = np.degrees(1.0) if skeleton.turns[i] else 1.0
            far = 180.0 if skeleton.turns[i] else 2.0
            low = float(scale * skeleton.lower[i]) if np.isfinite(skeleton.lower[i]) else -far
            high = float(scale * skeleton.upper[i]) if np.isfinite(skeleton.upper[i]) else far
            with self.joint:
                label = dof.rpartition(".")[2]
                value = min(max(self._degrees(dof), low), high)
                slider = self.server.gui.add_slider(
                    label, low, high, 0.1 if far > 2 else 0.001, value
                )
            slider.on_update(self._slid(dof, slider, float(scale)))
            self._sliders[dof] = slider

    def _slid(self, dof: str, slider: Any, scale: float) -> Any:
        async def slid(event: Any) -> None:
            if event.client is not None and not self._own:
                value = float(slider.value) / scale
                self.worker.post(lambda s: s.set_dof(dof, value))

        return slid

    def _degrees(self, dof: str) -> float:
        """The value of a dof as shown [degrees or m]."""
        skeleton = self.session.skeleton
        i = skeleton.dof_names.index(dof)
        value = float(self.session.state.q[skeleton.plain_q[i]])
        return float(np.degrees(value)) if skeleton.turns[i] else value


def _plain(text: str) -> str:
    """Return a text whose names cannot be taken for markup."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>#|!" else c for c in text)
