"""Several trials of a subject together: what each has is used, what none tells is said."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import exactik as ik
from exactik.io.native import read_npz_metadata
from exactik.recordings.calibration import (
    Calibration,
    CalibrationRecord,
    calibrate,
    join_trials,
    name_markers_alike,
)
from exactik.recordings.calibration.fitting import choose_diverse_frames
from tests.support.subjects import Subject, make_subject

ONLY_IN_STATIC = ("LKNE", "RKNE", "LELB", "RELB")


@pytest.fixture(scope="module")
def somebody() -> Subject:
    return make_subject(ik.human(), 4, frames=240)


@pytest.fixture(scope="module")
def static(somebody: Subject) -> ik.Markers:
    """Somebody who stands, swaying by a fifth of a degree, under names with another prefix."""
    rng, sk = np.random.default_rng(0), somebody.skeleton
    sway = np.radians(0.2) * np.sin(np.arange(60)[:, None] / 9.0 + rng.uniform(0, 6, sk.nv))
    places = sk.forward(sk.integrate(sk.clip(sk.neutral()), sway)).markers
    places = places + rng.normal(0.0, 5e-4, places.shape)
    names = tuple(f"Static:{name}" for name in sk.markers)
    return ik.Markers(places, names, 60.0, source="static.c3d")


@pytest.fixture(scope="module")
def walk(somebody: Subject) -> ik.Markers:
    kept = [name for name in somebody.markers.names if name not in ONLY_IN_STATIC]
    return replace(somebody.markers.chosen(kept), source="walk.c3d")


@pytest.fixture(scope="module")
def both(static: ik.Markers, walk: ik.Markers) -> Calibration:
    return calibrate(ik.human(), [static, walk], frames=24)


@pytest.fixture(scope="module")
def standing(static: ik.Markers) -> Calibration:
    return calibrate(ik.human(), static, frames=12)


def test_markers_of_trials_are_called_alike(static: ik.Markers, walk: ik.Markers):
    one, two = name_markers_alike([static, walk])
    assert one.names == static.names
    assert set(two.names) < set(static.names)
    joined = join_trials([one, two])
    assert joined.names == static.names and len(joined) == len(static) + len(walk)
    missing = joined.missing[len(static) :].all(axis=0)
    assert {joined.names[k] for k in np.flatnonzero(missing)} == {
        f"Static:{name}" for name in ONLY_IN_STATIC
    }
    alone = name_markers_alike([walk])[0]
    assert alone.names == walk.names and join_trials([walk]) is walk


def test_a_long_trial_is_thinned_before_it_is_joined():
    long = ik.Markers(np.zeros((5000, 3, 3)), ("A", "B", "C"), 100.0)
    assert 1000 < len(join_trials([long, long])) < 4000


@pytest.mark.full
def test_trials_together_tell_more_than_either(
    both: Calibration, standing: Calibration, somebody: Subject
):
    """Movement tells the bones, and only the static has the knees' and elbows' markers."""
    true = dict(zip(somebody.figure.scale_groups, np.exp(somebody.theta), strict=False))
    for bone in ("l_thigh", "l_shin", "l_upper_arm"):
        group = next(g for g in true if bone in g)
        assert both.scales[bone] == pytest.approx(true[group], abs=0.02)
        assert both.scale_sds[bone] < 0.5 * standing.scale_sds[bone]
    assert set(both.moved) == set(ik.human().markers)
    places = dict(
        zip(
            somebody.figure.marker_names, somebody.figure.scaled_points(somebody.theta), strict=True
        )
    )
    for name in ONLY_IN_STATIC:
        assert np.linalg.norm(both.offsets[name] - places[name]) < 0.02
        assert both.offset_sds[name] < 0.03


def test_what_is_said_of_a_calibration(both: Calibration, standing: Calibration):
    lines = str(both).splitlines()
    assert "24 frames of 2 trials" in lines[0] and "trial" not in str(standing).splitlines()[0]
    sizes, markers = (k for k, line in enumerate(lines) if line.startswith(("scale", "marker")))
    assert markers - sizes == len(both.fit.solution.scaled.scale_groups) + 2
    assert len(lines) > markers + len(both.moved)
    used = [trial["frames"] for trial in both.to_dict()["trials"]]
    assert max(used[0]) < 60 < max(used[1]) and len(used[0]) + len(used[1]) == 24
    restless = replace(both.fit.solution, converged=False)
    unfinished = replace(both, fit=both.fit._replace(solution=restless))
    assert "did not come to rest" in unfinished.warnings[0]
    assert not any("come to rest" in warning for warning in both.warnings)


def test_sizes_that_are_not_fitted_have_no_table(walk: ik.Markers):
    assert "scale" not in str(calibrate(ik.human(), walk, frames=3, scale=False))


def test_each_trial_has_its_share_of_the_frames(both: Calibration):
    """A static is one pose, so that diversity alone would take one of its frames."""
    of_static = float((both.trial_numbers == 0).mean())
    assert 0.2 <= of_static <= 0.35
    assert len(both.frames) == 24
    assert both.markers.source == "walk.c3d" and len(both.trials) == 2


def test_frames_with_few_markers_are_not_chosen(walk: ik.Markers):
    places = walk.positions.copy()
    places[::3, 8:] = np.nan
    chosen = choose_diverse_frames([replace(walk, positions=places)], 30)
    assert not (chosen.frames % 3 == 0).any()
    nothing = replace(walk, positions=np.where(np.arange(37)[:, None] < 2, places, np.nan))
    with pytest.raises(ik.UsageError, match="no frame has three of the 37 markers that are known"):
        choose_diverse_frames([nothing], 30)


def test_a_static_alone_asks_for_movement(standing: Calibration, both: Calibration):
    assert standing.is_static and not both.is_static
    assert "a trial that moves" in standing.warnings[0]
    assert not any("a trial that moves" in warning for warning in both.warnings)
    open_scales = {e.names: e.code for e in standing.undetermined if e.kind == "scale"}
    assert open_scales["l_fingers", "r_fingers"] in ("not-moved", "loose")
    facts = json.loads(json.dumps(standing.to_dict(), allow_nan=False))
    assert facts["static"] and len(facts["undetermined"]) == len(standing.undetermined)


def test_what_no_trial_tells_is_said(walk: ik.Markers):
    legs = [n for n in walk.names if n[1:] in ("FWT", "BWT", "THI", "SHN", "ANK", "HEE", "TOE")]
    places, heel = walk.chosen(legs).positions.copy(), legs.index("LHEE")
    places[5:, heel] = np.nan  # there only where hardly another marker is
    places[:5, [k for k in range(len(legs)) if k not in (0, 1, heel)]] = np.nan
    fit = calibrate(ik.human(), replace(walk.chosen(legs), positions=places), frames=24)
    found = {e.names[0]: e.code for e in fit.undetermined}
    assert found["l_hand"] == found["head"] == found["l_upper_arm"] == "no-marker"
    assert found["LHEE"] == "never-seen"
    assert not {"l_thigh", "l_shin", "LANK", "LTHI"} & set(found)
    for entry in fit.undetermined:
        assert entry.sd > 0.8 * entry.prior_sd
    text = str(fit)
    assert "No marker tells the size of" in text and "Never seen in the frames used: LHEE" in text
    assert max(map(len, text.splitlines())) <= 100


def test_a_subjects_file_says_how_it_was_made(both: Calibration, tmp_path):
    file = tmp_path / "subject.npz"
    ik.save_skeleton(both.skeleton, file, metadata={"calibration": both.to_dict()})
    record = CalibrationRecord.from_metadata(read_npz_metadata(str(file)))
    assert record is not None
    assert record.trials == ("static.c3d", "walk.c3d") and not record.is_static
    assert record.error == pytest.approx(float(np.nanmean(both.errors)))
    assert CalibrationRecord.from_metadata({}) is None
    assert CalibrationRecord.from_metadata({"calibration": {"trials": 3}}) is None
    assert ik.load_skeleton(file) == both.skeleton


@pytest.mark.parametrize(
    ("on_trials", "here", "is_said"),
    [(0.2, 3.0, False), (4.0, 4.5, False), (2.5, 4.5, False), (2.5, 9.0, True), (1.0, 12.0, True)],
)
def test_a_figure_that_fits_its_trials_only_is_noticed(
    on_trials: float, here: float, is_said: bool
):
    """Errors in mm: below 4 mm nothing is wrong, nor up to twice that of the trials."""
    record = CalibrationRecord(
        figure="human",
        trials=("a/static.c3d",),
        error=1e-3 * on_trials,
        is_static=True,
        undetermined=(),
    )
    text = record.describe_misfit(1e-3 * here, "b/walk.c3d", "subject.npz")
    assert (text is not None) == is_said
    if text is not None:
        command = "exactik calibrate a/static.c3d b/walk.c3d --skeleton human -o subject.npz"
        assert text.endswith(command) and "static.c3d, which holds one pose only" in text
