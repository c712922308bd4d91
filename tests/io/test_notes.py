"""Notes, warnings and errors about files: codes for programs, sentences for people."""

from __future__ import annotations

import ast
import copy
import json
import pickle
import re
import warnings
from pathlib import Path

import pytest

import exactik
from exactik.errors import Advice, FileError, FileWarning, Note
from exactik.io import Notes, collect_warnings, load_motion

SOURCE = Path(exactik.__file__).parent
GUESS = Note("unit-guessed", "assumption", "line 3", "length unit cm assumed", "cm")
UNIT = Advice("; give ", "length_unit")


def option(argument: str) -> str:
    return f"--{argument.replace('_', '-')}"


def test_a_note_is_the_text_that_it_reads_as():
    assert GUESS == "line 3: length unit cm assumed"
    assert isinstance(GUESS, str) and str(GUESS) == GUESS and hash(GUESS) == hash(str(GUESS))
    assert json.dumps([GUESS]) == '["line 3: length unit cm assumed"]'
    assert (GUESS.code, GUESS.severity, GUESS.place) == ("unit-guessed", "assumption", "line 3")
    assert (GUESS.text, GUESS.value) == ("length unit cm assumed", "cm")


def test_a_note_is_frozen_and_survives_copies():
    with pytest.raises(AttributeError, match="frozen"):
        GUESS.code = "other"  # pyright: ignore[reportAttributeAccessIssue]
    for note in (GUESS, GUESS.as_sentence()):
        for again in (pickle.loads(pickle.dumps(note)), copy.deepcopy(note)):
            assert again == note and again.code == note.code and again.place == note.place
            assert again.as_sentence() == note.as_sentence()


def test_any_text_can_be_taken_as_a_note():
    assert Note.of(GUESS) is GUESS
    plain = Note.of("read from another file")
    assert (plain, plain.severity, plain.advice) == ("read from another file", "remark", None)


def test_each_layer_has_its_own_word_for_an_argument():
    note = Note("unit-implausible", "assumption", "line 3", "it is 4 m tall", advice=UNIT)
    assert note == "line 3: it is 4 m tall; give length_unit"
    assert note.renamed(option) == "line 3: it is 4 m tall; give --length-unit"
    assert note.as_sentence().renamed(option) == "It is 4 m tall; give --length-unit (line 3)."
    assert GUESS.renamed(option) is GUESS
    added = Advice("; read with ", "positions", "add", " if they add to it")
    assert str(added) == "; read with positions='add' if they add to it"
    assert str(added.renamed(option)) == "; read with --positions add if they add to it"


def test_errors_carry_code_and_advice():
    error = FileError("a.bvh", "BVH states no length unit", "line 1", "unit-missing", UNIT)
    assert str(error) == "a.bvh: line 1: BVH states no length unit; give length_unit"
    assert error.message == "BVH states no length unit; give length_unit"
    assert str(error.renamed(option)).endswith("; give --length-unit")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.code, again.advice) == (str(error), "unit-missing", UNIT)
    assert FileError("a.bvh", "odd").code == "malformed"


def test_warnings_carry_the_note():
    notes = Notes("a.bvh")
    with pytest.warns(FileWarning, match=r"a\.bvh: line 2: 30 Hz assumed") as caught:
        notes.assume("30 Hz assumed", "line 2", code="rate-assumed")
    warning = caught[0].message
    assert isinstance(warning, FileWarning)
    assert (warning.path, warning.note, warning.note.code) == (
        "a.bvh",
        notes.all[0],
        "rate-assumed",
    )
    assert str(pickle.loads(pickle.dumps(warning))) == str(warning)


def test_damage_is_refused_if_strict():
    with pytest.raises(FileError, match="cut off") as caught:
        Notes("a.bvh", strict=True).flag_damage("cut off", code="cut-off")
    assert caught.value.code == "cut-off"


def test_warnings_become_notes_and_others_pass():
    notes: list[Note] = []
    with pytest.warns(UserWarning, match="something else"), collect_warnings(notes, "a.bvh"):
        Notes("a.bvh").assume("30 Hz assumed", "line 2")
        Notes("b.asf").assume("an inch assumed", "line 5")
        warnings.warn("something else", UserWarning, stacklevel=1)
    assert notes == ["line 2: 30 Hz assumed", "b.asf: line 5: an inch assumed"]


def test_what_a_file_lacks_is_told_by_code(tmp_path: Path):
    (tmp_path / "still.bvh").write_text("HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 0\n}\n")
    with pytest.raises(FileError) as caught:
        load_motion(tmp_path / "still.bvh", length_unit="m")
    assert caught.value.code == "no-motion"


def test_codes_are_words_with_hyphens():
    codes = {
        keyword.value.value
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg == "code" and isinstance(keyword.value, ast.Constant)
    }
    assert {"no-motion", "unit-guessed", "rate-not-stated"} <= codes
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", str(code)) for code in codes)
