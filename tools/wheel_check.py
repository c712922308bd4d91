"""Try a wheel as its users will: no compiler, no Numba, nothing to write on, no network.

    python tools/wheel_check.py dist/exactik-….whl    # in a fresh environment, which it makes
    python tools/wheel_check.py --installed           # in the environment of this Python

As root on Linux the environment is made read-only, and used by nobody, cut off from the network.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMANDS = """
--version
demo --seconds 4 -o demo
inspect demo/performance.c3d
solve demo/performance.c3d --skeleton human -o walk.csv --report walk.html
calibrate demo/performance.c3d --skeleton human -o subject.npz
match demo/performance.c3d --skeleton human
label demo/performance.c3d -o named.c3d
convert demo/performance.bvh walk.glb
retarget demo/performance.bvh --to human -o other.bvh --report other.html
play demo/performance.glb --markers demo/performance.c3d -o page.html
map human --goal r_hand=0.4,-0.2,1.2 --dofs r_upper_arm.rx r_forearm.rz --size 9 -o map.csv
check --trees 3
"""
OPTIONAL = {"play": "trimesh", "pose": "viser"}  # commands that need more than exactik itself
FINE = (0, 1)  # 1: usable with care
POSES = """
import sys, time
begin = time.perf_counter()
sys.modules["numba"] = sys.modules["llvmlite"] = None
import numpy as np
numpy_there = time.perf_counter()
import exactik as ik
print(f"import exactik, beyond NumPy: {time.perf_counter() - numpy_there:.2f} s")
begin, figure = time.perf_counter(), ik.human()
result = ik.solve(figure, [ik.PositionGoal("r_hand", (0.45, -0.20, 1.05))], lock="pelvis")
assert result.reached, result
print(f"first pose: {time.perf_counter() - begin:.2f} s")
begin, problem = time.perf_counter(), result.problem
places = np.random.default_rng(0).uniform((0.2, -0.4, 0.9), (0.4, 0.0, 1.3), (1000, 3))
batch = ik.solve_batch(problem, {"r_hand": places}, threads=2)
assert batch.reached.mean() > 0.9
print(f"first batch, 1000 problems: {time.perf_counter() - begin:.2f} s")
"""


def run(command: list[str], folder: Path) -> None:
    """Run a command where nothing may be compiled; end with what it printed if it fails."""
    settings = {"HOME": str(folder), "EXACTIK_COMPILED": "strict", "PATH": ""}
    settings |= {name: os.environ[name] for name in ("SYSTEMROOT", "TEMP") if name in os.environ}
    done = subprocess.run(command, cwd=folder, env=settings, capture_output=True, text=True)
    if done.returncode not in FINE:
        sys.exit(f"{done.stdout}{done.stderr}failed: {' '.join(command[1:])[:80]}")
    if "-c" in command:
        print(done.stdout, end="")


def check_installed() -> None:
    """Run poses, a batch and every command in a new folder; say how long each took."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run([sys.executable, "-I", "-c", POSES], folder)
        for line in COMMANDS.strip().splitlines():
            words, began = line.split(), time.perf_counter()
            run([sys.executable, "-I", "-m", "exactik", *words], folder)
            print(f"exactik {words[0]}: {time.perf_counter() - began:.2f} s", flush=True)


def isolate() -> list[str]:
    """Return what a command is called with, to be of another user and without a network."""
    tools = [shutil.which(name) for name in ("unshare", "setpriv")]
    if sys.platform != "linux" or os.geteuid() != 0 or None in tools:
        return []
    command = [str(tools[0]), "--net"]
    if not all(path.stat().st_mode & 0o001 for path in Path(sys.executable).resolve().parents):
        print("without a network (others may not run this Python):", flush=True)
        return command
    print("as nobody, without a network:", flush=True)
    return [*command, str(tools[1]), "--reuid=65534", "--regid=65534", "--clear-groups"]


def check_wheel(wheel: Path) -> None:
    """Install a wheel into a new environment and check that."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        python = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
        subprocess.run([python, "-m", "pip", "install", "-qq", wheel.resolve()], check=True)
        script = shutil.copy(__file__, folder)
        for path in (folder / "venv").rglob("*"):
            if not path.is_symlink():
                path.chmod(path.stat().st_mode & ~0o222)
        command = [*isolate(), str(python), "-I", script, "--installed"]
        done = subprocess.run(command, cwd="/", check=False)
        for path in (folder / "venv").rglob("*"):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o755)
        sys.exit(done.returncode)


if __name__ == "__main__":
    if sys.argv[1:] == ["--installed"]:
        check_installed()
    elif len(sys.argv) == 2:
        check_wheel(Path(sys.argv[1]))
    else:
        sys.exit(__doc__)
