"""Markers of several people are told apart by prefixes, by doubled names and by space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from exactik.model.motion import Markers
from exactik.recordings.labelling import split_subjects


def body(name: str, place: tuple[float, float, float], rng: np.random.Generator) -> Markers:
    """Twelve markers on a column of 1.7 m that sways, 60 frames."""
    heights = np.linspace(0.1, 1.7, 12)
    rest = np.column_stack([rng.normal(0.0, 0.1, (12, 2)), heights]) + place
    sway = np.cumsum(rng.normal(0.0, 0.002, (60, 1, 3)), axis=0)
    return Markers(rest + sway, tuple(f"{name}{k}" for k in range(12)), 100.0)


def side_by_side(names: tuple[Sequence[str], Sequence[str]], distance: float) -> Markers:
    rng = np.random.default_rng(1)
    one, other = body("a", (0.0, 0.0, 0.0), rng), body("b", (0.0, distance, 0.0), rng)
    positions = np.concatenate([one.positions, other.positions], axis=1)
    return Markers(positions, (*names[0], *names[1]), 100.0)


LANDMARKS = "LFHD RFHD C7 CLAV LSHO RSHO LFWT RFWT LKNE RKNE LANK RANK".split()


def test_two_prefixes_with_the_same_names_are_two_subjects():
    """Wherever they are: prefixes are words of the user."""
    names = [f"A:{name}" for name in LANDMARKS], [f"B:{name}" for name in LANDMARKS]
    subjects = split_subjects(side_by_side(names, 0.3))
    assert {key: value.names for key, value in subjects.items()} == {
        "A": tuple(names[0]),
        "B": tuple(names[1]),
    }


def test_sides_and_parts_of_a_body_are_no_subjects():
    sides = [f"L_{name}" for name in LANDMARKS], [f"R_{name}" for name in LANDMARKS]
    assert list(split_subjects(side_by_side(sides, 0.3))) == [""]
    parts = [f"Foot_{k}" for k in range(12)], [f"Knee{k}_a" for k in range(12)]
    assert list(split_subjects(side_by_side(parts, 0.3))) == [""]


@pytest.mark.parametrize("style", ["unnamed", "doubled"])
def test_bodies_apart_are_two_subjects_and_near_ones_are_not(style: str):
    if style == "unnamed":
        names = [f"*{k}" for k in range(12)], [f"*{k}" for k in range(12, 24)]
    else:
        names = LANDMARKS, [f"{name}#2" for name in LANDMARKS]
    apart = split_subjects(side_by_side(names, 1.6))
    assert [len(subject.names) for subject in apart.values()] == [12, 12]
    if style == "doubled":
        assert [set(subject.names) for subject in apart.values()] == [set(LANDMARKS)] * 2
    assert list(split_subjects(side_by_side(names, 0.3))) == [""]


def test_known_names_are_one_subject_however_far_apart():
    """A marker set without doubles is one person's, even if half of it flies off."""
    markers = side_by_side((LANDMARKS, [f"X{name}" for name in LANDMARKS]), 3.0)
    assert list(split_subjects(markers)) == [""]


def test_a_stray_point_goes_to_the_subject_within_reach():
    names = [f"A:{name}" for name in LANDMARKS], [f"B:{name}" for name in LANDMARKS]
    markers = side_by_side(names, 2.0)
    near_b = markers.positions[:, 15:16] + (0.05, 0.05, 0.0)
    far = np.full_like(near_b, 9.0)
    positions = np.concatenate([markers.positions, near_b, far], axis=1)
    subjects = split_subjects(
        replace(markers, positions=positions, names=(*markers.names, "*1", "*2"))
    )
    assert "*1" in subjects["B"].names
    assert all("*2" not in subject.names for subject in subjects.values())
