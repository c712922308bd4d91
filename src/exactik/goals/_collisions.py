"""A goal that keeps bodies apart: those of the figure from each other, and from obstacles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import is_number
from exactik.errors import GoalError, UnknownNameError
from exactik.goals._goal import DEFAULT_POSITION_TOLERANCE, WORLD, GoalPart, Term, TermGoal
from exactik.goals._places import AT_LEAST, require_one_weight
from exactik.kernels.goals.terms import BOX, LEVEL, SEGMENTS
from exactik.model.shapes import Capsule, CollisionShape, Cuboid, HalfSpace, find_segment_distances
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.model import Skeleton

FIRM = 100.0
"""Weight of the goal: a hand of weight 1 that is pulled 0.5 m into a thigh gets 5 mm nearer than
allowed."""


MADE = ("meshes", "bones")  # sources of shapes that are thicker than the bodies at their joints


class ShapePair(NamedTuple):
    """Two shapes that are kept apart; the second one may be an obstacle."""

    a: Capsule
    b: CollisionShape

    @property
    def names(self) -> tuple[str, str]:
        """What may touch."""
        return self.a.bone or "", "an obstacle" if self.b.bone is None else self.b.bone


@dataclass(frozen=True, eq=False)
class Collisions(TermGoal):
    """Bodies keep a distance: those of the figure from each other, and from what is in the world.

    Its shapes are `skeleton.shapes`: those of the robot's file, else capsules around its meshes or
    its skin, else along its bones. Pairs that are left out: neighbours, which one joint connects;
    those that touch in the home pose, else in the neutral one; unless the shapes are the file's
    own, bones so near along the body that they touch whenever it bends; those that the file, or an
    SRDF beside it, lets touch. A gap that is smaller than the margin by x costs as a violation of a
    `DistanceGoal` does; residual √(2 cost), in the first of 3 rows for each pair.

    Two shapes that cross deeply may be pushed apart the wrong way.

    Attributes:
        skeleton: the figure.
        pairs: "auto", or pairs of names of bones; a `ShapePair` names two shapes alone.
        margin: gap that is to be left [m].
        obstacles: shapes of the world: `Sphere`, `Capsule`, `Cuboid`, `HalfSpace`, with None for
            the bone.
        band: ε [m], see `DistanceGoal`.
        tolerance: how much of the margin may be used up [m]; None means all of it, 1 mm at least.

    The weight is one number.
    """

    error_unit: ClassVar[str] = "m"
    target_shape: ClassVar[tuple[int, ...] | None] = None

    skeleton: Skeleton = field(repr=False)
    pairs: str | Sequence[tuple[str, str] | ShapePair] = "auto"
    margin: float = 0.005
    obstacles: Sequence[CollisionShape] = field(default=(), repr=False)
    band: float = field(default=1e-3, kw_only=True)
    weight: ArrayLike = field(default=FIRM, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        """Check numbers and obstacles."""
        super().__post_init__()
        if not is_number(self.margin) or not 0.0 <= self.margin < np.inf:
            raise GoalError(
                f"margin of goal {self.label!r} is {self.margin!r}; expected metres ≥ 0"
            )
        if not is_number(self.band) or not 0.0 < self.band < np.inf:
            raise GoalError(f"band of goal {self.label!r} is {self.band!r}; expected metres > 0")
        require_one_weight(self)
        object.__setattr__(self, "obstacles", tuple(self.obstacles))
        for shape in self.obstacles:
            if not isinstance(shape, Capsule | Cuboid | HalfSpace) or shape.bone is not None:
                raise GoalError(
                    f"obstacle of goal {self.label!r} is {shape!r}; expected a shape whose bone is "
                    "None: Sphere, Capsule, Cuboid or HalfSpace"
                )
        if len(self.contacts) == 0:
            raise GoalError(f"goal {self.label!r}: no two shapes of the figure can touch")

    def default_name(self) -> str:
        """Return collisions."""
        return "collisions"

    @cached_property
    def contacts(self) -> tuple[ShapePair, ...]:
        """The shapes that are kept apart."""
        shapes = [s for s in self.skeleton.shapes.shapes if isinstance(s, Capsule)]
        movable = _Neighbours(self.skeleton)
        if isinstance(self.pairs, str):
            if self.pairs != "auto":
                raise GoalError(
                    f"pairs of goal {self.label!r} is {self.pairs!r}; expected 'auto' or pairs of "
                    "names of bones"
                )
            found = _find_pairs(self.skeleton, shapes, movable, self.margin)
        else:
            found = [pair for pair in self.pairs if isinstance(pair, ShapePair)]
            named = [pair for pair in self.pairs if not isinstance(pair, ShapePair)]
            wanted = _check_pairs(self.skeleton, named)
            found += [ShapePair(a, b) for a, b in _combine(shapes) if _names(a, b) in wanted]
        free = [shape for shape in shapes if movable.moves(shape.bone)]
        return (*found, *(ShapePair(a, b) for b in self.obstacles for a in free))

    def terms(self, skeleton: Skeleton) -> list[Term]:
        """Return a term for each pair, and for each end of a capsule above a half-space."""
        return [term for terms in self._terms_of_contacts for term in terms]

    @cached_property
    def _terms_of_contacts(self) -> list[list[Term]]:
        return [self._make_terms(contact) for contact in self.contacts]

    def _make_terms(self, contact: ShapePair) -> list[Term]:
        a, b = contact
        ends, bone = a.ends, a.bone or ""
        if isinstance(b, HalfSpace):
            normal = np.asarray(b.normal)
            place = np.asarray(b.through) + (a.radius + self.margin) * normal
            count = 1 if (ends[0] == ends[1]).all() else 2
            return [
                Term(LEVEL, bone, end, axis=-self.band * normal, target=place)
                for end in ends[:count]
            ]
        if isinstance(b, Cuboid):
            half = 0.5 * np.asarray(b.size)
            x, y = np.asarray(b.rotation)[:, :2].T * half[:2, None]
            axis = np.array([a.radius + self.margin, half[2], self.band])
            rows = np.array([ends[1] - ends[0], x, y])
            return [Term(BOX, bone, ends[0], axis, np.asarray(b.center), rows, relative_to=WORLD)]
        assert isinstance(b, Capsule)
        u, v = ends[1] - ends[0], b.ends[1] - b.ends[0]
        length = a.radius + b.radius + self.margin
        reach = 0.5 * (np.linalg.norm(u) + np.linalg.norm(v))
        return [
            Term(
                SEGMENTS,
                bone,
                ends[0],
                np.array([length, AT_LEAST, self.band]),
                b.ends[0],
                np.array([u, v, [reach, 0.0, 0.0]]),
                relative_to=WORLD if b.bone is None else b.bone,
            )
        ]

    def weight_blocks(self, m: int) -> tuple[Array, ...]:
        """Return a block for each term: hundreds of pairs are common."""
        return (self.weight_matrix(3),) * (m // 3)

    def error_parts(
        self, skeleton: Skeleton, name: str, rows: slice, terms: slice
    ) -> tuple[GoalPart, ...]:
        """Return one part, which knows what touches."""
        tolerance = self.tolerance or max(self.margin, DEFAULT_POSITION_TOLERANCE)
        part = GoalPart(
            name=name,
            unit="m",
            tolerance=tolerance,
            rows=rows,
            terms=terms,
            contacts=tuple(
                contact.names
                for contact, made in zip(self.contacts, self._terms_of_contacts, strict=True)
                for _ in made
            ),
        )
        return (part,)


class _Neighbours:
    """Which bones one joint connects, or none."""

    def __init__(self, skeleton: Skeleton):
        self._index = {name: k for k, name in enumerate(skeleton.bone_names)}
        # The bone that each one is fixed to, −1 for the world, and that of its parent.
        self._base: list[int] = []
        self._above: list[int] = []
        for k, bone in enumerate(skeleton.bones):
            parent = int(skeleton.parents[k])
            above = -1 if parent < 0 else self._base[parent]
            self._base.append(k if bone.joint.nv > 0 else above)
            self._above.append(above)

    def moves(self, bone: str | None) -> bool:
        """Whether any joint moves a bone."""
        return self._base[self._index[bone or ""]] >= 0

    def are_near(self, first: str | None, second: str | None) -> bool:
        """Whether two bones are fixed to each other, or one joint connects them."""
        a, b = self._base[self._index[first or ""]], self._base[self._index[second or ""]]
        if a == b:
            return True
        return (a >= 0 and self._above[a] == b) or (b >= 0 and self._above[b] == a)


def _combine(shapes: Sequence[Capsule]) -> list[tuple[Capsule, Capsule]]:
    """Return all pairs on different bones."""
    return [(a, b) for n, a in enumerate(shapes) for b in shapes[n + 1 :] if a.bone != b.bone]


def _names(a: CollisionShape, b: CollisionShape) -> frozenset[str]:
    return frozenset((a.bone or "", b.bone or ""))


def _check_pairs(skeleton: Skeleton, pairs: Sequence[tuple[str, str]]) -> set[frozenset[str]]:
    """Return pairs of names as sets; raise if a bone is unknown or has no shape."""
    with_shape = {shape.bone for shape in skeleton.shapes.shapes}
    for pair in pairs:
        if isinstance(pair, str) or len(pair) != 2 or pair[0] == pair[1]:
            raise GoalError(f"pair of collisions is {pair!r}; expected names of two bones")
        for name in pair:
            skeleton.bone_index(name)
            if name not in with_shape:
                raise UnknownNameError("bone with a shape", name, sorted(map(str, with_shape)))
    return {frozenset(pair) for pair in pairs}


def _find_pairs(
    skeleton: Skeleton, shapes: Sequence[Capsule], movable: _Neighbours, margin: float
) -> list[ShapePair]:
    """Return the pairs that "auto" means."""
    left_out = skeleton.shapes.left_out
    pairs = [
        (a, b)
        for a, b in _combine(shapes)
        if not movable.are_near(a.bone, b.bone) and _names(a, b) not in left_out
    ]
    if len(pairs) == 0:
        return []
    pose = skeleton.forward(skeleton.neutral() if skeleton.home is None else skeleton.home)

    def place(shape: Capsule) -> Array:
        k = skeleton.bone_index(shape.bone or "")
        return pose.positions[k] + shape.ends @ pose.rotations[k].T

    places = {id(shape): place(shape) for shape in shapes}
    first, second = (np.array([places[id(pair[k])] for pair in pairs]) for k in (0, 1))
    gaps = find_segment_distances(first, second)
    between: dict[frozenset[str], float] = {}  # of bones, which may have many shapes
    found = []
    for (a, b), gap in zip(pairs, gaps, strict=True):
        least = a.radius + b.radius + margin
        if gap < least:
            continue
        if skeleton.shapes.source in MADE:
            bones = _names(a, b)
            if bones not in between:
                ends = a.bone or "", b.bone or ""
                between[bones] = _measure_between(skeleton, pose.positions, *ends)
            if between[bones] <= least:
                continue
        found.append(ShapePair(a, b))
    return found


def _measure_between(skeleton: Skeleton, positions: Array, first: str, second: str) -> float:
    """Return the way along the body from the first joint between two bones to the last [m]."""
    up, down = skeleton.find_ancestors(first), skeleton.find_ancestors(second)
    path = [k for k in up if k not in down] + [k for k in reversed(down) if k not in up]
    return float(np.linalg.norm(np.diff(positions[path], axis=0), axis=1).sum())
