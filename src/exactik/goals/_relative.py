"""Goals that may be measured in the axes of another bone instead of the world's."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from exactik.errors import GoalError
from exactik.goals._goal import Term, TermGoal
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.model import Skeleton


@dataclass(frozen=True, eq=False)
class RelativeGoal(TermGoal):
    """A goal on a bone whose target and rows are in the world, or in another bone's axes.

    Attributes:
        bone: name of the bone.
        relative_to: name of the bone that carries the target; None for the world. Both bones move.
    """

    bone: str
    relative_to: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Check the other bone."""
        super().__post_init__()
        check_bodies(self, self.bone, self.relative_to)

    def relate(self, terms: list[Term]) -> list[Term]:
        """Return terms whose targets the other bone carries, if there is one."""
        return [term._replace(relative_to=self.relative_to) for term in terms]

    def default_name(self) -> str:
        """Return the bone's name, and in which other one it is measured."""
        return self.bone if self.relative_to is None else f"{self.bone} in {self.relative_to}"

    def watched_point(self, skeleton: Skeleton) -> tuple[str, Array] | None:
        """Return bone and point, if its place in the world is what the goal is about."""
        return None if self.relative_to is not None else self.find_point(skeleton)

    def find_point(self, skeleton: Skeleton) -> tuple[str, Array] | None:
        """Return the bone and the point of it [m], (3,), that goes to the target, if any."""
        return None


def check_bodies(goal: TermGoal, bone: object, other: object) -> None:
    """Raise if a goal is not between two different bones."""
    if other is not None and not (isinstance(other, str) and other != ""):
        raise GoalError(
            f"relative_to of goal {goal.label!r} is {other!r}; it must be the name of a bone, or "
            "None for the world"
        )
    if other is not None and bone == other:
        raise GoalError(f"goal {goal.label!r} measures {bone!r} in itself, which nothing changes")
