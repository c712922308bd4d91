"""From what the parts of a body should do to the coordinates of `human()`, in closed form.

No solver: a motion that judges solvers should not come from one. A leg has six dofs and its foot
six coordinates, so the pelvis and the foot leave nothing free. With h the hip seen from the ankle,
in the axes of the foot, R_foot = R_shin Ry(a) Rx(b) and the knee bent by k:

    b = atan2(h_y, h_z)                          the shin's own plane holds the hip
    |h|² = L₁² + L₂² + 2 L₁ L₂ cos k             thigh L₁, shin L₂
    a = atan2(−L₁ sin k, L₂ + L₁ cos k) − atan2(h_x, |(h_y, h_z)|)
    R_thigh = R_foot Rx(−b) Ry(−a − k)           its angles follow from R_pelvisᵀ R_thigh

Angles of channels are in degrees, lengths in metres. Sides mirror: right angles about x and z are
those of the left, negated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from exactik.model import Skeleton, human
from exactik.spatial import axis_rotation, euler_angles
from exactik.typing import Array

__all__ = ["BALL", "HEEL", "TIP", "arm_angles", "coordinates"]

Channels = Mapping[str, Array]
Put = Callable[[str, Array], None]

# Points of the sole: below the heel and the ball in the frame of the foot [m], tip of the toes in
# the frame of the toes. The foot rolls over the heel's point and over the joint of the toes.
HEEL = np.array([-0.055, 0.0, -0.06825])
BALL = np.array([0.13125, 0.0, -0.06825])
TIP = np.array([0.060, 0.0, -0.0175])
_TOE_JOINT = np.array([0.13125, 0.0, -0.05075])

# How much each joint takes of what the trunk or the neck does, from below; roughly as their limits.
_SPINE = {"ry": (0.50, 0.30, 0.20), "rx": (0.42, 0.33, 0.25), "rz": (0.26, 0.37, 0.37)}
_NECK = {"ry": (0.32, 0.30, 0.38), "rx": (0.45, 0.33, 0.22), "rz": (0.28, 0.30, 0.42)}


def coordinates(goals: Channels) -> Array:
    """Return the coordinates of `human()`, (T, 58), for channels of (T,) each."""
    figure = human()
    q = np.zeros((len(goals["pelvis.x"]), figure.nq))
    column = {name: k for k, name in enumerate(figure.dof_names)}

    def put(dof: str, degrees: Array) -> None:
        q[:, column[dof]] = np.radians(degrees)

    turn = np.radians(goals["pelvis.turn"])
    sway = goals["pelvis.sway"]  # to the left of where the pelvis looks
    q[:, 0] = goals["pelvis.x"] - np.sin(turn) * sway
    q[:, 1] = goals["pelvis.y"] + np.cos(turn) * sway
    q[:, 2] = goals["pelvis.z"] - figure.bones[0].offset[2]
    for dof, part in (("rz", "turn"), ("rx", "roll"), ("ry", "pitch")):
        put(f"pelvis.{dof}", goals[f"pelvis.{part}"])
    _put_trunk_and_head(goals, put)
    for side, sign in (("l_", 1.0), ("r_", -1.0)):
        _put_leg(figure, goals, side, sign, q, column)
        _put_arm(goals, side, sign, put)
    return q


def _put_trunk_and_head(goals: Channels, put: Put) -> None:
    for dof, part in (("ry", "bend"), ("rx", "lean"), ("rz", "twist")):
        for bone, share in zip(("lower_back", "upper_back", "thorax"), _SPINE[dof], strict=True):
            put(f"{bone}.{dof}", share * goals[f"trunk.{part}"])
    # The head makes up for what pelvis and trunk do: it looks ahead.
    wanted = {
        "ry": goals["head.nod"] - 0.9 * (goals["pelvis.pitch"] + goals["trunk.bend"]),
        "rx": goals["head.tilt"] - 0.8 * (goals["pelvis.roll"] + goals["trunk.lean"]),
        "rz": goals["head.turn"] - 0.95 * (goals["pelvis.turn"] + goals["trunk.twist"]),
    }
    wanted["rz"] = wanted["rz"] + 0.95 * goals["gaze"]
    for dof, angle in wanted.items():
        for bone, share in zip(("lower_neck", "upper_neck", "head"), _NECK[dof], strict=True):
            put(f"{bone}.{dof}", share * angle)


def _hip_and_foot(
    figure: Skeleton, goals: Channels, side: str, q: Array
) -> tuple[Array, Array, Array]:
    """Return R_world_pelvis, R_world_foot, and the hip seen from the ankle [m], world axes."""
    thigh = figure.bones[figure.bone_index(f"{side}thigh")]
    r_pelvis = (
        axis_rotation("z", q[:, 3]) @ axis_rotation("x", q[:, 4]) @ axis_rotation("y", q[:, 5])
    )
    hip = q[:, :3] + figure.bones[0].offset + r_pelvis @ thigh.offset
    foot = {part: goals[f"{side}foot.{part}"] for part in ("x", "y", "lift", "heel")}
    r_level = axis_rotation("z", np.radians(goals[f"{side}foot.turn"]))
    r_pitch = axis_rotation("y", np.radians(goals[f"{side}foot.pitch"]))
    over_toes, over_heel = _TOE_JOINT - r_pitch @ _TOE_JOINT, HEEL - r_pitch @ HEEL
    rolled = over_toes + foot["heel"][:, None] * (over_heel - over_toes)
    ankle = np.stack([foot["x"], foot["y"], foot["lift"] - HEEL[2]], axis=1)
    ankle += np.einsum("tij,tj->ti", r_level, rolled)
    return r_pelvis, r_level @ r_pitch, hip - ankle


def _put_leg(
    figure: Skeleton, goals: Channels, side: str, sign: float, q: Array, column: dict[str, int]
) -> None:
    upper, lower = (
        abs(figure.bones[figure.bone_index(side + b)].offset[2]) for b in ("shin", "foot")
    )
    r_pelvis, r_foot, hip = _hip_and_foot(figure, goals, side, q)
    h = np.einsum("tji,tj->ti", r_foot, hip)
    b = np.arctan2(h[:, 1], h[:, 2])
    cosine = ((h * h).sum(axis=1) - upper**2 - lower**2) / (2.0 * upper * lower)
    k = np.arccos(np.clip(cosine, -1.0, 1.0))
    a = np.arctan2(-upper * np.sin(k), lower + upper * np.cos(k))
    a -= np.arctan2(h[:, 0], np.hypot(h[:, 1], h[:, 2]))
    r_thigh = r_foot @ axis_rotation("x", -b) @ axis_rotation("y", -a - k)
    thigh = euler_angles("YXZ", np.swapaxes(r_pelvis, 1, 2) @ r_thigh)
    pitch, heel = np.radians(goals[f"{side}foot.pitch"]), goals[f"{side}foot.heel"]
    toes = -pitch * (1.0 - heel)  # flat on the floor until the foot has left it
    planted = np.column_stack([thigh, k, a, b, toes])

    # A leg that kicks follows angles of its own, mixed in while the foot is in the air.
    leg = {p: np.radians(goals[f"{side}leg.{p}"]) for p in ("hip", "spread", "knee", "ankle")}
    none = np.zeros_like(k)
    kicking = [-leg["hip"], sign * leg["spread"], none, leg["knee"], leg["ankle"], none, none]
    free = goals[f"{side}foot.free"][:, None]
    dofs = ("thigh.ry", "thigh.rx", "thigh.rz", "shin.ry", "foot.ry", "foot.rx", "toes.ry")
    own = [column[side + dof] for dof in dofs]
    q[:, own] = (1.0 - free) * planted + free * np.column_stack(kicking)


def _put_arm(goals: Channels, side: str, sign: float, put: Put) -> None:
    put(f"{side}clavicle.rx", sign * goals[f"{side}shoulder.up"])
    put(f"{side}clavicle.rz", -sign * goals[f"{side}shoulder.forward"])
    for dof, flip in (("rz", sign), ("rx", sign), ("ry", 1.0)):
        put(f"{side}upper_arm.{dof}", flip * goals[f"{side}arm.{dof}"])
    put(f"{side}forearm.rz", -sign * goals[f"{side}arm.elbow"])
    put(f"{side}wrist.ry", goals[f"{side}arm.twist"])
    put(f"{side}hand.rx", -sign * goals[f"{side}hand.curl"])
    put(f"{side}fingers.rx", -sign * goals[f"{side}hand.fist"])


def arm_angles(raised: float, spread: float, roll: float) -> tuple[float, float, float]:
    """Return angles of the left upper arm about z, x, y [°] for a direction one can picture.

    Args:
        raised: 0 hangs down, 90 points forward, 180 up [°].
        spread: out of the sagittal plane to the side [°]; beyond 90 it comes up again.
        roll: 0 has the elbow behind and below, more turns it outwards [°].
    """
    r, s, w = np.radians([raised, spread, roll])
    along = np.array([np.cos(s) * np.sin(r), np.sin(s), -np.cos(s) * np.cos(r)])
    forward = np.array([np.cos(r), 0.0, np.sin(r)])
    outward = np.array([-np.sin(s) * np.sin(r), np.cos(s), np.sin(s) * np.cos(r)])
    flexing = np.cos(w) * forward - np.sin(w) * outward  # where the forearm goes when it bends
    r_arm = np.column_stack([flexing, along, np.cross(flexing, along)])
    pre = np.array(human().bones[human().bone_index("l_upper_arm")].pre)
    z, x, y = np.degrees(euler_angles("ZXY", pre.T @ r_arm))
    turned = z - np.copysign(180.0, z), 180.0 - x, y - np.copysign(180.0, y)
    return min((z, x, y), turned, key=lambda a: abs(a[0]) + abs(a[2]))
