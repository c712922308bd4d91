"""Where good ends and where use ends, criterion by criterion: the only place that has the numbers.

In the order of weight, by which reasons are listed. docs/verdict.md has the same table with what
was measured on recordings that are right and on copies that were spoiled.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["THRESHOLDS", "Threshold"]


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """Beyond which a recording is not good, or not to be used.

    Attributes:
        care: from which it is used with care; None if this criterion never asks for that alone.
        reject: from which it should not be used; None if this criterion alone never says so.
        unit: of both.
        is_least: whether less is worse, not more.
        reason: where they come from.
    """

    care: float | None
    reject: float | None
    unit: str
    is_least: bool = False
    reason: str

    def grade(self, value: float) -> tuple[str, float] | None:
        """Return "reject" or "care" and the threshold that a value is beyond; None if it is not.

        What is not a number is beyond any.
        """
        for word, limit in (("reject", self.reject), ("care", self.care)):
            if limit is None:
                continue
            is_within = value >= limit if self.is_least else value <= limit
            if not is_within:
                return word, limit
        return None


THRESHOLDS: dict[str, Threshold] = {
    "stature-short": Threshold(
        care=0.8,
        reject=0.4,
        unit="m",
        is_least=True,
        reason="a newborn has 0.5 m; below 0.8 m nobody walks",
    ),
    "stature-tall": Threshold(
        care=2.15, reject=2.6, unit="m", reason="one adult in a million is taller than 2.15 m"
    ),
    "size": Threshold(
        care=2.0,
        reject=None,
        unit="times",
        reason="of a figure that is no person: inches for centimetres make 2.54, less if bent",
    ),
    "unit": Threshold(
        care=1.0,
        reject=None,
        unit="times",
        reason="the unit that the file states makes a giant or a dwarf: it was replaced by a guess",
    ),
    "error": Threshold(
        care=0.009,
        reject=0.024,
        unit="statures",
        reason="15 and 40 mm of an adult: skin moves by 5 to 10 mm on average over all markers",
    ),
    "limb-error": Threshold(
        care=0.013,
        reject=0.036,
        unit="statures",
        reason="22 and 60 mm of an adult: the worst soft tissue, of thighs, moves by 10 to 20 mm",
    ),
    "marker-error": Threshold(
        care=0.021,
        reject=None,
        unit="statures",
        reason="35 mm of an adult on average: no skin moves so far, the marker is elsewhere",
    ),
    "handedness": Threshold(
        care=0.2,
        reject=-0.2,
        unit="share",
        is_least=True,
        reason="signs of volumes between markers: people have 0.4 to 1, mirror images −1 to −0.4",
    ),
    "backwards": Threshold(
        care=-0.3,
        reject=None,
        unit="cosine",
        is_least=True,
        reason="people seldom walk backwards; with left and right exchanged all do",
    ),
    "redundancy": Threshold(
        care=0.1,
        reject=None,
        unit="share",
        is_least=True,
        reason="with less, a small error is no evidence: as much is fitted as was measured",
    ),
    "open-dofs": Threshold(
        care=0.35,
        reject=0.7,
        unit="share",
        reason="of the dofs with markers beyond them that nothing determines",
    ),
    "used": Threshold(
        care=0.6,
        reject=0.25,
        unit="share",
        is_least=True,
        reason="of the markers on the subject: with less, most of what was measured has no say",
    ),
    "unpaired": Threshold(
        care=0.12,
        reject=None,
        unit="share",
        reason="of the markers of a side without a partner: sets are symmetric, losses are not",
    ),
    "marker-set": Threshold(
        care=0.4,
        reject=None,
        unit="share",
        is_least=True,
        reason="of the landmarks of the recognised set, on the parts of the body that it is on",
    ),
    "up-axis": Threshold(
        care=0.5,
        reject=None,
        unit="cosine",
        is_least=True,
        reason="the figure leans by more than 60° from what is said to be up, on average",
    ),
    "up-guess": Threshold(
        care=0.0,
        reject=None,
        unit="",
        reason="nobody says which axis is up, and too little of the body is seen to tell",
    ),
    "labels": Threshold(
        care=0.05,
        reject=0.75,
        unit="share",
        reason="of the samples of markers labelled by shape whose label is doubtful",
    ),
    "matches": Threshold(
        care=0.15, reject=0.5, unit="share", reason="of the markers in use whose match is a guess"
    ),
    "limits": Threshold(
        care=0.9,
        reject=None,
        unit="share",
        reason="of the frames: a joint does not move that stays at its limit all the time",
    ),
    "proportions": Threshold(
        care=7.5,
        reject=15.0,
        unit="sd",
        reason="of adults: a shank that is off by 26 %; skin shows joint centres to 2 or 3 cm only",
    ),
    "places": Threshold(
        care=2.4,
        reject=None,
        unit="sd",
        reason="rms between left and right places of landmarks: 5 cm of bony ones, seldom 4 cm",
    ),
    "sides": Threshold(
        care=3.0,
        reject=None,
        unit="times",
        reason="between the errors of left and right, where the worse is more than skin",
    ),
    "swaps": Threshold(
        care=0.005,
        reject=None,
        unit="share",
        reason="of the frames with exchanged names: a limb turned over, a second of three minutes",
    ),
    "marker-stretch": Threshold(
        care=0.024,
        reject=None,
        unit="statures",
        reason="40 mm of an adult for 0.1 s: where OpenSim's practice ends; in sound recordings 32",
    ),
    "marker-jump": Threshold(
        care=0.015,
        reject=None,
        unit="statures",
        reason="25 mm of an adult from one frame to the next; in sound recordings 17 at most",
    ),
    "gaps": Threshold(
        care=0.08,
        reject=0.7,
        unit="share",
        reason="of the time of a limb's joints that went by guess: a hand for a quarter of it",
    ),
    "blind": Threshold(
        care=0.05, reject=0.5, unit="share", reason="of the frames with fewer than three markers"
    ),
    "not-converged": Threshold(
        care=0.02, reject=0.3, unit="share", reason="of the frames; one in fifty is seen in motion"
    ),
    "jumps": Threshold(
        care=0.05, reject=0.3, unit="share", reason="of the frames: one in twenty is seen"
    ),
    "poor-frames": Threshold(
        care=0.1, reject=None, unit="share", reason="of the frames that fit far worse than others"
    ),
    "calibration": Threshold(
        care=0.0, reject=None, unit="", reason="the fit of the figure did not come to rest"
    ),
}
