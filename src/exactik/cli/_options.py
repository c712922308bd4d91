"""Options that several commands share, about recordings, figures and markers; and their values."""

from __future__ import annotations

from typing import Annotated

import typer

from exactik.errors import UsageError

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
    "OutputRateOption",
    "RobustOption",
    "RotationsOption",
    "SigmaOption",
    "SkeletonUnitOption",
    "SkeletonUpOption",
    "SmoothOption",
    "StartOption",
    "SubjectOption",
    "TakeOption",
    "UpOption",
    "WeightsOption",
    "check_axis_option",
    "parse_length_unit",
]


def check_axis_option(option: typer.CallbackParam, value: str | None) -> str | None:
    """Return the value of an option that is an axis; refuse others under the option's own name."""
    if value not in (None, "x", "y", "z"):
        raise UsageError(f"{option.opts[0]} is {value!r}; expected x, y or z")
    return value


MappingOption = Annotated[
    str | None,
    typer.Option(
        "--mapping",
        metavar="NAMES",
        help="What recorded markers are: LASI=LFWT,C7=neck, or a .json or .csv file.",
    ),
]
ComputedOption = Annotated[
    bool,
    typer.Option("--computed", help="Use computed points too, such as joint centres."),
]
TakeOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="A motion of the recording, to put markers on a skeleton without."
    ),
]
StartOption = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="Where to begin, from the first frame on.")
]
EndOption = Annotated[float | None, typer.Option(metavar="SECONDS", help="Where to end, included.")]
LimitsOption = Annotated[str, typer.Option(metavar="WORD", help="Of joints: hard, soft or off.")]
AnglesOption = Annotated[
    str | None,
    typer.Option(
        metavar="WORD",
        help="Columns of .csv and .mot: clinical (hip_flexion_r), joints (rx), both.",
    ),
]
RotationsOption = Annotated[
    str | None,
    typer.Option(metavar="WORD", help="Joints in .csv: coordinates, wxyz or swing-twist."),
]
OutputRateOption = Annotated[
    float | None, typer.Option(metavar="HZ", help="Frames a second to write.")
]
RobustOption = Annotated[
    str,
    typer.Option(
        metavar="WORD", help="What markers far off do: none (pull), huber (less), tukey (not)."
    ),
]
SmoothOption = Annotated[
    str,
    typer.Option(
        metavar="WORD",
        help="All frames together: auto (as the recording tells), none, or a cut-off in Hz.",
    ),
]
WeightsOption = Annotated[
    str | None,
    typer.Option(metavar="WEIGHTS", help="Of markers: LFHD=2,R*=0.5, or a .json or .csv file."),
]
SigmaOption = Annotated[
    float | None, typer.Option(metavar="MM", help="Noise of the markers; estimated without it.")
]
BranchesOption = Annotated[
    bool, typer.Option("--branches/--no-branches", help="Look for better ways through.")
]
LockOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Bones or dofs that stay at rest; patterns allowed."),
]
UpOption = Annotated[
    str | None,
    typer.Option(
        metavar="AXIS",
        help="Which axis is up in what is read, whatever it says: x, y or z.",
        callback=check_axis_option,
    ),
]
SkeletonUpOption = Annotated[
    str | None,
    typer.Option(
        metavar="AXIS",
        help="Which axis is up for the skeleton: x, y or z.",
        callback=check_axis_option,
    ),
]
AxesOption = Annotated[
    str | None, typer.Option(metavar="AXES", help="Turn the recording: YZX makes its y the new x.")
]
SubjectOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Whom to take if several were recorded; all for each."),
]
LengthUnitOption = Annotated[
    str | None,
    typer.Option(
        metavar="UNIT", help="Length unit of what is read, whatever it says: m, cm, mm, in, …."
    ),
]
SkeletonUnitOption = Annotated[
    str | None,
    typer.Option(
        metavar="UNIT", help="Length unit of the skeleton, whatever it says: m, cm, mm, in, …."
    ),
]


def parse_length_unit(text: str | None) -> str | float | None:
    """Return a length unit: metres in it, or its name."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text
