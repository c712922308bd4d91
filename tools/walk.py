"""Count the files that a marker passes from the command to the report, and a goal to `result.why`.

    python tools/walk.py marker       # exactik solve one.c3d --skeleton human -o … --report …
    python tools/walk.py goal         # ik.solve of a figure that reaches, and its `why`

The program runs under `sys.setprofile`, after a first run that compiles and imports everything. A
function is on the walk if one of its arguments, or what it returns, holds the thing that is
followed: for a marker the bytes of the file, `Markers`, `TrackingProblem`, `Track`, `Motion`, the
summary and the page, or any other collection with the marker's name in it; for a goal the `Goal`,
its terms, the `Problem`, the result. Left out are lambdas and comprehensions, what compiles the
kernels on a recording of its own, and methods of those records themselves: to ask a record for its
length is no step. Compiled kernels run in one call and are not seen. A short text is a label and
does not count either, as where an argument is checked; `--labels` counts it.

Printed are the functions in the order of their first call, indented by depth; the number of their
files; and how often the top-level package changes along that order. At 0.1, before the packages
were put in order, a marker passed 50 files with 21 changes, 56 and 27 with labels.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import exactik

ROOT = f"{Path(exactik.__file__).parent}{os.sep}"
MARKER = "RFIN"
SECONDS = 2.0
PAGE_LENGTH = 200  # characters from which a text is part of the page and no mere name
DEPTH = 3  # of collections that are looked into
ITEMS = 200  # of each that are looked at
MARKER_RECORDS = {"Markers", "TrackingProblem", "Track", "Motion"}
GOAL_RECORDS = {"Problem", "Term", "Terms", "Result", "PackedGoals"}
LEFT_OUT = {"compile_kernels"}  # with all that it calls


class Step(NamedTuple):
    """A function on the walk."""

    file: str
    function: str
    depth: int

    @property
    def package(self) -> str:
        """The top-level package, or the module where there is none."""
        return self.file.partition(os.sep)[0]


def holds_marker(value: Any, labels: bool, depth: int = 0) -> bool:
    """Return whether a value holds the marker that is followed."""
    if type(value).__name__ in MARKER_RECORDS:
        return True
    if isinstance(value, bytes):
        return MARKER.encode() in value
    if isinstance(value, str):
        page = len(value) >= PAGE_LENGTH
        return value == MARKER if depth > 0 and not labels else MARKER in value and (labels or page)
    if isinstance(value, dict) and "error_per_marker" in value:
        return True
    if depth < DEPTH and isinstance(value, dict | list | tuple):
        items = list(value.values() if isinstance(value, dict) else value)[:ITEMS]
        return any(holds_marker(item, labels, depth + 1) for item in items)
    return False


def holds_goal(value: Any, labels: bool, depth: int = 0) -> bool:
    """Return whether a value holds goals, what they are packed into, or what became of them."""
    if any(kind.__name__ == "Goal" for kind in type(value).__mro__):
        return True
    if type(value).__name__ in GOAL_RECORDS:
        return True
    if depth < DEPTH and isinstance(value, dict | list | tuple):
        items = list(value.values() if isinstance(value, dict) else value)[:ITEMS]
        return any(holds_goal(item, labels, depth + 1) for item in items)
    return False


def find_walk(
    program: Callable[[], object], holds: Callable[[Any, bool], bool], labels: bool
) -> list[Step]:
    """Return the functions of the package that see what is followed, by their first call."""
    order: dict[tuple[str, str], tuple[int, int]] = {}  # function → place of first call, depth
    walk: set[tuple[str, str]] = set()
    records = MARKER_RECORDS | GOAL_RECORDS

    def profile(frame: FrameType, event: str, value: Any) -> None:
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(ROOT):
            return
        function = code.co_filename.removeprefix(ROOT), code.co_qualname
        if "<" in code.co_name or (function in walk and function in order):
            return
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        arguments = [frame.f_locals[name] for name in names if name in frame.f_locals]
        if names[:1] == ("self",) and type(arguments[0]).__name__ in records:
            return
        callers = _callers(frame)
        if LEFT_OUT & {code.co_name, *callers}:
            return
        order.setdefault(function, (len(order), len(callers)))
        if holds(value, labels) or any(holds(argument, labels) for argument in arguments):
            walk.add(function)

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        program()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    found = sorted((order[function], function) for function in walk)
    return [Step(file, name, depth) for (_, depth), (file, name) in found]


def _callers(frame: FrameType) -> list[str]:
    """Return the names of the package's functions that led to a frame."""
    names, caller = [], frame.f_back
    while caller is not None:
        if caller.f_code.co_filename.startswith(ROOT):
            names.append(caller.f_code.co_name)
        caller = caller.f_back
    return names


def solve_marker() -> Callable[[], object]:
    """Return a program that solves a recording of two seconds, on the command line."""
    from exactik.cli import main
    from exactik.synthetic import simulate_performance, simulate_recording

    made = simulate_recording(simulate_performance(SECONDS), noise=0.001, gaps=0.05)
    made.markers.save("one.c3d")

    def program() -> None:
        files = ["-o", "one.bvh", "--report", "one.html"]
        sys.argv = ["exactik", "solve", "one.c3d", "--skeleton", "human", *files]
        with contextlib.suppress(SystemExit), contextlib.redirect_stderr(io.StringIO()):
            main()

    return program


def solve_goal() -> Callable[[], object]:
    """Return a program that poses the built-in human and asks why."""
    import exactik as ik

    def program() -> None:
        goals = [ik.PositionGoal("r_hand", (0.4, -0.2, 1.0)), ik.PositionGoal("head", (0, 0, 1.5))]
        print(ik.solve(ik.Problem(ik.human(), goals)).why)

    return program


def main() -> None:
    """Print a walk and its two numbers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=("marker", "goal"))
    parser.add_argument("--labels", action="store_true", help="count what sees only the name")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        made, holds = {
            "marker": (solve_marker, holds_marker),
            "goal": (solve_goal, holds_goal),
        }[arguments.what]
        program = made()
        with contextlib.redirect_stdout(io.StringIO()):
            program()
            walk = find_walk(program, holds, arguments.labels)
    for before, step in zip([None, *walk], walk, strict=False):
        crossed = before is not None and before.package != step.package
        print(f"{'→' if crossed else ' '} {'  ' * min(step.depth, 15)}{step.file}: {step.function}")
    crossings = sum(a.package != b.package for a, b in itertools.pairwise(walk))
    files = {step.file for step in walk}
    print(f"{len(walk)} functions in {len(files)} files, {crossings} changes of package")
    for package in dict.fromkeys(step.package for step in walk):
        inside = [file for file in sorted(files) if file.partition(os.sep)[0] == package]
        print(f"  {package}: {len(inside)}  {' '.join(Path(file).stem for file in inside)}")


if __name__ == "__main__":
    main()
