"""Run experiments and write everything down."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from exactik.errors import FileError, ModelError
from exactik_papers.experiment import ResultTable
from exactik_papers.hdm05 import load_hdm05
from exactik_papers.page import write_page
from exactik_papers.recording import make_synthetic_recording
from exactik_papers.registry import find_experiments
from exactik_papers.write import Section, write_findings, write_table

__all__ = ["reproduce"]

Watch = Callable[[str, int, int], None]  # experiment, steps done, steps in all


def reproduce(
    name: str,
    out: str | os.PathLike[str],
    *,
    data: str | os.PathLike[str] | None = None,
    progress: Watch = lambda *_: None,
) -> list[Section]:
    """Measure a table or figure of a paper again, or all of them.

    Args:
        name: such as "table4", or "all".
        out: folder for CSV, PNG and index.html; it may exist.
        data: folder of HDM05; None for our own synthetic recording.
        progress: told the experiment, the steps done and those there are.

    Returns:
        What was found, in the order of the page.
    """
    chosen, folder = find_experiments(name), Path(out)
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise ModelError(
            f"figures need matplotlib ({error}); in a clone of exactik: pip install '.[plot]'"
        ) from None
    recording = make_synthetic_recording() if data is None else load_hdm05(Path(data))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(folder, f"cannot be written to: {error.strerror or error}") from None
    chosen_frames = [
        (kind, chosen_kind.take.name, frame, chosen_kind.rule)
        for kind, chosen_kind in recording.kinds.items()
        for frame in chosen_kind.frames.tolist()
    ]
    columns = ("motion", "take", "frame", "rule")
    write_table(ResultTable("frames", "the frames chosen", columns, chosen_frames), folder)
    sections: list[Section] = []
    for experiment in chosen:

        def tell(done: int, total: int, name: str = experiment.name) -> None:
            progress(name, done, total)

        began = time.perf_counter()
        tell(0, 1)
        findings = experiment.run(recording, folder, tell)
        took = time.perf_counter() - began
        sections.append(write_findings(experiment, findings, folder, took))
        times = [(section.experiment.name, section.seconds) for section in sections]
        write_table(ResultTable("seconds", "time taken", ("experiment", "s"), times), folder)
        write_page(folder / "index.html", sections, recording)  # what there is so far
    return sections
