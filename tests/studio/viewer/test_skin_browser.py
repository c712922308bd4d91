"""Skins in a real browser: they follow the bones, the mouse pulls them, sticks take their place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exactik.model.motion import Motion
from exactik.studio.viewer import PoseViewer, export_playback
from exactik.studio.viewer.page.skin import THROUGH_OPACITY
from exactik.studio.viewer.playback import PlaybackData
from exactik.typing import Array
from tests.support.browser import (
    chromium,
    close_notices,
    find_pixel,
    open_page,
    requests_elsewhere,
    wait_for,
)
from tests.support.visuals import make_skinned_arm

pytestmark = [pytest.mark.viewer, pytest.mark.browser]
pytest.importorskip("viser")

# Where the page draws a vertex of the skin [m, below the root of the figure]; run before it loads.
LISTEN = """
window.scenes = [];
document.addEventListener("DOMContentLoaded", () => {
  window.__THREE_DEVTOOLS__.addEventListener("observe", (e) => {
    if (e.detail.isScene) window.scenes.push(e.detail);
  });
});
"""
VERTEX = """(k) => {
  let found = null;
  for (const scene of window.scenes) scene.traverse((mesh) => {
    if (!mesh.isSkinnedMesh || found) return;
    const place = mesh.position.clone().fromBufferAttribute(mesh.geometry.attributes.position, k);
    mesh.skeleton.update();
    mesh.applyBoneTransform(k, place);
    let root = mesh;  // the node that turns the scene to z up stays out
    while (!root.userData.exactik) root = root.parent;
    root.worldToLocal(mesh.localToWorld(place));
    found = [place.x, place.y, place.z, mesh.material.map ? 1 : 0, mesh.parent.parent.visible];
  });
  return found;
}"""

TINT = """(k) => {
  let found = null;
  for (const scene of window.scenes) scene.traverse((mesh) => {
    const colours = mesh.isSkinnedMesh && mesh.geometry.attributes.color;
    if (colours) found = [colours.getX(k), colours.getY(k), colours.getZ(k)];
  });
  return found;
}"""

# Opacities of skins, and whether what is drawn with them is seen, has colour, and comes first.
DEPTHS = """() => {
  const found = [];
  for (const scene of window.scenes) scene.traverse((mesh) => {
    if (!mesh.isSkinnedMesh || !mesh.material.colorWrite) return;
    const { opacity } = mesh.material;
    const same = mesh.parent.children.filter((o) => o !== mesh && o.geometry === mesh.geometry);
    const isFirst = (o) => o.renderOrder < mesh.renderOrder;
    found.push([opacity, same.map((o) => [o.visible, o.material.colorWrite, isFirst(o)])]);
  });
  return found;
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def viewer() -> Iterator[PoseViewer]:
    with PoseViewer(make_skinned_arm(6)) as running:
        yield running


@pytest.fixture(scope="module")
def page(browser: Any, viewer: PoseViewer) -> Iterator[Any]:
    page = open_page(browser, viewer, LISTEN)
    page.wait_for_timeout(1500)
    close_notices(page)
    yield page
    page.close()


def vertex(viewer: PoseViewer, k: int) -> Array:
    skeleton, pose = viewer.session.skeleton, viewer.session.pose()
    names = skeleton.bone_names
    return skeleton.visuals.compute_vertices(names, pose.positions, pose.rotations)[0][k]


def shown(page: Any, k: int) -> Array:
    found = page.evaluate(VERTEX, k)
    return np.full(3, np.nan) if found is None else np.array(found[:3])


def test_the_skin_follows_its_bones_with_its_texture(viewer: PoseViewer, page: Any):
    last = len(viewer.session.skeleton.visuals.skins[0].mesh.vertices) - 1
    for name, angles in (("b2", (0.4, 0.3, 0.0)), ("b4", (-0.5, 0.0, 0.6))):
        skeleton = viewer.session.skeleton
        v = np.zeros(skeleton.nv)
        first = skeleton.dof_names.index(f"{name}.wx") if f"{name}.wx" in skeleton.dof_names else 6
        v[first : first + 3] = angles
        q = skeleton.integrate(viewer.session.q, v)
        viewer.worker.post(lambda session, q=q: session.set_pose(q))
        for k in (0, last // 2, last):
            assert wait_for(
                lambda k=k: bool(np.linalg.norm(shown(page, k) - vertex(viewer, k)) < 1e-4)
            ), (shown(page, k), vertex(viewer, k))
    assert page.evaluate(VERTEX, 0)[3] == 1
    assert requests_elsewhere(page) == []


def test_a_skin_is_pulled_by_the_mouse(viewer: PoseViewer, page: Any):
    viewer.worker.post(lambda session: session.reset())
    assert wait_for(lambda: viewer.session.resting)
    viewer.handles.show(False)
    page.wait_for_timeout(500)
    skeleton = viewer.session.skeleton
    bone = skeleton.bone_index("b4")
    start = find_pixel(viewer, viewer.session.pose().positions[bone] + (0.0, 0.0, 0.05))
    before = viewer.session.pose().positions[bone].copy()
    page.mouse.move(*start)
    page.wait_for_timeout(300)
    page.mouse.down()
    for step in range(1, 10):
        page.mouse.move(*(start + np.array([8.0, 0.0]) * step))
        page.wait_for_timeout(60)
    assert wait_for(lambda: len(viewer.session.dragged) > 0)
    page.mouse.up()
    assert wait_for(lambda: viewer.session.resting)
    assert np.linalg.norm(viewer.session.pose().positions[bone] - before) > 0.02


def test_limits_tint_the_skin(viewer: PoseViewer, page: Any):
    """The part of a bone at a limit turns red, and back again."""
    colours = np.tile((126, 138, 156), (len(viewer.session.skeleton.bones), 1))
    (carriers,) = viewer.session.skeleton.visuals.find_vertex_bones(
        viewer.session.skeleton.bone_names
    )
    k = int(np.flatnonzero(carriers == 5)[-1])

    def is_red() -> bool:
        viewer.figure.paint(colours)  # again: the viewer, too, paints when a drag comes to rest
        viewer.server.flush()
        return (page.evaluate(TINT, k) or [1, 1, 1])[1] < 0.1

    colours[5] = (200, 30, 30)
    assert wait_for(is_red)
    colours[5] = (126, 138, 156)
    assert wait_for(lambda: not is_red())


def test_the_depth_of_a_translucent_skin_is_drawn_before_its_colour(viewer: PoseViewer, page: Any):
    """Else limbs behind limbs would shine through wherever their faces happen to come first."""
    for look, opacity, depths in (
        ("both", THROUGH_OPACITY, [[True, False, True]]),
        ("skin", 1.0, [[False, False, True]]),
    ):
        viewer.figure.show_as(look)
        viewer.server.flush()
        expected = [[pytest.approx(opacity), depths]]
        assert wait_for(lambda e=expected: page.evaluate(DEPTHS) == e), page.evaluate(DEPTHS)


def test_sticks_are_shown_instead(viewer: PoseViewer, page: Any):
    assert viewer.panel.look is not None
    for look, skin, sticks in (
        ("sticks", False, True),
        ("both", True, True),
        ("skin", True, False),
    ):
        viewer.panel.look.value = look
        assert wait_for(lambda look=look: viewer.figure.look == look)
        assert viewer.figure.skin is not None
        assert viewer.figure.skin.surface.visible == skin
        assert viewer.figure.bones.visible == sticks


# As the player's vertex shader places a vertex, from what the page decoded: (frames, 3).
PLAYED_VERTEX = """async (vertex) => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const scene = await exactikScene.decode(data);
  const skin = scene.figure.parts.find((part) => part.kind === "skin");
  const place = (a) => skin.low[a] + skin.step[a] * skin.vertices[3 * vertex + a];
  const x = [place(0), place(1), place(2), 1];
  return [...scene.frames].map((_, k) => {
    const T = scene.figure.poseAt(k), sum = [0, 0, 0];
    let total = 0;
    for (let n = 0; n < 4; n++) {
      const joint = skin.joints[4 * vertex + n], weight = skin.weights[4 * vertex + n];
      const row = (r) => x.reduce((v, xc, c) => v + skin.maps[12 * joint + 4 * r + c] * xc, 0);
      const map = [row(0), row(1), row(2)];
      const t = 12 * skin.bones[joint];
      for (let r = 0; r < 3; r++) {
        const turned = [0, 1, 2].reduce((v, c) => v + T[t + 4 * r + c] * map[c], T[t + 4 * r + 3]);
        sum[r] += weight * turned;
      }
      total += weight;
    }
    return sum.map((v) => v / total);
  });
}"""


def test_an_exported_page_plays_the_skin_without_a_network(browser: Any, tmp_path: Path):
    figure = make_skinned_arm(3)
    q = figure.integrate(figure.neutral(), np.linspace(0.0, 0.5, 4)[:, None] * np.ones(figure.nv))
    path = tmp_path / "arm.html"
    export_playback(PlaybackData.of(Motion(figure, q, 30.0)), path)
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.goto(f"file://{path}")
    page.locator(".player.ready").wait_for()
    poses = figure.forward(q)
    end = len(figure.visuals.skins[0].mesh.vertices) - 1
    paths = [
        figure.visuals.compute_vertices(figure.bone_names, p, R)[0][end]
        for p, R in zip(poses.positions, poses.rotations, strict=True)
    ]
    assert np.allclose(page.evaluate(PLAYED_VERTEX, end), paths, atol=5e-4)  # places to 0.25 mm
    context.close()
