"""What ASF and AMC files share: units, names, and a skeleton that remembers both.

`length s` of an ASF file makes one unit 1/s inch, by a convention of Vicon's, and most files have
s = 0.45. An AMC file counts in the units of its ASF file, which it does not name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from numpy.typing import ArrayLike

from exactik.io._units import metres_per
from exactik.model import Bone, Skeleton

INCH = 0.0254  # [m]
VICON_UNIT = INCH / 0.45  # [m] in one unit of most ASF files


class AcclaimUnits(NamedTuple):
    """What an AMC file takes from its ASF file."""

    metres: float  # in one unit of length
    radians: float  # in one unit of angle
    # Bone → its dofs in the order of the file, such as ("rx", "rz")
    dofs: Mapping[str, tuple[str, ...]]


class AcclaimSkeleton(Skeleton):
    """A skeleton that remembers the units and dofs of its ASF file; otherwise like any other."""

    acclaim: AcclaimUnits

    def __init__(
        self,
        name: str,
        bones: Sequence[Bone],
        markers: Mapping[str, tuple[str, ArrayLike]] | None,
        acclaim: AcclaimUnits,
    ):
        """Build the skeleton, see `Skeleton.build`, and keep `acclaim`."""
        super().__init__(name, bones, markers)
        self._set("acclaim", acclaim)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, self.bones, dict(self.markers), self.acclaim)

    def with_markers(self, markers: Mapping[str, tuple[str, ArrayLike]]) -> Skeleton:
        """Return the same skeleton with these markers instead of its own."""
        return AcclaimSkeleton(self.name, self.bones, markers, self.acclaim)


def encode_name(name: str) -> str:
    """Return a bone's name as ASF and AMC can hold it: one word, no keyword and no number."""
    code = "".join(quote(c, safe="") if c.isspace() or c in "%#()" else c for c in name)
    is_number = re.match(r"[+.-]*\d|:", code) is not None
    if not is_number and code.lower() not in ("root", "begin", "end"):
        return code
    return "".join(f"%{byte:02X}" for byte in code[0].encode()) + code[1:]


def choose_asf_unit(skeleton: Skeleton, length_unit: str | float | None = None) -> float:
    """Return the metres in one unit: the one given, that of the skeleton's file, or Vicon's."""
    if length_unit is not None:
        return metres_per(length_unit)
    return skeleton.acclaim.metres if isinstance(skeleton, AcclaimSkeleton) else VICON_UNIT
