"""The whole way of a recording, and that no spoiled copy of one is called good."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik.errors import FileError, UnknownNameError, UsageError
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.recordings.pipeline import (
    SolvedRecording,
    prepare_skeleton,
    read_skeleton,
    resolve_weights,
    solve_recording,
)
from tools.spoiled_copies import FAULTS


@pytest.fixture(scope="module")
def walk() -> ik.Markers:
    motion = simulate_performance(2.0, 30.0)
    return simulate_recording(motion, noise=0.0005, gaps=0.0, swap=False).markers


@pytest.fixture(scope="module")
def solved(walk: ik.Markers) -> SolvedRecording:
    (one,) = solve_recording(walk, ik.human(), fit=False)
    return one


def test_a_recording_is_solved_and_judged(walk: ik.Markers, solved: SolvedRecording):
    assert solved.subject == "" and solved.verdict.grade == "good"
    context = solved.track.context
    assert context is not None
    assert [use.name for use in context.uses] == list(walk.names)
    assert all(use.marker == use.name and use.code == "same-name" for use in context.uses)
    assert context.up.axis == "z" and context.up.cosine is not None and context.up.cosine > 0.9
    assert not context.is_fitted and context.parameters == 0 and context.settled is None


@pytest.mark.full
@pytest.mark.parametrize("fault", FAULTS)
def test_no_spoiled_copy_is_good(walk: ik.Markers, solved: SolvedRecording, fault: str):
    context = solved.track.context
    assert context is not None
    copy = FAULTS[fault](walk, context, np.random.default_rng(1))
    assert copy is not None
    (one,) = solve_recording(copy, ik.human(), fit=False, starts=8)
    assert one.verdict.grade != "good", one.verdict


def test_two_subjects_are_told_apart_and_chosen(walk: ik.Markers):
    walk = walk.between(0.0, 1.0)
    beside = np.add(walk.positions, [0.0, 3.0, 0.0])
    both = ik.Markers(
        np.concatenate([walk.positions, beside], axis=1),
        (*(f"Ann:{n}" for n in walk.names), *(f"Bob:{n}" for n in walk.names)),
        walk.rate,
        up_axis="z",
    )
    found = solve_recording(both, ik.human(), fit=False, subject="all")
    assert [one.subject for one in found] == ["Ann", "Bob"]
    assert all(one.verdict.grade == "good" for one in found)
    roots = [one.track.motion.forward().positions[:, 0] for one in found]
    np.testing.assert_allclose(roots[1] - roots[0], [[0.0, 3.0, 0.0]] * len(walk), atol=1e-3)
    (bob,) = solve_recording(both, ik.human(), fit=False, subject="Bob")
    assert bob.subject == "Bob" and any("2 subjects" in note for note in bob.notes)
    with pytest.raises(UnknownNameError, match="Ann"):
        solve_recording(both, ik.human(), fit=False, subject="Carl")
    with pytest.raises(UsageError, match="shows one subject"):
        solve_recording(walk, ik.human(), fit=False, subject="Carl")


def test_a_subject_prepared_once_is_reused(walk: ik.Markers):
    renamed = walk.renamed({"LFHD": "A", "C7": "B"})
    mapping = {"A": "LFHD", "B": "C7"}
    (first,) = solve_recording(renamed, ik.human(), fit=False, mapping=mapping)
    assert first.track.context is not None
    uses = {use.name: use for use in first.track.context.uses}
    assert uses["A"].marker == "A" and uses["A"].bone == "head"
    (again,) = solve_recording(renamed, ik.human(), prepared={"": first.prepared})
    np.testing.assert_array_equal(again.track.motion.q, first.track.motion.q)
    assert again.track.context is not None and again.track.context.parameters == 0


def test_a_figure_from_a_file_has_the_error_bars_of_its_fit(walk: ik.Markers, tmp_path: Path):
    fit = ik.calibrate(ik.human(), walk, frames=20)
    file = tmp_path / "subject.npz"
    ik.save_skeleton(fit.skeleton, file, up_axis="z", metadata=fit.to_metadata())
    (read,) = solve_recording(walk, read_skeleton(str(file)), fit=False)
    (bare,) = solve_recording(walk, fit.skeleton, fit=False)
    np.testing.assert_array_equal(read.track.motion.q, bare.track.motion.q)
    np.testing.assert_array_equal(bare.track.sd, bare.track.noise_sd)
    expected = replace(bare.track, figure_errors=fit.figure_errors).sd
    np.testing.assert_allclose(read.track.sd, expected, rtol=2e-3)
    assert np.median(read.track.sd / bare.track.sd) > 3.0


@pytest.mark.parametrize(
    "kept", [{}, {"q": [[0.0]], "covariance": [[1.0]]}, {"q": "x"}, [], {"covariance": [[]]}]
)
def test_other_metadata_are_no_error_bars(kept: object, tmp_path: Path):
    file = tmp_path / "subject.npz"
    ik.save_skeleton(ik.human(), file, metadata={"figure_errors": kept})
    assert read_skeleton(str(file)).figure_errors is None


def test_unknown_names_are_refused_in_one_sentence(walk: ik.Markers):
    odd = walk.renamed({name: f"point {n}" for n, name in enumerate(walk.names)})
    with pytest.raises(FileError, match="no marker can be used") as refused:
        solve_recording(odd.chosen(odd.names[:4]), ik.human())
    assert refused.value.code == "no-known-marker" and refused.value.advice is not None


def test_points_said_not_to_be_used_are_not_used(walk: ik.Markers):
    """Although the figure has a marker of that name, as models of OpenSim have."""
    figure = ik.human()
    figure = figure.with_markers({**figure.markers, "LHJC": ("l_thigh", (0.0, 0.0, 0.0))})
    far = np.tile(walk.positions[:, :1] + 0.3, (1, 2, 1))
    more = replace(
        walk,
        positions=np.concatenate([walk.positions, far], axis=1),
        names=(*walk.names, "LHJC", "SWORD1"),
        computed=("LHJC",),
    )
    prepared = prepare_skeleton(figure, more, fit=False)
    assert any("LHJC" in note and "not used" in note for note in prepared.notes)
    assert prepared.rename_markers(more).names == walk.names


def test_turned_by_hand_is_not_turned_again(walk: ik.Markers):
    (one,) = solve_recording(
        replace(walk, up_axis="y"), ik.human(), fit=False, up_origin="axes", starts=8
    )
    assert one.track.context is not None and one.track.context.up.origin == "axes"
    np.testing.assert_array_equal(one.track.markers.positions, walk.positions)


def test_weights_by_pattern_and_recorded_name():
    names, recorded = ("LFHD", "RFHD", "C7"), {"S:LFHD": "LFHD", "S:neck": "C7"}
    given = {"*FHD": 2.0, "LFHD": 3.0, "neck": 0.5}
    assert resolve_weights(given, names, recorded) == {"LFHD": 3.0, "RFHD": 2.0, "C7": 0.5}
    assert resolve_weights({"M[1]": 2.0}, ("M1", "M[1]"), {"M[1]": "M[1]"})["M[1]"] == 2.0
    with pytest.raises(UnknownNameError):
        resolve_weights({"TAIL": 1.0}, names, recorded)
