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
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import exactik
from tests.support.checkout import ROOT
from tools import architecture_picture, house

SOURCE = Path(exactik.__file__).parent

# Layers that see less than their rank allows, inside functions too: their own layers and the
# third-party packages. The oracle judges the kernels, so it shares no code with them.
ONLY = {
    "kernels": {"typing", "errors", "compile", "spatial", "numpy", "numba", "llvmlite"},
    "lab.check.oracle": {"typing", "errors", "model.functions", "model", "goals", "numpy"},
}


def make_tree(source: str, path: str) -> house.Tree:
    """A tree of one module, at a path below the package."""
    file = SOURCE / path
    parts = file.relative_to(SOURCE.parent).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    made = house.Tree.__new__(house.Tree)
    made.sources, made.text, made.parsed = {name: file}, {name: source}, {name: ast.parse(source)}
    return made


def forbidden_imports(tree: house.Tree) -> list[str]:
    """What modules use that see less than their rank allows."""
    found = []
    for name in tree.sources:
        inner = next((k for k in ONLY if name.startswith(f"exactik.{k}")), None)
        if inner is None:
            continue
        for line, module in house.find_imports(tree.parsed[name], name.split(".")[:-1]):
            other = house.layer_of(module)
            if module.startswith(f"exactik.{inner}") or other in sys.stdlib_module_names:
                continue
            if other not in ONLY[inner]:
                found.append(f"{name}:{line}: {inner} may not use {module}")
    return found


def modules() -> list[str]:
    found = pkgutil.walk_packages(exactik.__path__, "exactik.")
    return ["exactik", *(m.name for m in found if not m.name.endswith("__main__"))]


def test_some_layers_see_less_than_their_rank_allows(tree: house.Tree):
    assert forbidden_imports(tree) == []


@pytest.mark.parametrize(
    ("path", "source", "allowed"),
    [
        ("model/tree.py", "from exactik.kernels import fk", True),
        ("model/tree.py", "from ..kernels import fk", True),
        ("model/tree.py", "from .joint import Joint", True),
        ("model/tree.py", "from exactik.goals import Goal", False),
        ("model/tree.py", "from .. import goals", False),
        ("model/tree.py", "import exactik", False),
        ("model/tree.py", "def f():\n    import exactik.io", False),
        ("model/tree.py", "try:\n    import exactik.io\nexcept ImportError:\n    pass", False),
        ("model/tree.py", "if TYPE_CHECKING:\n    from exactik.io import load", True),
        ("model/motion/markers.py", "from exactik.goals import Goal", False),
        ("problem.py", "from .kernels import fk", True),
        ("problem.py", "from . import solvers", False),
        (
            "lab/check/oracle/dual.py",
            "import numpy as np\nfrom exactik.model import Skeleton",
            True,
        ),
        ("lab/check/oracle/dual.py", "def f():\n    from exactik.spatial import exp", False),
        ("lab/check/oracle/dual.py", "import scipy.linalg", False),
        ("kernels/tree/fk.py", "import math\nfrom numba import njit", True),
        ("kernels/tree/fk.py", "from exactik.model import Skeleton", False),
        ("__init__.py", "from exactik.solvers import solve", True),
        ("__init__.py", "from exactik.cli import main", False),
        ("surprise/new.py", "", False),
    ],
)
def test_the_rule_itself(path: str, source: str, allowed: bool):
    made = make_tree(source, path)
    assert ([*house.upward_imports(made), *forbidden_imports(made)] == []) is allowed


@pytest.mark.parametrize("name", modules())
def test_all_is_true(name: str):
    """`__all__` is sorted, has no doubles, resolves, and in a package leaves nothing out."""
    if name in ("exactik.jax", "exactik.torch"):
        pytest.importorskip(name.rpartition(".")[2], reason="not installed: make test-learning")
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
import numpy

before = set(sys.modules)
import exactik
loaded = sorted(set(sys.modules) - before)
from exactik.compile import Kernel
ours = [m for name, m in sys.modules.items() if name.split(".")[0] == "exactik"]
functions = [f for m in ours for f in vars(m).values() if isinstance(f, Kernel)]
print(json.dumps({"loaded": loaded, "functions": len(functions)}))
"""


def test_import_loads_no_optional_package_and_compiles_nothing():
    """Counted beyond what `import numpy` alone does."""
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
    heavy |= {"ezc3d", "llvmlite", "matplotlib", "numba", "numba_cuda"}
    assert [m for m in report["loaded"] if m.split(".")[0] in heavy] == []
    unasked = ("exactik.studio.viewer", "exactik.cli", "exactik.compile.aot")
    assert [m for m in report["loaded"] if m.startswith(unasked)] == []
    assert report["functions"] > 100


def test_scipy_is_imported_where_it_is_needed():
    """Parts of it take half a second, and most commands go without."""
    at_once = re.compile(r"^(from|import) scipy", re.M)
    assert [f for f in SOURCE.rglob("*.py") if at_once.search(f.read_text("utf-8"))] == []


def test_the_facade_lists_what_it_loads_when_asked():
    assert {"Keyframes", "PosingSession", "view"} <= set(dir(exactik))
    with pytest.raises(AttributeError, match="'exactik' has no attribute 'veiw'"):
        _ = exactik.veiw  # pyright: ignore[reportAttributeAccessIssue]


def test_old_names_of_the_facade_warn():
    for package, names in exactik._MOVED.items():
        module = importlib.import_module(f"exactik.{package}")
        for name in names.split():
            with pytest.warns(DeprecationWarning, match=rf"is exactik\.{package}\.{name} now"):
                assert getattr(exactik, name) is getattr(module, name)
    with pytest.warns(DeprecationWarning, match=r"exactik\.solvers\.Iterate"):
        assert exactik.Place is exactik.solvers.Iterate  # pyright: ignore


def test_packages_with_names_of_earlier_functions_answer_and_warn():
    old: Any = exactik
    with pytest.warns(DeprecationWarning, match=r"solvers\(\) is exactik\.list_solvers\(\) now"):
        assert old.solvers() == exactik.list_solvers()
    with (
        pytest.warns(DeprecationWarning, match=r"exactik\.solve_archive\(\) now"),
        pytest.raises(exactik.ExactikError),
    ):
        old.archive("no such folder", "nowhere", skeleton="human")


def test_old_attributes_of_results_warn():
    figure = exactik.human()
    result = exactik.solve(figure, [exactik.PositionGoal("r_hand", (0.4, -0.2, 1.0))])
    with pytest.warns(DeprecationWarning, match="goal_errors"):
        assert result.misses.tolist() == list(result.goal_errors.values())
    iterate = exactik.solvers.View(result.problem).at(result.q)
    with pytest.warns(DeprecationWarning, match="projected_gradient"):
        assert iterate.slope == iterate.projected_gradient
    with pytest.warns(DeprecationWarning, match="active"):
        assert iterate.held is iterate.active


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
    house.RULES,
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
        (house.upward_imports, "exactik.model", "def f():\n    from exactik import io", 1),
        (house.upward_imports, "exactik.io", "def f():\n    from exactik import model", 0),
        (house.long_functions, "exactik.io", "def f():\n" + "    print()\n" * 80, 1),
        (house.wide_functions, "exactik.io", "def f(a, b, c, d, e, *, f, g, h, i, j, k): ...", 1),
        (house.wide_functions, "exactik.io", "def f(a, b, c, d, e, *, f, g, h, i, j): ...", 0),
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


def test_the_picture_of_the_architecture_shows_the_imports(tree: house.Tree):
    """`python tools/architecture_picture.py` draws it again."""
    drawn = architecture_picture.TARGET.read_text("utf-8")
    assert drawn == architecture_picture.make_picture(tree)


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
