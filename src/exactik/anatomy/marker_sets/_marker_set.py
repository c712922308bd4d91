"""Known marker sets, a TOML file each, and what the names of a recording mean together.

A file of `sets/` says which landmark each name of the set means:

    title = "…"; source = "…"; notes = "…"; up = "z"      up only where the set implies it
    requires = ["*Wand"]                one of these names must be there for the set to be meant
    sides = ["L", "R"]                  what stands for "*" in the names of [paired]
    [paired]    "*ANK" = "ankle_lateral"
    [single]    C7 = "c7"
    [computed]  "*HJC" = "hip_joint"    points that software made, "" where they are no landmark
    [unplaced]  ROFF = "…"              markers of the set on no landmark, and where they are
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Any, NamedTuple

import numpy as np

from exactik.anatomy._names import is_side_word, read_data, strip_prefix
from exactik.anatomy.marker_sets._names import (
    Landmark,
    find_landmarks,
    is_object_name,
    is_side_open,
    list_landmarks,
    name_keys,
)
from exactik.model.motion import Markers
from exactik.typing import BoolArray

MIN_SHARE = 0.5  # of a recording's names, that a set must explain to be the one in use
MIN_NAMES = 3  # that it must explain: two names are a coincidence


@dataclass(frozen=True)
class MarkerSet:
    """A known set of markers."""

    id: str  # name of its file
    title: str  # in words
    source: str  # where its definition is from
    notes: str  # what else is to be known
    up: str | None  # axis that is customarily up, or None
    # Names of which one must be there, if others have a sense of their own in the set
    requires: frozenset[str]
    markers: Mapping[str, str]  # name → landmark id
    computed: Mapping[str, str]  # name → landmark id, or "" for a computed point on no landmark
    unplaced: Mapping[str, str]  # name → where it is, of markers on no landmark

    @property
    def landmarks(self) -> dict[str, Landmark]:
        """Landmark of each marker by name."""
        return {name: list_landmarks()[landmark] for name, landmark in self.markers.items()}

    def find_name(self, keys: Iterable[str]) -> str | None:
        """Return the name of this set that has one of these keys, see `name_keys`."""
        index = _index_names(self.id)
        return next((index[key] for key in keys if key in index), None)


class SetMatch(NamedTuple):
    """The set that explains the names of a recording best."""

    marker_set: MarkerSet  # the set
    names: Mapping[str, str]  # recorded name → name of the set, of those that it explains
    share: float  # of the recorded names that say something, explained


@cache
def list_marker_sets() -> tuple[MarkerSet, ...]:
    """Return all known sets, by id."""
    folder = resources.files("exactik.anatomy.marker_sets").joinpath("sets")
    files = sorted(f.name for f in folder.iterdir() if f.name.endswith(".toml"))
    return tuple(
        _make_set(f.removesuffix(".toml"), read_data(f"marker_sets/sets/{f}")) for f in files
    )


def recognise_marker_set(names: Iterable[str]) -> SetMatch | None:
    """Return the set that explains most of these names, or None if none explains half of them.

    Names that say nothing ("*3") or that only computed points have are no evidence, nor are names
    without a prefix where others have one ("Subject:LANK"). Of sets that explain as many, the one
    of which more is there.
    """
    return _recognise(tuple(names))


@lru_cache(maxsize=16)
def _recognise(names: tuple[str, ...]) -> SetMatch | None:
    """As above; units, axes, subjects and reports all ask it of the same recording."""
    keys_of = {name: name_keys(short) for name, short in shorten_names(names).items()}
    computed = find_computed_names(names)
    has_prefix = any(":" in name for name in names)
    told = {
        name
        for name in names
        if not (is_unnamed(name) or name in computed or (has_prefix and ":" not in name))
    }
    best: tuple[tuple[int, int, float], SetMatch] | None = None
    for marker_set in list_marker_sets():
        found = {name: marker_set.find_name(keys) for name, keys in keys_of.items()}
        explained = {name: own for name, own in found.items() if own is not None}
        evidence = told & set(explained)
        if len(evidence) < max(MIN_NAMES, MIN_SHARE * len(told)):
            continue
        if len(marker_set.requires) > 0 and marker_set.requires.isdisjoint(explained.values()):
            continue
        landmarks = {marker_set.markers.get(explained[name], "") for name in evidence}
        coverage = len(landmarks) / len(set(marker_set.markers.values()))
        score = (len(evidence), len(explained), coverage)
        if best is None or score > best[0]:
            best = score, SetMatch(marker_set, explained, len(evidence) / len(told))
    return None if best is None else best[1]


@cache
def _index_names(set_id: str) -> Mapping[str, str]:
    """Return key → name of a set."""
    marker_set = next(s for s in list_marker_sets() if s.id == set_id)
    index: dict[str, str] = {}
    for name in (*marker_set.markers, *marker_set.computed, *marker_set.unplaced):
        for key in name_keys(name):
            index.setdefault(key, name)
    return index


def _make_set(set_id: str, table: Mapping[str, Any]) -> MarkerSet:
    sides = dict(zip("lr", table["sides"], strict=True))
    markers = {
        name.replace("*", text): f"{side}_{landmark}"
        for side, text in sides.items()
        for name, landmark in table.get("paired", {}).items()
    }
    computed: dict[str, str] = {}
    for name, landmark in table.get("computed", {}).items():
        for side, text in sides.items() if "*" in name else (("", ""),):
            paired = f"{side}_{landmark}" if side != "" and landmark != "" else landmark
            computed[name.replace("*", text)] = paired
    unplaced = {
        name.replace("*", text): where
        for text in sides.values()
        for name, where in table.get("unplaced", {}).items()
    }
    return MarkerSet(
        id=set_id,
        title=table["title"],
        source=table["source"],
        notes=table.get("notes", ""),
        up=table.get("up"),
        requires=frozenset(
            name.replace("*", text) for name in table.get("requires", ()) for text in sides.values()
        ),
        markers={**markers, **table.get("single", {})},
        computed=computed,
        unplaced=unplaced,
    )


class NameReading(NamedTuple):
    """What names mean."""

    marker_set: MarkerSet | None  # the known set that explains them best, or None
    # Name → landmark, of the names that mean one; of computed points too
    landmarks: Mapping[str, Landmark]
    from_set: frozenset[str]  # those of `landmarks` that the set tells
    # Name → landmarks that it may mean, the likeliest first, where there are several; not in
    # `landmarks` if only the side is open
    unclear: Mapping[str, tuple[Landmark, ...]]
    # Name of a computed point → code that says why, see `find_computed_points`
    computed: Mapping[str, str]
    objects: frozenset[str]  # names of things that are no part of a body
    # Name of a marker of the set on no landmark → where it is, in words
    unplaced: Mapping[str, str]


def read_marker_names(names: Iterable[str], computed: Iterable[str] = ()) -> NameReading:
    """Return what the names of a recording mean.

    First by the known set that explains most of them, so that "LSH" is a shoulder beside "LEL" and
    a shank beside "LTH"; then by themselves. Subjects' prefixes, and a beginning that all names
    have ("Skeleton_"), do not count.

    Args:
        names: of all points of one recording.
        computed: those that the file says are computed.
    """
    names = tuple(names)
    # Where names have subjects' prefixes, one without is none of a subject's markers.
    foreign = {n for n in names if ":" not in n} if any(":" in n for n in names) else set[str]()
    short = shorten_names(names)
    match = recognise_marker_set(names)
    found_computed = find_computed_names(names)
    landmarks: dict[str, Landmark] = {}
    unplaced: dict[str, str] = {}
    own_names = {} if match is None else match.names
    for name, own in own_names.items():
        if match is None:
            continue
        if own in match.marker_set.computed:
            found_computed[name] = "marker-set"
        if own in match.marker_set.unplaced:
            unplaced[name] = match.marker_set.unplaced[own]
        landmark = match.marker_set.markers.get(own, match.marker_set.computed.get(own, ""))
        if landmark != "":
            landmarks[name] = list_landmarks()[landmark]
    found_computed |= dict.fromkeys(computed, "file-group")
    from_set = frozenset(landmarks)
    taken = {landmark.id for name, landmark in landmarks.items() if name not in found_computed}
    objects = frozenset(
        name for name, s in short.items() if name not in from_set and is_object_name(s)
    )
    unclear = {}
    for name, s in short.items():
        is_told = name in own_names or name in objects or is_unnamed(name)
        if is_told or name in foreign or found_computed.get(name) == "bone-frame":
            continue
        free = tuple(c for c in find_landmarks(s) if c.is_cluster or c.id not in taken)
        if len(free) > 0 and not is_side_open(free):
            landmarks[name] = free[0]
        if len(free) > 1:
            unclear[name] = free
    return NameReading(
        marker_set=None if match is None else match.marker_set,
        landmarks=landmarks,
        from_set=from_set,
        unclear=unclear,
        computed=found_computed,
        objects=objects,
        unplaced=unplaced,
    )


def find_computed_points(markers: Markers) -> dict[str, str]:
    """Return the computed points of a recording and why they are taken for such, by a code.

    "file-group": the file lists them as such; "marker-set": the marker set has them as such;
    "joint-centre", "mass-centre", "bone-frame", "quantity", "virtual": by their names.
    """
    return dict(read_marker_names(markers.names, markers.computed).computed)


# --- names beside landmarks: prefixes that all have, names that say nothing, computed points
#
# A name may say nothing by itself ("*3", "Point 7"), or beside the others: of "LED 1" … "LED 45"
# each might be a name, all together are a count.
#
# Joint centres and frames of bones are computed from markers. The file says so itself
# (`Markers.computed`), or their names do: joint centres end in JC, the centre of mass is called so,
# and Plug-in Gait draws each bone as a frame of four points (origin O, and A, L and P along its
# axes).


MIN_NAMES_FOR_PREFIX = 2  # above which what all begin with is a prefix and no coincidence
MIN_NUMBERED = 8
"""Names that are one word with a number ("P1" … "P45"), from which on they are a count and not
names: no part of a body has so many markers, and a spine is numbered to T12 with gaps."""
_NUMBERED = re.compile(r"(.*?)[ _.#-]*\d+")
_UNNAMED = re.compile(
    r"\*.*|#|(new|unnamed|unlabel+ed|unknown|markers?|channel|points?|pts?|m|p)?[ _]*\d*", re.I
)
FRAME_STEMS = "PEL|TRX|HED|[LR](?:FE|TI|FO|TO|HU|RA|HN|CL|HND|TF|FI|UP|TP)"
_FRAME = re.compile(rf"({FRAME_STEMS})([OALP])")
MIN_FRAME_POINTS = 2  # of the four of a frame; one alone may be a marker, such as LFOO
_JOINT_CENTRE = re.compile(
    r"([lr]|left|right|mid)?[ _.-]?([hkaesw]|gh|hip|knee|ankle|shoulder|elbow|wrist)[ _.-]?"
    r"(jc|joint ?cent(re|er)|cent(re|er))([ _.-].*)?",
    re.I,
)
_MASS_CENTRE = re.compile(r".*(cent(re|er)_?of_?(mass|gravity).*|\bco[mg])", re.I)
_QUANTITY = re.compile(
    r".*(angles?|forces?|moments?|powers?|velocity|acceleration|grf|cop)v?", re.I
)
_VIRTUAL = re.compile(r"(virtual|virt|vm)[ _.-].*|.*[ _.-](virtual|virt|proj(ection)?)", re.I)


def is_unnamed(name: str) -> bool:
    """Whether a name says nothing by itself: "*3", "New 0012", "Marker_7", "Point 4"."""
    return _UNNAMED.fullmatch(strip_prefix(name)) is not None


def find_unnamed(names: Sequence[str]) -> BoolArray:
    """Return which names of a recording say nothing, (M,): by themselves, or as a count."""
    bare = [strip_prefix(name) for name in names]
    stems = [match[1] if (match := _NUMBERED.fullmatch(name)) else None for name in bare]
    counts = Counter(stem for stem in stems if stem is not None)
    return np.array(
        [
            is_unnamed(name) or (stem is not None and counts[stem] >= MIN_NUMBERED)
            for name, stem in zip(bare, stems, strict=True)
        ],
        dtype=bool,
    )


def are_names_empty(names: Sequence[str]) -> bool:
    """Whether most names of a recording say nothing, so that it must be labelled by shape."""
    return 2 * int(np.count_nonzero(find_unnamed(names))) > len(names)


def shorten_names(names: tuple[str, ...]) -> dict[str, str]:
    """Return each name without its subject's prefix and without a beginning that all have."""
    short = {name: strip_prefix(name) for name in names}
    told = [s for s in short.values() if not is_unnamed(s)]
    # The longest beginning of all is that of the first and the last in their order.
    first, last = (min(told), max(told)) if len(told) > MIN_NAMES_FOR_PREFIX else ("", "")
    n = next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    common = first[:n]
    cut = max(common.rfind(mark) for mark in "_ .-") + 1
    if cut > 0 and not is_side_word(common[:cut].rstrip("_ .-")):
        short = {name: s[cut:] if s.startswith(common[:cut]) else s for name, s in short.items()}
    doubles = {s for s, n in Counter(short.values()).items() if n > 1}
    # Names of several subjects stay apart by their prefixes.
    return {name: name if s in doubles else s for name, s in short.items()}


def find_computed_names(names: Iterable[str]) -> dict[str, str]:
    """Return the names among these that only computed points have, and a code that says why.

    "joint-centre", "mass-centre", "bone-frame", "quantity" (an angle, a force), "virtual".
    """
    names = tuple(names)
    found: dict[str, str] = {}
    frames: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name in names:
        short = strip_prefix(name)
        if _JOINT_CENTRE.fullmatch(short):
            found[name] = "joint-centre"
        elif _MASS_CENTRE.fullmatch(short):
            found[name] = "mass-centre"
        elif _QUANTITY.fullmatch(short):
            found[name] = "quantity"
        elif _VIRTUAL.fullmatch(short):
            found[name] = "virtual"
        if (frame := _FRAME.fullmatch(short.upper())) is not None:
            frames[name.removesuffix(short), frame[1]].append(name)
    for points in frames.values():
        if len(points) >= MIN_FRAME_POINTS:
            found |= {name: found.get(name, "bone-frame") for name in points}
    return {name: found[name] for name in names if name in found}
