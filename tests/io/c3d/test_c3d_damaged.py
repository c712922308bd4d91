"""C3D files that lie or are broken: read as far as they can be, or refused in one sentence."""

from __future__ import annotations

import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exactik.errors import FileError, FileWarning
from exactik.io import load_markers
from exactik.model.motion import Markers
from tests.support.c3d_files import encode_integers, encode_parameter, encode_record, make_c3d

VALUES = np.arange(1.0, 601.0).reshape(40, 5, 3)
SOUND = make_c3d(VALUES, analog=np.ones((40, 2)), groups={"ANALOG": {"USED": 2}})


def write(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "file.c3d"
    path.write_bytes(data)
    return path


def load(tmp_path: Path, data: bytes, warns: str | None = None, **options) -> Markers:
    """The markers of a file; `warns` is what it must warn of, else it must not."""
    path = write(tmp_path, data)
    if warns is None:
        return load_markers(path, **options)
    with pytest.warns(FileWarning, match=warns):
        markers = load_markers(path, **options)
    with warnings.catch_warnings(), pytest.raises(FileError):
        warnings.simplefilter("ignore", FileWarning)
        load_markers(path, strict=True, **options)
    return markers


def changed(data: bytes, offset: int, new: bytes) -> bytes:
    return data[:offset] + new + data[offset + len(new) :]


REFUSED: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "byte 0: the file ends here; expected a header of 512 bytes"),
    "short": (SOUND[:511], "byte 511: the file ends here; expected a header of 512 bytes"),
    "magic": (changed(SOUND, 1, b"Q"), "byte 1: 0x51; expected 0x50: not a C3D file"),
    "text": (b"version https://git-lfs" * 30, "byte 1: 0x65; expected 0x50"),
    "header only": (SOUND[:512], "byte 0: parameters in block 2, which is not in this file of 512"),
    "cut parameters": (SOUND[:700], "byte 16: data start in block 3, at byte 1024, but the file"),
    "no data": (SOUND[:1024], "byte 1024: the file ends at byte 1024 before the first frame does"),
    "cut frame": (SOUND[:1100], "expected 40 frames of 88 bytes"),
    "far data": (changed(SOUND, 16, b"\xff\xff"), "expected a block inside the file"),
    "no scale": (
        make_c3d(scale=1.0, header={"scale": np.nan}, groups={"POINT": {"SCALE": None}}),
        "byte 12: scale is nan; expected the factor of integers",
    ),
    "no rate": (
        make_c3d(header={"rate": 0.0}, groups={"POINT": {"RATE": -1.0}}),
        "byte 20: frame rate is 0; give the rate to read it",
    ),
    "no processor": (
        changed(make_c3d(header={"rate": 0.0}), 515, b"\x63"),
        "byte 515: processor type 99; expected 84 (Intel), 85 (DEC) or 86 (MIPS)",
    ),
    "huge points": (
        make_c3d(VALUES, header={"points": 65535}, groups={"POINT": {"USED": 65535}}),
        "before the first frame does; expected 40 frames of 1048560 bytes",
    ),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_unreadable_files_are_refused_in_one_sentence(fault, tmp_path):
    data, message = REFUSED[fault]
    path = write(tmp_path, data)
    with warnings.catch_warnings(), pytest.raises(FileError) as caught:
        warnings.simplefilter("ignore", FileWarning)
        load_markers(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: byte ")
    assert message in text
    assert "\n" not in text


def test_generated_faults(shared_data):
    """What the list of real files expects of each mutation of theirs."""
    refused, read = set(), {}
    for path in sorted((shared_data / "data" / "malformed" / "generated").glob("c3d_*.c3d")):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                read[path.stem] = load_markers(path)
                assert len(warned) > 0
            except FileError as error:
                assert str(error).startswith(f"{path}: byte ")
                refused.add(path.stem)
    hopeless = ("bad_datastart", "bad_magic", "header_only", "trunc_in_params")
    assert refused == {f"c3d_{k}_{why}" for k in "ab" for why in hopeless} | {"c3d_a_trunc_in_data"}
    usable = ("bad_processor", "frames_too_many", "param_noise")
    assert {k: len(m) for k, m in read.items()} == {
        **{f"c3d_a_{why}": 1 for why in usable},
        **{f"c3d_b_{why}": 48 for why in usable},
        "c3d_b_trunc_in_data": 16,
    }
    assert read["c3d_b_trunc_in_data"].notes == (
        "byte 21767: cut short: 16 of 48 frames are there",
    )


def test_empty_file(shared_data):
    with pytest.raises(FileError, match=r"Empty\.c3d: byte 0: the file ends here"):
        load_markers(shared_data / "data" / "malformed" / "real" / "Empty.c3d")


def test_cut_data_keep_whole_frames(tmp_path):
    markers = load(tmp_path, SOUND[: 1024 + 88 * 17 + 5], "cut short: 17 of 40 frames are there")
    np.testing.assert_allclose(markers.positions, VALUES[:17] / 1000.0)


FRAMES: dict[str, tuple[dict[str, Any], int, str | None]] = {
    "header too high": ({"header": {"last": 120}}, 40, "the header says 120 frames; 40 are read"),
    "backwards": ({"header": {"first": 9, "last": 3}}, 40, "first frame has number 9, the last 3"),
    "parameter too high": ({"groups": {"POINT": {"FRAMES": 500}}}, 40, None),
    "nobody counts": ({"header": {"last": 0}, "groups": {"POINT": {"FRAMES": 0}}}, 0, None),
    "long trial": (
        {
            "header": {"last": 65535},
            "groups": {
                "POINT": {"FRAMES": 65535},
                "TRIAL": {"ACTUAL_START_FIELD": [1, 0], "ACTUAL_END_FIELD": [0, 2]},
            },
        },
        44,  # with the padding of the last block, as nobody knows better
        "cut short: 44 of 131072 frames are there",
    ),
}


@pytest.mark.parametrize("case", FRAMES)
def test_frame_counts_that_disagree(case, tmp_path):
    options, frames, warns = FRAMES[case]
    markers = load(tmp_path, make_c3d(VALUES, **options), warns)
    assert len(markers) == frames
    assert len(markers.notes) > 0


def test_more_data_than_stated_are_noted(tmp_path):
    markers = load(tmp_path, SOUND + bytes(5000))
    assert len(markers) == 40
    assert any("bytes follow the last of 40 frames" in note for note in markers.notes)


def test_number_of_the_first_frame_beyond_16_bits(tmp_path):
    trial = {"ACTUAL_START_FIELD": [10, 1], "ACTUAL_END_FIELD": [49, 1]}
    data = make_c3d(VALUES, header={"first": 10, "last": 49}, groups={"TRIAL": trial})
    assert load(tmp_path, data).first_frame == 65546
    markers = load(tmp_path, make_c3d(VALUES, groups={"TRIAL": trial}))
    assert markers.first_frame == 1
    assert any("TRIAL starts at frame 65546, the header at 1" in note for note in markers.notes)


LAYOUTS: dict[str, dict[str, Any]] = {
    "points": {"header": {"points": 4}},
    "analog": {"header": {"analog": 9}, "groups": {"ANALOG": {"USED": 0}}},
    "start": {"header": {"data_start": 4}},
    "kind": {"header": {"scale": 1.0}},
    "all": {"header": {"points": 7, "analog": 3}, "groups": {"ANALOG": {"USED": 0}}},
}


@pytest.mark.parametrize("wrong", LAYOUTS)
def test_parameters_correct_the_header(wrong, tmp_path):
    """Where only their version of the frames ends with the file."""
    data = make_c3d(VALUES, **LAYOUTS[wrong])
    markers = load(tmp_path, data, "header and parameters disagree; frames fit with 5 points and 0")
    np.testing.assert_allclose(markers.positions, VALUES / 1000.0)


def test_header_is_right_where_its_frames_fill_the_file(tmp_path):
    groups = {"POINT": {"USED": 4, "DATA_START": 9, "SCALE": 2.0}, "ANALOG": {"USED": 3}}
    markers = load(tmp_path, make_c3d(VALUES, groups=groups))
    np.testing.assert_allclose(markers.positions, VALUES / 1000.0)
    for part in ("POINT:USED says 4", "DATA_START says block 9", "ANALOG:USED makes 3", "opposite"):
        assert any(part in note for note in markers.notes)


@pytest.mark.parametrize("block", [0, 1, 2])
def test_data_start_that_cannot_be(block, tmp_path):
    data = make_c3d(VALUES, header={"data_start": block}, groups={"POINT": {"DATA_START": None}})
    markers = load(tmp_path, data, f"data in block {block}; block 3 is read instead")
    np.testing.assert_allclose(markers.positions, VALUES / 1000.0)


@pytest.mark.parametrize("block", [0, 1, 3, 200])
def test_wrong_pointer_to_the_parameters(block, tmp_path):
    markers = load(tmp_path, changed(SOUND, 0, bytes([block])), "those in block 2 are read")
    assert markers.names == ("M0", "M1", "M2", "M3", "M4")


@pytest.mark.parametrize("encoding", ["Intel", "DEC", "MIPS"])
def test_unknown_processor_is_guessed(encoding, tmp_path):
    data = changed(make_c3d(VALUES, encoding=encoding), 515, b"\x63")
    markers = load(tmp_path, data, f"byte 515: processor type 99; .* {encoding} makes sense")
    np.testing.assert_allclose(markers.positions, VALUES / 1000.0)


def test_scale_of_integers_is_that_of_the_header(tmp_path):
    data = make_c3d(VALUES, scale=0.5, groups={"POINT": {"SCALE": 0.25}})
    markers = load(tmp_path, data, "POINT:SCALE is 0.25, the header has 0.5, which is used")
    np.testing.assert_allclose(markers.positions, VALUES / 2000.0)


def test_no_parameters_at_all(tmp_path):
    data = changed(SOUND, 516, bytes(508))
    markers = load(tmp_path, data, None, length_unit="mm")
    assert markers.names == ("*0", "*1", "*2", "*3", "*4")
    np.testing.assert_allclose(markers.positions, VALUES / 1000.0)


def extra(name: str | bytes, value: Any, ident: int = 1) -> bytes:
    return encode_record(ident, name, encode_parameter(value, "Intel"), "Intel")


def test_second_group_and_second_parameter_of_a_name(tmp_path):
    second = encode_record(-9, "point", b"\0", "Intel") + extra("y_screen", "+Y", 9)
    markers = load(tmp_path, make_c3d(VALUES, end=second + extra("RATE", 50.0)))
    assert (markers.up_axis, markers.rate) == ("y", 100.0)
    assert any("POINT:RATE comes twice; the first is taken" in note for note in markers.notes)


def test_wrong_step_to_the_next_parameter_is_survived(tmp_path):
    lost = extra("JUNK", 7)
    lost = changed(lost, 6, encode_integers(300, "Intel"))
    data = make_c3d(VALUES, end=lost + extra("Y_SCREEN", "+Y"))
    assert load(tmp_path, data, "JUNK points to byte .*; the next is at byte").up_axis == "y"


def test_parameter_longer_than_its_record_is_cut(tmp_path):
    odd = bytes([255, 2, 4, 200]) + b"aaaabbbb"
    data = make_c3d(VALUES, groups={"POINT": {"LABELS": odd}}, end=extra("Y_SCREEN", "+Y"))
    markers = load(tmp_path, data, "POINT:LABELS takes 800 bytes and has 8 to the next record")
    assert markers.names == ("aaaa", "bbbb", "*0", "*1", "*2")


@pytest.mark.parametrize("junk", [b"\x05\x01\x00\x00", b"\x05\x01AB\x01CDEFGHIJ", b"\x81\x01" * 9])
def test_garbage_after_the_parameters_is_ignored(junk, tmp_path):
    markers = load(tmp_path, make_c3d(VALUES, end=junk), "not a parameter|points to byte")
    np.testing.assert_allclose(markers.positions, VALUES / 1000.0)


def test_memory_is_bounded_by_the_file(tmp_path):
    trial = {"ACTUAL_START_FIELD": [0, 0], "ACTUAL_END_FIELD": [65535, 65535]}
    point = {"FRAMES": 65535, "USED": 65535, "LONG_FRAMES": 3e38}
    data = make_c3d(VALUES, header={"last": 65535}, groups={"TRIAL": trial, "POINT": point})
    nothing = make_c3d(np.ones((0, 0, 3)), header={"last": 65535}, groups={"TRIAL": trial})
    path = write(tmp_path, data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileWarning)
        load_markers(path)
        tracemalloc.start()
        assert len(load_markers(path)) == 44  # with the padding of the last block
        assert load(tmp_path, nothing).positions.size == 0
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 1_000_000


@given(
    st.lists(st.tuples(st.integers(0, 1100), st.integers(0, 255)), max_size=8),
    st.integers(0, len(SOUND)),
)
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_damage_gives_markers_or_a_file_error(tmp_path, flips, cut):
    data = bytearray(SOUND)
    for offset, byte in flips:
        data[offset] = byte
    path = write(tmp_path, bytes(data[: cut if cut % 3 == 0 else len(data)]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileWarning)
        try:
            markers = load_markers(path)
            assert markers.positions.nbytes <= 16 * len(data)
        except FileError as error:
            assert str(error).startswith(f"{path}: byte ")
