"""The package is built in layers, exports what it says, and is light to import."""

from __future__ import annotations

import ast
import importlib
import json
import os
import pkgutil
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import exactik

SOURCE = Path(exactik.__file__).parent

# From the ground up: a module imports its own layer and those of the lines above it, none beside
# it. "exactik" is the facade, __init__.py.
LAYERS = """
    _text
    errors typing
    _arrays
    spatial
    kernels
    model
    motion goals
    io problem
    solvers check
    batch tracking
    calibration report landscape
    synthetic
    viewer
    exactik
    cli
    __main__
"""
RANK = {name: rank for rank, line in enumerate(LAYERS.splitlines()) for name in line.split()}

# Layers that see less than their rank allows, inside functions too: their own layers and the
# third-party packages. The oracle judges the kernels, so it shares no code with them.
ONLY = {
    "kernels": {"typing", "errors", "spatial", "numpy", "numba", "llvmlite"},
    "check.oracle": {"typing", "errors", "model", "goals", "numpy"},
}


def layer_of(module: str) -> str:
    """The layer of a dotted module name; for a foreign module, its top-level package."""
    package, _, rest = module.partition(".")
    return rest.split(".")[0] if package == "exactik" and rest else package


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_type_checking(test: ast.expr) -> bool:
    return ast.unparse(test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


def statements(node: ast.AST, inside_functions: bool) -> Iterator[ast.AST]:
    """Everything below `node` that runs on import, or also what runs on a call."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) and not inside_functions:
            continue
        if isinstance(child, ast.If) and is_type_checking(child.test):
            continue
        yield child
        yield from statements(child, inside_functions)


def imports(source: str, path: Path, inside_functions: bool = False) -> Iterator[tuple[int, str]]:
    """Line and absolute name of each module that the source of `path` imports."""
    package = [*path.relative_to(SOURCE.parent).parts[:-1]]
    for node in statements(ast.parse(source), inside_functions):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level > 0 else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            if base != "exactik":
                yield node.lineno, base
                continue
            for alias in node.names:  # `from exactik import model` means the layer
                yield node.lineno, f"exactik.{alias.name}" if alias.name in RANK else base


def violations(source: str, path: Path) -> list[str]:
    """What the source of `path` imports although its layer may not."""
    own = layer_of(module_name(path))
    if own not in RANK:
        return [f"{path.name}: give the layer {own!r} a rank"]
    found = []
    for line, name in imports(source, path):
        if name.split(".")[0] == "exactik":
            other = layer_of(name)
            if other != own and RANK.get(other, 99) >= RANK[own]:
                found.append(f"{module_name(path)}:{line}: {own} may not import {name}")
    inner = next((k for k in ONLY if module_name(path).startswith(f"exactik.{k}")), None)
    for line, name in imports(source, path, inside_functions=True) if inner is not None else ():
        other = layer_of(name)
        if name.startswith(f"exactik.{inner}"):
            continue
        if inner is not None and other not in ONLY[inner] | sys.stdlib_module_names:
            found.append(f"{module_name(path)}:{line}: {own} may not use {name}")
    return found


def modules() -> list[str]:
    found = pkgutil.walk_packages(exactik.__path__, "exactik.")
    return ["exactik", *(m.name for m in found if not m.name.endswith("__main__"))]


def test_imports_point_downwards():
    found = [
        problem
        for path in sorted(SOURCE.rglob("*.py"))
        for problem in violations(path.read_text(encoding="utf-8"), path)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("path", "source", "allowed"),
    [
        ("model/tree.py", "from exactik.kernels import fk", True),
        ("model/tree.py", "from ..kernels import fk", True),
        ("model/tree.py", "from .joint import Joint", True),
        ("model/tree.py", "from exactik.goals import Goal", False),
        ("model/tree.py", "from .. import goals", False),
        ("model/tree.py", "import exactik", False),
        ("model/tree.py", "def f():\n    import exactik.io", True),
        ("model/tree.py", "try:\n    import exactik.io\nexcept ImportError:\n    pass", False),
        ("model/tree.py", "if TYPE_CHECKING:\n    from exactik.io import load", True),
        ("motion/markers.py", "from exactik.goals import Goal", False),
        ("problem.py", "from .kernels import fk", True),
        ("problem.py", "from . import solvers", False),
        ("check/oracle/dual.py", "import numpy as np\nfrom exactik.model import Skeleton", True),
        ("check/oracle/dual.py", "def f():\n    from exactik.spatial import exp", False),
        ("check/oracle/dual.py", "import scipy.linalg", False),
        ("kernels/tree/fk.py", "import math\nfrom numba import njit", True),
        ("kernels/tree/fk.py", "from exactik.model import Skeleton", False),
        ("__init__.py", "from exactik.solvers import solve", True),
        ("__init__.py", "from exactik.cli import main", False),
        ("surprise/new.py", "", False),
    ],
)
def test_the_rule_itself(path: str, source: str, allowed: bool):
    assert (violations(source, SOURCE / path) == []) is allowed


@pytest.mark.parametrize("name", modules())
def test_all_is_true(name: str):
    """`__all__` is sorted, has no doubles, resolves, and in a package leaves nothing out."""
    module = importlib.import_module(name)
    listed = getattr(module, "__all__", None)
    if listed is None:
        assert name != "exactik", "the facade needs __all__"
        return
    # The order of ruff's RUF022: constants, classes, the rest.
    assert listed == sorted(set(listed), key=lambda n: (not n.isupper(), not n[0].isupper(), n))
    assert [n for n in listed if not hasattr(module, n)] == []
    if hasattr(module, "__path__"):
        assert sorted(public_names(module) - set(listed)) == []


def public_names(package: ModuleType) -> set[str]:
    """Names of a package without underscore, apart from its own submodules and __future__."""
    return {
        name
        for name, value in vars(package).items()
        if not name.startswith("_")
        and not (isinstance(value, ModuleType) and value.__name__.startswith("exactik."))
        and type(value).__module__ != "__future__"
    }


IMPORT_PROBE = """
import json, sys
import numba
from numba.core import event
from numba.core.dispatcher import Dispatcher

before = set(sys.modules)
with event.install_recorder("numba:compile") as compiled:
    import exactik
ours = [m for name, m in sys.modules.items() if name.split(".")[0] == "exactik"]
functions = [f for m in ours for f in vars(m).values() if isinstance(f, Dispatcher)]
print(json.dumps({
    "loaded": sorted(set(sys.modules) - before),
    "compiled": len(compiled.buffer),
    "ready": sorted({f.__qualname__ for f in functions if f.signatures}),
}))
"""


def test_import_loads_no_optional_package_and_compiles_nothing():
    """Counted beyond what `import numba` alone does, which already loads the top of scipy."""
    probe = subprocess.run(
        [sys.executable, "-W", "error", "-c", IMPORT_PROBE],
        env={**os.environ, "NUMBA_DISABLE_JIT": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert probe.returncode == 0, probe.stderr
    report = json.loads(probe.stdout)
    heavy = {"dask", "ezc3d", "matplotlib", "numba_cuda", "rich", "scipy", "typer", "viser"}
    loaded = [m for m in report["loaded"] if m.split(".")[0] in heavy or m == "numba.cuda"]
    assert loaded == []
    assert report["compiled"] == 0
    assert report["ready"] == []


def test_import_survives_where_no_cache_can_be_written(tmp_path: Path):
    """In a read-only installation of a user without a home, kernels are compiled each time."""
    package = tmp_path / "site" / "exactik"
    shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__"))
    code = (
        "import numba.core.caching as c; c.CacheImpl._locator_classes = []; import exactik as ik;"
        "print(ik.__file__, ik.human().forward(ik.human().neutral()).positions.shape)"
    )
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "NUMBA_DISABLE_JIT": "0"}
    probe = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert probe.returncode == 0, probe.stderr
    assert str(package) in probe.stdout
    assert "(27, 3)" in probe.stdout
