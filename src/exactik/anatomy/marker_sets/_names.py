"""Landmarks of the body, and which of them a marker's name means, whatever the marker set.

A name is taken apart into words: "L.Knee_Lat" is "l", "knee", "lat". Words that stand for another
are replaced, a word that tells the side is taken out, and what remains is looked up with its words
in any order. Names of four letters ("LKNE") have their side in front.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from itertools import permutations
from types import MappingProxyType
from typing import Any, NamedTuple

from exactik.anatomy._names import (
    SIDE_NAMES,
    list_side_readings,
    read_data,
    read_vocabulary,
    split_words,
)

# What exporters put after a name, which says nothing of where the marker is.
_SUFFIX = re.compile(r"[ _.-](study|marker|mkr|pos|position|traj(ectory)?|smooth|filtered)$", re.I)


class Landmark(NamedTuple):
    """A place on the body."""

    id: str  # such as "l_knee_lateral", or "c7" in the middle
    bone: str  # of `human()`
    point: tuple[float, float, float]  # in that bone's frame [m], of the figure of 1.75 m
    sd: float  # how far a marker of this name may be from there, along each axis [m]
    kind: str  # "skin" for a marker on it, "joint" for a point inside
    text: str  # in words, such as "left outer knee"
    is_cluster: bool  # whether the name tells the bone only, so that several markers may share it

    @property
    def side(self) -> str:
        """Letter of the side, "l" or "r"; "" in the middle."""
        return self.id[0] if self.id[:2] in ("l_", "r_") else ""


@cache
def list_landmarks() -> Mapping[str, Landmark]:
    """Return all landmarks by id; those of the right side mirror the left ones."""
    table = read_data("marker_sets/landmarks.toml")
    landmarks = {name: _make_landmark(name, row, "") for name, row in table["middle"].items()}
    for side in SIDE_NAMES:
        for name, row in table["paired"].items():
            landmark = _make_landmark(name, row, side)
            landmarks[landmark.id] = landmark
    return MappingProxyType(landmarks)


def _make_landmark(name: str, row: Mapping[str, Any], side: str) -> Landmark:
    x, y, z = map(float, row["point"])
    bone = row["bone"]
    if side == "r":
        y = -y
        bone = "r_" + bone[2:] if bone.startswith("l_") else bone
    return Landmark(
        id=f"{side}_{name}" if side != "" else name,
        bone=bone,
        point=(x, y, z),
        sd=float(row["sd"]),
        kind=row.get("kind", "skin"),
        text=f"{SIDE_NAMES[side]} {row['text']}" if side != "" else row["text"],
        is_cluster=row.get("cluster", False),
    )


class _MarkerWords(NamedTuple):
    """The words of names.toml, as they are looked up."""

    words: Mapping[str, str]  # → the word that is meant
    # Joined words → landmarks without side, the first of which is meant if nothing else is known
    names: Mapping[str, tuple[str, ...]]
    clusters: Mapping[str, str]  # joined words that a number follows → landmark without side
    objects: frozenset[str]  # words of things that are no part of a body


def is_object_name(name: str) -> bool:
    """Whether a name is that of a thing: "WheelchairRearL", "R.Roue", "Racket3"."""
    words = _split(name)
    return any(word in _vocabulary().objects for word in words)


def find_landmark(name: str) -> Landmark | None:
    """Return the landmark that a name means by itself, or None; see `read_marker_names`.

    None too where the name does not tell the side ("heel").
    """
    found = find_landmarks(name)
    return None if len(found) == 0 or is_side_open(found) else found[0]


def is_side_open(candidates: tuple[Landmark, ...]) -> bool:
    """Whether the likeliest of some landmarks is there on both sides, and both are meant."""
    return len(candidates) > 1 and candidates[0].id[2:] == candidates[1].id[2:]


def find_landmarks(name: str) -> tuple[Landmark, ...]:
    """Return all landmarks that a name may mean, likeliest first; left and right if it is open."""
    vocabulary = _vocabulary()
    words = [vocabulary.words.get(word, word) for word in _split(name) if word != "marker"]
    found: list[Landmark] = []
    for side, rest in list_side_readings(words):
        sides = tuple(SIDE_NAMES) if side == "?" else (side,)
        found += _look_up(sides, rest, vocabulary)
        if len(found) > 0:
            break
    return tuple(dict.fromkeys(found))


@cache
def list_landmark_names() -> Mapping[str, tuple[str, ...]]:
    """Return what landmarks are called: id without side → names without side, as names.toml."""
    table = read_data("marker_sets/names.toml")
    names = {key: tuple(text.split(", ")) for key, text in table["names"].items()}
    clusters = {key: tuple(f"{n} 1" for n in t.split(", ")) for key, t in table["clusters"].items()}
    return {**names, **clusters}


def name_keys(name: str) -> tuple[str, ...]:
    """Return the ways in which a name of a marker set is compared: small letters, side in front.

    "L_Knee", "LeftKnee", "Knee.L" and "lknee" have "lknee" in common; accents and separators do not
    count.
    """
    words = _split(name)
    sides = read_vocabulary().sides
    keys = ["".join(words)]
    for k, word in enumerate(words):
        if word in sides and len(words) > 1:
            keys.append(sides[word] + "".join(words[:k] + words[k + 1 :]))
    return tuple(dict.fromkeys(keys))


def _split(name: str) -> list[str]:
    return split_words(_SUFFIX.sub("", name))


def _look_up(sides: tuple[str, ...], words: list[str], vocabulary: _MarkerWords) -> list[Landmark]:
    landmarks = list_landmarks()
    joined = "".join(words)
    # Once a side has been taken off, the rest may stand for another word: "RMED" is "r", "medial".
    rest = "".join(vocabulary.words.get(word, word) for word in words)
    candidates = list(vocabulary.names.get(joined, ()) or vocabulary.names.get(rest, ()))
    stem = re.sub(r"#?\d+[a-z]?$", "", joined)
    if len(candidates) == 0 and stem != joined and stem in vocabulary.clusters:
        candidates.append(vocabulary.clusters[stem])
    ids = [f"{side}_{name}" if side != "" else name for name in candidates for side in sides]
    return [landmarks[i] for i in ids if i in landmarks]


@cache
def _vocabulary() -> _MarkerWords:
    table: dict[str, Any] = read_data("marker_sets/names.toml")
    words: dict[str, str] = table["words"]
    names: dict[str, tuple[str, ...]] = {}
    for landmark, text in table["names"].items():
        for joined in _list_spellings(text, words):
            names[joined] = (*names.get(joined, ()), landmark)
    clusters = {
        joined: landmark
        for landmark, text in table["clusters"].items()
        for joined in _list_spellings(text, words)
    }
    objects = frozenset(word.replace(" ", "") for word in table["objects"]["words"].split(", "))
    return _MarkerWords(words, names, clusters, objects)


def _list_spellings(text: str, words: Mapping[str, str]) -> list[str]:
    """Return names separated by commas, joined, with their words in any order, each once."""
    spellings = []
    for name in text.split(", "):
        parts = [words.get(word, word) for word in name.split()]
        spellings += ["".join(order) for order in permutations(parts)]
        spellings.append(name.replace(" ", ""))
    return list(dict.fromkeys(spellings))
