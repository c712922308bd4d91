"""ASF: the skeleton of the Acclaim formats; its motions are in AMC files.

With C from `axis` and M from the `dof`s, both products of turns of which the first listed acts
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

from exactik.errors import ModelError, NonFiniteError
from exactik.io._files import decoded, read_bytes
from exactik.io._notes import Notes
from exactik.io._text import parse_number
from exactik.io._units import announced_unit, guessed_unit, metres_per
from exactik.io.acclaim._asf_write import INCH, Acclaim, AcclaimSkeleton
from exactik.model import Bone, Joint, Skeleton
from exactik.spatial import axis_rotation
from exactik.typing import Array

__all__ = ["read_asf"]

Unit = str | float | None

_COMMENT = re.compile(r"(^|\s)#.*")
_PAIR = re.compile(r"\(\s*([^\s(),]+)[\s,]+([^\s(),]+)\s*\)")
_DOFS = ("tx", "ty", "tz", "rx", "ry", "rz")
_ANGLES = {"deg": math.pi / 180.0, "rad": 1.0}
_PLAUSIBLE = (0.3, 3.0)  # [m] heights that raise no question
_FREE, _LOCKED = (-math.inf, math.inf), (0.0, 0.0)


class _Line(NamedTuple):
    """A line that says something."""

    place: str
    words: list[str]

    @property
    def key(self) -> str:
        return self.words[0].lower()


@dataclass
class BoneData:
    """A bone as the file has it, lengths and limits in its units."""

    place: str
    name: str = ""
    direction: Array = field(default_factory=lambda: np.zeros(3))
    length: float = 1.0
    axis: Array = field(default_factory=lambda: np.eye(3))
    dofs: tuple[str, ...] = ()
    limits: list[tuple[float, float]] = field(default_factory=list)

    @property
    def tip(self) -> Array:
        """Its far end, from the near one."""
        return self.direction * self.length


def read_asf(path: str, notes: Notes, length_unit: Unit, floating: bool) -> Skeleton:
    """Return the skeleton of an ASF file; its root moves as `order` says, never otherwise."""
    sections = _sections(decoded(read_bytes(path))[0])
    for needed in ("root", "bonedata", "hierarchy"):
        if needed not in sections:
            raise notes.error(f"no :{needed}; an ASF file has :root, :bonedata and :hierarchy")
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
            return _Asf(sections, notes).skeleton(Path(path).stem, length_unit)
    except (ModelError, NonFiniteError) as error:  # limits that leave no room, endless lengths
        raise notes.error(str(error)) from None


def _sections(text: str) -> dict[str, list[_Line]]:
    """Return the lines under each :keyword; what follows the keyword itself is the first."""
    sections: dict[str, list[_Line]] = {}
    current: list[_Line] = []
    for number, line in enumerate(text.split("\n"), start=1):
        words = _COMMENT.sub("", line).split()
        if len(words) > 0 and words[0].startswith(":"):
            current = sections.setdefault(words.pop(0)[1:].lower(), [])
        if len(words) > 0:
            current.append(_Line(f"line {number}", words))
    return sections


class _Asf:
    """The sections of a file, and what they mean."""

    def __init__(self, sections: dict[str, list[_Line]], notes: Notes):
        self.sections, self.notes = sections, notes
        self.units = {line.key: line for line in sections.get("units", [])}
        self.radians = self.angle_unit()
        self.bones = self.read_bones()
        self.parents = self.read_parents()

    def skeleton(self, stem: str, length_unit: Unit) -> AcclaimSkeleton:
        said = {line.key: line.words[1:] for line in self.sections.get("documentation", [])}
        coded = said.get("names") == ["percent-encoded"]  # so does our own writer where it must
        names = {name: unquote(name) if coded else name for name in self.bones}
        names["root"] = unquote((said.get("root-bone") or ["root"])[0])
        metres, root = self.length_unit(length_unit), self.read_root()
        made = [self.made(root, names["root"], None, metres * root.tip, metres)]
        inner, taken = set(self.parents.values()), set(names.values())
        for name, parent in self.parents.items():
            bone = self.bones[name]
            offset = np.zeros(3) if parent == "root" else metres * self.bones[parent].tip
            made.append(self.made(bone, names[name], names[parent], offset, metres))
            if name not in inner and bone.tip.any():
                end = f"{names[name]}_end"
                while end in taken:
                    end += "2"
                made.append(Bone(end, parent=names[name], offset=metres * bone.tip))
        title = " ".join(word for line in self.sections.get("name", []) for word in line.words)
        dofs = {names[name]: self.bones[name].dofs for name in self.parents}
        facts = Acclaim(metres, self.radians, {names["root"]: root.dofs, **dofs})
        return AcclaimSkeleton(title or stem, made, None, facts)

    def made(
        self, bone: BoneData, name: str, parent: str | None, offset: Array, metres: float
    ) -> Bone:
        """Return a bone of ours."""
        limits: dict[str, tuple[float, float]] = {}
        for dof, (low, high) in zip(bone.dofs, bone.limits, strict=False):
            unit = metres if dof[0] == "t" else self.radians
            limits[dof] = (low * unit, high * unit)
        # The first dof acts first, so it is the innermost letter.
        turns = [dof for dof in reversed(bone.dofs) if dof[0] == "r"]
        joint = Joint.fixed()
        if len(turns) > 0:
            order = "".join(dof[1] for dof in turns).upper()
            joint = Joint.euler(order, [limits.get(dof, _FREE) for dof in turns])
        slides = [dof for dof in bone.dofs if dof[0] == "t"]
        if len(bone.dofs) == len(slides) == 1:
            joint = Joint.prismatic(slides[0][1], limits.get(slides[0], _FREE))
        elif len(slides) > 0:
            three = [limits.get(d, _FREE if d in slides else _LOCKED) for d in _DOFS[:3]]
            joint = Joint.free(joint, three) if len(turns) > 0 else Joint.translation(three)
        C = bone.axis if joint.kind != "fixed" else np.eye(3)
        return Bone(name, parent=parent, offset=offset, pre=C, joint=joint, post=C.T)

    def angle_unit(self) -> float:
        line = self.units.get("angle")
        unit = _ANGLES.get("deg" if line is None else " ".join(line.words[1:]).lower()[:3])
        if line is not None and unit is None:
            raise self.notes.error(f"{' '.join(line.words)!r}; expected deg or rad", line.place)
        return unit or 1.0

    def length_unit(self, length_unit: Unit) -> float:
        """Return the metres in one unit."""
        tall = self.height()
        guess = guessed_unit(tall)
        if length_unit == "auto":
            return announced_unit(tall, self.notes)
        if length_unit is not None:
            return metres_per(length_unit)
        line = self.units.get("length")
        if line is None:
            self.notes.assume("no length in :units; 1.0, which makes the unit an inch, assumed")
            return INCH
        if not (number := float(self.numbers(line, 1)[0])) > 0.0:
            raise self.notes.error(f"length {number:g} in :units; expected more than 0", line.place)
        metres = INCH / number
        if not _PLAUSIBLE[0] < tall * metres < _PLAUSIBLE[1]:
            hint = "" if guess is None else f" (in {guess[0]}: {tall * guess[1]:.2f} m)"
            result = f"the figure measure {tall * metres:.3g} m{hint}"
            self.notes.assume(f"length {number:g} makes {result}; give length_unit", line.place)
        return metres

    def height(self) -> float:
        places = {"root": np.zeros(3)}
        for name, parent in self.parents.items():
            places[name] = places[parent] + self.bones[name].tip
        return float(np.ptp(list(places.values()), axis=0).max())

    def read_root(self) -> BoneData:
        lines = {line.key: line for line in self.sections["root"]}
        root = BoneData("", "root", dofs=_DOFS)
        if "order" in lines:
            root.dofs = self.dofs(lines["order"])
        if "position" in lines:
            root.direction = self.numbers(lines["position"], 3)
        if "orientation" in lines:
            order = (lines["axis"].words[1:] if "axis" in lines else []) or ["XYZ"]
            root.axis = self.axis(lines["orientation"], order[0])
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
                bone.direction = self.numbers(line, 3)
            elif line.key == "length":
                bone.length = float(self.numbers(line, 1)[0])
            elif line.key == "axis":
                bone.axis = self.axis(line, (line.words[4:] or ["XYZ"])[0])
            elif line.key == "dof":
                bone.dofs = self.dofs(line)
            elif line.key == "limits" or line.key.startswith("("):
                bone.limits += self.limits(line)
        if bone is not None:
            raise self.notes.error(f"bone {bone.name!r} has no end", bone.place)
        return bones

    def read_parents(self) -> dict[str, str]:
        """Return child → parent for all that hangs from the root, parents first."""
        children: dict[str, list[str]] = {}
        above: dict[str, str] = {}
        for line in self.sections["hierarchy"]:
            if line.key in ("begin", "end"):
                continue
            for name in line.words:
                if name not in self.bones and name != "root":
                    known = f"expected root or one of the {len(self.bones)} in :bonedata"
                    raise self.notes.error(f"no bone named {name!r}; {known}", line.place)
            for name in line.words[1:]:
                if name in above or name == "root":
                    raise self.notes.error(f"bone {name!r} has a second parent", line.place)
                above[name] = line.words[0]
                children.setdefault(line.words[0], []).append(name)
        found: dict[str, str] = {}
        names = list(reversed(children.get("root", [])))
        while len(names) > 0:
            name = names.pop()
            found[name] = above[name]
            names += reversed(children.get(name, []))
        lost = [name for name in self.bones if name not in found]
        if len(lost) > 0:
            self.notes.damaged(f"bones not below the root were dropped: {', '.join(lost)[:99]}")
        return found

    def numbers(self, line: _Line, count: int) -> Array:
        found = np.array([parse_number(word) for word in line.words[1 : count + 1]])
        if len(found) < count or not np.isfinite(found).all():
            words = " ".join(line.words)[:60]
            raise self.notes.error(f"{words!r}; expected {count} numbers", line.place)
        return found

    def axis(self, line: _Line, order: str) -> Array:
        if sorted(order.upper()) != ["X", "Y", "Z"]:
            raise self.notes.error(f"axis order {order[:40]!r}; expected XYZ, ZYX, …", line.place)
        matrix = np.eye(3)
        for letter, angle in zip(order, self.numbers(line, 3) * self.radians, strict=True):
            matrix = axis_rotation(letter, angle) @ matrix
        return matrix

    def dofs(self, line: _Line) -> tuple[str, ...]:
        dofs = tuple(word.lower() for word in line.words[1:])
        if len(set(dofs) - set(_DOFS)) > 0 or len(set(dofs)) < len(dofs):
            expected = "expected rx ry rz tx ty tz, each once at most (l, a stretch, is not read)"
            raise self.notes.error(f"{' '.join(line.words)[:60]!r}; {expected}", line.place)
        return dofs

    def limits(self, line: _Line) -> list[tuple[float, float]]:
        infinite, pairs = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf}, []
        for match in _PAIR.finditer(" ".join(line.words)):
            low, high = (infinite.get(w.lower(), parse_number(w)) for w in match.groups())
            if math.isnan(low) or math.isnan(high):
                raise self.notes.error(f"limits {match[0][:60]!r}; expected numbers", line.place)
            pairs.append((low, high))
        return pairs

    def check_limits(self, bone: BoneData) -> None:
        if len(bone.limits) not in (0, len(bone.dofs)):
            what = f"{bone.name!r} has {len(bone.limits)} limits for {len(bone.dofs)} dofs"
            self.notes.damaged(f"bone {what}; they are ignored", bone.place)
            bone.limits = []
        if any(low > high for low, high in bone.limits):
            self.notes.damaged(f"limits of bone {bone.name!r} were swapped", bone.place)
            bone.limits = [(min(pair), max(pair)) for pair in bone.limits]
