"""The posing page: a server, a scene, a panel, a worker."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from exactik.anatomy import stand_up_skeleton
from exactik.errors import UsageError
from exactik.model import Skeleton
from exactik.recordings.pipeline import read_skeleton
from exactik.studio.player.proportions import compute_reach
from exactik.studio.player.scene import MAX_PLACE
from exactik.studio.viewer.page.camera import Framing, WindowSize, keep_in_view, measure_box
from exactik.studio.viewer.page.scene import FigureScene
from exactik.studio.viewer.page.server import start_guarded_server
from exactik.studio.viewer.page.surroundings import set_up_scene
from exactik.studio.viewer.page.upload import Uploads
from exactik.studio.viewer.page.viewer import Viewer
from exactik.studio.viewer.posing._autosave import Autosave
from exactik.studio.viewer.posing._gizmo import GIZMO_PIXELS
from exactik.studio.viewer.posing._robots import release_walker
from exactik.studio.viewer.posing._scene import BalanceScene, HandleScene
from exactik.studio.viewer.posing._session import PosingSession, Update
from exactik.studio.viewer.posing._worker import PosingWorker
from exactik.studio.viewer.posing.panel import Panel

TIMELINE_SIZE = WindowSize(np.inf, 76.0)  # of the bar below the scene, as _timeline.js has it
FIRST_HINT = "Drag a ball, or the figure itself."


class PoseViewer(Viewer):
    """A figure to be posed in a browser.

    Attributes:
        session: the figure; everything that can be done in the browser can be done here.
        worker: the thread that moves it.
    """

    def __init__(
        self,
        skeleton: Skeleton,
        q: ArrayLike | None = None,
        *,
        up_axis: str | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        expose: bool = False,
        autosave: str | os.PathLike[str] | None = None,
    ):
        """Start a server; the page is at `url`.

        Args:
            skeleton: the figure; turned where z is not up for it, so that positions in the session
                have z up. Coordinates stay the same.
            q: first pose, (nq,); the neutral one if None, but see `PosingSession`.
            up_axis: "x", "y" or "z" that is up for the figure at rest; by its shape if None: a head
                is above its feet. A figure whose shape tells nothing is taken as z up.
            host: where to listen; anything but this machine alone needs `expose`.
            port: 0 for any that is free.
            expose: allow other machines to connect; there is no password.
            autosave: folder in which what is on the desk is kept, and offered again; None for not.
        """
        self._autosave_folder = None if autosave is None else Path(autosave)
        skeleton = stand_up_skeleton(skeleton, up_axis)
        session = PosingSession(skeleton, q)
        _require_near(session)
        _warm_up(skeleton)
        label = f"exactik: {skeleton.name}"
        super().__init__(start_guarded_server(host, port, expose=expose, label=label), host)
        self.uploads = Uploads()
        self._replacing = threading.Lock()
        self._build(session)
        keep_in_view(self.server, lambda: self.surroundings.framing)
        self.server.on_client_disconnect(self._release_client)

    def _build(self, session: PosingSession, dark: bool = False) -> None:
        """Make scene, panel and worker for a session, and begin."""
        self.session = session
        box = measure_box(session.pose())
        session.floor = box.floor
        framing = Framing(box.points, covered=TIMELINE_SIZE, around=0.5 * GIZMO_PIXELS)
        self.surroundings = set_up_scene(self.server, box.size, framing, box.floor)
        self.surroundings.set_dark(dark)
        self.worker = PosingWorker(session, self._show, self._show_verdict)
        self.figure = FigureScene(self.server, session.skeleton)
        self.handles = HandleScene(self.server, session, self.worker, self.figure)
        self.balance = BalanceScene(self.server, box.floor)
        self.panel = Panel(
            self.server,
            session,
            self.worker,
            self.handles,
            self.surroundings,
            self.balance,
            uploads=self.uploads,
            open_file=self.open_file,
            say=self._say,
        )
        self._show(session.advance())
        self.panel.status.content = FIRST_HINT
        self.autosave: Autosave | None = None
        if self._autosave_folder is not None:
            self.autosave = Autosave(self._autosave_folder, session, self.panel.keys.keys)
            self.panel.offer(self.autosave)
            self.autosave.start()
        self.worker.start()

    def open_file(self, path: str | os.PathLike[str]) -> None:
        """Pose the figure of a file on the same page, from its first pose; keys begin anew."""
        loaded = read_skeleton(os.fspath(path))
        skeleton = release_walker(stand_up_skeleton(loaded.skeleton, loaded.up))
        session = PosingSession(skeleton)
        _require_near(session)
        _warm_up(skeleton)
        with self._replacing:
            self._stop_posing()
            with self.server.atomic():
                dark = self.surroundings.dark
                self.server.scene.reset()
                self.server.gui.reset()
                self.server.gui.set_panel_label(f"exactik: {skeleton.name}")
                self._build(session, dark)
                self.panel.say(" ".join(map(str, (*loaded.notes, *skeleton.visuals.notes))))
            for client in self.server.get_clients().values():
                self.surroundings.framing.aim(client)

    def _say(self, sentence: str) -> None:
        """Show a sentence in the panel that is there, once it is whole."""
        with self._replacing:
            self.panel.say(sentence)

    async def _release_client(self, client: Any) -> None:
        others = set(self.server.get_clients()) - {client.client_id}
        self.handles.release_client(client.client_id, last=len(others) == 0)

    def _show(self, update: Update) -> None:
        pose, limits = self.session.skeleton.forward(update.q), self.session.limits()
        with self.server.atomic():
            self.figure.draw(pose, limits)
            self.handles.draw(pose)
            self.panel.show(update, limits)
        self.server.flush()  # viser would wait for up to a sixtieth of a second

    def _show_verdict(self, update: Update, verdict: Any) -> None:
        self._show(update)
        self.panel.show_verdict(verdict)
        self.server.flush()

    def _stop_posing(self) -> None:
        self.worker.stop()  # first: it may begin to play
        self.panel.keys.close()
        if self.autosave is not None:
            self.autosave.stop()

    def _stop(self) -> None:
        with self._replacing:
            self._stop_posing()
        self.uploads.close()


def _require_near(session: PosingSession) -> None:
    """Raise an error if a figure is so large, or so far away, that no camera sees it."""
    far = float(np.abs(session.pose().positions).max())
    if far > MAX_PLACE:
        raise UsageError(f"the figure reaches {far:.0e} m; nothing as far is shown")


def _warm_up(skeleton: Skeleton) -> None:
    """Drag an unseen figure, so that the user's first drag does not wait for compilation."""
    session = PosingSession(skeleton)
    for handle in list(session.handles.values())[:1]:
        session.drag(handle.name, handle.position + 0.01 * compute_reach(skeleton))
        session.advance()
        session.verdict()
