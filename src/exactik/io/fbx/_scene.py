"""The objects of an FBX file, their properties, and what is connected to what."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.io._notes import Notes
from exactik.io.fbx._records import FbxRecord, RecordFile
from exactik.typing import Array

# Frames a second by GlobalSettings' TimeMode, [Hz].
RATES = (30, 120, 100, 60, 50, 48, 30, 30, 30e3 / 1001, 30e3 / 1001, 25, 24, 1000, 24e3 / 1001)
RATES += (0, 96, 72, 60e3 / 1001, 120e3 / 1001)
CUSTOM_RATE = 14
AXES = "xyz"

Properties = dict[str, FbxRecord]


class Link(NamedTuple):
    """An object that is connected to another one."""

    other: Object
    role: str  # the property that it drives; empty if it belongs to the object


class Object:
    """An object of the file: a node, a mesh, a curve, …."""

    def __init__(self, scene: Scene, record: FbxRecord, template: Properties):
        """Hold a record; properties that it lacks are those of its kind's template."""
        self.scene, self.record, self.kind = scene, record, record.name
        self.name = record.value(1, str, "").partition("\0")[0].strip()
        self.subtype: str = record.value(2, str, "")
        self.properties = template | read_properties(record)
        self.parts: list[Link] = []  # what is connected to it
        self.owners: list[Link] = []  # what it is connected to

    @property
    def place(self) -> str:
        """Where it is in the file, for messages."""
        return f"{self.kind} {self.name[:60]!r}"

    def list_parts(self, kind: str, subtype: str = "") -> list[Object]:
        """Return what belongs to it, of a kind."""
        return [
            link.other
            for link in self.parts
            if link.other.kind == kind and link.role == "" and subtype in ("", link.other.subtype)
        ]

    def numbers(self, name: str, *default: float) -> Array:
        """Return a property of as many numbers as the default has."""
        record = self.properties.get(name)
        if record is None:
            return np.array(default, dtype=float)
        values = record.values[4 : 4 + len(default)]
        is_sound = len(values) == len(default) and all(
            isinstance(x, int | float) and abs(x) < 1e100 for x in values
        )
        if not is_sound:
            text = f"is no {len(default)} finite numbers; expected them"
            raise self.scene.notes.error(text, f"{self.place}, {name}")
        return np.array(values, dtype=float)

    def number(self, name: str, default: float) -> float:
        """Return a property of one number."""
        return float(self.numbers(name, default)[0])

    def array(self, name: str, width: int = 1) -> Array:
        """Return an array in its record, see `RecordFile.array`."""
        return self.scene.file.array(self.record, name, self.place, width)


def read_properties(record: FbxRecord) -> Properties:
    """Return the properties in a record by name."""
    listed = record.first("Properties70")
    return {} if listed is None else {p.value(0, str, ""): p for p in listed.all("P")}


class Scene:
    """The contents of a file.

    Attributes:
        objects: in the order of the file.
        settings: the file's GlobalSettings.
    """

    def __init__(self, path: str, notes: Notes):
        """Read a file."""
        self.notes, self.file = notes, RecordFile(path, notes)
        root = self.file.root
        templates: dict[str, Properties] = {}
        for kind in (r for d in root.all("Definitions") for r in d.all("ObjectType")):
            for template in kind.all("PropertyTemplate"):
                templates.setdefault(kind.value(0, str, ""), {}).update(read_properties(template))
        by_id: dict[int, Object] = {}
        for record in (r for objects in root.all("Objects") for r in objects.records):
            number = record.value(0, int, None)
            if number is None:
                raise notes.error(
                    f"{record.name[:40]!r} without its number", f"byte {record.start}"
                )
            by_id[number] = Object(self, record, templates.get(record.name, {}))
        self.objects = list(by_id.values())
        for record in (r for listed in root.all("Connections") for r in listed.all("C")):
            ends = (by_id.get(record.value(k, int, 0)) for k in (1, 2))
            part, owner = ends
            if part is not None and owner is not None:
                role = record.value(3, str, "")
                owner.parts.append(Link(part, role))
                part.owners.append(Link(owner, role))
        self.settings = Object(
            self, root.first("GlobalSettings") or FbxRecord("GlobalSettings", 0), {}
        )

    def list_objects(self, kind: str, subtype: str = "") -> list[Object]:
        """Return the objects of a kind."""
        return [o for o in self.objects if o.kind == kind and subtype in ("", o.subtype)]

    def find_metres(self) -> float:
        """Return the metres in one unit; files state it in centimetres."""
        unit = self.settings.number("UnitScaleFactor", 1.0)
        if not 1e-9 < unit < 1e9:
            text = f"is {unit:.6g}; expected the centimetres in one unit"
            raise self.notes.error(text, "GlobalSettings, UnitScaleFactor")
        return 0.01 * unit

    def find_up_axis(self) -> tuple[str, bool]:
        """Return the axis that is up, and whether it points downwards."""
        axes, signs = (
            [
                int(self.settings.number(f"{name}{what}", default))
                for name, default in zip(
                    ("UpAxis", "FrontAxis", "CoordAxis"), defaults, strict=True
                )
            ]
            for what, defaults in (("", (1, 2, 0)), ("Sign", (1, 1, 1)))
        )
        if sorted(axes) != [0, 1, 2]:
            text = f"up, front and side are axes {axes}; expected 0, 1 and 2"
            raise self.notes.error(text, "GlobalSettings")
        frame = np.zeros((3, 3))  # rows: side, up, front
        for row, k in ((1, 0), (2, 1), (0, 2)):
            frame[row, axes[k]] = -1.0 if signs[k] < 0 else 1.0
        if np.linalg.det(frame) < 0.0:
            self.notes.remark("its axes are left-handed; they are read as right-handed")
        return AXES[axes[0]], signs[0] < 0

    def find_rate(self) -> float:
        """Return the frames a second that its maker worked with [Hz]."""
        mode = int(self.settings.number("TimeMode", 0))
        rate = self.settings.number("CustomFrameRate", 30.0) if mode == CUSTOM_RATE else 0.0
        if 0 <= mode < len(RATES) and mode != CUSTOM_RATE:
            rate = RATES[mode]
        return rate if 1e-3 < rate < 1e6 else float(RATES[0])
