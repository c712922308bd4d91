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
from exactik.model.motion import Markers
from exactik.recordings.diagnosis import (
    Evidence,
    Finding,
    LimbFacts,
    MarkerUse,
    PlaceDifference,
    RecordingContext,
    UpAxis,
    count_poses,
    criteria,
    find_middle_plane,
    find_place_differences,
    find_span,
    find_unpaired_markers,
    is_on_subject,
    judge_findings,
    measure,
    measure_heading,
)
from exactik.recordings.tracking import Track
from exactik.typing import Array

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
    plane = find_middle_plane(figure)
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


def test_redundancy_is_what_is_left_of_the_coordinates(waving: Track):
    """Nine markers but for four in a sixth of the frames, less twelve dofs and the parameters."""
    (alone,) = criteria.measure_redundancy(Evidence(waving))
    coordinates = 3 * (9 - 4 * 10 / 60)
    assert alone.value == pytest.approx(1.0 - 12 / coordinates)
    evidence = Evidence(replace(waving, context=RecordingContext(uses=(), up=UP, parameters=90)))
    (fitted,) = criteria.measure_redundancy(evidence)
    assert fitted.value == pytest.approx(1.0 - (12 + 90 / evidence.poses) / coordinates)


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


def findings_of(track: Track, kind: str) -> list[Finding]:
    return [found for found in track.findings if found.kind == kind]


def test_parts_are_measured_each_by_itself(waving: Track):
    limbs = {limb.name: limb for limb in Evidence(waving).limbs}
    assert set(limbs) == {"trunk", "l_arm", "r_arm"}
    assert limbs["l_arm"].mirrored == "r_arm" and limbs["l_arm"].bones == ("l_arm",)
    errors = waving.marker_errors[:, 4:8]
    assert limbs["l_arm"].mean_error == pytest.approx(np.nanmean(errors))
    (open_dofs,) = findings_of(waving, "open-dofs")
    assert {name.partition(".")[0] for name in open_dofs.names} == {"r_arm"}
    assert waving.verdict.held == ("head",)


UP = UpAxis(axis="z", origin="file", custom="z", cosine=0.9)


def test_what_the_context_says_is_judged(waving: Track):
    uses = tuple(use(name=name, marker=name, bone="trunk") for name in waving.names)
    uses = (
        replace(uses[0], confidence=0.2),
        replace(uses[1], code="geometry", confidence=0.9),
        *uses[2:],
        use(name="wand", marker=None, code="unknown-name", confidence=0.0),
        use(name="ball", marker=None, code="object", confidence=0.0),
    )
    track = replace(waving, context=RecordingContext(uses=uses, up=UP))
    (matches,) = findings_of(track, "matches")
    assert matches.names == ("T0", "T1") and matches.value == 2 / 9
    (used,) = findings_of(track, "markers-used")
    assert used.names == ("wand",) and used.value == 9 / 10
    assert used.text == "only 9 of 10 markers are used, without wand"
    assert [found.value for found in findings_of(track, "unit")] == [1.0]
    kinds = {found.kind for found in track.findings}
    assert not kinds & {"proportions", "marker-symmetry", "calibration", "marker-set", "labels"}


def test_places_that_are_not_mirror_images_are_named(
    waving: Track, monkeypatch: pytest.MonkeyPatch
):
    pairs = (
        PlaceDifference("LMT5", "RMT5", 0.133, 6.6),
        PlaceDifference("LTOE", "RTOE", 0.136, 5.4),
        PlaceDifference("LANK", "RANK", 0.02, 1.0),
    )
    monkeypatch.setattr(criteria, "find_place_differences", lambda *_: pairs)
    context = RecordingContext(uses=(), up=UP, is_fitted=True)
    (found,) = criteria.measure_fit(Evidence(replace(waving, context=context)))
    text = "LMT5/RMT5 and LTOE/RTOE sit at places that are not mirror images, by up to 136 mm"
    assert found.kind == "marker-symmetry" and found.text == text
    assert found.value == pytest.approx(np.sqrt((6.6**2 + 5.4**2 + 1.0) / 3))
    assert found.names == ("LMT5", "RMT5", "LTOE", "RTOE")


# --- words


def reason_of(*findings: Finding) -> Finding:
    (reason,) = judge_findings(findings).reasons
    return reason


def test_mirror_images_and_mixed_names_are_told_apart(waving: Track):
    def text_of(handedness: float) -> str:
        context = RecordingContext(uses=(), up=UP, handedness=handedness)
        return reason_of(
            *criteria.measure_handedness(Evidence(replace(waving, context=context)))
        ).text

    assert "left and right" in text_of(-0.5) and "mixed up" in text_of(-0.1)


def test_a_hand_is_not_measured_by_peoples_heights(waving: Track):
    """These two arms are no person: their size counts only against that which they were given."""

    def kinds(size: float | None, factor: float) -> list[str]:
        context = RecordingContext(uses=(), up=UP, size=size, unit_factor=factor)
        findings = list(criteria.measure_size(Evidence(replace(waving, context=context))))
        return [reason.kind for reason in judge_findings(findings).reasons]

    assert kinds(0.55, 1.0) == kinds(None, 1.0) == []
    assert kinds(2.3, 1.0) == ["size"] and kinds(1000.0, 1e-3) == ["unit"]


def test_a_verdict_is_an_exit_code_and_a_sentence():
    care = judge_findings([measure("error", 0.02, error=0.034)])
    assert (care.grade, care.exit_code) == ("care", 1)
    span = Finding(kind="subject-seen", severity="good", value=0.7, frames=(3, 20), offset=700)
    part = judge_findings([span])
    assert part.asides == ["The subject is seen in frames 703 to 720."] and part.exit_code == 0


def test_a_figure_leans_or_stands_on_its_head(waving: Track):
    def text_of(cosine: float) -> str:
        context = RecordingContext(uses=(), up=replace(UP, cosine=cosine))
        return reason_of(*criteria.measure_up(Evidence(replace(waving, context=context)))).text

    assert "leans by 90°" in text_of(0.0) and "upside down" in text_of(-0.9)


def test_limbs_are_doubtful_where_no_skin_explains_their_errors(waving: Track):
    def limb(name: str, mirrored: str, error: float) -> LimbFacts:
        return LimbFacts(bones=(name,), mirrored=mirrored, mean_error=error)

    def doubts(left: float, right: float) -> list[Finding]:
        evidence = Evidence(waving)
        evidence.stature = 1.7
        evidence.limbs = (limb("l_arm", "r_arm", left), limb("r_arm", "l_arm", right))
        found = criteria.measure_errors(evidence)
        return [one for one in found if one.kind in ("limb-error", "limb-symmetry")]

    assert doubts(0.005, 0.0005) == []  # ten times as much, and still 5 mm
    (reason,) = doubts(0.015, 0.0015)
    assert reason.kind == "limb-symmetry" and reason.names == ("l_arm",)
    assert reason.text == "the markers of l_arm are off by 15 mm on average, r_arm by 1.5 mm"
    assert doubts(0.012, 0.011) == []
    (far,) = doubts(0.03, 0.021)
    assert far.kind == "limb-error" and far.names == ("l_arm",)


def test_what_can_be_used_is_said_in_a_sentence():
    def usable(doubtful: list[tuple[str, list[tuple[int, int]], float]]) -> str:
        doubt = measure(
            "doubt",
            0.01,
            variant="",
            measured=0.992,
            bar_deg=8.0,
            dofs=58,
            count=3794,
            doubtful=doubtful,
            open=["head"],
        )
        verdict = judge_findings([replace(doubt, offset=100)])
        assert verdict.unmeasured == "Not measured: head (the markers do not tell)."
        return verdict.usable

    assert usable([]) == "99 % of the joint angles are free of faults, 99 % are known to within 8°."
    few = usable([("l_arm", [(402, 441)], 0.01), ("head", [(7, 7), (9, 12)], 0.001)])
    assert few.endswith("; doubtful: l_arm in frames 502–541, head in frames 107 and 109–112.")
    many = usable([(bone, [(0, 1), (5, 6), (9, 10)], 0.25) for bone in "abcde"])
    assert "a in 25 % of the frames" in many and "b in 25 %" in many and "and 3 more" in many


def test_a_recognised_set_that_has_no_markers_here_lacks_none(waving: Track):
    def shares(marker_set: str | None, size: int, missing: int) -> list[float]:
        context = RecordingContext(
            uses=(), up=UP, marker_set=marker_set, set_size=size, set_missing=("A",) * missing
        )
        findings = criteria.measure_names(Evidence(replace(waving, context=context)))
        return [found.value for found in findings if found.kind == "marker-set"]

    assert shares("Helen Hayes", 0, 0) == shares(None, 9, 9) == []
    assert shares("Plug-in Gait", 40, 16) == [0.6]
