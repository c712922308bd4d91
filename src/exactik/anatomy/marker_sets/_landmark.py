"""Landmarks of the body: places on the built-in human that markers are named after."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

from exactik.anatomy._names import SIDE_NAMES
from exactik.anatomy._vocabulary import read_data


class Landmark(NamedTuple):
    """A place on the body."""

    id: str  # such as "l_knee_lateral", or "c7" in the middle
    bone: str  # of `human()`
    point: tuple[float, float, float]  # in that bone's frame [m], of the figure of 1.75 m
    sd: float  # how far a marker of this name may be from there, along each axis [m]
    kind: str  # "skin" for a marker on it, "joint" for a point inside
    text: str  # in words, such as "left outer knee"
    is_cluster: bool  # whether the name tells the bone only, so that several markers may share it

    @property
    def side(self) -> str:
        """Letter of the side, "l" or "r"; "" in the middle."""
        return self.id[0] if self.id[:2] in ("l_", "r_") else ""


@cache
def list_landmarks() -> Mapping[str, Landmark]:
    """Return all landmarks by id; those of the right side mirror the left ones."""
    table = read_data("marker_sets/landmarks.toml")
    landmarks = {name: _make_landmark(name, row, "") for name, row in table["middle"].items()}
    for side in SIDE_NAMES:
        for name, row in table["paired"].items():
            landmark = _make_landmark(name, row, side)
            landmarks[landmark.id] = landmark
    return MappingProxyType(landmarks)


def _make_landmark(name: str, row: Mapping[str, Any], side: str) -> Landmark:
    x, y, z = map(float, row["point"])
    bone = row["bone"]
    if side == "r":
        y = -y
        bone = "r_" + bone[2:] if bone.startswith("l_") else bone
    return Landmark(
        id=f"{side}_{name}" if side != "" else name,
        bone=bone,
        point=(x, y, z),
        sd=float(row["sd"]),
        kind=row.get("kind", "skin"),
        text=f"{SIDE_NAMES[side]} {row['text']}" if side != "" else row["text"],
        is_cluster=row.get("cluster", False),
    )
