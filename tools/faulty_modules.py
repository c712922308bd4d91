"""Puts a fault into a program: into a module when it is imported, or into functions as they are.

Used by tools/mutants.py. Importing anew is right for any module; where functions are plain Python,
their code can be replaced instead, which spares a second of imports for every fault.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from tools.faults import Fault
from tools.mutants_settings import path_of

__all__ = ["FaultyFinder", "put_into_functions"]


class FaultyLoader(importlib.machinery.SourceFileLoader):
    """Compiles a module with a fault in it."""

    fault: Fault

    def get_code(self, fullname: str) -> CodeType:
        """Return the module's code; nothing is cached."""
        return compile_faulty(self.fault, Path(self.get_filename(fullname)))


class FaultyFinder(importlib.abc.MetaPathFinder):
    """Finds the one faulty module."""

    def __init__(self, fault: Fault):
        self.fault = fault

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """See `MetaPathFinder`."""
        if fullname != self.fault.module:
            return None
        file = str(path_of(fullname))
        loader = FaultyLoader(fullname, file)
        loader.fault = self.fault
        return importlib.util.spec_from_file_location(fullname, file, loader=loader)


def compile_faulty(fault: Fault, path: Path) -> CodeType:
    """Return the code of a module with a fault in it."""
    return compile(fault.apply(path.read_text("utf-8")), str(path), "exec", dont_inherit=True)


def put_into_functions(fault: Fault) -> None:
    """Give functions and methods of a module the code that they would have with a fault in it.

    Whoever imported them has the faulty ones then; constants are replaced wherever they are.
    """
    module = importlib.import_module(fault.module)
    faulty = {"__name__": fault.module, "__file__": module.__file__}
    exec(compile_faulty(fault, path_of(fault.module)), faulty)
    for name, new in faulty.items():
        old = vars(module).get(name)
        if getattr(new, "__module__", None) == fault.module:
            _replace_code(old, new)
        elif isinstance(new, int | float | str | tuple) and new != old:
            for other in list(sys.modules.values()):
                if type(vars(other).get(name)) is type(old) and vars(other)[name] == old:
                    setattr(other, name, new)


def _replace_code(old: Any, new: Any) -> None:
    """Replace the code of a function, or of all functions of a class, and its numbers."""
    if isinstance(old, type):
        for name, part in vars(new).items():
            if isinstance(part, int | float | tuple) and not name.startswith("__"):
                setattr(old, name, part)
            _replace_code(vars(old).get(name), part)
    elif isinstance(old, property) and old.fget is not None:
        _replace_code(old.fget, new.fget)
    elif isinstance(old, cached_property):
        _replace_code(old.func, new.func)
    elif isinstance(old, classmethod | staticmethod):
        _replace_code(old.__func__, new.__func__)
    elif isinstance(old, FunctionType) and isinstance(new, FunctionType):
        _replace_code(*(getattr(each, "__wrapped__", None) for each in (old, new)))
        old.__code__ = new.__code__
        old.__defaults__, old.__kwdefaults__ = new.__defaults__, new.__kwdefaults__
