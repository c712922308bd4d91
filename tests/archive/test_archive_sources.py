"""What an archive is made of: folders, patterns, manifests and the names of their takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exactik.archive import LISTED_FOLDERS, SkeletonSource, TakeOptions, list_takes
from exactik.archive.tasks import Storage, fetch_file, fingerprint_of, make_name
from exactik.errors import FileError, UsageError
from exactik.io import save_markers
from exactik.model.motion import Markers
from exactik.recordings.pipeline import read_recording

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def takes(tmp_path: Path) -> Path:
    for name in ("s1/static.c3d", "s1/walk 1.c3d", "s2/deep/run.trc", "s2/figure.npz", "s2/x.txt"):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_bytes(b"0")
    return tmp_path / "in"


def names(sources: list[Path | str], **options: Any) -> list[str]:
    return [take.name for take in list_takes(list(map(str, sources)), **options)]


def test_folders_are_listed_with_all_below(takes: Path):
    assert names([takes]) == ["s1/static", "s1/walk_1", "s2/deep/run"]
    assert names([takes / "s1", takes / "s2"]) == ["s1/static", "s1/walk_1", "s2/deep/run"]


def test_patterns_keep_the_folders_after_their_plain_part(takes: Path):
    assert names([takes / "*" / "*.c3d"]) == ["s1/static", "s1/walk_1"]
    assert names([takes / "**" / "*.trc"]) == ["s2/deep/run"]
    with pytest.raises(FileError, match="no recording in it"):
        names([takes / "*.c3d"])


def test_the_folder_can_be_the_subject(takes: Path):
    found = {t.name: t.subject for t in list_takes([str(takes)], subjects=True)}
    assert found == {"s1/static": "s1", "s1/walk_1": "s1", "s2/deep/run": "s2/deep"}


def test_a_manifest_names_takes_subjects_and_options(takes: Path):
    manifest = takes / "all.csv"
    manifest.write_text(
        "take,subject,calibrate,skeleton,skeleton_up,skeleton_unit,robust,smooth,lock\n"
        's1/static.c3d,anna,yes,,,,,6,"[""head""]"\n'
        "s2/deep/run.trc,anna,,arm.npz,y,0.0254,huber,,\n"
        "memory://bucket/x.c3d,,,human,,,,,\n",
        encoding="utf-8",
    )
    static, run, remote = list_takes([str(manifest)])
    assert (static.name, static.address) == ("s1/static", f"{takes}/s1/static.c3d")
    assert (static.subject, static.calibrates, run.calibrates) == ("anna", True, False)
    assert static.options == {"smooth": 6, "lock": ["head"]}
    figure = SkeletonSource(file=f"{takes}/arm.npz", up="y", unit=0.0254)
    assert (run.options, run.skeleton) == ({"robust": "huber"}, figure)
    assert remote.address == "memory://bucket/x.c3d" and remote.fingerprint == ""
    assert remote.skeleton == SkeletonSource(file="human")
    options = TakeOptions().changed(static.options)
    assert (options.smooth, options.lock) == (6, ("head",))
    with pytest.raises(UsageError, match="no option 'colour'"):
        TakeOptions().changed({"colour": "red"})


def test_json_lines_are_the_same_manifest(takes: Path):
    manifest = takes / "all.jsonl"
    rows = [
        {"take": "s1/static.c3d", "name": "first", "options": {"report": False}},
        {"take": "s2/deep/run.trc", "mapping": {"LASI": None}},
    ]
    manifest.write_text("\n".join(map(json.dumps, rows)) + "\n\n", encoding="utf-8")
    first, second = list_takes([str(manifest)])
    assert (first.name, first.options) == ("first", {"report": False})
    assert second.options == {"mapping": {"LASI": None}}
    manifest.write_text("{", encoding="utf-8")
    with pytest.raises(FileError, match="not JSON lines"):
        list(list_takes([str(manifest)]))


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a/b.c3d", "a/b"),
        ("../up/x.trc", "up/x"),
        ("a b/ü:1.c3d", "a_b/ü_1"),
        ("walk.v2.c3d", "walk.v2"),
        ("@x.c3d", "_x"),
    ],
)
def test_names_are_safe_and_never_lead_out_of_the_archive(path: str, name: str):
    assert make_name(path) == name


def test_a_remote_take_of_a_manifest_has_a_fingerprint_that_changes_with_it(
    takes: Path, monkeypatch: pytest.MonkeyPatch
):
    import fsspec
    from fsspec.implementations.memory import MemoryFileSystem

    storage, listed = fsspec.filesystem("memory"), []
    plain = MemoryFileSystem.ls
    monkeypatch.setattr(
        MemoryFileSystem,
        "ls",
        lambda self, path, **o: listed.append(path) or plain(self, path, **o),
    )
    names = [f"memory://lab{k % 2}/take{k}.c3d" for k in range(6)]
    for name in names:
        storage.pipe(name, b"bytes")
    manifest = takes / "all.csv"
    manifest.write_text("take\n" + "\n".join(names), encoding="utf-8")
    before = [take.fingerprint for take in list_takes([str(manifest)])]
    assert "" not in before and len(listed) == 2 < LISTED_FOLDERS <= 40  # once a folder
    assert [take.fingerprint for take in list_takes([str(manifest)])] == before
    storage.pipe(names[3], b"other")
    after = [take.fingerprint for take in list_takes([str(manifest)])]
    assert [a != b for a, b in zip(before, after, strict=True)] == [False] * 3 + [True] + [
        False
    ] * 2


def test_a_file_that_only_has_a_size_has_no_fingerprint():
    assert fingerprint_of({"size": 3, "ETag": "a"}) == "3-a"
    assert fingerprint_of({"size": 3, "last_modified": 5.0}) == "3-5.0"
    assert fingerprint_of({"size": 3, "ETag": None}) == ""


def test_errors_name_the_file_of_the_user_not_a_copy_of_it(tmp_path: Path):
    address = "memory://lab/takes/broken.c3d"
    fsspec.filesystem("memory").pipe("/lab/takes/broken.c3d", b"this is no C3D")
    with pytest.raises(FileError) as caught, fetch_file(address) as path:
        read_recording(path, None)
    assert str(caught.value).startswith(f"{address}: ")
    with pytest.raises(FileError) as caught, fetch_file(address):
        raise FileError("figure.npz", "is another file")
    assert caught.value.path == "figure.npz"
    storage = Storage(str(tmp_path))
    with pytest.raises(FileError) as caught, storage.stage() as folder:
        save_markers(Markers(np.zeros((1, 1, 3)), ("A",), 100.0), folder / "take.xyz")
    assert caught.value.path == f"{tmp_path}/take.xyz"
