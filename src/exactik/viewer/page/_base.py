"""What all viewers share: a server, its address, its end, and a word about empty pages."""

from __future__ import annotations

import logging
import threading
import webbrowser
from typing import Any, Self

from exactik.viewer.page._server import stop

__all__ = ["Viewer"]

PATIENCE = 10.0  # [s] from an open socket to a page that draws
HINT = (
    "A page has connected but draws nothing. Its browser may be without WebGL: try another one, "
    "switch hardware acceleration on, or write a file with exactik play FILE --export out.glb."
)

log = logging.getLogger("exactik.viewer")


class Viewer:
    """A page that is open until it is closed.

    Attributes:
        server: viser's.
        url: where the page is.
    """

    def __init__(self, server: Any, host: str):
        """Take over a server that listens on a host."""
        self.server = server
        shown = "localhost" if host == "::1" else host
        self.url = f"http://{shown}:{server.get_port()}"
        self._ended = threading.Event()
        self._hinted = False
        # A browser without WebGL opens the socket but never says where its camera is, which is
        # what makes it a client: only the socket itself tells that somebody is waiting.
        server._websock_server.on_client_connect(self._opened)

    def wait(self) -> None:
        """Return when `close` is called, or Ctrl-C is pressed."""
        try:
            self._ended.wait()
        except KeyboardInterrupt:
            pass

    def serve(self, browser: bool = True) -> None:
        """Open the page in a browser, if asked to, and return when Ctrl-C is pressed, closed."""
        if browser:
            webbrowser.open(self.url)
        try:
            self.wait()
        finally:
            self.close()

    def close(self) -> None:
        """Stop the server; a second time does nothing."""
        if not self._ended.is_set():
            self._ended.set()
            self._stop()
            stop(self.server)

    def _stop(self) -> None:
        """End what runs beside the server."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _opened(self, connection: Any) -> None:
        loop = self.server.get_event_loop()
        loop.call_soon_threadsafe(loop.call_later, PATIENCE, self._look, connection.client_id)

    def _look(self, client: int) -> None:
        open_ = client in self.server._websock_server._client_state_from_id
        if open_ and client not in self.server.get_clients() and not self._hinted:
            self._hinted = True
            log.warning(HINT)
