"""The report on a retargeted motion: true numbers, findings that lead to their frames, one file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exactik.errors import UsageError
from exactik.lab.synthetic import simulate_performance
from exactik.model.motion import Motion
from exactik.retargeting import Retargeting, retarget
from exactik.studio.report import render_retargeting_report
from exactik.studio.report.retargeting import compose_pair, measure_retargeting
from tests.support.browser import chromium
from tests.support.fuzz_player import READY, check_page, open_in_browser
from tests.support.retargeting_figures import make_character

EVIL = "</script><img src=x onerror=window.ran=1>"


@pytest.fixture(scope="module")
def result() -> Retargeting:
    walk = simulate_performance(2.5, rate=30.0, acts=("walk",))
    return retarget(
        replace(walk, source=f"/home/me/{EVIL}.bvh".replace("</", "<\\")), make_character()
    )


@pytest.fixture(scope="module")
def spoiled(result: Retargeting) -> Retargeting:
    """The figure is carried away by 20 mm from frame to frame, and an arm is turned for one."""
    figure, q = result.target_figure, result.motion.q.copy()
    q[:, 0] += 0.02 * np.arange(len(q))
    bone = figure.skeleton.bones[figure.index_of("left_upper_arm")]
    first = figure.skeleton.bone_names.index(bone.name)
    at = int(figure.skeleton.tree.first_q[first + 1])
    q[40, at : at + 4] = (0.0, 1.0, 0.0, 0.0)
    return replace(result, motion=replace(result.motion, q=q))


def read_data(page: str) -> dict[str, Any]:
    return json.loads(page.partition('id="data">')[2].partition("</script>")[0])


def test_a_good_one_is_in_order_and_says_so_first(result: Retargeting, tmp_path: Path):
    result.report(tmp_path / "r.html", command="exactik retarget /a/b.bvh --to c.glb")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    check_page(page, 2)
    assert page.index("In order") < page.index("Needs attention") < page.index("Over time")
    assert "exactik retarget b.bvh --to c.glb" in page and "/home/me" not in page
    assert "mixamorig:LeftForeArm" in page
    data = read_data(page)
    assert data["frames"] == len(result.motion) and len(data["player"]["ghosts"]) == 1
    assert set(data["series"]) == {"slide", "left", "right", "turn", "source_turn"}


def test_only_html_is_written(result: Retargeting, tmp_path: Path):
    with pytest.raises(UsageError, match=r"walk\.pdf'; it must be an \.html file"):
        result.report(tmp_path / "walk.pdf")
    with pytest.raises(UsageError, match=r"report is 3; expected the path of an \.html file"):
        result.report(3)  # pyright: ignore[reportArgumentType]
    assert list(tmp_path.iterdir()) == []


def test_what_is_measured_over_time_has_the_extremes_of_the_result(result: Retargeting):
    measures = measure_retargeting(result)
    assert np.nanmax(measures.slides) == pytest.approx(1e3 * result.foot_slides.max())
    for side, errors in result.hand_errors.items():
        np.testing.assert_allclose(measures.wrists[side], 100.0 * errors)
    steps = result.turn_steps.values()
    assert measures.turns.max() == pytest.approx(np.degrees(max(s.target.max() for s in steps)))
    assert measures.source_turns.max() == pytest.approx(
        np.degrees(max(s.source.max() for s in steps))
    )
    assert measures.findings == () and len(measures.turns) == len(result.motion)


def test_each_fault_is_a_finding_with_its_frame(spoiled: Retargeting):
    assert spoiled.needs_look
    measures = measure_retargeting(spoiled)
    kinds = {finding.kind for finding in measures.findings}
    assert {"slides", "jumps"} <= kinds
    slides = [f for f in measures.findings if f.kind == "slides"]
    assert len(slides) == int((spoiled.foot_slides > 1e-3).sum())
    assert all(f.frame == f.last for f in slides)  # carried away evenly, so farthest at the end
    jumps = [f for f in measures.findings if f.kind == "jumps"]
    assert {f.frame for f in jumps} & {40, 41} and all("left arm" in f.text for f in jumps)
    page = render_retargeting_report(spoiled)
    assert "Needs a look" in page and "In order" not in page
    assert read_data(page)["player"]["first"] == measures.findings[0].frame
    for problem in spoiled.problems:
        assert problem[1:40] in page


def test_the_source_stays_beside_the_figure(result: Retargeting):
    scene = compose_pair(result, [], 0)
    (ghost,) = scene.ghosts
    assert scene.pose is not None
    thighs = [result.target_figure.start_of(f"{side}_thigh") for side in ("left", "right")]
    own = scene.pose.positions[:, thighs].mean(axis=1)
    body = result.source_body.figure
    thighs = [body.start_of(f"{side}_thigh") for side in ("left", "right")]
    other = ghost.pose.positions[:, thighs].mean(axis=1)
    apart = (other - own)[:, :2]
    np.testing.assert_allclose(apart, apart[:1] * np.ones((len(apart), 1)), atol=1e-9)
    assert 0.8 < np.linalg.norm(apart[0]) < 2.5
    np.testing.assert_allclose(
        ghost.pose.positions[..., 2], result.source_body.positions[scene.frames][..., 2]
    )
    way = own[-1] - own[0]
    assert way[0] * apart[0, 1] - way[1] * apart[0, 0] > 0.0  # at its left


def test_one_frame_is_enough(result: Retargeting):
    one = retarget(
        Motion(result.source.skeleton, result.source.q[:1], 30.0, up_axis=result.source.up_axis),
        make_character(),
    )
    check_page(render_retargeting_report(one), 2)


@pytest.mark.browser
def test_it_opens_in_a_browser_without_a_word(
    result: Retargeting, spoiled: Retargeting, tmp_path: Path
):
    with chromium() as browser:
        for each in (result, spoiled):
            text = render_retargeting_report(each)
            open_in_browser(browser, tmp_path / "r.html", text, READY["report"])
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.goto((tmp_path / "r.html").as_uri())
        page.wait_for_function("document.documentElement.dataset.player")
        page.locator("#attention summary").click()  # the rows beyond the first ones fold out
        page.locator("#attention tbody tr").last.click()
        findings = measure_retargeting(spoiled).findings
        shown = page.locator("#player input[type=range]").input_value()
        assert int(shown) == findings[-1].frame
        assert (
            "feet slide" in page.locator(".frame-facts").inner_text()
            or findings[-1].kind == "jumps"
        )
        page.get_by_role("button", name="Show or hide the other figures").click()
