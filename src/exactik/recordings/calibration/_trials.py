"""Several trials of one subject: markers called alike, and joined to one recording."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exactik.anatomy.marker_sets import strip_prefix
from exactik.model.motion import Markers

# Frames of all trials together that are joined to see what each marker is; no fit uses more.
MAX_JOINED_FRAMES = 2400


def name_markers_alike(trials: Sequence[Markers]) -> tuple[Markers, ...]:
    """Return the trials with each marker called as in the first trial that has it.

    The same marker is one of the same name, or of the same name after a prefix ("Subject 2:LANK"),
    if no other marker of either trial has that name too.
    """
    known: dict[str, str] = {}
    alike = []
    for trial in trials:
        short = [strip_prefix(name) for name in trial.names]
        names = {
            name: known[bare]
            for name, bare in zip(trial.names, short, strict=True)
            if name not in known.values() and bare in known and short.count(bare) == 1
        }
        trial = trial.renamed(names)
        alike.append(trial)
        for name in trial.names:
            known.setdefault(strip_prefix(name) if name not in known.values() else name, name)
    return tuple(alike)


def join_trials(trials: Sequence[Markers]) -> Markers:
    """Return trials with common names one after the other; evenly spread frames of long ones."""
    if len(trials) == 1:
        return trials[0]
    names = tuple(dict.fromkeys(name for trial in trials for name in trial.names))
    parts = []
    for trial in trials:
        rows = np.arange(0, len(trial), max(len(trial) * len(trials) // MAX_JOINED_FRAMES, 1))
        part = np.full((len(rows), len(names), 3), np.nan)
        part[:, [names.index(name) for name in trial.names]] = trial.positions[rows]
        parts.append(part)
    first = trials[0]
    return Markers(
        np.concatenate(parts), names, first.rate, up_axis=first.up_axis, source=first.source
    )
