"""The thread that advances a posing session: the latest target counts, and no caller waits.

Sources of events (a browser, a test) post commands, which only appends to a list. The worker takes
all that were posted, of many drags of a handle the last, advances the session by the time that
passed, and reports the pose. It runs at a steady rate while anything moves, earlier when a command
comes, and sleeps when nothing moves.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from exactik.solvers import Result
from exactik.studio.viewer.posing._session import PosingSession, Update

Command = Callable[[PosingSession], object]

MIN_PERIOD_SHARE = 0.25  # of the period between two updates, however soon a command comes
MAX_STEP_S = 0.1  # time that one update advances by, however long the machine was busy

log = logging.getLogger(__name__)


class Mailbox:
    """Posted commands that were not taken yet, in order, with the last drag of each handle.

    A drag replaces an earlier one of the same handle unless a command came in between, so that a
    release always follows the last drag.
    """

    def __init__(self) -> None:
        """Begin empty."""
        self._ready = threading.Condition()
        self._items: list[Command] = []
        self._drags: dict[str, int] = {}
        self._closed = False

    def post(self, command: Command) -> None:
        """Add a command, to be called with the session."""
        with self._ready:
            self._drags.clear()
            self._items.append(command)
            self._ready.notify()

    def drag(self, name: str, position: Any = None, rotation: Any = None) -> None:
        """Add a drag; it replaces one of the same handle that was not taken yet."""

        def command(session: PosingSession) -> None:
            session.drag(name, position, rotation)

        with self._ready:
            index = self._drags.get(name)
            if index is None:
                self._drags[name] = len(self._items)
                self._items.append(command)
            else:
                self._items[index] = command
            self._ready.notify()

    def close(self) -> None:
        """Wake all waiting threads, for good."""
        with self._ready:
            self._closed = True
            self._ready.notify_all()

    def take(self, wait: float | None = 0.0) -> list[Command]:
        """Remove and return all commands, in order.

        Args:
            wait: longest time to wait for a command [s]; None for no limit.
        """
        with self._ready:
            if len(self._items) == 0 and not self._closed and wait != 0.0:
                self._ready.wait(wait)
            items, self._items = self._items, []
            self._drags.clear()
            return items

    def wait(self, seconds: float) -> None:
        """Wait for a command, for so long [s] at most; do not take it."""
        with self._ready:
            if len(self._items) == 0 and not self._closed:
                self._ready.wait(max(seconds, 0.0))

    def __len__(self) -> int:
        return len(self._items)


class PosingWorker:
    """One thread that advances a session and reports its poses.

    Attributes:
        rate: updates a second while something moves [Hz].
    """

    def __init__(
        self,
        session: PosingSession,
        on_update: Callable[[Update], object],
        on_rest: Callable[[Update, Result | None], object] | None = None,
        *,
        rate: float = 60.0,
        name: str = "exactik posing",
    ):
        """Prepare the thread; `start` begins.

        Args:
            on_update: called in the worker's thread with every new pose.
            on_rest: called once when the figure has come to rest, with the verdict.
            rate: updates a second while something moves [Hz].
        """
        self.session, self.mailbox, self.rate = session, Mailbox(), float(rate)
        self._on_update, self._on_rest = on_update, on_rest
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> PosingWorker:
        """Begin; return the worker itself."""
        self._thread.start()
        return self

    def stop(self, wait: float = 5.0) -> bool:
        """End the thread after its present update; return whether it has ended in time."""
        self._stop.set()
        self.mailbox.close()
        if self._thread.ident is not None and self._thread is not threading.current_thread():
            self._thread.join(wait)
        return not self._thread.is_alive()

    def __enter__(self) -> PosingWorker:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def post(self, command: Command) -> None:
        """Call a command with the session, in the worker's thread."""
        self.mailbox.post(command)

    def drag(self, name: str, position: Any = None, rotation: Any = None) -> None:
        """Move the target of a handle; of many calls between two updates the last counts."""
        self.mailbox.drag(name, position, rotation)

    def _run(self) -> None:
        period, last, reported = 1.0 / self.rate, time.perf_counter(), True
        while not self._stop.is_set():
            asleep = self.session.resting and reported
            commands = self.mailbox.take(None if asleep else 0.0)
            if self._stop.is_set():
                break
            begin = time.perf_counter()
            if asleep:
                last = begin - period
            for command in commands:
                self._call_logged(command, self.session)
            passed, last = min(begin - last, MAX_STEP_S), begin
            if len(commands) > 0 or not self.session.resting:
                reported = False
                update = self._call_logged(self.session.advance, passed)
                if update is not None:
                    self._call_logged(self._on_update, update)
            if self.session.resting and not reported and len(self.mailbox) == 0:
                reported = True
                if self._on_rest is not None:
                    self._call_logged(self._report_rest)
            # The next update is due after a period, or soon after the next command.
            self._stop.wait(max(0.0, begin + MIN_PERIOD_SHARE * period - time.perf_counter()))
            self.mailbox.wait(begin + period - time.perf_counter())

    def _report_rest(self) -> None:
        assert self._on_rest is not None
        self._on_rest(self.session.advance(0.0), self.session.verdict())

    def _call_logged(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function of the user; an exception is logged and the thread goes on."""
        try:
            return function(*arguments)
        except Exception:
            log.exception("posing: %s failed", getattr(function, "__qualname__", function))
            return None
