"""The first screen of a report: what its readers look for, in their words."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from exactik import Track, human, track
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.model.motion import Markers
from exactik.studio.report import (
    describe_error,
    describe_first_look,
    headline_of,
    render_report,
    summary_of,
)

JARGON = re.compile(
    r"\b(dofs?|residuals?|saddle|branch(es)?|huber|jacobian|hessian|gradient|converged?|"
    r"iterations?|quaternion|robust|solver|cost|minimum|calibration|[lr]_[a-z]+|\w+\.r[xyz])\b",
    re.IGNORECASE,
)
LEGS = ("FWT", "BWT", "THI", "KNE", "SHN", "ANK", "HEE", "TOE", "MT5")


def record(acts: tuple[str, ...], seconds: float = 3.0) -> Markers:
    motion = simulate_performance(seconds, 60.0, acts=acts)
    return simulate_recording(motion, noise=0.001, swap=False, gaps=0.02).markers


@pytest.fixture(scope="module")
def walk() -> Track:
    """Four seconds of a walk, legs alone, of which some markers of a leg are lost for a while."""
    markers = record(("walk",), 4.0)
    markers = markers.chosen([n for n in markers.names if n.endswith(LEGS)])
    positions = np.array(markers.positions)
    lost = [markers.names.index(name) for name in ("LKNE", "LSHN", "LANK", "LHEE", "LTOE", "LMT5")]
    positions[100:160, lost] = np.nan
    return track(human(), replace(markers, positions=positions))


@pytest.fixture(scope="module")
def arms() -> Track:
    markers = record(("wave",))
    return track(human(), markers.chosen([n for n in markers.names if not n.endswith(LEGS)]))


def first_screen(text: str) -> str:
    """The words of the head of a page."""
    head = re.search(r"<header>(.*?)</header>", text, re.S)
    assert head is not None
    return " ".join(re.sub(r"<small class=\"raw\">.*?</small>|<[^>]+>", " ", head[1]).split())


def test_a_walk_begins_with_its_angles_events_and_figures(walk: Track):
    text = render_report(walk)
    words = first_screen(text)
    order = [
        "walking, ",
        "The markers fit the figure to",
        "Not measured: ",
        "Hip flexion",
        "Knee flexion",
    ]
    order += ["stride length", "right foot", "Findings"]
    places = [words.index(word) for word in order]
    assert places == sorted(places)
    assert words.count("Not measured") == 1 and "both arms" in words
    assert "frames solved a second" not in words and "frames solved a second" in text
    panels = re.findall(r'<figure class="panel"><h4>(.*?)</h4>', text.partition("</header>")[0])
    assert panels[0] == "Pelvis tilt" and panels[-1] == "Ankle dorsiflexion" and len(panels) == 8
    assert 'class="normal"' not in text


def test_the_normal_range_of_a_laboratory_is_drawn_behind_the_curves(walk: Track, tmp_path: Path):
    table = tmp_path / "lab.csv"
    table.write_text("angle,percent,mean,sd\nknee_flexion,0,5,4\nknee_flexion,70,61,6\n", "utf-8")
    walk.report(tmp_path / "walk.html", normal=table)
    text = (tmp_path / "walk.html").read_text("utf-8")
    assert text.count('class="normal"') == 1 and "Grey: 95 % of those of lab.csv." in text


def test_arms_alone_begin_with_their_range_of_motion(arms: Track):
    words = first_screen(render_report(arms))
    assert "arms and trunk" in words and "Range of motion" in words
    right, left = re.search(
        r"Elbow flexion .*? right (\S+)° to \S+ .*? left (\S+)°", words
    ).groups()  # pyright: ignore[reportOptionalMemberAccess]
    angles = arms.angles()
    for side, said in (("r", right), ("l", left)):
        lowest = angles.degrees[:, angles.names.index(f"elbow_flexion_{side}")].min()
        assert float(said.replace("−", "-")) == pytest.approx(lowest, abs=3.0)
    assert "Hip flexion" not in words


def test_other_movements_begin_with_what_moved_most():
    words = first_screen(render_report(track(human(), record(("squat",)))))
    assert "What moved most" in words and "Knee flexion" in words


def test_nobody_needs_the_words_of_solvers_at_first(walk: Track, arms: Track):
    for solved in (walk, arms):
        assert JARGON.findall(first_screen(render_report(solved))) == []
        summary = summary_of(solved)
        lines = [summary["verdict_short"], describe_error(summary), describe_first_look(summary)]
        for said in (*lines, headline_of(summary), *(f["text"] for f in summary["attention"])):
            assert JARGON.findall(said) == []


def test_joints_are_named_as_people_do_with_the_figures_name_in_grey(walk: Track):
    gap = next(found for found in walk.attention if found.kind == "gap")
    assert gap.text.startswith("markers are missing for ") and "left knee, left ankle" in gap.text
    assert "l_shin, l_foot" in render_report(walk) and "l_shin" not in gap.text


def test_curves_say_their_signs_and_count_in_round_numbers(walk: Track):
    head = render_report(walk).partition("</header>")[0]
    knee = head[head.index("<h4>Knee flexion") :].partition("</figure>")[0]
    assert '<em class="end">flexion</em><em class="end low">extension</em>' in knee
    ticks = re.findall(r'class="tick"[^>]*>([^<]+)<', knee)
    numbers = [float(number.replace("−", "-")) for number in ticks]
    assert 0.0 in numbers and all(number % 10 == 0 for number in numbers)
    assert 'class="grid zero"' in knee
