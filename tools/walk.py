"""Count the files that a marker passes from the command to the report, and a goal to `result.why`.

    python tools/walk.py marker   # exactik solve one.c3d --skeleton subject.npz --report one.html
    python tools/walk.py fit      # the same with --skeleton human, which is calibrated first
    python tools/walk.py goal     # ik.solve of a figure that reaches, and its `why`

`subject.npz` is what `exactik calibrate` makes of the same recording. The program runs under
`sys.setprofile`, after a first run that compiles and imports everything, and until the page is
written. A function is on the walk if one of its arguments, or what it returns, holds the thing that
is followed: for a marker the bytes of the file, `Markers`, `TrackingProblem`, `Track`, `Motion`,
the summary and the page, a record with one of these in it, or any other collection with the
marker's name in it; for a goal the `Goal`, its terms, the `Problem`, the result. Left out are
lambdas and comprehensions, and methods of those records themselves: to ask a record for its length
is no step. Compiled kernels run in one call and are not seen. A short text is a label and does not
count either, as where an argument is checked; `--labels` counts it.

Printed are the functions in the order of their first call, indented by depth; the number of their
files; and how often the top-level package changes along that order. Counted by this rule:

    ======  =====================  =====================
    walk    before the rooms       now
    ======  =====================  =====================
    marker  80 files, 44 changes   77 files, 37 changes
    fit     88 files, 49 changes   82 files, 36 changes
    goal    11 files, 1 change     15 files, 4 changes
    ======  =====================  =====================
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
from dataclasses import is_dataclass
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
# `Recording` was the name of `TrackingProblem` in 0.1.0.
MARKER_RECORDS = {"Markers", "TrackingProblem", "Recording", "Track", "Motion"}
GOAL_RECORDS = {"Problem", "Term", "Terms", "Result", "PackedGoals"}
CALLS_OF_KERNELS = os.path.join("compile", "")  # what stands between Python and their machine code
LAST = "write_report"  # when it returns, the marker has arrived


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
    if is_dataclass(value):
        return any(type(field).__name__ in MARKER_RECORDS for field in vars(value).values())
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
    arrived = False
    records = MARKER_RECORDS | GOAL_RECORDS

    def profile(frame: FrameType, event: str, value: Any) -> None:
        nonlocal arrived
        code = frame.f_code
        if arrived or event not in ("call", "return") or not code.co_filename.startswith(ROOT):
            return
        arrived = event == "return" and code.co_name == LAST
        function = code.co_filename.removeprefix(ROOT), code.co_qualname
        if "<" in code.co_name or (function in walk and function in order):
            return
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        arguments = [frame.f_locals[name] for name in names if name in frame.f_locals]
        if names[:1] == ("self",) and type(arguments[0]).__name__ in records:
            return
        callers = _callers(frame)
        if function[0].startswith(CALLS_OF_KERNELS):
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
    """Return the files of the package's functions that led to a frame."""
    files, caller = [], frame.f_back
    while caller is not None:
        if caller.f_code.co_filename.startswith(ROOT):
            files.append(caller.f_code.co_filename.removeprefix(ROOT))
        caller = caller.f_back
    return files


def solve_marker(skeleton: str) -> Callable[[], object]:
    """Return a program that solves a recording of two seconds, on the command line."""
    simulate_markers().save("one.c3d")
    if skeleton != "human":
        run_command("calibrate", "one.c3d", "--skeleton", "human", "-o", skeleton)
    return lambda: run_command("solve", "one.c3d", "--skeleton", skeleton, "--report", "one.html")


def simulate_markers() -> Any:
    """Return a recording of the built-in human, with noise and gaps."""
    try:
        from exactik.lab.synthetic import simulate_performance, simulate_recording
    except ImportError:  # 0.1.0
        from exactik.demo import performance as simulate_performance  # pyright: ignore
        from exactik.demo import recorded as simulate_recording  # pyright: ignore
    return simulate_recording(simulate_performance(SECONDS), noise=0.001, gaps=0.05).markers


def run_command(*arguments: str) -> None:
    """Run `exactik` with some arguments in this process, in silence."""
    from exactik.cli import main

    sys.argv = ["exactik", *arguments]
    silence = io.StringIO()
    with (
        contextlib.suppress(SystemExit),
        contextlib.redirect_stderr(silence),
        contextlib.redirect_stdout(silence),
    ):
        main()


def solve_goal() -> Callable[[], object]:
    """Return a program that poses the built-in human and asks why."""
    import exactik as ik

    def program() -> None:
        goals = [ik.PositionGoal("r_hand", (0.4, -0.2, 1.0)), ik.PositionGoal("head", (0, 0, 1.5))]
        assert ik.solve(ik.Problem(ik.human(), goals)).why != ""

    return program


def main() -> None:
    """Print a walk and its two numbers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=("marker", "fit", "goal"))
    parser.add_argument("--labels", action="store_true", help="count what sees only the name")
    arguments = parser.parse_args()
    holds = holds_goal if arguments.what == "goal" else holds_marker
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        if arguments.what == "goal":
            program = solve_goal()
        else:
            program = solve_marker("human" if arguments.what == "fit" else "subject.npz")
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
