"""The centre of mass and the support polygon in the scene."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactik.model import Pose
from exactik.studio.player.proportions import compute_reach
from exactik.studio.player.shapes import SPHERE_MESH
from exactik.studio.viewer._balance import Balance, compute_balance
from exactik.studio.viewer.page.colours import MARKER_COLOUR, RESIDUAL_COLOUR, srgb_to_linear
from exactik.studio.viewer.page.scene import add_instances
from exactik.studio.viewer.page.skin import ON_TOP_OPACITY

CENTER_RADIUS = 0.02  # of the figure's reach
LIFT_SHARE = 0.002  # of the reach, above the floor: lines in its plane would flicker


class BalanceScene:
    """A ball at the centre of mass, a plumb line, and the polygon: green in balance, else magenta.

    Attributes:
        visible: whether it is shown; nothing is computed where it is not.
    """

    def __init__(self, server: Any, floor: float):
        """Add nothing yet; the floor is at a height [m]."""
        self._server, self._floor, self.visible = server, floor, False
        self._nodes: list[Any] = []

    def draw(self, pose: Pose) -> Balance | None:
        """Show how a figure stands; return that, None if it is not shown or not known."""
        self.clear()
        balance = compute_balance(pose, self._floor) if self.visible else None
        if balance is None:
            return None
        reach = compute_reach(pose.skeleton)
        colour = MARKER_COLOUR if balance.margin >= 0.0 else RESIDUAL_COLOUR
        ball = add_instances(
            self._server,
            "/balance/center",
            SPHERE_MESH,
            balance.center[None],
            np.array([CENTER_RADIUS * reach]),
            batched_colors=srgb_to_linear([colour]),
            opacity=ON_TOP_OPACITY,
        )
        height = self._floor + LIFT_SHARE * reach
        foot = np.array([*balance.center[:2], height])
        lines = [np.array([balance.center, foot])]
        corners = np.column_stack([balance.support, np.full(len(balance.support), height)])
        lines += [
            np.array(pair) for pair in zip(corners, np.roll(corners, -1, axis=0), strict=True)
        ]
        polygon = self._server.scene.add_line_segments(
            "/balance/support",
            np.array(lines, dtype=np.float32),
            colour,
            thickness=4.0,
            thickness_units="screen",
        )
        self._nodes = [ball, polygon]
        return balance

    def clear(self) -> None:
        """Remove all of it."""
        for node in self._nodes:
            node.remove()
        self._nodes = []
