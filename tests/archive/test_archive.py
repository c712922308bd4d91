"""Archives in one process: what is done, what is recorded, what is done again."""

from __future__ import annotations

import json
import shutil
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik.archive import ArchiveResult, read_counts
from exactik.archive.tasks import Storage, _take
from exactik.errors import FileError, UsageError
from exactik.recordings.pipeline import read_skeleton
from tests.support.archives import check_whole, hash_outputs, make_arm, write_takes

pytest.importorskip("distributed")
pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    from distributed import Client

    with Client(
        processes=False,
        n_workers=1,
        threads_per_worker=1,
        dashboard_address=":0",
        set_as_default=False,
    ) as one:
        yield one


@pytest.fixture(scope="module")
def solved(client: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three takes, solved once; tests work on copies."""
    folder = tmp_path_factory.mktemp("archive")
    figure = write_takes(folder / "in", 3)
    ik.solve_archive(folder / "in", folder / "out", skeleton=figure, client=client, smooth=None)
    return folder


@pytest.fixture
def archive(solved: Path, tmp_path: Path) -> Path:
    """A copy of the archive that a test may change; its inputs stay where they are."""
    shutil.copytree(solved / "out", tmp_path / "out")
    return tmp_path / "out"


def run(solved: Path, out: Path, client: Any, **options: Any) -> ArchiveResult:
    given = {"skeleton": solved / "arm.npz", "client": client, "smooth": None} | options
    return ik.solve_archive(given.pop("sources", solved / "in"), out, **given)


def test_takes_have_outputs_provenance_and_a_verdict(solved: Path):
    assert check_whole(solved / "out") == 3
    facts = json.loads((solved / "out/takes/take0001.json").read_text())
    assert facts["verdict"] in ("good", "care", "reject")
    assert facts["input"]["address"] == str(solved / "in/take0001.c3d")
    assert facts["options"]["tracking"]["smooth"] is None
    assert facts["machine"]["processor"] != "" and facts["solver"] == ik.__version__
    assert set(facts["outputs"]) == {"takes/take0001.bvh", "takes/take0001.html"}
    motion = ik.load_motion(solved / "out/takes/take0001.bvh", length_unit="cm")
    assert len(motion) == 12
    assert list((solved / "out/.staging").iterdir()) == []


def test_running_again_does_nothing_and_needs_no_cluster(solved: Path, archive: Path):
    began = time.process_time()
    again = run(solved, archive, client=None)  # there is no time to start one in
    assert time.process_time() - began < 1.0
    assert (again.solved, again.found, again.states) == (0, 3, {"done": 3})


def test_only_what_is_missing_is_done(solved: Path, archive: Path, client: Any):
    hashes = hash_outputs(solved / "out")
    with sqlite3.connect(archive / "ledger.sqlite") as base:
        base.execute("DELETE FROM takes WHERE name='take0000'")  # it was done and not recorded
        base.execute("UPDATE takes SET state='running' WHERE name='take0001'")  # it was begun
    (archive / "takes/take0001.json").unlink()
    (archive / "takes/take0001.bvh").write_text("half a fi")
    again = run(solved, archive, client)
    assert (again.solved, again.found) == (1, 2)
    assert hash_outputs(archive) == hashes


def test_threads_change_no_bit_and_no_key(solved: Path, tmp_path: Path, client: Any):
    run(solved, tmp_path / "out", client, threads=2)
    assert hash_outputs(tmp_path / "out") == hash_outputs(solved / "out")
    name = "out/takes/take0001.json"
    keys = {json.loads((folder / name).read_text())["key"] for folder in (solved, tmp_path)}
    assert len(keys) == 1


def test_other_options_are_another_result(solved: Path, archive: Path, client: Any):
    before = json.loads((archive / "takes/take0002.json").read_text())["key"]
    one = {"sources": solved / "in/take0002.c3d", "report": False}
    again = run(solved, archive, client, **one)
    assert again.solved == 1
    assert json.loads((archive / "takes/take0002.json").read_text())["key"] != before
    assert not (archive / "takes/take0002.html").exists()  # it is of the result before
    assert check_whole(archive) == 3


def test_a_file_with_other_bytes_is_solved_again_and_a_copy_is_not(
    solved: Path, archive: Path, client: Any, tmp_path: Path
):
    shutil.copytree(solved / "in", tmp_path / "in")
    assert run(solved, archive, client, sources=tmp_path / "in").solved == 0  # the same bytes
    write_takes(tmp_path / "new/in", 1, seed=7)
    shutil.copy(tmp_path / "new/in/take0000.c3d", tmp_path / "in/take0002.c3d")
    again = run(solved, archive, client, sources=tmp_path / "in")
    assert (again.solved, again.found) == (1, 2)


def test_a_take_of_which_nobody_can_tell_whether_it_changed_is_read_again(
    solved: Path, archive: Path, client: Any, monkeypatch: pytest.MonkeyPatch
):
    from exactik.archive import _sources

    monkeypatch.setattr(_sources, "_local_fingerprint", lambda _: "")
    read: list[str] = []
    hash_file = _take.hash_file
    monkeypatch.setattr(_take, "hash_file", lambda path: read.append(path.name) or hash_file(path))
    for _ in range(2):
        assert run(solved, archive, client).found == 3
        assert sorted(read) == ["take0000.c3d", "take0001.c3d", "take0002.c3d"]
        read.clear()


def test_axis_and_unit_of_the_skeleton_can_be_given(solved: Path, tmp_path: Path, client: Any):
    arm = make_arm()
    ik.Motion(arm, arm.neutral()[None], 100.0).save(tmp_path / "arm.bvh", length_unit="cm")
    given = {"skeleton": tmp_path / "arm.bvh", "skeleton_up": "y", "skeleton_unit": 0.02}
    result = run(solved, tmp_path / "out", client, **given)
    assert result.failures == {"no-markers": 3}  # a .bvh has none
    (kept,) = (tmp_path / "out/figures").iterdir()
    figure = read_skeleton(str(kept))
    assert figure.up == "y" and figure.skeleton.bones[1].offset[2] == pytest.approx(0.6)


def test_a_corrupt_take_is_recorded_and_stops_nothing(solved: Path, tmp_path: Path, client: Any):
    shutil.copytree(solved / "in", tmp_path / "in")
    broken = tmp_path / "in/take0000.c3d"
    sound = broken.read_bytes()
    broken.write_bytes(sound[:700])
    options = {"sources": tmp_path / "in", "report": False}
    assert run(solved, tmp_path / "out", client, **options).states == {"done": 2, "failed": 1}
    assert check_whole(tmp_path / "out") == 2
    facts = read_counts(tmp_path / "out")
    assert facts["examples"][0]["name"] == "take0000" and sum(facts["failures"].values()) == 1
    broken.write_bytes(sound)
    assert run(solved, tmp_path / "out", client, **options).solved == 1


def test_failures_are_tried_again_when_asked(solved: Path, archive: Path, client: Any):
    with sqlite3.connect(archive / "ledger.sqlite") as base:
        base.execute("UPDATE takes SET state='failed', code='crash' WHERE name='take0000'")
    assert run(solved, archive, client).states == {"done": 2, "failed": 1}
    assert run(solved, archive, client, retry=["failed"]).states == {"done": 3}
    with pytest.raises(UsageError, match="expected failed or aside"):
        run(solved, archive, client, retry=["done"])


def test_only_takes_with_a_verdict_are_done_with_other_options(
    solved: Path, archive: Path, client: Any
):
    with sqlite3.connect(archive / "ledger.sqlite") as base:
        base.execute("UPDATE takes SET verdict='care' WHERE name='take0001'")
        base.execute("UPDATE takes SET verdict='good' WHERE name!='take0001'")
    assert run(solved, archive, client, only={"verdict": "care"}, report=False).solved == 1
    keys = {f.name: json.loads(f.read_text())["options"] for f in archive.rglob("take*.json")}
    assert [name for name, options in keys.items() if not options["report"]] == ["take0001.json"]


def test_two_writers_are_refused(solved: Path, archive: Path):
    from exactik.archive import Ledger

    ledger = Ledger(archive)
    try:
        with pytest.raises(UsageError, match="another `exactik archive run`"):
            run(solved, archive, client=None)
        assert read_counts(archive)["states"] == {"done": 3}  # but anybody may read
    finally:
        ledger.close()


def test_long_takes_are_solved_in_parts_and_joined(solved: Path, tmp_path: Path, client: Any):
    options = {"sources": solved / "in/take0000.c3d", "segment": 5, "formats": ("bvh", "npz")}
    result = run(solved, tmp_path / "out", client, **options)
    assert result.states == {"done": 1} and (result.solved, result.frames) == (1, 12)
    takes = tmp_path / "out/takes"
    reports = [f"take0000.part-{k:03d}.html" for k in (1, 2, 3)]
    outputs = {"take0000.bvh", "take0000.npz", *reports}
    assert {path.name for path in takes.iterdir()} == {*outputs, "take0000.json"}
    assert check_whole(tmp_path / "out") == 1
    assert list((tmp_path / "out/parts").iterdir()) == []  # they are joined
    facts = json.loads((takes / "take0000.json").read_text())
    assert [part["frames"] for part in facts["parts"]] == [[0, 4], [4, 8], [8, 12]]
    # Every part is solved with a second more, which is all of this take: the whole is as if uncut.
    whole = run(solved, tmp_path / "uncut", client, **options | {"segment": 12})
    assert whole.solved == 1
    assert facts["result"]["facts"]["seam_mm"] < 1e-6
    for name in ("take0000.bvh", "take0000.npz"):
        bits = [(tmp_path / out / "takes" / name).read_bytes() for out in ("out", "uncut")]
        assert bits[0] == bits[1]
    with np.load(takes / "take0000.npz") as arrays:
        assert arrays["quality"].shape == (12, ik.load_motion(takes / "take0000.npz").skeleton.nv)
    again = run(solved, tmp_path / "out", client, **options)
    assert (again.solved, again.found) == (0, 1)


def test_parts_that_are_done_are_not_solved_again(solved: Path, tmp_path: Path, client: Any):
    """The ledger is lost while a take is in parts, then a part fails."""
    options = {"sources": solved / "in/take0000.c3d", "segment": 5, "report": False}
    out = tmp_path / "out"
    run(solved, out, client, **options)
    before = hash_outputs(out)
    shutil.rmtree(out)
    kept = Storage.publish

    def publish(self: Storage, staged: Path, name: str) -> None:
        if name.startswith("takes/") or name.endswith("part-003.json"):
            raise FileError(name, "cannot be written", code="storage")
        kept(self, staged, name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Storage, "publish", publish)
        failed = run(solved, out, client, **options)
    assert failed.states == {"failed": 1} and failed.failures == {"storage": 1}
    example = read_counts(out)["examples"][0]
    assert example["reason"].startswith("take0000.part-003: ")
    done = (out / "parts/take0000.part-001.json").stat().st_mtime_ns
    assert run(solved, out, client, **options).states == {"failed": 1}  # not unless asked for
    shutil.copytree(out, tmp_path / "asked")
    retried = run(solved, tmp_path / "asked", client, **options, retry=["failed"])
    assert retried.states == {"done": 1} and hash_outputs(tmp_path / "asked") == before
    for path in out.glob("ledger.sqlite*"):
        path.unlink()
    with pytest.MonkeyPatch.context() as patch:
        seen: list[int] = []
        first = out / "parts/take0000.part-001.json"
        patch.setattr(Storage, "remove", lambda *_: seen.append(first.stat().st_mtime_ns))
        again = run(solved, out, client, **options)
    assert (again.states, again.solved) == ({"done": 1}, 1)
    assert set(seen) == {done}  # it was found
    assert hash_outputs(out) == before


def test_the_summary_is_a_table_and_the_index_a_page(solved: Path):
    import pyarrow.parquet as pq

    rows = pq.read_table(solved / "out/summary.parquet").to_pylist()
    assert [row["take"] for row in rows] == ["take0000", "take0001", "take0002"]
    assert all(row["frames"] == 12 and row["solves"] == 1 for row in rows)
    assert all(0.3 < row["mean_mm"] < 3.0 for row in rows)  # 1 mm of noise was added
    page = (solved / "out/index.html").read_text("utf-8")
    data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    assert [take["name"] for take in data["takes"]] == [row["take"] for row in rows]
    assert len(data["takes"][0]["curve"]) == 12
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "") and "https" not in page


def test_an_unknown_option_or_source_is_misuse(solved: Path, tmp_path: Path):
    with pytest.raises(UsageError, match="no argument 'smoth'"):
        run(solved, tmp_path / "out", client=None, smoth=None)
    with pytest.raises(FileError, match="no such file or folder"):
        run(solved, tmp_path / "out", client=None, sources=tmp_path / "nowhere")
    assert not (tmp_path / "out").exists()
    with pytest.raises(FileError, match="no ledger there"):
        read_counts(tmp_path / "nowhere")


def test_subjects_are_calibrated_once_on_their_chosen_take(
    solved: Path, tmp_path: Path, client: Any
):
    """The arm of the recordings is longer than the figure; its takes then fit the fitted one."""
    write_takes(tmp_path / "in/anna", 3, frames=30, scale=1.2)
    options = {"sources": tmp_path / "in", "subjects": True, "calibrate_on": "*0001"}
    options["skeleton"] = solved / "arm.npz"
    first = run(solved, tmp_path / "out", client, **options, report=False)
    assert first.states == {"done": 3}
    facts = json.loads((tmp_path / "out/subjects/anna.json").read_text())
    assert list(facts["inputs"]) == [str(tmp_path / "in/anna/take0001.c3d")]
    fitted = ik.load_skeleton(tmp_path / "out/subjects/anna.npz")
    lengths = [float(bone.offset[2]) for bone in fitted.bones[1:]]
    assert lengths == pytest.approx([0.36, 0.36], abs=0.02)
    take = json.loads((tmp_path / "out/takes/anna/take0002.json").read_text())
    assert take["figure"]["file"] == "subjects/anna.npz"
    assert run(solved, tmp_path / "out", client, **options, report=False).found == 3


def test_a_subject_without_a_figure_takes_only_its_own_takes_with_it(
    solved: Path, tmp_path: Path, client: Any
):
    shutil.copytree(solved / "in", tmp_path / "in/good")
    (tmp_path / "in/bad").mkdir()
    (tmp_path / "in/bad/take.c3d").write_bytes(b"nothing")
    (tmp_path / "in/manifest.csv").write_text(
        "take,subject\nbad/take.c3d,bad\ngood/take0000.c3d,\n", encoding="utf-8"
    )
    result = run(solved, tmp_path / "out", client, sources=tmp_path / "in/manifest.csv")
    assert result.states == {"done": 1, "failed": 1} and result.failures == {"no-figure": 1}


def test_takes_with_one_name_are_told_apart(solved: Path, tmp_path: Path, client: Any):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        shutil.copy(solved / "in/take0000.c3d", tmp_path / folder)
    (tmp_path / "all.jsonl").write_text(
        '{"take": "a/take0000.c3d", "name": "x"}\n{"take": "b/take0000.c3d", "name": "x"}\n'
    )
    result = run(solved, tmp_path / "out", client, sources=tmp_path / "all.jsonl", report=False)
    assert result.states == {"done": 1, "failed": 1} and result.failures == {"manifest": 1}


def test_the_command_tells_how_far_it_is(solved: Path, tmp_path: Path):
    from typer.testing import CliRunner

    from exactik.cli import app, load_commands

    load_commands(["archive"])

    told = CliRunner().invoke(app, ["archive", "status", str(solved / "out"), "--json"])
    assert told.exit_code == 0 and json.loads(told.stdout)["states"] == {"done": 3}
    told = CliRunner().invoke(app, ["archive", "status", str(solved / "out")])
    assert told.stdout.startswith("3 takes: 3 done.")
    given = [str(solved / "in"), "-o", str(tmp_path / "o"), "--skeleton", str(solved / "arm.npz")]
    bad = CliRunner().invoke(app, ["archive", "run", *given, "--only", "care"])
    assert isinstance(bad.exception, UsageError)
