"""How healthy people walk: angles over the gait cycle at their speed, as published.

The numbers of normal_gait.csv are those of Schwartz, Rozumalski & Trost (2008), "The effect of
walking speed on the gait of typically developing children", Journal of Biomechanics 41, 1639–1650:
the sheet "Joint Rotations" of its electronic addendum, mean and standard deviation [°] between
children, every 4 % of the cycle, rounded to 0.1°. The speed groups and their sizes are those of its
sheet "ANOVA". It says nothing of sex. Angles are those of Plug-in Gait's kind.

Its speed is v / √(g L) with the leg from the front of the pelvis to the ankle; ours is from hip to
ankle, some per cent shorter, which moves it by half as much.

There the pelvis is level where the line from its back to its front is. Our figure's is where it
stands at rest, so its pelvis tilt and hip flexion are less by the slope of that line at rest, which
markers on the pelvis tell. Without them there is no band for these two. The ankle has none: its
zero depends on how the markers of the foot sit, by 5 to 20° on the recordings of docs/angles.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np

from exactik.anatomy.marker_sets import find_landmarks
from exactik.errors import UsageError
from exactik.model import Skeleton
from exactik.recordings.angles._body_segments import find_body_segments
from exactik.recordings.angles._gait_cycles import CYCLE_POINTS, GaitCycles
from exactik.typing import Array

SOURCE = "Schwartz et al. 2008, J Biomech 41:1639–1650, electronic addendum, Joint Rotations"
FROM_PELVIS = ("pelvis_tilt", "hip_flexion")  # angles that the pelvis' zero moves
LEAST_SPEED = 0.09  # of the slowest child, v / √(g L)


class SpeedGroup(NamedTuple):
    """Those who walked at about a speed.

    Attributes:
        name: as published, "free" for the speed they chose.
        limit: v / √(g L) below which it is theirs: half-way to the next group, of whose slowest
            and their own fastest the sheet "ANOVA" tells.
        children: their number.
    """

    name: str
    limit: float
    children: int


GROUPS = (
    SpeedGroup("very slow", 0.230, 77),
    SpeedGroup("slow", 0.366, 82),
    SpeedGroup("free", 0.492, 82),
    SpeedGroup("fast", 0.637, 76),
    SpeedGroup("very fast", 0.844, 51),
)


class NormalBand(NamedTuple):
    """An angle over the gait cycle between healthy people [rad], (101,) each."""

    mean: Array
    sd: Array


@dataclass(frozen=True, eq=False)
class NormalGait:
    """The published angles at a speed, in the angles of a figure.

    Attributes:
        group: who walked; None if nobody did at this speed.
        bands: name of the angle without side → band; those that are known.
    """

    group: SpeedGroup | None
    bands: Mapping[str, NormalBand]

    @property
    def text(self) -> str:
        """Whose range it is, with its source, in a sentence; or why there is none."""
        if self.group is None:
            return "No published range at this speed."
        who = f"{self.group.children} healthy children who walk at {self.group.name} speed"
        return f"Grey: 95 % of {who}, sexes together ({SOURCE})."


def find_normal_gait(cycles: GaitCycles, skeleton: Skeleton) -> NormalGait:
    """Return how healthy people walk at the speed of some strides."""
    speed = cycles.dimensionless_speed
    if not LEAST_SPEED <= speed < GROUPS[-1].limit:
        return NormalGait(group=None, bands={})
    group = next(group for group in GROUPS if speed < group.limit)
    bands, slope = dict(_read_bands()[group.name]), measure_pelvis_slope(skeleton)
    for angle in FROM_PELVIS:
        band = bands.pop(angle)
        if slope is not None:
            bands[angle] = NormalBand(band.mean - slope, band.sd)
    return NormalGait(group=group, bands=bands)


def measure_pelvis_slope(skeleton: Skeleton) -> float | None:
    """Return by how much the line from the pelvis' back to its front falls at rest [rad].

    By the figure's own markers there; None if it has none at front or back.
    """
    try:
        segments = find_body_segments(skeleton)
    except UsageError:
        return None
    places: dict[str, list[Array]] = {"asis": [], "psis": [], "sacrum": []}
    for name, (bone, point) in skeleton.markers.items():
        kinds = {
            landmark.id.removeprefix("l_").removeprefix("r_") for landmark in find_landmarks(name)
        }
        for kind in kinds & set(places):
            if bone == segments.bones.get("pelvis"):
                places[kind].append(np.asarray(point))
    back = places["psis"] or places["sacrum"]
    if len(places["asis"]) == 0 or len(back) == 0:
        return None
    line = np.mean(places["asis"], axis=0) - np.mean(back, axis=0)
    forward, up, _ = segments.R_bone_segment["pelvis"].T @ line
    return float(np.arctan2(-up, forward))


@cache
def _read_bands() -> Mapping[str, Mapping[str, NormalBand]]:
    """Return speed → angle → band."""
    from scipy.interpolate import CubicSpline

    file = resources.files("exactik.recordings.angles").joinpath("normal_gait.csv")
    head, *lines = file.read_text("utf-8").splitlines()
    percent = np.array([float(cell) for cell in head.split(",")[3:]])
    whole = np.linspace(0.0, 100.0, CYCLE_POINTS)
    found: dict[str, dict[str, dict[str, Array]]] = {}
    for line in lines:
        angle, speed, of, *cells = line.split(",")
        curve = CubicSpline(percent, np.radians([float(cell) for cell in cells]))(whole)
        found.setdefault(speed, {}).setdefault(angle, {})[of] = curve
    return {
        speed: {angle: NormalBand(both["mean"], both["sd"]) for angle, both in bands.items()}
        for speed, bands in found.items()
    }
