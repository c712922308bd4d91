"""A recording that is solved from the page: in a thread, with progress, until it is cancelled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from exactik.errors import ExactikError
from exactik.recordings.pipeline import LoadedSkeleton, SolvedRecording, solve_recording
from exactik.studio.viewer.playback._data import PlaybackData, UnsolvedRecording


class _SolveCancelled(Exception):
    """Ends a solve between two reports of progress."""


class SolveJob:
    """A solve in a thread of its own. It ends with exactly one call: done, failed or cancelled."""

    def __init__(
        self,
        recording: UnsolvedRecording,
        figure: LoadedSkeleton,
        fit: bool,
        subject: str | None = None,
        *,
        on_progress: Callable[[str, float], object],
        on_done: Callable[[PlaybackData], object],
        on_failed: Callable[[Exception], object],
        on_cancelled: Callable[[], object],
    ):
        """Begin.

        Args:
            fit: whether its size and markers are fitted to the subject first.
            subject: which one, "all" for each; the first if None.
            on_progress: is called with what is being done, and the share of it that is, 0 to 1.
            on_done: is called with what is to be shown.
        """
        self._recording, self._figure, self._fit = recording, figure, fit
        self._subject = subject
        self._on_progress, self._on_done = on_progress, on_done
        self._on_failed, self._on_cancelled = on_failed, on_cancelled
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="exactik solving", daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether it goes on."""
        return self._thread.is_alive()

    def cancel(self) -> None:
        """Let it end as soon as it can."""
        self._stop.set()

    def join(self, seconds: float) -> None:
        """Wait for its end, no longer than so [s]."""
        self._thread.join(seconds)

    def _run(self) -> None:
        try:
            shown = self._solve()
        except _SolveCancelled:
            self._on_cancelled()
        except ExactikError as error:
            self._on_failed(error)
        except Exception as error:  # the page must not wait for what never comes
            self._on_failed(error)
            raise
        else:
            self._on_done(shown)

    def _solve(self) -> PlaybackData:
        figure = self._figure
        self._report("preparing", 0, 1)
        solved = solve_recording(
            self._recording.markers,
            figure,
            up_origin=self._recording.up_origin,
            fit=self._fit,
            subject=self._subject,
            progress=self._report,
        )
        self._report("judging", 0, 1)
        shown = make_solved_playback(self._recording, solved)
        self._report("judging", 1, 1)
        return shown

    def _report(self, what: str, done: int, total: int) -> None:
        if self._stop.is_set():
            raise _SolveCancelled
        self._on_progress(what, done / max(total, 1))


def make_solved_playback(
    recording: UnsolvedRecording, solved: Sequence[SolvedRecording]
) -> PlaybackData:
    """Return a solved recording as it is shown: with its verdict, and to be solved again.

    Args:
        solved: its subjects; the first is shown with its errors, the others as ghosts beside it.
    """
    first, *others = solved
    verdicts = [f"{one.subject}: {one.verdict}" if others else str(one.verdict) for one in solved]
    notes = (*recording.notes, *first.notes)
    shown = PlaybackData.of(first.track, references=[one.track.motion for one in others])
    motion = replace(shown.figure_motion, source=Path(recording.markers.source).name)
    verdict = " ".join(verdicts)
    return replace(shown, motion=motion, unsolved=recording, verdict=verdict, notes=notes)
