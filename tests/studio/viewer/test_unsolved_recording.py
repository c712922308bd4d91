"""Markers alone, without a browser: what is known of them, what is shown, opened and solved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.model.motion import ForcePlate, sample_reactions
from exactik.recordings.pipeline import LoadedSkeleton
from exactik.studio.player.proportions import compute_reach
from exactik.studio.plots.axes import Bins, find_round_ticks
from exactik.studio.viewer import MotionViewer, PlaybackData, UnsolvedRecording
from exactik.studio.viewer.page import upload
from exactik.studio.viewer.page.channel import SEEK_AREA
from exactik.studio.viewer.page.colours import NAMED_COLOUR, srgb_to_linear
from exactik.studio.viewer.page.server import start_guarded_server, stop_server
from exactik.studio.viewer.page.upload import (
    MAX_UPLOAD_BYTES,
    Uploads,
    describe_error,
    make_safe_name,
)
from exactik.studio.viewer.playback import (
    REPORT_ENDING,
    SolveJob,
    encode_playback,
    make_solved_playback,
    open_shown_file,
)
from exactik.studio.viewer.recording import (
    CLICK_PIXELS,
    MAX_COLUMNS,
    MAX_SEGMENTS_PER_TRAIL,
    MAX_TRAIL_SEGMENTS,
    OLD_COLOURS,
    STRIP_PIXELS,
    RecordingOverview,
    describe_marker,
    draw_strip,
    find_marker_at,
    make_trails,
    measure_cloud,
)
from exactik.studio.viewer.recording._scene import MEASURED, NONE
from tests.support.browser import wait_for

COMPILING_S = 300.0  # that a solve may take where there is no library

pytestmark = pytest.mark.viewer
pytest.importorskip("viser")


@pytest.fixture(scope="module")
def motion() -> ik.Motion:
    return simulate_performance(2.0, 60.0)


@pytest.fixture(scope="module")
def markers(motion: ik.Motion) -> ik.Markers:
    recording = simulate_recording(motion, noise=0.001, gaps=0.0, swap=False).markers
    named = recording.renamed({recording.names[-1]: "*17"})
    positions = np.array(named.positions)
    positions[20:41, 3] = np.nan
    positions[60, 5] += 0.4
    positions[65:110, 7] = positions[65, 7]
    return replace(named, positions=positions, first_frame=101, source="take.c3d")


@pytest.fixture(scope="module")
def shown(markers: ik.Markers) -> Iterator[MotionViewer]:
    with MotionViewer(markers) as viewer:
        yield viewer


# --- what is known of a recording


def test_gaps_names_and_suspicions_are_found(markers: ik.Markers):
    overview = RecordingOverview(markers)
    assert overview.unnamed.tolist() == [*[False] * (len(markers.names) - 1), True]
    assert [tuple(gap) for gap in overview.gaps(3)] == [(20, 40)]
    assert overview.gaps(4) == []
    kinds = {one.kind: one for one in overview.suspicions}
    assert set(kinds) == {"spike", "frozen"}
    assert (kinds["spike"].markers, tuple(kinds["spike"].segment)) == ((5,), (60, 60))
    assert (kinds["frozen"].markers, tuple(kinds["frozen"].segment)) == ((7,), (65, 109))
    assert "frame 161" in kinds["spike"].text  # numbered as in the file
    assert overview.is_suspect.sum() == 46
    assert overview.suspicions_of(4) == ()
    exact = np.linalg.norm(markers.positions[12, 4] - markers.positions[10, 4]) * 30.0
    assert overview.speeds(4)[11] == pytest.approx(exact)
    text = describe_marker(overview, 3, 30)
    assert "missing now" in text and "121 to 141" in text and "1 gap" in text
    assert "leaps away" in describe_marker(overview, 5, 0)


def test_computed_points_come_after_what_was_measured_and_are_not_shown(motion: ik.Motion):
    made = simulate_recording(motion, noise=0.001, gaps=0.0, swap=False).markers
    names = (*made.names[:4], "PELO", "PELA", "LFEO", "LFEA", *made.names[8:-1], "*9")
    with MotionViewer(made.renamed(dict(zip(made.names, names, strict=True)))) as viewer:
        scene, panel = viewer.scene.markers.recording, viewer.panel.recording
        assert scene is not None and panel is not None and viewer.data.overview is not None
        assert np.flatnonzero(viewer.data.overview.computed).tolist() == [4, 5, 6, 7]
        assert viewer.data.overview.order[-5:] == [4, 5, 6, 7, len(names) - 1]
        viewer.show(0)
        sizes = viewer.scene.markers.measured
        assert np.flatnonzero(sizes.batched_scales == 0.0).tolist() == [4, 5, 6, 7]
        panel.computed.value = True
        assert wait_for(lambda: bool((sizes.batched_scales > 0.0).all()))
        count = len(names) - 5
        said = f"{count} of {count} markers, 4 of 4 computed points, 1 of 1 points without a name"
        assert said in viewer.panel.text.content
        assert "computed, not measured" in describe_marker(viewer.data.overview, 4, 0)
        exported = encode_playback(viewer.data, ".html", fps=1.0).decode()
    assert names[8] in exported and "LFEA" not in exported


def test_exchanged_names_are_a_suspicion_about_both(motion: ik.Motion):
    made = simulate_recording(motion, noise=0.001, gaps=0.0)
    overview = RecordingOverview(made.markers)
    assert made.swapped is not None
    pairs = [{made.markers.names[k] for k in one.markers} for one in overview.suspicions]
    assert pairs == [set(made.swapped)]


def test_a_gap_of_one_frame_shows_in_a_long_recording(markers: ik.Markers):
    steps = np.random.default_rng(5).normal(size=(4_000, 60, 3))
    positions = np.arange(60)[None, :, None] + 1e-4 * np.cumsum(steps, axis=0)
    positions[2777, 30] = np.nan
    names = tuple(f"M{chr(65 + k // 8)}{k % 8}x" for k in range(60))
    long = RecordingOverview(ik.Markers(positions, names, 100.0))
    html, height = draw_strip(long)
    assert height == STRIP_PIXELS == 180  # 60 rows fit without scrolling
    column = 4_000 / MAX_COLUMNS
    bars = [part for part in html.split("M")[1:] if part[0].isdigit()]
    assert len(bars) == 61
    broken = [bar for bar in bars if f" {30 * height // 60}H" in bar]
    start = float(broken[1].split()[0])
    assert abs(start - 2777) < column + 1.0
    assert "MD6x: missing in 0.0 % of the frames" in html
    assert len(html) < 30_000


def test_a_curve_keeps_single_leaps_and_gaps():
    values = np.zeros(100_000)
    values[50_123], values[70_077] = 3.0, np.nan
    places, curve = Bins.of(len(values), 200).pairs(values)
    assert len(curve) == len(places) == 400 and (np.diff(places) > 0.0).all()
    assert np.nanmax(curve) == 3.0
    assert np.isnan(curve).sum() == 1


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.1, 0.9, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (-1.6, 2.3, [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0]),
        (0.934, 0.961, [0.93, 0.94, 0.95, 0.96, 0.97]),
        (-0.2, 1.9, [-0.5, 0.0, 0.5, 1.0, 1.5, 2.0]),
        (5.0, 5.0, [4.995, 5.0, 5.005]),
    ],
)
def test_numbers_beside_a_curve_are_round(low: float, high: float, ticks: list[float]):
    assert find_round_ticks(low, high, 0.01) == pytest.approx(ticks)


def test_trails_end_at_the_marker_and_stop_at_gaps():
    positions = np.zeros((50, 2, 3))
    positions[:, 0, 0] = np.arange(50)
    positions[:, 1, 1] = np.arange(50)
    positions[25, 1] = np.nan
    lines = make_trails(positions, 30, 6, 1).reshape(6, 2, 2, 3)
    assert lines[0, 0, 0].tolist() == [30.0, 0.0, 0.0]
    assert lines[5, 0, 1].tolist() == [24.0, 0.0, 0.0]
    assert lines[4, 1, 0].tolist() == lines[4, 1, 1].tolist()  # touches the gap: a point
    assert lines[3, 1, 1].tolist() == [0.0, 26.0, 0.0]
    early = make_trails(positions, 2, 6, 1).reshape(6, 2, 2, 3)
    assert early[1, 0, 1].tolist() == [0.0, 0.0, 0.0]
    assert (early[2:, 0, 0] == early[2:, 0, 1]).all()
    lost = np.full((3, 2, 3), np.nan)
    assert np.isfinite(make_trails(lost, 2, 2, 1)).all()


def test_trails_of_many_markers_are_coarser(shown: MotionViewer):
    scene = shown.scene.markers.recording
    assert scene is not None
    for seconds in (0.5, 5.0, 0.0):
        scene.set_trails(seconds)
        count = scene._steps * len(scene.overview.labels) if seconds > 0.0 else 0
        assert count <= MAX_TRAIL_SEGMENTS
        assert scene._steps <= MAX_SEGMENTS_PER_TRAIL
        assert scene._steps * scene._stride >= round(seconds * 60.0)
    assert scene._trails is None
    scene.set_trails(0.5)


def test_trails_begin_in_the_colour_of_their_marker_and_fade_into_the_page(shown: MotionViewer):
    scene = shown.scene.markers.recording
    assert scene is not None
    for dark in (True, False):
        scene.set_dark(dark)
        colours = np.array(scene._trails.colors).reshape(scene._steps, -1, 2, 3)
        assert colours[0, 0, 0].tolist() == srgb_to_linear(NAMED_COLOUR).tolist()
        assert colours[-1, 0, 1].tolist() == srgb_to_linear(OLD_COLOURS[dark]).tolist()


def test_a_click_means_the_marker_nearest_to_its_ray():
    places = np.array([[0.0, 1.0, 0.0], [0.02, 2.0, 0.0], [np.nan] * 3])
    eye = np.zeros(3)
    assert find_marker_at(places, eye, np.array([0.0, 2.0, 0.0]), 0.02) == 0
    assert find_marker_at(places, eye, np.array([0.018, 2.0, 0.0]), 0.02) == 1
    assert find_marker_at(places, eye, np.array([1.0, 0.0, 0.0]), 0.02) is None
    assert find_marker_at(np.empty((0, 3)), eye, np.array([1.0, 0.0, 0.0]), 0.02) is None


def test_strays_change_neither_size_nor_middle(motion: ik.Motion, markers: ik.Markers):
    measured = RecordingOverview(markers).measured
    alone = measure_cloud(markers, measured)
    assert alone.box.size == pytest.approx(compute_reach(motion.skeleton), rel=0.25)
    assert alone.box.floor == 0.0
    far = np.array(markers.positions)
    far[:, -1] = (40.0, -3.0, -9.0)  # the one without a name
    with_stray = measure_cloud(replace(markers, positions=far), measured)
    assert with_stray.box.size == pytest.approx(alone.box.size)
    assert np.allclose(with_stray.middle(33.0), alone.middle(33.0))
    walking = markers.positions + np.linspace(0.0, 6.0, len(markers))[:, None, None]
    path = measure_cloud(replace(markers, positions=walking), measured)
    assert path.distance == pytest.approx(6.0 * np.sqrt(2.0), rel=0.2)
    one = ik.Markers(np.zeros((1, 1, 3)), ("A",), 100.0)
    assert measure_cloud(one, np.array([False])).box.size > 0.0


# --- what is shown


def test_markers_are_played_without_a_figure(shown: MotionViewer, markers: ik.Markers):
    data = shown.data
    assert (len(data), data.rate, data.title) == (len(markers), 60.0, "take.c3d")
    assert not data.has_figure and shown.motion is None and shown.scene.figure is None
    assert shown.scene.markers.recording is not None
    assert shown.scene.markers.recording.labels == MEASURED
    assert [bookmark.frame for bookmark in data.bookmarks] == [60, 65]
    shown.show(30)
    count = len(markers.names)
    said = shown.panel.text.content
    assert f"{count - 2} of {count - 1} markers, 1 of 1 points without a name seen" in said
    assert "number 131 in the file" in said
    assert shown.scene.markers.measured.batched_scales[3] == 0.0
    assert shown.scene.markers.measured.batched_scales[4] > 0.0
    colours = np.array(shown.scene.markers.measured.batched_colors)
    assert (colours[-1] != colours[0]).any() and (colours[0] == colours[1]).all()
    shown.show(60)
    suspect = np.array(shown.scene.markers.measured.batched_colors)
    assert (suspect[5] != colours[5]).any() and (suspect[4] == colours[4]).all()


def test_the_chosen_marker_is_named_and_plotted(shown: MotionViewer):
    panel, scene = shown.panel.recording, shown.scene.markers.recording
    assert panel is not None and scene is not None
    shown.seek(35)
    panel.choose(3)
    assert wait_for(lambda: "missing now" in panel.text.content)
    assert panel.choice.value == shown.data.overview.markers.names[3]  # type: ignore[union-attr]
    drawn = panel.curve.plot.html.content
    for words in (f"{scene.overview.labels[3]}, position [m]", "time [s]", SEEK_AREA):
        assert words in drawn
    assert drawn.count('d="M') == 3 and drawn.count("M") == 6  # x, y and z, a gap in each
    camera = SimpleNamespace(fov=1.0, image_height=1000)
    place = shown.data.targets(35)[8]
    event: Any = SimpleNamespace(
        client=SimpleNamespace(camera=camera), ray_origin=(9.0, 9.0, 9.0), ray_direction=place - 9.0
    )
    panel.click(event, shown.data.targets(35))
    assert wait_for(lambda: scene.chosen == 8)
    lonely = np.array([[0.0, 9.0, 0.0]])
    for pixels, hit in ((10, True), (20, False)):  # of a thousandth of a radian each
        angle = 1e-3 * pixels
        chosen = find_marker_at(
            lonely, np.zeros(3), np.array([np.sin(angle), np.cos(angle), 0.0]), CLICK_PIXELS * 1e-3
        )
        assert (chosen == 0) is hit
    event.ray_direction = -event.ray_direction  # at nothing: the choice stays
    panel.click(event, shown.data.targets(35))
    panel.show(35)
    shown.panel._choose_row({"share": 3.5 / len(scene.overview.labels)})
    assert wait_for(lambda: scene.chosen == 3)
    shown.panel._choose_row({"share": float("nan")})
    panel.quantity.value = "speed"
    panel.choose(8)
    assert wait_for(lambda: "speed [m/s]" in panel.curve.plot.html.content)
    panel.choose(None)
    assert wait_for(lambda: scene.chosen is None)
    assert wait_for(lambda: panel.curve.plot.html.content == "")


def test_an_axis_that_is_not_said_is_seen_from_the_figure(markers: ik.Markers):
    lying = replace(markers.turned("YZX"), up_axis=None)
    data = PlaybackData.of(lying)
    assert np.allclose(data.targets(10), markers.positions[10], equal_nan=True)
    assert any("taken for up" in note for note in data.notes)
    by_hand = PlaybackData.of(UnsolvedRecording(lying, "axes"))
    assert np.allclose(by_hand.targets(10), lying.positions[10], equal_nan=True)
    said = PlaybackData.of(replace(lying, up_axis="y"))
    assert np.allclose(said.targets(10), data.targets(10), equal_nan=True)
    with pytest.raises(ik.UsageError, match="beside markers alone"):
        PlaybackData.of(markers, markers=markers)
    with pytest.raises(ik.FileError, match="ever seen"):
        PlaybackData.of(ik.Markers(np.full((3, 1, 3), np.nan), ("A",), 1.0))


def test_many_markers_have_no_labels_at_first():
    rng = np.random.default_rng(3)
    names = tuple(f"L{chr(65 + k // 6)}{chr(65 + k % 6)}{k % 6}" for k in range(101))
    crowd = ik.Markers(rng.normal(size=(5, 101, 3)), names, 100.0)
    with MotionViewer(PlaybackData.of(UnsolvedRecording(crowd, "axes"))) as viewer:
        scene = viewer.scene.markers.recording
        assert scene is not None and scene.labels == NONE
    static = ik.view(replace(crowd, up_axis="z"), static=True)
    assert "<iframe" in static._repr_html_()  # type: ignore[union-attr]


# --- force plates


def test_ground_reactions_are_arrows_where_somebody_stands(markers: ik.Markers):
    wrench = np.zeros((10 * len(markers), 6))
    wrench[200:, 2] = 700.0
    corners = [(0.5, 0.3, 0.0), (0.0, 0.3, 0.0), (0.0, 0.0, 0.0), (0.5, 0.0, 0.0)]
    plate = ForcePlate(wrench, type=2, corners=corners, origin=(0.0, 0.0, 0.0), rate=600.0)
    standing = replace(markers, force_plates=(plate,), up_axis="z")
    reactions = sample_reactions(plate, standing)
    assert np.isnan(reactions.places[19]).all()
    assert np.allclose(reactions.places[20], (0.25, 0.15, 0.0))
    size = float(np.linalg.norm(reactions.forces[20]))
    assert size == pytest.approx(700.0)
    with MotionViewer(standing) as viewer:
        plates = viewer.scene.plates
        assert plates is not None
        viewer.show(19)
        assert not plates._arrows[0].visible and plates.describe(19) == ""
        viewer.show(30)
        start, end = plates._arrows[0].points[0]
        assert plates._arrows[0].visible
        assert np.linalg.norm(end - start) == pytest.approx(0.7, rel=1e-5)  # 1 mm for 1 N
        assert "plate 1: 700 N" in viewer.panel.text.content
        plates.draw(None)
        assert not plates._arrows[0].visible
    late = replace(standing, force_plates=(plate.cut(0, 100),))
    assert np.isnan(sample_reactions(late.force_plates[0], late).forces[11:]).all()


# --- files from the page


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("walk 01.c3d", "walk 01.c3d"),
        ("../../etc/passwd", "passwd"),
        ("C:\\takes\\a.trc", "a.trc"),
        ("..", "file"),
        (".bashrc", "bashrc"),
        ("a\x00b;rm -rf $HOME.tsv", "a_b_rm -rf _HOME.tsv"),
        ("вредит.c3d", "вредит.c3d"),
        ("", "file"),
    ],
)
def test_names_of_files_cannot_leave_their_folder(name: str, safe: str):
    assert make_safe_name(name) == safe
    uploads = Uploads()
    path = uploads.store(name, b"abc")
    assert path.parent == uploads.folder and path.read_bytes() == b"abc"
    uploads.close()
    assert not uploads.folder.exists()


def test_long_names_keep_their_suffix():
    assert make_safe_name("a" * 999 + ".c3d").endswith("a.c3d")
    assert len(make_safe_name("a" * 999 + ".c3d")) == 120
    assert len(make_safe_name("a" * 90 + ".c3d")) == 94


def test_the_oldest_files_go_when_there_is_no_room(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(upload, "MAX_UPLOAD_BYTES", 10)
    uploads = Uploads()
    for name in ("a", "b", "c"):
        uploads.store(name, b"12345")
    assert sorted(file.name for file in uploads.folder.iterdir()) == ["b", "c"]
    uploads.store("c", b"1")
    assert (uploads.folder / "c").read_bytes() == b"1"
    uploads.close()


def test_a_server_takes_no_file_that_is_too_large_or_larger_than_it_said():
    from viser import _messages as messages

    assert 200e6 < MAX_UPLOAD_BYTES < 300e6
    server = start_guarded_server()
    try:
        button = server.gui.add_upload_button("open")
        states = server.gui._current_file_upload_states
        handlers = server.gui._websock_interface._incoming_handlers
        (start,) = handlers[messages.FileTransferStartUpload]
        (part,) = handlers[messages.FileTransferPart]
        source = button._impl.uuid

        def begin(transfer: str, size: int) -> None:
            start(
                0,
                messages.FileTransferStartUpload(
                    source_component_uuid=source,
                    transfer_uuid=transfer,
                    filename="a.c3d",
                    mime_type="",
                    part_count=1 if size < 10 else 3,
                    size_bytes=size,
                ),
            )

        for size in (MAX_UPLOAD_BYTES + 1, -1):
            begin("large", size)
            assert len(states) == 0
        begin("whole", MAX_UPLOAD_BYTES)
        begin("another", 1)  # all that arrive at once count
        assert list(states) == ["whole"]
        states.clear()
        begin("many", 10)  # parts of a few bytes each
        assert len(states) == 0
        room = 3 << 16
        begin("lying", room)

        def send(k: int, content: bytes) -> None:
            part(
                0,
                messages.FileTransferPart(
                    source_component_uuid=source,
                    transfer_uuid="lying",
                    part_index=k,
                    content=content,
                ),
            )

        send(0, bytes(room - 5))
        assert states["lying"]["transferred_bytes"] == room - 5
        send(1, bytes(6))
        assert len(states) == 0
        send(2, b"1")
    finally:
        stop_server(server)


def test_files_of_every_kind_are_opened(motion: ik.Motion, markers: ik.Markers, tmp_path: Path):
    short = markers.between(0.0, 0.2)
    for name in ("a.c3d", "a.trc", "a.npz"):
        short.save(tmp_path / name)
        opened = open_shown_file(tmp_path / name)
        assert opened.playback is not None and opened.playback.title == name
        assert len(opened.playback) == len(short)
    still = motion.between(0.0, 0.1)
    still.save(tmp_path / "b.bvh")
    opened = open_shown_file(tmp_path / "b.bvh")
    assert opened.playback is not None and opened.playback.has_figure
    still.save(tmp_path / "c.amc")
    ik.save_skeleton(still.skeleton, tmp_path / "c.asf")
    opened = open_shown_file(tmp_path / "c.amc")  # its .asf lies beside it
    assert opened.playback is not None
    figure = open_shown_file(tmp_path / "c.asf").figure
    assert figure is not None
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "c.amc").write_bytes((tmp_path / "c.amc").read_bytes())
    with pytest.raises(ik.FileError):
        open_shown_file(tmp_path / "d" / "c.amc")
    assert open_shown_file(tmp_path / "d" / "c.amc", [figure]).playback is not None
    # A damaged file is reported as such, and not as one that a figure opened before does not fit.
    (tmp_path / "b.bvh").write_bytes((tmp_path / "b.bvh").read_bytes()[:300])
    damage = {"c.amc": "nose 0", "e.amc": "root 0 0 x 0 0 0"}
    for name, line in damage.items():
        (tmp_path / name).write_text(f":FULLY-SPECIFIED\n:DEGREES\n1\n{line}\n")
    for name in ("b.bvh", *damage):
        messages = []
        for figures in ([], [LoadedSkeleton(ik.hand(), "hand", "z")]):
            with pytest.raises(ik.FileError) as caught:
                open_shown_file(tmp_path / name, figures)
            messages.append(str(caught.value))
        assert messages[0] == messages[1]
    (tmp_path / "bad.c3d").write_bytes(b"nothing of the kind")
    with pytest.raises(ik.FileError) as caught:
        open_shown_file(tmp_path / "bad.c3d")
    assert describe_error(caught.value).startswith("bad.c3d: ")
    assert str(tmp_path) not in describe_error(caught.value)


def test_a_page_shows_another_file_and_says_what_it_cannot(
    markers: ik.Markers, motion: ik.Motion, tmp_path: Path
):
    markers.between(0.0, 0.3).save(tmp_path / "other.trc")
    ik.save_skeleton(motion.skeleton, tmp_path / "figure.npz")
    with MotionViewer(motion.between(0.0, 0.5)) as viewer:
        with pytest.raises(ik.FileError, match="holds a figure"):
            viewer.open_file(tmp_path / "figure.npz")
        viewer.scene.surroundings.set_dark(True)
        viewer.open_file(tmp_path / "other.trc")
        assert wait_for(lambda: viewer.data.title == "other.trc" and viewer.panel.solve is not None)
        assert viewer.scene.figure is None
        assert wait_for(lambda: viewer.transport.playing)
        assert viewer.scene.surroundings.dark
        assert viewer.panel.solve is not None
        assert viewer.panel.solve.figure.value == "figure.npz"  # it was opened before
        assert not viewer.panel.solve.fit.value


# --- solved from the page


@pytest.mark.slow  # test_look_browser.py solves, too
def test_solving_shows_the_figure_with_its_verdict(
    motion: ik.Motion, markers: ik.Markers, tmp_path: Path
):
    recording = replace(markers.between(0.0, 0.4), up_axis="z")
    figure = LoadedSkeleton(motion.skeleton, "subject.npz", "z")
    with MotionViewer(recording, figures=[figure]) as viewer:
        solve = viewer.panel.solve
        assert solve is not None and solve.figure.value == "subject.npz"
        viewer.seek(9)
        solve.press()
        assert wait_for(lambda: viewer.data.has_figure, COMPILING_S)
        assert wait_for(lambda: viewer.panel.solve is not solve)
        assert viewer.data.verdict.startswith(("Good", "Usable", "Do not use"))
        assert wait_for(lambda: viewer.frame == 9)  # one goes on looking where one was
        assert np.nanmedian(viewer.data.errors) < 0.005
        assert viewer.scene.figure is not None
        assert viewer.panel.solve is not None  # to be solved again, with another figure
        for ending in (".npz", ".bvh", REPORT_ENDING):
            content = encode_playback(viewer.data, ending)
            (tmp_path / f"take{ending}").write_bytes(content)
        saved = ik.load_motion(tmp_path / "take.npz")
        assert np.array_equal(saved.q, viewer.data.track.motion.q)  # type: ignore[union-attr]
        assert len(ik.load_motion(tmp_path / "take.bvh", length_unit="cm")) == len(recording)
        assert "<html" in (tmp_path / f"take{REPORT_ENDING}").read_text("utf-8")
        again = viewer.panel.solve
        viewer.show_data(PlaybackData.of(UnsolvedRecording(recording)))
        assert wait_for(lambda: not viewer.data.has_figure and viewer.panel.solve is not again)
        with pytest.raises(ik.UsageError, match="solved recording"):
            encode_playback(viewer.data, REPORT_ENDING)
        again._show(viewer.data)  # a solve that ends after another file was opened shows nothing
        bare = LoadedSkeleton(strip_markers(motion.skeleton), "bare.bvh", "z")
        viewer.panel.solve.add_figure(bare)
        viewer.panel.solve.press()
        assert "has no markers" in viewer.panel.solve.text.content


def test_of_several_subjects_one_is_chosen_or_all_are_shown(motion: ik.Motion, markers: ik.Markers):
    recording = replace(markers.between(0.0, 0.1), up_axis="z")
    beside = recording.positions + np.array([0.0, 1.5, 0.0])
    names = [f"{who}:{name}" for who in "AB" for name in recording.names]
    positions = np.concatenate([recording.positions, beside], axis=1)
    two = replace(recording, positions=positions, names=tuple(names))
    with MotionViewer(two) as viewer:
        solve = viewer.panel.solve
        assert solve is not None and solve.subject.options == ("A", "B", "all")
    with MotionViewer(recording) as viewer:
        assert viewer.panel.solve is not None and viewer.panel.solve.subject is None
    track = ik.track(motion.skeleton, recording)
    solved: Any = [
        SimpleNamespace(subject=who, track=track, verdict=grade, notes=(f"{who} walks.",))
        for who, grade in (("A", "Good."), ("B", "Usable with care."))
    ]
    shown = make_solved_playback(UnsolvedRecording(recording), solved)
    assert shown.verdict == "A: Good. B: Usable with care."
    assert len(shown.references) == 1 and shown.notes == ("A walks.",)
    assert shown.title == "human, take.c3d"
    alone = make_solved_playback(UnsolvedRecording(recording), solved[:1])
    assert alone.verdict == "Good." and alone.references == ()


def strip_markers(skeleton: ik.Skeleton) -> ik.Skeleton:
    return ik.Skeleton("bare", skeleton.bones)


def test_a_solve_is_cancelled_or_fails_in_one_sentence(motion: ik.Motion, markers: ik.Markers):
    ends: list[str] = []
    figure = LoadedSkeleton(motion.skeleton, "subject.npz", "z")

    def start(recording: ik.Markers, on_progress: Any) -> SolveJob:
        return SolveJob(
            UnsolvedRecording(recording),
            figure,
            False,
            on_progress=on_progress,
            on_done=lambda shown: ends.append("done"),
            on_failed=lambda error: ends.append(describe_error(error)),
            on_cancelled=lambda: ends.append("cancelled"),
        )

    jobs: list[SolveJob] = []
    told: list[tuple[str, float]] = []

    def cancel_soon(what: str, share: float) -> None:
        told.append((what, share))
        assert wait_for(lambda: len(jobs) > 0)
        jobs[0].cancel()

    jobs.append(start(markers, cancel_soon))
    assert wait_for(lambda: len(ends) == 1, COMPILING_S)
    assert ends == ["cancelled"] and told == [("preparing", 0.0)]
    strange = markers.renamed({name: f"Q{n}z" for n, name in enumerate(markers.names)})
    start(strange.chosen(strange.names[:2]), lambda what, share: None)
    assert wait_for(lambda: len(ends) == 2, COMPILING_S)
    assert ends[1] not in ("done", "cancelled") and "\n" not in ends[1]
