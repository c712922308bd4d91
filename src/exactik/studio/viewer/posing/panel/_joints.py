"""The joint of one bone in the panel: angles as sliders, lock and strength."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from exactik.recordings.angles import JointWords
from exactik.studio.viewer._limits import AT_LIMIT, NEAR_LIMIT, LimitState
from exactik.studio.viewer.page.widgets import on_value
from exactik.studio.viewer.posing._session import PosingSession
from exactik.studio.viewer.posing._worker import PosingWorker


class JointPanel:
    """Widgets for the joint of a chosen bone; those of all bones would be too many."""

    def __init__(
        self, server: Any, session: PosingSession, worker: PosingWorker, words: JointWords
    ):
        """Add the widgets to a viser server."""
        self.server, self.session, self.worker, self.words = server, session, worker, words
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
        on_value(self.bone, lambda _: self._show_bone())
        on_value(self.lock, self._lock, by_page=True)
        on_value(self.strength, self._strengthen, by_page=True)
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
                told = (f"{self.words.dofs[name]} (`{name}`)" for name in names)
                lines.append(f"{what}: {', '.join(told)}")
        self.limited.content = "\n\n".join(lines)

    def choose(self, bone: str) -> None:
        """Show the joint of a bone, if it moves."""
        if bone in self.bone.options:
            self.bone.value = bone

    def _show_bone(self) -> None:
        state = self.session.state
        self.lock.value = self.bone.value in state.locked
        self.strength.value = state.strength.get(self.bone.value, 1.0)
        self._make_sliders()

    def _lock(self, locked: bool) -> None:
        bone = self.bone.value
        self.worker.post(lambda s: s.lock(bone, locked))

    def _strengthen(self, strength: float) -> None:
        bone = self.bone.value
        self.worker.post(lambda s: s.strengthen(bone, float(strength)))

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
                    label,
                    low,
                    high,
                    0.1 if bound > 2 else 0.001,
                    value,
                    hint=self.words.dofs[dof],
                )
            self._sliders[dof] = on_value(slider, partial(self._set_dof, dof, scale), by_page=True)

    def _set_dof(self, dof: str, scale: float, shown: float) -> None:
        if not self._updating:
            self.worker.post(lambda s: s.set_dof(dof, float(shown) / float(scale)))

    def _get_displayed(self, dof: str) -> float:
        """Return the value of a dof as displayed [degrees or m]."""
        skeleton = self.session.skeleton
        i = skeleton.dof_names.index(dof)
        value = float(self.session.state.q[skeleton.plain_q[i]])
        return float(np.degrees(value)) if skeleton.turns[i] else value
