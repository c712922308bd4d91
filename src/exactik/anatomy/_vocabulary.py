"""The words of `vocabulary.toml`, as they are looked up."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, NamedTuple


class Vocabulary(NamedTuple):
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
def read_vocabulary() -> Vocabulary:
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
    return Vocabulary(
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
