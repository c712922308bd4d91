"""What a notebook shows of a figure, markers and a motion: a few facts and a picture or a player.

Plain HTML with its own styles, in the colours of the notebook; nothing is fetched.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from exactik._text import join_names, make_writable
from exactik.model import Skeleton
from exactik.motion import Markers, Motion
from exactik.player._page import render_player_frame
from exactik.player._scene import PlayerScene, compose_scene
from exactik.player._still import render_still
from exactik.typing import Array

__all__ = [
    "NOTEBOOK_BYTES",
    "AskedPlace",
    "render_card",
    "render_markers_card",
    "render_motion_card",
    "render_pose_card",
    "render_skeleton_card",
]

# Of poses and markers before compression: a notebook is saved with all that it shows, and a
# player so takes up to 0.5 MB of it, half of that the skin.
NOTEBOOK_BYTES = 600_000
STILL_SIZE = 320, 300  # [px] of a picture
MAX_NAMED = 6  # markers that are named
MAX_LISTED = 12  # goals whose errors are listed

Facts = Sequence[tuple[str, str]]


def render_card(title: str, facts: Facts, picture: str, headline: str = "") -> str:
    """Return a picture with facts beside it, as HTML.

    Args:
        title: what it is; plain text, like all of the following but the picture.
        facts: names and values; empty values are left out.
        picture: HTML.
        headline: the most important sentence, if any.
    """
    rows = "".join(
        f'<tr style="background:none"><th style="text-align:left;font-weight:normal;opacity:.65;'
        f'padding:1px 12px 1px 0;vertical-align:top;white-space:nowrap">{escape(name)}</th>'
        f'<td style="text-align:left;padding:1px 0;overflow-wrap:anywhere">{escape(value)}</td>'
        "</tr>"
        for name, value in facts
        if value
    )
    sentence = f'<div style="margin:2px 0 6px">{escape(headline)}</div>' if headline else ""
    return make_writable(
        '<div class="exactik-card" style="display:flex;flex-wrap:wrap;gap:8px 20px;'
        'align-items:flex-start;max-width:1100px">'
        f'<div style="flex:1 1 240px;min-width:220px;font-size:13px;line-height:1.45">'
        f'<div style="font-weight:600;font-size:15px;overflow-wrap:anywhere">{escape(title)}</div>'
        f'{sentence}<table style="border-collapse:collapse;border:0;font-size:13px;margin:4px 0 0">'
        f"<tbody>{rows}</tbody></table></div>"
        f'<div style="flex:2 1 320px;min-width:0">{picture}</div></div>'
    )


def render_skeleton_card(skeleton: Skeleton) -> str:
    """Return a skeleton at rest, with what it is made of."""
    motion = Motion(skeleton, skeleton.neutral()[None], 1.0)
    kinds: dict[str, int] = {}
    for bone in skeleton.bones:
        kinds[bone.joint.kind] = kinds.get(bone.joint.kind, 0) + 1
    visuals = skeleton.visuals
    facts = [
        ("bones", str(len(skeleton.bones))),
        ("degrees of freedom", str(skeleton.nv)),
        ("joints", ", ".join(f"{number} {kind}" for kind, number in kinds.items())),
        ("markers", str(len(skeleton.markers))),
        ("couplings", str(len(skeleton.couplings) or "")),
        ("look", f"{visuals.vertex_count} vertices" if visuals else "none: drawn as sticks"),
    ]
    return render_card(f"Skeleton {skeleton.name}", facts, _render_picture(compose_scene(motion)))


class AskedPlace(NamedTuple):
    """Where a point of a bone should be.

    Attributes:
        name: of the goal.
        bone: its name.
        point: in the bone's frame [m], (3,).
        target: place that was asked for [m, world], (3,).
    """

    name: str
    bone: str
    point: ArrayLike
    target: ArrayLike


def render_pose_card(
    skeleton: Skeleton,
    q: Array,
    title: str,
    headline: str,
    places: Sequence[AskedPlace],
    errors: Facts,
    facts: Facts,
) -> str:
    """Return a pose with the places that were asked for, and how far they are missed.

    Args:
        skeleton: the figure.
        q: its coordinates, (nq,).
        title: what it is.
        headline: the most important sentence.
        places: that goals ask for.
        errors: goals and how far each is missed, in words; only the first `MAX_LISTED` are listed.
        facts: names and values of what else is known.
    """
    listed = list(errors[:MAX_LISTED])
    if len(errors) > MAX_LISTED:
        listed.append(("", f"and {len(errors) - MAX_LISTED} more goals"))
    bones = [skeleton.bone_index(place.bone) for place in places]
    targets = np.array([place.target for place in places], dtype=float)
    scene = PlayerScene(
        name=skeleton.name,
        rate=1.0,
        length=1,
        frames=np.zeros(1, dtype=np.int64),
        pose=skeleton.forward(q[None]),
        measured=targets.reshape(1, -1, 3),
        marker_names=tuple(place.name for place in places),
        marker_bones=np.array(bones, dtype=np.int64),
        marker_points=np.array([place.point for place in places], dtype=float).reshape(-1, 3),
    )
    return render_card(title, [*listed, *facts], _render_picture(scene), headline)


def render_markers_card(markers: Markers, shown: Markers | None = None) -> str:
    """Return markers at the frame that has most of them, with how many are missing.

    Args:
        markers: what the card is about.
        shown: the same, turned to how they are shown; as they are if None.
    """
    shown = markers if shown is None else shown
    missing = markers.missing
    share = missing.mean(axis=0) if len(markers) > 0 else np.zeros(len(markers.names))
    worst = [markers.names[m] for m in np.argsort(-share, kind="stable") if share[m] > 0.0]
    facts = [
        _describe_time(len(markers), markers.rate),
        ("markers", str(len(markers.names))),
        ("missing", f"{100.0 * float(missing.mean()):.1f} %" if missing.size > 0 else ""),
        ("missing most", join_names(worst, MAX_NAMED) if len(worst) > 0 else ""),
        ("up axis", markers.up_axis or "not known"),
        ("unit in the file", markers.units_in_file),
        ("odd", join_names(markers.notes, 2) if len(markers.notes) > 0 else ""),
    ]
    title = f"Markers {os.path.basename(markers.source.replace(chr(92), '/'))}".strip()
    if len(markers) == 0 or len(markers.names) == 0:
        return render_card(title, facts, "")
    best = int(np.argmin(missing.sum(axis=1)))
    one = shown.positions[best : best + 1]
    scene = compose_scene(Markers(one, markers.names, markers.rate, up_axis=shown.up_axis))
    return render_card(title, facts, _render_picture(scene))


def render_motion_card(motion: Motion, up_axis: str | None = None) -> str:
    """Return a motion that plays.

    Args:
        motion: what is shown.
        up_axis: which axis is shown as up; that of the motion if None.
    """
    facts = [
        _describe_time(len(motion), motion.rate),
        ("skeleton", motion.skeleton.name),
        ("degrees of freedom", str(motion.skeleton.nv)),
        (
            "up axis",
            motion.up_axis or (f"not known, shown as {up_axis}" if up_axis else "not known"),
        ),
    ]
    title = f"Motion {os.path.basename(motion.source.replace(chr(92), '/'))}".strip()
    if len(motion) == 0 or not np.isfinite(motion.q).all(axis=1).any():
        return render_card(title, facts, "")
    shown = replace(motion, up_axis=up_axis or motion.up_axis)
    scene = compose_scene(shown, max_bytes=NOTEBOOK_BYTES)
    return render_card(title, facts, render_player_frame(scene))


def _describe_time(frames: int, rate: float) -> tuple[str, str]:
    return "frames", f"{frames} at {rate:g} Hz, {frames / rate:.4g} s"


def _render_picture(scene: PlayerScene) -> str:
    width, height = STILL_SIZE
    return render_still(scene, width=width, height=height, with_skin=True)
