"""Options that several commands share, about recordings, figures and markers; and their values."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = [
    "AnglesOption",
    "AxesOption",
    "BranchesOption",
    "ComputedOption",
    "EndOption",
    "LengthUnitOption",
    "LimitsOption",
    "LockOption",
    "MappingOption",
    "RobustOption",
    "RotationsOption",
    "SigmaOption",
    "SkeletonUnitOption",
    "SkeletonUpOption",
    "SmoothOption",
    "StartOption",
    "TakeOption",
    "UpOption",
    "WeightsOption",
    "parse_length_unit",
]

MappingOption = Annotated[
    str | None,
    typer.Option(
        "--mapping",
        "--markers",
        help="What recorded markers are: LASI=LFWT,C7=neck, or a .json or .csv file.",
    ),
]
ComputedOption = Annotated[
    bool,
    typer.Option("--computed", help="Use computed points too, such as joint centres."),
]
TakeOption = Annotated[
    str | None,
    typer.Option(help="A motion of the recording, to put markers on a skeleton without."),
]
StartOption = Annotated[float | None, typer.Option(help="Where to begin, in seconds.")]
EndOption = Annotated[float | None, typer.Option(help="Where to end, included, in seconds.")]
LimitsOption = Annotated[str, typer.Option(help="Of joints: hard, soft or off.")]
AnglesOption = Annotated[
    str | None,
    typer.Option(help="Columns of .csv and .mot: clinical (hip_flexion_r), joints (rx), both."),
]
RotationsOption = Annotated[
    str | None, typer.Option(help="Joints in .csv: coordinates, wxyz or swing-twist.")
]
RobustOption = Annotated[
    str, typer.Option(help="What markers far off do: none (pull), huber (less), tukey (not).")
]
SmoothOption = Annotated[
    str,
    typer.Option(
        help="All frames together: auto (as the recording tells), none, or a cut-off in Hz."
    ),
]
WeightsOption = Annotated[
    str | None, typer.Option(help="Of markers: LFHD=2,R*=0.5, or a .json or .csv file.")
]
SigmaOption = Annotated[
    float | None, typer.Option(help="Noise of the markers in mm; estimated without it.")
]
BranchesOption = Annotated[
    bool, typer.Option("--branches/--no-branches", help="Look for better ways through.")
]
LockOption = Annotated[
    list[str] | None, typer.Option(help="Bones or dofs that stay at rest; patterns allowed.")
]
UpOption = Annotated[
    str | None, typer.Option(help="Which axis is up in the recording, whatever it says.")
]
SkeletonUpOption = Annotated[str | None, typer.Option(help="Which axis is up for the skeleton.")]
AxesOption = Annotated[
    str | None, typer.Option(help="Turn the recording: YZX makes its y the new x.")
]
LengthUnitOption = Annotated[
    str | None, typer.Option(help="Length unit of the recording, whatever it says.")
]
SkeletonUnitOption = Annotated[
    str | None, typer.Option(help="Length unit of the skeleton, whatever it says.")
]


def parse_length_unit(text: str | None) -> str | float | None:
    """Return a length unit: metres in it, or its name."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text
