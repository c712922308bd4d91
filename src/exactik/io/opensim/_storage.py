"""Tables as OpenSim's tools write them, for its next tool and its GUI to read."""

from __future__ import annotations

import os
from collections.abc import Sequence

from exactik.io._files import open_atomic
from exactik.typing import Array

__all__ = ["write_storage"]

UNITS = (
    "",
    "Units are S.I. units (second, meters, Newtons, ...)",
    "If the header above contains a line with 'inDegrees', this indicates whether rotational "
    "values are in degrees (yes) or radians (no).",
    "",
)


def write_storage(
    path: str,
    title: str,
    times: Array,
    names: Sequence[str],
    values: Array,
    *,
    in_degrees: bool = False,
    describe_units: bool = False,
) -> None:
    """Write columns of numbers over time; the folder is made if there is none.

    Args:
        path: .mot or .sto.
        title: first line, "Coordinates" for a motion.
        times: [s], (T,).
        names: of the columns, (n,).
        values: (T, n); numbers that are missing are written as nan.
        in_degrees: what the header says about angles.
        describe_units: whether the header has OpenSim's sentence about units.
    """
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    header = [
        title,
        "version=1",
        f"nRows={len(times)}",
        f"nColumns={len(names) + 1}",
        f"inDegrees={'yes' if in_degrees else 'no'}",
    ]
    if describe_units:
        header.extend(UNITS)
    header.extend(("endheader", "\t".join(("time", *names))))
    with open_atomic(path) as file:
        file.write("\n".join(header) + "\n")
        for time, row in zip(times.tolist(), values.tolist(), strict=True):
            # Ten digits after the point: a nanometre, and less than OpenSim's own rounding of 1e-8.
            file.write("\t".join(f"{x:16.10f}" for x in (time, *row)) + "\n")
