"""Measure many clips that a robot takes over, killed on the way.

    python tools/archive_clips.py [--clips 10000] [--kills 10] [--to human]

Pieces of performances, varied, are taken over by `exactik archive retarget` with two workers. All
of its processes are killed on the way, as often as asked; nothing may be lost. The first thousand
are taken over by another run that nothing stops, and must have the same hashes.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import exactik as ik
from exactik.lab.synthetic import simulate_performance

ACTS = ("walk", "punch", "kick", "squat", "jack")
FRAMES, RATE = 10, 30.0  # of a clip; [Hz]


def measure_clips(clips: int, to: str, kills: int) -> None:
    """Print what clips cost that are taken over, whose run is killed, and whether they differ."""
    import psutil

    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as name:
        folder = Path(name)
        write_clips(folder / "in", clips)
        shutil.copytree(folder / "in/0000", folder / "few/0000")
        command = [sys.executable, "-m", "exactik", "archive", "retarget"]
        options = ["--to", to, "--workers", "2", "--format", "npz", "-o"]
        ledger = folder / "out/ledger.sqlite"

        def count_done() -> int:
            if not ledger.exists():
                return 0
            with sqlite3.connect(f"file:{ledger}?mode=ro", uri=True, timeout=60) as base:
                return int(
                    base.execute("SELECT count(*) FROM takes WHERE state='done'").fetchone()[0]
                )

        began = time.perf_counter()
        for k in range(kills + 1):
            with subprocess.Popen(
                [*command, str(folder / "in"), *options, str(folder / "out")]
            ) as run:
                wanted = (k + 1) * clips // (kills + 1)
                while k < kills and run.poll() is None and count_done() < wanted:
                    time.sleep(0.5)
                if k < kills:
                    children = psutil.Process(run.pid).children(recursive=True)
                    for process in (run, *children):
                        process.kill()
            print(
                f"run {k + 1}: {count_done()} done after {time.perf_counter() - began:.0f} s",
                flush=True,
            )
        wall = time.perf_counter() - began
        spent = os.times()
        subprocess.run(
            [*command, str(folder / "few"), *options, str(folder / "alone")], check=False
        )
        after = os.times()
        few = hash_outputs(folder / "alone")
        own = {path: value for path, value in hash_outputs(folder / "out").items() if path in few}
        with sqlite3.connect(ledger) as base:
            states = dict(base.execute("SELECT state, count(*) FROM takes GROUP BY state"))
            twice = base.execute("SELECT count(*) FROM takes WHERE solves > 1").fetchone()[0]
        seconds = after.children_user + after.children_system
        seconds -= spent.children_user + spent.children_system
        print(
            f"{clips} clips, {kills} kills: {states}, {twice} done twice, "
            f"{1e3 * wall / clips:.0f} ms of wall time a clip; {len(few)} of a run without kills: "
            f"{'the same hashes' if own == few else 'OTHER HASHES'}, "
            f"{1e3 * seconds / len(few):.0f} ms of processor time a clip"
        )


def write_clips(folder: Path, clips: int) -> None:
    """Write pieces of performances, a third of a second each, with limbs a few degrees aside."""
    rng, figure = np.random.default_rng(0), ik.human()
    sources = [
        simulate_performance(8.0, rate=RATE, seed=k, acts=(act,)) for k, act in enumerate(ACTS)
    ]
    for k in range(clips):
        source = sources[k % len(sources)]
        first = int(rng.integers(0, len(source) - FRAMES))
        aside = np.concatenate([np.zeros(6), rng.normal(scale=0.05, size=figure.nv - 6)])
        q = figure.clip(figure.integrate(source.q[first : first + FRAMES], aside))
        path = folder / f"{k // 1000:04d}" / f"clip{k:06d}.npz"
        path.parent.mkdir(parents=True, exist_ok=True)
        replace(source, q=q).save(path)


def hash_outputs(folder: Path) -> dict[str, str]:
    """Return path → hash of the motions of an archive."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.glob("takes/**/*.npz"))
    }


def main() -> None:
    """Measure what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--clips", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--to", default="human")
    given = parser.parse_args()
    measure_clips(given.clips, given.to, given.kills)


if __name__ == "__main__":
    main()
