"""What a notebook shows of a figure, markers, a motion, a pose that was found, and a track.

A few facts and a picture or a player: plain HTML with its own styles, in the colours of the
notebook; nothing is fetched.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np

from exactik._text import join_names
from exactik.anatomy import stand_up_skeleton
from exactik.model import Skeleton
from exactik.model.motion import Markers, Motion
from exactik.recordings.pipeline import (
    align_up_axis,
    find_motion_up,
    find_upright_person,
)
from exactik.recordings.tracking import Track
from exactik.solvers import Result
from exactik.studio.player.page import NOTEBOOK_BYTES, lay_out_card, render_player_frame
from exactik.studio.player.scene import PlayerScene, compose_scene
from exactik.studio.player.still import render_still
from exactik.studio.report import render_track_card

STILL_SIZE = 320, 300  # [px] of a picture
MAX_NAMED = 6  # markers that are named
MAX_LISTED = 12  # goals whose errors are listed


@singledispatch
def render_card(thing: Any) -> str:
    """Return what a notebook shows of a thing, as HTML.

    Args:
        thing: a `Skeleton`, `Markers`, a `Motion`, `Result` or `Track`.
    """
    raise TypeError(f"there is no card of a {type(thing).__name__}")


render_card.register(Track, render_track_card)


@render_card.register
def _render_skeleton(skeleton: Skeleton) -> str:
    """The figure at rest, standing, with what it is made of."""
    standing = stand_up_skeleton(skeleton)
    kinds = Counter(bone.joint.kind for bone in skeleton.bones)
    visuals = skeleton.visuals
    facts = [
        ("bones", str(len(skeleton.bones))),
        ("degrees of freedom", str(skeleton.nv)),
        ("joints", ", ".join(f"{number} {kind}" for kind, number in kinds.items())),
        ("markers", str(len(skeleton.markers))),
        ("couplings", str(len(skeleton.couplings) or "")),
        ("closed loops", str(len(skeleton.loops) or "")),
        ("look", f"{visuals.vertex_count} vertices" if visuals else "none: drawn as sticks"),
    ]
    picture = _render_picture(compose_scene(Motion(standing, standing.neutral()[None], 1.0)))
    return lay_out_card(f"Skeleton {skeleton.name}", facts, picture)


@render_card.register
def _render_result(result: Result) -> str:
    """The pose with the places asked for, why it ended so, and how far they are missed."""
    skeleton, limits = result.problem.skeleton, list(result.active_limits)
    places = [
        (goal.label, term)
        for goal in result.problem.goals
        if goal.watched_point(skeleton) is not None
        for term in goal.terms(skeleton)
        if term.is_place
    ]
    scene = PlayerScene(
        name=skeleton.name,
        rate=1.0,
        length=1,
        frames=np.zeros(1, dtype=np.int64),
        pose=skeleton.forward(result.q[None]),
        measured=np.array([term.target for _, term in places], dtype=float).reshape(1, -1, 3),
        marker_names=tuple(name for name, _ in places),
        marker_bones=np.array([skeleton.bone_index(t.bone) for _, t in places], dtype=np.int64),
        marker_points=np.array([term.point for _, term in places], dtype=float).reshape(-1, 3),
    )
    errors = list(result.errors_in_words.items())
    facts = errors[:MAX_LISTED]
    if len(errors) > MAX_LISTED:
        facts.append(("", f"and {len(errors) - MAX_LISTED} more goals"))
    milliseconds = 1e3 * result.seconds
    facts += [
        ("at limits", join_names(limits, 4) if len(limits) > 0 else ""),
        ("solver", f"{result.solver}, {result.iterations} iterations, {milliseconds:.3g} ms"),
    ]
    return lay_out_card(f"Result: {result.status}", facts, _render_picture(scene), result.why)


@render_card.register
def _render_markers(markers: Markers) -> str:
    """The frame that has most of them, standing, with how many are missing."""
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
    title = _describe_source("Markers", markers)
    if missing.size == 0:
        return lay_out_card(title, facts, "")
    shown = markers
    if markers.up_axis is None and not missing.all():
        shown = align_up_axis(markers, "z", find_upright_person(markers)).markers
    best = int(np.argmin(missing.sum(axis=1)))
    one = shown.positions[best : best + 1]
    scene = compose_scene(Markers(one, markers.names, markers.rate, up_axis=shown.up_axis))
    return lay_out_card(title, facts, _render_picture(scene))


@render_card.register
def _render_motion(motion: Motion) -> str:
    """The motion as it plays."""
    has_pose = bool(np.isfinite(motion.q).all(axis=1).any())
    up_axis = find_motion_up(motion) if has_pose else None
    guessed = f"not known, shown as {up_axis}" if up_axis else "not known"
    facts = [
        _describe_time(len(motion), motion.rate),
        ("skeleton", motion.skeleton.name),
        ("degrees of freedom", str(motion.skeleton.nv)),
        ("up axis", motion.up_axis or guessed),
    ]
    picture = ""
    if has_pose:
        shown = replace(motion, up_axis=up_axis)
        picture = render_player_frame(compose_scene(shown, max_bytes=NOTEBOOK_BYTES))
    return lay_out_card(_describe_source("Motion", motion), facts, picture)


def _describe_time(frames: int, rate: float) -> tuple[str, str]:
    return "frames", f"{frames} at {rate:g} Hz, {frames / rate:.4g} s"


def _describe_source(kind: str, thing: Markers | Motion) -> str:
    return f"{kind} {os.path.basename(thing.source.replace(chr(92), '/'))}".strip()


def _render_picture(scene: PlayerScene) -> str:
    width, height = STILL_SIZE
    return render_still(scene, width=width, height=height, with_skin=True)
