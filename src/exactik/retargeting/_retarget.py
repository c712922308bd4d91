"""Let another figure take over a motion: copy how parts are turned, then put feet and hands right.

1. Parts of both bodies are told by names and shape (`anatomy`), and made comparable whatever their
   rest poses and axes (`body`).
2. The source's stances are found (`_contacts`); its path is scaled by the length of the legs, from
   the ground up.
3. All parts are turned as the source's, within limits (`_copy_orientations`).
4. Where limits make limbs jump, they change over within a moment instead (`_jumps`).
5. Feet are planned so that they stand still while they stand (`_feet`), and reached exactly;
   hips and joints give way as little as that needs (`_reach`).
6. Wrists are put where the source's are, seen from the chest and scaled by the length of the arms;
   only the arms move (`_hands`).
7. Limbs of robots that cross the body keep off it (`_apart`); feet stay, wrists give way.
8. Closed loops of the target are closed: each pose goes to the nearest one in which they are.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from exactik._arguments import require_instance
from exactik._options import accepts_options, option
from exactik._text import count_noun, join_names
from exactik.anatomy import SIDES
from exactik.errors import ModelError, UsageError
from exactik.model import Loop, Skeleton
from exactik.model.motion import Motion
from exactik.problem import SpeedOptions
from exactik.retargeting._apart import keep_apart, measure_held_off
from exactik.retargeting._bodies import (
    add_hands,
    make_target_figure,
    prepare_source,
    prepare_target,
)
from exactik.retargeting._contacts import Contact, ContactOptions
from exactik.retargeting._copy_orientations import compute_part_rotations, copy_orientations
from exactik.retargeting._correspondence import (
    BoneMapping,
    Correspondence,
    make_correspondence,
    split_mapping,
)
from exactik.retargeting._feet import find_stances, place_feet
from exactik.retargeting._hands import place_hands
from exactik.retargeting._jumps import spread_limb_jumps
from exactik.retargeting._result import Retargeting
from exactik.retargeting.body import (
    BodyFigure,
    SourceBody,
    bend_at_least,
    find_rest_ends,
    find_unmirrored_limits,
    leave_out,
    mirror_limits,
)
from exactik.solvers import count_threads
from exactik.solvers.batch import settle_path
from exactik.solvers.control import find_speeds, limit_speeds
from exactik.typing import Array

Progress = Callable[[int, int], object]


PART_ARM = 0.1  # [m] by which a turn of a part counts beside its place
MAX_SHOWN_DOFS = 6  # in a remark


@dataclass(frozen=True, kw_only=True)
class PlainRetargetOptions(SpeedOptions):
    """What decides how a figure takes over a motion."""

    mapping: BoneMapping | None = option(
        None,
        "Part of the body → (bone of the source, bone of the target).",
        more="In place of what is proposed; None for one of them keeps the proposal, see "
        "`Correspondence`.",
    )
    feet: bool = option(True, "Keep standing feet where they stand.", flags="--feet/--no-feet")
    hands: bool = option(
        True,
        "Put the wrists where those of the source are.",
        more="Seen from the chest and scaled by the arms.",
        flags="--hands/--no-hands",
    )
    self_collision: bool = option(
        True,
        "Keep limbs of a robot off its body, by the shapes of its file.",
        more="Wrists give way; feet stay. Characters stay as they are.",
        flags="--self-collision/--no-self-collision",
    )
    keep_rest_frames: bool = option(
        False,
        "Keep frames of rest at the ends, which many files have.",
        more="T-poses from which the body is somewhere else in one frame.",
        why="A body that leaves a T-pose in a frame turns its shoulders at 180 rad/s.",
        flags="--keep-rest-frames",
    )
    up: str | None = option(
        None,
        "Up axis of the file that is read, in place of its own: x, y or z.",
        more="By the motion, else by the shape of the body in it, if None.",
        metavar="AXIS",
    )
    target_up: str | None = option(
        None,
        "Up axis of the figure of --to: x, y or z.",
        more="At rest; by its shape if None.",
        metavar="AXIS",
        flags="--to-up",
    )
    mirror_limits: str | None = option(
        None,
        "Side whose limits hold for both, where they are not mirror images: left or right.",
        more="A robot's file may have one side's limits copied to the other, signs and all.",
        metavar="SIDE",
    )
    contacts: ContactOptions | None = option(None, "What counts as standing.")


@dataclass(frozen=True, kw_only=True)
class RetargetOptions(PlainRetargetOptions):
    """How a figure takes over a motion."""

    threads: int | None = option(
        1,
        "Number of threads; one per processor if None.",
        more="The result does not depend on it.",
    )
    progress: Progress | None = option(None, "Is called with the number of frames done and to do.")


@accepts_options(RetargetOptions)
def retarget(motion: Motion, target: Skeleton, options: RetargetOptions) -> Retargeting:
    """Let another figure or robot take over a motion.

    Both need two arms and two legs; proportions, rest poses, axes, units, kinds of joints and the
    number of bones may differ. Limits of the target are never left. A target whose root is fixed,
    as a robot's, gets a free one.

    Args:
        motion: what is taken over; no frame may be missing.
        target: who takes it over.
        options: fields of `RetargetOptions`, as keywords.

    Returns:
        The motion of the target, with what corresponds, contacts and errors.

    Raises:
        ModelError: arms and legs of a skeleton cannot be told; give a mapping.
    """
    begin = time.perf_counter()
    motion = require_instance("motion", motion, Motion)
    target = require_instance("target", target, Skeleton)
    _require_poses(motion)
    workers = count_threads(options.threads)
    contacts = ContactOptions() if options.contacts is None else options.contacts
    require_instance("contacts", contacts, ContactOptions)
    given_source, given_target = split_mapping(options.mapping)
    source, source_up, remarks = prepare_source(motion, given_source, options.up)
    rest = find_rest_ends(source)
    if rest and not options.keep_rest_frames:
        motion, source = leave_out(motion, source, rest)
        remarks = (*remarks, f"{rest.words} at rest, which the motion leaves at once, left out")
    elif rest:
        remarks = (*remarks, f"{rest.words} at rest, which the motion leaves at once")
    if options.mirror_limits is not None:
        target = mirror_limits(target, options.mirror_limits)
    remarks = (*remarks, *_tell_of_limits(target))
    loops, target = _check_loops(target, options), target.opened
    handed, given_target, added = add_hands(target, given_target)
    free_handed, target_up = prepare_target(handed, given_target, options.target_up)
    free_target = target.with_bones(free_handed.bones[: len(target.bones)])
    if options.max_speed is not None:
        find_speeds(free_target, options.max_speed)  # refused before anything is solved
    figure = make_target_figure(free_handed, given_target, target_up)
    correspondence = make_correspondence(
        source.figure.anatomy,
        figure.anatomy,
        source.figure.skeleton.forward(source.figure.q_rest).positions,
        figure.skeleton.forward(figure.q_rest).positions,
    )
    stances, source = find_stances(source, contacts)
    scale = figure.leg_length / source.figure.leg_length
    q = _copy_source(source, figure, correspondence, scale, options.progress)
    q = _place_limbs(source, figure, stances, scale, q, options, workers)
    apart = keep_apart(source, figure, q) if options.self_collision else q
    held_off = measure_held_off(figure, q, apart) if options.self_collision else {}
    free_target = free_target.with_loops(loops)
    q = _keep_loops(free_target, apart, correspondence, workers)
    q, held = _keep_speeds(free_target, q, motion.rate, options)
    retargeted = Motion(
        free_target,
        q,
        motion.rate,
        first_frame=motion.first_frame,
        up_axis=target_up,
        source=motion.source,
    )
    return Retargeting(
        motion=retargeted,
        source=replace(motion, up_axis=source_up),
        correspondence=correspondence,
        contacts=tuple(stances),
        scale=scale,
        seconds=time.perf_counter() - begin,
        source_body=source,
        target_figure=figure,
        root_was_freed=target.bones[0].joint.nv == 0,
        hands_placed=options.hands,
        held_off=held_off,
        remarks=(*remarks, *added, *held),
    )


def _place_limbs(
    source: SourceBody,
    figure: BodyFigure,
    stances: list[Contact],
    scale: float,
    q: Array,
    options: RetargetOptions,
    workers: int,
) -> Array:
    """Return poses whose limbs do not jump, and whose feet and hands are in their places."""
    q = spread_limb_jumps(source, figure, q)
    if options.feet:
        q = place_feet(source, figure, stances, scale, q, workers)
    return place_hands(source, figure, q, workers) if options.hands else q


def _copy_source(
    source: SourceBody,
    target: BodyFigure,
    correspondence: Correspondence,
    scale: float,
    progress: Progress | None,
) -> Array:
    """Return poses of the target turned as the source, its hips on the scaled path."""
    hips = source.hip_centres()
    places = scale * hips
    places[:, 2] = target.ankle_height + scale * (hips[:, 2] - source.ground)
    rotations = [
        compute_part_rotations(source.figure, target, pair, source.rotations)
        for pair in correspondence.pairs
    ]
    done = 0

    def report_frames(frames: int) -> None:
        nonlocal done
        done += frames
        if progress is not None:
            progress(done, len(places))

    bends = _find_bends(target, correspondence, rotations)
    return copy_orientations(target, correspondence.pairs, rotations, bends, places, report_frames)


def _require_poses(motion: Motion) -> None:
    if len(motion) == 0:
        raise UsageError("the motion has no frame; retarget needs one at least")
    if not np.isfinite(motion.q).all():
        raise UsageError("retarget needs a motion whose frames all have a pose; fill gaps first")


def _keep_speeds(
    target: Skeleton, q: Array, rate: float, options: RetargetOptions
) -> tuple[Array, list[str]]:
    """Return poses within the speeds that are asked for, and a sentence on what was too fast."""
    if options.progress is not None:  # nothing after this takes long
        options.progress(len(q), len(q))
    if options.max_speed is None:
        return q, []
    q, fast = limit_speeds(target, q, rate, options.max_speed)
    names = join_names([target.dof_names[dof] for dof in np.flatnonzero(fast)], MAX_SHOWN_DOFS)
    return q, [f"kept to their largest speeds: {names}"] if fast.any() else []


def _check_loops(target: Skeleton, options: RetargetOptions) -> tuple[Loop, ...]:
    """Return the loops that are to be closed at the end."""
    if len(target.loops) > 0 and options.max_speed is not None:
        raise UsageError("max_speed cannot be kept beside closed loops yet; leave out one")
    if target.bones[0].joint.nv == 0 and any(loop.b is None for loop in target.loops):
        raise ModelError(f"a loop holds {target.name!r} to the world; its root cannot move freely")
    return target.loops


def _keep_loops(target: Skeleton, q: Array, corresponding: Correspondence, workers: int) -> Array:
    """Return poses near q, (T, nq), with closed loops; where parts are decides what is near."""
    if len(target.loops) == 0:
        return q
    arms = np.vstack([np.zeros(3), PART_ARM * np.eye(3)[:2]])
    bones = {pair.target for pair in corresponding.pairs}.intersection(target.bone_names)
    markers = {f"{bone} {n}": (bone, arm) for bone in sorted(bones) for n, arm in enumerate(arms)}
    weights = dict.fromkeys(markers, 1.0)
    return settle_path(target.with_markers(markers), q, weights, threads=workers)


def _tell_of_limits(target: Skeleton) -> list[str]:
    """Return a sentence on limits that are not mirror images, if there are any."""
    pairs = find_unmirrored_limits(target)
    if len(pairs) == 0:
        return []
    more = "" if len(pairs) == 1 else f", and {count_noun(len(pairs) - 1, 'more pair')}"
    return [
        f"limits are not mirror images: {pairs[0].words}{more}; "
        "--mirror-limits says which side's hold for both"
    ]


def _find_bends(
    target: BodyFigure, correspondence: Correspondence, rotations: list[Array]
) -> dict[str, Array]:
    """Return where forearms and shins should point in the world: part → (T, 3).

    Never quite in line with the part above.
    """
    turned = {
        pair.part: rotation @ target.part_frames[pair.part]
        for pair, rotation in zip(correspondence.pairs, rotations, strict=True)
    }
    bends = {}
    for side in SIDES:
        for upper, lower, flexion in (("upper_arm", "forearm", 1.0), ("thigh", "shin", -1.0)):
            axes, along = turned[f"{side}_{upper}"], turned[f"{side}_{lower}"][:, :, 0]
            bends[f"{side}_{lower}"] = bend_at_least(axes, along, flexion)
    return bends
