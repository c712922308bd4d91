"""Many recordings at once: each as `track` finds it alone."""

from __future__ import annotations

import numpy as np
import pytest

import exactik as ik
from exactik.model.motion import Markers
from exactik.recordings.tracking import join_problems, make_tracking_problem
from tests.support.chains import make_chain, move_chain


def make_recordings(chain: ik.Skeleton) -> list[Markers]:
    """Return recordings of different lengths."""
    names = tuple(chain.markers)
    return [Markers(chain.forward(move_chain(chain, n)).markers, names, 60.0) for n in (12, 7, 9)]


def test_each_recording_is_tracked_as_alone_and_progress_adds_up():
    chain, calls = make_chain(2, 3), []
    recordings = make_recordings(chain)
    tracks = ik.track_many(
        chain,
        recordings,
        threads=2,
        progress=lambda done, total: calls.append((done, total)),
        starts=2,
        smooth=None,
    )
    for found, markers in zip(tracks, recordings, strict=True):
        alone = ik.track(chain, markers, starts=2, smooth=None)
        np.testing.assert_array_equal(found.motion.q, alone.motion.q)
        assert found.device == "cpu"
    assert calls[-1] == (28, 28)
    with pytest.raises(ik.UsageError, match="1 skeletons for 3 recordings"):
        ik.track_many([chain], recordings)
    with pytest.raises(ik.UsageError, match="track_many has no argument 'smoth'"):
        ik.track_many(chain, recordings, smoth=None)  # pyright: ignore[reportCallIssue]


def test_problems_are_joined_where_only_their_frames_differ():
    chain = make_chain(2, 3)
    problems = [make_tracking_problem(chain, markers) for markers in make_recordings(chain)]
    assert problems[0].can_join(problems[1])
    joint = join_problems(problems)
    assert len(joint) == 28
    np.testing.assert_array_equal(joint.targets.position[12:19], problems[1].targets.position)
    weighted = make_tracking_problem(
        chain, make_recordings(chain)[0], weights={problems[0].names[0]: 2.0}
    )
    robust = make_tracking_problem(chain, make_recordings(chain)[0], robust="huber")
    other = make_tracking_problem(make_chain(2, 3), make_recordings(chain)[0])
    for problem in (weighted, robust, other):
        assert not problems[0].can_join(problem)
