"""What a recording is judged by, each on a figure that shows nothing else."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

import exactik as ik
from exactik.model import Bone, Joint, Skeleton
from exactik.motion import Markers
from exactik.tracking import Track
from exactik.typing import Array
from exactik.verdict import (
    LimbFacts,
    MarkerUse,
    PlaceDifference,
    RecordingContext,
    RecordingFacts,
    UpAxis,
    collect_facts,
    judge_facts,
)
from exactik.verdict._facts import count_poses, find_span, is_on_subject, measure_redundancy
from exactik.verdict._heading import measure_heading
from exactik.verdict._mirrored_places import find_place_differences
from exactik.verdict._sides import find_middle_plane, find_unpaired_markers

RATE = 60.0
Point = tuple[float, float, float]


def two_armed(markers: dict[str, tuple[str, Point]]) -> Skeleton:
    """A trunk of a metre with an arm on each side, 0.3 m from the middle."""
    bones = [
        Bone("trunk", joint=Joint.free("ZYX")),
        Bone("head", parent="trunk", offset=(0, 0, 1.0)),
        Bone("l_arm", parent="trunk", offset=(0, 0.3, 0.5), joint=Joint.euler("ZYX")),
        Bone("r_arm", parent="trunk", offset=(0, -0.3, 0.5), joint=Joint.euler("ZYX")),
    ]
    return Skeleton.build("two arms", bones, markers)


# --- sides


def unpaired(markers: dict[str, tuple[str, Point]]) -> tuple[list[str], int]:
    return find_unpaired_markers(two_armed(markers), list(markers))


@pytest.mark.parametrize(("apart", "paired"), [(0.03, True), (0.08, False)])
def test_partners_are_mirror_images_to_a_twentieth_of_the_height(apart: float, paired: bool):
    alone, sided = unpaired({"a": ("l_arm", (0, 0.1, 0)), "b": ("r_arm", (0, -0.1, apart))})
    assert alone == ([] if paired else ["a", "b"]) and sided == 2


def test_what_is_near_the_middle_has_no_side():
    near, off = ("trunk", (0.1, 0.01, 0.5)), ("trunk", (0.1, 0.05, 0.5))
    pair = {"a": ("l_arm", (0, 0.1, 0)), "b": ("r_arm", (0, -0.1, 0))}
    assert unpaired({**pair, "n": near}) == ([], 2)
    assert unpaired({**pair, "n": off}) == (["n"], 3)
    assert unpaired({**pair, "n": ("trunk", (0.1, 0.022, 0.5))}) == (["n"], 3)  # nor its own
    assert unpaired({**pair, "n": off, "m": ("trunk", (0.1, -0.05, 0.5))}) == ([], 4)


def test_names_tell_sides_where_two_pairs_are_called_alike():
    """L1 with a partner in place that is called otherwise: fine unless names tell sides."""
    one = {"LA": ("l_arm", (0, 0.1, 0)), "RA": ("r_arm", (0, -0.1, 0))}
    two = {"LB": ("l_arm", (0, 0.2, 0)), "RB": ("r_arm", (0, -0.2, 0))}
    odd = {"LQ": ("l_arm", (0.1, 0.3, 0)), "x": ("r_arm", (0.1, -0.3, 0))}
    assert unpaired({**one, **odd}) == ([], 4)
    assert unpaired({**one, **two, **odd})[0][0] == "LQ"
    # Called alike, they need not be mirror images; on another bone they are no partners.
    far = {"LC": ("l_arm", (0.3, 0.1, 0)), "RC": ("r_arm", (-0.3, -0.1, 0))}
    assert unpaired({**one, **far}) == ([], 4)
    assert unpaired({"LC": ("l_arm", (0, 0.1, 0)), "RC": ("l_arm", (0, 0.3, 0))})[0] == ["LC", "RC"]


def test_a_marker_is_the_partner_of_one_only():
    three = {
        "a": ("l_arm", (0, 0.1, 0)),
        "b": ("r_arm", (0, -0.1, 0)),
        "c": ("l_arm", (0, 0.1, 0.01)),
    }
    assert len(unpaired({k: three[k] for k in "abc"})[0]) == 1


def test_a_figure_without_sides_has_no_middle():
    bones = [Bone("trunk", joint=Joint.free("ZYX")), Bone("head", parent="trunk", offset=(0, 0, 1))]
    plain = Skeleton.build("plain", bones, {"a": ("head", (0, 0.1, 0))})
    assert find_unpaired_markers(plain, ["a"]) == ([], 0)
    figure = two_armed({})
    plane = find_middle_plane(figure, figure.forward(figure.neutral()).positions)
    assert plane is not None and plane[1] == pytest.approx([0, -1, 0])


def place_differences(moved: dict[str, Point]) -> list[tuple[str, float, float]]:
    """How our human's knees, heels and thighs differ after some markers moved on their bones."""
    figure = ik.human()
    figure = figure.with_markers(
        {n: (bone, np.add(p, moved.get(n, (0, 0, 0)))) for n, (bone, p) in figure.markers.items()}
    )
    landmarks = {"KNE": "knee_lateral", "HEE": "heel", "THI": "thigh_side", "SHN": "shin_cluster"}
    uses = [
        use(name=n, marker=n, bone=figure.marker(n)[0], landmark=f"{n[0].lower()}_{landmark}")
        for n in figure.markers
        for end, landmark in landmarks.items()
        if n[1:] == end
    ]
    found = find_place_differences(figure, uses, [n for n in figure.markers if n != "RHEE"])
    return [(pair.left, round(pair.distance, 4), round(pair.z, 3)) for pair in found]


def test_left_and_right_markers_sit_at_mirrored_places():
    """Clusters have no place to compare; a heel whose partner is never seen has no partner."""
    assert place_differences({}) == [("LTHI", 0.0, 0.0), ("LKNE", 0.0, 0.0)]
    both = {"LKNE": (0.1, 0.05, 0.0), "RKNE": (0.1, -0.05, 0.0)}  # the figure is wrong
    assert place_differences(both)[0][1] == 0.0
    one = {"LKNE": (0.08, 0.0, 0.0), "LTHI": (0.0, 0.0, 0.09), "LHEE": (0.3, 0.0, 0.0)}
    assert place_differences(one) == [("LKNE", 0.08, 4.0), ("LTHI", 0.09, 1.5)]
    assert find_place_differences(two_armed({}), [], []) == ()


# --- movement


def going(path: Array, yaw: Array) -> float | None:
    """The heading of a figure of 1.5 m whose root is at places (T, 3) and looks along yaw (T,)."""
    figure = two_armed({})
    q = np.zeros((len(path), figure.nq))
    q[:, :3], q[:, 3] = path, yaw
    track: Any = SimpleNamespace(skeleton=figure, motion=ik.Motion(figure, q, RATE, up_axis="z"))
    return measure_heading(track, slice(None), 1.5)


def test_who_goes_somewhere_looks_there():
    t = np.arange(240) / RATE
    still = 0.0 * t
    ahead = np.stack([t, still, still], axis=1)
    assert going(ahead, still) == pytest.approx(1.0)
    assert going(-ahead, still) == pytest.approx(-1.0)
    assert going(ahead, still + 0.5 * np.pi) == pytest.approx(0.0, abs=1e-9)
    climbing = np.stack([t, still, 2.0 * t], axis=1)  # up is no way
    assert going(climbing, still) == pytest.approx(1.0)
    assert going(0.15 * ahead, still) is None  # 0.6 m in four seconds: nowhere
    swaying = ahead + np.stack([still, 0.05 * np.sin(2 * np.pi * 4 * t), still], axis=1)
    assert going(swaying, still) == pytest.approx(1.0, abs=0.02)
    round_angle = 2.0 * np.pi * t / 4.0 * 0.7
    circle = 2.0 * np.stack([np.sin(round_angle), 1.0 - np.cos(round_angle), still], axis=1)
    assert going(circle, round_angle) == pytest.approx(1.0, abs=0.05)


def sliding(steps: ArrayLike) -> int:
    """How many poses differ where one marker slides away from two others [statures]."""
    bones = [Bone("base"), Bone("rod", parent="base", joint=Joint.prismatic("x"))]
    rail = Skeleton.build(
        "rail", bones, {"A": ("base", (0, 0, 0)), "B": ("base", (0, 1, 0)), "C": ("rod", (5, 0, 0))}
    )
    track: Any = SimpleNamespace(
        skeleton=rail, motion=ik.Motion(rail, np.asarray(steps)[:, None], RATE)
    )
    return count_poses(track, slice(None), ["A", "C"], 1.0)


def test_poses_differ_by_a_hundredth_of_the_stature():
    assert sliding(0.02 * np.arange(5)) == 5
    assert sliding(0.004 * np.arange(2)) == 1
    assert sliding(0.02 * np.array([0, 1, 0, 1, 0])) == 2
    assert sliding(0.02 * np.arange(50)) == 30  # enough to be movement
    assert sliding(0.002 * np.arange(1000)) == 30  # spread over the recording
    bones = [Bone("base"), Bone("rod", parent="base", joint=Joint.prismatic("x"))]
    lone = Skeleton.build("lone", bones, {"A": ("rod", (0, 0, 0))})
    track: Any = SimpleNamespace(skeleton=lone, motion=ik.Motion(lone, np.zeros((3, 1)), RATE))
    assert count_poses(track, slice(None), ["A"], 1.0) == 1


def test_redundancy_is_what_is_left_of_the_coordinates():
    assert measure_redundancy(100.0, 40, 5, 100) == pytest.approx(0.4)
    assert measure_redundancy(0.0, 40, 5, 100) == -1.0
    assert measure_redundancy(0.5, 0, 1, 0) == 1.0


def test_the_subject_is_there_from_three_markers_on():
    seen = np.zeros((10, 5), dtype=bool)
    seen[2:8, :3] = True
    seen[8, :2] = True
    assert find_span(seen) == (2, 7)
    assert find_span(seen[:, :2]) == (0, 9)


# --- markers


def use(**fields: Any) -> MarkerUse:
    usual: dict[str, Any] = {"name": "A", "marker": "A", "bone": "head", "code": "same-name"}
    return MarkerUse(**{**usual, "confidence": 1.0, **fields})


def test_who_would_be_missed():
    assert is_on_subject(use()) and is_on_subject(use(seen_share=0.01))
    unknown = use(marker=None, code="unknown-name")
    assert is_on_subject(replace(unknown, seen_share=0.5))
    assert not is_on_subject(replace(unknown, seen_share=0.1))
    assert not is_on_subject(replace(unknown, code="object"))


@pytest.fixture(scope="module")
def waving() -> Track:
    """Two arms that move, five markers on the left one and on the trunk, two on the right."""
    rng = np.random.default_rng(0)
    points = {f"T{k}": ("trunk", tuple(rng.normal(0, 0.1, 3).tolist())) for k in range(4)}
    points |= {f"L{k}": ("l_arm", tuple(rng.normal(0, 0.1, 3).tolist())) for k in range(4)}
    points |= {"R0": ("r_arm", (0.0, -0.2, 0.0))}
    figure = two_armed(points)
    t = np.arange(60)[:, None] / RATE
    q = 0.4 * np.sin(2 * np.pi * t + np.arange(figure.nq))
    place = figure.forward(q).markers
    place = place + np.random.default_rng(1).normal(0, 0.001, place.shape)
    place[40:50, 4:8] = np.nan
    track = ik.track(figure, Markers(place, tuple(figure.markers), RATE), smooth=None)
    undetermined = np.zeros_like(track.undetermined)
    undetermined[40:50, 6:9] = True  # the left arm
    return replace(track, undetermined=undetermined)


def test_parts_are_measured_each_by_itself(waving: Track):
    facts = collect_facts(waving)
    limbs = {limb.name: limb for limb in facts.limbs}
    assert set(limbs) == {"trunk", "l_arm", "r_arm"}
    assert limbs["l_arm"].markers == ("L0", "L1", "L2", "L3") and limbs["l_arm"].dofs == 3
    assert limbs["l_arm"].open_dofs == () and limbs["l_arm"].mirrored == "r_arm"
    assert len(limbs["r_arm"].open_dofs) >= 1  # one marker does not tell three angles
    assert limbs["trunk"].open_dofs == () and set(facts.open_dofs) == set(limbs["r_arm"].open_dofs)
    assert facts.uninstrumented == ("head",) and facts.instrumented_dofs == 12
    assert limbs["l_arm"].gap_share == pytest.approx(10 / 60, abs=0.02)
    assert limbs["trunk"].gap_share == 0.0 and facts.gap_share == limbs["l_arm"].gap_share
    assert facts.missing_share == pytest.approx(40 / 540)


def test_what_the_context_says_is_judged(waving: Track):
    uses = tuple(use(name=name, marker=name, bone="trunk") for name in waving.names)
    uses = (
        replace(uses[0], confidence=0.2),
        replace(uses[1], code="geometry", confidence=0.9),
        *uses[2:],
        use(name="wand", marker=None, code="unknown-name", confidence=0.0),
        use(name="ball", marker=None, code="object", confidence=0.0),
    )
    up = UpAxis(axis="z", origin="file", custom="z", cosine=0.9)
    context = RecordingContext(uses=uses, up=up)
    facts = collect_facts(replace(waving, context=context))
    assert facts.doubtful == ("T0",) and facts.guessed == ("T1",)
    assert facts.unused == {"unknown-name": ("wand",)} and facts.recorded == 10 and facts.used == 9
    assert (facts.unit_factor, facts.is_fitted, facts.set_size, facts.settled) == (
        1.0,
        False,
        0,
        None,
    )
    assert facts.deviations == ()
    alone = collect_facts(waving)
    fitted = replace(context, parameters=90)
    assert collect_facts(replace(waving, context=fitted)).redundancy < facts.redundancy
    assert alone.redundancy == pytest.approx(facts.redundancy)


def test_poor_frames_are_those_that_are_listed_so(waving: Track):
    errors = np.full(waving.marker_errors.shape, 1e-3)
    errors[10:16] = 0.05
    facts = collect_facts(replace(waving, marker_errors=errors))
    assert facts.poor_share == pytest.approx(0.1)


def test_places_that_are_not_mirror_images_are_named(facts: RecordingFacts):
    pairs = (
        PlaceDifference("LMT5", "RMT5", 0.133, 6.6),
        PlaceDifference("LTOE", "RTOE", 0.136, 5.4),
        PlaceDifference("LANK", "RANK", 0.02, 1.0),
    )
    text = "LMT5/RMT5 and LTOE/RTOE sit at places that are not mirror images, by up to 136 mm"
    assert text_of(replace(facts, place_differences=pairs), "places") == text
    (reason,) = judge_facts(replace(facts, place_differences=pairs)).reasons
    assert reason.value == pytest.approx(np.sqrt((6.6**2 + 5.4**2 + 1.0) / 3))
    assert reason.names == ("LMT5", "RMT5", "LTOE", "RTOE")


# --- words


@pytest.fixture
def facts(waving: Track) -> RecordingFacts:
    """Facts with nothing to complain of."""
    return replace(
        collect_facts(waving),
        stature=1.7,
        mean_error=0.002,
        redundancy=0.5,
        open_dofs=(),
        limbs=(),
        unpaired=(),
        gap_share=0.0,
        limit_shares={},
        marker_errors={"A": 0.001},
        heading=None,
        recorded=9,
        unused={},
    )


def text_of(facts: RecordingFacts, code: str) -> str:
    return next(reason.text for reason in judge_facts(facts).reasons if reason.code == code)


def test_reasons_name_what_they_are_about(facts: RecordingFacts):
    one = replace(facts, marker_errors={"A": 0.1, "B": 0.001})
    assert text_of(one, "marker-error") == "A is off by up to 100 mm on average"
    many = replace(facts, marker_errors=dict.fromkeys("ABCDEFGH", 0.1))
    text = text_of(many, "marker-error")
    assert text.startswith("A, B, C") and "are off" in text and "H" not in text and "more" in text
    held = replace(facts, limit_shares={"a.rx": 1.0, "b.rx": 0.1})
    assert text_of(held, "limits") == "a.rx is at its limit in up to 100 % of the frames"
    both = replace(facts, limit_shares={"a.rx": 1.0, "b.rx": 0.99})
    assert "a.rx and b.rx are at their limits" in text_of(both, "limits")


def test_mirror_images_and_mixed_names_are_told_apart(facts: RecordingFacts):
    assert "left and right" in text_of(replace(facts, handedness=-0.5), "handedness")
    assert "mixed up" in text_of(replace(facts, handedness=-0.1), "handedness")


def test_a_verdict_is_an_exit_code_and_a_sentence(facts: RecordingFacts):
    care = judge_facts(replace(facts, mean_error=0.034))
    assert (care.grade, care.exit_code) == ("care", 1)
    part = judge_facts(replace(facts, span=(3, 20)))
    assert str(part).endswith("The subject is seen in frames 3 to 20.") and part.exit_code == 0


def test_a_figure_leans_or_stands_on_its_head(facts: RecordingFacts):
    up = UpAxis(axis="z", origin="file", custom="z", cosine=0.0)
    assert "leans by 90°" in text_of(replace(facts, up=up), "up-axis")
    over = replace(facts, up=replace(up, cosine=-0.9))
    assert "upside down" in text_of(over, "up-axis")


def test_sides_differ_only_where_the_worse_one_is_off(facts: RecordingFacts):
    def limb(name: str, mirrored: str, error: float) -> LimbFacts:
        return LimbFacts(
            bones=(name,),
            mirrored=mirrored,
            markers=("A",),
            mean_error=error,
            p95_error=error,
            gap_share=0.0,
            dofs=3,
            open_dofs=(),
        )

    def codes(left: float, right: float) -> list[str]:
        limbs = (limb("l_arm", "r_arm", left), limb("r_arm", "l_arm", right))
        return [reason.code for reason in judge_facts(replace(facts, limbs=limbs)).reasons]

    assert codes(0.005, 0.0005) == []  # ten times as much, and still 5 mm
    assert codes(0.015, 0.0015) == ["sides"]
    assert codes(0.012, 0.011) == []
    limbs = (limb("l_arm", "r_arm", 0.04), limb("r_arm", "l_arm", 0.001))
    (bad,) = [r for r in judge_facts(replace(facts, limbs=limbs)).reasons if r.code == "limb-error"]
    assert bad.names == ("l_arm",)


def test_a_recognised_set_that_has_no_markers_here_lacks_none(facts: RecordingFacts):
    assert judge_facts(replace(facts, marker_set="Helen Hayes", set_size=0)).reasons == ()
    assert (
        judge_facts(replace(facts, marker_set=None, set_size=9, set_missing=("A",) * 9)).grade
        == "good"
    )
