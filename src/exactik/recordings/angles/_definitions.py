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

from collections.abc import Iterator
from typing import NamedTuple


class AngleName(NamedTuple):
    """One of the three angles of a joint."""

    name: str  # without side, such as "hip_flexion"
    right: int  # sign of the Euler angle on the right and in the middle
    left: int  # sign of it on the left
    positive: str  # what a positive angle is, in words
    ends: tuple[str, str]  # in a word or two, what lies below and above zero, for curves


class JointDefinition(NamedTuple):
    """Angles between two segments."""

    joint: str  # what it is called in tables and charts
    proximal: str  # segment, without side where there are two; "lab" is the laboratory
    distal: str  # segment, without side
    paired: bool  # whether there is one on either side
    order: str  # of the axes, first to last; x forward, y up, z right
    # Of the axes in that order; None for one that is not an angle people use
    angles: tuple[AngleName | None, AngleName | None, AngleName | None]

    @property
    def is_proper_euler(self) -> bool:
        """Whether the first and last axis are the same, as for the shoulder."""
        return self.order[0] == self.order[2]


# A joint: its name, the segments that it is between, the order of its axes, whether there is one
# on either side. Below, the angles of its axes: name, sign on the right and in the middle, sign on
# the left; what is positive; what is below and above zero. "-" is an angle that people do not use.
_TABLE = """
pelvis lab pelvis YXZ
    pelvis_rotation    + +  to the left: the right side forward | to the right | to the left
    pelvis_obliquity   - -  right side up | right side down | right side up
    pelvis_tilt        - -  anterior: front down | posterior | anterior
thorax lab thorax YXZ
    thorax_rotation    + +  to the left | to the right | to the left
    thorax_obliquity   - -  right side up | right side down | right side up
    thorax_tilt        - -  forward | backward | forward
trunk pelvis thorax ZXY
    trunk_flexion      - -  flexion | extension | flexion
    trunk_bending      + +  lateral bending to the right | to the left | to the right
    trunk_rotation     + +  to the left | to the right | to the left
neck thorax head ZXY
    neck_flexion       - -  flexion | extension | flexion
    neck_bending       + +  lateral bending to the right | to the left | to the right
    neck_rotation      + +  to the left | to the right | to the left
hip pelvis thigh ZXY both sides
    hip_flexion        + +  flexion | extension | flexion
    hip_adduction      + -  adduction | abduction | adduction
    hip_rotation       + -  internal | external | internal
knee thigh shank ZXY both sides
    knee_flexion       - -  flexion | extension | flexion
    knee_adduction     + -  adduction (varus) | valgus | varus
    knee_rotation      + -  internal | external | internal
ankle shank foot ZXY both sides
    ankle_dorsiflexion + +  dorsiflexion | plantarflexion | dorsiflexion
    ankle_inversion    + -  inversion: sole to the middle | eversion | inversion
    ankle_rotation     + -  internal | external | internal
toes foot toes ZXY both sides
    toe_extension      + +  extension (toes up) | flexion | extension
    -
    -
shoulder thorax upper_arm YXY both sides
    shoulder_plane     + -  plane of elevation: 0° abduction, 90° flexion | behind | in front
    shoulder_elevation - +  elevation, 0° to 180° | down | up
    shoulder_rotation  + -  internal | external | internal
shoulder thorax upper_arm ZXY both sides
    shoulder_flexion   + +  flexion | extension | flexion
    shoulder_adduction + -  adduction | abduction | adduction
    -
elbow upper_arm radius ZXY both sides
    elbow_flexion      + +  flexion | extension | flexion
    elbow_adduction    + -  forearm towards the body (carrying angle < 0) | outwards | inwards
    forearm_pronation  + -  pronation; 0° with the thumb forward | supination | pronation
wrist radius hand XZY both sides
    wrist_flexion      + -  flexion (palm) | extension | flexion
    wrist_deviation    - -  ulnar deviation | radial | ulnar
    -
"""


def _read_table() -> Iterator[JointDefinition]:
    rows = _TABLE.strip().split("\n")
    for head, *lines in (rows[k : k + 4] for k in range(0, len(rows), 4)):
        joint, proximal, distal, order, *sides = head.split()
        first, second, third = map(_read_angle, lines)
        angles = first, second, third
        yield JointDefinition(joint, proximal, distal, sides != [], order, angles)


def _read_angle(line: str) -> AngleName | None:
    if line.strip() == "-":
        return None
    words, below, above = (part.strip() for part in line.split("|"))
    name, right, left, positive = words.split(maxsplit=3)
    return AngleName(name, int(f"{right}1"), int(f"{left}1"), positive, (below, above))


JOINTS = tuple(_read_table())


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
