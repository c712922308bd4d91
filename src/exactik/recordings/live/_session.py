"""From a source to where poses go: a thread that receives, and the one that solves.

What comes is stamped and queued at once, so that nothing is lost while a frame is solved. Frames
that come late, after a later one, are left out; so are those that have waited too long. A source
that is lost is looked for again; what goes wrong is said, and nothing but the end of the source, or
who started it, ends it.
"""

from __future__ import annotations

import gc
import queue
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from exactik._text import count_noun
from exactik._threads import keep_blas_on_one_thread
from exactik.errors import ExactikError
from exactik.recordings.live._frames import (
    FrameSource,
    LiveFrame,
    LivePose,
    PoseSink,
    SourceLostError,
)
from exactik.recordings.live._order import FrameOrder
from exactik.recordings.live._solver import LiveSolver
from exactik.typing import IntArray

MAX_WAIT_SECONDS = 1.0  # [s] that a frame may wait to be solved; older ones are dropped
MIN_PREPARE_SECONDS = 0.1  # [s] of frames that tell unit, axes and names
CATCH_UP_SECONDS = 5.0  # [s] in which frames that came while all was prepared are to be solved
SILENCE_SECONDS = 1.0  # [s] without a frame, after which that is said
RETRY_SECONDS = 1.0  # [s] until a source that is lost is looked for again
SAY_AGAIN_SECONDS = 5.0  # [s] until the same kind of thing is said again
BIN_SECONDS, BINS = 1e-5, 100_000  # of the histogram of latencies: 10 µs up to 1 s
SWITCH_SECONDS = 2e-4  # [s] after which Python's threads take turns, in place of 5 ms
UNSOLVED = 64  # frames that wait for the solver if the source can wait too


@dataclass
class LiveReport:
    """What came of it."""

    frames: int = 0  # that came
    solved: int = 0
    lost: int = 0  # poses that too few markers told
    late: int = 0  # frames that came after a later one
    dropped: int = 0  # frames that waited too long
    missed: int = 0  # frames that never came, by their numbers
    restarts: int = 0  # of the source
    seconds: float = 0.0  # from the first frame to the last
    written: list[str] = field(default_factory=list)  # by the sinks, in words
    said: Counter[str] = field(default_factory=Counter)  # how often each kind of thing happened
    latencies: IntArray = field(default_factory=lambda: np.zeros(BINS + 1, dtype=np.int64))

    def latency(self, share: float) -> float:
        """Return the time from arrival to the last sink [s] that a share of the poses kept.

        Without those of frames that came while all was prepared.
        """
        total = np.cumsum(self.latencies)
        if total[-1] == 0:
            return float("nan")
        return BIN_SECONDS * float(np.searchsorted(total, share * total[-1]) + 1)

    @property
    def rate(self) -> float:
        """Frames a second that came [Hz]."""
        return (self.frames - 1) / self.seconds if self.seconds > 0.0 else 0.0

    def describe(self) -> str:
        """Return all of it in a sentence or two."""
        counts = [
            f"{count_noun(self.solved, 'pose')} of {count_noun(self.frames, 'frame')}",
            f"{self.rate:.0f} Hz",
        ]
        if self.latencies.any():
            usual, most = (1e3 * self.latency(share) for share in (0.5, 0.999))
            counts.append(f"latency {usual:.1f} ms (99.9 %: {most:.1f})")
        faults = [
            f"{count} {word}"
            for word, count in (
                ("missed", self.missed),
                ("late", self.late),
                ("dropped", self.dropped),
                ("without a pose", self.lost),
            )
            if count > 0
        ]
        return f"{', '.join(counts)}; {', '.join(faults) or 'nothing lost'}"


class LiveSession:
    """Solves what a source gives until it ends, or `stop` is set.

    Attributes:
        report: what came so far.
        latest: the last pose; None before the first.
        solver: None until it is prepared.
        stop: set to end.
    """

    def __init__(
        self,
        source: FrameSource,
        prepare: Callable[[Sequence[LiveFrame]], LiveSolver] | LiveSolver,
        sinks: Callable[[LiveSolver], Sequence[PoseSink]] | None = None,
        say: Callable[[str], object] = print,
        *,
        prepare_seconds: float = MIN_PREPARE_SECONDS,
        retry_seconds: float = RETRY_SECONDS,
    ):
        """Begin with nothing.

        Args:
            source: of the frames.
            prepare: a solver, or what makes one of the first frames.
            sinks: makes the places where poses go, when the first are there (`latest`).
            say: is called with what happens, a sentence each, from any thread.
            prepare_seconds: of frames that `prepare` gets [s].
            retry_seconds: until a source that is lost is looked for again [s].
        """
        self.source, self.report, self.stop = source, LiveReport(), threading.Event()
        self.solver: LiveSolver | None = None
        self.latest: LivePose | None = None
        self._prepare = (lambda _: prepare) if isinstance(prepare, LiveSolver) else prepare
        self._prepare_seconds = 0.0 if isinstance(prepare, LiveSolver) else prepare_seconds
        self._retry_seconds = retry_seconds
        self._make_sinks, self._sinks = sinks or (lambda _: ()), list[PoseSink]()
        self._say, self._said_at = say, dict[str, float]()
        self._queue: queue.SimpleQueue[LiveFrame | None] = queue.SimpleQueue()
        self._first: list[LiveFrame] = []
        self._order, self._catch_up_until = FrameOrder(), 0.0
        self._heard, self._is_silent, self._is_lost = time.perf_counter(), False, False

    def run(self) -> LiveReport:
        """Solve until the end; return what came of it."""
        receiver = threading.Thread(target=self._receive, name="exactik receiving", daemon=True)
        with _steady_threads(), keep_blas_on_one_thread():
            receiver.start()
            try:
                self._solve_all()
            finally:
                self.stop.set()
                self._end()
                receiver.join(timeout=SILENCE_SECONDS)
        return self.report

    def tell(self, kind: str, text: str) -> None:
        """Say something, unless the same kind of thing was said just now; it is counted."""
        self.report.said[kind] += 1
        now = time.perf_counter()
        if now - self._said_at.get(kind, -np.inf) > SAY_AGAIN_SECONDS:
            self._said_at[kind] = now
            self._say(text)

    def _receive(self) -> None:
        """Run the source until it ends, again where it is lost."""
        while not self.stop.is_set():
            try:
                self.source.run(self._deliver, lambda text: self.tell("odd", text), self.stop)
                break
            except (SourceLostError, OSError) as error:
                self.tell("lost source", f"{error}; it is looked for again")
            except ExactikError as error:
                self.tell("wrong source", str(error))
                break
            except Exception as error:  # a fault of somebody's package shall not end a session
                self.tell("odd source", f"{self.source.title}: {type(error).__name__} {error}")
            self.report.restarts += 1
            self.stop.wait(self._retry_seconds)
        self._queue.put(None)

    def _deliver(self, frame: LiveFrame) -> None:
        self._queue.put(frame)
        while self.source.waits and self._queue.qsize() > UNSOLVED and not self.stop.is_set():
            time.sleep(1e-4)

    def _solve_all(self) -> None:
        while not self.stop.is_set():
            try:
                frame = self._queue.get(timeout=0.1)
            except queue.Empty:
                self._notice_silence()
                continue
            if frame is None:
                break
            self._take(frame)
        while not self._queue.empty():  # what came before the end was asked for
            frame = self._queue.get()
            if frame is not None:
                self._take(frame)
        if self.solver is None and len(self._first) > 0:
            self._begin()

    def _take(self, frame: LiveFrame) -> None:
        """Solve a frame that came, if it is worth it."""
        report, now = self.report, time.perf_counter()
        report.frames += 1
        if report.frames == 1:
            self._began = frame.arrival
        if self._is_silent:
            self._say(f"frames again, after {frame.arrival - self._heard:.1f} s")
            self._is_silent = False
        self._heard = frame.arrival
        report.seconds = frame.arrival - self._began
        restarts = self._order.restarts
        placed = self._order.place(frame, self.source.rate)
        report.missed = self._order.missed
        if self._order.restarts > restarts:
            self.tell("restarted", f"the source counts anew, from frame {frame.number}")
        if placed is None:
            report.late += 1
            self.tell("late", f"frame {frame.number} came after a later one: left out")
            return
        if self.solver is None:
            self._first.append(placed)
            if (placed.time or 0.0) - (self._first[0].time or 0.0) >= self._prepare_seconds:
                self._begin()
            return
        waited = now - frame.arrival
        if self._queue.empty() or now > self._catch_up_until:
            self._catch_up_until = 0.0
        is_catching_up = self.source.waits or self._catch_up_until > 0.0
        if waited > MAX_WAIT_SECONDS and not is_catching_up and not self._queue.empty():
            report.dropped += 1
            self.tell("dropped", f"a frame has waited for {1e3 * waited:.0f} ms: left out")
            return
        for pose in self._step(placed):
            self._give(pose)

    def _begin(self) -> None:
        """Prepare the solver from the first frames; go on where that fails."""
        frames, self._first = self._first, []
        try:
            self.solver = self._prepare(frames)
        except ExactikError as error:
            if self.source.waits:
                raise
            self.tell("not prepared", f"not yet: {error}")
            return
        self._catch_up_until = time.perf_counter() + CATCH_UP_SECONDS
        poses = [pose for frame in frames for pose in self._step(frame)]
        self.latest = poses[-1] if len(poses) > 0 else None
        self._sinks = list(self._make_sinks(self.solver))
        for pose in poses:
            self._give(pose)
        gc.collect()
        gc.freeze()  # what is there stays; collections look at what is new

    def _step(self, frame: LiveFrame) -> list[LivePose]:
        assert self.solver is not None
        try:
            return self.solver.step(frame)
        except (ExactikError, ArithmeticError, ValueError) as error:
            self.tell("unsolved", f"frame {frame.number} was not solved: {error}")
            return []

    def _give(self, pose: LivePose) -> None:
        for event in pose.events:
            self.tell(event.kind, f"{pose.time:.2f} s: {event.text}")
        if pose.is_lost != self._is_lost:
            self._is_lost = pose.is_lost
            what = "too few markers: the pose is held" if pose.is_lost else "markers again"
            self.tell(what, f"{pose.time:.2f} s: {what}")
        for sink in list(self._sinks):
            try:
                sink.write(pose)
            except (OSError, ExactikError) as error:
                self.tell("sink", f"a pose could not be given: {error}")
        self.report.solved += 1
        self.report.lost += int(pose.is_lost)
        self.latest = pose
        if self._catch_up_until == 0.0:
            latency = time.perf_counter() - pose.arrival
            self.report.latencies[min(int(latency / BIN_SECONDS), BINS)] += 1

    def _notice_silence(self) -> None:
        if not self._is_silent and time.perf_counter() - self._heard > SILENCE_SECONDS:
            self._is_silent = True
            self._say(f"no frame for {SILENCE_SECONDS:.0f} s: waiting for {self.source.title}")

    def _end(self) -> None:
        for pose in [] if self.solver is None else self.solver.flush():
            self._give(pose)
        for sink in self._sinks:
            try:
                words = sink.close()
                self.report.written += [] if words is None else [words]
            except (OSError, ExactikError) as error:
                self._say(f"could not be ended: {error}")


@contextmanager
def _steady_threads() -> Iterator[None]:
    """Let Python's threads take turns often: the one that solves shall not wait for the others."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
        gc.unfreeze()
