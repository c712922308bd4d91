"""Robots by name: files that `robot_descriptions` has fetched, or that `example-robot-data` brings.

A module of robot_descriptions clones a repository when it is imported. So its text is parsed
instead: it says which repository, and which path in it. Nothing of it is run, and nothing fetched.

A robot is called as its module, with or without what those have in common ("g1_mj_description",
"g1"), and with the maker before it ("unitree_g1"). MJCF comes before URDF, for it says what floats.
"""

from __future__ import annotations

import ast
import os
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from exactik.errors import FileError, UnknownNameError

CACHE_VARIABLE = "ROBOT_DESCRIPTIONS_CACHE"  # of robot_descriptions
CACHE_FOLDER = "~/.cache/robot_descriptions"
PATHS = ("MJCF_PATH", "URDF_PATH")


def find_robot(name: str) -> Path:
    """Return the file of a robot, by a name such as "unitree_g1"; nothing is fetched.

    Args:
        name: as in `list_robots`, or that of a module of robot_descriptions.

    Raises:
        FileError: its files are not on this machine; the text says how to get them.
        UnknownNameError: no robot has this name.
    """
    own = name.strip().lower().replace("-", "_")
    modules = _list_modules().get(own, ())
    for module in modules:
        if (path := _find_fetched(module)) is not None:
            return path
    packaged, is_module = _list_packaged(), own.endswith("_description")
    for stem in dict.fromkeys([own] if is_module else [own, *map(_stem_of, modules)]):
        if stem in packaged:
            return packaged[stem]
    if len(modules) == 0:
        hint = "" if _has_descriptions() else "`pip install robot_descriptions` brings names"
        raise UnknownNameError("robot", name, list_robots(), hint)
    readable = [module for module in modules if _read_path(module) is not None]
    if len(readable) == 0:
        text = "robot_descriptions has it as xacro alone; expected the URDF that xacro makes of it"
        raise FileError(name, text, code="robot-not-here")
    text = (
        f"its files are not on this machine; `robot_descriptions pull {readable[0]}` fetches them"
    )
    raise FileError(name, text, code="robot-not-here")


def list_robots() -> list[str]:
    """Return all names of robots that `find_robot` knows, fetched or not."""
    names = {*_list_modules(), *_list_packaged()}
    return sorted(name for name in names if not name.endswith("_description"))


def _has_descriptions() -> bool:
    return find_spec("robot_descriptions") is not None


def _stem_of(module: str) -> str:
    return module.removesuffix("_description").removesuffix("_mj")


@cache
def _list_modules() -> dict[str, tuple[str, ...]]:
    """Return names in lower case → modules of robot_descriptions, those with an MJCF first."""
    if not _has_descriptions():
        return {}
    from robot_descriptions import DESCRIPTIONS

    found: dict[str, list[str]] = {}
    for module, about in DESCRIPTIONS.items():
        stem = _stem_of(module)
        words = str(getattr(about, "maker", None) or "").lower().split()
        makers = ("_".join(words[:1]), "_".join(words))
        names = (module, stem, *(f"{maker}_{stem}" for maker in makers if maker != ""))
        for alias in dict.fromkeys(names):
            found.setdefault(alias, []).append(module)
    is_urdf = {module: not about.has_mjcf for module, about in DESCRIPTIONS.items()}
    return {name: tuple(sorted(found[name], key=is_urdf.__getitem__)) for name in found}


def _find_fetched(module: str) -> Path | None:
    """Return the file that a module names if it is on this machine."""
    path = _read_path(module)
    return path if path is not None and path.is_file() else None


def _read_path(module: str) -> Path | None:
    """Return where a module's MJCF or URDF is, fetched or not; None if it has neither."""
    spec = find_spec(f"robot_descriptions.{module}")
    if spec is None or spec.origin is None:
        return None
    values: dict[str, str] = {}
    for node in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            value = _evaluate(node.value, values)
            if isinstance(target, ast.Name) and value is not None:
                values[target.id] = value
    found = next((values[path] for path in PATHS if path in values), None)
    return None if found is None else Path(found)


def _evaluate(node: ast.expr, values: dict[str, str]) -> str | None:
    """Return what a line of a description says, paths joined; None for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.Name):
        return values.get(node.id)
    if not isinstance(node, ast.Call) or len(node.args) == 0:
        return None
    if isinstance(node.func, ast.Attribute) and node.func.attr == "join":
        parts = [_evaluate(part, values) for part in node.args]
        return None if None in parts else os.path.join(*map(str, parts))
    repository = _evaluate(node.args[0], values)
    if isinstance(node.func, ast.Name) and node.func.id.endswith("clone_to_cache"):
        return None if repository is None else _find_clone(repository)
    return None


def _find_clone(repository: str) -> str | None:
    from robot_descriptions._repositories import REPOSITORIES

    about: Any = REPOSITORIES.get(repository)
    folder = os.environ.get(CACHE_VARIABLE, CACHE_FOLDER)
    return None if about is None else os.path.join(os.path.expanduser(folder), about.cache_path)


@cache
def _list_packaged() -> dict[str, Path]:
    """Return names → files of example-robot-data, if that is installed.

    A folder `talos_data` gives its files their names, and "talos" to the one that is called so, or
    to the first.
    """
    roots = (*(Path(folder, "cmeel.prefix") for folder in sys.path), Path(sys.prefix))
    found: dict[str, Path] = {}
    for root in roots:
        for folder in sorted((root / "share/example-robot-data/robots").glob("*_d*")):
            files = sorted(folder.glob("*/*.urdf"))
            name = folder.name.removesuffix("_description").removesuffix("_data").lower()
            for file in files:
                found.setdefault(file.stem.lower(), file)
            if len(files) > 0:
                found.setdefault(name, files[0])
    return found
