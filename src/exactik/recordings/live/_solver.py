"""The pose of each frame as it comes, from the pose before it."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from exactik._text import join_names
from exactik.kernels.recording.sequence import NEAR_COST_RATIO
from exactik.model import Skeleton
from exactik.model.motion import Markers
from exactik.recordings.live._frames import LiveEvent, LiveFrame, LivePose
from exactik.recordings.live._markers import LiveMarkers
from exactik.recordings.live._smoother import FixedLagSmoother
from exactik.recordings.pipeline import PreparedSkeleton
from exactik.recordings.tracking import (
    DEFAULT_OPTIONS,
    FrameSolutions,
    TrackingProblem,
    TrackOptions,
    align_to_markers,
    choose_methods,
    combine_postures,
    compute_lost_share,
    compute_marker_information,
    find_nearest_equivalents,
    make_tracking_problem,
    match_markers,
    solve_cold_start,
    solve_frames,
)
from exactik.typing import Array, BoolArray

MAX_PLACE_M = 1e6  # [m, or units of the source] from which a place makes no sense
MIN_MARKERS = 3  # that tell where a figure is
FRESH_SECONDS = 1.0  # [s] for which what markers say of dofs is taken for the same
LONG_LOSS_SECONDS = 0.5  # [s] without a pose, after which it is looked for anew
USUAL_COST_SHARE = 0.02  # of a frame in the usual cost
SEARCH_SECONDS = 0.2  # [s] that a search from nothing may take: about 10 ms of a processor
MAX_FOUND_SHARE = 0.5  # of the cost of a pose that another may have to be taken in its place
MAX_NAMES = 6  # of markers in a sentence
MAX_STEP_RATIO = 4.0  # times the step before, up to which motion is drawn on over lost frames
FIRST_FRAME = np.array([0])  # of a problem that has but one
DEFAULT_SETTINGS = TrackOptions()
CHANGING_TARGETS = ("position", "confidence", "rest", "rest_weight")  # from frame to frame
_SEARCHERS = ThreadPoolExecutor(1, "exactik searching")  # starts no thread before it is used


class _Moment(NamedTuple):
    """A frame that was solved."""

    q: Array  # (nq,)
    time: float  # [s]
    cost: float  # of the descent


class LiveSolver:
    """Finds poses of frames as they come: without what `track` takes from later frames.

    A frame costs a descent in compiled kernels from the pose that the two before it lead to. Of
    frames without faults the answers are those of `track(smooth=None, branches=False,
    robust=None)`, if `branches` is off here too: with it a better pose is looked for once a second.

    Attributes:
        skeleton: the figure, with markers.
        settings, options: how it is solved.
        names: of the skeleton's markers that were seen so far, (M,).
    """

    def __init__(
        self,
        skeleton: Skeleton,
        settings: TrackOptions = DEFAULT_SETTINGS,
        *,
        rate: float = 100.0,
        names: Mapping[str, str] | None = None,
        turn: Array | None = None,
        lag: int = 0,
    ):
        """Begin without a pose.

        Args:
            skeleton: with markers, of the subject's size.
            settings: limits, locks, strengths, weights, posture, starts, branches and thresholds as
                for `track`; others have no part here.
            rate: frames a second [Hz], for frames that have no time.
            names: name of a point → name of the skeleton's marker, where these differ.
            turn: from the axes and unit of the frames to those of the skeleton, (3, 3).
            lag: frames by which poses are later, and smoothed over as many on both sides.
        """
        self.skeleton, self.rate, self.settings = skeleton, rate, settings
        self.options = settings.options or DEFAULT_OPTIONS
        self.names: tuple[str, ...] = ()
        self._turn = np.eye(3) if turn is None else np.asarray(turn, dtype=float)
        self._aliases = dict(names or {})
        self._smoother = FixedLagSmoother(skeleton, lag) if lag > 0 else None
        self._points: tuple[str, ...] | None = None  # names of the last frame
        self._now: _Moment | None = None
        self._before: _Moment | None = None
        self._first: tuple[int, float] | None = None  # number and time of the first pose
        self._number, self._time, self._held = -1, -np.inf, skeleton.neutral()
        self._informed, self._searched = -np.inf, -np.inf  # when these were done last [s]
        self._good, self._usual_cost = self._held, np.nan  # last pose that was not poor; its cost
        self._searching: Future[Array] | None = None

    def step(self, frame: LiveFrame) -> list[LivePose]:
        """Return the pose of a frame; with a lag, that of an earlier one, or none yet.

        None comes before enough markers have been seen. Numbers and times of frames must rise.
        """
        pose = self._solve(frame)
        if pose is None:
            return []
        return [pose] if self._smoother is None else self._smoother.add(pose)

    def flush(self) -> list[LivePose]:
        """Return the poses that a lag still holds."""
        return [] if self._smoother is None else self._smoother.flush()

    def _solve(self, frame: LiveFrame) -> LivePose | None:
        changed = self._match(frame.names) if frame.names != self._points else ()
        if len(self.names) == 0:
            return None
        number = self._number + 1 if frame.number is None else frame.number
        time = number / self.rate if frame.time is None else frame.time
        dt = min(time - self._time, LONG_LOSS_SECONDS)
        self._number, self._time = number, time
        position = np.full((len(self.names), 3), np.nan)
        places = frame.positions[self._rows]
        places = np.where(np.abs(places) < MAX_PLACE_M, places, np.nan)
        position[self._columns] = places @ self._turn.T
        position[np.isnan(position).any(axis=1)] = np.nan
        start, expected = self._predict(time, position[self._markers.order])
        if start is None:
            self._markers.forget_motion()
        mended = self._markers.mend(position, expected, dt)
        is_lost = bool(mended.seen.sum() < min(MIN_MARKERS, len(self.names)))
        if is_lost and self._first is None:
            return None
        inferred = np.ones(self.skeleton.nv, dtype=bool)
        residual = np.full_like(position, np.nan)
        if not is_lost:
            self._targets.position[0], self._targets.confidence[0] = mended[:2]
            inferred = self._hold_lost_dofs(mended.seen, time)
            self._advance(start, inferred, time)
            places = self._place_markers(self._held)
            residual = np.where(mended.seen[:, None], mended.position - places, np.nan)
            self._markers.learn(residual, mended.seen, dt)
        self._first = self._first or (number, time)
        return LivePose(
            number=number - self._first[0],
            time=time - self._first[1],
            q=self._held,
            errors=np.sqrt(np.einsum("mi,mi->m", residual, residual)),
            positions=np.where(mended.seen[:, None], mended.position, np.nan),
            inferred=inferred,
            arrival=frame.arrival,
            is_lost=is_lost,
            events=(*changed, *mended.events),
        )

    def _match(self, points: tuple[str, ...]) -> tuple[LiveEvent, ...]:
        """Take in the names of the points; return what is to be said of them."""
        is_first, self._points = self._points is None, points
        rows = np.zeros((1, len(points), 3))
        rows[0, :, 0] = np.arange(len(points))  # which point a renamed marker was
        own = PreparedSkeleton(skeleton=self.skeleton, names=self._aliases)
        renamed = own.rename_markers(Markers(rows, points, self.rate))
        matches = match_markers(self.skeleton, renamed)
        found = {mine: int(renamed.marker(name)[0, 0]) for name, mine in matches.items()}
        new = [name for name in found if name not in self.names]
        gone = [name for name in self.names if name not in found]
        if len(new) > 0:
            self.names += tuple(new)
            self._make_problem()
        self._columns = np.array([self.names.index(name) for name in found], dtype=int)
        self._rows = np.array(list(found.values()), dtype=int)
        if is_first:
            return ()
        words = [
            f"{what} {join_names(names, MAX_NAMES)}"
            for what, names in (("gone", gone), ("new", new))
            if len(names) > 0
        ]
        text = "; ".join([f"{len(found)} are known", *words])
        return (LiveEvent("changed", f"the markers have changed: {text}"),)

    def _make_problem(self) -> None:
        """Make what is solved, for the markers that were seen so far."""
        missing = np.full((1, len(self.names), 3), np.nan)
        settings, weights = self.settings, self.settings.weights
        if isinstance(weights, Mapping):
            weights = {name: w for name, w in weights.items() if name in self.names}
        problem = make_tracking_problem(
            self.skeleton,
            Markers(missing, self.names, self.rate),
            limits=settings.limits,
            lock=settings.lock,
            strength=settings.strength,
            weights=weights,
            posture=settings.posture,
        )
        targets = problem.targets
        self._neutral = targets.rest, targets.rest_weight
        self._problem = problem.with_targets(
            confidence=np.ones((1, len(self.names))),
            rest=targets.rest.copy(),
            rest_weight=targets.rest_weight.copy(),
        )
        self._targets = self._problem.targets
        warm, cold = choose_methods("auto", self.options)
        self._warm = warm.options(problem.frame_problem)
        self._cold = cold.options(problem.frame_problem)
        self._markers = LiveMarkers(self._problem, self.options)
        self._informed = -np.inf

    def _place_markers(self, q: Array) -> Array:
        """Return where the markers are on the figure in a pose [m, world], (M, 3)."""
        self._targets.position[0] = 0.0
        return -self._problem.residuals(q[None], FIRST_FRAME)[0]

    def _predict(self, time: float, position: Array) -> tuple[Array | None, Array | None]:
        """Return the pose that the last ones lead to, (nq,), and its markers [m], (M, 3).

        By the rule of `kernels.recording.sequence`, the last pose itself if that costs less: near
        gimbal lock coordinates leap. None if there is none near in time.
        """
        now, before = self._now, self._before
        if now is None or time - now.time > LONG_LOSS_SECONDS:
            return None, None
        q, places = now.q, self._place_markers(now.q)
        if before is not None and time - now.time <= MAX_STEP_RATIO * (now.time - before.time):
            ratio = (time - now.time) / (now.time - before.time)
            step = self.skeleton.difference(now.q, before.q)
            ahead = self.skeleton.clip(self.skeleton.integrate(now.q, ratio * step))
            there = self._place_markers(ahead)
            cost, cost_there = (0.5 * np.nansum((position - p) ** 2) for p in (places, there))
            if cost_there <= NEAR_COST_RATIO * now.cost or cost_there < cost:
                return ahead, there
        return q, places

    def _hold_lost_dofs(self, seen: BoolArray, time: float) -> BoolArray:
        """Pull dofs that have lost their markers to where they are; return which, (nv,)."""
        targets, (neutral, weight) = self._targets, self._neutral
        targets.rest[:], targets.rest_weight[:] = neutral, weight
        if seen.all() or self._now is None:
            return np.zeros(self.skeleton.nv, dtype=bool)
        held = self._now.q[None]
        if time - self._informed > FRESH_SECONDS:
            self._information = compute_marker_information(self._problem, held)
            self._informed = time
        share = compute_lost_share(seen[None], self._information)
        lost = share > self.options.max_lost_share
        if lost.any():
            pull = self.options.course_pull * self._information.sum(axis=0) * share**2 * lost
            targets.rest[:], targets.rest_weight[:] = combine_postures(
                self.skeleton, neutral, weight, held, pull
            )
        return lost[0]

    def _advance(self, start: Array | None, lost: BoolArray, time: float) -> None:
        """Solve the frame that the targets are, from a pose that is expected, or from nothing."""
        now = self._now
        if start is None or now is None:
            found = self._search(now)
        else:
            if lost.any():
                back = lost * self.skeleton.difference(now.q, start)
                start = self.skeleton.integrate(start, back)
            found = self._descend(start)
            if found.cost[0] > self.options.poor_cost * self._usual_cost:
                found = min(found, self._descend(self._good), key=_get_cost)
            other = self._look_around(time)
            if other is not None and other.cost[0] < MAX_FOUND_SHARE * found.cost[0]:
                found, now = other, None  # another pose: motion is not drawn on from the last
        cost = float(found.cost[0])
        self._held = found.q[0]
        self._before, self._now = now, _Moment(self._held, time, cost)
        if cost > self.options.poor_cost * self._usual_cost:
            self._usual_cost *= 1.0 + USUAL_COST_SHARE  # if it lasts it is usual
        else:
            self._good = self._held
            usual = self._usual_cost if np.isfinite(self._usual_cost) else cost
            self._usual_cost = usual + USUAL_COST_SHARE * (cost - usual)

    def _look_around(self, time: float) -> FrameSolutions | None:
        """Return the pose that a search from nothing leads to; None if none has ended now.

        A path that has gone wrong stays wrong, so a search runs once a second, beside the frames;
        its answer is taken at a fixed time, so that poses do not depend on how fast it was.
        """
        if self._searching is not None and time - self._searched > SEARCH_SECONDS:
            q, self._searching = self._searching.result(), None
            return self._descend(q)
        is_due = self._searching is None and time - self._searched > FRESH_SECONDS
        if is_due and self.settings.branches:
            self._searched = time
            targets = self._targets._replace(
                **{name: getattr(self._targets, name).copy() for name in CHANGING_TARGETS}
            )
            there, near = replace(self._problem, targets=targets), self._held
            self._searching = _SEARCHERS.submit(self._search_from_nothing, there, near)
        return None

    def _search_from_nothing(self, problem: TrackingProblem, near: Array) -> Array:
        """Return the best pose of a problem's frame, (nq,), in coordinates near a pose."""
        cold = solve_cold_start(problem, self._cold, FIRST_FRAME, self.settings.starts)
        return find_nearest_equivalents(problem, cold.q, near[None])[0]

    def _descend(self, start: Array) -> FrameSolutions:
        return solve_frames(self._problem, self._warm, FIRST_FRAME, start[None])

    def _search(self, last: _Moment | None) -> FrameSolutions:
        """Return the best pose from nothing but the markers, or from the last one moved to them."""
        problem, near = self._problem, self.skeleton.neutral() if last is None else last.q
        found = self._descend(self._search_from_nothing(problem, near))
        if last is None:
            return found
        moved = align_to_markers(problem, last.q[None], FIRST_FRAME)[0]
        return min(self._descend(moved), found, key=_get_cost)


def _get_cost(found: FrameSolutions) -> float:
    return float(found.cost[0])
