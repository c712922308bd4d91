"""`python -m benchmarks [section …] [--json FILE]`: all sections, or those named."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks import (
    calls,
    core,
    end_to_end,
    files,
    gmr,
    gpu,
    gradients,
    live,
    noisy_markers,
    opensim,
    pairs,
    playing,
    posing,
    retargeting,
    robots,
    servo,
    tied,
    tracking,
)
from benchmarks.support.report import Report, describe_machine

SECTIONS = {
    "core": core.run,
    "robots": robots.run,
    "opensim": opensim.run,
    "pairs": pairs.run,
    "servo": servo.run,
    "tied": tied.run,
    "retargeting": retargeting.run,
    "gmr": gmr.run,
    "calls": calls.run,
    "noisy-markers": noisy_markers.run,
    "tracking": tracking.run,
    "files": files.run,
    "gpu": gpu.run,
    "gradients": gradients.run,
    "posing": posing.run,
    "playing": playing.run,
    "live": live.run,
    "end-to-end": end_to_end.run,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("sections", nargs="*", help=f"of {', '.join(SECTIONS)}; all by default")
    parser.add_argument("--json", type=Path, help="also write every metric to this file")
    arguments = parser.parse_args()
    unknown = set(arguments.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"no section {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    report = Report()
    about = ", ".join(f"{name} {value}" for name, value in describe_machine().items())
    report.console.print(about, soft_wrap=True)
    for name in arguments.sections or SECTIONS:
        SECTIONS[name](report)
    if arguments.json is not None:
        report.save(arguments.json)


if __name__ == "__main__":
    main()
