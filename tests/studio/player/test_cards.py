"""What notebooks show: whole, escaped, small, without a request and without scripts of the page."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.model import Skeleton
from exactik.model.motion import Markers, Motion, turn_skeleton

EVIL = "<script>alert('x')</script>\"&"


class Card(HTMLParser):
    """Opens and closes every element; keeps words and the page of a frame."""

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.words: list[str] = []
        self.page = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)
        assert re.search("nan|inf", dict(attrs).get("d") or "") is None
        self.page = dict(attrs).get("srcdoc") or self.page
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def check_card(thing: Any, most: float) -> Card:
    text = thing._repr_html_()
    assert len(text) < most
    card = Card(text)
    assert card.open == [] and "script" not in card.tags
    assert re.search(r"https?://|url\(|@import", unescape(text)) is None
    return card


@pytest.fixture(scope="module")
def hostile() -> Skeleton:
    figure = ik.human()
    markers = {EVIL if name == "T10" else name: place for name, place in figure.markers.items()}
    return Skeleton.build(EVIL, figure.bones, markers).with_look_of(figure)


@pytest.fixture(scope="module")
def recording() -> Markers:
    made = simulate_recording(simulate_performance(2.0, 60.0), swap=False, gaps=0.1)
    return replace(made.markers.between(0.0, 0.2).renamed({"T10": EVIL}), source=f"/data/{EVIL}")


def test_a_skeleton_with_its_look(hostile: Skeleton):
    card = check_card(hostile, 100e3)
    words = " ".join(card.words)
    assert f"Skeleton {EVIL}" in words and "58" in words and "11220 vertices" in words
    assert card.tags.count("path") > 800  # its skin
    bare = check_card(hostile.with_visuals(None), 15e3)
    assert "drawn as sticks" in " ".join(bare.words) and bare.tags.count("path") > 15


def test_markers_and_what_is_missing(recording: Markers):
    card = check_card(recording, 15e3)
    assert f"{100.0 * recording.missing.mean():.1f} %" in " ".join(card.words)
    best = int((~recording.missing).sum(axis=1).max())
    assert card.tags.count("circle") == best
    nothing = Markers(np.empty((0, 1, 3)), ("A",), 10.0)
    assert "svg" not in check_card(nothing, 15e3).tags


def test_a_motion_plays(hostile: Skeleton):
    motion = Motion(hostile, np.tile(hostile.neutral(), (90, 1)), 30.0)
    card = check_card(motion, 450e3)
    page = Card(card.page)
    assert page.open == [] and page.tags.count("script") == 2
    assert "90 at 30 Hz, 3 s" in " ".join(card.words)
    long = replace(motion, q=np.tile(motion.q, (100, 1)))
    # A notebook is saved with it: of 9000 frames only some are shown.
    assert "of 9000 frames" in check_card(long, 450e3).page
    assert "iframe" not in check_card(replace(motion, q=motion.q * np.nan), 15e3).tags


def test_a_result_shows_its_pose_its_goals_and_why(hostile: Skeleton):
    goals = [ik.PositionGoal("r_hand", (0.6, -0.3, 1.4), name="solver")]
    result = ik.solve(hostile, [*goals, ik.DirectionGoal("head", (1, 0, 0), target=(0, 1, 0))])
    card = check_card(result, 100e3)
    assert result.why in " ".join(card.words) and card.words.count("solver") == 2
    assert card.tags.count("circle") == 2  # the hand, and where it should be
    many = [ik.MarkerGoal(name, (0.0, 0.0, 1.0)) for name in list(hostile.markers)[:20]]
    assert "and 8 more goals" in " ".join(check_card(ik.solve(hostile, many), 110e3).words)


def test_a_track_plays_below_its_verdict(hostile: Skeleton, recording: Markers):
    solved = ik.track(hostile, recording, branches=False)
    card = check_card(solved, 450e3)
    words = " ".join(card.words)
    assert solved.verdict.words in words and "mean error" in words
    assert EVIL not in card.page and "\\u003cscript>alert" in card.page


def test_what_is_shown_stands_whichever_axis_is_up_in_its_file():
    """Skeletons and motions that do not say what is up are turned by their shape."""
    standing = ik.human()
    lying = turn_skeleton(standing, "YZX")
    assert standing._repr_html_() == standing.with_bones(standing.bones)._repr_html_()
    q = np.tile(lying.neutral(), (2, 1))
    places = lying.forward(lying.neutral()).markers
    markers = Markers(places[None], tuple(lying.markers), 30.0)
    scenes: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "exactik.studio.cards.render_still",
            lambda scene, **_: scenes.append(scene) or "",
        )
        patch.setattr(
            "exactik.studio.cards.render_player_frame",
            lambda scene: scenes.append(scene) or "",
        )
        lying._repr_html_()
        assert "not known, shown as y" in Motion(lying, q, 30.0)._repr_html_()
        markers._repr_html_()
    assert len(scenes) == 3
    for scene in scenes:
        places = scene.measured[0] if scene.pose is None else scene.pose.positions[0]
        assert np.argmax(np.ptp(places, axis=0)) == 2 and places[:, 2].min() > -0.1
