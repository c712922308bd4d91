"""The page of the documentation with all options, from the fields that define them.

python tools/options_table.py            # prints the page
python tools/options_table.py --write    # keeps it in docs/reference/options.md
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import MISSING, Field
from pathlib import Path
from typing import Any

from exactik._options import OptionText, list_options
from exactik.archive import (
    ArchiveOptions,
    ClipOptions,
    RetargetArchiveOptions,
    RunOptions,
    TakeOptions,
)
from exactik.io import ConvertOptions
from exactik.problem import DofOptions, SpeedOptions
from exactik.recordings.calibration import CalibrateOptions
from exactik.recordings.pipeline import FigureOptions, RecordingOptions
from exactik.recordings.tracking import PlainTrackOptions, TrackOptions
from exactik.retargeting import PlainRetargetOptions, RetargetOptions
from exactik.solvers import SolveOptions

TARGET = Path(__file__).parent.parent / "docs" / "reference" / "options.md"
HEAD = """\
# Options

Made by `python tools/options_table.py --write` from the fields that are keywords of functions and
options of commands. A unit is that of the value in Python; a default that is not given is `None`.
"""
SECTIONS: dict[str, tuple[type, ...]] = {
    "Of `solve`, `track` and `calibrate`": (DofOptions,),
    "Of `solve`": (SolveOptions,),
    "Of `track`, `retarget` and archives": (SpeedOptions,),
    "Of `track`, `track_many`, `exactik solve` and archives": (PlainTrackOptions,),
    "Of `track` and `track_many`": (TrackOptions,),
    "Of `calibrate`": (CalibrateOptions,),
    "Of `exactik solve` and archives": (RecordingOptions, FigureOptions),
    "Of archives": (RunOptions,),
    "Of `solve_archive`": (TakeOptions, ArchiveOptions),
    "Of `retarget` and `archive.retarget_archive`": (PlainRetargetOptions,),
    "Of `retarget`": (RetargetOptions,),
    "Of `archive.retarget_archive`": (ClipOptions, RetargetArchiveOptions),
    "Of `convert`": (ConvertOptions,),
}
COLUMNS = ("option", "default", "command line", "what it does")


def make_page() -> str:
    """Return the page."""
    parts = [HEAD]
    for title, records in SECTIONS.items():
        rows = [row for record in records for row in _list_rows(record)]
        lines = [COLUMNS, ("---",) * len(COLUMNS), *rows]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        parts.append(f"## {title}\n\n{table}\n")
    return "\n".join(parts)


def _list_rows(record: type) -> list[tuple[str, ...]]:
    """Return the rows of the options that a record adds to those of its bases."""
    own = vars(record)["__annotations__"]
    return [
        _make_row(one, said) for name, (one, said) in list_options(record).items() if name in own
    ]


def _make_row(one: Field[Any], said: OptionText) -> tuple[str, ...]:
    unset = one.default in (MISSING, None) or callable(one.default)
    default = "" if unset else f"`{one.default!r}`"
    unit = f" [{said.unit}]" if said.unit != "" else ""
    flag = said.flags or f"--{one.name.replace('_', '-')}"
    flag = f"`{flag} {said.metavar}`".replace(" `", "`") if said.is_on_command_line else ""
    help = f"{said.help.removesuffix('.')}{unit}. {said.more}".strip()
    return f"`{one.name}`", default, flag, help.replace("|", "\\|")


def main() -> int:
    """Print or write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help=f"write {TARGET.name}")
    if parser.parse_args().write:
        TARGET.write_text(make_page(), "utf-8")
    else:
        print(make_page(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
