"""One run of fuzzing and what it must keep; as a program, a campaign of many runs.

    python -m tests.support.fuzz_runs FOLDER --runs 20000 --seed 1
    python -m tests.support.fuzz_runs FOLDER --again motion.bvh/own/1/37
    python -m tests.support.fuzz_runs FOLDER --only player      # or upload, see `run_others`

Whatever a mutant is, the outcome is a result or one of our own errors, a sentence that names the
file; warnings are `FileWarning`; it takes less than two seconds and no more memory than the size of
the file allows; and nothing outside the folder of the file is opened. A program runs under a limit
of its address space, and a crash of it leaves the name of the run in FOLDER/current.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import signal
import sys
import time
import tracemalloc
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import exactik as ik
from exactik.errors import ExactikError, FileWarning
from tests.support.fuzz_files import READERS, Reader, files_of, real_files
from tests.support.fuzz_scenes import Scene, watch_files
from tests.support.fuzz_structures import SIDE_FILE
from tests.support.fuzzing import mutant

__all__ = ["Fuzzer", "Hang", "Wrong"]

SECONDS = 2.0  # of the processor: a machine that is busy with something else proves nothing
SHOWING = 2.0  # times as much for scenes, which are read, exported, put on a page and drawn
WAIT = 30.0  # [s] by the clock, for a reader that waits rather than works
# Text becomes Python objects on the way, some 60 bytes for a number of two characters, and a gap in
# the frame numbers of AMC may add 100,000 frames of NaN; modules that are loaded come on top.
MEMORY, MEMORY_PER_BYTE = 50 << 20, 100
LIMIT = 1 << 30  # [bytes] of address space beyond what a sound start takes
LONGEST = 600  # characters of a sentence


class Wrong(AssertionError):
    """A run that did not keep what it must."""


class Hang(BaseException):
    """Raised by the alarm; no reader may catch it."""


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Interrupt what takes too long; nothing where there are no such signals."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def ring(number: int, frame: Any) -> None:
        raise Hang

    timers = {
        signal.ITIMER_PROF: (signal.SIGPROF, seconds),
        signal.ITIMER_REAL: (signal.SIGALRM, WAIT),
    }
    before = {number: signal.signal(number, ring) for number, _ in timers.values()}
    try:
        for timer, (_, limit) in timers.items():
            signal.setitimer(timer, limit)
        yield
    finally:
        for timer in timers:
            signal.setitimer(timer, 0.0)
        for number, handler in before.items():
            signal.signal(number, handler)


class Fuzzer:
    """Runs mutants of a set of sound files in a folder."""

    def __init__(self, folder: Path, shared: Path | None = None):
        """Make the sound files, and read each once, so that everything is compiled and imported."""
        self.folder = folder
        (folder / "sound").mkdir(parents=True, exist_ok=True)
        self.files, self.skeletons = files_of(folder / "sound")
        if shared is not None:
            files, skeletons = real_files(shared)
            self.files |= files
            self.skeletons |= skeletons
        self.scene = Scene(folder / "beside")
        for suffix, data in self.scene.files.items():
            self.files[f"scene{suffix}/own"] = data
        (folder / SIDE_FILE[0]).write_bytes(SIDE_FILE[1])
        self.slowest, self.largest = (0.0, ""), (0.0, "")
        for name, data in self.files.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FileWarning)
                self.reader(name).load(self.written(name, data), self.skeleton(name))

    @staticmethod
    def reader(name: str) -> Reader:
        return next(r for r in READERS if r.name == name.partition("/")[0])

    def bases(self, reader: Reader) -> list[str]:
        return [name for name in self.files if name.startswith(f"{reader.name}/")]

    def written(self, name: str, data: bytes) -> Path:
        path = self.place(self.reader(name))
        path.write_bytes(data)
        return path

    def place(self, reader: Reader) -> Path:
        """Return where the mutants for a reader are."""
        folder = self.scene.model if reader.what == "scene" else self.folder
        return folder / f"mutant{reader.suffix}"

    def named(self, reader: Reader, seed: int, run: int) -> str:
        """Return the name of a run: a sound file, a seed and a number make a mutant."""
        bases = self.bases(reader)
        return f"{bases[run % len(bases)]}/{seed}/{run}"

    def run(self, name: str) -> str:
        """Do a run; return "result" or the name of the error, and raise `Wrong` for all else."""
        base = name.rsplit("/", 2)[0]
        reader, rng = self.reader(base), Random(name)
        others = [self.files[other] for other in self.bases(reader)]
        if reader.what == "scene":
            data = self.scene.damage(self.files[base], reader.suffix, rng)
        else:
            data = mutant(self.files[base], reader.suffix, rng, others)
        path = self.written(base, data)
        tracemalloc.reset_peak()
        start, used = time.process_time(), tracemalloc.get_traced_memory()[0]
        try:
            limit = SECONDS * (SHOWING if reader.what == "scene" else 1.0)
            allowed = (str(self.scene.folder if reader.what == "scene" else self.folder),)
            with (
                warnings.catch_warnings(record=True) as caught,
                watch_files(allowed) as strange,
                alarm(limit),
            ):
                warnings.simplefilter("always")
                try:
                    outcome = self.checked(reader.load(path, self.skeleton(base), rng), path)
                except ExactikError as error:
                    sentence(str(error), path)
                    outcome = type(error).__name__
            if len(strange) > 0:
                raise Wrong(f"opened {strange[0]}")
            for warning in caught:
                if warning.category is not FileWarning:
                    where = f"{Path(warning.filename).name}, line {warning.lineno}"
                    raise Wrong(f"{warning.category.__name__} at {where}: {warning.message}")
                sentence(str(warning.message), path)
            seconds = time.process_time() - start
            if seconds > limit:
                raise Wrong(f"took {seconds:.1f} s of the processor")
            self.measure(name, seconds, used, len(data))
        except (Exception, Hang) as error:
            text = str(error) if isinstance(error, Wrong) else f"{type(error).__name__}: {error}"
            raise Wrong(f"run {name} ({len(data)} bytes, in {path}): {text[:1500]}") from error
        return outcome

    def skeleton(self, base: str) -> ik.Skeleton:
        return self.skeletons.get(base, _HUMAN)

    def checked(self, result: Any, path: Path) -> str:
        """Look at what came out: it must be sound, however little there is of it."""
        for text in getattr(result, "notes", ()):
            sentence(f"{path}: {text}", path)
        for key in ("q", "positions"):
            if np.isinf(getattr(result, key, 0.0)).any():
                raise Wrong(f"{key} has infinities; expected numbers and NaN")
        if isinstance(result, ik.Markers):
            self.check_samples(result)
        skeleton = result if isinstance(result, ik.Skeleton) else getattr(result, "skeleton", None)
        if skeleton is not None and not np.isfinite(skeleton.neutral()).all():
            raise Wrong("the neutral pose is not finite")
        repr(result)
        return "result"

    @staticmethod
    def check_samples(markers: ik.Markers) -> None:
        """Read channels and plates, which nobody did yet."""
        parts = [plate.centre_of_pressure for plate in markers.force_plates]
        parts += [plate.moment for plate in markers.force_plates]
        if markers.analog is not None:
            parts.append(markers.analog.values)
        if any(np.isinf(part).any() for part in parts):
            raise Wrong("samples have infinities; expected numbers and NaN")

    def measure(self, name: str, seconds: float, used: int, size: int) -> None:
        self.slowest = max(self.slowest, (seconds, name))
        if tracemalloc.is_tracing():
            peak = tracemalloc.get_traced_memory()[1] - used
            self.largest = max(self.largest, (peak / (MEMORY + MEMORY_PER_BYTE * size), name))
            if peak > MEMORY + MEMORY_PER_BYTE * size:
                raise Wrong(f"took {peak / 2**20:.0f} MiB of memory for {size} bytes")


_HUMAN = ik.human()


def sentence(text: str, path: Path) -> None:
    """Check that a text is one line of reasonable length that names the file."""
    if path.name not in text and SIDE_FILE[0] not in text:
        raise Wrong(f"does not name the file: {text}")
    if not text.replace(str(path), "").isprintable():
        raise Wrong(f"has characters that cannot be printed: {text!r}")
    if len(text) > LONGEST + len(str(path)):
        raise Wrong(f"is {len(text)} characters long: {text}")


def main() -> None:
    """Run a campaign; exit with 1 after the first thousand characters of each failure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=int, default=20_000, help="over all readers")
    parser.add_argument("--again", help="name of a run, to do only that one")
    parser.add_argument("--only", default="", help="readers whose names contain this")
    parser.add_argument("--shared", type=Path, help="the folder of real files")
    given = parser.parse_args()
    if run_others(given):
        return
    fuzzer = Fuzzer(given.folder, given.shared)
    tracemalloc.start()
    if given.again is not None:
        print(fuzzer.run(given.again))
        return
    limit_memory()
    chosen = [reader for reader in READERS if given.only in reader.name]
    each = range(-(-given.runs // len(chosen)))
    names = (fuzzer.named(reader, given.seed, run) for reader in chosen for run in each)
    wrong = run_campaign(fuzzer.run, names, given)
    print(f"slowest {fuzzer.slowest[0]:.2f} s ({fuzzer.slowest[1]})")
    print(f"largest {fuzzer.largest[0]:.0%} of the memory allowed ({fuzzer.largest[1]})")
    print(f"largest process {measure_process():.0f} MiB")
    sys.exit(wrong > 0)


def run_campaign(run: Callable[[str], str], names: Iterable[str], given: Any) -> int:
    """Do runs one after another, print what came of them and return how many were wrong."""
    current = os.open(given.folder / "current", os.O_RDWR | os.O_CREAT)
    outcomes: Counter[str] = Counter()
    for name in names:
        os.pwrite(current, name.ljust(100).encode(), 0)
        faulthandler.dump_traceback_later(4 * WAIT, exit=True)
        try:
            outcomes[run(name)] += 1
        except AssertionError as error:
            outcomes["wrong"] += 1
            print(ascii(str(error))[:1000], flush=True)
    faulthandler.cancel_dump_traceback_later()
    counts = ", ".join(f"{n} {outcome}" for outcome, n in outcomes.most_common())
    print(f"{sum(outcomes.values())} runs of seed {given.seed}: {counts}")
    return outcomes["wrong"]


def run_others(given: Any) -> bool:
    """Do the runs of pages in a browser or of a server, and exit; False if others are asked for."""
    kind = given.only or (given.again or "").partition("/")[0]
    if kind not in ("player", "upload"):
        return False
    from tests.support.browser import chromium
    from tests.support.fuzz_player import PlayerFuzzer
    from tests.support.fuzz_upload import UploadFuzzer

    given.folder.mkdir(parents=True, exist_ok=True)
    names = (
        [given.again] if given.again else [f"{kind}/{given.seed}/{k}" for k in range(given.runs)]
    )
    if kind == "player":
        with chromium() as browser:
            wrong = run_campaign(PlayerFuzzer(given.folder, browser).run, names, given)
    else:
        with UploadFuzzer() as fuzzer:
            wrong = run_campaign(fuzzer.run, names, given)
            print(fuzzer.describe())
    sys.exit(wrong > 0)


def measure_process() -> float:
    """Return the most memory that the process had [MiB], or 0 where nobody tells."""
    if sys.platform == "win32":
        return 0.0
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def limit_memory() -> None:
    """Bound the address space, of which C libraries take as well; only where the system can."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        import resource

        now = int(statm.read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + LIMIT, now + LIMIT))


if __name__ == "__main__":
    main()
