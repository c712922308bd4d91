"""What both viewers share: a server, its address, its end, and a hint about blank pages."""

from __future__ import annotations

import logging
import threading
import webbrowser
from typing import Any, Self

from exactik.studio.viewer.page.server import stop_server

BLANK_PAGE_S = 10.0  # from an open socket to a page that must have drawn something
BLANK_PAGE_HINT = (
    "A page has connected but draws nothing. Its browser may be without WebGL: try another one, "
    "switch hardware acceleration on, or write a file with exactik play FILE -o out.glb."
)

log = logging.getLogger("exactik.studio.viewer")


class Viewer:
    """A page that is open until it is closed."""

    def __init__(self, server: Any, host: str):
        """Take over a viser server that listens on a host."""
        self.server = server
        name = "localhost" if host == "::1" else host
        self.url = f"http://{name}:{server.get_port()}"
        self._closed = threading.Event()
        self._hinted = False
        # A browser without WebGL opens the socket but never sends its camera, which is what makes
        # it a client for viser: only the socket shows that somebody is waiting.
        server._websock_server.on_client_connect(self._on_connect)

    def wait(self) -> None:
        """Return when `close` is called, or Ctrl-C is pressed."""
        try:
            self._closed.wait()
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
        if not self._closed.is_set():
            self._closed.set()
            self._stop()
            stop_server(self.server)

    def _stop(self) -> None:
        """End what runs beside the server."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _on_connect(self, connection: Any) -> None:
        loop = self.server.get_event_loop()
        loop.call_soon_threadsafe(
            loop.call_later, BLANK_PAGE_S, self._warn_if_blank, connection.client_id
        )

    def _warn_if_blank(self, client: int) -> None:
        connected = client in self.server._websock_server._client_state_from_id
        if connected and client not in self.server.get_clients() and not self._hinted:
            self._hinted = True
            log.warning(BLANK_PAGE_HINT)
