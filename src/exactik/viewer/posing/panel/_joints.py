"""The joints in the panel: one bone at a time, its angles as sliders, its lock and its strength."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactik.viewer._limits import AT, NEAR, LimitState
from exactik.viewer.posing._session import PosingSession
from exactik.viewer.posing._worker import PosingWorker

__all__ = ["JointPanel"]


class JointPanel:
    """Widgets for the joint of a chosen bone: all at once would be unusable."""

    def __init__(self, server: Any, session: PosingSession, worker: PosingWorker):
        """Add the widgets to a viser server."""
        self.server, self.session, self.worker = server, session, worker
        self._sliders: dict[str, Any] = {}
        self._own = False
        gui = server.gui
        names = [b.name for b in session.skeleton.bones if b.joint.nv > 0]
        self.bone = gui.add_dropdown("bone", names)
        self.lock = gui.add_checkbox("locked", False, hint="Its joint does not move.")
        self.strength = gui.add_slider("strength", 0.1, 3.0, 0.1, 1.0, hint="How readily it moves.")
        self.angles = gui.add_folder("angles [degrees] and shifts [m]")
        self.limited = gui.add_markdown("")
        self.bone.on_update(self._bone_chosen)
        self.lock.on_update(self._locked)
        self.strength.on_update(self._strengthened)
        self._make_sliders()

    def show(self, limits: LimitState) -> None:
        """Let the sliders follow the pose, and say which limits it is at."""
        self._own = True
        try:
            for dof, slider in self._sliders.items():
                slider.value = self._shown(dof)
        finally:
            self._own = False
        words = []
        for level, what in ((AT, "At a limit"), (NEAR, "Near a limit")):
            names = limits.named(self.session.skeleton, level)
            if len(names) > 0:
                words.append(f"{what}: {', '.join(f'`{name}`' for name in names)}")
        self.limited.content = "\n\n".join(words)

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
        """Make one slider for each dof of the chosen bone."""
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
            with self.angles:
                label = dof.rpartition(".")[2]
                value = min(max(self._shown(dof), low), high)
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

    def _shown(self, dof: str) -> float:
        """The value of a dof as shown [degrees or m]."""
        skeleton = self.session.skeleton
        i = skeleton.dof_names.index(dof)
        value = float(self.session.state.q[skeleton.plain_q[i]])
        return float(np.degrees(value)) if skeleton.turns[i] else value
