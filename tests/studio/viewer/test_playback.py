"""Playback without a browser: what is shown when, how wrong it is, and what is written."""

from __future__ import annotations

import json
import logging
import re
import socket
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import exactik as ik
from benchmarks.playing import connect_page, measure_memory_growth
from exactik.cli import main, read_motion
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.recordings.pipeline import read_skeleton
from exactik.recordings.tracking import Quality
from exactik.studio.plots.colours import QUALITY_COLOURS
from exactik.studio.viewer import (
    Bookmark,
    EmbeddedView,
    MotionViewer,
    PlaybackData,
    PosingSession,
)
from exactik.studio.viewer.page import viewer as page_viewer
from exactik.studio.viewer.page.channel import SEEK_AREA
from exactik.studio.viewer.page.colours import srgb_to_linear
from exactik.studio.viewer.playback import (
    LIMITS,
    UNCERTAINTY,
    Transport,
    choose_frames,
    colour_quality,
    colour_uncertainty,
    compute_joint_deviations,
    describe_least_certain,
    draw_error_curve,
    export_playback,
    find_error_peaks,
    find_missing_poses,
    find_worst,
    is_notebook,
    merge_bookmarks,
)
from tests.support.browser import wait_for

pytestmark = pytest.mark.viewer
pytest.importorskip("viser")


@pytest.fixture(scope="module")
def take() -> ik.Track:
    made = simulate_recording(simulate_performance(2.0), noise=0.001, gaps=0.05)
    return ik.track(made.truth.skeleton, made.markers)


# --- time


def test_time_passes_only_while_it_plays_and_begins_again_or_ends():
    transport = Transport(11, 10.0)
    assert transport.advance(0.5) == 0
    transport.play()
    assert transport.advance(0.45) == 4
    transport.speed = 2.0
    assert transport.advance(0.1) == 6
    transport.step(-1)
    assert (transport.frame, transport.playing) == (5, False)
    transport.play()
    transport.speed = 1.0
    assert transport.advance(0.6 + 0.2) == 2  # eleven frames last 1.1 s
    transport.loop = False
    assert (transport.advance(5.0), transport.playing) == (10, False)
    transport.play()
    assert transport.frame == 0
    transport.seek(99)
    assert transport.frame == 10
    alone = Transport(1, 10.0)
    alone.play()
    assert not alone.playing


# --- what stands beside what


def test_a_track_and_its_motion_with_the_recording_show_the_same(take: ik.Track):
    solved, other = PlaybackData.of(take), PlaybackData.of(take.motion, markers=take.markers)
    assert np.array_equal(solved.errors, take.marker_errors, equal_nan=True)
    assert np.allclose(other.errors, take.marker_errors, atol=1e-12, equal_nan=True)
    for playback in (solved, other):
        pose = playback.pose(100)
        off = playback.matched_targets(100) - playback.model_markers(100, pose)
        expected = take.marker_errors[100]
        assert np.allclose(np.linalg.norm(off, axis=1), expected, atol=1e-12, equal_nan=True)
        deviations = playback.deviations(100)
        assert deviations is not None and (deviations >= 0.0).all()
    # A motion does not say how it was smoothed.
    known = solved.deviations(100)
    assert known is not None and np.allclose(known, take.sd[100], rtol=1e-6)
    mean, largest = solved.frame_errors
    assert mean[7] == pytest.approx(np.nanmean(take.marker_errors[7]))
    assert largest[7] == pytest.approx(np.nanmax(take.marker_errors[7]))
    with pytest.raises(ik.UsageError, match="its markers with it"):
        PlaybackData.of(take, markers=take.markers)


def test_swapped_names_are_shown_as_the_motion_has_them():
    motion = simulate_performance(3.0)
    recording = simulate_recording(motion, noise=0.001, gaps=0.0)
    assert recording.swapped is not None
    playback = PlaybackData.of(motion, markers=recording.markers)
    assert [set(swap.names) for swap in playback.swaps] == [set(recording.swapped)]
    assert np.nanmax(playback.errors) < 0.01
    sound = simulate_recording(motion, noise=0.001, gaps=0.0, swap=False)
    assert PlaybackData.of(motion, markers=sound.markers).swaps == ()


@pytest.mark.parametrize(("up", "axes"), [("y", "YZX"), ("x", "ZXY")])
def test_what_has_another_axis_up_is_turned(take: ik.Track, up: str, axes: str):
    turned, markers = take.motion.turned(axes), take.markers.turned(axes)
    assert (turned.up_axis, markers.up_axis) == (up, up)
    shown = PlaybackData.of(turned, markers=markers, references=[turned])
    straight = PlaybackData.of(take.motion, markers=take.markers)
    assert np.allclose(shown.pose(50).positions, straight.pose(50).positions)
    assert np.allclose(shown.targets(50), straight.targets(50), equal_nan=True)
    ghost = shown.reference(0, 50)
    assert ghost is not None
    assert np.allclose(ghost.positions, straight.pose(50).positions)
    still = replace(turned, q=turned.q[:1])
    track = ik.track(turned.skeleton, markers.between(0.0, 0.1))
    assert np.allclose(PlaybackData.of(track).targets(5), straight.targets(5), equal_nan=True)
    assert len(PlaybackData.of(still)) == 1


def test_play_and_pose_show_a_file_with_y_up_facing_the_same_way(tmp_path: Path):
    """The same BVH file, read by both commands: its bones at rest are at the same places."""
    figure, file = ik.human(), str(tmp_path / "rest.bvh")
    rest = ik.Motion(figure, np.tile(figure.neutral(), (2, 1)), 120.0, up_axis="z")
    rest.turned("YZX").save(file)
    played = PlaybackData.of(read_motion(file, None, None))
    posed = PosingSession(read_skeleton(file).upright)
    shown, dragged = played.pose(0), posed.pose()
    assert played.skeleton.bone_names == posed.skeleton.bone_names
    root = shown.positions[0] - dragged.positions[0]  # the file places the root frame by frame
    assert np.abs(shown.positions - dragged.positions - root).max() < 1e-6
    extent = np.ptp(shown.positions, axis=0)
    assert extent[2] > extent[0]  # upright, and not merely fallen alike
    names = [figure.bone_index(name) for name in ("l_hand", "r_hand")]
    ours = figure.forward(figure.neutral()).positions[names]
    theirs = shown.positions[[played.skeleton.bone_index(name) for name in ("l_hand", "r_hand")]]
    assert np.abs((theirs[0] - theirs[1]) - (ours[0] - ours[1])).max() < 1e-5


def test_things_are_together_by_time_or_by_the_numbers_of_frames(take: ik.Track):
    late = replace(take.motion, q=take.motion.q[100:], first_frame=101)
    playback = PlaybackData.of(late, markers=take.markers)
    assert np.array_equal(playback.targets(0), take.markers.positions[100], equal_nan=True)
    assert np.allclose(playback.errors, take.marker_errors[100:], atol=1e-12, equal_nan=True)
    unnumbered = PlaybackData.of(replace(late, first_frame=1), markers=take.markers)
    assert np.array_equal(unnumbered.targets(0), take.markers.positions[0], equal_nan=True)
    half = replace(take.markers, positions=take.markers.positions[::2], rate=60.0)
    playback = PlaybackData.of(take.motion, markers=half)
    assert np.array_equal(playback.targets(100), take.markers.positions[100], equal_nan=True)
    short = replace(take.motion, q=take.motion.q[:10])
    playback = PlaybackData.of(take.motion, references=[short])
    assert playback.reference(0, 9) is not None
    assert playback.reference(0, 10) is None
    playback = PlaybackData.of(take.motion, markers=take.markers.between(0.0, 0.5))
    assert np.isnan(playback.targets(100)).all()
    assert np.isnan(playback.errors[100]).all()


def test_markers_that_a_skeleton_does_not_have_are_shown_without_residuals(take: ik.Track):
    strange = take.markers.renamed({name: f"{name}x" for name in take.markers.names})
    playback = PlaybackData.of(take.motion, markers=strange)
    assert len(playback.targets(0)) == len(strange.names)
    assert playback.names == ()
    assert not playback.knows_deviations
    with MotionViewer(playback) as shown:
        assert shown.scene.markers.residuals is None
        assert "no residuals" in shown.panel.describe(3)


def test_missing_frames_show_the_last_pose_and_are_listed(take: ik.Track):
    q = np.array(take.motion.q[:60])
    q[:3], q[20:25] = np.nan, np.nan
    playback = PlaybackData.of(ik.Motion(take.skeleton, q, 120.0), markers=take.markers)
    assert [playback.frame_with_pose(t) for t in (0, 2, 3, 19, 22, 25)] == [3, 3, 3, 19, 19, 25]
    assert np.isnan(playback.errors[22]).all()
    assert [(s.frame, s.title) for s in playback.bookmarks[:2]] == [(20, "no pose"), (0, "no pose")]
    with MotionViewer(playback) as shown:
        shown.show(22)
        assert "There is no pose" in shown.panel.text.content
        assert shown.scene.figure is not None
        assert np.isfinite(shown.scene.figure.bones.batched_positions).all()
        assert np.isfinite(shown.scene.markers.residuals.points).all()
    with pytest.raises(ik.UsageError, match="no frame"):
        PlaybackData.of(ik.Motion(take.skeleton, q[:3], 120.0))


# --- how far to trust it


def test_the_worst_frames_come_first_and_apart():
    errors = np.full((1000, 2), 0.001)
    errors[300, 0], errors[301, 1], errors[700, 1], errors[5] = 0.05, 0.04, 0.03, np.nan
    bookmarks = find_error_peaks(errors, ("A", "B"), 100.0, 2)
    assert [bookmark.frame for bookmark in bookmarks] == [300, 700]
    assert bookmarks[0].title == "A 50 mm off"
    assert "marker B is 30.0 mm" in bookmarks[1].text
    assert find_error_peaks(np.full((9, 2), np.nan), ("A", "B"), 100.0) == []
    assert find_error_peaks(np.empty((9, 0)), (), 100.0) == []
    present = np.ones(20, dtype=bool)
    present[3], present[10:15] = False, False
    assert [bookmark.frame for bookmark in find_missing_poses(present)] == [10, 3]


def test_a_frame_has_one_bookmark_with_all_reasons():
    made = [Bookmark(7, "no pose", "A."), Bookmark(3, "spike?", "B."), Bookmark(7, "leap", "C.")]
    merged = merge_bookmarks(made)
    assert merged == [Bookmark(7, "no pose, leap", "A. C."), Bookmark(3, "spike?", "B.")]


def test_bones_have_the_colour_of_what_their_values_are_worth(take: ik.Track):
    arm: Any = SimpleNamespace(parents=np.array([-1, 0, 1]), dof_bones=np.array([0, 0, 1]))
    quality = np.array([Quality.MEASURED, Quality.DOUBTFUL, Quality.MEASURED], dtype=np.uint8)
    names = (Quality.MEASURED, Quality.DOUBTFUL, Quality.DOUBTFUL)  # the last one is rigid
    assert colour_quality(arm, quality).tolist() == [list(QUALITY_COLOURS[n]) for n in names]
    worth = PlaybackData.of(take).joint_quality
    assert worth is not None
    with MotionViewer(take) as viewer:
        viewer.panel.colouring.value = "quality"
        assert viewer.scene.figure is not None
        bones = viewer.scene.figure.bones
        shown = colour_quality(take.skeleton, worth[0])
        expected = srgb_to_linear(shown[viewer.scene.figure.limbs.bone])
        assert wait_for(lambda: bool(np.array_equal(bones.batched_colors, expected)))


def test_segments_that_need_a_look_are_bookmarks_with_their_reason(take: ik.Track):
    bookmarks = PlaybackData.of(take).bookmarks
    assert len(take.attention) > 0
    for attention, bookmark in zip(take.attention, bookmarks, strict=False):
        assert attention.first <= bookmark.frame <= attention.last
        assert attention.text in bookmark.text


def test_error_bars_are_said_and_painted(take: ik.Track):
    figure, sd = take.skeleton, np.zeros(take.skeleton.nv)
    sd[figure.dof_names.index("head.rx")] = np.radians(2.1)
    sd[figure.dof_names.index("pelvis.tx")] = 1.0  # metres, not an angle
    deviation = compute_joint_deviations(figure, sd)
    names = figure.bone_names
    assert describe_least_certain(names, deviation) == "head ±2.1°"
    deviation[figure.bone_index("l_hand")] = 1.8
    assert (
        describe_least_certain(figure.bone_names, deviation)
        == "head ±2.1°; markers do not tell l_hand"
    )
    assert describe_least_certain(names, 1e3 * deviation) == "markers do not tell head, l_hand"
    brightness = colour_uncertainty(np.radians([0.1, 0.3, 2.0, 15.0, 90.0])).astype(int).sum(axis=1)
    assert brightness[0] == brightness[1] < brightness[2] < brightness[3] == brightness[4]
    with MotionViewer(take) as shown:
        assert shown.scene.figure is not None
        before = np.array(shown.scene.figure.bones.batched_colors)
        shown.change(lambda: shown.scene.colour_by(UNCERTAINTY))
        bones = shown.scene.figure.bones
        assert wait_for(lambda: not np.array_equal(bones.batched_colors, before))
        assert "Least certain" in shown.panel.text.content
        shown.change(lambda: shown.scene.colour_by(LIMITS))
        assert wait_for(lambda: np.array_equal(bones.batched_colors, before))


def test_the_worst_marker_of_a_frame_is_shown_and_named(take: ik.Track):
    with MotionViewer(take) as shown:
        worst = shown.scene.markers.worst
        assert worst is not None
        for frame in (0, 7, 60):
            shown.show(frame)
            k = int(np.nanargmax(shown.data.errors[frame]))
            assert worst.marker == k and worst.node.visible
            error_mm = 1e3 * shown.data.errors[frame, k]
            assert worst._label.text == f"{shown.data.names[k]}: {error_mm:.1f} mm off"
            ends = np.array(worst._line.points)[0]
            assert np.linalg.norm(ends[1] - ends[0]) == pytest.approx(1e-3 * error_mm, abs=1e-6)
            assert f"worst **{shown.data.names[k]}**" in shown.panel.text.content
        shown.scene.markers.exaggeration = 5.0
        shown.show(60)
        ends = np.array(worst._line.points)[0]
        assert np.linalg.norm(ends[1] - ends[0]) == pytest.approx(5e-3 * error_mm, abs=1e-5)
        worst.enabled = False
        shown.show(60)
        assert worst.marker is None and not worst.node.visible
    assert find_worst(np.array([np.nan, np.nan])) is None


def test_the_error_curve_has_axes_and_gaps_and_is_never_empty(take: ik.Track):
    data = PlaybackData.of(take)
    drawn = draw_error_curve(data)
    assert drawn is not None
    for word in ("error of markers [mm]", "worst marker", "mean of all", "time [s]", SEEK_AREA):
        assert word in drawn
    largest = 1e3 * np.nanmax(data.frame_errors[1])
    numbers = [float(number) for number in re.findall(r"px\">([0-9.]+)</span>", drawn)]
    top, half, zero = numbers
    assert (half, zero) == (top / 2, 0.0) and largest <= top <= 2.0 * largest
    highest = min(float(y) for y in re.findall(r"[ML][0-9.]+,([0-9.]+)", drawn))
    assert highest == pytest.approx(100.0 * (1.0 - largest / top), abs=0.1)
    errors = np.full((10, 2), np.nan)
    cut = replace(data, motion=take.motion.between(0.0, 9.0 / take.motion.rate), track=None)
    cut.__dict__["errors"] = errors
    assert draw_error_curve(cut) is None
    with MotionViewer(cut) as shown:
        curve = shown.panel.curve
        assert curve is not None and "no errors to show" in curve.html.content
    del cut.__dict__["frame_errors"]
    errors[[2, 5, 6]] = 0.001
    cut.__dict__["errors"] = errors
    drawn = draw_error_curve(cut)
    assert drawn is not None and drawn.count("M") == 4  # a dot and a line, of two curves


def test_a_click_on_a_plot_over_time_goes_to_its_frame(take: ik.Track):
    with MotionViewer(take) as shown:
        count = len(shown.data)
        for share, frame in ((0.0, 0), (0.5, count // 2), (1.0, count - 1)):
            shown.panel._seek_share({"share": share})
            assert shown.frame == frame
        for nonsense in (-0.1, 1.1, float("nan")):
            shown.panel._seek_share({"share": nonsense})
            assert shown.frame == count - 1


# --- files


def test_exports_have_thirty_frames_a_second_at_most():
    frames, rate = choose_frames(241, 120.0, 30.0)
    assert (len(frames), rate) == (61, 30.0)
    assert (frames[:3].tolist(), frames[-1]) == ([0, 4, 8], 240)
    frames, rate = choose_frames(100, 25.0, 30.0)
    assert (len(frames), rate) == (100, 25.0)
    assert choose_frames(1, 120.0, 30.0)[0].tolist() == [0]
    with pytest.raises(ik.UsageError, match="fps"):
        choose_frames(10, 120.0, float("nan"))


def test_exports_are_whole_or_not_there(take: ik.Track, tmp_path: Path):
    with MotionViewer(take) as shown:
        done: list[int] = []
        shown.export(tmp_path / "take.html", progress=lambda n, total: done.append(total - n))
        assert done[-1] == 0
        shown.export(tmp_path / "take.glb", fps=60.0)
    text = (tmp_path / "take.html").read_text("utf-8")
    assert "exactikPlayer.create" in text and len(text) < 1e6
    again = ik.load_motion(tmp_path / "take.glb")
    assert (len(again), again.rate) == (121, 60.0)
    bone = take.skeleton.bone_index("head")
    there = again.forward().positions[30, again.skeleton.bone_index("head")]
    assert np.allclose(there, take.motion.forward().positions[60, bone], atol=1e-4)
    for name in ("take.txt", "take", "nowhere/take.html"):
        with pytest.raises(ik.FileError, match=r"no export as|cannot be written"):
            export_playback(PlaybackData.of(take), tmp_path / name)
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(ik.FileError, match="is a folder"):
        export_playback(PlaybackData.of(take.motion.between(0.0, 0.0)), tmp_path / "folder.html")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder.html", "take.glb", "take.html"]


def test_notebooks_get_something_to_show(take: ik.Track, monkeypatch: pytest.MonkeyPatch):
    short = take.motion.between(0.0, 0.2)
    shown = ik.view(short, static=True, height=300)
    assert isinstance(shown, EmbeddedView)
    frame = shown._repr_html_()
    assert frame.startswith('<iframe srcdoc="')
    assert "height:300px" in frame
    assert "<script" not in frame  # escaped
    assert isinstance(ik.view(ik.hand(), static=True), EmbeddedView)
    assert not is_notebook()
    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert is_notebook()
    assert isinstance(ik.view(take), EmbeddedView)
    server = ik.view(short, port=0, browser=False)  # whoever names a port wants a server
    assert isinstance(server, MotionViewer)
    server.close()


# --- the command


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["exactik", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def test_the_command_exports_a_motion_with_its_markers(
    take: ik.Track,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    take.markers.save("take.c3d")
    for name in ("take.npz", "take.glb", "take.bvh"):
        take.save(name)
    options = ("--markers", "take.c3d", "--reference", "take.glb", "--output", "out.html")
    assert run(monkeypatch, "play", "take.npz", *options) == 0
    assert "written out.html" in capsys.readouterr().out
    assert run(monkeypatch, "play", "take.bvh", "take.npz", *options, "--up", "z") == 0
    assert "none of these markers" in " ".join(capsys.readouterr().err.split())
    wrong: list[tuple[tuple[str, ...], str]] = [
        (("take.c3d", "take.npz"), "--markers"),
        (("take.npz", "take.c3d"), "--markers"),
        (("take.c3d", "--output", "out.glb"), "expected .html"),
        (("absent.bvh",), "cannot be read"),
        (("take.mot",), "--skeleton"),
        (("take.npz", "--output", "out.txt"), "expected .html or .glb"),
        (("take.npz", "--output", "take.npz"), "expected .html or .glb"),
        (("take.glb", "--output", "take.glb"), "is read"),
        (("take.npz", "--output", "out.html", "--output-rate", "0"), "fps"),
        (("take.npz", "--up", "w"), "--up is"),
    ]
    Path("take.mot").write_text("empty\n")
    for arguments, words in wrong:
        assert run(monkeypatch, "play", *arguments) == 2
        text = capsys.readouterr().err
        assert words in " ".join(text.split())
        assert "Traceback" not in text
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert run(monkeypatch, "play", "take.npz", "--no-browser", "--port", port) == 2
    assert "another program does" in " ".join(capsys.readouterr().err.split())


# --- the server


@pytest.mark.slow
def test_one_frame_and_a_hundred_thousand(take: ik.Track):
    one = replace(take.motion, q=take.motion.q[:1])
    with MotionViewer(one, markers=take.markers, references=[one]) as shown:
        shown.play()
        shown.step(1)
        assert (shown.frame, shown.transport.playing) == (0, False)
        assert "<iframe" in EmbeddedView(shown.data)._repr_html_()
    q = np.resize(take.motion.q, (100_000, take.skeleton.nq))
    positions = np.resize(take.markers.positions, (100_000, len(take.markers.names), 3))
    markers = replace(take.markers, positions=positions)
    with MotionViewer(replace(take.motion, q=q), markers=markers) as shown:
        shown.show(99_999)
        assert shown.panel.curve is not None
        assert (
            len(draw_error_curve(shown.data) or "") < 20_000
        )  # characters: as many points as pixels
        assert shown.panel.slider.value == 99_999


def test_a_page_that_draws_nothing_gets_a_hint_once(
    take: ik.Track, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(page_viewer, "BLANK_PAGE_S", 0.2)
    with caplog.at_level(logging.WARNING, "exactik.studio.viewer"):
        with MotionViewer(take) as shown, connect_page(shown), connect_page(shown):
            assert wait_for(lambda: len(caplog.records) > 0)
            shown.show(5)
    assert len(caplog.records) == 1
    assert "WebGL" in caplog.text


def test_closing_ends_it_for_good(take: ik.Track):
    shown = MotionViewer(take)
    shown.play()
    shown.close()
    shown.close()
    shown.wait()
    assert not shown._thread.is_alive()
    with pytest.raises(OSError), socket.create_connection(("127.0.0.1", int(shown.url[-5:])), 1.0):
        pass


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_stays_over_ten_minutes(take: ik.Track):
    with MotionViewer(take, references=[take.motion]) as shown, connect_page(shown):
        before, after = measure_memory_growth(shown)
    print(json.dumps({"after a minute": before, "after ten": after, "unit": "MB"}))
    assert after - before < 10.0


def test_a_ghost_is_shown_beside_the_figure():
    """As `exactik play hero.glb walk.bvh --aside 1.2` does with a retargeted figure."""
    motion = simulate_performance(2.0, 20.0)
    viewer = MotionViewer(PlaybackData.of(motion, references=[motion], aside=1.2))
    try:
        assert tuple(viewer.scene.ghosts[0].figure.node.position) == (0.0, 1.2, 0.0)
        assert viewer.panel.aside.value == 1.2
    finally:
        viewer.close()
