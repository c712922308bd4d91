"""Any joint as hinges and sliders in a row, which is all that URDF has.

A joint shifts along axes of its base frame and then turns about axes one after the other, each by a
function of coordinates. URDF knows one coordinate a joint, and joints that follow another on a
straight line, y = slope · x + intercept. So every axis gets a line in one coordinate that is free:
through couplings lines are composed, and a curve is replaced by the line that fits it best between
the limits of its coordinate. A function of two coordinates is held at its neutral value.

Rotations without axes of their own (quaternions, exponential maps, swings with a twist) become
hinges about x, y and z.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from exactik.model import Bone, Joint, Skeleton
from exactik.model.functions import Constant, CoordinateFunction, Linear
from exactik.typing import Array

BALL_KINDS = ("quaternion", "exp_map", "swing_twist")
SAMPLES = 32  # places along a curve where its line is fitted (Gauss's): exact for polynomials, and
# for the splines of OpenSim's models twice as many change nothing by a hundredth of a millimetre
UNBOUNDED_SPAN = math.pi  # rad or m; how far a line is fitted where a coordinate has no limit
EXACT = 1e-12  # rad or m; a function within this of a line is one, but for rounding


class Line(NamedTuple):
    """A value on a straight line: slope · x + intercept."""

    source: str | None  # name of the free dof x, "bone.dof"; None for a constant
    slope: float  # change of the value [rad or m] with that of the dof [rad or m]
    intercept: float  # value at x = 0
    # How far the curve that it stands for leaves it between the limits; 0 for none
    deviation: float = 0.0


class AxisMotion(NamedTuple):
    """A turn about, or a shift along, one axis."""

    label: str  # what to call it beside the bone's name, such as "rx" or "knee_angle"
    turns: bool  # whether it is a turn [rad]; else a shift [m]
    axis: Array  # unit vector in the frame that the motions before it leave, (3,)
    line: Line | None  # how far it goes; None where it is a new coordinate, as of a ball's hinges


class LineFitter:
    """Lines of the dofs and functions of one skeleton."""

    def __init__(self, skeleton: Skeleton):
        """Find the line of every dof: its own, or that of what it follows."""
        self.limits = dict(
            zip(
                skeleton.dof_names,
                zip(skeleton.lower.tolist(), skeleton.upper.tolist(), strict=True),
                strict=True,
            )
        )
        self.lines = {name: Line(source=name, slope=1.0, intercept=0.0) for name in self.limits}
        for coupling in skeleton.couplings:  # each after what it follows
            drivers = () if coupling.driver is None else (coupling.driver,)
            self.lines[coupling.driven] = self.fit(coupling.function, drivers)

    def fit(self, function: CoordinateFunction, dofs: tuple[str, ...]) -> Line:
        """Return the line that a function of dofs, free or not, is or comes closest to."""
        inner = [self.lines[dof] for dof in dofs]
        if isinstance(function, Constant):
            return Line(source=None, slope=0.0, intercept=function.value)
        if len(inner) == 1 and isinstance(function, Linear):
            (line,) = inner
            return Line(
                source=line.source,
                slope=function.slope * line.slope,
                intercept=function.slope * line.intercept + function.intercept,
                deviation=abs(function.slope) * line.deviation,
            )
        if len(inner) > 1 or inner[0].source is None:
            held = float(function(*(self._neutral(line) for line in inner)))
            grid = np.meshgrid(*(self._sample(line) for line in inner))
            deviation = float(np.abs(function(*grid) - held).max())
            return Line(source=None, slope=0.0, intercept=held, deviation=deviation)
        (line,) = inner
        low, high = self._bounds(line)
        nodes, weights = np.polynomial.legendre.leggauss(SAMPLES)
        x = 0.5 * (low + high) + 0.5 * (high - low) * np.array([-1.0, *nodes, 1.0])
        y = np.asarray(function(line.slope * x + line.intercept), dtype=float)
        weights = np.array([0.0, *weights, 0.0])  # the ends only show how far it is off
        from_middle = x - 0.5 * (low + high)
        spread = float(weights @ from_middle**2)
        slope = float(weights @ (from_middle * y)) / spread if spread > 0.0 else 0.0
        slope = slope if abs(slope) * (high - low) > EXACT else 0.0
        intercept = float(weights @ y) / 2.0 - slope * 0.5 * (low + high)
        deviation = float(np.abs(y - (slope * x + intercept)).max())
        return Line(
            source=line.source,
            slope=slope,
            intercept=intercept,
            deviation=0.0 if deviation <= EXACT else deviation,
        )

    def _bounds(self, line: Line) -> tuple[float, float]:
        """Return between which values of its dof a line is looked at."""
        assert line.source is not None
        low, high = self.limits[line.source]
        neutral = min(max(0.0, low), high)
        return max(low, neutral - UNBOUNDED_SPAN), min(high, neutral + UNBOUNDED_SPAN)

    def _sample(self, line: Line) -> Array:
        if line.source is None:
            return np.full(SAMPLES, line.intercept)
        return line.slope * np.linspace(*self._bounds(line), SAMPLES) + line.intercept

    def _neutral(self, line: Line) -> float:
        if line.source is None:
            return line.intercept
        low, high = self.limits[line.source]
        return line.slope * min(max(0.0, low), high) + line.intercept


def is_ball(joint: Joint) -> bool:
    """Return whether the rotation of a joint has no axes that URDF could name."""
    return joint.rotation_part.kind in BALL_KINDS


def find_axis_motions(bone: Bone, fitter: LineFitter) -> list[AxisMotion]:
    """Return the motions of a bone's joint in their order: shifts, then turns."""
    joint = bone.joint
    turns, shifts = joint.driven_axes
    if len(turns) + len(shifts) > 0:
        return [
            AxisMotion(
                label=_label_axis(is_turn, axis.axis, k),
                turns=is_turn,
                axis=np.array(axis.axis),
                line=fitter.fit(
                    axis.function, tuple(f"{bone.name}.{name}" for name in axis.coordinates)
                ),
            )
            for is_turn, axes in ((False, shifts), (True, turns))
            for k, axis in enumerate(axes, start=1)
        ]
    names = joint.dof_names
    motions = [
        AxisMotion(
            label=name,
            turns=False,
            axis=np.array(axis),
            line=fitter.lines[f"{bone.name}.{name}"],
        )
        for name, axis in zip(names, joint.shift_axes, strict=False)
    ]
    rotation = joint.rotation_part
    if is_ball(joint):
        hinges = zip(("rx", "ry", "rz"), np.eye(3), strict=True)
        return motions + [AxisMotion(name, True, axis, None) for name, axis in hinges]
    if rotation.kind == "euler":
        turn_axes = [np.eye(3)["XYZ".index(letter)] for letter in rotation.order]
    else:
        turn_axes = [np.array(rotation.axis)] if rotation.kind == "revolute" else []
    turn_names = names[len(motions) :]
    return motions + [
        AxisMotion(label=name, turns=True, axis=axis, line=fitter.lines[f"{bone.name}.{name}"])
        for name, axis in zip(turn_names, turn_axes, strict=True)
    ]


def _label_axis(is_turn: bool, axis: tuple[float, float, float], k: int) -> str:
    """Return "rx" or "tz" for an axis of the frame, "r1" or "t3" by its number for another."""
    letter = Joint.revolute(axis).axis_letter
    return f"{'r' if is_turn else 't'}{letter or k}"
