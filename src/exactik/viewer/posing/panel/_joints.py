"""The joint of one bone in the panel: angles as sliders, lock and strength."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactik.viewer._limits import AT_LIMIT, NEAR_LIMIT, LimitState
from exactik.viewer.posing._session import PosingSession
from exactik.viewer.posing._worker import PosingWorker

__all__ = ["JointPanel"]


class JointPanel:
    """Widgets for the joint of a chosen bone; those of all bones would be too many."""

    def __init__(self, server: Any, session: PosingSession, worker: PosingWorker):
        """Add the widgets to a viser server."""
        self.server, self.session, self.worker = server, session, worker
        self._sliders: dict[str, Any] = {}
        self._updating = False
        gui = server.gui
        skeleton = session.skeleton
        moving = skeleton.dof_bones[skeleton.upper > skeleton.lower]
        bones = moving if len(moving) > 0 else skeleton.dof_bones
        names = [skeleton.bone_names[k] for k in dict.fromkeys(bones.tolist())]
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
        """Move the sliders to the pose, and name the limits it is at."""
        self._updating = True
        try:
            for dof, slider in self._sliders.items():
                slider.value = self._get_displayed(dof)
        finally:
            self._updating = False
        lines = []
        for level, what in ((AT_LIMIT, "At a limit"), (NEAR_LIMIT, "Near a limit")):
            names = limits.named(self.session.skeleton, level)
            if len(names) > 0:
                lines.append(f"{what}: {', '.join(f'`{name}`' for name in names)}")
        self.limited.content = "\n\n".join(lines)

    def choose(self, bone: str) -> None:
        """Show the joint of a bone, if it moves."""
        if bone in self.bone.options:
            self.bone.value = bone

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
        """Add a slider for each dof of the chosen bone, in place of the last ones.

        None for a dof that limits hold where it is, nor for those that follow others: these are no
        dofs of the skeleton.
        """
        for slider in self._sliders.values():
            slider.remove()
        self._sliders = {}
        skeleton = self.session.skeleton
        for i, dof in enumerate(skeleton.dof_names):
            if dof.rpartition(".")[0] != self.bone.value or skeleton.plain_q[i] < 0:
                continue
            if skeleton.lower[i] == skeleton.upper[i]:
                continue
            scale = np.degrees(1.0) if skeleton.turns[i] else 1.0
            bound = 180.0 if skeleton.turns[i] else 2.0
            low = float(scale * skeleton.lower[i]) if np.isfinite(skeleton.lower[i]) else -bound
            high = float(scale * skeleton.upper[i]) if np.isfinite(skeleton.upper[i]) else bound
            with self.angles:
                label = dof.rpartition(".")[2]
                value = min(max(self._get_displayed(dof), low), high)
                slider = self.server.gui.add_slider(
                    label, low, high, 0.1 if bound > 2 else 0.001, value
                )
            slider.on_update(self._make_callback(dof, slider, float(scale)))
            self._sliders[dof] = slider

    def _make_callback(self, dof: str, slider: Any, scale: float) -> Any:
        async def set_dof(event: Any) -> None:
            if event.client is not None and not self._updating:
                value = float(slider.value) / scale
                self.worker.post(lambda s: s.set_dof(dof, value))

        return set_dof

    def _get_displayed(self, dof: str) -> float:
        """Return the value of a dof as displayed [degrees or m]."""
        skeleton = self.session.skeleton
        i = skeleton.dof_names.index(dof)
        value = float(self.session.state.q[skeleton.plain_q[i]])
        return float(np.degrees(value)) if skeleton.turns[i] else value
