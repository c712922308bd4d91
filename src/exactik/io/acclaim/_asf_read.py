"""Read skeletons from ASF.

With C from `axis` and M from the `dof`s, both products of rotations of which the first listed acts
first (x y z: R_z R_y R_x), a bone turns by C M C⁻¹ about its end nearer to the root, and its other
end is at direction · length. All frames are parallel to the world at rest. So here

    offset = direction · length of the parent,   pre = C,   joint = M,   post = Cᵀ

where the letters of the joint are those of the dofs reversed. A bone without children gets a bone
"<name>_end" at its far end.

The unit: `length s` makes one unit 1/s inch, by a convention of Vicon's. Other programs write other
things there; `length_unit` overrides it.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import numpy as np

from exactik.errors import Advice, ModelError, NonFiniteError
from exactik.io._files import decode_text, parse_number, read_bytes
from exactik.io._notes import Notes
from exactik.io._units import assume_unit, guess_unit, metres_per
from exactik.io.acclaim._skeleton import INCH, AcclaimSkeleton, AcclaimUnits
from exactik.model import Bone, Joint, Skeleton
from exactik.spatial import axis_rotation
from exactik.typing import Array

Unit = str | float | None

COMMENT_PATTERN = re.compile(r"(^|\s)#.*")
LIMITS_PATTERN = re.compile(r"\(\s*([^\s(),]+)[\s,]+([^\s(),]+)\s*\)")
DOFS = ("tx", "ty", "tz", "rx", "ry", "rz")
RADIANS_PER = {"deg": math.pi / 180.0, "rad": 1.0}
PLAUSIBLE_HEIGHTS = (0.3, 3.0)  # [m] outside of which the unit of a file is doubted
FREE_LIMITS, LOCKED_LIMITS = (-math.inf, math.inf), (0.0, 0.0)


class AsfLine(NamedTuple):
    """A line without its comment, of one word at least."""

    place: str
    words: list[str]

    @property
    def key(self) -> str:
        return self.words[0].lower()


@dataclass
class BoneData:
    """A bone as the file has it."""

    place: str  # where its block begins
    name: str = ""  # in the file
    # From its near end to its far one, (3,)
    direction: Array = field(default_factory=lambda: np.zeros(3))
    length: float = 1.0  # [unit of the file]
    axis: Array = field(default_factory=lambda: np.eye(3))  # C, (3, 3)
    dofs: tuple[str, ...] = ()  # in the order of the file, such as ("rx", "rz")
    # Lower and upper of each dof [units of the file]
    limits: list[tuple[float, float]] = field(default_factory=list)

    @property
    def tip(self) -> Array:
        """Its far end, from the near one [unit of the file], (3,)."""
        return self.direction * self.length


def read_asf(path: str, notes: Notes, length_unit: Unit) -> Skeleton:
    """Return the skeleton of an ASF file; its root moves as `order` says, never otherwise."""
    sections = _split_sections(decode_text(read_bytes(path))[0])
    for keyword in ("root", "bonedata", "hierarchy"):
        if keyword not in sections:
            raise notes.error(f"no :{keyword}; an ASF file has :root, :bonedata and :hierarchy")
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
            return AsfFile(sections, notes).build_skeleton(Path(path).stem, length_unit)
    except (ModelError, NonFiniteError) as error:  # limits that leave no room, infinite lengths
        raise notes.error(str(error)) from None


def _split_sections(text: str) -> dict[str, list[AsfLine]]:
    """Return the lines under each :keyword; what follows the keyword itself is the first."""
    sections: dict[str, list[AsfLine]] = {}
    current: list[AsfLine] = []
    for number, line in enumerate(text.split("\n"), start=1):
        words = COMMENT_PATTERN.sub("", line).split()
        if len(words) > 0 and words[0].startswith(":"):
            current = sections.setdefault(words.pop(0)[1:].lower(), [])
        if len(words) > 0:
            current.append(AsfLine(f"line {number}", words))
    return sections


class AsfFile:
    """The sections of a file, and what they mean."""

    def __init__(self, sections: dict[str, list[AsfLine]], notes: Notes):
        self.sections, self.notes = sections, notes
        self.units = {line.key: line for line in sections.get("units", [])}
        self.radians = self.read_angle_unit()
        self.bones = self.read_bones()
        self.parents = self.read_parents()

    def build_skeleton(self, stem: str, length_unit: Unit) -> AcclaimSkeleton:
        remarks = {line.key: line.words[1:] for line in self.sections.get("documentation", [])}
        is_encoded = remarks.get("names") == ["percent-encoded"]  # by `write_asf`, where needed
        names = {name: unquote(name) if is_encoded else name for name in self.bones}
        names["root"] = unquote((remarks.get("root-bone") or ["root"])[0])
        metres, root = self.choose_length_unit(length_unit), self.read_root()
        bones = [self.make_bone(root, names["root"], None, metres * root.tip, metres)]
        inner, taken = set(self.parents.values()), set(names.values())
        for name, parent in self.parents.items():
            bone = self.bones[name]
            offset = np.zeros(3) if parent == "root" else metres * self.bones[parent].tip
            bones.append(self.make_bone(bone, names[name], names[parent], offset, metres))
            if name not in inner and bone.tip.any():
                end = f"{names[name]}_end"
                while end in taken:
                    end += "2"
                bones.append(Bone(end, parent=names[name], offset=metres * bone.tip))
        title = " ".join(word for line in self.sections.get("name", []) for word in line.words)
        dofs = {names[name]: self.bones[name].dofs for name in self.parents}
        units = AcclaimUnits(
            metres=metres, radians=self.radians, dofs={names["root"]: root.dofs, **dofs}
        )
        return AcclaimSkeleton(title or stem, bones, None, units)

    def make_bone(
        self, bone: BoneData, name: str, parent: str | None, offset: Array, metres: float
    ) -> Bone:
        """Return the bone of a skeleton for a bone of the file."""
        limits: dict[str, tuple[float, float]] = {}
        for dof, (low, high) in zip(bone.dofs, bone.limits, strict=False):
            unit = metres if dof[0] == "t" else self.radians
            limits[dof] = (low * unit, high * unit)
        # The first dof acts first, so it is the innermost letter.
        rotations = [dof for dof in reversed(bone.dofs) if dof[0] == "r"]
        joint = Joint.fixed()
        if len(rotations) > 0:
            order = "".join(dof[1] for dof in rotations).upper()
            joint = Joint.euler(order, [limits.get(dof, FREE_LIMITS) for dof in rotations])
        slides = [dof for dof in bone.dofs if dof[0] == "t"]
        if len(bone.dofs) == len(slides) == 1:
            joint = Joint.prismatic(slides[0][1], limits.get(slides[0], FREE_LIMITS))
        elif len(slides) > 0:
            xyz = [limits.get(d, FREE_LIMITS if d in slides else LOCKED_LIMITS) for d in DOFS[:3]]
            joint = Joint.free(joint, xyz) if len(rotations) > 0 else Joint.translation(xyz)
        C = bone.axis if joint.kind != "fixed" else np.eye(3)
        return Bone(name, parent=parent, offset=offset, pre=C, joint=joint, post=C.T)

    def read_angle_unit(self) -> float:
        line = self.units.get("angle")
        unit = RADIANS_PER.get("deg" if line is None else " ".join(line.words[1:]).lower()[:3])
        if line is not None and unit is None:
            raise self.notes.error(f"{' '.join(line.words)!r}; expected deg or rad", line.place)
        return unit or 1.0

    def choose_length_unit(self, length_unit: Unit) -> float:
        """Return the metres in one unit."""
        height = self.measure_height()
        guess = guess_unit(height)
        if length_unit == "auto":
            return assume_unit(height, self.notes)
        if length_unit is not None:
            return metres_per(length_unit)
        line = self.units.get("length")
        if line is None:
            self.notes.assume(
                "no length in :units; 1.0, which makes the unit an inch, assumed",
                code="unit-assumed",
            )
            return INCH
        if not (number := float(self.parse_numbers(line, 1)[0])) > 0.0:
            raise self.notes.error(f"length {number:g} in :units; expected more than 0", line.place)
        metres = INCH / number
        if not PLAUSIBLE_HEIGHTS[0] < height * metres < PLAUSIBLE_HEIGHTS[1]:
            hint = "" if guess is None else f" (in {guess[0]}: {height * guess[1]:.2f} m)"
            result = f"the figure measure {height * metres:.3g} m{hint}"
            self.notes.assume(
                f"length {number:g} makes {result}",
                line.place,
                code="unit-implausible",
                advice=Advice("; give ", "length_unit"),
            )
        return metres

    def measure_height(self) -> float:
        """Return the longest side of the figure at rest [unit of the file]."""
        tips = {"root": np.zeros(3)}
        for name, parent in self.parents.items():
            tips[name] = tips[parent] + self.bones[name].tip
        return float(np.ptp(list(tips.values()), axis=0).max())

    def read_root(self) -> BoneData:
        lines = {line.key: line for line in self.sections["root"]}
        root = BoneData("", "root", dofs=DOFS)
        if "order" in lines:
            root.dofs = self.parse_dofs(lines["order"])
        if "position" in lines:
            root.direction = self.parse_numbers(lines["position"], 3)
        if "orientation" in lines:
            order = (lines["axis"].words[1:] if "axis" in lines else []) or ["XYZ"]
            root.axis = self.parse_axis(lines["orientation"], order[0])
        return root

    def read_bones(self) -> dict[str, BoneData]:
        bones: dict[str, BoneData] = {}
        bone: BoneData | None = None
        for line in self.sections["bonedata"]:
            if line.key == "begin":
                bone = BoneData(line.place, length=0.0)
            elif bone is None:
                raise self.notes.error(f"{line.words[0][:40]!r}; expected begin", line.place)
            elif line.key == "end":
                if bone.name in ("", "root") or bone.name in bones:
                    raise self.notes.error(f"no name, or a second {bone.name!r}", bone.place)
                self.check_limits(bone)
                bones[bone.name], bone = bone, None
            elif line.key == "name":
                bone.name = " ".join(line.words[1:2])
            elif line.key == "direction":
                bone.direction = self.parse_numbers(line, 3)
            elif line.key == "length":
                bone.length = float(self.parse_numbers(line, 1)[0])
            elif line.key == "axis":
                bone.axis = self.parse_axis(line, (line.words[4:] or ["XYZ"])[0])
            elif line.key == "dof":
                bone.dofs = self.parse_dofs(line)
            elif line.key == "limits" or line.key.startswith("("):
                bone.limits += self.parse_limits(line)
        if bone is not None:
            raise self.notes.error(f"bone {bone.name!r} has no end", bone.place)
        return bones

    def read_parents(self) -> dict[str, str]:
        """Return child → parent for all that hangs from the root, parents first."""
        children: dict[str, list[str]] = {}
        parents: dict[str, str] = {}
        for line in self.sections["hierarchy"]:
            if line.key in ("begin", "end"):
                continue
            for name in line.words:
                if name not in self.bones and name != "root":
                    known = f"expected root or one of the {len(self.bones)} in :bonedata"
                    raise self.notes.error(f"no bone named {name!r}; {known}", line.place)
            for name in line.words[1:]:
                if name in parents or name == "root":
                    raise self.notes.error(f"bone {name!r} has a second parent", line.place)
                parents[name] = line.words[0]
                children.setdefault(line.words[0], []).append(name)
        below_root: dict[str, str] = {}
        stack = list(reversed(children.get("root", [])))
        while len(stack) > 0:
            name = stack.pop()
            below_root[name] = parents[name]
            stack += reversed(children.get(name, []))
        dropped = [name for name in self.bones if name not in below_root]
        if len(dropped) > 0:
            self.notes.flag_damage(
                f"bones not below the root were dropped: {', '.join(dropped)[:99]}"
            )
        return below_root

    def parse_numbers(self, line: AsfLine, count: int) -> Array:
        numbers = np.array([parse_number(word) for word in line.words[1 : count + 1]])
        if len(numbers) < count or not np.isfinite(numbers).all():
            words = " ".join(line.words)[:60]
            raise self.notes.error(f"{words!r}; expected {count} numbers", line.place)
        return numbers

    def parse_axis(self, line: AsfLine, order: str) -> Array:
        if sorted(order.upper()) != ["X", "Y", "Z"]:
            raise self.notes.error(f"axis order {order[:40]!r}; expected XYZ, ZYX, …", line.place)
        rotation = np.eye(3)
        for letter, angle in zip(order, self.parse_numbers(line, 3) * self.radians, strict=True):
            rotation = axis_rotation(letter, angle) @ rotation
        return rotation

    def parse_dofs(self, line: AsfLine) -> tuple[str, ...]:
        dofs = tuple(word.lower() for word in line.words[1:])
        if len(set(dofs) - set(DOFS)) > 0 or len(set(dofs)) < len(dofs):
            expected = "expected rx ry rz tx ty tz, each once at most (l, a stretch, is not read)"
            raise self.notes.error(f"{' '.join(line.words)[:60]!r}; {expected}", line.place)
        return dofs

    def parse_limits(self, line: AsfLine) -> list[tuple[float, float]]:
        infinite, pairs = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf}, []
        for match in LIMITS_PATTERN.finditer(" ".join(line.words)):
            low, high = (infinite.get(w.lower(), parse_number(w)) for w in match.groups())
            if math.isnan(low) or math.isnan(high):
                raise self.notes.error(f"limits {match[0][:60]!r}; expected numbers", line.place)
            pairs.append((low, high))
        return pairs

    def check_limits(self, bone: BoneData) -> None:
        if len(bone.limits) not in (0, len(bone.dofs)):
            what = f"{bone.name!r} has {len(bone.limits)} limits for {len(bone.dofs)} dofs"
            self.notes.flag_damage(f"bone {what}; they are ignored", bone.place)
            bone.limits = []
        if any(low > high for low, high in bone.limits):
            self.notes.flag_damage(f"limits of bone {bone.name!r} were swapped", bone.place)
            bone.limits = [(min(pair), max(pair)) for pair in bone.limits]
