"""Everything that undo brings back, as one value that never changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from exactik._arrays import freeze
from exactik.typing import Array
from exactik.viewer.posing._handles import Handle

__all__ = ["PosingState"]


@dataclass(frozen=True, eq=False)
class PosingState:
    """What a figure looks like and what is asked of it.

    Attributes:
        q: the pose, (nq,), read-only.
        handles: by name.
        locked: names of bones or dofs that stay where they are.
        strength: bone or dof → how readily it moves.
        limits: whether limits are kept.
        solver: name of the method.
    """

    q: Array
    handles: Mapping[str, Handle]
    locked: tuple[str, ...] = ()
    strength: Mapping[str, float] = field(default_factory=dict)
    limits: bool = True
    solver: str = "auto"

    def __post_init__(self) -> None:
        """Keep copies that nobody can write on."""
        object.__setattr__(self, "q", freeze(np.array(self.q, dtype=float)))
        for name in ("handles", "strength"):
            own = getattr(self, name)
            if not isinstance(own, MappingProxyType):  # ours already, and so on every update
                object.__setattr__(self, name, MappingProxyType(dict(own)))
