"""What a file does not keep of what was written to it: told by reading it back and comparing.

Nothing here is known beforehand about a format, but for what it does not state, such as the length
unit of BVH: limits are only lost where there were some, and a file that keeps all of it has no
losses.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence

import numpy as np

from exactik._text import count_noun, join_names
from exactik.errors import ExactikError, FileWarning
from exactik.io._load import load_markers, load_motion, load_skeleton
from exactik.io.formats import Content, Format, find_format
from exactik.io.inspection import describe_analog, describe_markers, describe_time
from exactik.model import Skeleton
from exactik.model.motion import Markers, Motion
from exactik.model.visuals import Visuals

EXACT_M = 1e-9  # [m] less is no loss but rounding
CHUNK_FRAMES = 4096  # that are compared at a time, to bound memory
MAX_NAMES = 3  # in a sentence
MAX_JOINT_KINDS = 4  # likewise
PLURAL_PARTS = {"mesh": "meshes"}

Thing = Skeleton | Motion | Markers


def describe(thing: Thing) -> str:
    """Return what a motion, a skeleton or markers are, in one line."""
    if isinstance(thing, Skeleton):
        return f"skeleton, {count_noun(len(thing.bones), 'bone')}, {count_noun(thing.nv, 'dof')}"
    if isinstance(thing, Markers):
        return f"markers, {describe_markers(thing)}"
    gone = int(np.isnan(thing.q).any(axis=1).sum())
    missing = f", {count_noun(gone, 'frame')} missing" if gone > 0 else ""
    skeleton = thing.skeleton
    size = f"{count_noun(len(skeleton.bones), 'bone')}, {count_noun(skeleton.nv, 'dof')}"
    return f"motion, {describe_time(thing)}, {size}{missing}"


def content_of(thing: Thing) -> Content:
    """Return what a motion, a skeleton or markers are to a format."""
    if isinstance(thing, Motion):
        return "motion"
    return "markers" if isinstance(thing, Markers) else "skeleton"


def find_losses(
    thing: Thing, files: tuple[str, ...], unit: str | float | None, up: str | None
) -> tuple[list[str], Thing]:
    """Return what was lost in writing, a sentence each, and what a reader finds.

    Args:
        files: where; for .amc the .asf comes second.
        unit: length unit, for formats that do not state it.
        up: which axis is up, for a skeleton.
    """
    form = find_format(files[0])
    assert form is not None  # something was written
    lost = _find_unstated(thing, form, unit, up)
    if len(form.readers) == 0:
        return lost, thing
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileWarning)
        try:
            again = _read_back(thing, form, files, unit)
        except ExactikError as error:  # such as a motion of which every frame is missing
            return [*lost, f"all of it, for exactik itself cannot read it back: {error}"], thing
    if isinstance(thing, Markers) and isinstance(again, Markers):
        lost += _of_markers(thing, again, form.name) + _of_recording(thing, again, form.name)
    elif isinstance(thing, Motion) and isinstance(again, Motion):
        holder = form if form.companion == "" else find_format(files[1]) or form
        lost += _of_skeleton(thing.skeleton, again.skeleton, holder.name)
        lost += _of_motion(thing, again, form.name) + _of_recording(thing, again, form.name)
    elif isinstance(thing, Skeleton) and isinstance(again, Skeleton):
        if form.losses_of is not None:
            lost += form.losses_of.resolve()(thing, again, files[0])
            lost += _of_loops(thing, again) + _of_look(thing, again, form.name)
        else:
            lost += _of_skeleton(thing, again, form.name)
    return lost, again


def _read_back(
    thing: Thing, form: Format, files: tuple[str, ...], unit: str | float | None
) -> Thing:
    """Return what a reader finds in the file."""
    given_unit = unit if form.length_unit is None else None
    if isinstance(thing, Markers):
        return load_markers(files[0])
    if isinstance(thing, Skeleton):
        return load_skeleton(files[0], given_unit)
    target, *beside = files
    skeleton = thing.skeleton if form.needs_skeleton else None
    for file in beside:
        skeleton = load_skeleton(file)
    return load_motion(target, skeleton, length_unit=given_unit)


def _find_unstated(
    thing: Thing, form: Format, unit: str | float | None, up: str | None
) -> list[str]:
    """Return what the format has no word for, whatever our reader makes of it."""
    lost, name = [], form.name
    if len(form.readers) == 0:
        lost.append(f"the way back: {name} is for other programs, exactik does not read it")
        if isinstance(thing, Markers) and len(thing.others) > 0:
            lost.append(
                f"{_count_series(thing, tuple(thing.others))}: {name} has the markers alone"
            )
        if isinstance(thing, Markers):
            lost += _of_channels(thing, 0, False, name)
    if isinstance(thing, Motion) and form.needs_skeleton and form.companion == "":
        lost.append(f"the skeleton: {name} has coordinates alone, keep the file of the skeleton")
    if form.length_unit is None:
        shown = unit if isinstance(unit, str) else f"{unit:.6g} m"
        lost.append(f"the length unit, {shown}: {name} does not state it")
    if isinstance(thing, Motion) and not form.states_rate:
        lost.append(
            f"the rate for other programs, {thing.rate:g} Hz: {name} states none, and ours is in a "
            "comment"
        )
    if up is None or content_of(thing) in form.states_up_axis:
        return lost
    if not form.up_axis_is_fixed:
        lost.append(f"which axis is up, {up}: {name} does not say")
    elif up != form.up_axis:
        custom = f"{form.up_axis} is the custom"
        lost.append(f"which axis is up, {up}: {name} does not say, and {custom}")
    return lost


# --- parts of a model


def _of_skeleton(old: Skeleton, new: Skeleton, name: str) -> list[str]:
    lost = []
    gone = [bone for bone in old.bone_names if bone not in new.bone_names]
    extra = [bone for bone in new.bone_names if bone not in old.bone_names]
    if len(gone) > 0:
        renamed = f", now {_quote(extra)}" if len(extra) > 0 else ""
        lost.append(f"names of {count_noun(len(gone), 'bone')}: {_quote(gone)}{renamed}")
    elif len(extra) > 0:
        count = count_noun(len(extra), "bone")
        lost.append(f"the number of bones: {name} needs {count} more, {_quote(extra)}")
    changed = Counter(
        (str(bone.joint), str(new.bones[new.bone_index(bone.name)].joint))
        for bone in old.bones
        if bone.name in new.bone_names
        and bone.joint.dof_names != new.bones[new.bone_index(bone.name)].joint.dof_names
    )
    if len(changed) > 0:
        pairs = [f"{a} → {b} ({n})" for (a, b), n in changed.most_common()]
        shown = join_names(pairs, MAX_JOINT_KINDS, last=", ", rest=", …")
        count = count_noun(changed.total(), "bone")
        lost.append(f"the kind of joint of {count}: {shown}")
    limits = dict(zip(new.dof_names, zip(new.lower, new.upper, strict=True), strict=True))
    limited = [
        (dof, low, high)
        for dof, low, high in zip(old.dof_names, old.lower, old.upper, strict=True)
        if np.isfinite([low, high]).any()
    ]
    unkept = [d for d, *pair in limited if not np.allclose(limits.get(d, (np.nan, np.nan)), pair)]
    if len(unkept) > 0:
        which = f"{len(unkept)} of {len(limited)}" if len(unkept) < len(limited) else "all"
        lost.append(f"limits of {count_noun(len(unkept), 'dof')}, {which} that had some")
    markers = [marker for marker in old.markers if marker not in new.markers]
    if len(markers) > 0:
        lost.append(f"{count_noun(len(markers), 'marker')} of the skeleton: {_quote(markers)}")
    return lost + _of_loops(old, new) + _of_look(old, new, name)


def _of_loops(old: Skeleton, new: Skeleton) -> list[str]:
    gone = len(old.loops) - len(new.loops)
    return [f"{count_noun(gone, 'closed loop')}: the figure moves as if open"] if gone > 0 else []


def _of_look(old: Skeleton, new: Skeleton, name: str) -> list[str]:
    """Return what is lost of meshes, skins and textures, of reading the source too."""
    was, now = _count_parts(old.visuals), _count_parts(new.visuals)
    gone = [
        count_noun(was[kind] - now[kind], kind, PLURAL_PARTS.get(kind, ""))
        for kind in was
        if now[kind] < was[kind]
    ]
    lost = [note.text for note in old.visuals.notes]
    if len(gone) > 0:
        lost.append(f"the look, {', '.join(gone)}: {name} is written without it")
    return lost


def _count_parts(visuals: Visuals) -> Counter[str]:
    """Count what came with a file; the look of a built-in figure comes with its bones."""
    skins = [skin for skin in visuals.skins if not skin.fits]
    parts = (*skins, *visuals.rigid)
    images = {texture.data for part in parts for texture in part.material.textures.values()}
    return Counter(skin=len(skins), mesh=len(visuals.rigid), texture=len(images))


# --- parts of a recording


def _of_recording(old: Motion | Markers, new: Motion | Markers, name: str) -> list[str]:
    lost = []
    if abs(new.rate - old.rate) > 1e-6 * old.rate:
        lost.append(f"the rate, {old.rate:.9g} Hz: {name} makes it {new.rate:.9g} Hz")
    if new.first_frame != old.first_frame and len(new) == len(old):
        lost.append(f"the number of the first frame, {old.first_frame}: now {new.first_frame}")
    return lost


def _of_motion(old: Motion, new: Motion, name: str) -> list[str]:
    lost = []
    present = np.isfinite(old.q).all(axis=1)
    shift = 0
    if len(new) < len(old):
        shift = int(np.argmax(present))
        count = count_noun(len(old) - len(new), "missing frame")
        lost.append(f"{count} at the ends: {name} only shows those between others")
    elif not np.array_equal(present, np.isfinite(new.q).all(axis=1)):
        lost.append(f"which frames are missing: {name} cannot say")
    off = _furthest(old, new, shift)
    if off > EXACT_M:
        lost.append(f"digits: bones are up to {off:.1g} m from their places")
    return lost


def _furthest(old: Motion, new: Motion, shift: int) -> float:
    """Return the largest distance between bones of the same name [m], in frames that both have."""
    names = [bone for bone in old.skeleton.bone_names if bone in new.skeleton.bone_names]
    ours = [old.skeleton.bone_index(bone) for bone in names]
    theirs = [new.skeleton.bone_index(bone) for bone in names]
    worst = 0.0
    for at in range(0, len(new), CHUNK_FRAMES):
        rows = np.arange(at, min(at + CHUNK_FRAMES, len(new)))
        both = np.isfinite(old.q[rows + shift]).all(axis=1) & np.isfinite(new.q[rows]).all(axis=1)
        rows = rows[both]
        a = old.skeleton.forward(old.q[rows + shift]).positions[:, ours]
        b = new.skeleton.forward(new.q[rows]).positions[:, theirs]
        worst = max(worst, float(np.linalg.norm(a - b, axis=-1).max(initial=0.0)))
    return worst


def _of_markers(old: Markers, new: Markers, name: str) -> list[str]:
    lost = []
    changed = [k for k, (a, b) in enumerate(zip(old.names, new.names, strict=False)) if a != b]
    if len(changed) > 0:
        was, now = (_quote([names[k] for k in changed]) for names in (old.names, new.names))
        lost.append(f"names of {count_noun(len(changed), 'marker')}: {was}, now {now}")
    others = tuple(series for series in old.others if series not in new.others)
    if len(others) > 0:
        lost.append(f"{_count_series(old, others)}: {name} has no place for them")
    lost += _of_channels(old, len(new.force_plates), new.analog is not None, name)
    for key in ("events", "subjects"):
        if len(old.metadata.get(key) or ()) > 0 and len(new.metadata.get(key) or ()) == 0:
            count = count_noun(len(old.metadata[key]), key[:-1])
            lost.append(f"{count}: {name} is written without")
    if old.positions.shape != new.positions.shape:
        return [*lost, f"frames or markers: {new.positions.shape[:2]} of {old.positions.shape[:2]}"]
    zeros = int((new.missing & ~old.missing).sum())
    if zeros > 0:
        lost.append(
            f"{zeros} times a marker is exactly at (0, 0, 0), which readers take for missing"
        )
    off = np.linalg.norm(new.positions - old.positions, axis=-1)
    worst = float(np.fmax.reduce(off.ravel(), initial=0.0))  # skips gaps
    if worst > EXACT_M:
        lost.append(f"digits: markers are up to {worst:.1g} m from their places")
    return lost


def _of_channels(old: Markers, plates: int, has_analog: bool, name: str) -> list[str]:
    """Return what is lost of analog channels and force plates, of which so many are left."""
    lost = []
    if old.analog is not None and not has_analog:
        lost.append(f"{describe_analog(old.analog)}: {name} is written without")
    if plates < len(old.force_plates):
        count = count_noun(len(old.force_plates) - plates, "force plate")
        lost.append(f"{count}: {name} is written without")
    return lost


def _count_series(markers: Markers, names: tuple[str, ...]) -> str:
    kinds = Counter(markers.others[name].kind for name in names)
    shown = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    return f"{len(names)} other series ({shown})"


def _quote(names: Sequence[str]) -> str:
    return join_names([repr(name) for name in names], MAX_NAMES, last=", ", rest=", …")
