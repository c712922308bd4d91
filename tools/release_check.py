"""Build what would be published, look into it, and run the README from it in fresh environments.

    python tools/release_check.py [3.12 …]      # some versions of Python; without: 3.11, 3.12, 3.13

The wheel is built from the sdist, so that the sdist is complete. A Python that cannot be found is
said to be missing; the check passes if every one that is there does, and there is at least one.
"""

from __future__ import annotations

import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.11", "3.12", "3.13")
IN_SDIST = ("README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "Makefile", "mkdocs.yml")
LIBRARIES = "exactik/compile/lib/"  # which only wheels have
PRINT_LIBRARIES = "from exactik.compile import list_libraries; print(*list_libraries(), sep='\\n')"

# Runs ahead of the example: a checkout that shadows the wheel would prove nothing.
GUARD = """\
import pathlib, sys, exactik
assert pathlib.Path(exactik.__file__).is_relative_to(sys.prefix), exactik.__file__
"""


def run(*command: str | Path, cwd: Path) -> str:
    """Return what a command prints; end with its output if it fails."""
    outside = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=outside, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{done.stdout}{done.stderr}failed: {' '.join(map(str, command))}")
    return done.stdout


def first_python_block(markdown: str) -> str:
    """Return the first fenced Python block of a Markdown text."""
    block = re.search(r"^```python\n(.*?)^```$", markdown, re.DOTALL | re.MULTILINE)
    if block is None:
        sys.exit("README.md has no python block")
    return block[1]


def find_python(version: str) -> Path | None:
    """Return an interpreter of this version: ours, one on the path, pyenv's or uv's; else None."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [sys.executable, shutil.which(f"python{version}"), shutil.which("python3")]
    found += sorted(pyenv.glob(f"{version}.*/bin/python"))
    if (uv := shutil.which("uv")) is not None:
        answer = subprocess.run(
            [uv, "python", "find", "--no-python-downloads", version], capture_output=True, text=True
        )
        found.append(answer.stdout.strip() or None)
    ask = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    for candidate in found:
        if candidate is not None:
            answer = subprocess.run([candidate, "-c", ask], capture_output=True, text=True)
            if answer.stdout.strip() == version:
                return Path(candidate)
    return None


def check_metadata(wheel: Path, version: str) -> str:
    """Check what an index would read of the wheel; return the facts in words."""
    from packaging.metadata import Metadata

    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        text = archive.read(name)
    facts = Metadata.from_email(text, validate=True)  # raises on what an index would refuse
    body = email.message_from_bytes(text).get_payload()
    problems = [
        problem
        for problem, there in {
            f"version {facts.version}, not {version}": str(facts.version) == version,
            "no Markdown description": facts.description_content_type == "text/markdown"
            and str(body).startswith("# exactik"),
            "no summary": bool(facts.summary),
            "no licence": str(facts.license_expression) == "Apache-2.0",
            "no requires-python": str(facts.requires_python) == ">=3.11",
        }.items()
        if not there
    ]
    if len(problems) > 0:
        sys.exit(f"{wheel.name}: {', '.join(problems)}")
    return f"{facts.name} {facts.version}, {len(facts.requires_dist or [])} requirements"


def check_contents(wheel: Path, sdist: Path) -> str:
    """Check that both hold what is tracked and nothing else; return the facts in words.

    A library of kernels is to be, byte for byte, the one of the checkout, if that has one.
    """
    tracked = run("git", "ls-files", cwd=ROOT).splitlines()
    fresh = run(sys.executable, "-c", PRINT_LIBRARIES, cwd=ROOT).splitlines()
    with zipfile.ZipFile(wheel) as archive:
        packed = {n for n in archive.namelist() if ".dist-info/" not in n}
        libraries = {n: archive.read(n) for n in packed if n.startswith(LIBRARIES)}
    for name, content in libraries.items():
        here = ROOT / "src" / name
        if str(here) in fresh and here.read_bytes() != content:
            sys.exit(f"{wheel.name}: {here.name}, made in another folder, has other bytes")
    sources = {n.removeprefix("src/") for n in tracked if n.startswith("src/exactik/")}
    packed = {n for n in packed if not n.startswith(LIBRARIES)}
    if packed != sources:
        sys.exit(f"{wheel.name}: differs from src/ in {sorted(packed ^ sources)[:8]}")
    with tarfile.open(sdist) as archive:
        inside = {n.partition("/")[2] for n in archive.getnames()}
    missing = [n for n in (*IN_SDIST, *(f"src/{n}" for n in sources)) if n not in inside]
    strange = sorted(inside - set(tracked) - {"PKG-INFO", ""})
    if len(missing) + len(strange) > 0:
        sys.exit(f"{sdist.name}: lacks {missing[:8]}, has {strange[:8]}")
    sizes = " and ".join(f"{p.stat().st_size / 1e6:.1f} MB" for p in (wheel, sdist))
    return f"{len(packed)} files in the wheel, {len(inside)} in the sdist ({sizes})"


def check_install(python: Path, wheel: Path, version: str, folder: Path) -> str:
    """Install the wheel into a fresh environment and run the README there; return the facts."""
    began = time.perf_counter()
    run(python, "-m", "venv", folder / "venv", cwd=folder)
    scripts = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    run(scripts / "python", "-m", "pip", "install", "-q", wheel, cwd=folder)
    installed = time.perf_counter()
    example = first_python_block((ROOT / "README.md").read_text(encoding="utf-8"))
    (folder / "example.py").write_text(GUARD + example, encoding="utf-8")
    said = run(scripts / "python", "-I", "example.py", cwd=folder)
    ran = time.perf_counter()
    quoted = re.findall(r"^print\(.*\)  # (.*?)\s*(?:….*)?$", example, re.MULTILINE)
    for line in quoted:
        if line not in said:
            sys.exit(f"the README promises {line!r}, and its example prints:\n{said}")
    if not run(scripts / "exactik", "--version", cwd=folder).startswith(f"exactik {version},"):
        sys.exit("exactik --version names another version")
    run(scripts / "exactik", "--help", cwd=folder)
    run(scripts / "exactik", "inspect", "human", cwd=folder)  # reads the data files
    return f"installed in {installed - began:.0f} s, README in {ran - installed:.0f} s"


def main() -> None:
    """Check everything, and stop at the first fault."""
    sys.path.insert(0, str(ROOT / "src"))
    text = (ROOT / "src/exactik/_version.py").read_text(encoding="utf-8")
    version = re.findall(r'^__version__ = "(.*)"$', text, re.MULTILINE)[0]
    wanted, missing = tuple(sys.argv[1:]) or PYTHONS, []
    with tempfile.TemporaryDirectory(prefix="exactik-release-", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        run(sys.executable, "-m", "build", "--outdir", folder / "dist", ROOT, cwd=folder)
        (wheel,), (sdist,) = folder.glob("dist/*.whl"), folder.glob("dist/*.tar.gz")
        print(f"metadata  {check_metadata(wheel, version)}", flush=True)
        print(f"contents  {check_contents(wheel, sdist)}", flush=True)
        for one in wanted:
            python = find_python(one)
            if python is None:
                missing.append(one)
                continue
            (folder / one).mkdir()
            print(f"{one:9} {check_install(python, wheel, version, folder / one)}", flush=True)
    if len(missing) == len(wanted):
        sys.exit(f"no Python of {', '.join(wanted)} to be had")
    not_tried = f"; not to be had here: {', '.join(missing)}" if len(missing) > 0 else ""
    print(f"release-check: passed{not_tried}")


if __name__ == "__main__":
    main()
