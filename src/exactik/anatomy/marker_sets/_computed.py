"""Points of a recording that software computed from markers: joint centres, frames of bones.

The file says so itself (`Markers.computed`), or their names do: joint centres end in JC, the centre
of mass is called so, and Plug-in Gait draws each bone as a frame of four points (origin O, and A, L
and P along its axes).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from exactik.anatomy._names import strip_prefix

FRAME_STEMS = "PEL|TRX|HED|[LR](?:FE|TI|FO|TO|HU|RA|HN|CL|HND|TF|FI|UP|TP)"
_FRAME = re.compile(rf"({FRAME_STEMS})([OALP])")
MIN_FRAME_POINTS = 2  # of the four of a frame; one alone may be a marker, such as LFOO
_JOINT_CENTRE = re.compile(
    r"([lr]|left|right|mid)?[ _.-]?([hkaesw]|gh|hip|knee|ankle|shoulder|elbow|wrist)[ _.-]?"
    r"(jc|joint ?cent(re|er)|cent(re|er))([ _.-].*)?",
    re.I,
)
_MASS_CENTRE = re.compile(r".*(cent(re|er)_?of_?(mass|gravity).*|\bco[mg])", re.I)
_QUANTITY = re.compile(
    r".*(angles?|forces?|moments?|powers?|velocity|acceleration|grf|cop)v?", re.I
)
_VIRTUAL = re.compile(r"(virtual|virt|vm)[ _.-].*|.*[ _.-](virtual|virt|proj(ection)?)", re.I)


def find_computed_names(names: Iterable[str]) -> dict[str, str]:
    """Return the names among these that only computed points have, and a code that says why.

    "joint-centre", "mass-centre", "bone-frame", "quantity" (an angle, a force), "virtual".
    """
    names = tuple(names)
    found: dict[str, str] = {}
    frames: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name in names:
        short = strip_prefix(name)
        if _JOINT_CENTRE.fullmatch(short):
            found[name] = "joint-centre"
        elif _MASS_CENTRE.fullmatch(short):
            found[name] = "mass-centre"
        elif _QUANTITY.fullmatch(short):
            found[name] = "quantity"
        elif _VIRTUAL.fullmatch(short):
            found[name] = "virtual"
        if (frame := _FRAME.fullmatch(short.upper())) is not None:
            frames[name.removesuffix(short), frame[1]].append(name)
    for points in frames.values():
        if len(points) >= MIN_FRAME_POINTS:
            found |= {name: found.get(name, "bone-frame") for name in points}
    return {name: found[name] for name in names if name in found}
