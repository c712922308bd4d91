"""A virtual environment for every tool: install it, run it there, load its answers.

A tool that does not install, does not answer in time or fails is left out with a reason; the others
go on.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exactik.typing import Array

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FOLDER = ROOT / ".peers"
INSTALL_TIMEOUT_S, ANSWER_TIMEOUT_S = 900.0, 900.0
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


class Skipped(Exception):
    """Why a tool has no row."""


@dataclass(frozen=True)
class Tool:
    """An adapter as its file describes it, read without importing what it needs."""

    name: str
    title: str
    package: str
    requirements: tuple[str, ...]
    about: str
    tasks: frozenset[str]

    @property
    def python(self) -> Path:
        """The interpreter that it runs in; exactik's is the one that runs this."""
        if len(self.requirements) == 0:
            return Path(sys.executable)
        return FOLDER / self.name / "bin" / "python"


@dataclass(frozen=True)
class Answers:
    """One row: the answers of a tool to a task; keys with `cold_` are of a figure's cold frames."""

    tool: Tool
    version: str
    label: str
    attempts: int
    values: dict[str, Array]


def read_tools() -> list[Tool]:
    """Return all adapters, exactik first."""
    paths = sorted((HERE / "adapters").glob("with_*.py"))
    adapters = [_read_adapter(path) for path in paths]
    return sorted(adapters, key=lambda tool: (len(tool.requirements) > 0, tool.title.lower()))


def _read_adapter(path: Path) -> Tool:
    module = ast.parse(path.read_text(encoding="utf-8"))
    values: dict[str, Any] = {"REQUIREMENTS": ()}
    for statement in module.body:
        if isinstance(statement, ast.Assign):
            (target,) = statement.targets
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            wanted = [name.id for name in names if isinstance(name, ast.Name)]
            if set(wanted) & {"TITLE", "PACKAGE", "REQUIREMENTS"}:
                value = ast.literal_eval(statement.value)
                values |= zip(wanted, value, strict=True) if len(wanted) > 1 else {wanted[0]: value}
    functions = {node.name for node in module.body if isinstance(node, ast.FunctionDef)}
    tasks = {name for name in ("arm", "figure") if functions & {name, f"{name}s"}}
    return Tool(
        name=path.stem.removeprefix("with_"),
        title=values["TITLE"],
        package=values["PACKAGE"],
        requirements=tuple(values["REQUIREMENTS"]),
        about=ast.get_docstring(module) or "",
        tasks=frozenset(tasks),
    )


def install(tool: Tool) -> None:
    """Make its environment, unless it is there with these requirements."""
    if len(tool.requirements) == 0:
        return
    folder = FOLDER / tool.name
    stamp, asked = folder / "installed.json", json.dumps(tool.requirements)
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == asked:
        return
    _run_command(
        [sys.executable, "-m", "venv", str(folder)], INSTALL_TIMEOUT_S, "no virtual environment"
    )
    command = [str(tool.python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    _run_command([*command, *tool.requirements], INSTALL_TIMEOUT_S, "does not install")
    stamp.write_text(asked, encoding="utf-8")


def measure(tool: Tool, task: Path, budget: float) -> None:
    """Install a tool and let it answer, `budget` [s] of the processor for each of its rows."""
    folder = _get_answer_folder(tool, task.stem)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    command = [str(tool.python), "-W", "ignore", "-m", "benchmarks.peers.ask"]
    try:
        install(tool)
        _run_command(
            [*command, tool.name, str(task), str(budget), str(folder)], ANSWER_TIMEOUT_S, "fails"
        )
    except Skipped as reason:
        (folder / "skipped.txt").write_text(str(reason), encoding="utf-8")


def load_answers(tool: Tool, task: str) -> list[Answers]:
    """Return the last answers of a tool to a task; raise `Skipped` if there are none."""
    folder = _get_answer_folder(tool, task)
    if (folder / "skipped.txt").is_file():
        raise Skipped((folder / "skipped.txt").read_text(encoding="utf-8"))
    if not (folder / "rows.json").is_file():
        raise Skipped("not measured")
    about = json.loads((folder / "rows.json").read_text(encoding="utf-8"))
    loaded = []
    for row in about["rows"]:
        with np.load(folder / row["file"]) as file:
            values = {key: file[key] for key in file.files}
        loaded.append(
            Answers(
                tool=tool,
                version=about["version"],
                label=row["label"],
                attempts=row["attempts"],
                values=values,
            )
        )
    return loaded


def _get_answer_folder(tool: Tool, task: str) -> Path:
    return FOLDER / "answers" / f"{task}-{tool.name}"


def _run_command(command: list[str], limit: float, otherwise: str) -> None:
    """Run a command; raise `Skipped` with a one-line reason if it fails."""
    log = FOLDER / "last.log"
    try:
        with log.open("w", encoding="utf-8") as file:
            done = subprocess.run(
                command,
                cwd=ROOT,
                env={**os.environ, **ONE_THREAD},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                timeout=limit,
                check=False,
            )
    except subprocess.TimeoutExpired:
        raise Skipped(f"{otherwise}: not done after {limit:g} s") from None
    if done.returncode != 0:
        output = log.read_text(encoding="utf-8", errors="replace").splitlines()
        last = next((line.strip() for line in reversed(output) if line.strip()), "no output")
        raise Skipped(f"{otherwise}: {last[:200]}")
