"""The list of what the library has: every kernel that Python calls is on it."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
from pathlib import Path

import numpy as np
import pytest

import exactik
from exactik.compile import Kernel, load_library
from exactik.kernels.linear.active_set import clip_to_limits

SOURCE = Path(exactik.__file__).parent
COMPILED = ("kernels", "spatial", "compile")  # folders whose functions call each other as code


def listed_kernels() -> set[str]:
    text = (SOURCE / "compile" / "signatures.json").read_text("utf-8")
    return {row[0] for row in json.loads(text)["signatures"]}


def used_kernels(path: Path) -> set[str]:
    """Names, "module:function", of all kernels that a module of Python mentions."""
    tree, found = ast.parse(path.read_text("utf-8")), set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or node.level > 0 or node.module is None:
            continue
        if not node.module.startswith(("exactik.kernels", "exactik.spatial")):
            continue
        if ".cuda" in node.module:
            continue
        owner = importlib.import_module(node.module)
        for alias in node.names:
            value = getattr(owner, alias.name, None)
            if isinstance(value, Kernel):
                found.add(value.name)
            elif value is None or inspect.ismodule(value):
                inner = importlib.import_module(f"{node.module}.{alias.name}")
                name = alias.asname or alias.name
                used = [
                    a.attr
                    for a in ast.walk(tree)
                    if isinstance(a, ast.Attribute) and ast.unparse(a.value) == name
                ]
                values = [getattr(inner, attribute, None) for attribute in used]
                found |= {value.name for value in values if isinstance(value, Kernel)}
    return found


def test_every_kernel_that_python_calls_is_listed():
    listed = listed_kernels()
    missing = {}
    for path in sorted(SOURCE.rglob("*.py")):
        if path.relative_to(SOURCE).parts[0] not in COMPILED:
            for name in used_kernels(path) - listed:
                missing[name] = path.relative_to(SOURCE).as_posix()
    assert missing == {}, "tools/signatures.py adds them"


def test_the_search_sees_functions_and_modules_of_kernels(tmp_path: Path):
    module = tmp_path / "caller.py"
    module.write_text(
        "from exactik.kernels.goals import pairs as p\n"
        "from exactik.kernels.tree.integrate import integrate\n"
        "p.write_in_world(1)\n"
    )
    assert used_kernels(module) == {
        "exactik.kernels.goals.pairs:write_in_world",
        "exactik.kernels.tree.integrate:integrate",
    }


def test_a_quick_test_fails_where_the_package_compiles():
    if load_library() is None:
        pytest.skip("no library of kernels for this processor: `make library` makes it")
    package = {"__name__": "exactik.caller", "clip": clip_to_limits, "q": np.zeros(1, np.float32)}
    with pytest.raises(AssertionError, match=r"exactik.caller: .*clip_to_limits"):
        exec("clip(q, q, q, q)", package)
