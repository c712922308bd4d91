"""No threads that nobody asked for: BLAS keeps to the calling one."""

from __future__ import annotations

import threading

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import exactik as ik
from exactik._threads import keep_blas_on_one_thread
from exactik.recordings.calibration import calibrate


def count_blas_threads() -> set[int]:
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def test_blas_has_one_thread_inside_and_its_own_number_after():
    with threadpool_limits(2, user_api="blas"):
        before = count_blas_threads()
        with keep_blas_on_one_thread():
            assert count_blas_threads() == {1}
            with keep_blas_on_one_thread():
                assert count_blas_threads() == {1}
            assert count_blas_threads() == {1}
        assert count_blas_threads() == before == {2}


def test_an_exception_restores_the_number():
    with threadpool_limits(2, user_api="blas"):
        with pytest.raises(ValueError, match="no"), keep_blas_on_one_thread():
            raise ValueError("no")
        assert count_blas_threads() == {2}


def test_calls_of_several_threads_share_one_limit():
    """The first to begin is the first to end: the other still has one thread, then both none."""
    entered, finish = threading.Event(), threading.Event()

    @keep_blas_on_one_thread()
    def wait() -> None:
        entered.set()
        finish.wait()

    with threadpool_limits(2, user_api="blas"):
        other = threading.Thread(target=wait)
        with keep_blas_on_one_thread():
            other.start()
            entered.wait()
        assert count_blas_threads() == {1}
        finish.set()
        other.join()
        assert count_blas_threads() == {2}


def test_calibration_keeps_blas_to_one_thread():
    figure, seen = ik.human(), []
    place = figure.forward(figure.neutral()[None]).markers
    markers = ik.Markers(place, tuple(figure.markers), 100.0)
    with threadpool_limits(2, user_api="blas"):
        calibrate(figure, markers, progress=lambda *_: seen.append(count_blas_threads()))
        assert count_blas_threads() == {2}
    assert seen and all(each == {1} for each in seen)
