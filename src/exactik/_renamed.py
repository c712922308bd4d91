"""Names of an earlier version, which warn and go with the next."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

REMOVED_IN = "0.4"


def warn_renamed(old: str, new: str, stacklevel: int = 3) -> None:
    """Warn whoever uses an old name that there is a new one.

    Args:
        old: as it was written, such as "Result.misses".
        new: as it is written now.
        stacklevel: which caller is told, as for `warnings.warn`.
    """
    text = f"{old} is {new} now; the old name goes with {REMOVED_IN}"
    warnings.warn(text, DeprecationWarning, stacklevel=stacklevel)


def renamed(old: str, new: str) -> property:
    """Return an attribute that reads another one and warns.

    Args:
        old: name with that of its class, such as "Iterate.slope".
        new: the attribute that it reads.
    """

    def read(self: Any) -> Any:
        warn_renamed(old, f".{new}")
        return getattr(self, new)

    return property(read)


def answer_calls(package: ModuleType, old: str, new: str, function: Callable[..., Any]) -> None:
    """Let a package that has the name of an earlier function be called like it, with a warning.

    Args:
        package: that is called.
        old: how it was called.
        new: how the function is called now.
        function: that answers.
    """

    class CallablePackage(ModuleType):
        def __call__(self, *args: Any, **keywords: Any) -> Any:
            warn_renamed(old, new)
            return function(*args, **keywords)

    package.__class__ = CallablePackage
