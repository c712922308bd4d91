"""A viser server that only this machine can talk to.

As it comes, viser listens on all interfaces, answers pages of any origin, and opens a public tunnel
for whoever asks. Here it listens on the loopback interface, answers only requests whose Host is
this server and whose Origin, where there is one, is its own page (a page of somebody else in the
same browser, and a name that was re-bound to 127.0.0.1, are both refused), takes files of a bounded
size, and knows no tunnel. viser checks no message: what makes no sense is one line in the log.
"""

from __future__ import annotations

import asyncio
import errno
import inspect
import ipaddress
import logging
import socket
import threading
import traceback
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from exactik.errors import UsageError, one_line
from exactik.studio.viewer.page.upload import MAX_UPLOAD_BYTES, limit_uploads

MAX_PORT = 65535  # 16 bits, by TCP
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")

PACKAGE = str(Path(__file__).parents[2])

log = logging.getLogger("exactik.studio.viewer.server")
_serve_patch_lock = threading.Lock()


def import_viser() -> Any:
    """Return the module viser; raise with the way to install it if it is missing."""
    try:
        import viser
    except ImportError as error:
        raise UsageError(
            f"the viewer needs viser ({error}); in a clone of exactik: pip install '.[viewer]'"
        ) from None
    return viser


def start_guarded_server(
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    expose: bool = False,
    allowed_origins: Iterable[str] = (),
    label: str | None = None,
) -> Any:
    """Start a viser server that answers its own page only.

    Args:
        host: where to listen; anything but loopback needs `expose`.
        port: 0 for any that is free. One that is taken is an error, not another port.
        expose: allow other machines to connect. There is no password: they can do what you can.
        allowed_origins: further origins to answer, such as "https://hub.example" of a proxy.
    """
    if not expose and not _is_loopback(host):
        raise UsageError(f"host {host!r} is open to other machines; that takes expose=True")
    _check_port(host, port)
    viser = import_viser()
    from websockets.asyncio import server as sockets

    origins = tuple(allowed_origins)
    serve = sockets.serve

    def guarded_serve(*arguments: Any, process_request: Any = None, **options: Any) -> Any:
        check = _make_request_check(process_request, None if expose else LOOPBACK, origins)
        return serve(*arguments, process_request=check, logger=log, **options)

    # viser has no hook for requests, so `serve` is replaced while it is called. The constructor
    # returns when the server listens: the replacement lasts no longer than that.
    with _serve_patch_lock:
        sockets.serve = guarded_serve
        try:
            with redirect_stdout(StringIO()):  # its banner; we print the address ourselves
                server = viser.ViserServer(host=host, port=port, label=label, verbose=False)
        finally:
            sockets.serve = serve
    server.request_share_url = lambda *_, **__: None
    limit_uploads(server)
    loop = server.get_event_loop()
    loop.call_soon_threadsafe(loop.set_exception_handler, _log_task_error)
    return server


def stop_server(server: Any) -> None:
    """Stop a server; viser's message is not printed."""
    with redirect_stdout(StringIO()):
        server.stop()


def is_request_allowed(
    host: str | None,
    origins: list[str],
    hosts: tuple[str, ...] | None,
    further: tuple[str, ...] = (),
) -> bool:
    """Return whether a request may be answered.

    Args:
        origins: all Origin headers; a browser sends one with every web socket.
        hosts: names that this server may be called; None for any.
        further: origins to answer besides the server's own.
    """
    if host is None or len(origins) > 1:
        return False
    if len(origins) == 1 and origins[0] in further:
        return True
    name = host.lower().rpartition(":")[0] if not host.endswith("]") and ":" in host else host
    if hosts is not None and name.lower() not in hosts:
        return False
    try:
        return len(origins) == 0 or urlsplit(origins[0]).netloc.lower() == host.lower()
    except ValueError:  # no address at all, such as "http://[::1"
        return False


def _is_fault_of_ours(error: BaseException) -> bool:
    """Return whether code of this package was running: then its traceback is worth reading."""
    frames = traceback.extract_tb(error.__traceback__)
    return any(frame.filename.startswith(PACKAGE) for frame in frames)


def _describe_odd_message(what: str, error: BaseException) -> str:
    return one_line(f"{what}: {type(error).__name__} {error}")


def _log_task_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log what a message to viser led to."""
    error = context.get("exception")
    if error is None or _is_fault_of_ours(error):
        loop.default_exception_handler(context)
    else:
        log.warning(_describe_odd_message("a page sent what makes no sense", error))


def _shorten_record(record: logging.LogRecord) -> bool:
    """Leave out the traceback of what websockets logs of a connection that failed."""
    error = None if record.exc_info is None else record.exc_info[1]
    if error is not None and not _is_fault_of_ours(error):
        record.msg, record.args = _describe_odd_message(record.getMessage(), error), ()
        record.exc_info = None
    return True


log.addFilter(_shorten_record)


def _make_request_check(
    answer: Callable[..., Any] | None, hosts: tuple[str, ...] | None, further: tuple[str, ...]
) -> Callable[..., Any]:
    """Return a function that checks a request before viser answers it."""

    async def check_request(connection: Any, request: Any) -> Any:
        headers = request.headers
        hosts_given = headers.get_all("Host")
        host = hosts_given[0] if len(hosts_given) == 1 else None
        if not is_request_allowed(host, headers.get_all("Origin"), hosts, further):
            return connection.respond(HTTPStatus.FORBIDDEN, "This server answers its own page.\n")
        is_socket = headers.get("Upgrade") == "websocket"
        if not is_socket and request.path.partition("?")[0] in ("/", "/index.html"):
            return make_page_response()
        try:
            response = None if answer is None else answer(connection, request)
            return await response if inspect.isawaitable(response) else response
        except (OSError, ValueError):  # a path that no file system takes
            return connection.respond(HTTPStatus.NOT_FOUND, "No such page.\n")

    return check_request


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _check_port(host: str, port: int) -> None:
    """Raise if no server could listen there: viser would wait for ever, or take another port."""
    if not 0 <= port <= MAX_PORT:  # the system's resolver takes the remainder, without a word
        raise UsageError(f"port is {port}; expected 0 (any that is free) to {MAX_PORT}")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except (OSError, OverflowError) as error:
        why = str(error)
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            why = "another program does; port 0 takes any that is free"
        raise UsageError(f"cannot listen on {host}:{port}: {why}") from None


# --- viser's page with scripts of ours before its own
#
# viser 1.1 bends meshes of one colour only. What it loads as GLB has materials and textures, but
# stands still; _driver.js moves the bones of such a file. _desk.js tells what viser does not tell,
# _timeline.js draws a timeline, _labels.js keeps names from covering each other, and _uploads.js
# refuses files that are too large before they are sent.


HEAD = "<head>"
# Behind the scene: not quite white and not quite black, which robots are.
GROUNDS = {"light": "#f1f3f6", "dark": "#2a2f35"}
STYLE = "".join(
    f'<style>[data-mantine-color-scheme="{scheme}"] canvas[data-engine]'
    f"{{background:{ground}}}</style>"
    for scheme, ground in GROUNDS.items()
)


@cache
def read_script(name: str) -> str:
    """Return a script of this folder."""
    text = files("exactik.studio.viewer.page").joinpath(name).read_text(encoding="utf-8")
    return text.replace("__MAX_UPLOAD_BYTES__", str(MAX_UPLOAD_BYTES))


def add_driver(page: str) -> str:
    """Return a page of viser with the script that moves skins before all others, and a style."""
    return _add_script(page.replace(HEAD, HEAD + STYLE, 1), "_driver.js")


def _add_script(page: str, name: str) -> str:
    return page.replace(HEAD, f"{HEAD}<script>{read_script(name)}</script>", 1)


@cache
def read_page() -> bytes:
    """Return viser's page with all scripts."""
    import viser

    path = Path(viser.__file__).parent / "client" / "build" / "index.html"
    page = add_driver(path.read_text(encoding="utf-8"))
    for name in ("_timeline.js", "_desk.js", "_uploads.js", "_labels.js"):
        page = _add_script(page, name)
    return page.encode()


def make_page_response() -> Any:
    """Return the answer to a request for the page; it is hardly smaller when compressed."""
    from websockets.datastructures import Headers
    from websockets.http11 import Response

    body = read_page()
    headers = {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(body))}
    return Response(int(HTTPStatus.OK), "OK", Headers(**headers), body)
