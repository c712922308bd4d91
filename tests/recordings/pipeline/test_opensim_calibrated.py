"""Models of OpenSim fitted to recordings: sizes and markers together, written as .osim again."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik import cli
from exactik.io import GenericModel, load_opensim_model
from exactik.recordings.pipeline import load_marked_skeleton, save_calibrated_model
from tests.support.opensim_files import ask_judge, make_leg

FACTORS = {"pelvis": 0.95, "thigh": 1.1, "shank": 1.05, "foot": 1.2}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a leg, and a motion of one of other sizes."""
    (tmp_path / "leg.osim").write_text(make_leg())
    larger = GenericModel(tmp_path / "leg.osim")
    factors = {body: np.full(3, factor) for body, factor in FACTORS.items()}
    larger.scale(factors, mass=-1.0, keeps_mass_distribution=True)
    larger.save(str(tmp_path / "larger.osim"), "larger")
    skeleton = ik.load_skeleton(tmp_path / "larger.osim")
    phase = np.linspace(0.0, 3.0, 60)[:, None] + np.arange(skeleton.nq)
    q = skeleton.clip(-0.3 + 0.5 * np.sin(2.0 * phase))
    ik.Markers(skeleton.forward(q).markers, tuple(skeleton.markers), 50.0).save(tmp_path / "a.trc")
    return tmp_path


def largest_difference(first: ik.Skeleton, second: ik.Skeleton) -> float:
    """Of the places of markers that both have, at random poses [m]."""
    q = np.random.default_rng(2).uniform(-0.6, 0.6, (20, first.nq))
    places = [
        dict(zip(s.markers, np.moveaxis(s.forward(q).markers, 1, 0), strict=True))
        for s in (first, second)
    ]
    assert set(places[0]) == set(places[1])
    return max(float(np.abs(places[0][name] - places[1][name]).max()) for name in places[0])


def test_sizes_are_found_and_the_file_says_the_same(folder: Path) -> None:
    """Frames beside a body's origin grow with the body, as in OpenSim."""
    leg = ik.load_skeleton(folder / "leg.osim")
    markers = ik.load_markers(folder / "a.trc")
    fit = ik.calibrate(leg, markers, scale="bone", offsets=False, sigma=1e-4)
    for body in ("thigh", "shank", "foot"):
        assert fit.scales[body] == pytest.approx(FACTORS[body], abs=2e-3)
    save_calibrated_model(fit, folder / "leg.osim", folder / "subject.osim")
    assert largest_difference(ik.load_skeleton(folder / "subject.osim"), fit.skeleton) < 1e-12
    assert largest_difference(ik.load_skeleton(folder / "larger.osim"), fit.skeleton) < 2e-3
    saved = load_opensim_model(folder / "subject.osim")
    assert saved.name == "subject"
    assert saved.mass == pytest.approx(load_opensim_model(folder / "leg.osim").mass)


def test_marker_sets_are_put_on_a_model_without_markers(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (folder / "leg.osim").read_text()
    begin, end = text.index("<MarkerSet"), text.index("</MarkerSet>") + len("</MarkerSet>")
    document = f'<OpenSimDocument Version="40000">{text[begin:end]}</OpenSimDocument>'
    (folder / "set.xml").write_text(document)
    (folder / "bare.osim").write_text(text[:begin] + text[end:])
    marked = load_marked_skeleton(folder / "bare.osim", folder / "set.xml")
    assert largest_difference(marked, ik.load_skeleton(folder / "leg.osim")) == 0.0

    def call(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["exactik", "calibrate", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, " ".join((printed.out + printed.err).split())

    monkeypatch.chdir(folder)
    given = ("a.trc", "--skeleton", "bare.osim", "--marker-set", "set.xml", "--frames", "20")
    code, said = call(*given, "-o", "subject.osim")
    assert code == 0 and "--skeleton subject.osim -o a.mot" in said
    assert len(ik.load_skeleton("subject.osim").markers) == len(marked.markers)
    code, said = call("a.trc", "-o", "subject.osim")
    assert code == 2 and "expected .npz, or .osim for a figure that is one" in said
    code, said = call("a.trc", "--marker-set", "set.xml", "-o", "subject.npz")
    assert code == 2 and "--marker-set is for .osim figures" in said


@pytest.mark.slow
def test_gait2354_fits_its_walk_better_than_after_scaling_by_a_static_pose(
    shared_data: Path, tmp_path: Path
) -> None:
    """Sizes and markers over static pose and walk together; OpenSim poses the file as we do."""
    source = shared_data / "data" / "opensim" / "gait2354"
    generic = source / "gait2354_simbody_generic.osim"
    skeleton = load_marked_skeleton(generic, source / "gait2354_Scale_MarkerSet.xml")
    trials = [ik.load_markers(source / f"subject01_{name}.trc") for name in ("static", "walk1")]
    fit = ik.calibrate(skeleton, trials)
    # All that the model has: knees whose centres shift do not make pelvis markers implausible.
    assert len(fit.offsets) == 39
    assert 0.0 < max(fit.scale_sds.values()) < 0.12
    save_calibrated_model(fit, generic, tmp_path / "subject.osim")
    rms = {}
    for name, path in (
        ("joint", tmp_path / "subject.osim"),
        ("static", source / "subject01_simbody.osim"),
    ):
        figure = ik.load_skeleton(path)
        walk = trials[1].chosen([m for m in trials[1].names if m in figure.markers])
        solved = ik.track(figure, walk, smooth=None, branches=False)
        rms[name] = float(np.sqrt(np.nanmean(solved.marker_errors**2)))
    assert rms["joint"] < 0.008 < 0.018 < rms["static"]  # [m]; measured 0.0066 and 0.0194
    q = np.random.default_rng(5).uniform(-0.5, 0.5, (9, skeleton.nq))
    ik.Motion(fit.skeleton, q, 50.0).save(tmp_path / "a.mot")
    ask_judge("motion", tmp_path / "subject.osim", tmp_path / "a.mot", tmp_path / "places.npz")
    with np.load(tmp_path / "places.npz") as found:
        names, places = found["markers"].tolist(), found["places"]
    order = [list(fit.skeleton.markers).index(name) for name in names]
    assert np.abs(fit.skeleton.forward(q).markers[:, order] - places).max() < 1e-9
