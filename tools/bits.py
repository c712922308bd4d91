"""Print a digest of each answer, to see whether a change of the code changed any of them.

    python tools/bits.py [SECTION …] > after.txt
    diff before.txt after.txt

Numbers count to the last bit; of files that cannot be read, so does the sentence that says why.
`EXACTIK_COMPILED=0 NUMBA_CPU_NAME=x86-64-v3 NUMBA_CPU_FEATURES=` compiles just in time what the
library has for that level: core and solvers came out the same. It uses public names alone, so that
it runs on other versions as well. The sections: core, solvers, track, files, writers, recordings,
retarget.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src"), str(ROOT / "papers" / "src")]
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import numpy as np  # noqa: E402

import exactik as ik  # noqa: E402

DATA = Path(os.environ.get("EXACTIK_DATA", ROOT.parent / "shared" / "data"))
SEED = 30
RECORDINGS = (
    "c3d/vicon_pig",
    "c3d/theia",
    "c3d/optitrack/walkingOptiTrack.c3d",
    "c3d/c3dorg_sample01/Eb015pi.c3d",
    "trc/opensim",
)
SOURCES = ("bvh/xia", "bvh/cmu_cgspeed")


def digest(*values: Any) -> str:
    """Return a short hash of arrays, numbers, texts and containers of these."""
    total = hashlib.sha256()
    _feed(total, values)
    return total.hexdigest()[:16]


def _feed(total: Any, value: Any) -> None:
    if isinstance(value, np.ndarray):
        total.update(f"{value.dtype.kind}{value.shape}".encode())
        total.update(repr(value.tolist()).encode() if value.dtype.kind in "OU" else value.tobytes())
    elif isinstance(value, dict):
        _feed(total, sorted(value.items()))
    elif isinstance(value, list | tuple):
        total.update(f"({len(value)}".encode())
        for part in value:
            _feed(total, part)
    else:
        total.update(repr(value).encode())


def list_solvers() -> tuple[str, ...]:
    """Return the names of all solvers."""
    names = getattr(ik, "list_solvers", None) or getattr(ik, "solvers")  # noqa: B009
    return names()


def core() -> Iterator[tuple[str, str]]:
    """Derivatives of figures at random poses with goals of every kind."""
    rng = np.random.default_rng(SEED)
    for figure in (ik.human(), ik.quadruped(), ik.hand(), ik.octopus()):
        bones = figure.bone_names
        for k in range(20):
            q = figure.integrate(figure.neutral(), 0.3 * rng.standard_normal(figure.nv))
            bone = bones[int(rng.integers(1, len(bones)))]
            target = np.eye(4)
            target[:3, 3] = rng.standard_normal(3)
            goals = [
                ik.PositionGoal(bone, rng.standard_normal(3), name="a"),
                ik.PoseGoal(bones[-1], target, weight=0.3, name="b"),
                ik.DirectionGoal(bones[1], (1, 0, 0), (0, 1, 0), name="c"),
                ik.AimGoal(bones[2], (1, 0, 0), rng.standard_normal(3), name="d"),
                ik.OrientationGoal(bone, np.eye(3), kind="axes", name="e"),
                ik.PostureGoal(figure.neutral(), weight=0.01, name="f"),
            ]
            problem = ik.Problem(figure, goals)
            x = rng.standard_normal(figure.nv)
            answers = [problem.cost(q), problem.gradient(q), problem.hessian(q)]
            answers += [problem.gauss_newton(q), problem.jacobian(q), problem.residual(q)]
            answers += [problem.hessian_product(q, x), figure.jacobian(q, bone, rows="both")]
            answers += [figure.jacobian_dot(q, x, bone), figure.forward(q).positions]
            yield f"{figure.name} {k}", digest(*answers)


def solvers() -> Iterator[tuple[str, str]]:
    """All solvers on three figures, and a batch."""
    for figure, bones in (
        (ik.human(), ("l_hand", "r_foot", "head")),
        (ik.quadruped(), (ik.quadruped().bone_names[-1], ik.quadruped().bone_names[4])),
        (ik.hand(), tuple(ik.hand().bone_names[-2:])),
    ):
        rng = np.random.default_rng(SEED)
        q = figure.integrate(figure.neutral(), 0.2 * rng.standard_normal(figure.nv))
        places = figure.forward(q).positions
        goals: list[ik.Goal] = [
            ik.PositionGoal(b, places[figure.bone_index(b)] + 0.05 * rng.standard_normal(3), name=b)
            for b in bones
        ]
        problem = ik.Problem(figure, [*goals, ik.PostureGoal(figure.neutral(), weight=1e-3)])
        for name in list_solvers():
            found = ik.solve(problem, solver=name)
            yield (
                f"{figure.name} {name}",
                digest(found.q, found.cost, found.status, found.why, found.iterations),
            )
        again = ik.solve(problem, starts=5, seed=3)
        yield f"{figure.name} starts", digest(again.q, again.why, again.covariance(1e-3).sd)
        targets = {b: places[figure.bone_index(b)] + rng.standard_normal((50, 3)) for b in bones}
        batch = ik.solve_batch(problem, targets)
        yield f"{figure.name} batch", digest(batch.q, batch.cost, list(batch.status))


def track() -> Iterator[tuple[str, str]]:
    """HDM05: plain tracks, every frame by itself, and the default track of some frames."""
    from benchmarks.support.hdm05 import TAKES, load_take

    folder = DATA / "asf_amc" / "hdm05_dg"
    for name in TAKES:
        take = load_take(folder, name)
        for what, options in {
            "plain": {"smooth": None, "branches": False},
            "huber": {"smooth": None, "branches": False, "robust": "huber"},
        }.items():
            found = ik.track(take.limited, take.markers, **options)
            yield f"{name} {what}", digest(found.motion.q, found.cost, list(found.status))
        part = take.between(0, 600)
        found = ik.track(part.limited, part.markers)
        yield f"{name} default", digest(found.motion.q, found.sd, found.why)


def describe_skeleton(figure: ik.Skeleton) -> str:
    """Return a digest of all that a figure is."""
    q = figure.integrate(figure.neutral(), np.linspace(-0.5, 0.5, figure.nv))
    pose = figure.forward(q)
    marks = {name: (bone, np.asarray(point)) for name, (bone, point) in figure.markers.items()}
    return digest(
        list(figure.bone_names), list(figure.dof_names), figure.lower, figure.upper, pose.positions,
        pose.rotations, figure.jacobian(q, figure.bone_names[-1]), marks,
    )  # fmt: skip


def _without_places(text: str) -> str:
    """Return a text without the folders of this machine."""
    return re.sub(r"/tmp/\w+/", "", text.replace(str(DATA), ""))


def attempt(read: Callable[[], str]) -> str:
    """Return a digest, or that of the sentence why there is none; warnings count as well."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            told = read()
        except Exception as error:
            text = _without_places(str(error))
            told = f"{type(error).__name__} {digest(text)} {text.splitlines()[0][:90]}"
    notes = [_without_places(str(w.message)) for w in caught]
    return f"{told} {digest(notes) if len(notes) > 0 else '-'}"


def files() -> Iterator[tuple[str, str]]:
    """All files of ../shared/data, read as figure, motion and markers, and inspected."""

    def read_markers(path: Path) -> str:
        markers = ik.load_markers(path)
        analog = {k: getattr(markers, k, None) for k in ("rate", "up_axis", "units_in_file")}
        return digest(markers.positions, list(markers.names), analog)

    def read_motion(path: Path) -> str:
        motion = ik.load_motion(path, length_unit="auto")
        return digest(motion.q, motion.rate) + " " + describe_skeleton(motion.skeleton)

    readers = {
        "skeleton": lambda path: describe_skeleton(ik.load_skeleton(path, length_unit="auto")),
        "motion": read_motion,
        "markers": read_markers,
        "inspect": lambda path: run_command("inspect", str(path), "--json"),
    }
    for path in sorted(p for p in DATA.rglob("*") if p.is_file()):
        if path.suffix.lower() in (".md", ".json", ".txt"):
            continue
        for what, read in readers.items():
            told = attempt(lambda path=path, read=read: read(path))
            yield f"{path.relative_to(DATA)} {what}", told


def writers() -> Iterator[tuple[str, str]]:
    """A motion of the human, its figure and markers in every format that can be written."""
    figure = ik.human()
    ones = np.ones(figure.nv)
    q = np.stack([figure.integrate(figure.neutral(), a * ones) for a in (0, 0.1, 0.2)])
    motion = ik.Motion(figure, q, 30.0)
    markers = ik.Markers(figure.forward(q).markers, tuple(figure.markers), 30.0)
    with tempfile.TemporaryDirectory() as place:
        for suffix in "asf bvh urdf xml glb gltf osim npz amc mot csv trc tsv c3d sto html".split():
            for what, save in {
                "figure": lambda p: ik.save_skeleton(figure, p),
                "motion": lambda p: ik.save_motion(motion, p),
                "markers": lambda p: ik.save_markers(markers, p),
            }.items():
                path = Path(place) / f"{what}.{suffix}"

                def write(path: Path = path, save: Callable[[Path], Any] = save) -> str:
                    save(path)
                    return digest(path.read_bytes()) if path.suffix != ".npz" else "written"

                yield f"{suffix} {what}", attempt(write)


def run_command(*words: str) -> str:
    """Run the command line in this process; return a digest of what it prints and of its code."""
    from exactik.cli import main

    out, code = io.StringIO(), 0
    old = sys.argv
    sys.argv = ["exactik", *words]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            main()
    except SystemExit as end:
        code = end.code
    finally:
        sys.argv = old
    text = _without_places(out.getvalue())
    with contextlib.suppress(ValueError):
        text = json.dumps(_without_times(json.loads(text)), sort_keys=True)
    return f"{code} {digest(text)}"


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        times = ("seconds", "frames_per_second", "versions", "version", "microseconds_per_frame")
        return {k: _without_times(v) for k, v in value.items() if k not in times}
    return [_without_times(v) for v in value] if isinstance(value, list) else value


def _find(text: str, suffixes: tuple[str, ...]) -> Path:
    path = DATA / text
    return path if path.is_file() else min(p for p in path.rglob("*") if p.suffix in suffixes)


def recordings() -> Iterator[tuple[str, str]]:
    """Recordings solved and judged by the command line: motion, angles, summary."""
    with tempfile.TemporaryDirectory() as place:
        for text in RECORDINGS:
            path = _find(text, (".c3d", ".trc"))
            out = Path(place) / "out.csv"
            told = run_command("solve", str(path), "--skeleton", "human", "-o", str(out), "--json")
            table = digest(out.read_bytes()) if out.is_file() else "none"
            out.unlink(missing_ok=True)
            yield f"{path.relative_to(DATA)}", f"{told} {table}"


def retarget() -> Iterator[tuple[str, str]]:
    """Motions taken over by the human and by a robot."""
    with tempfile.TemporaryDirectory() as place:
        for text in SOURCES:
            source = _find(text, (".bvh",))
            out = Path(place) / "out.bvh"
            words = ("--to", "human", "-o", str(out), "--end", "4")
            told = run_command("retarget", str(source), *words)
            yield (
                f"{source.relative_to(DATA)}",
                f"{told} {digest(out.read_bytes()) if out.is_file() else None}",
            )


SECTIONS = {f.__name__: f for f in (core, solvers, track, files, writers, recordings, retarget)}


def main() -> None:
    """Print what was asked for, all without a name."""
    for name in sys.argv[1:] or SECTIONS:
        for what, told in SECTIONS[name]():
            print(f"{name}: {what}: {told}", flush=True)


if __name__ == "__main__":
    main()
