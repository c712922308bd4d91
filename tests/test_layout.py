"""The package is built in layers, exports what it says, and is light to import."""

from __future__ import annotations

import ast
import importlib
import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

import exactik
from tools import architecture_picture, house

ROOT = Path(__file__).resolve().parent.parent
SOURCE = Path(exactik.__file__).parent

# From the ground up: a module imports its own layer and those of the lines above it, none beside
# it. "exactik" is the facade, __init__.py.
LAYERS = """
    _text _threads
    errors typing
    _arguments _arrays
    spatial
    kernels
    gpu
    functions visuals
    model
    motion goals
    marker_sets player
    biomechanics
    io problem
    solvers check
    batch tracking
    calibration landscape retargeting
    labelling
    verdict report
    pipeline
    synthetic precompile
    archive
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
    "check.oracle": {"typing", "errors", "functions", "model", "goals", "numpy"},
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

before = set(sys.modules)
with event.install_recorder("numba:compile") as compiled:
    import exactik
ours = [m for name, m in sys.modules.items() if name.split(".")[0] == "exactik"]
from exactik.spatial._jit import Kernel
functions = [f for m in ours for f in vars(m).values() if isinstance(f, Kernel)]
print(json.dumps({
    "loaded": sorted(set(sys.modules) - before),
    "compiled": len(compiled.buffer),
    "functions": len(functions),
    "ready": sorted({f.__qualname__ for f in functions if f.signatures or f.linked.signatures}),
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
    heavy = {"dask", "distributed", "fsspec", "pyarrow", "rich", "scipy", "typer", "viser"}
    heavy |= {"ezc3d", "matplotlib", "numba_cuda"}
    loaded = [m for m in report["loaded"] if m.split(".")[0] in heavy or m == "numba.cuda"]
    assert loaded == []
    unasked = ("exactik.viewer", "exactik.precompile", "exactik.cli")
    assert [m for m in report["loaded"] if m.startswith(unasked)] == []
    assert report["compiled"] == 0
    assert report["functions"] > 100
    assert report["ready"] == []


def test_the_facade_lists_what_it_loads_when_asked():
    assert {"Keyframes", "PosingSession", "view"} <= set(dir(exactik))
    with pytest.raises(AttributeError, match="'exactik' has no attribute 'veiw'"):
        _ = exactik.veiw  # pyright: ignore[reportAttributeAccessIssue]


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


@pytest.fixture(scope="module")
def tree() -> house.Tree:
    """All modules of the checkout, parsed."""
    return house.Tree(ROOT)


@pytest.mark.parametrize(
    "count",
    [
        house.layout_splats,
        house.private_imports,
        house.prose_as_protocol,
        house.goal_switches,
        house.oversized_folders,
        house.duplicate_classes,
    ],
    ids=lambda count: count.__name__,
)
def test_rules_of_the_house(tree: house.Tree, count: Callable[[house.Tree], list[str]]):
    assert count(tree) == []


@pytest.mark.parametrize(
    ("count", "module", "source", "places"),
    [
        (house.layout_splats, "exactik.io", 'f(*(a, b), **{"c": d})', 2),
        (house.layout_splats, "exactik.io", 'd = {**{"a": 1}, "b": 2}', 1),
        (house.layout_splats, "exactik.io", "f(*parts, **options); (*(x for x in y), z)", 0),
        (house.private_imports, "exactik.cli.solve", "from exactik.io._files import write", 1),
        (house.private_imports, "exactik.cli.solve", "from exactik.cli._app import app", 0),
        (house.private_imports, "exactik.io", "from exactik.io.c3d._read import read", 1),
        (house.private_imports, "exactik.io", "from exactik.io.c3d import _read", 1),
        (house.private_imports, "exactik_papers.run", "from exactik._arrays import freeze", 1),
        (house.prose_as_protocol, "exactik.io", "error.message.startswith('no file')", 1),
        (house.prose_as_protocol, "exactik.io", "'no file' in str(error)", 1),
        (house.prose_as_protocol, "exactik.io", "re.match('no file', note)", 1),
        (house.prose_as_protocol, "exactik.io", "name.startswith('no file')", 0),
        (house.goal_switches, "exactik.solvers", "isinstance(goal, PositionGoal)", 1),
        (house.goal_switches, "exactik.solvers", "match goal:\n    case PoseGoal(): ...", 1),
        (house.goal_switches, "exactik.goals", "isinstance(goal, PositionGoal)", 0),
    ],
)
def test_the_rules_can_fail(
    tmp_path: Path,
    count: Callable[[house.Tree], list[str]],
    module: str,
    source: str,
    places: int,
):
    top = "papers/src" if module.startswith("exactik_papers") else "src"
    path = tmp_path.joinpath(top, *module.split("."), "probe.py")
    path.parent.mkdir(parents=True)
    path.write_text(source, encoding="utf-8")
    for folder in ("src/exactik", "src/exactik/io", "src/exactik/cli", "src/exactik/io/c3d"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "__init__.py").touch()
    assert len(count(house.Tree(tmp_path))) == places


def test_the_picture_of_the_architecture_shows_the_imports():
    """`python tools/architecture_picture.py` draws it again."""
    drawn = architecture_picture.TARGET.read_text("utf-8")
    assert drawn == architecture_picture.make_picture()


def test_every_term_of_the_glossary_occurs_in_the_code(tree: house.Tree):
    page = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    rows = re.findall(r"^\| [^|]+ \| ([^|]+) \| [^|]+ \|$", page, re.M)[2:]
    assert 30 <= len(rows) <= 40
    code = "\n".join(tree.text.values())
    terms = [term for row in rows for term in re.findall(r"`(\w+)`", row)]
    assert len(terms) >= len(rows)
    assert [term for term in terms if re.search(rf"\b{term}\b", code) is None] == []


def test_test_modules_have_names_of_their_own():
    """Pytest imports them by their bare names."""
    names = [path.name for path in Path(__file__).parent.rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
