"""The angles of the joints: names, axes and signs, in one table.

All are angles between two segments with the axes of `_body_segments` (x forward, y up, z right), by
a joint coordinate system of Grood & Suntay (1983) as the ISB recommends it: the first axis is fixed
in the proximal segment, the last in the distal one, and the middle one floats. That is the same as
Euler angles in that order, R_proximal_distal = R_a(α) R_b(β) R_c(γ), with signs so that a word says
the same of both sides: flexion, adduction and internal rotation are positive, and a symmetric pose
has equal angles left and right. Angles of the middle are signed as those of the right side.

Hip, knee, ankle and spine: Wu et al. 2002. Thorax and upper arm, elbow, wrist: Wu et al. 2005.
Pelvis and thorax in the laboratory: rotation first, then obliquity and tilt, so that tilt means the
same whatever the heading (Baker 2001).

The three angles of the shoulder, Y-X-Y, are undefined where the arm hangs or points straight up:
plane of elevation and axial rotation are then the same turn. Flexion and adduction (Z-X-Y, as at
the hip) are sound there, and undefined at 90° of abduction instead.
"""

from __future__ import annotations

from typing import NamedTuple


class AngleName(NamedTuple):
    """One of the three angles of a joint.

    Attributes:
        name: without side, such as "hip_flexion".
        right: sign of the Euler angle on the right and in the middle.
        left: sign of it on the left.
        positive: what a positive angle is, in words.
        ends: in a word or two, what lies below and above zero, for curves.
    """

    name: str
    right: int
    left: int
    positive: str
    ends: tuple[str, str]


class JointDefinition(NamedTuple):
    """Angles between two segments.

    Attributes:
        joint: what it is called in tables and charts.
        proximal: segment, without side where there are two; "lab" is the laboratory.
        distal: segment, without side.
        paired: whether there is one on either side.
        order: of the axes, first to last; x forward, y up, z right.
        angles: of the axes in that order; None for one that is not an angle people use.
    """

    joint: str
    proximal: str
    distal: str
    paired: bool
    order: str
    angles: tuple[AngleName | None, AngleName | None, AngleName | None]

    @property
    def is_proper_euler(self) -> bool:
        """Whether the first and last axis are the same, as for the shoulder."""
        return self.order[0] == self.order[2]


JOINTS: tuple[JointDefinition, ...] = (
    JointDefinition(
        joint="pelvis",
        proximal="lab",
        distal="pelvis",
        paired=False,
        order="YXZ",
        angles=(
            AngleName(
                "pelvis_rotation",
                1,
                1,
                "to the left: the right side forward",
                ("to the right", "to the left"),
            ),
            AngleName(
                "pelvis_obliquity", -1, -1, "right side up", ("right side down", "right side up")
            ),
            AngleName("pelvis_tilt", -1, -1, "anterior: front down", ("posterior", "anterior")),
        ),
    ),
    JointDefinition(
        joint="thorax",
        proximal="lab",
        distal="thorax",
        paired=False,
        order="YXZ",
        angles=(
            AngleName("thorax_rotation", 1, 1, "to the left", ("to the right", "to the left")),
            AngleName(
                "thorax_obliquity", -1, -1, "right side up", ("right side down", "right side up")
            ),
            AngleName("thorax_tilt", -1, -1, "forward", ("backward", "forward")),
        ),
    ),
    JointDefinition(
        joint="trunk",
        proximal="pelvis",
        distal="thorax",
        paired=False,
        order="ZXY",
        angles=(
            AngleName("trunk_flexion", -1, -1, "flexion", ("extension", "flexion")),
            AngleName(
                "trunk_bending",
                1,
                1,
                "lateral bending to the right",
                ("to the left", "to the right"),
            ),
            AngleName("trunk_rotation", 1, 1, "to the left", ("to the right", "to the left")),
        ),
    ),
    JointDefinition(
        joint="neck",
        proximal="thorax",
        distal="head",
        paired=False,
        order="ZXY",
        angles=(
            AngleName("neck_flexion", -1, -1, "flexion", ("extension", "flexion")),
            AngleName(
                "neck_bending",
                1,
                1,
                "lateral bending to the right",
                ("to the left", "to the right"),
            ),
            AngleName("neck_rotation", 1, 1, "to the left", ("to the right", "to the left")),
        ),
    ),
    JointDefinition(
        joint="hip",
        proximal="pelvis",
        distal="thigh",
        paired=True,
        order="ZXY",
        angles=(
            AngleName("hip_flexion", 1, 1, "flexion", ("extension", "flexion")),
            AngleName("hip_adduction", 1, -1, "adduction", ("abduction", "adduction")),
            AngleName("hip_rotation", 1, -1, "internal", ("external", "internal")),
        ),
    ),
    JointDefinition(
        joint="knee",
        proximal="thigh",
        distal="shank",
        paired=True,
        order="ZXY",
        angles=(
            AngleName("knee_flexion", -1, -1, "flexion", ("extension", "flexion")),
            AngleName("knee_adduction", 1, -1, "adduction (varus)", ("valgus", "varus")),
            AngleName("knee_rotation", 1, -1, "internal", ("external", "internal")),
        ),
    ),
    JointDefinition(
        joint="ankle",
        proximal="shank",
        distal="foot",
        paired=True,
        order="ZXY",
        angles=(
            AngleName(
                "ankle_dorsiflexion", 1, 1, "dorsiflexion", ("plantarflexion", "dorsiflexion")
            ),
            AngleName(
                "ankle_inversion", 1, -1, "inversion: sole to the middle", ("eversion", "inversion")
            ),
            AngleName("ankle_rotation", 1, -1, "internal", ("external", "internal")),
        ),
    ),
    JointDefinition(
        joint="toes",
        proximal="foot",
        distal="toes",
        paired=True,
        order="ZXY",
        angles=(
            AngleName("toe_extension", 1, 1, "extension (toes up)", ("flexion", "extension")),
            None,
            None,
        ),
    ),
    JointDefinition(
        joint="shoulder",
        proximal="thorax",
        distal="upper_arm",
        paired=True,
        order="YXY",
        angles=(
            AngleName(
                "shoulder_plane",
                1,
                -1,
                "plane of elevation: 0° abduction, 90° flexion",
                ("behind", "in front"),
            ),
            AngleName("shoulder_elevation", -1, 1, "elevation, 0° to 180°", ("down", "up")),
            AngleName("shoulder_rotation", 1, -1, "internal", ("external", "internal")),
        ),
    ),
    JointDefinition(
        joint="shoulder",
        proximal="thorax",
        distal="upper_arm",
        paired=True,
        order="ZXY",
        angles=(
            AngleName("shoulder_flexion", 1, 1, "flexion", ("extension", "flexion")),
            AngleName("shoulder_adduction", 1, -1, "adduction", ("abduction", "adduction")),
            None,
        ),
    ),
    JointDefinition(
        joint="elbow",
        proximal="upper_arm",
        distal="radius",
        paired=True,
        order="ZXY",
        angles=(
            AngleName("elbow_flexion", 1, 1, "flexion", ("extension", "flexion")),
            AngleName(
                "elbow_adduction",
                1,
                -1,
                "forearm towards the body (carrying angle < 0)",
                ("outwards", "inwards"),
            ),
            AngleName(
                "forearm_pronation",
                1,
                -1,
                "pronation; 0° with the thumb forward",
                ("supination", "pronation"),
            ),
        ),
    ),
    JointDefinition(
        joint="wrist",
        proximal="radius",
        distal="hand",
        paired=True,
        order="XZY",
        angles=(
            AngleName("wrist_flexion", 1, -1, "flexion (palm)", ("extension", "flexion")),
            AngleName("wrist_deviation", -1, -1, "ulnar deviation", ("radial", "ulnar")),
            None,
        ),
    ),
)


ANGLE_ENDS = {
    angle.name: angle.ends for joint in JOINTS for angle in joint.angles if angle is not None
}
"""Name of an angle without its side → what lies below and above zero."""

ANGLE_NAMES = frozenset(
    f"{angle.name}{side}"
    for joint in JOINTS
    for angle in joint.angles
    if angle is not None
    for side in (("_r", "_l") if joint.paired else ("",))
)
"""Every name that an angle can have, with its side."""


def describe_angles() -> str:
    """Return the table of the angles in Markdown, for the documentation."""
    lines = [
        "| angle | between | axes | positive |",
        "|---|---|---|---|",
    ]
    for joint in JOINTS:
        for angle in joint.angles:
            if angle is not None:
                name = f"`{angle.name}{'_r' if joint.paired else ''}`"
                between = f"{joint.proximal.replace('_', ' ')}, {joint.distal.replace('_', ' ')}"
                axes = "-".join(joint.order)
                lines.append(f"| {name} | {between} | {axes} | {angle.positive} |")
    return "\n".join(lines)
