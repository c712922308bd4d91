"""Known marker sets, a TOML file each, and which of them a recording has.

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

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Any, NamedTuple

from exactik.anatomy._names import read_data
from exactik.anatomy.marker_sets._bare_names import find_computed_names, is_unnamed, shorten_names
from exactik.anatomy.marker_sets._names import Landmark, list_landmarks, name_keys

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
