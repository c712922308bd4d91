"""What the page says of a pose, in the words of people: handles, limits, why one is not reached."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from exactik.errors import UsageError
from exactik.goals import Goal, GoalPart
from exactik.model import Skeleton
from exactik.model.motion import Motion
from exactik.recordings.angles import JointWords, compute_joint_angles, name_angle_for_people
from exactik.solvers import Result
from exactik.typing import Array

MAX_NAMED = 2  # limits in a sentence
REACHED = "Reached."


class PoseWords:
    """Sentences about the poses of a figure.

    Attributes:
        joints: names for people.
    """

    def __init__(self, skeleton: Skeleton):
        """Find the names."""
        self.skeleton, self.joints = skeleton, JointWords(skeleton)

    def name_bone(self, bone: str) -> str:
        """Return what a bone is called."""
        return self.joints.bones.get(bone, bone)

    def describe_limits(self, dofs: Iterable[str], q: Array) -> str:
        """Return that dofs are at their limits in the pose q, (nq,), with their angles.

        For example "left ankle dorsiflexion: at its limit (−30°)".
        """
        words = {self._name_dof(dof): dof for dof in reversed(list(dofs))}  # the first of each
        values = self._measure_angles(q) if len(words) > 0 else {}
        texts = []
        for word, dof in list(reversed(words.items()))[:MAX_NAMED]:
            # An angle of several joints, as of the spine, says nothing about the limit of one.
            shared = list(self.joints.dofs.values()).count(word) > 1
            value = "" if shared else f" ({values.get(word) or self._format(dof, q)})"
            texts.append(f"{word}: at its limit{value}")
        more = len(words) - MAX_NAMED
        return ", ".join(texts) + (f" and {more} more" if more > 0 else "")

    def describe_move(self, errors: Mapping[str, float], dofs: Iterable[str], q: Array) -> str:
        """Return what is told while a figure moves: the worst of some bones, and limits.

        Args:
            errors: bone → how far its handle is from its target [m].
            dofs: that are at their limits in the pose q, (nq,).
        """
        dofs = list(dofs)
        limits = f"{len(dofs)} at their limits"
        if len(dofs) <= MAX_NAMED:
            limits = self.describe_limits(dofs, q)
        if len(errors) == 0:
            return limits
        worst = max(errors, key=lambda name: errors[name])
        off = f"{self.name_bone(worst)} {1e3 * errors[worst]:.0f} mm off"
        return f"{off}; {limits}" if limits else off

    def describe_result(self, result: Result) -> str:
        """Return whether all is where it should be; else how far off the worst is, and why."""
        if result.reached:
            return REACHED
        problem, errors = result.problem, result.goal_errors
        part = max(problem.packed.error_parts, key=lambda p: errors[p.name] / p.tolerance)
        goal, error = _find_goal(result, part), errors[part.name]
        far = f"{1e3 * error:.0f} mm" if part.unit == "m" else part.describe(error)
        bone, other = getattr(goal, "bone", ""), getattr(goal, "relative_to", None)
        what, short = self.name_bone(bone or goal.label), "short"
        if other is not None:
            what += f" to {self.name_bone(other)}"
        if part.unit != "m" or other is not None or bone == "":
            short = "off"
        text = f"{what[:1].upper()}{what[1:]} {far} {short}"
        if result.status == "out-of-reach":
            return f"{text}: out of reach."
        limb = self.joints.limbs.get(bone, "")
        for pair in result.contacts:  # the worst first; those of the trunk alone explain little
            if limb in (self.joints.limbs[near] for near in pair):
                one, against = map(self.name_bone, pair)
                return f"{text}: {one} against {against}."
        limits = self.describe_limits(result.pushed_limits, result.q)
        return f"{text}. {limits[:1].upper()}{limits[1:]}." if limits else f"{text}."

    def _name_dof(self, dof: str) -> str:
        """Return what a dof moves; its joint alone where that angle has no name."""
        bone, _, axis = dof.rpartition(".")
        joint, word = self.joints.joints.get(bone, bone), self.joints.dofs[dof]
        return joint if word == f"{joint} {axis}" else word

    def _measure_angles(self, q: Array) -> dict[str, str]:
        """Return joint angles in a pose by what they are called; none of what is no body."""
        try:
            angles = compute_joint_angles(Motion(self.skeleton, q[None], 1.0))
        except UsageError:
            return {}
        degrees = dict(zip(angles.names, angles.degrees[0].tolist(), strict=True))
        return {name_angle_for_people(name): _degrees(value) for name, value in degrees.items()}

    def _format(self, dof: str, q: Array) -> str:
        i = self.skeleton.dof_names.index(dof)
        value = float(q[self.skeleton.plain_q[i]])
        return _degrees(np.degrees(value)) if self.skeleton.turns[i] else f"{value:.2f} m"


def _find_goal(result: Result, part: GoalPart) -> Goal:
    """Return the goal that a part of the residual is of."""
    problem = result.problem
    for rows, goal in zip(problem.rows.values(), problem.goals, strict=True):
        if rows.start <= part.rows.start < rows.stop:
            return goal
    raise AssertionError(part.name)


def _degrees(value: float) -> str:
    return f"{value:.0f}°".replace("-", "−")
