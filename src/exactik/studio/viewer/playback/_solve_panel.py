"""Widgets that solve the recording on the page: the figure, progress, the verdict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from exactik.recordings.labelling import split_subjects
from exactik.recordings.pipeline import ALL_SUBJECTS, LoadedSkeleton, read_skeleton
from exactik.studio.viewer.page.upload import add_open_button, describe_error
from exactik.studio.viewer.page.widgets import escape_markdown, on_value
from exactik.studio.viewer.playback._data import PlaybackData, UnsolvedRecording
from exactik.studio.viewer.playback._opening import FIGURE_SUFFIXES, open_figure
from exactik.studio.viewer.playback._solving import SolveJob

if TYPE_CHECKING:
    from exactik.studio.viewer.playback._app import MotionViewer


HUMAN = "human"
SOLVE, CANCEL = "Solve", "Cancel"
PROGRESS_STEP = 0.01  # of the bar: finer ones are not seen, and each is a message


class SolvePanel:
    """Which figure to solve with, and how it goes.

    Attributes:
        job: the solve that goes on or has ended, None before the first.
        button: begins or cancels it.
        text: what is to be said, in Markdown.
    """

    def __init__(self, viewer: MotionViewer, recording: UnsolvedRecording):
        """Add the widgets to the panel."""
        self.viewer, self.recording = viewer, recording
        self.job: SolveJob | None = None
        self._shown_share = -1.0
        gui = viewer.server.gui
        with gui.add_folder("solve"):
            self.figure = gui.add_dropdown("figure", self._list_figures())
            self.figure.value = self.figure.options[-1]
            self.fit = gui.add_checkbox(
                "fit to the subject", True, hint="Size and markers, before it is solved."
            )
            self._suggest_fit()
            subjects = tuple(split_subjects(recording.markers))
            self.subject: Any = None
            if len(subjects) > 1:
                self.subject = gui.add_dropdown("subject", (*subjects, ALL_SUBJECTS))
            self.button = gui.add_button(SOLVE)
            self.bar = gui.add_progress_bar(0.0, visible=False)
            self.text = gui.add_markdown("")
            self.open = add_open_button(
                gui,
                viewer.uploads,
                "open a figure…",
                FIGURE_SUFFIXES,
                lambda path: self.add_figure(open_figure(path)),
                self.say,
            )
            self.back: Any = None
            if viewer.data.has_figure:
                self.back = gui.add_button("back to the markers", color="gray")
                self.back.on_click(lambda _: viewer.show_data(PlaybackData.of(recording)))
        on_value(self.figure, lambda _: self._suggest_fit())
        self.button.on_click(lambda _: self.press())  # in a thread of its own

    def _list_figures(self) -> list[str]:
        return [HUMAN, *(_name_figure(figure) for figure in self.viewer.figures)]

    def _find_figure(self) -> LoadedSkeleton:
        """Return the chosen figure; of several with one name the last that was opened."""
        for figure in reversed(self.viewer.figures):
            if _name_figure(figure) == self.figure.value:
                return figure
        return read_skeleton(HUMAN)

    def _suggest_fit(self) -> None:
        """The built-in figure has nobody's size; a file's is taken as it is."""
        self.fit.value = self.figure.value == HUMAN

    def add_figure(self, figure: LoadedSkeleton) -> None:
        """Offer a figure, and choose it."""
        self.viewer.figures = (*self.viewer.figures, figure)
        self.figure.options = list(dict.fromkeys(self._list_figures()))
        self.figure.value = _name_figure(figure)
        self._suggest_fit()
        self.say(f"{_name_figure(figure)}: a figure of {len(figure.skeleton.bones)} bones.")

    def say(self, sentence: str) -> None:
        """Show a sentence, in which nothing is markup."""
        self.text.content = escape_markdown(sentence)

    def press(self) -> None:
        """Begin to solve, or cancel it."""
        if self.job is not None and self.job.running:
            self.job.cancel()
            self.say("ending …")
            return
        figure = self._find_figure()
        if len(figure.skeleton.markers) == 0:
            name = _name_figure(figure)
            self.say(
                f"{name} has no markers; expected a figure that has, such as one that "
                "`exactik calibrate` or `exactik solve --take` made."
            )
            return
        self.button.label, self.bar.visible = CANCEL, True
        self.say("")
        self.job = SolveJob(
            self.recording,
            figure,
            bool(self.fit.value),
            None if self.subject is None else self.subject.value,
            on_progress=self._show_progress,
            on_done=self._show,
            on_failed=lambda error: self._end(describe_error(error)),
            on_cancelled=lambda: self._end("Cancelled."),
        )

    def _show(self, solved: PlaybackData) -> None:
        if self.viewer.panel.solve is self:  # else another file has been opened meanwhile
            self.viewer.show_data(solved)

    def _show_progress(self, what: str, share: float) -> None:
        if abs(share - self._shown_share) < PROGRESS_STEP and 0.0 < share < 1.0:
            return
        self._shown_share = share
        self.bar.value = 100.0 * share
        self.say(f"{what}: {100.0 * share:.0f} %")

    def _end(self, sentence: str) -> None:
        self.button.label, self.bar.visible = SOLVE, False
        self.say(sentence)

    def close(self) -> None:
        """End what goes on."""
        if self.job is not None:
            self.job.cancel()


def _name_figure(figure: LoadedSkeleton) -> str:
    return Path(figure.name).name
