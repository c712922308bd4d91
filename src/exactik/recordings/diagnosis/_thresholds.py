"""What the verdict counts: the share of doubtful values, and what is wrong with the whole.

In the order of weight, by which reasons are listed; the only place that has the numbers.
docs/verdict.md has the same table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """Beyond which a recording is not good, or not to be used.

    Attributes:
        care: from which it is used with care.
        reject: from which it should not be used; None if this criterion alone never says so.
        unit: of both.
        is_least: whether less is worse, not more.
        remedy: option or command that mends it, or shows where it comes from; "" for none.
    """

    care: float
    reject: float | None = None
    unit: str = ""
    is_least: bool = False
    remedy: str = ""

    def grade(self, value: float) -> tuple[Literal["good", "care", "reject"], float]:
        """Return how grave a value is, and the threshold that it is beyond, or the first one.

        What is not a number is beyond any.
        """
        if self.reject is not None and not self._holds(value, self.reject):
            return "reject", self.reject
        return "good" if self._holds(value, self.care) else "care", self.care

    def _holds(self, value: float, limit: float) -> bool:
        return value >= limit if self.is_least else value <= limit


MATCH = "exactik match"  # says what each marker was taken for, and why

THRESHOLDS: dict[str, Threshold] = {
    # A newborn has 0.5 m; below 0.8 m nobody walks.
    "stature-short": Threshold(
        care=0.8, reject=0.4, unit="m", is_least=True, remedy="--length-unit"
    ),
    # One adult in a million is taller than 2.15 m.
    "stature-tall": Threshold(care=2.15, reject=2.6, unit="m", remedy="--length-unit"),
    # Of a figure that is no person: inches for centimetres make 2.54, less if bent.
    "size": Threshold(care=2.0, unit="times", remedy="--length-unit"),
    # The unit that the file states makes a giant or a dwarf: it was replaced by a guess.
    "unit": Threshold(care=1.0, unit="times", remedy="--length-unit"),
    # 15 and 40 mm of an adult: skin moves by 5 to 10 mm on average over all markers.
    "error": Threshold(care=0.009, reject=0.024, unit="statures", remedy=MATCH),
    # Of the values that markers determine.
    "doubt": Threshold(care=0.02, reject=0.3, unit="share"),
    # Signs of volumes between markers: people have 0.4 to 1, mirror images −1 to −0.4.
    "handedness": Threshold(care=0.2, reject=-0.2, unit="share", is_least=True, remedy="--axes"),
    # People seldom walk backwards; with left and right exchanged all do.
    "backwards": Threshold(care=-0.3, unit="cosine", is_least=True, remedy=MATCH),
    # With less, a small error is no evidence: as much is fitted as was measured.
    "redundancy": Threshold(care=0.1, unit="share", is_least=True, remedy="exactik calibrate"),
    # Of the markers on the subject: with less, most of what was measured has no say.
    "markers-used": Threshold(
        care=0.6, reject=0.25, unit="share", is_least=True, remedy="--mapping"
    ),
    # Of the markers of a side without a partner: sets are symmetric, losses are not.
    # Markers that were left out for it: four of 39 real recordings have any.
    "misnamed": Threshold(care=1.0, unit="markers", remedy=MATCH),
    "unpaired": Threshold(care=0.12, unit="share", remedy=MATCH),
    # Of the landmarks of the recognised set, on the parts of the body that it is on.
    "marker-set": Threshold(care=0.4, unit="share", is_least=True, remedy=MATCH),
    # The figure leans by more than 60° from what is said to be up, on average.
    "up-axis": Threshold(care=0.5, unit="cosine", is_least=True, remedy="--up"),
    # Nobody says which axis is up, and too little of the body is seen to tell.
    "up-guess": Threshold(care=0.0, remedy="--up"),
    # Of the samples of markers labelled by shape whose label is doubtful.
    "labels": Threshold(care=0.05, reject=0.75, unit="share", remedy="exactik label"),
    # Of the markers in use whose match is a guess.
    "matches": Threshold(care=0.15, reject=0.5, unit="share", remedy="--mapping"),
    # Of adults: a shank that is off by 26 %; skin shows joint centres to 2 or 3 cm only.
    "proportions": Threshold(care=7.5, reject=15.0, unit="sd", remedy=MATCH),
    # Rms between left and right places of landmarks: 5 cm of bony ones, seldom 4 cm.
    "marker-symmetry": Threshold(care=2.4, unit="sd", remedy=MATCH),
    # Rms of a limb in a static trial: three have at most 2.0, legs from elsewhere 2.2 or more.
    "places": Threshold(care=2.1, unit="sd", remedy=MATCH),
    # Of a marker's samples: one in ten thrown away is more than a camera's mistakes.
    "left-out": Threshold(care=0.1, reject=0.6, unit="share", remedy=MATCH),
    # 3 mm of an adult on average between points that the model's file holds together.
    "closure-gap": Threshold(care=0.0018, unit="statures"),
    # The fit of the figure did not come to rest though the subject moves.
    "calibration": Threshold(care=0.0, remedy="exactik calibrate"),
}
