"""The queue of an archive against a client that does what a test says: deaths, loops, losses."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from exactik import Bone, Joint, Markers, Motion, Skeleton
from exactik.archive import (
    MAX_UNSTARTED,
    TIME_LIMIT,
    Ledger,
    LedgerRow,
    Progress,
    Queue,
    read_counts,
)
from exactik.archive.tasks import (
    SEAM_LIMIT,
    Storage,
    TaskResult,
    draw_curve,
    find_result,
    find_window,
    join_motions,
    publish_result,
    read_provenance,
    try_often,
)
from exactik.errors import FileError

distributed = pytest.importorskip("distributed")

DONE = TaskResult(state="done", solved=True, key="k", verdict="good", frames=10, seconds=1.0)
Answer = Callable[[str], Any]


class FakeFuture:
    def __init__(self, key: str, answer: Any):
        self.key, self.answer = key, answer
        self.status = answer if answer in ("cancelled", "lost") else "finished"

    def add_done_callback(self, call: Callable[[Any], object]) -> None:
        call(self)

    def result(self) -> Any:
        if self.answer == "died on the way":
            self.status = "lost"
            raise CancelledError("key")
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def release(self) -> None:
        pass


class FakeClient:
    """Two workers with a thread each; a take begins and ends as `answer` says of its name."""

    status, scheduler = "running", SimpleNamespace(address="tcp://test")

    def __init__(self, answer: Answer, begins: bool = True):
        self.answer, self.begins, self.sent = answer, begins, []
        self.handler: Callable[[Any], object] = lambda _: None

    def nthreads(self) -> dict[str, int]:
        return {"a": 1, "b": 1}

    def subscribe_topic(self, _: str, handler: Callable[[Any], object]) -> None:
        self.handler = handler

    def unsubscribe_topic(self, _: str) -> None:
        pass

    def map(self, _: Any, tasks: list[Any], *, key: list[str], **__: Any) -> list[FakeFuture]:
        self.sent.append([task.name for task in tasks])
        futures = []
        for task, one in zip(tasks, key, strict=True):
            if self.begins:
                for worker in ("tcp://elsewhere", "tcp://worker"):
                    self.handler((0.0, {"name": task.name, "worker": worker}))
            futures.append(FakeFuture(one, self.answer(task.name)))
        return futures


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    opened = Ledger(tmp_path)
    yield opened
    opened.close()


def enter(ledger: Ledger, count: int) -> None:
    for k in range(count):
        ledger.enter(
            name=f"t{k:02d}",
            kind="take",
            address=f"/t{k}",
            subject=None,
            request="r",
            work={},
            fingerprint="f",
        )


def run(
    ledger: Ledger,
    client: Any,
    time_limit: float | None = None,
    find_done: Callable[[], TaskResult | None] = lambda: None,
) -> Progress:
    progress = Progress()
    queue = Queue(client, ledger, time_limit=time_limit, progress=progress)

    def make_task(row: LedgerRow) -> Any:
        return SimpleNamespace(name=row.name, find_done=find_done)

    try:
        queue.run("take", make_task)
    finally:
        queue.close()
    queue.take_late_results(lambda *_: None)
    return progress


def died() -> Exception:
    worker = SimpleNamespace(address="tcp://worker", host="worker")
    return distributed.KilledWorker("key", worker, 0)


def row(ledger: Ledger, name: str) -> LedgerRow:
    found = ledger.find(name)
    assert found is not None
    return found


def test_a_few_takes_a_thread_are_with_the_scheduler(ledger: Ledger):
    enter(ledger, 20)
    client = FakeClient(lambda _: DONE)
    progress = run(ledger, client)
    assert [len(batch) for batch in client.sent] == [8, 8, 4]  # two threads, four each
    assert (progress.done, progress.solved, progress.frames) == (20, 20, 200)
    assert read_counts(ledger.folder)["states"] == {"done": 20}


def test_a_take_that_kills_three_workers_is_set_aside(ledger: Ledger):
    enter(ledger, 3)
    client = FakeClient(lambda name: died() if name == "t01" else DONE)
    progress = run(ledger, client)
    assert sum(batch.count("t01") for batch in client.sent) == 3
    assert (row(ledger, "t01").state, row(ledger, "t01").deaths) == ("aside", 3)
    assert row(ledger, "t01").code == "killed-workers" and progress.failed == 1
    assert row(ledger, "t02").state == "done"


def test_a_take_whose_third_worker_died_with_the_answer_is_done(ledger: Ledger):
    """The provenance is the truth: a take whose outputs are all there is not set aside."""
    enter(ledger, 1)
    found = replace(DONE, solved=False)
    progress = run(ledger, FakeClient(lambda _: died()), find_done=lambda: found)
    assert (row(ledger, "t00").state, row(ledger, "t00").verdict) == ("done", "good")
    assert (progress.found, progress.failed) == (1, 0)


def test_a_result_that_appears_after_its_take_was_set_aside_counts(ledger: Ledger):
    """A worker that the scheduler had given up lived on, and ended its take."""
    enter(ledger, 1)
    found = iter([None, replace(DONE, solved=False)])
    progress = run(ledger, FakeClient(lambda _: died()), find_done=lambda: next(found))
    assert (row(ledger, "t00").state, row(ledger, "t00").code) == ("done", None)
    assert (progress.done, progress.found, progress.failed) == (1, 1, 0)


def test_storage_that_does_not_answer_leaves_a_take_aside(ledger: Ledger):
    enter(ledger, 1)

    def refuse() -> None:
        raise FileError("s3://x", "cannot be read", code="storage")

    run(ledger, FakeClient(lambda _: died()), find_done=refuse)
    assert row(ledger, "t00").state == "aside"


def test_a_death_between_two_files_leaves_no_provenance_that_is_not_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Outputs of the same size, of other options, are written over those of a result."""
    storage = Storage(str(tmp_path / "out"))

    def publish(content: str) -> None:
        with storage.stage() as folder:
            (folder / "t.txt").write_text(content)
            result = replace(DONE, key=content)
            publish_result(storage, "takes/t", [folder / "t.txt"], result, {})

    def find(content: str) -> TaskResult | None:
        return find_result(storage, read_provenance(storage, "takes/t"), content)

    publish("aaaa")
    assert find("aaaa") is not None
    move = Storage.publish

    def die(storage: Storage, staged: Path, name: str) -> None:
        if name.endswith(".json"):
            raise KeyboardInterrupt
        move(storage, staged, name)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Storage, "publish", die)
        publish("bbbb")
    assert (tmp_path / "out/takes/t.txt").read_text() == "bbbb" and find("aaaa") is None
    publish("aaaa")
    assert (tmp_path / "out/takes/t.txt").read_text() == "aaaa" and find("aaaa") is not None


def test_a_take_that_had_not_begun_is_not_blamed(ledger: Ledger):
    enter(ledger, 1)
    answers = iter([died(), died(), died(), died(), DONE])
    run(ledger, FakeClient(lambda _: next(answers), begins=False))
    assert (row(ledger, "t00").state, row(ledger, "t00").deaths) == ("done", 0)


def test_but_not_for_ever(ledger: Ledger):
    enter(ledger, 1)
    client = FakeClient(lambda _: died(), begins=False)
    run(ledger, client)
    assert row(ledger, "t00").state == "aside"
    assert len(client.sent) == MAX_UNSTARTED + 2 == 12  # three deaths from there on


def test_a_take_that_loops_is_recorded_the_first_time(ledger: Ledger):
    enter(ledger, 1)

    def loop(_: str) -> Exception:
        time.sleep(0.12)
        return died()

    client = FakeClient(loop)
    client.begins = True
    run(ledger, client, time_limit=0.1)
    assert (row(ledger, "t00").code, len(client.sent)) == ("timeout", 1)
    assert 600.0 < TIME_LIMIT <= 7200.0  # more than a segment takes, less than a night


def test_a_lost_scheduler_leaves_takes_waiting(ledger: Ledger):
    enter(ledger, 5)
    with pytest.raises(FileError, match="the same command goes on") as caught:
        run(ledger, FakeClient(lambda name: "cancelled" if name == "t03" else DONE))
    assert caught.value.code == "scheduler-lost"
    states = read_counts(ledger.folder)["states"]
    assert states == {"done": 3, "waiting": 2}


def test_an_answer_that_died_with_its_worker_is_asked_for_again(ledger: Ledger):
    enter(ledger, 3)
    answers = iter(["lost", "died on the way", DONE])
    client = FakeClient(lambda name: next(answers) if name == "t01" else DONE)
    progress = run(ledger, client)
    assert sum(batch.count("t01") for batch in client.sent) == 3
    assert (row(ledger, "t01").state, row(ledger, "t01").deaths) == ("done", 0)
    assert (progress.done, progress.failed) == (3, 0)


def test_no_room_stops_the_run(ledger: Ledger):
    enter(ledger, 2)
    full = TaskResult(state="stop", code="no-space", reason="the disk is full")
    with pytest.raises(FileError, match="no room") as caught:
        run(ledger, FakeClient(lambda _: full))
    assert caught.value.code == "no-space"
    assert read_counts(ledger.folder)["states"] == {"waiting": 2}


def test_remote_storage_is_tried_five_times(monkeypatch: pytest.MonkeyPatch):
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)

    def refuse() -> None:
        raise ConnectionError("dropped")

    with pytest.raises(FileError, match="tried 5 times: dropped"):
        try_often("s3://x", "read", refuse)
    assert pauses == [0.5, 1.0, 2.0, 4.0]
    with pytest.raises(FileError, match="no such file"):
        try_often("s3://x", "read", lambda: open("/nowhere/at/all"))
    assert len(pauses) == 4


def test_parts_are_solved_with_a_second_more_at_both_ends():
    markers = Markers(np.zeros((1000, 1, 3)), ("a",), 100.0)
    assert find_window(markers, None) is None
    for part, first, count in (((400, 600), 301, 400), ((0, 300), 1, 400), ((700, 1000), 601, 400)):
        window = find_window(markers, part)
        assert window is not None
        solved = markers.between(*window)
        assert (solved.first_frame, len(solved)) == (first, count)


def test_parts_are_joined_without_whole_turns_and_a_step_is_measured():
    """A hinge that turns on: the second part counts its angle from another turn."""
    hinge = Joint.revolute("z")
    wheel = Skeleton.build("wheel", [Bone("rim", joint=hinge)], {"m": ("rim", (0.5, 0.0, 0.0))})
    angles = np.linspace(0.0, 9.0, 300)[:, None]
    parts = [(0, 150), (150, 300)]
    first = Motion(wheel, angles[:250], 100.0)
    for shift, seam in ((-2.0 * np.pi, 0.0), (0.04, 2.0 * 0.5 * np.sin(0.02))):
        second = Motion(wheel, angles[50:] + shift, 100.0)
        joined = join_motions([first, second], parts, hard_limits=True)
        assert joined.seam == pytest.approx(seam, abs=1e-12)
        if seam == 0.0:
            assert np.abs(joined.motion.q - angles).max() < 1e-12
    assert 0.005 < SEAM_LIMIT < 0.02  # [m] the step above needs care, the error of a marker not


def test_the_curve_of_a_take_has_sixty_points_at_most():
    errors = np.full((600, 2), 0.002)
    errors[:10] = np.nan
    curve = draw_curve(errors)
    assert len(curve) == 60 and curve[0] is None and curve[1:] == [2.0] * 59
    assert len(draw_curve(errors[:7])) == 7
