"""Archives whose processes are killed, whose disk is full, whose storage does not answer.

After resuming every take is done or recorded, no output is partial, none is written twice, and all
have the hashes of an undisturbed run.
"""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from exactik.archive import read_counts
from tests.support import archive_faults
from tests.support.archives import check_whole, hash_outputs, write_takes
from tests.support.dropping_proxy import DroppingProxy

psutil = pytest.importorskip("psutil")
pytest.importorskip("distributed")

pytestmark = pytest.mark.slow

TAKES = 150
WORKER_KILLS, MAIN_KILLS, SCHEDULER_KILLS = 100, 20, 5


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    write_takes(folder / "in", TAKES)
    assert start(folder, folder / "out").wait() == 0
    return folder


def start(
    folder: Path,
    out: Path,
    *more: str,
    seconds: float = 0.0,
    sources: str = "in",
    environment: dict[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start `exactik archive run` with workers that do what `archive_faults` says."""
    command = [sys.executable, "-m", "exactik", "archive", "run", sources, "-o", str(out)]
    command += ["--skeleton", str(folder / "arm.npz"), "--smooth", "none", *more]
    if "--scheduler" not in more and "--workers" not in more:
        command += ["--workers", "2"]
    return subprocess.Popen(
        command, cwd=folder, env=make_environment(seconds) | (environment or {})
    )


def make_environment(seconds: float = 0.0) -> dict[str, str]:
    preload = json.dumps([str(Path(archive_faults.__file__))])
    return {
        **os.environ,
        "DASK_DISTRIBUTED__WORKER__PRELOAD": preload,
        "EXACTIK_TEST_SECONDS": str(seconds),
    }


def find_workers(main: subprocess.Popen[bytes]) -> list[Any]:
    try:
        children = psutil.Process(main.pid).children(recursive=True)
        return [p for p in children if "spawn_main" in " ".join(p.cmdline())]
    except psutil.Error:
        return []


def is_ready(worker: Any) -> bool:
    try:
        return sum(worker.cpu_times()[:2]) > 2.5  # [s] that it takes to start
    except psutil.Error:
        return False


def note_files(out: Path) -> dict[str, tuple[int, int]]:
    """Every output and provenance with its inode and time: one that is written again has others."""
    takes = out / "takes"
    found = {}
    for path in takes.rglob("*"):
        if path.suffix == ".json":
            facts = path.stat()
            found[path.name] = (facts.st_ino, facts.st_mtime_ns)
    return found


def is_kept(before: dict[str, tuple[int, int]], after: dict[str, tuple[int, int]]) -> bool:
    return before.items() <= after.items()


def finish(folder: Path, out: Path, *more: str) -> None:
    """Run to the end; takes that were set aside by the killing are tried again."""
    assert start(folder, out, "--retry", "aside", "--retry", "failed", *more).wait() == 0


def check_same(folder: Path, out: Path) -> None:
    assert read_counts(out)["states"] == {"done": TAKES}
    assert check_whole(out) == TAKES
    assert hash_outputs(out) == hash_outputs(folder / "out")


def check_recorded(folder: Path, out: Path) -> None:
    """Check that every take is done or recorded, and that what is there is as undisturbed."""
    states = read_counts(out)["states"]
    assert set(states) <= {"done", "failed", "aside"} and sum(states.values()) == TAKES
    # One whose third worker died between two of its files left one that no provenance claims; it
    # is whole in itself, and written over when the take is tried again.
    assert check_whole(out, unclaimed=TAKES - states["done"]) == states["done"]
    assert hash_outputs(out).items() <= hash_outputs(folder / "out").items()


@pytest.mark.parametrize("workers", ["1", "4"])
def test_any_number_of_workers_writes_the_same_bits(
    undisturbed: Path, tmp_path: Path, workers: str
):
    assert start(undisturbed, tmp_path / "out", "--workers", workers).wait() == 0
    check_same(undisturbed, tmp_path / "out")


def test_workers_are_killed(undisturbed: Path, tmp_path: Path):
    out, dice, kills = tmp_path / "out", random.Random(1), 0
    files: dict[str, tuple[int, int]] = {}
    while kills < WORKER_KILLS:
        if (out / "takes").exists() and read_counts(out)["states"].get("waiting", 0) == 0:
            check_recorded(undisturbed, out)
            out = tmp_path / f"out{kills}"  # all are done: the rest of the kills in another one
            files = {}
        run = start(undisturbed, out, seconds=0.3)
        while run.poll() is None and kills < WORKER_KILLS:
            now = note_files(out)
            assert is_kept(files, now)
            if len(now) == len(files):  # workers that are still starting prove nothing
                time.sleep(0.05)
                continue
            files = now
            time.sleep(dice.uniform(0.0, 0.5))
            # Mostly those at work: one that dies while it starts is replaced after half a minute.
            workers = find_workers(run)
            ready = [w for w in workers if is_ready(w)] if dice.random() < 0.95 else workers
            if len(ready) > 0:
                dice.choice(ready).kill()
                kills += 1
        assert run.wait() in (0, 1)
    finish(undisturbed, out)
    assert is_kept(files, note_files(out))
    check_same(undisturbed, out)


def test_the_main_process_is_killed(undisturbed: Path, tmp_path: Path):
    out, dice, kills = tmp_path / "out", random.Random(2), 0
    files: dict[str, tuple[int, int]] = {}
    while kills < MAIN_KILLS:
        run = start(undisturbed, out, seconds=0.5)
        time.sleep(dice.uniform(1.0, 12.0))
        if run.poll() is None:
            workers = find_workers(run)
            run.kill()
            kills += 1
            psutil.wait_procs(workers, timeout=30)
            assert not any(w.is_running() for w in workers)  # nobody is left to write
        run.wait()
        now = note_files(out)
        assert is_kept(files, now)
        files = now
    finish(undisturbed, out)
    assert is_kept(files, note_files(out))
    check_same(undisturbed, out)


def test_the_scheduler_is_killed(undisturbed: Path, tmp_path: Path):
    out, dice = tmp_path / "out", random.Random(3)
    for k in range(SCHEDULER_KILLS + 1):
        with DaskCluster(tmp_path, workers=2, seconds=0.5 if k < SCHEDULER_KILLS else 0.0) as (
            scheduler,
            address,
        ):
            run = start(undisturbed, out, "--scheduler", address)
            if k < SCHEDULER_KILLS:
                time.sleep(dice.uniform(5.0, 12.0))
                scheduler.kill()
                assert run.wait(120) in (0, 2)
            else:
                assert run.wait() == 0
    check_same(undisturbed, out)


def test_long_takes_are_joined_to_the_same_bits_after_any_interruption(tmp_path: Path):
    """Parts on one worker, on two, and with the main process killed while they are solved."""
    write_takes(tmp_path / "in", 6, frames=400)
    more = ("--segment", "150", "--format", "bvh,npz")
    for workers in ("1", "2"):
        assert start(tmp_path, tmp_path / f"out{workers}", *more, "--workers", workers).wait() == 0
    expected = hash_outputs(tmp_path / "out1")
    assert len(expected) == 6 * (2 + 3)  # two formats and the reports of three parts
    assert hash_outputs(tmp_path / "out2") == expected
    out, dice, kills = tmp_path / "killed", random.Random(4), 0
    while kills < 5:
        run = start(tmp_path, out, *more, seconds=0.5)
        time.sleep(dice.uniform(4.0, 12.0))
        if run.poll() is not None:
            break
        workers_left = find_workers(run)
        run.kill()
        run.wait()
        kills += 1
        psutil.wait_procs(workers_left, timeout=30)
    assert kills > 0
    assert start(tmp_path, out, *more).wait() == 0
    assert hash_outputs(out) == expected and check_whole(out) == 6
    assert list((out / "parts").rglob("*.npz")) == []


class DaskCluster:
    """A scheduler and workers, each a process, as `dask scheduler` and `dask worker` start them."""

    def __init__(self, folder: Path, workers: int, seconds: float):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{port}"
        self.folder, self.workers, self.seconds, self.port = folder, workers, seconds, port
        self.processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> tuple[subprocess.Popen[bytes], str]:
        place = ["--host", "127.0.0.1", "--port", str(self.port)]
        self._start("scheduler", *place, "--dashboard-address", ":0")
        options = ["--nthreads", "1", "--nworkers", str(self.workers), "--death-timeout", "20"]
        self._start("worker", self.address, *options, "--dashboard-address", ":0")
        return self.processes[0], self.address

    def _start(self, *command: str) -> None:
        self.processes.append(
            subprocess.Popen(
                [sys.executable, "-m", "dask", *command],
                cwd=self.folder,
                env=make_environment(self.seconds),
                stderr=subprocess.DEVNULL,
            )
        )

    def __exit__(self, *_: object) -> None:
        for process in reversed(self.processes):
            try:
                below = psutil.Process(process.pid).children(recursive=True)
            except psutil.Error:
                below = []
            process.kill()
            for one in below:
                one.kill()
            process.wait()


def test_a_take_that_loops_and_one_that_kills_are_recorded(tmp_path: Path):
    write_takes(tmp_path / "in", 6)
    for name, new in (("take0001", "loops"), ("take0003", "kills")):
        (tmp_path / f"in/{name}.c3d").rename(tmp_path / f"in/{new}.c3d")
    (tmp_path / "in/take0004.c3d").write_bytes(b"corrupt")
    assert start(tmp_path, tmp_path / "out", "--time-limit", "30").wait() == 1
    facts = read_counts(tmp_path / "out")
    assert facts["states"] == {"done": 3, "failed": 2, "aside": 1}
    codes = {failure["name"]: failure["code"] for failure in facts["examples"]}
    assert codes["loops"] == "timeout" and codes["kills"] == "killed-workers"
    assert check_whole(tmp_path / "out") == 3


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 3 MB, which a test can let grow."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("no file system can be mounted here: that needs root")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk_stops_the_run_and_nothing_is_lost(undisturbed: Path, small_disk: Path):
    out = small_disk / "out"
    assert start(undisturbed, out).wait() == 2
    assert 0 < check_whole(out) < TAKES
    files = note_files(out)
    subprocess.run(["mount", "-o", "remount,size=300m", str(small_disk)], check=True)
    assert start(undisturbed, out).wait() == 0
    assert is_kept(files, note_files(out))
    check_same(undisturbed, out)


@pytest.fixture(scope="module")
def s3() -> Iterator[int]:
    """The port of an S3 server with an empty bucket."""
    server = pytest.importorskip("moto.server").ThreadedMotoServer(port=0, verbose=False)
    server.start()
    yield server.get_host_and_port()[1]
    server.stop()


def s3_environment(port: int) -> dict[str, str]:
    return {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
    }


@pytest.mark.parametrize("share", [0.0, 0.2], ids=["sound", "dropping"])
def test_takes_and_outputs_in_object_storage(
    undisturbed: Path, tmp_path: Path, s3: int, share: float
):
    s3fs = pytest.importorskip("s3fs")
    bucket = f"takes-{round(100 * share)}"
    files = s3fs.S3FileSystem(
        key="test", secret="test", endpoint_url=f"http://127.0.0.1:{s3}", use_listings_cache=False
    )
    files.mkdir(bucket)
    files.put(str(undisturbed / "in") + "/", f"{bucket}/in/", recursive=True)
    proxy = DroppingProxy(s3, share)
    try:
        more = ["--motions", f"s3://{bucket}/out"]
        environment = s3_environment(proxy.port)
        for _ in range(4):  # a take that could not be reached in five tries is recorded
            run = start(
                undisturbed,
                tmp_path / "out",
                *more,
                "--retry",
                "failed",
                sources=f"s3://{bucket}/in",
                environment=environment,
            )
            if run.wait() == 0:
                break
        assert read_counts(tmp_path / "out")["states"] == {"done": TAKES}
        again = start(
            undisturbed,
            tmp_path / "out",
            *more,
            sources=f"s3://{bucket}/in",
            environment=environment,
        )
        assert again.wait() == 0
    finally:
        proxy.close()
    assert (proxy.dropped > 10) is (share > 0.0)
    files.get(f"{bucket}/out/takes/", str(tmp_path / "copy/takes/"), recursive=True)
    assert check_whole(tmp_path / "copy") == TAKES
    motions = {n: h for n, h in hash_outputs(tmp_path / "copy").items() if n.endswith(".bvh")}
    expected = hash_outputs(undisturbed / "out")
    assert motions == {n: h for n, h in expected.items() if n.endswith(".bvh")}
    with_rows = read_counts(tmp_path / "out")
    assert with_rows["frames"] == 12 * TAKES
