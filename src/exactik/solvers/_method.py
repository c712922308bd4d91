"""What every method shares: a name, and when to stop."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

from exactik.errors import ModelError

__all__ = ["Method"]


@dataclass(frozen=True, kw_only=True)
class Method:
    """Options of a solver; it holds no state, so that one object serves any number of problems.

    Attributes:
        max_iterations: accepted steps after which to stop.
        max_seconds: time after which to stop; None for no limit.
        tolerance: stop when the projected gradient, relative as in `Certificate`, is below this.
        small_cost: stop when the cost is below that of the lightest goal missed by √(2 · this) [m],
            which is 1.4e-9 m by default, or as much of its tolerance.
    """

    name: ClassVar[str] = ""
    max_iterations: int = 500
    max_seconds: float | None = None
    tolerance: float = 1e-10
    small_cost: float = 1e-18

    @property
    def takes_detours(self) -> bool:
        """Whether to try once more without limits first where limits stop a descent short."""
        return False

    def __post_init__(self) -> None:
        """Check the options that are numbers."""
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, int | float) and not isinstance(value, bool) and not value >= 0:
                raise ModelError(f"{type(self).__name__}({entry.name}={value!r}): must be ≥ 0")
