"""What a retargeting is worth, measured from the two motions alone.

Shares no code with the package: of the result it takes the motions, which bone took over which, the
contacts and the pose that was taken for the source's rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exactik.model import Skeleton
from exactik.model.motion import Motion
from exactik.retargeting import Retargeting
from exactik.typing import Array

SIDES = ("left", "right")
ROBOT_ARM = ("shoulder_roll_link", "elbow_link", "wrist_pitch_link")
"""Where shoulder, elbow and wrist of the G1 are: hinges whose axes meet there."""


@dataclass(frozen=True)
class Measured:
    """Slide of standing feet [mm], wrists [% of the arm], limits [rad], jumps; stances judged."""

    slide: float
    hand: float
    hand_frames: float  # share of the frames within 2 %
    limit: float
    jumps: int
    stances: int

    @property
    def good(self) -> bool:
        return self.slide <= 1.0 and self.hand <= 2.0 and self.limit <= 0.0 and self.jumps == 0


class Side:
    """One of the two motions, z up, with its bones by what they took over."""

    def __init__(self, motion: Motion, up: str, bones: dict[str, str], q_rest: Array):
        self.skeleton, self.bones, self.rate = motion.skeleton, bones, motion.rate
        turn = {"z": np.eye(3), "y": np.eye(3)[[2, 0, 1]], "x": np.eye(3)[[1, 2, 0]]}[up]
        pose, rest = motion.forward(), self.skeleton.forward(q_rest)
        self.positions = pose.positions @ turn.T
        self.rotations = turn @ pose.rotations
        self.rest_positions, self.rest_rotations = rest.positions @ turn.T, turn @ rest.rotations

    def index(self, part: str) -> int:
        return self.skeleton.bone_index(self.bones[part])

    def arm(self, side: str) -> list[int]:
        """Return shoulder, elbow and wrist."""
        named = [f"{side}_{name}" for name in ROBOT_ARM]
        if all(name in self.skeleton.bone_names for name in named):
            return [self.skeleton.bone_index(name) for name in named]
        shoulder, k = self.index(f"{side}_upper_arm"), self.index(f"{side}_hand")
        path = [k]
        while path[-1] != shoulder:
            path.append(int(self.skeleton.parents[path[-1]]))
        return [shoulder, path[-2], path[0]]

    def body_axes(self) -> Array:
        """Return forward, left and up at rest as columns."""
        p = self.rest_positions
        top = self.index("head" if "head" in self.bones else "chest")
        feet = [self.index(f"{side}_foot") for side in SIDES]
        up = p[top] - p[feet].mean(axis=0)
        axis = int(np.argmax(np.abs(up)))
        up = np.eye(3)[axis] * np.sign(up[axis])
        thighs = [self.index(f"{side}_thigh") for side in SIDES]
        arms = [self.arm(side)[0] for side in SIDES]
        left = p[thighs[0]] - p[thighs[1]] + p[arms[0]] - p[arms[1]]
        left -= (left @ up) * up
        left /= np.linalg.norm(left)
        return np.stack([np.cross(left, up), left, up], axis=1)

    def arm_in_chest(self, side: str) -> tuple[Array, float]:
        """Return shoulder to wrist in the axes of the body at rest on the chest, and arm length."""
        chest = self.index("chest")
        axes = self.rotations[:, chest] @ self.rest_rotations[chest].T @ self.body_axes()
        s, e, w = self.arm(side)
        seen = np.einsum("tji,tj->ti", axes, self.positions[:, w] - self.positions[:, s])
        a, b, c = (self.rest_positions[k] for k in (s, e, w))
        return seen, float(np.linalg.norm(b - a) + np.linalg.norm(c - b))

    def turn_steps(self, parts: tuple[str, ...], body: str) -> Array:
        """Return the largest turn of parts against the body from frame to frame [rad]."""
        R_body = self.rotations[:, self.index(body)]
        steps = []
        for part in parts:
            R = np.swapaxes(R_body, 1, 2) @ self.rotations[:, self.index(part)]
            between = np.swapaxes(R[:-1], 1, 2) @ R[1:]
            cosine = 0.5 * (np.trace(between, axis1=1, axis2=2) - 1.0)
            steps.append(np.arccos(np.clip(cosine, -1.0, 1.0)))
        return np.max(steps, axis=0)


def measure(result: Retargeting) -> Measured:
    """Return what the result is worth."""
    pairs = result.correspondence.pairs
    target_bones = {pair.part: pair.target for pair in pairs}
    source_bones = {pair.part: pair.source for pair in pairs}
    motion, given = result.motion, result.source
    assert motion.up_axis is not None and given.up_axis is not None
    rest = result.source_body.figure.q_rest
    source = Side(given, given.up_axis, source_bones, rest)
    target = Side(motion, motion.up_axis, target_bones, motion.skeleton.neutral())
    hands = np.concatenate([_hand_errors(source, target, side) for side in SIDES])
    return Measured(
        slide=1e3 * _largest_slide(result, source, target),
        hand=100.0 * float(hands.max()),
        hand_frames=float((hands <= 0.02).mean()),
        limit=measure_limits(motion.skeleton, motion.q),
        jumps=_count_jumps(source, target),
        stances=len(find_core_stances(source)),
    )


def _hand_errors(source: Side, target: Side, side: str) -> Array:
    seen, length = source.arm_in_chest(side)
    own, own_length = target.arm_in_chest(side)
    return np.linalg.norm(own - seen * own_length / length, axis=1) / own_length


def find_core_stances(source: Side) -> list[tuple[str, int, int]]:
    """Return side, first and last frame in which an ankle surely stands: slow and low.

    Slower than 0.15 m/s and within 3 cm of its lowest decile, for a leg of 0.85 m.
    """
    found = []
    for side in SIDES:
        hip, knee, ankle = (source.index(f"{side}_{p}") for p in ("thigh", "shin", "foot"))
        p = source.rest_positions
        leg = np.linalg.norm(p[knee] - p[hip]) + np.linalg.norm(p[ankle] - p[knee])
        place = source.positions[:, ankle] * 0.85 / leg
        speed = np.linalg.norm(np.gradient(place, axis=0), axis=1) * source.rate
        low = place[:, 2] < np.quantile(place[:, 2], 0.1) + 0.03
        stands = np.flatnonzero(low & (speed < 0.15))
        runs = np.split(stands, np.flatnonzero(np.diff(stands) > 1) + 1)
        found += [(side, int(r[0]), int(r[-1])) for r in runs if len(r) > 0.1 * source.rate]
    return found


def _largest_slide(result: Retargeting, source: Side, target: Side) -> float:
    """Return how far an ankle moves while it stands, by the contacts and by our own stances.

    Where the result sees a pivot on the ball, our own stance is judged only as far as it agrees.
    Toes stand while the ball does, where they begin there.
    """
    spans = [
        (contact.side, contact.frames.first, contact.frames.last)
        for contact in result.contacts
        if contact.point == "ankle"
    ]
    for side, first, last in find_core_stances(source):
        for own_side, a, b in list(spans):
            if own_side == side and max(a, first) < min(b, last):
                spans.append((side, max(a, first), min(b, last)))
    largest = 0.0
    for side, first, last in spans:
        largest = max(largest, _measure_slide(target, f"{side}_foot", first, last))
    for contact in result.contacts:
        toes, (first, last) = f"{contact.side}_toes", contact.frames
        if contact.point == "ball" and has_toes(target, contact.side):
            largest = max(largest, _measure_slide(target, toes, first, last))
    return largest


def has_toes(target: Side, side: str) -> bool:
    """Whether toes begin at the ball of the foot, and not below the ankle (CesiumMan's do)."""
    if f"{side}_toes" not in target.bones:
        return False
    ankle, toes = (target.rest_positions[target.index(f"{side}_{p}")] for p in ("foot", "toes"))
    knee = target.rest_positions[target.index(f"{side}_shin")]
    shin = float(np.linalg.norm(ankle - knee))
    return float(np.linalg.norm((toes - ankle)[:2])) > 0.2 * shin


def _measure_slide(target: Side, part: str, first: int, last: int) -> float:
    place = target.positions[first : last + 1, target.index(part)]
    return float(np.linalg.norm(place - place[0], axis=1).max())


def share_of_stances_held(result: Retargeting) -> float:
    """Return the share of our own stances' frames that the result has as contacts."""
    bones = {pair.part: pair.source for pair in result.correspondence.pairs}
    assert result.source.up_axis is not None
    rest = result.source_body.figure.q_rest
    source = Side(result.source, result.source.up_axis, bones, rest)
    held = {side: np.zeros(len(result.source), dtype=bool) for side in SIDES}
    for contact in result.contacts:
        held[contact.side][contact.frames.first : contact.frames.last + 1] = True
    shares = [held[side][first : last + 1] for side, first, last in find_core_stances(source)]
    return float(np.concatenate(shares).mean()) if len(shares) > 0 else 1.0


def measure_limits(skeleton: Skeleton, q: Array) -> float:
    """Return by how much a coordinate leaves its limits [rad or m]."""
    plain = skeleton.plain_q >= 0
    values = q[:, skeleton.plain_q[plain]]
    return float(
        max((skeleton.lower[plain] - values).max(), (values - skeleton.upper[plain]).max(), 0.0)
    )


def _count_jumps(source: Side, target: Side) -> int:
    """Return how often a part turns more than twice what the source's does, and 6 rad/s.

    Limbs against the trunk, chest against pelvis, head and clavicles against the chest.
    """
    groups = [("pelvis", ("chest",)), ("chest", ("head",))]
    for side in SIDES:
        groups += [
            ("chest", (f"{side}_clavicle",)),
            ("chest", tuple(f"{side}_{part}" for part in ("upper_arm", "forearm", "hand"))),
            ("pelvis", tuple(f"{side}_{part}" for part in ("thigh", "shin", "foot"))),
        ]
    count = 0
    for body, parts in groups:
        if not {body, *parts} <= set(target.bones):
            continue
        own, given = target.turn_steps(parts, body), source.turn_steps(parts, body)
        around = np.max([np.roll(given, k) for k in range(-2, 3)], axis=0)
        count += int((own > 2.0 * around + 6.0 / source.rate).sum())
    return count
