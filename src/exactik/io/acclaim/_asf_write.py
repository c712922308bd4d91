"""Any skeleton as ASF.

In the frames of `_bvh_write`, parallel to the world at rest, a joint with axes G turns a bone by
G Q Gᵀ: what ASF calls C M C⁻¹. So C = G, and the dofs of Euler joints, hinges and sliders are those
of the file, with their limits; an oblique axis becomes z by C = G A. All other rotations are
written as three turns without limits.

All children of a bone begin at its far end. Where ours begin at different places, helper bones
"<child>_base", which do not move, lead there. Markers have no place in the format.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
from numpy.typing import ArrayLike

from exactik.io._files import writing
from exactik.io._rest_frames import NUMBER, RestFrames, compute_rest_frames, find_axis_letter
from exactik.io._units import metres_per
from exactik.model import Bone, Joint, Skeleton
from exactik.spatial import euler_angles, rotation_taking_z_to
from exactik.typing import Array

__all__ = [
    "CONVENTION",
    "INCH",
    "Acclaim",
    "AcclaimSkeleton",
    "AsfBone",
    "asf_bones",
    "choose_asf_unit",
    "encode_name",
    "root_order",
    "write_asf",
]


INCH = 0.0254  # [m]
CONVENTION = INCH / 0.45  # [m] in one unit of most such files
_SAME = 1e-12  # [m] or of a rotation: closer than this is equal


class Acclaim(NamedTuple):
    """What an AMC file takes from its ASF file.

    Attributes:
        metres: in one unit of length.
        radians: in one unit of angle.
        dofs: bone → its dofs in the order of the file, such as ("rx", "rz").
    """

    metres: float
    radians: float
    dofs: Mapping[str, tuple[str, ...]]


class AcclaimSkeleton(Skeleton):
    """A skeleton that remembers how its ASF file counts; otherwise like any other."""

    acclaim: Acclaim

    def __init__(
        self,
        name: str,
        bones: Sequence[Bone],
        markers: Mapping[str, tuple[str, ArrayLike]] | None,
        acclaim: Acclaim,
    ):
        """Build the skeleton, see `Skeleton.build`, and keep `acclaim`."""
        super().__init__(name, bones, markers)
        self._set("acclaim", acclaim)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, self.bones, dict(self.markers), self.acclaim)

    def with_markers(self, markers: Mapping[str, tuple[str, ArrayLike]]) -> Skeleton:
        """Return the same skeleton with these markers instead of its own."""
        return AcclaimSkeleton(self.name, self.bones, markers, self.acclaim)


class AsfBone(NamedTuple):
    """A bone as the file has it, in metres and radians."""

    name: str
    parent: str
    bone: int  #              index of ours, −1 for a helper
    tip: Array  #             its far end, (3,)
    axis: Array  #            C, (3, 3)
    dofs: tuple[str, ...]
    limits: tuple[tuple[float, float], ...]
    own: bool  #              whether its turns are coordinates as they are


def encode_name(name: str) -> str:
    """Return a bone's name as ASF and AMC can hold it: one word, no keyword and no number."""
    code = "".join(quote(c, safe="") if c.isspace() or c in "%#()" else c for c in name)
    first = re.match(r"[+.-]*\d|:", code) is not None or code.lower() in ("root", "begin", "end")
    return "".join(f"%{byte:02X}" for byte in code[0].encode()) + code[1:] if first else code


def choose_asf_unit(skeleton: Skeleton, length_unit: str | float | None) -> float:
    """Return the metres in one unit: the one given, that of the skeleton's own file, or Vicon's."""
    if length_unit is not None:
        return metres_per(length_unit)
    return skeleton.acclaim.metres if isinstance(skeleton, AcclaimSkeleton) else CONVENTION


def root_order(skeleton: Skeleton, rest: RestFrames) -> tuple[int, str, bool]:
    """Return the bone that is the file's root, the order of its turns, and whether they are own.

    The bone is −1 where there are several; all of them then hang from a root that does not move.
    """
    roots = np.flatnonzero(skeleton.parents < 0)
    if len(roots) > 1:
        return -1, "ZYX", False
    turning = skeleton.bones[roots[0]].joint.rotation_part
    parallel = np.abs(rest.R_world_joint[roots[0]] - np.eye(3)).max() < _SAME
    own = parallel and turning.kind == "euler" and len(set(turning.order)) == 3
    return int(roots[0]), turning.order if own else "ZYX", own


def asf_bones(skeleton: Skeleton, rest: RestFrames) -> list[AsfBone]:
    """Return the bones of the file but its root, parents first."""
    root, _, _ = root_order(skeleton, rest)
    starts = np.einsum("nij,nj->ni", rest.R_world_parent, [bone.offset for bone in skeleton.bones])
    children: dict[int, list[int]] = {}
    for k, parent in enumerate(skeleton.parents.tolist()):
        children.setdefault(parent, []).append(k)
    names = {-1: "root"} | {k: encode_name(b.name) for k, b in enumerate(skeleton.bones)}
    if root >= 0:
        names[root] = "root"
    taken, folded, tips = set(names.values()), set(), {-1: np.zeros(3), root: np.zeros(3)}
    made = []
    for k in (int(k) - 1 for k in skeleton.tree.frame_order):
        own = children.get(k, [])
        if k == root or k in folded:
            continue
        tips[k] = np.zeros(3)
        if len(own) > 0 and np.ptp(starts[own], axis=0).max() < _SAME:
            tips[k] = starts[own[0]]
        if len(own) == 1 and tips[k].any() and skeleton.bones[own[0]].name in rest.end_sites:
            folded.add(own[0])  # it comes back as the far end of a bone without children
        above = int(skeleton.parents[k])
        parent, way = names[above], starts[k] - tips[above]
        if np.abs(way).max() > _SAME:
            helper = f"{names[k]}_base"
            while helper in taken:
                helper += "_"
            taken.add(helper)
            made.append(AsfBone(helper, parent, -1, way, np.eye(3), (), (), True))
            parent = helper
        joint = skeleton.bones[k].joint
        turned, dofs, limits, is_own = _dofs(joint)
        axis = rest.R_world_joint[k] @ turned if len(dofs) > 0 else np.eye(3)
        made.append(AsfBone(names[k], parent, k, tips[k], axis, dofs, limits, is_own))
    return made


def _dofs(
    joint: Joint,
) -> tuple[Array, tuple[str, ...], tuple[tuple[float, float], ...], bool]:
    """Return A, the dofs in the order of the file, their limits, and whether turns are own."""
    turning, limits = joint.rotation_part, joint.limits
    slides = ("tx", "ty", "tz") if joint.kind in ("free", "translation") else ()
    turned, turns, own = np.eye(3), (), True
    if turning.kind == "euler" and len(set(turning.order)) == len(turning.order):
        turns = tuple(f"r{c}" for c in reversed(turning.order.lower()))
    elif turning.axis is not None:
        letter = find_axis_letter(turning).lower() or "z"
        turns = (("r" if turning.kind == "revolute" else "t") + letter,)
        if find_axis_letter(turning) == "":
            turned = rotation_taking_z_to(turning.axis)
    elif turning.kind not in ("fixed", "translation"):
        turns, own = ("rx", "ry", "rz"), False
    count = len(slides)
    free = ((-np.inf, np.inf),)
    # Limits along axes that are turned away, or on other angles, mean nothing any more.
    kept = limits[:count] if np.array_equal(turned, np.eye(3)) else free * count
    kept += tuple(reversed(limits[count:])) if own else free * 3
    return turned, slides + turns, kept, own


def write_asf(skeleton: Skeleton, path: str, length_unit: str | float | None = None) -> None:
    """Write a skeleton to an ASF file.

    Args:
        skeleton: what to write.
        path: the file.
        length_unit: "cm", "m", … or the metres in one unit of the file, which is written into it;
            by default that of the ASF file that the skeleton is from, or 1/0.45 inch.
    """
    metres, rest = choose_asf_unit(skeleton, length_unit), compute_rest_frames(skeleton)
    bones = asf_bones(skeleton, rest)
    root, order, _ = root_order(skeleton, rest)
    title = " ".join(skeleton.name.replace("#", " ").split())
    lines = [":version 1.10", f":name {title}", ":units", "  mass 1.0"]
    lines += [f"  length {NUMBER % (INCH / metres)}", "  angle deg", ":documentation"]
    lines += ["  written by exactik"]
    if root >= 0 and skeleton.bones[root].name != "root":
        lines.append(f"  root-bone {quote(skeleton.bones[root].name)}")
    if any(bone.name != skeleton.bones[bone.bone].name for bone in bones if bone.bone >= 0):
        lines.append("  names percent-encoded")
    turns = " ".join(f"R{c}" for c in reversed(order))
    lines += [":root", f"  order TX TY TZ {turns}", "  axis XYZ", "  position 0 0 0"]
    lines += ["  orientation 0 0 0", ":bonedata"]
    for k, bone in enumerate(bones, start=1):
        lines += _bone_lines(bone, k, metres)
    lines += [":hierarchy", "  begin"]
    below: dict[str, list[str]] = {}
    for bone in bones:
        below.setdefault(bone.parent, []).append(bone.name)
    lines += [f"    {parent} {' '.join(names)}" for parent, names in below.items()]
    with writing(path) as file:
        file.write("\n".join([*lines, "  end", ""]))


def _bone_lines(bone: AsfBone, number: int, metres: float) -> list[str]:
    length = float(np.linalg.norm(bone.tip))
    direction = bone.tip / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
    axis = np.rad2deg(euler_angles("ZYX", bone.axis)[::-1])
    lines = ["  begin", f"    id {number}", f"    name {bone.name}"]
    lines.append("    direction " + " ".join(NUMBER % x for x in direction))
    lines.append(f"    length {NUMBER % (length / metres)}")
    lines.append("    axis " + " ".join(NUMBER % x for x in axis) + " XYZ")
    if len(bone.dofs) > 0:
        lines.append(f"    dof {' '.join(bone.dofs)}")
    if np.isfinite(bone.limits).any():
        for k, (dof, pair) in enumerate(zip(bone.dofs, bone.limits, strict=True)):
            low, high = np.array(pair) / (metres if dof[0] == "t" else np.pi / 180.0)
            head = "    limits" if k == 0 else "          "
            lines.append(f"{head} ({NUMBER % low} {NUMBER % high})")
    return [*lines, "  end"]
