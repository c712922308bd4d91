"""A proxy that forwards TCP connections and drops some of them in the middle."""

from __future__ import annotations

import random
import socket
import threading
from contextlib import suppress


class DroppingProxy:
    """Forwards to a port of this machine; a share of the connections is cut after some bytes."""

    def __init__(self, port: int, share: float, seed: int = 0):
        self.target, self.share, self.dropped = port, share, 0
        self._random = random.Random(seed)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                try:
                    far = socket.create_connection(("127.0.0.1", self.target))
                except OSError:
                    near.close()
                    continue
                drops = self._random.random() < self.share
                budget = [self._random.randint(0, 20_000) if drops else 1 << 60]
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(
                        target=self._forward, args=(source, sink, budget), daemon=True
                    ).start()

    def _forward(self, source: socket.socket, sink: socket.socket, budget: list[int]) -> None:
        with suppress(OSError):
            while len(data := source.recv(4096)) > 0:
                budget[0] -= len(data)
                if budget[0] < 0:
                    self.dropped += 1
                    break
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
