"""Options of `convert`."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from exactik._options import option


@dataclass(frozen=True, kw_only=True)
class ConvertOptions:
    """How a file is written as another."""

    skeleton: str | os.PathLike[str] | None = option(
        None,
        "File of the skeleton, for .amc and .mot.",
        more="Of an .amc it is else the .asf beside it; for other motions, whose coordinates to "
        "use.",
        metavar="FIGURE",
    )
    start: float | None = option(
        None, "Time to begin at, counted from the first frame.", unit="s", metavar="SECONDS"
    )
    end: float | None = option(None, "Time to end at, included.", unit="s", metavar="SECONDS")
    output_rate: float | None = option(
        None,
        "Frames a second to write.",
        more="Those between frames of the source are interpolated.",
        unit="Hz",
        metavar="HZ",
    )
    output_up: str | None = option(
        None,
        "Turn the output so that x, y or z is up.",
        more="Everything is turned by a quarter turn.",
        metavar="AXIS",
    )
    output_unit: str | float | None = option(
        None,
        "Unit to write: m, cm, mm, in, … or the metres in it.",
        more="Where the format leaves a choice.",
        metavar="UNIT",
    )
    input_rate: float | None = option(
        None, "Frames a second of IN, in place of its own.", unit="Hz", metavar="HZ"
    )
    input_unit: str | float | None = option(
        None,
        "Length unit of IN, in place of its own; BVH has none.",
        more="It is guessed without this, by the height of the figure, and the guess noted.",
        metavar="UNIT",
    )
    input_up: str | None = option(None, "Up axis of IN, in place of its own.", metavar="AXIS")
    positions: str = option(
        "replace",
        "BVH: whether positions 'replace' an OFFSET or 'add' to it.",
        more="See `load_motion`.",
        metavar="WORD",
    )
    animation: int | str | None = option(
        None,
        "glTF: which animation, by name or number.",
        more="See `load_motion`.",
        metavar="NAME",
    )
    smpl_model: str | os.PathLike[str] | None = option(
        None,
        "Your .npz model file for motions of AMASS, SMPL, SMPL-H or SMPL-X.",
        more="See `load_motion`.",
        metavar="FILE",
    )
    zeros_are_missing: bool = option(
        True,
        "Take a marker at (0, 0, 0) as seen, not as missing.",
        more="False says so, see `load_markers`.",
        flags="--keep-zeros",
    )
    strict: bool = option(False, "Refuse a file that is damaged but usable.", flags="--strict")
    tell: Callable[[str], None] = option(
        lambda stage: None, "Called with what is being done, for a sign of life."
    )
