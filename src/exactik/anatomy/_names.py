"""What a name says in the words of `vocabulary.toml`: the side, and which part a bone is.

Names of Mixamo, CMU and Acclaim, OpenSim, Unreal, Biped, DAZ, VRM, MakeHuman, glTF samples, and of
robots whose ball joints are three hinges after each other ("left_hip_pitch_link"). A name is taken
apart into words; the side is a word of it ("L_Knee"), the beginning of one ("lfemur"), or its end.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

_WORDS = re.compile(
    r"(?<![A-Za-z])(?:left|right)(?=[a-z])|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|#\d+"
)
_VERTEBRA = re.compile(r"(?<![A-Za-z])(?:L[1-5]|T(?:1[0-2]|[1-9])|C[1-7])(?!\d)")
_OF = {"to", "in"}  # "LThighToPelvis" belongs to the thigh, "imu_in_torso" to the sensor
SIDE_NAMES = {"l": "left", "r": "right"}
_OPPOSITE = {"l": "r", "r": "l", "left": "right", "right": "left"}
# Where a name has its side, the surest first.
_SIDE_PLACES = (
    r"(?i:left|right)",
    r"(?<![A-Za-z])[LRlr](?![a-z])",  # l_hand, hand.L, LHand
    r"(?:(?<=_[fhrFHR])|(?<=^[fhrFHR]))[LRlr](?![A-Za-z])",  # fl_leg, RL
    r"(?<=[a-z])[LR](?![a-z])",  # KneeL, ArmR2
    r"^[LRlr](?=[A-Za-z])",  # lfemur, LF_FOOT
)


class _Vocabulary(NamedTuple):
    """Words of names, in small letters."""

    sides: Mapping[str, str]  # word → "l" or "r"
    sure_sides: frozenset[str]  # those of `sides` that tell a side whatever else the name says
    # First word of a name → "l" or "r", of figures with fore and hind legs
    leg_sides: Mapping[str, str]
    parts: Mapping[str, str]  # what a bone is called → part of the body
    sided_parts: Mapping[str, str]  # likewise, beside a side only; "" for what is known and no part
    noise: frozenset[str]  # words that say nothing about the part
    helpers: frozenset[str]  # words of ends of chains and dummies
    vague: frozenset[str]  # words that name a part only if they stand alone


@cache
def read_vocabulary() -> _Vocabulary:
    """Return the words of `vocabulary.toml`."""
    table = read_data("vocabulary.toml")

    def list_sides(*kinds: str) -> dict[str, str]:
        return {
            word: side[0]
            for side, words in table["sides"].items()
            for kind in kinds
            for word in words[kind].split()
        }

    def list_parts(section: str) -> dict[str, str]:
        return {name: part for part, names in table[section].items() for name in names.split()}

    parts = list_parts("parts")
    sided = {name: part.replace("none", "") for name, part in list_parts("sided_parts").items()}
    bones = {kind: frozenset(words.split()) for kind, words in table["bones"].items()}
    return _Vocabulary(
        sides=list_sides("always", "sometimes"),
        sure_sides=frozenset(list_sides("always")),
        leg_sides=list_sides("legs"),
        parts=parts,
        sided_parts=parts | sided,
        **bones,
    )


def read_data(name: str) -> dict[str, Any]:
    """Return a data file of `exactik.anatomy`, by its path in there."""
    file = resources.files("exactik.anatomy").joinpath(name)
    return tomllib.loads(file.read_text(encoding="utf-8"))


class BoneName(NamedTuple):
    """What the name of a bone says."""

    side: str  # "left", "right" or ""
    # Of the body, such as "thigh", see `vocabulary.toml`; "" if none is known by that name
    part: str
    stem: str  # the name without side, noise and numbers, in lower case
    number: int  # the last number in it, −1 for none
    is_helper: bool  # whether it is an end or a dummy rather than a bone


def strip_prefix(name: str) -> str:
    """Return what follows the prefix of a name ("Subject:")."""
    return name.rpartition(":")[2] or name


def split_words(name: str) -> list[str]:
    """Return the words and numbers of a name in small letters, without prefix and accents."""
    plain = unicodedata.normalize("NFKD", strip_prefix(name)).encode("ascii", "ignore").decode()
    return [word.lower() for word in _WORDS.findall(plain)]


def is_side_word(text: str) -> bool:
    """Whether a text is nothing but a side: "L", "right"."""
    return text.casefold() in read_vocabulary().sure_sides


def list_side_readings(words: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the sides "l", "r" and "" that words may tell with the words that remain, likely first.

    The last letter of a word tells least: it is yielded after ("?", words), the side being open.
    """
    vocabulary = read_vocabulary()
    yield "", words
    for k, word in enumerate(words):
        if word in vocabulary.sides and len(words) > 1:
            yield vocabulary.sides[word], words[:k] + words[k + 1 :]
    if len(words) > 1 and words[0] in vocabulary.leg_sides:
        yield vocabulary.leg_sides[words[0]], words[1:]
    first, last = (words[0], words[-1]) if len(words) > 0 else ("", "")
    if first[:1] in SIDE_NAMES and len(first) > 1:
        yield first[0], [first[1:], *words[1:]]
    yield "?", words
    if last[-1:] in SIDE_NAMES and len(last) > 2:
        yield last[-1], [*words[:-1], last[:-1]]


def read_bone_name(name: str) -> BoneName:
    """Return what the name of a bone says."""
    vocabulary = read_vocabulary()
    numbers = [int(word) for word in split_words(name) if word.isdigit()]
    number = numbers[-1] if len(numbers) > 0 else -1
    # "L4" is a vertebra, and "arm_L1" an arm of the left.
    bare = _VERTEBRA.sub(" ", strip_prefix(name))
    if bare != strip_prefix(name) and _find_part(bare)[1] in ("", "spine"):
        return BoneName("", "spine", "".join(split_words(name)), number, False)
    words = [word for word in split_words(name) if not word.isdigit() and word[0] != "#"]
    helper = any(word in vocabulary.helpers for word in words)
    side, part, stem = _find_part(name)
    return BoneName(SIDE_NAMES.get(side, ""), part, stem, number, helper)


def _find_part(name: str) -> tuple[str, str, str]:
    """Return side ("l", "r" or ""), part and stem of the name of a bone."""
    vocabulary = read_vocabulary()
    words = [word for word in split_words(name) if word.isalpha()]
    for k, word in enumerate(words):
        if word in _OF and any(w not in vocabulary.sides for w in words[:k]):
            words = words[:k]
            break
    if len(words) == 0:
        return "", "", ""
    dropped = vocabulary.noise | vocabulary.helpers
    said = [word for word in words if word not in dropped] or words[-1:]
    for side, rest in list_side_readings(said):
        stem = "".join(rest)
        parts = vocabulary.sided_parts if side in SIDE_NAMES else vocabulary.parts
        for known in (stem, re.sub(r"r[xyz]$", "", stem)):  # without the axis of a hinge
            if known in parts:
                return side, _place_hip(parts[known], side), known
    side = next((vocabulary.sides[word] for word in said if word in vocabulary.sure_sides), "")
    rest = [word for word in said if word not in vocabulary.sure_sides]
    if side == "" and said[0] in vocabulary.leg_sides and len(said) > 1:
        side, rest = vocabulary.leg_sides[said[0]], said[1:]
    telling = [word for word in rest if word in vocabulary.parts.keys() - vocabulary.vague]
    telling = telling or [word for word in rest[-1:] if word in ("hand", "foot", "head")]
    part = "" if len(telling) == 0 or "twist" in rest else vocabulary.parts[telling[-1]]
    return side, _place_hip(part, side), "".join(rest or said[-1:])


def _place_hip(part: str, side: str) -> str:
    """Return the part, which is the pelvis for a "hip" in the middle of the body."""
    return "pelvis" if part == "thigh" and side == "" else part


def list_mirrored_names(name: str) -> list[str]:
    """Return what the partner of a bone or marker on the other side may be called, likely first."""
    found = []
    for pattern in _SIDE_PLACES:
        places = list(re.finditer(pattern, name))
        # Each side that it tells, and all of them together: "LShankToLThigh".
        for chosen in [[match] for match in places] + [places]:
            mirrored = name
            for match in reversed(chosen):
                mirrored = mirrored[: match.start()] + _swap(match[0]) + mirrored[match.end() :]
            found.append(mirrored)
    return [other for other in dict.fromkeys(found) if other != name]


def _swap(side: str) -> str:
    opposite = _OPPOSITE[side.lower()]
    if side.isupper():
        return opposite.upper()
    return opposite.capitalize() if side[0].isupper() else opposite


def find_mirrored_name(name: str, names: Collection[str]) -> str | None:
    """Return the name of the same bone or marker on the other side, if it is one of `names`."""
    known = {other.casefold(): other for other in names}
    return next(
        (known[o.casefold()] for o in list_mirrored_names(name) if o.casefold() in known), None
    )
