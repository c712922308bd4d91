"""TRC, TSV, MOT and NPZ files that are wrong or hostile: one clear line, and no time or memory."""

from __future__ import annotations

import io
import json
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik.errors import FileError, FileWarning
from tests.support.models import gantry

TRC = "PathFileType\t4\t(X/Y/Z)\tx\nDataRate\tNumFrames\tNumMarkers\tUnits\n100\t2\t1\tmm\n"
TSV = "NO_OF_MARKERS\t1\nFREQUENCY\t100\nMARKER_NAMES\tA\nFrame\tTime\tA X\tA Y\tA Z\n"
MOT = "Coordinates\ninDegrees=yes\nendheader\n"


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def refused(path: Path, message: str, load: Callable[..., Any], *more: Any) -> None:
    with pytest.raises(FileError, match=message) as caught:
        load(path, *more)
    text = str(caught.value)
    assert text.startswith(f"{path}: ") and text.isprintable() and len(text) < 600 + len(str(path))


# --- text


@pytest.mark.parametrize("last", ["\t1" * 20_000, ""])
def test_rows_of_very_different_length_take_no_memory(tmp_path: Path, last: str):
    names = "Frame#\tTime\t" + ("A" if last != "" else "A\t\t\t" * 20_000) + "\n"
    path = write(tmp_path, "x.trc", TRC + names + "1\t0\t1\t2\t3\n" * 9_000 + f"2\t0{last}\n\n")
    tracemalloc.start()
    refused(path, "rows for .* columns have .* numbers in all; expected", ik.load_markers)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * path.stat().st_size


def test_the_number_of_the_first_frame_may_be_missing(tmp_path: Path):
    path = write(tmp_path, "x.tsv", TSV + "nan\t0\t1\t2\t3\n2\t0.01\t1\t2\t3\n")
    assert ik.load_markers(path).first_frame == 1


@pytest.mark.parametrize("times", [("-1e308", "1e308"), ("0", "5e-324"), ("0", "1e300")])
def test_times_without_end_tell_no_rate(tmp_path: Path, times: tuple[str, str]):
    rows = "".join(f"{t}\t1\t2\t3\n" for t in times)
    path = write(tmp_path, "x.mot", MOT + "\t".join(("time", *gantry().dof_names)) + "\n" + rows)
    with pytest.warns(FileWarning, match="the times do not tell; 100 Hz"):
        assert ik.load_motion(path, gantry()).rate == 100.0


@pytest.mark.parametrize("names", ["time\tbeyond", "time"])
def test_columns_that_are_no_dofs_are_refused_by_the_name_of_the_file(tmp_path: Path, names: str):
    path = write(tmp_path, "x.mot", f"{MOT}{names}\n")
    refused(path, "no column is named as a dof of the skeleton", ik.load_motion, gantry())


def test_many_columns_are_quick(tmp_path: Path):
    names = [*gantry().dof_names * 40_000]
    path = write(tmp_path, "x.mot", MOT + "time\t" + "\tx\t".join(names) + "\n")
    start = time.process_time()
    with pytest.warns(FileWarning, match="100 Hz"):
        ik.load_motion(path, gantry())
    assert time.process_time() - start < 2.0


# --- our own archive


def packed(path: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """Write a motion, and change the entries of its archive."""
    ik.Motion(gantry(), np.zeros((4, 3)), 10.0).save(path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    change(parts)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return path


def with_json(change: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, bytes]], None]:
    def apply(parts: dict[str, bytes]) -> None:
        about = json.loads(str(np.load(io.BytesIO(parts["about.npy"]))))
        change(about)
        out = io.BytesIO()
        np.save(out, np.array(json.dumps(about)))
        parts["about.npy"] = out.getvalue()

    return apply


def in_array(old: bytes, new: bytes) -> Callable[[dict[str, bytes]], None]:
    def apply(parts: dict[str, bytes]) -> None:
        assert parts["q.npy"].count(old) == 1
        parts["q.npy"] = parts["q.npy"].replace(old, new)

    return apply


FAULTS: dict[str, tuple[Callable[[dict[str, bytes]], None], str]] = {
    "huge": (in_array(b"(4, 3)", b"(40000000000, 3)"), "array 'q' claims 960000000000 bytes, but"),
    "objects": (in_array(b"<f8", b"|O8"), "array 'q' has no head of a known kind"),
    "code": (in_array(b"(4, 3)", b"exit()"), "array 'q' has no head of a known kind"),
    "no skeleton": (with_json(lambda a: a.pop("skeleton")), "no 'skeleton'"),
    "no rate": (with_json(lambda a: a.pop("rate")), "fit together: no 'rate'"),
    "rate": (with_json(lambda a: a.update(rate="x")), "do not fit together: rate is 'x'"),
    "large rate": (with_json(lambda a: a.update(rate=10**400)), "do not fit together"),
    "frame": (with_json(lambda a: a.update(first_frame="x")), "first_frame is 'x'; expected a wh"),
    "axis": (with_json(lambda a: a.update(up_axis=[1])), r"up_axis is \[1\]; expected x, y, z"),
    "notes": (with_json(lambda a: a.update(notes=3)), "do not fit together"),
    "metadata": (with_json(lambda a: a.update(metadata=[1])), "do not fit together"),
    "bones": (with_json(lambda a: a["skeleton"].update(bones=[10**400])), "cannot be built"),
    "limits": (
        with_json(lambda a: a["skeleton"]["bones"][0]["joint"].update(limits=[])),
        "the skeleton cannot be built",
    ),
    "deep": (
        lambda parts: parts.update({"about.npy": _saved("[" * 100_000)}),
        "not a file that exactik wrote",
    ),
    "no characters": (
        lambda parts: parts.update({"about.npy": parts["about.npy"][:-4] + b"\xff" * 4}),
        "not a file that exactik wrote",
    ),
}


def _saved(text: str) -> bytes:
    out = io.BytesIO()
    np.save(out, np.array(text))
    return out.getvalue()


@pytest.mark.parametrize("fault", FAULTS)
def test_archives_that_are_changed(tmp_path: Path, fault: str):
    change, message = FAULTS[fault]
    refused(packed(tmp_path / "x.npz", change), message, ik.load_motion)


def test_archives_with_bytes_that_are_changed(tmp_path: Path):
    """Damaged streams, unknown methods and encryption are errors of three other libraries."""
    path = packed(tmp_path / "x.npz", lambda parts: None)
    whole = path.read_bytes()
    for offset in range(len(whole)):
        path.write_bytes(whole[:offset] + bytes([whole[offset] ^ 0x5A]) + whole[offset + 1 :])
        try:
            ik.load_motion(path)
        except FileError as error:
            assert str(error).startswith(f"{path}: ")


def test_infinities_in_an_archive_are_gaps(tmp_path: Path):
    path = tmp_path / "x.npz"
    ik.Markers(np.full((1, 1, 3), np.inf), ("A",), 10.0).save(path)
    assert np.isnan(ik.load_markers(path).positions).all()


def test_arrays_of_either_order_come_back(tmp_path: Path):
    path, q = tmp_path / "x.npz", np.asfortranarray(np.arange(6.0).reshape(2, 3))
    with open(path, "wb") as file:
        ik.Motion(gantry(), np.zeros((2, 3)), 10.0).save(tmp_path / "y.npz")
        with np.load(tmp_path / "y.npz") as other:
            np.savez_compressed(file, about=other["about"], q=q)
    np.testing.assert_array_equal(ik.load_motion(path).q, q)


def test_what_errors_quote_is_one_line_that_can_be_printed():
    error = FileError("x.bvh", f"found '\x1b[31m\n\u2028\ud800{'a' * 9999}'; expected y", "line\t1")
    assert str(error).isprintable() and len(str(error)) < 500
    assert str(error).startswith("x.bvh: line 1: found") and str(error).endswith("; expected y")
