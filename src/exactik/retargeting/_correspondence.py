"""Which bone of the target takes over which of the source, proposed, shown and changed by hand.

Parts of the body correspond by their names; bones between pelvis and chest, and of the neck, by how
far along they are, for they differ in number. Further bones (fingers, eyes, tails) correspond where
both skeletons have one of the same name. A mapping overrides all of it:

    {"left_hand": ["LeftWrist", "l_hand"], "spine_1": [null, "torso"], "tail_1": ["Tail1", "tail"]}

part → bones of source and target; null keeps what is proposed for that one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from exactik._text import count_noun, join_names
from exactik.anatomy import Anatomy
from exactik.errors import FileError, UsageError
from exactik.typing import Array

BoneMapping = Mapping[str, tuple[str | None, str | None]]
MAX_LISTED = 12  # bones without a counterpart in a sentence


class BonePair(NamedTuple):
    """A bone of the target and the one that it takes over."""

    part: str  # of the target's body
    source_part: str  # of the source's body; another one only along spine and neck
    source: str  # bone
    target: str  # bone


@dataclass(frozen=True)
class Correspondence:
    """Which bone of the target takes over which of the source.

    Attributes:
        pairs: what corresponds.
        source_only: bones of the source that move and have no counterpart.
        target_only: bones of the target that could move and have no counterpart: they stay at rest.
    """

    pairs: tuple[BonePair, ...]
    source_only: tuple[str, ...]
    target_only: tuple[str, ...]

    def __str__(self) -> str:
        """Return a table, and what has no counterpart."""
        widths = [max(len(row[k]) for row in self.pairs) for k in (0, 2)]
        lines = [
            f"{pair.part:<{widths[0]}}  {pair.source:<{widths[1]}}  →  {pair.target}"
            for pair in self.pairs
        ]
        for bones, text in (
            (self.source_only, "of the source taken over by none"),
            (self.target_only, "of the target without a counterpart, left at rest"),
        ):
            if len(bones) > 0:
                count = count_noun(len(bones), "bone")
                lines.append(f"{count} {text}: {join_names(bones, MAX_LISTED)}")
        return "\n".join(lines)


def make_correspondence(
    source: Anatomy, target: Anatomy, source_positions: Array, target_positions: Array
) -> Correspondence:
    """Return what corresponds, from the parts of both bodies and their bones at rest [m]."""
    pairs = []
    along = {
        stem: (_find_shares(source, stem, source_positions), target_shares)
        for stem in ("spine", "neck")
        if len(target_shares := _find_shares(target, stem, target_positions)) > 0
    }
    for part, bones in target.parts.items():
        stem = part.rpartition("_")[0]
        source_part = part
        if stem in along:
            shares, target_shares = along[stem]
            if len(shares) == 0:
                continue
            source_part = min(shares, key=lambda p: abs(shares[p] - target_shares[part]))
        if source_part in source.parts:
            pairs.append(BonePair(part, source_part, source.parts[source_part].bone, bones.bone))
    for name, bone in target.others.items():
        if name in source.others:
            pairs.append(BonePair(name, name, source.others[name], bone))
    used_source = _used_bones(source, {p.source_part for p in pairs})
    used_target = _used_bones(target, {p.part for p in pairs})
    return Correspondence(
        pairs=tuple(pairs),
        source_only=_find_unused(source, used_source),
        target_only=_find_unused(target, used_target),
    )


def _find_shares(anatomy: Anatomy, stem: str, positions: Array) -> dict[str, float]:
    """Return how far along spine or neck each of its bones is, from 0 to 1."""
    ends = ("pelvis", "chest") if stem == "spine" else ("chest", "head")
    names = [ends[0], *anatomy.chain(stem), ends[1]]
    if any(name not in anatomy.parts for name in names):
        return {}
    index = [anatomy.skeleton.bone_index(anatomy.parts[name].bone) for name in names]
    steps = np.linalg.norm(np.diff(positions[index], axis=0), axis=1)
    shares = np.concatenate([[0.0], np.cumsum(steps)]) / max(float(steps.sum()), 1e-12)
    return dict(zip(names, shares.tolist(), strict=True))


def _used_bones(anatomy: Anatomy, names: set[str]) -> set[str]:
    """Return the bones of parts, with those that they consist of between start and bone."""
    used, skeleton = set(), anatomy.skeleton
    for name in names:
        if name in anatomy.others:
            used.add(anatomy.others[name])
            continue
        part = anatomy.parts[name]
        k, start = skeleton.bone_index(part.bone), skeleton.bone_index(part.start)
        used |= {part.bone, part.start}
        while k > min(start, skeleton.bone_index(part.bone)):
            used.add(skeleton.bone_names[k])
            k = int(skeleton.parents[k])
    return used


def _find_unused(anatomy: Anatomy, used: set[str]) -> tuple[str, ...]:
    """Return bones that move and are neither in use nor hinges on the way to one in use."""
    skeleton, hinges = anatomy.skeleton, set[int]()
    for bone in used:
        k = int(skeleton.parents[skeleton.bone_index(bone)])
        while k >= 0 and skeleton.bones[k].joint.nv <= 1 and skeleton.bone_names[k] not in used:
            hinges.add(k)
            k = int(skeleton.parents[k])
    return tuple(
        bone.name
        for k, bone in enumerate(skeleton.bones)
        if bone.joint.nv > 0
        and bone.name not in used
        and k not in hinges
        and bone.parent is not None
    )


def split_mapping(mapping: BoneMapping | None) -> tuple[dict[str, str], dict[str, str]]:
    """Return what a mapping says of the source and of the target: part → bone."""
    given: tuple[dict[str, str], dict[str, str]] = ({}, {})
    if mapping is None:
        return given
    if not isinstance(mapping, Mapping):
        raise UsageError(f"mapping is {mapping!r}; expected {{part: (source bone, target bone)}}")
    for part, bones in mapping.items():
        if not _is_pair_of_bones(bones):
            raise UsageError(f"the mapping of {part!r} is {bones!r}; expected [source, target]")
        for known, bone in zip(given, bones, strict=True):
            if bone is not None:
                known[part] = bone
    return given


def _is_pair_of_bones(value: object) -> bool:
    """Whether it is a list or tuple of two, of which each is the name of a bone or None."""
    if not isinstance(value, list | tuple) or len(value) != 2:
        return False
    return all(bone is None or isinstance(bone, str) for bone in value)


def load_mapping(path: str | os.PathLike[str]) -> dict[str, tuple[str | None, str | None]]:
    """Return the mapping in a .json file; see the module for what it holds."""
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except OSError as error:
        raise FileError(path, f"cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise FileError(path, f"is no JSON: {error}") from None
    if not isinstance(content, dict):
        raise FileError(path, 'expected {"part": ["bone of the source", "bone of the target"]}')
    mapping: dict[str, tuple[str | None, str | None]] = {}
    for part, bones in content.items():
        if not _is_pair_of_bones(bones):
            raise FileError(path, f"{part!r}: expected [bone of the source, bone of the target]")
        mapping[part] = (bones[0], bones[1])
    return mapping


def save_mapping(correspondence: Correspondence, path: str | os.PathLike[str]) -> None:
    """Write what corresponds to a .json file, to be edited and given back."""
    lines = [
        f"  {json.dumps(pair.part)}: {json.dumps([pair.source, pair.target], ensure_ascii=False)}"
        for pair in correspondence.pairs
        if pair.part == pair.source_part
    ]
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write("{\n" + ",\n".join(lines) + "\n}\n")
    except OSError as error:
        raise FileError(path, f"cannot be written: {error.strerror or error}") from None
