"""From goals to the plain arrays of the kernels, and each goal's rows of the residual."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactik._arrays import freeze
from exactik.goals._goal import WORLD, CoordinateTerm, Goal, GoalPart, Term, refuse_goal
from exactik.goals._pairs import pack_pairs
from exactik.kernels.calculus.workspace import Goals
from exactik.kernels.goals import clouds as cloud
from exactik.kernels.goals import terms as kinds
from exactik.kernels.goals.centroids import Centroids
from exactik.kernels.goals.clouds import Clouds
from exactik.kernels.goals.coordinates import CoordinateGoals
from exactik.kernels.goals.terms import Terms
from exactik.kernels.tree.packed import NONE
from exactik.model import Skeleton
from exactik.typing import Array, BoolArray, IndexArray, IntArray

MAX_ORIGIN_TERMS = 5  # two may be far off; a median of all would take longer than packing


class PythonTerm(NamedTuple):
    """A goal that is evaluated in Python, with its frame, its rows and their weight."""

    name: str
    goal: Goal
    frame: int
    rows: slice
    weight: Array


class _Entry(NamedTuple):
    """A goal, its rows of the residual, their weight in blocks, and how it is evaluated."""

    name: str
    goal: Goal
    rows: slice
    blocks: tuple[Array, ...]
    terms: list[Term]
    coordinate_term: CoordinateTerm | None

    @property
    def in_python(self) -> bool:
        """Whether the goal is evaluated in Python."""
        return len(self.terms) == 0 and self.coordinate_term is None

    @property
    def couples(self) -> bool:
        """Whether the weight couples what the kernels treat apart: terms, or dofs."""
        size = 3 if len(self.terms) > 0 else 1
        if self.in_python or len(self.blocks[0]) == size:
            return False
        off_blocks = self.blocks[0].copy()
        for i in range(0, len(off_blocks), size):
            off_blocks[i : i + size, i : i + size] = 0.0
        return bool(off_blocks.any())

    @property
    def term_weights(self) -> list[Array]:
        """The weight of each of its terms, (3, 3)."""
        if len(self.blocks) == len(self.terms):
            return list(self.blocks)
        starts = range(0, 3 * len(self.terms), 3)
        return [self.blocks[0][i : i + 3, i : i + 3] for i in starts]


@dataclass(frozen=True, eq=False)
class PackedGoals:
    """Goals ready for the kernels.

    Attributes:
        arrays: the goals that the kernels evaluate.
        custom: the goals that are evaluated in Python.
        rows: name of each goal → its rows of the residual, in order.
        terms: name of each goal → its terms among those of `arrays`, in order.
        weights: blocks on the diagonal of W: one or more for each goal, or that of all rows.
        coupled: whether J must be formed: W was given whole, or couples rows of different terms.
        targets: of the terms, (n, 3), in world coordinates to the last digit.
        error_parts: what decides whether the goals are reached.
    """

    arrays: Goals
    custom: tuple[PythonTerm, ...]
    rows: dict[str, slice]
    terms: dict[str, slice]
    weights: tuple[Array, ...]
    coupled: bool
    targets: Array
    error_parts: tuple[GoalPart, ...]

    @cached_property
    def is_place(self) -> Array:
        """1 for terms whose target is a place, which is stored relative to the origin, (n, 1)."""
        arrays = self.arrays
        return find_places(arrays.terms, arrays.centroids).astype(float)[:, None]

    @cached_property
    def origin_terms(self) -> IntArray:
        """The terms that `choose_origin` chooses among."""
        places = find_places(self.arrays.terms, self.arrays.centroids)
        return find_origin_terms(self.arrays.terms.kind, places)

    @property
    def has_pairs(self) -> bool:
        """Whether some terms are on several bodies."""
        return len(self.arrays.pair_terms) > 0

    @cached_property
    def size(self) -> int:
        """Number of rows of the residual."""
        return sum(len(weight) for weight in self.weights)

    def copy_arrays(self) -> Goals:
        """Return the arrays with copies of all that depends on the targets, to be written on."""
        old = self.arrays
        terms = old.terms._replace(
            target=old.terms.target.copy(), rotation=old.terms.rotation.copy()
        )
        clouds = old.clouds._replace(
            rows=old.clouds.rows.copy(),
            rows_used=old.clouds.rows_used.copy(),
            floor=old.clouds.floor.copy(),
        )
        return old._replace(origin=old.origin.copy(), terms=terms, clouds=clouds)

    @cached_property
    def row_weights(self) -> Array:
        """The diagonal of W, (m,)."""
        diagonals = {id(block): np.diag(block) for block in self.weights}
        return freeze(np.concatenate([np.zeros(0), *(diagonals[id(w)] for w in self.weights)]))

    @cached_property
    def weight(self) -> Array:
        """W over all rows of the residual, (m, m)."""
        if len(self.weights) == 1:
            return self.weights[0]
        full, end = np.zeros((self.size, self.size)), 0
        for weight in self.weights:
            rows = slice(end, end + len(weight))
            full[rows, rows], end = weight, rows.stop
        return freeze(full)


def as_goals(goals: Sequence[Goal] | Goal) -> tuple[Goal, ...]:
    """Return one goal or several as a tuple; raise if anything is no goal."""
    if isinstance(goals, Goal) or not isinstance(goals, Iterable):
        goals = (goals,)
    goals = tuple(goals)
    for goal in goals:
        if not isinstance(goal, Goal):
            refuse_goal(goal)
    return goals


def pack_goals(
    skeleton: Skeleton, goals: Sequence[Goal], free: Array, weight: Array | None = None
) -> PackedGoals:
    """Return the packed goals.

    Args:
        skeleton: the figure that they are on.
        goals: in the order of the rows of the residual.
        free: (nv,) 0 for a locked dof, else 1.
        weight: W over all rows, in place of the goals' own weights.
    """
    entries: list[_Entry] = []
    rows: dict[str, slice] = {}
    terms_by_goal: dict[str, slice] = {}
    row, term = 0, 0
    for goal in goals:
        terms = goal.terms(skeleton)
        count = 3 * len(terms) if len(terms) > 0 else goal.rows(skeleton)
        goal_rows = slice(row, row + count)
        name = _number_name(goal.label, rows)
        rows[name], terms_by_goal[name] = goal_rows, slice(term, term + len(terms))
        row, term = goal_rows.stop, term + len(terms)
        blocks = goal.weight_blocks(count) if weight is None else (weight[goal_rows, goal_rows],)
        entries.append(
            _Entry(
                name=name,
                goal=goal,
                rows=goal_rows,
                blocks=blocks,
                terms=terms,
                coordinate_term=goal.coordinate_term(skeleton),
            )
        )
    coupled = weight is not None or any(entry.couples for entry in entries)
    terms = [term for entry in entries for term in entry.terms]
    targets = np.array([term.target for term in terms]).reshape(-1, 3)
    packed, centroids = _pack_terms(skeleton, entries), _pack_centroids(skeleton, terms)
    places = find_places(packed, centroids)
    origin = choose_origin(find_origin_terms(packed.kind, places), targets)
    packed.target[places] -= origin
    if not coupled:
        _mark_cloud(packed)
    slot, clouds = _pool_terms(skeleton, packed)
    pair_terms, meeting, pattern, columns = pack_pairs(skeleton.tree, packed, centroids)
    is_single = packed.in_cloud == 0
    is_single[pair_terms] = False
    return PackedGoals(
        arrays=Goals(
            origin=origin,
            free=free,
            terms=packed,
            single_terms=np.flatnonzero(is_single).astype(np.uint32),
            pair_terms=pair_terms,
            centroids=centroids,
            meeting=meeting,
            pattern=pattern,
            columns=columns,
            cloud_of_frame=slot,
            clouds=clouds,
            coordinates=_pack_coordinates(skeleton, entries),
        ),
        custom=tuple(_pack_python_term(skeleton, entry) for entry in entries if entry.in_python),
        rows=rows,
        terms=terms_by_goal,
        weights=tuple(block for entry in entries for block in entry.blocks)
        if weight is None
        else (weight,),
        coupled=coupled,
        targets=targets,
        error_parts=_list_error_parts(skeleton, entries, terms_by_goal),
    )


def _list_error_parts(
    skeleton: Skeleton, entries: list[_Entry], terms_by_goal: dict[str, slice]
) -> tuple[GoalPart, ...]:
    """Return the parts of the goals that have to be reached.

    Secondary goals, postures and soft limits, need not be, unless they have a tolerance or are all
    there is.
    """
    only_secondary = all(entry.goal.is_secondary for entry in entries)
    parts: list[GoalPart] = []
    for name, goal, rows, *_ in entries:
        if not goal.is_secondary or goal.tolerance is not None or only_secondary:
            parts += goal.error_parts(skeleton, name, rows, terms_by_goal[name])
    return tuple(parts)


def _number_name(name: str, taken: dict[str, slice]) -> str:
    """Return the name, numbered from the second time on."""
    unused, count = name, 1
    while unused in taken:
        count += 1
        unused = f"{name}#{count}"
    return unused


def find_places(terms: Terms, centroids: Centroids) -> BoolArray:
    """Return the terms whose targets are places in the world, (n,)."""
    in_world = (terms.other == NONE) & (centroids.total != 0.0)
    return in_world & np.isin(terms.kind, (kinds.POSITION, kinds.AIM, kinds.LEVEL))


def find_origin_terms(kind: IndexArray, places: BoolArray) -> IntArray:
    """Return the terms whose targets are places to keep digits of: positions, else others."""
    positions = np.flatnonzero(places & (kind == kinds.POSITION))
    return positions if len(positions) > 0 else np.flatnonzero(places)


def _find_others(skeleton: Skeleton, terms: list[Term]) -> IndexArray:
    """Return the frames that the targets of terms are in, (n,); NONE for the world itself."""
    return np.array(
        [
            NONE
            if t.relative_to is None
            else 0
            if t.relative_to == WORLD
            else skeleton.bone_index(t.relative_to) + 1
            for t in terms
        ],
        np.uint32,
    )


def choose_origin(terms: IntArray, target: Array) -> Array:
    """Return what targets (…, n, 3) are stored relative to: a place among them, to keep digits.

    The median of some `terms`, because one marker that is far off must not take digits from the
    others.
    """
    if len(terms) == 0:
        return np.zeros((*target.shape[:-2], 3))
    some = terms[:: -(-len(terms) // MAX_ORIGIN_TERMS)]
    ordered = np.sort(target[..., some, :], axis=-2)  # a third of the time of `np.median`
    return 0.5 * (ordered[..., (len(some) - 1) // 2, :] + ordered[..., len(some) // 2, :])


def _pack_centroids(skeleton: Skeleton, terms: list[Term]) -> Centroids:
    """Return the members of terms on sums of points; shares of others add up to 1."""
    counts = [len(term.members) for term in terms]
    members = [member for term in terms for member in term.members]
    totals = [sum(share for _, _, share in term.members) for term in terms]
    totals = [round(total, 9) if n > 0 else 1.0 for total, n in zip(totals, counts, strict=True)]
    return Centroids(
        first=np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32),
        frame=np.array([skeleton.bone_index(bone) + 1 for bone, _, _ in members], np.uint32),
        point=np.array([point for _, point, _ in members], float).reshape(-1, 3),
        share=np.array([share for _, _, share in members], float),
        total=np.array(totals, float),
    )


def _pack_terms(skeleton: Skeleton, entries: list[_Entry]) -> Terms:
    """Return all terms, those of no cloud, with targets in the world."""
    terms = [term for entry in entries for term in entry.terms]
    rows = [entry.rows.start + 3 * i for entry in entries for i in range(len(entry.terms))]
    weights = [weight for entry in entries for weight in entry.term_weights]
    count = len(terms)
    frames = [NONE if len(t.members) > 0 else skeleton.bone_index(t.bone) + 1 for t in terms]
    return Terms(
        kind=np.array([t.kind for t in terms], np.uint32),
        frame=np.array(frames, np.uint32),
        other=_find_others(skeleton, terms),
        point=np.array([t.point for t in terms]).reshape(count, 3),
        axis=np.array([t.axis for t in terms]).reshape(count, 3),
        target=np.array([t.target for t in terms], float).reshape(count, 3),
        rotation=np.array([t.rotation for t in terms]).reshape(count, 3, 3),
        weight=np.array(weights).reshape(count, 3, 3),
        in_cloud=np.zeros(count, np.uint32),
        row=np.array(rows, np.uint32),
    )


def _mark_cloud(terms: Terms) -> None:
    """Mark the terms that their bones' clouds can take."""
    isotropic = (terms.weight == terms.weight[:, :1, :1] * np.eye(3)).all(axis=(1, 2))
    point_like = (terms.kind == kinds.POSITION) | (terms.kind == kinds.DIRECTION)
    on_one_body = (terms.other == NONE) & (terms.frame != NONE)
    terms.in_cloud[isotropic & point_like & on_one_body] = 1


def _pool_terms(skeleton: Skeleton, terms: Terms) -> tuple[NDArray[np.uint32], Clouds]:
    """Return the cloud of each frame, (n_frames,), and the clouds of the pooled terms."""
    frames = np.unique(terms.frame[terms.in_cloud == 1])
    slot = np.zeros(len(skeleton.bones) + 1, np.uint32)
    slot[frames] = np.arange(len(frames))
    count = len(frames)
    clouds = Clouds(
        frame=frames,
        rows=np.zeros((count, 4, 7)),
        rows_used=np.zeros(count, np.uint32),
        floor=np.zeros(1),
    )
    cloud.reduce_to_clouds(terms, slot, clouds)
    return slot, clouds


def _pack_coordinates(skeleton: Skeleton, entries: list[_Entry]) -> CoordinateGoals:
    postures: list[_Entry] = []
    limits: list[_Entry] = []
    rest: list[Array] = []
    for entry in entries:
        if entry.coordinate_term is None:
            continue
        if entry.coordinate_term.q_rest is None:
            limits.append(entry)
        else:
            postures.append(entry)
            rest.append(entry.coordinate_term.q_rest)

    def gather_diagonals(entries: list[_Entry]) -> Array:
        return np.array([np.diag(e.blocks[0]) for e in entries]).reshape(len(entries), skeleton.nv)

    return CoordinateGoals(
        rest=np.array(rest).reshape(len(postures), skeleton.nq),
        rest_weight=gather_diagonals(postures),
        rest_row=np.array([entry.rows.start for entry in postures], np.uint32),
        limit_weight=gather_diagonals(limits),
        limit_row=np.array([entry.rows.start for entry in limits], np.uint32),
        lower=skeleton.lower,
        upper=skeleton.upper,
    )


def _pack_python_term(skeleton: Skeleton, entry: _Entry) -> PythonTerm:
    frame = skeleton.bone_index(entry.goal.evaluated_bone) + 1
    return PythonTerm(
        name=entry.name, goal=entry.goal, frame=frame, rows=entry.rows, weight=entry.blocks[0]
    )
