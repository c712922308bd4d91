"""Figures whose coordinates drive several dofs: a leg with a kneecap, a gripper."""

from __future__ import annotations

import numpy as np

import exactik as ik
from exactik.model.functions import CubicSpline, Linear, Polynomial

__all__ = ["gripper", "legs"]


def legs(coupled: bool = True) -> ik.Skeleton:
    """A pelvis on a custom joint of six coordinates, two legs whose knees move as they bend.

    The kneecaps follow the knees, and the toes the ankles; without couplings they are free.
    """
    pelvis = ik.Joint.custom(
        turns=[("z", None, "tilt"), ("x", None, "list"), ("y", None, "rotation")],
        shifts=[(axis, None, "t" + axis) for axis in "xyz"],
    )
    angles = (-2.1, -1.2, -0.5, 0.0, 0.2)
    knee = ik.Joint.custom(
        turns=[("z", None, "flexion"), ("x", Polynomial((0.0, 0.05, 0.04)), "flexion")],
        shifts=[
            ("x", CubicSpline(angles, (-0.003, 0.002, 0.004, 0.0, -0.001)), "flexion"),
            ("y", CubicSpline(angles, (-0.422, -0.412, -0.40, -0.396, -0.397)), "flexion"),
        ],
        limits=(-2.1, 0.2),
    )
    bones = [ik.Bone("pelvis", joint=pelvis)]
    markers = {"SACR": ("pelvis", (-0.1, 0.05, 0)), "BACK": ("pelvis", (-0.1, 0.15, 0.02))}
    couplings = []
    for side, sign in (("r", 1.0), ("l", -1.0)):
        hip = ik.Joint.euler("ZXY", limits=[(-1.0, 2.0), (-1.0, 1.0), (-1.0, 1.0)])
        bones += [
            ik.Bone(f"femur_{side}", parent="pelvis", offset=(0, -0.06, 0.08 * sign), joint=hip),
            ik.Bone(f"tibia_{side}", parent=f"femur_{side}", joint=knee),
            ik.Bone(
                f"patella_{side}",
                parent=f"femur_{side}",
                offset=(0.04, -0.4, 0),
                joint=ik.Joint.custom(
                    turns=[("z", None, "beta")],
                    shifts=[("y", Linear(0.03), "beta"), ("x", Polynomial((0, 0, -0.01)), "beta")],
                ),
            ),
            ik.Bone(
                f"foot_{side}",
                parent=f"tibia_{side}",
                offset=(0, -0.43, 0),
                joint=ik.Joint.revolute("z", limits=(-1.0, 1.0)),
            ),
            ik.Bone(
                f"toes_{side}",
                parent=f"foot_{side}",
                offset=(0.13, -0.04, 0),
                joint=ik.Joint.revolute("z"),
            ),
        ]
        couplings += [
            ik.Coupling(f"patella_{side}.beta", f"tibia_{side}.flexion", Polynomial((0, 0.8, 0.1))),
            ik.Coupling(f"toes_{side}.rz", f"foot_{side}.rz", Linear(-0.5, 0.1)),
        ]
        places = {
            "ASI": ("pelvis", (0.05, 0.05, 0.12 * sign)),
            "THI": (f"femur_{side}", (0.05, -0.2, 0.06 * sign)),
            "KNE": (f"femur_{side}", (0.0, -0.39, 0.06 * sign)),
            "PAT": (f"patella_{side}", (0.03, 0.02, 0.0)),
            "TIB": (f"tibia_{side}", (0.04, -0.2, 0.05 * sign)),
            "ANK": (f"tibia_{side}", (0.0, -0.42, 0.05 * sign)),
            "HEE": (f"foot_{side}", (-0.05, -0.04, 0.0)),
            "TOE": (f"toes_{side}", (0.05, 0.01, 0.02 * sign)),
        }
        markers |= {f"{side.upper()}{name}": place for name, place in places.items()}
    return ik.Skeleton.build("legs", bones, markers, couplings if coupled else ())


def gripper() -> ik.Skeleton:
    """An arm of three hinges with two fingers of two hinges each, all moved by one coordinate."""
    bones = [
        ik.Bone("base", joint=ik.Joint.revolute("z")),
        ik.Bone("upper", parent="base", offset=(0, 0, 0.3), joint=ik.Joint.revolute("y")),
        ik.Bone("lower", parent="upper", offset=(0.4, 0, 0), joint=ik.Joint.revolute("y")),
    ]
    couplings = []
    for side, sign in (("left", 1.0), ("right", -1.0)):
        bones += [
            ik.Bone(
                f"{side}_finger",
                parent="lower",
                offset=(0.3, 0.03 * sign, 0),
                joint=ik.Joint.revolute("z", limits=(0.0, 0.8) if sign > 0 else None),
            ),
            ik.Bone(
                f"{side}_tip",
                parent=f"{side}_finger",
                offset=(0.05, 0, 0),
                joint=ik.Joint.revolute("z"),
            ),
        ]
        couplings.append(ik.Coupling(f"{side}_tip.rz", f"{side}_finger.rz", Linear(-1.0)))
    couplings.append(ik.Coupling("right_finger.rz", "left_finger.rz", Linear(-1.0)))
    return ik.Skeleton.build("gripper", bones, None, couplings)


def random_pose(skeleton: ik.Skeleton, seed: int, spread: float = 0.4) -> np.ndarray:
    """A pose within the limits."""
    rng = np.random.default_rng(seed)
    return skeleton.clip(skeleton.neutral() + rng.normal(scale=spread, size=skeleton.nq))
