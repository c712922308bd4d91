"""Coordinates of `human()` from the channels of a timeline, in closed form.

No solver is used, since the motion serves to judge solvers. A leg has six dofs and its foot
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

Channels = Mapping[str, Array]
AngleSetter = Callable[[str, Array], None]

# Points of the sole: below the heel in the frame of the foot [m], tip of the toes in
# the frame of the toes. The foot rolls over the heel's point and over the joint of the toes.
HEEL = np.array([-0.055, 0.0, -0.06825])
TIP = np.array([0.060, 0.0, -0.0175])
_TOE_JOINT = np.array([0.13125, 0.0, -0.05075])

# Share of each joint in the angles of trunk and neck, from below; roughly as their limits.
_SPINE_SHARES = {"ry": (0.50, 0.30, 0.20), "rx": (0.42, 0.33, 0.25), "rz": (0.26, 0.37, 0.37)}
_NECK_SHARES = {"ry": (0.32, 0.30, 0.38), "rx": (0.45, 0.33, 0.22), "rz": (0.28, 0.30, 0.42)}


def compute_coordinates(channels: Channels) -> Array:
    """Return the coordinates of `human()`, (T, 58), for channels of (T,) each."""
    figure = human()
    q = np.zeros((len(channels["pelvis.x"]), figure.nq))
    column = {name: k for k, name in enumerate(figure.dof_names)}

    def set_angle(dof: str, degrees: Array) -> None:
        q[:, column[dof]] = np.radians(degrees)

    turn = np.radians(channels["pelvis.turn"])
    sway = channels["pelvis.sway"]  # to the left of where the pelvis looks
    q[:, 0] = channels["pelvis.x"] - np.sin(turn) * sway
    q[:, 1] = channels["pelvis.y"] + np.cos(turn) * sway
    q[:, 2] = channels["pelvis.z"] - figure.bones[0].offset[2]
    for dof, part in (("rz", "turn"), ("rx", "roll"), ("ry", "pitch")):
        set_angle(f"pelvis.{dof}", channels[f"pelvis.{part}"])
    _set_trunk_and_head(channels, set_angle)
    for side, sign in (("l_", 1.0), ("r_", -1.0)):
        _set_leg(figure, channels, side, sign, q, column)
        _set_arm(channels, side, sign, set_angle)
    return q


def _set_trunk_and_head(channels: Channels, set_angle: AngleSetter) -> None:
    for dof, part in (("ry", "bend"), ("rx", "lean"), ("rz", "twist")):
        for bone, share in zip(
            ("lower_back", "upper_back", "thorax"), _SPINE_SHARES[dof], strict=True
        ):
            set_angle(f"{bone}.{dof}", share * channels[f"trunk.{part}"])
    # The head compensates for pelvis and trunk: it looks ahead.
    head_angles = {
        "ry": channels["head.nod"] - 0.9 * (channels["pelvis.pitch"] + channels["trunk.bend"]),
        "rx": channels["head.tilt"] - 0.8 * (channels["pelvis.roll"] + channels["trunk.lean"]),
        "rz": channels["head.turn"] - 0.95 * (channels["pelvis.turn"] + channels["trunk.twist"]),
    }
    head_angles["rz"] = head_angles["rz"] + 0.95 * channels["gaze"]
    for dof, angle in head_angles.items():
        for bone, share in zip(
            ("lower_neck", "upper_neck", "head"), _NECK_SHARES[dof], strict=True
        ):
            set_angle(f"{bone}.{dof}", share * angle)


def _locate_hip_and_foot(
    figure: Skeleton, channels: Channels, side: str, q: Array
) -> tuple[Array, Array, Array]:
    """Return R_world_pelvis, R_world_foot, and the hip seen from the ankle [m], world axes."""
    thigh = figure.bones[figure.bone_index(f"{side}thigh")]
    R_world_pelvis = (
        axis_rotation("z", q[:, 3]) @ axis_rotation("x", q[:, 4]) @ axis_rotation("y", q[:, 5])
    )
    hip = q[:, :3] + figure.bones[0].offset + R_world_pelvis @ thigh.offset
    foot = {part: channels[f"{side}foot.{part}"] for part in ("x", "y", "lift", "heel")}
    R_world_level = axis_rotation("z", np.radians(channels[f"{side}foot.turn"]))
    R_level_foot = axis_rotation("y", np.radians(channels[f"{side}foot.pitch"]))
    over_toes, over_heel = _TOE_JOINT - R_level_foot @ _TOE_JOINT, HEEL - R_level_foot @ HEEL
    rolled = over_toes + foot["heel"][:, None] * (over_heel - over_toes)
    ankle = np.stack([foot["x"], foot["y"], foot["lift"] - HEEL[2]], axis=1)
    ankle += np.einsum("tij,tj->ti", R_world_level, rolled)
    return R_world_pelvis, R_world_level @ R_level_foot, hip - ankle


def _set_leg(
    figure: Skeleton, channels: Channels, side: str, sign: float, q: Array, column: dict[str, int]
) -> None:
    upper, lower = (
        abs(figure.bones[figure.bone_index(side + b)].offset[2]) for b in ("shin", "foot")
    )
    R_world_pelvis, R_world_foot, hip = _locate_hip_and_foot(figure, channels, side, q)
    h = np.einsum("tji,tj->ti", R_world_foot, hip)
    b = np.arctan2(h[:, 1], h[:, 2])
    cosine = ((h * h).sum(axis=1) - upper**2 - lower**2) / (2.0 * upper * lower)
    k = np.arccos(np.clip(cosine, -1.0, 1.0))
    a = np.arctan2(-upper * np.sin(k), lower + upper * np.cos(k))
    a -= np.arctan2(h[:, 0], np.hypot(h[:, 1], h[:, 2]))
    R_world_thigh = R_world_foot @ axis_rotation("x", -b) @ axis_rotation("y", -a - k)
    thigh = euler_angles("YXZ", np.swapaxes(R_world_pelvis, 1, 2) @ R_world_thigh)
    pitch, heel = np.radians(channels[f"{side}foot.pitch"]), channels[f"{side}foot.heel"]
    toes = -pitch * (1.0 - heel)  # flat on the floor until the foot has left it
    planted = np.column_stack([thigh, k, a, b, toes])

    # A leg that kicks follows given angles, blended in while the foot is in the air.
    leg = {p: np.radians(channels[f"{side}leg.{p}"]) for p in ("hip", "spread", "knee", "ankle")}
    zero = np.zeros_like(k)
    kicking = [-leg["hip"], sign * leg["spread"], zero, leg["knee"], leg["ankle"], zero, zero]
    free = channels[f"{side}foot.free"][:, None]
    dofs = ("thigh.ry", "thigh.rx", "thigh.rz", "shin.ry", "foot.ry", "foot.rx", "toes.ry")
    columns = [column[side + dof] for dof in dofs]
    q[:, columns] = (1.0 - free) * planted + free * np.column_stack(kicking)


def _set_arm(channels: Channels, side: str, sign: float, set_angle: AngleSetter) -> None:
    set_angle(f"{side}clavicle.rx", sign * channels[f"{side}shoulder.up"])
    set_angle(f"{side}clavicle.rz", -sign * channels[f"{side}shoulder.forward"])
    for dof, flip in (("rz", sign), ("rx", sign), ("ry", 1.0)):
        set_angle(f"{side}upper_arm.{dof}", flip * channels[f"{side}arm.{dof}"])
    set_angle(f"{side}forearm.rz", -sign * channels[f"{side}arm.elbow"])
    set_angle(f"{side}wrist.ry", channels[f"{side}arm.twist"])
    set_angle(f"{side}hand.rx", -sign * channels[f"{side}hand.curl"])
    set_angle(f"{side}fingers.rx", -sign * channels[f"{side}hand.fist"])


def compute_arm_angles(raised: float, spread: float, roll: float) -> tuple[float, float, float]:
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
    R_thorax_arm = np.column_stack([flexing, along, np.cross(flexing, along)])
    pre = np.array(human().bones[human().bone_index("l_upper_arm")].pre)
    z, x, y = np.degrees(euler_angles("ZXY", pre.T @ R_thorax_arm))
    turned = z - np.copysign(180.0, z), 180.0 - x, y - np.copysign(180.0, y)
    return min((z, x, y), turned, key=lambda a: abs(a[0]) + abs(a[2]))
