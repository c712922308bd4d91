"""Where markers sit on the bones of a skeleton, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from numpy.typing import ArrayLike

from exactik._arrays import require_shape
from exactik.errors import ModelError, UnknownNameError

Point = tuple[float, float, float]


def check_marker_places(
    markers: Mapping[str, tuple[str, ArrayLike]] | None, bones: Sequence[str]
) -> dict[str, tuple[str, Point]]:
    """Return markers by name, each with its bone and its point in the bone's frame [m]."""
    markers = {} if markers is None else markers
    if not isinstance(markers, Mapping):
        raise ModelError(f"markers are {markers!r}; expected {{name: (bone, point)}}")
    known, checked = frozenset(bones), {}
    for marker, place in markers.items():
        name, (bone, point) = str(marker), _split_place(marker, place)
        if name in checked:
            raise ModelError(f"two markers are named {name!r}; names must be unique")
        if not isinstance(bone, str) or bone not in known:
            raise UnknownNameError("bone", bone, bones)
        x, y, z = require_shape(f"point of marker {name!r}", point, 3).tolist()
        checked[name] = (bone, (x, y, z))
    return checked


def _split_place(marker: object, place: object) -> tuple[str, ArrayLike]:
    if isinstance(place, tuple | list) and len(place) == 2:
        return place[0], place[1]
    raise ModelError(f"marker {marker!r} is at {place!r}; expected (bone, point)")
