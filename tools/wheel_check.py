"""Build the wheel, install it into a fresh environment elsewhere, and run the README from there."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Runs ahead of the example: a checkout that shadows the wheel would prove nothing.
GUARD = """\
import pathlib, sys, exactik
assert pathlib.Path(exactik.__file__).is_relative_to(sys.prefix), exactik.__file__
"""


def first_python_block(markdown: str) -> str:
    """Return the first fenced Python block of a Markdown text."""
    block = re.search(r"^```python\n(.*?)^```$", markdown, re.DOTALL | re.MULTILINE)
    if block is None:
        sys.exit("README.md has no python block")
    return block[1]


def main() -> None:
    """Check the wheel, and stop at the first command that fails."""
    example = first_python_block((ROOT / "README.md").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="exactik-wheel-") as folder:
        elsewhere = Path(folder).resolve()

        def run(*command: str | Path, quiet: bool = False) -> None:
            done = subprocess.run(command, cwd=elsewhere, capture_output=quiet, check=False)
            if done.returncode != 0:
                output = (done.stdout + done.stderr).decode() if quiet else ""
                sys.exit(f"{output}failed: {' '.join(map(str, command))}")

        run(sys.executable, "-m", "build", "--wheel", "--outdir", elsewhere, ROOT, quiet=True)
        (wheel,) = elsewhere.glob("*.whl")
        venv.create(elsewhere / "venv", with_pip=True)
        scripts = elsewhere / "venv" / "bin"
        run(scripts / "python", "-m", "pip", "install", wheel, quiet=True)
        (elsewhere / "example.py").write_text(GUARD + example, encoding="utf-8")
        print(f"{wheel.name}: running the first example of README.md", flush=True)
        run(scripts / "python", "-I", "example.py")
        run(scripts / "exactik", "--help", quiet=True)
        run(scripts / "exactik", "inspect", "human", quiet=True)  # reads the data files
    print("wheel-check: passed")


if __name__ == "__main__":
    main()
