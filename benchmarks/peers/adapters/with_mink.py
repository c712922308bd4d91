"""mink on MuJoCo: a quadratic program (daqp) for every step, until it arrives or improves no more.

Arms: 50 steps an attempt. Markers: up to 100 steps a frame, until the cost falls by
less than a share of 1e-4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.peers.protocol import Arm, Array, Figure
from benchmarks.support.robot_peers import Mink
from benchmarks.support.urdf import strip_urdf

TITLE, PACKAGE = "mink", "mink"
REQUIREMENTS = ("mink==1.3.*", "daqp==0.10.*")


def arm(task: Arm) -> _Arm:
    return _Arm(task)


class _Arm:
    def __init__(self, task: Arm) -> None:
        self.mink = Mink(task.urdf, (task.tool,), False)
        assert self.mink.joints == task.joints

    def solve(self, target: Array, starts: Array) -> Array:
        return self.mink.solve(target[None], starts)


class MinkMarkers:
    """Steps of mink on markers, one quadratic program each, until the cost falls no more.

    Attributes:
        joints: names of its coordinates.
        steps: that the last frame took.
    """

    ITERATIONS = 100
    MIN_COST_DECREASE = 1e-4  # share of the cost; 1e-5 takes 1.8 × as long and ends 0.1 % lower
    DAMPING = 1e-3  # with 1e-4 it loses the figure on HDM05, with 1e-2 it takes 2.5 × as long
    LM_DAMPING = 1e-2  # damping by the error; without it one cold frame of three is lost

    def __init__(
        self, model: Any, names: Sequence[str], kind: str, weights: Array, limited: bool
    ) -> None:
        import mink  # pyright: ignore[reportMissingImports]

        self.mink, self.names, self.kind, self.weights = mink, names, kind, weights
        self.joints: list[str] = [model.joint(k).name for k in range(model.nq)]
        self.ids = [getattr(model, kind)(name).id for name in names]
        self.configuration = mink.Configuration(model)
        self.limits = [mink.ConfigurationLimit(model)] if limited else []
        self.tasks = [
            mink.FrameTask(name, kind, float(np.sqrt(w)), 0.0, lm_damping=self.LM_DAMPING)
            for name, w in zip(names, weights, strict=True)
        ]
        self.steps = 0

    def places(self) -> Array:
        """Where MuJoCo has the markers, (M, 3)."""
        data = self.configuration.data
        return (data.site_xpos if self.kind == "site" else data.xpos)[self.ids]

    def aim(self, places: Array) -> None:
        """Set targets turned as the markers are: errors of whole poses would mix in the turn."""
        for task, name, place in zip(self.tasks, self.names, places, strict=True):
            now = self.configuration.get_transform_frame_to_world(name, self.kind)
            there = self.mink.SE3.from_rotation_and_translation(now.rotation(), place)
            task.set_target(there)

    def cost(self, places: Array) -> float:
        return 0.5 * float(self.weights @ ((places - self.places()) ** 2).sum(axis=1))

    def solve(self, places: Array, q: Array) -> Array:
        """Coordinates in the order of `joints`."""
        self.configuration.update(q)
        before, self.steps = np.inf, 0
        while self.steps < self.ITERATIONS:
            self.steps += 1
            self.aim(places)
            velocity = self.mink.solve_ik(
                self.configuration,
                self.tasks,
                1.0,
                "daqp",
                damping=self.DAMPING,
                limits=self.limits,
            )
            self.configuration.integrate_inplace(velocity, 1.0)
            cost = self.cost(places)
            if cost > (1.0 - self.MIN_COST_DECREASE) * before:
                break
            before = cost
        return self.configuration.q.copy()


def figure(task: Figure) -> _Figure:
    return _Figure(task)


class _Figure:
    def __init__(self, task: Figure) -> None:
        import mujoco

        model: Any = mujoco.MjSpec.from_string(strip_urdf(task.urdf)).compile()
        weights = np.ones(len(task.markers))
        self.markers = MinkMarkers(model, task.markers, "body", weights, False)
        self.columns = [task.joints.index(name) for name in self.markers.joints]

    def solve(self, places: Array, q: Array) -> Array:
        out = np.empty_like(q)
        out[self.columns] = self.markers.solve(places, q[self.columns])
        return out
