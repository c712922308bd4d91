"""Find out what kernels are called with, for the library that is compiled ahead of time.

python tools/signatures.py [--anew] [PYTEST ARGUMENTS]

It runs the quick tests (or those chosen) with a pytest plugin that notes the types of every call of
a kernel from the package, and adds what is new to src/exactik/compile/signatures.json. Signatures
whose kernel is gone, or has other named tuples now, are dropped first, with --anew all of them.
Then `make library`.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from exactik.compile import Kernel
from exactik.compile._signatures import SIGNATURES, list_fields, parse_array

FOLDER = "EXACTIK_SIGNATURES"  # in the environment: where processes of pytest write
_classes: dict[str, str] = {}
_found: dict[str, list[Any]] = {}
_seen: set[Any] = set()


def describe(value: Any) -> Any:
    """The text of an argument, None if the library has no entry for its like."""
    if isinstance(value, np.ndarray):
        if not value.flags.c_contiguous:
            return None
        const = "" if value.flags.writeable else "const "
        return f"{const}{value.dtype}[{value.ndim}]"
    if isinstance(value, tuple):
        fields = [describe(part) for part in value]
        if None in fields:
            return None
        kind = type(value)
        if kind is tuple:
            return fields
        _classes[kind.__name__] = f"{kind.__module__}:{kind.__qualname__}"
        return {kind.__name__: fields}
    for types, name in (((bool, np.bool_), "bool"), ((int, np.integer), "int64")):
        if isinstance(value, types):
            return name
    return "float64" if isinstance(value, float | np.floating) else None


def plain(kind: Any) -> Any:
    """The text without what is read-only."""
    if isinstance(kind, dict):
        return {name: plain(fields) for name, fields in kind.items()}
    return [plain(k) for k in kind] if isinstance(kind, list) else kind.removeprefix("const ")


def merge(a: Any, b: Any) -> Any:
    """The text that stands for both: an array that was read-only once is only read."""
    if isinstance(a, dict):
        return {name: merge(fields, b[name]) for name, fields in a.items()}
    if isinstance(a, list):
        return [merge(x, y) for x, y in zip(a, b, strict=True)]
    return a if a.startswith("const ") else b


def add(rows: dict[str, list[Any]], kernel: str, arguments: list[Any]) -> None:
    """Add a signature, or merge it with one that differs in read-only arrays alone."""
    known = rows.setdefault(kernel, [])
    for i, other in enumerate(known):
        if plain(other) == plain(arguments):
            known[i] = merge(other, arguments)
            return
    known.append(arguments)


def pytest_configure(config: Any) -> None:
    """Note the calls of every kernel from now on."""
    call = Kernel.__call__

    def noting(kernel: Kernel, *arguments: Any) -> Any:
        if sys._getframe(1).f_globals["__name__"].startswith("exactik."):
            row = [describe(a) for a in arguments]
            key = (kernel.name, json.dumps(row))
            if key not in _seen and None not in row:
                _seen.add(key)
                add(_found, kernel.name, row)
        return call(kernel, *arguments)

    Kernel.__call__ = noting  # type: ignore[method-assign]


def pytest_unconfigure(config: Any) -> None:
    """Write what this process saw."""
    text = json.dumps({"classes": _classes, "signatures": _found})
    Path(os.environ[FOLDER], f"{os.getpid()}.json").write_text(text, "utf-8")


def is_current(kernel: str, arguments: Any, classes: dict[str, str]) -> bool:
    """Whether the kernel is still there, and so are the fields of its named tuples."""
    module, _, name = kernel.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        return False
    if found.py_func.__code__.co_argcount != len(arguments):
        return False
    return all(_has_fields(kind, classes) for kind in arguments)


def _has_fields(kind: Any, classes: dict[str, str]) -> bool:
    fields = list_fields(kind)
    if parse_array(kind) is not None or fields is None:
        return True
    if isinstance(kind, dict):
        module, _, name = classes[next(iter(kind))].partition(":")
        try:
            if len(getattr(importlib.import_module(module), name)._fields) != len(fields):
                return False
        except (ImportError, AttributeError):
            return False
    return all(_has_fields(field, classes) for field in fields)


def main() -> None:
    """Run the tests and write the list."""
    import pytest

    before = json.loads(SIGNATURES.read_text("utf-8"))
    classes: dict[str, str] = before["classes"]
    rows: dict[str, list[Any]] = {}
    anew = "--anew" in sys.argv
    for kernel, arguments in before["signatures"]:
        if not anew and is_current(kernel, arguments, classes):
            add(rows, kernel, arguments)
    with tempfile.TemporaryDirectory() as folder:
        os.environ[FOLDER] = folder
        sys.path.insert(0, str(Path(__file__).parent.parent))
        pytest.main(
            ["-q", "-n", "2", "-p", "tools.signatures"] + [a for a in sys.argv[1:] if a != "--anew"]
        )
        for file in Path(folder).iterdir():
            seen = json.loads(file.read_text("utf-8"))
            classes |= seen["classes"]
            for kernel, many in seen["signatures"].items():
                for arguments in many:
                    add(rows, kernel, arguments)
    lines = [json.dumps([kernel, row]) for kernel in sorted(rows) for row in rows[kernel]]
    used = json.dumps(dict(sorted(classes.items())), indent=1).replace("\n", "\n ")
    text = f' "classes": {used},\n "signatures": [\n  ' + ",\n  ".join(lines) + "\n ]\n"
    SIGNATURES.write_text("{\n" + text + "}\n", "utf-8")
    print(f"{len(lines)} signatures of {len(rows)} kernels")


if __name__ == "__main__":
    main()
