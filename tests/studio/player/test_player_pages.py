"""Pages of scenes that nobody would make on purpose: sound, or refused in one sentence.

The campaign is `make fuzz ARGS="--only player"`; a run that fails names itself, and `--again NAME`
does it again.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik.errors import UsageError
from exactik.model.visuals import Material, Mesh, Texture, Visual, Visuals, make_box
from exactik.studio.player.data import encode_scene
from exactik.studio.player.page import render_player_page
from exactik.studio.player.scene import compose_scene
from exactik.studio.viewer import EmbeddedView, PlaybackData
from tests.support.browser import chromium
from tests.support.fuzz_player import BrokenPage, PlayerFuzzer, check_page
from tests.support.visuals import make_chain, make_png

RUNS, BROWSER_RUNS = 60, 25


@pytest.fixture
def still() -> ik.Motion:
    figure = make_chain(2)
    return ik.Motion(figure, np.tile(figure.neutral(), (3, 1)), 30.0)


def test_random_scenes_end_in_a_page_or_a_sentence(tmp_path: Path):
    fuzzer = PlayerFuzzer(tmp_path)
    outcomes = Counter(fuzzer.run(f"player/0/{k}") for k in range(RUNS))
    assert outcomes["result"] > RUNS / 2 and outcomes["UsageError"] > 0


@pytest.mark.browser
def test_random_scenes_open_in_a_browser_without_a_word(tmp_path: Path):
    with chromium() as browser:
        fuzzer = PlayerFuzzer(tmp_path, browser)
        assert Counter(fuzzer.run(f"player/0/{k}") for k in range(BROWSER_RUNS))["result"] > 0


def test_the_judge_sees_faults():
    for text, message in (
        ("<script>1</script><script>2</script><script>3</script>", "3 scripts"),
        ("<p onclick=x><script></script><script></script>", "onclick"),
        ('<script id="data">[NaN]</script><script></script>', "NaN"),
        ("<script></script><script></script><svg><path d='M nan 1'/></svg>", "not finite"),
        ("<script></script><script></script>\ud800", "UTF-8"),
    ):
        with pytest.raises(BrokenPage, match=message):
            check_page(text, 2)


def test_names_that_are_no_text_can_be_written(still: ik.Motion):
    # As a file has it whose name is no UTF-8.
    markers = ik.Markers(np.zeros((1, 1, 3)), ("\ud800",), 30.0, source="/a/\udcff.c3d")
    figure = ik.Skeleton("\udcff", still.skeleton.bones)
    motion = ik.Motion(figure, still.q, 30.0)
    for thing in (markers, motion):
        render_player_page(compose_scene(thing)).encode()
        thing._repr_html_().encode()


def test_nothing_is_shown_that_is_too_far_for_single_precision(still: ik.Motion):
    q = still.q.copy()
    q[1, 0] = 1e30
    far = ik.Motion(still.skeleton, q, 30.0)
    for show in (compose_scene, lambda motion: EmbeddedView(PlaybackData.of(motion)).html):
        with pytest.raises(UsageError, match=r"is 1e\+30; nothing as far is shown"):
            show(far)
    places = np.zeros((3, 2, 3))
    places[1, 0] = 1e30
    scene = compose_scene(still, markers=ik.Markers(places, ("A", "B"), 30.0))
    assert np.isnan(scene.measured[1, 0]).all() and np.isfinite(scene.measured[[0, 2]]).all()
    assert encode_scene(scene)["step"] == 2.5e-4  # and the others are as exact as ever


def test_a_motion_beside_another_must_have_a_pose(still: ik.Motion):
    empty = ik.Motion(still.skeleton, np.full((2, still.skeleton.nq), np.nan), 30.0)
    with pytest.raises(UsageError, match="a motion beside it has no frame to show"):
        PlaybackData.of(still, references=[empty])


def test_meshes_without_faces_and_images_of_odd_wrapping_are_drawn_by_what_is_sound(
    still: ik.Motion,
):
    empty = Mesh(np.zeros((0, 3)), np.zeros((0, 3), dtype=int))
    box = make_box((0.1, 0.1, 0.1))
    box = Mesh(box.vertices, box.faces, uv=np.zeros((len(box.vertices), 2)))
    texture = Texture(make_png(2, 2), "image/png", {"wrapS": 7, "wrapT": 33071})
    paint = Material("", textures={"base_colour": texture})
    visuals = Visuals(
        rigid=(
            Visual(name="", bone="b0", mesh=empty, material=Material()),
            Visual(name="", bone="b0", mesh=box, material=paint),
        )
    )
    figure = still.skeleton.with_visuals(visuals)
    data = encode_scene(compose_scene(ik.Motion(figure, still.q, 30.0)))
    sticks, skin = data["figure"]["parts"]
    assert sticks["kind"] == "sticks" and skin["image"]["wrap"] == [10497, 33071]
