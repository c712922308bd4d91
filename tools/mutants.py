"""Deliberate faults in tracking, calibration and verdict: does a quick test notice each of them?

    python tools/mutants.py [PACKAGE …] [--area AREA] [--only TEXT] [--kind KIND] [--limit N]
                            [--jobs N] [--again | --new] [--write]

A fault is a constant × 10 or ÷ 10, a call left out, or a comparison turned (tools/faults.py). The
tests of a module run once without a fault, in this process, so that the kernels are loaded and all
is known to pass; then each fault runs them in a forked child that imports the layers from tracking
on anew, until the first test fails. Kernels are not touched: they would compile again.

The area `--area retargeting` is run in the same way. `--area solver`, the compiled descent,
certificates and verdicts of poses, and `--area pairs`, goals between bodies, loops and servos, give
functions their faulty code without importing anything anew; nothing is sampled, and numbers inside
functions are faults, too. In the first of these kernels run in the interpreter.

What was caught is kept in build/mutants.json and not run again as long as the module is the same;
survivors are. --write puts the tables into build/mutants-AREA.md. Survivors need a reason in
tools/mutants.toml, among those that change no answer or those that may; the exit code is 1 if one
has none, or if less than 90 % of all are caught.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import resource
import select
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGKILL, SIGXCPU

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src"), str(ROOT / "papers" / "src")]
# Set before numpy is loaded: children of one thread each; examples as in CI.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", CI="1")

import pytest  # noqa: E402

from tools.faults import KINDS, Fault, find_faults, sample_faults  # noqa: E402
from tools.faulty_modules import FaultyFinder, put_into_functions  # noqa: E402
from tools.mutants_settings import AREAS, Area, Settings, path_of  # noqa: E402
from tools.mutants_table import write_tables  # noqa: E402

RESULTS = ROOT / "build" / "mutants.json"
MIN_CAUGHT = 0.9  # share of the faults
JOBS = 2  # faults at a time
SEED = 14
# Times the processor time without a fault, and seconds of it, after which one hangs; and times that
# on the clock, where the process sleeps or others need the machine.
PATIENCE, GRACE, MAX_CLOCK = 3.0, 10.0, 20.0


@dataclass
class Outcome:
    """What became of a fault: the test that failed, "" if none did, and how long it took [s]."""

    caught_by: str
    seconds: float


@dataclass(eq=False)
class Watch:
    """A plugin of pytest: runs tests in a given order and keeps the first failure and all times."""

    order: dict[str, float] = field(default_factory=dict)
    failed: str = ""
    seconds: dict[str, float] = field(default_factory=dict)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Those that caught faults of this module before come first, then the order given."""
        items.sort(key=lambda item: self.order.get(item.nodeid, 0.0))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what is asked for."""
        known = self.seconds.get(report.nodeid, 0.0)
        self.seconds[report.nodeid] = known + report.duration
        if report.failed and self.failed == "":
            self.failed = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A module that cannot even be imported."""
        if report.failed and self.failed == "":
            self.failed = f"{report.nodeid} (import)"


def forget_upper_layers(area: Area) -> None:
    """Take the tests out of `sys.modules`, the facade and the layers that hold faults, too."""
    beside = tuple(str(ROOT / folder) + os.sep for folder in ("tests", "benchmarks", "papers"))
    for name, module in list(sys.modules.items()):
        package, _, rest = name.partition(".")
        layer = rest.partition(".")[0]
        upper = package == "exactik" and not area.in_place and layer in ("", *area.above)
        if upper or (getattr(module, "__file__", None) or "").startswith(beside):
            del sys.modules[name]


def run_tests(tests: Sequence[str], watch: Watch, area: Area, *, stop: bool) -> int:
    """Run tests in this process, silently; return pytest's exit code."""
    silent = os.open(os.devnull, os.O_WRONLY)
    kept = os.dup(1), os.dup(2)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    arguments = ["-q", "-p", "no:cacheprovider", "--rootdir", str(ROOT), *tests]
    if area.interpreted:  # where compiled code divides by zero in silence, numpy warns
        arguments += ["-W", "ignore::RuntimeWarning"]
    try:
        return int(pytest.main([*arguments, "-x"] if stop else arguments, plugins=[watch]))
    finally:
        sys.stdout.flush()
        for old, place in zip(kept, (1, 2), strict=True):
            os.dup2(old, place)
            os.close(old)
        os.close(silent)


class Child:
    """A forked process with a fault in it."""

    def __init__(
        self,
        fault: Fault,
        tests: Sequence[str],
        order: dict[str, float],
        limit: float,
        area: Area,
    ):
        self.fault, self.started, self.limit = fault, time.monotonic(), limit
        self.pipe, write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.pipe)
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), math.ceil(limit) + 5))
            code = 1
            try:
                if area.in_place:
                    put_into_functions(fault)
                else:
                    sys.meta_path.insert(0, FaultyFinder(fault))
                watch = Watch(order=order)
                run_tests(tests, watch, area, stop=True)
                os.write(write, (watch.failed or "-").encode())
                code = 0
            finally:
                os._exit(code)
        os.close(write)

    def poll(self) -> Outcome | None:
        """Return the outcome if there is one."""
        seconds = time.monotonic() - self.started
        if len(select.select([self.pipe], [], [], 0.0)[0]) == 0:
            if seconds < MAX_CLOCK * self.limit:
                return None
            os.killpg(self.pid, SIGKILL)
        answer = os.read(self.pipe, 4096).decode()
        status = os.waitpid(self.pid, 0)[1]
        if answer == "":
            hangs = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (SIGXCPU, SIGKILL)
            answer = f"stopped after {seconds:.0f} s" if hangs else "the process ended"
        os.close(self.pipe)
        return Outcome(caught_by="" if answer == "-" else answer, seconds=seconds)


def collect_faults(packages: Sequence[str], area: Area) -> list[Fault]:
    """Return the faults of packages, or of modules "report._suspects"."""
    faults = []
    for name in packages:
        path = path_of(f"exactik.{name}")
        folder = path.with_suffix("")
        files = sorted(folder.rglob("*.py")) if folder.is_dir() else [path]
        for file in files:
            if file.name != "__init__.py":
                parts = file.relative_to(ROOT / "src").with_suffix("").parts
                faults += find_faults(".".join(parts), file, literals=area.literals)
    return faults


def run_faults(
    faults: list[Fault], settings: Settings, results: dict[str, dict], jobs: int, area: Area
) -> None:
    """Run the tests of each fault, `jobs` at a time, and write down what became of it."""
    groups: dict[tuple[str, ...], list[Fault]] = defaultdict(list)
    for fault in faults:
        groups[tuple(settings.tests_of(fault))].append(fault)
    for tests, own in groups.items():
        started = time.process_time()
        watch = Watch()
        code = run_tests(tests, watch, area, stop=False)
        if code != 0:
            failed = watch.failed or "pytest ended with " + str(code)
            raise SystemExit(f"without any fault, {failed}")
        seconds = time.process_time() - started
        print(f"{' '.join(tests)}: {len(watch.seconds)} tests, {seconds:.0f} s", flush=True)
        forget_upper_layers(area)
        _run_group(own, list(tests), watch, PATIENCE * seconds + GRACE, results, jobs, area)


def _run_group(
    faults: list[Fault],
    tests: list[str],
    usual: Watch,
    limit: float,
    results: dict[str, dict],
    jobs: int,
    area: Area,
) -> None:
    """Run faults that share their tests, `jobs` at a time."""
    # Files in the order of the table. Setting up what tests share falls to the first of a file.
    rank = {name: float(k) for k, name in enumerate(usual.seconds)}
    waiting, running, done = list(faults), list[Child](), 0
    catches: dict[str, Counter[str]] = defaultdict(Counter)
    while len(waiting) + len(running) > 0:
        while len(waiting) > 0 and len(running) < jobs:
            fault = waiting.pop(0)
            order = rank.copy()
            for name, count in catches[fault.module].items():
                if usual.seconds.get(name, 9.0) < 5.0:
                    order[name] = -float(count)
            running.append(Child(fault, tests, order, limit, area))
        time.sleep(0.02)
        for child in list(running):
            outcome = child.poll()
            if outcome is None:
                continue
            running.remove(child)
            done += 1
            fault = child.fault
            catches[fault.module][outcome.caught_by] += 1
            results[fault.key] = {
                "module": fault.module,
                "kind": fault.kind,
                "source": digest(fault.module),
                "caught_by": outcome.caught_by,
                "seconds": round(outcome.seconds, 1),
            }
            save_results(results)
            word = "caught  " if outcome.caught_by else "SURVIVES"
            test = outcome.caught_by.rpartition("::")[2]
            print(
                f"{done:4d}/{len(faults)} {outcome.seconds:5.1f} s  {word} {fault.key}"
                f"{'  by ' + test if test else ''}",
                flush=True,
            )


def digest(module: str) -> str:
    """Return what tells whether a module is still the same."""
    return hashlib.sha256(path_of(module).read_bytes()).hexdigest()[:16]


def save_results(results: dict[str, dict]) -> None:
    """Write all outcomes known so far."""
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False), "utf-8")


def main() -> int:
    """Run what is asked for and judge it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("packages", nargs="*", help="or modules, report._suspects; all by default")
    parser.add_argument("--area", choices=tuple(AREAS), default="recordings")
    parser.add_argument("--only", default="", help="faults whose name has this text")
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--limit", type=int, default=10**6, help="so many at most, spread evenly")
    parser.add_argument("--jobs", type=int, default=JOBS, help="faults at a time")
    parser.add_argument("--again", action="store_true", help="also what was caught before")
    parser.add_argument(
        "--new",
        action="store_true",
        help="not what an earlier version caught, nor survivors with a reason",
    )
    parser.add_argument("--list", action="store_true", help="show the faults and run none")
    parser.add_argument("--write", action="store_true", help="write build/mutants-AREA.md")
    options = parser.parse_args()
    os.chdir(ROOT)
    area = AREAS[options.area]
    if area.interpreted:  # read when numba is loaded, which the first test does
        os.environ["NUMBA_DISABLE_JIT"] = "1"
    packages = options.packages or list(area.packages)
    settings = Settings.load()
    every = settings.named_faults(packages) + collect_faults(packages, area)
    chosen = [
        fault
        for fault in sample_faults(every, area.comparisons, SEED)
        if options.only in fault.key and options.kind in (None, fault.kind)
    ]
    results = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}

    def is_due(fault: Fault) -> bool:
        known = results.get(fault.key)
        if options.again or known is None:
            return True
        if not known["caught_by"]:
            return not options.new or settings.reason_of(fault.key) is None
        return not options.new and known["source"] != digest(fault.module)

    due = [fault for fault in chosen if is_due(fault)]
    due = due[:: max(-(-len(due) // options.limit), 1)]
    print(f"{len(every)} faults, {len(chosen)} chosen, {len(due)} to be run")
    if options.list:
        for fault in chosen:
            print(f"{fault.kind:10s} {fault.key}")
        return 0
    run_faults(due, settings, results, options.jobs, area)
    page = ROOT / "build" / f"mutants-{options.area}.md" if options.write else None
    return judge(every, chosen, settings, results, page)


def judge(
    every: list[Fault],
    chosen: list[Fault],
    settings: Settings,
    results: dict[str, dict],
    page: Path | None,
) -> int:
    """Print what survived, with its reason; return the exit code.

    Tables are written to a page, if one is given.
    """
    run = [fault for fault in chosen if fault.key in results]
    survivors = [fault for fault in run if not results[fault.key]["caught_by"]]
    share = 1.0 - len(survivors) / max(len(run), 1)
    unexplained = 0
    for fault in survivors:
        reason = settings.reason_of(fault.key)
        unexplained += reason is None
        print(f"survives: {fault.key}\n    {reason.text if reason else 'NO REASON GIVEN'}")
    print(f"{len(run)} faults, {len(run) - len(survivors)} caught ({100 * share:.1f} %)")
    if page is not None:
        older = sum(results[fault.key]["source"] != digest(fault.module) for fault in run)
        write_tables(page, every, chosen, results, settings.reason_of, older)
    return int(unexplained > 0 or share < MIN_CAUGHT)


if __name__ == "__main__":
    sys.exit(main())
