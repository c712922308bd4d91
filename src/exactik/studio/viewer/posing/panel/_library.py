"""The library of poses in the panel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exactik.studio.viewer.keyframes import Keyframes
from exactik.studio.viewer.page.widgets import on_press
from exactik.studio.viewer.posing._session import PosingSession

NO_POSE = "none"


class LibraryPanel:
    """Widgets that save, apply and delete poses."""

    def __init__(self, server: Any, keys: Keyframes, post: Callable[[Callable[..., None]], None]):
        """Add the widgets; `post` runs a function with the session, and shows its errors."""
        self.keys, self._post = keys, post
        gui = server.gui
        self.name = gui.add_text("name", "pose 1")
        self.pose = gui.add_dropdown("pose", (NO_POSE,))
        row = gui.add_button_group("", ("save", "apply", "delete"))
        run = {"save": self.save, "apply": self.apply, "delete": self.delete}
        on_press(row, lambda name: self._post(run[name]))

    def save(self, session: PosingSession) -> None:
        """Keep the pose of the session by the name in the field."""
        self.keys.save_pose(self.name.value, session.q)
        self.show()
        self.pose.value = self.name.value.strip()
        self.name.value = f"pose {len(self.keys.poses) + 1}"

    def apply(self, session: PosingSession) -> None:
        """Give the session the chosen pose."""
        if self.pose.value in self.keys.poses:
            session.set_pose(self.keys.poses[self.pose.value])

    def delete(self, session: PosingSession) -> None:
        """Remove the chosen pose."""
        if self.pose.value in self.keys.poses:
            self.keys.delete_pose(self.pose.value)
            self.show()

    def show(self) -> None:
        """Show the names of the poses."""
        options = tuple(self.keys.poses) or (NO_POSE,)
        if options != tuple(self.pose.options):
            self.pose.options = options
