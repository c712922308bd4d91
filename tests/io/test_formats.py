"""The table of formats: complete, consistent, and the only place that knows suffixes."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

import exactik
from exactik.errors import FileError
from exactik.io import (
    load_markers,
    load_motion,
    load_skeleton,
    save_markers,
    save_motion,
    save_skeleton,
)
from exactik.io.formats import (
    AMC,
    BVH,
    FORMATS,
    Format,
    Function,
    find_format,
    readable_suffixes,
    writable_suffixes,
    writer_of,
)
from tests.support.checkout import DOCS

SOURCE = Path(exactik.__file__).parent

TABLES = {".csv"}  # may also hold names and values that are no motion

READ_OPTIONS = {
    "skeleton": {"length_unit", "floating"},
    "motion": {"skeleton", "length_unit", "rate", "positions", "animation", "smpl_model"},
    "markers": {"length_unit", "rate", "zeros_are_missing"},
}
WRITE_OPTIONS = {"length_unit", "up_axis", "markers", "angles", "rotations", "quality"}


def functions(form: Format) -> list[Function]:
    hooks = (form.content_of, form.up_axis_of, form.unit_of, form.read_outline)
    found = [*form.readers.values(), *form.writers.values()]
    return found + [hook for hook in hooks if hook is not None]


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_functions_exist_and_take_their_options(form: Format):
    for function in functions(form):
        taken = inspect.signature(function.resolve()).parameters
        assert set(function.options) <= set(taken), function.reference
        module = function.reference.partition(":")[0]
        assert not any(part.startswith("_") for part in module.split(".")), function.reference
    for content, reader in form.readers.items():
        assert set(reader.options) <= READ_OPTIONS[content]
        required = [
            name
            for name, parameter in inspect.signature(reader.resolve()).parameters.items()
            if parameter.default is parameter.empty
        ]
        assert set(required) <= {"path", "notes", *reader.options}
    for writer in form.writers.values():
        assert set(writer.options) <= WRITE_OPTIONS


def test_suffixes_belong_to_one_format_each():
    suffixes = [suffix for form in FORMATS for suffix in form.suffixes]
    assert len(suffixes) == len(set(suffixes))
    assert all(re.fullmatch(r"(\.[a-z0-9]+){1,2}", suffix) for suffix in suffixes)
    assert find_format("a.BVH") is BVH
    assert find_format("a.doc") is None


def test_records_do_not_contradict_themselves():
    for form in FORMATS:
        assert form.up_axis in (None, "x", "y", "z")
        assert form.up_axis is not None or not form.up_axis_is_fixed
        assert set(form.states_up_axis) <= set(form.contents)
        assert (len(form.readable) > 1) == (form.content_of is not None)
        assert form.companion == "" or form.needs_skeleton
        assert form.companion in ("", *readable_suffixes("skeleton"))
        assert form.length_unit is not None or "length_unit" in form.readers["motion"].options
    assert AMC.companion == ".asf"


@pytest.mark.parametrize(
    ("function", "suffixes"),
    [
        (load_skeleton, readable_suffixes("skeleton")),
        (load_motion, readable_suffixes("motion")),
        (load_markers, readable_suffixes("markers")),
        (save_skeleton, writable_suffixes("skeleton")),
        (save_motion, writable_suffixes("motion")),
        (save_markers, writable_suffixes("markers")),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_docstrings_name_every_suffix(function: object, suffixes: tuple[str, ...]):
    text = inspect.getdoc(function) or ""
    assert [suffix for suffix in suffixes if suffix not in text] == []


def test_the_table_in_the_documentation_has_a_row_of_every_format():
    """What can be read and written comes first; then what is kept, lost and assumed, in words."""
    page = (DOCS / "formats.md").read_text("utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| **")]
    rows = [row for row in rows if len(row) == 6]
    assert [row[:3] for row in rows] == [describe(form) for form in FORMATS]
    assert all(cell != "" for row in rows for cell in row)


def describe(form: Format) -> list[str]:
    read, write = ("yes" if len(there) > 0 else "no" for there in (form.readers, form.writers))
    beside = next((f.name for f in FORMATS if form.companion in f.suffixes), "")
    if read == "yes" and form.needs_skeleton:
        read = f"with its {beside}" if beside != "" else "with a skeleton"
    if write == "yes" and beside != "":
        write = f"yes, {beside} beside it"
    suffixes = " ".join(f"`{suffix}`" for suffix in form.suffixes)
    return [f"**{form.full_name}** {suffixes} {', '.join(form.contents)}", read, write]


def test_an_unknown_suffix_lists_those_that_are_known():
    with pytest.raises(FileError, match=r"no writer of markers for \.doc; expected one of \.c3d"):
        writer_of("a.doc", "markers")
    with pytest.raises(FileError) as caught:
        load_motion("walk")
    assert caught.value.code == "unknown-suffix"
    assert "for names without suffix" in caught.value.message
    for name, way in (("hero.usd", "exports .glb"), ("arm.xacro", "makes a URDF")):
        with pytest.raises(FileError, match=way):
            load_skeleton(name)
    with pytest.raises(FileError, match=r"\(\.c3d holds markers\)"):
        load_motion("walk.c3d")
    with pytest.raises(FileError, match=r"-o take\.npz"):
        load_motion("walk.csv")


def test_suffixes_stand_in_the_table_alone():
    known = {suffix for form in FORMATS for suffix in form.suffixes} - TABLES
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        if place == "io/formats.py":
            continue
        nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
        names = [part for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values]
        found += [  # the end of a whole file name, as in f"{name}.bvh", decides nothing
            f"{place}:{node.lineno}"
            for node in nodes
            if isinstance(node, ast.Constant) and node.value in known and node not in names
        ]
    assert found == []
