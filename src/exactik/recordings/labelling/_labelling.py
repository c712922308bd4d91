"""What was decided about the points of a recording, and how sure it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from exactik._text import align_columns
from exactik.anatomy.marker_sets import strip_prefix
from exactik.errors import UnknownNameError
from exactik.model import Skeleton
from exactik.model.motion import Markers
from exactik.typing import BoolArray

MIN_MARGIN = 5.0
"""Difference of log probabilities to the next best labelling below which a label is doubtful. On
recordings of ten marker sets right labels were as low as 2 and wrong ones up to 4.7 (docs/
labelling.md)."""
MAX_MISFIT = 8.0
"""Negative log probability of a fragment at its label above which it is doubtful: 10 cm from its
place, or 6 cm of spread."""


class LabelledFragment(NamedTuple):
    """What a point is in a stretch of frames."""

    point: str  # its name in the recording
    label: str | None  # that it got; None for none
    first: int  # frame, counted from 0 in `Markers.positions`
    last: int  # frame, included
    # By how much the next best labelling is worse, as a difference of log probabilities
    margin: float
    # How far it is from the place of its label and how much it moves there, as a negative log
    # probability
    misfit: float
    # "sure"; "known" if it was given; "near-tie" if another labelling is nearly as good; "misfit"
    # if it is far from where its label should be; "poor-fit" if the labels as a whole fit badly;
    # "copy" of another point; "unlabelled"
    code: str

    @property
    def doubtful(self) -> bool:
        """Whether its label may be wrong."""
        return self.code in ("near-tie", "misfit", "poor-fit")

    @property
    def confidence(self) -> float:
        """How sure the label is, from 0 to 1, by the model's own reckoning; 0 if there is none."""
        if self.label is None:
            return 0.0
        return float(1.0 / (1.0 + np.exp(-np.clip(self.margin, 0.0, 50.0))))

    @property
    def frame_count(self) -> int:
        """Number of frames."""
        return self.last - self.first + 1


@dataclass(frozen=True, eq=False, repr=False)
class Labelling:
    """The labels of the points of a recording; `print` shows them as a table."""

    recording: Markers  # as it was given
    skeleton: Skeleton  # the figure with the labels as its markers, at the size of the subject
    fragments: tuple[LabelledFragment, ...]  # of all points, point by point in the order of time
    # By how much the same with left and right exchanged is worse, as a difference of log
    # probabilities; infinite if the labels have no sides
    mirror_margin: float
    # Id of the known set that was taken, "own" for the skeleton's own markers, "like" for those of
    # another recording, "names" for the names that the points had
    marker_set: str = ""
    next_set: str = ""  # id of the set that fits next best; "" if no other was tried
    up: str = "z"  # axis of the recording that is up

    def __repr__(self) -> str:
        named = len(self.found_labels)
        counts = f"{named} of {len(self.skeleton.markers)} labels found"
        return f"<Labelling: {counts}, {100.0 * self.doubtful_share:.1f} % doubtful>"

    @property
    def found_labels(self) -> tuple[str, ...]:
        """Labels that some point got, in the order of the figure's markers."""
        found = {fragment.label for fragment in self.fragments}
        return tuple(label for label in self.skeleton.markers if label in found)

    @property
    def doubtful_share(self) -> float:
        """Share of the labelled marker-frames whose label is doubtful."""
        labelled = [fragment for fragment in self.fragments if fragment.label is not None]
        total = sum(fragment.frame_count for fragment in labelled)
        doubtful = sum(fragment.frame_count for fragment in labelled if fragment.doubtful)
        return doubtful / total if total > 0 else 0.0

    def fragments_of(self, label: str) -> tuple[LabelledFragment, ...]:
        """Return the fragments that got a label, in the order of time."""
        if label not in self.skeleton.markers:
            raise UnknownNameError("label", label, tuple(self.skeleton.markers))
        own = [fragment for fragment in self.fragments if fragment.label == label]
        return tuple(sorted(own, key=lambda fragment: fragment.first))

    def find_doubtful(self, label: str) -> BoolArray:
        """Return in which frames a label is doubtful, (T,)."""
        flags = np.zeros(len(self.recording), dtype=bool)
        for fragment in self.fragments_of(label):
            flags[fragment.first : fragment.last + 1] |= fragment.doubtful
        return flags

    @property
    def wrong_names(self) -> dict[str, str]:
        """Points that surely are another label than the one they are named: name → label."""
        wrong = {}
        for fragment in self.fragments:
            bare = strip_prefix(fragment.point)
            is_label = fragment.point in self.skeleton.markers or bare in self.skeleton.markers
            if (
                is_label
                and fragment.code == "sure"
                and fragment.label not in (fragment.point, bare)
            ):
                wrong[fragment.point] = str(fragment.label)
        return wrong

    @cached_property
    def markers(self) -> Markers:
        """The recording with labels as names, the fragments of each joined.

        Points without a label follow under their own names, in the frames in which they have none;
        copies of other points are left out.
        """
        recording, columns = self.recording, {}
        for label in self.found_labels:
            columns[label] = np.full((len(recording), 3), np.nan)
        for fragment in self.fragments:
            if fragment.code == "copy":
                continue
            name = self._free_name(fragment.point) if fragment.label is None else fragment.label
            column = columns.setdefault(name, np.full((len(recording), 3), np.nan))
            frames = slice(fragment.first, fragment.last + 1)
            column[frames] = recording.marker(fragment.point)[frames]
        positions = np.stack(list(columns.values()), axis=1)
        return replace(recording, positions=positions, names=tuple(columns))

    def _free_name(self, point: str) -> str:
        """Return the name of a point without a label, so that it is not taken for one."""
        return f"{point}?" if point in self.skeleton.markers else point

    def to_dict(self) -> dict[str, Any]:
        """Return all decisions as plain data."""
        return {
            "labels": {label: self._summarise(label) for label in self.found_labels},
            "missing_labels": [n for n in self.skeleton.markers if n not in self.found_labels],
            "unlabelled": sorted({f.point for f in self.fragments if f.code == "unlabelled"}),
            "copies": sorted({f.point for f in self.fragments if f.code == "copy"}),
            "wrong_names": self.wrong_names,
            "marker_set": self.marker_set,
            "next_set": self.next_set,
            "up": self.up,
            "doubtful_share": self.doubtful_share,
            "mirror_margin": self.mirror_margin,
            "fragments": [fragment._asdict() for fragment in self.fragments],
        }

    def _summarise(self, label: str) -> dict[str, Any]:
        fragments = self.fragments_of(label)
        doubtful = [(f.first, f.last) for f in fragments if f.doubtful]
        return {
            "points": list(dict.fromkeys(fragment.point for fragment in fragments)),
            "frames": sum(fragment.frame_count for fragment in fragments),
            "confidence": min(fragment.confidence for fragment in fragments),
            "codes": sorted({fragment.code for fragment in fragments}),
            "doubtful": _join_frames(doubtful),
        }

    def __str__(self) -> str:
        """Return a table: label, points, frames, how sure, what is doubtful."""
        rows = [("label", "point", "frames", "sure", "")]
        first = self.recording.first_frame
        for label, row in self.to_dict()["labels"].items():
            words = _CODE_WORDS[next(code for code in _CODES if code in row["codes"])]
            if len(row["doubtful"]) > 0 and len(self.recording) > 1:
                spans = [f"{first + a}–{first + b}" for a, b in row["doubtful"][:MAX_SPANS]]
                more = ", …" if len(row["doubtful"]) > MAX_SPANS else ""
                words += f", frames {', '.join(spans)}{more}"
            points = row["points"]
            shown = " ".join(points[:MAX_POINTS]) + (" …" if len(points) > MAX_POINTS else "")
            share = f"{100.0 * row['confidence']:.1f} %"
            rows.append((label, shown, str(row["frames"]), share, words))
        return align_columns(rows)


MAX_POINTS, MAX_SPANS = 3, 3  # named in a row of the table
_CODES = ("near-tie", "misfit", "poor-fit", "known", "sure")  # the gravest first
_CODE_WORDS = {
    "near-tie": "doubtful: another label is nearly as likely",
    "misfit": "doubtful: far from where it should be",
    "poor-fit": "doubtful: the labels as a whole fit badly",
    "known": "given",
    "sure": "",
}


def _join_frames(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans of frames, in the order of time, with those that follow each other joined."""
    joined: list[tuple[int, int]] = []
    for first, last in spans:
        if len(joined) > 0 and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return joined
