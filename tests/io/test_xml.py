"""XML as a tree of elements: text inside elements, places, bounds."""

from __future__ import annotations

from pathlib import Path

import pytest

from exactik.errors import FileError
from exactik.io import Element, _xml, read_xml

MODEL = """<?xml version="1.0"?>
<Document>
  <Model name="leg">
    <Body name="tibia"><mass> 3.7 </mass>
      <location>0 -0.5
        1e-3</location><empty/></Body>
    before <!-- a comment --> between <Body name="foot"/> after &lt; &#233;
  </Model>
</Document>
"""


def tree(folder: Path, text: str) -> Element:
    (folder / "model.xml").write_text(text, encoding="utf-8")
    return read_xml(folder / "model.xml")


def test_elements_keep_their_text(tmp_path: Path):
    """Formats such as OpenSim's have their values there; comments are none of it."""
    model = tree(tmp_path, MODEL).find_child("Model")
    assert model is not None
    tibia, foot = model.find_children("Body")
    mass, location, empty = tibia.children
    assert (mass.text, mass.parse_text(1)) == ("3.7", (3.7,))
    assert location.parse_text(3) == (0.0, -0.5, 0.001)
    assert (empty.text, foot.text, tibia.text) == ("", "", "")
    assert " ".join(model.text.split()) == "before between after < é"


@pytest.mark.parametrize(
    ("text", "count", "message"),
    [
        ("1 2", 3, "its text is '1 2'; expected 3 numbers, found 2"),
        ("", 1, "its text is ''; expected a number, found 0"),
        ("1 x", 2, "its text has 'x'; expected 2 numbers"),
        ("inf", 1, "its text is 'inf'; expected a number, all finite"),
    ],
)
def test_faults_in_text_name_the_element(tmp_path: Path, text: str, count: int, message: str):
    root = tree(tmp_path, f'<a>\n<b name="c">{text}</b></a>')
    with pytest.raises(FileError) as caught:
        root.children[0].parse_text(count)
    assert caught.value.place == 'line 2, <b name="c">'
    assert caught.value.message == message
    assert root.children[0].text == text


def test_infinity_is_a_number_where_it_may_be(tmp_path: Path):
    assert tree(tmp_path, "<range>-inf inf</range>").parse_text(2, infinite=True)[1] == float("inf")


def test_text_is_bounded_as_the_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Entities are refused, so that no text grows beyond the file."""
    monkeypatch.setattr(_xml, "MAX_BYTES", 1 << 16)
    assert len(tree(tmp_path, f"<a>{'x' * 60_000}</a>").text) == 60_000
    with pytest.raises(FileError, match="larger than"):
        tree(tmp_path, f"<a>{'x' * 66_000}</a>")
    with pytest.raises(FileError, match="declares an XML entity"):
        tree(tmp_path, '<!DOCTYPE a [<!ENTITY e "xxxxxxxx">]><a>&e;&e;</a>')


def test_blanks_before_the_declaration(tmp_path: Path):
    """As in the files of two real robots; lines keep their numbers."""
    path = tmp_path / "a.xml"
    path.write_text('\n \n<?xml version="1.0"?>\n<a>\n<b>1</b></a>')
    (child,) = read_xml(path).children
    assert (child.tag, child.text, child.line) == ("b", "1", 5)
    path.write_text("\n<a>\n<b></a>")
    with pytest.raises(FileError, match="line 3: not well-formed"):
        read_xml(path)
