"""What a file does not keep of what was written to it: told by reading it back and comparing.

Nothing here is known beforehand about a format, but for what it does not state, such as the length
unit of BVH: limits are only lost where there were some, and a file that keeps all of it has no
losses.
"""

from __future__ import annotations

import warnings
from collections import Counter
from pathlib import Path

import numpy as np

from exactik.errors import ExactikError, FileWarning
from exactik.io._load import load_markers, load_motion, load_skeleton
from exactik.io.conversion._words import listed, plural
from exactik.model import Skeleton
from exactik.motion import Markers, Motion

__all__ = ["losses"]

_EXACT = 1e-9  # [m] less is no loss
_CHUNK = 4096  # frames at a time
_NAMES = {".bvh": "BVH", ".amc": "AMC", ".glb": "GLB", ".mot": "MOT", ".csv": "CSV"}
_NAMES |= {".c3d": "C3D", ".trc": "TRC", ".asf": "ASF", ".npz": "NPZ"}

Recording = Motion | Markers
Found = Skeleton | Motion | Markers


def losses(
    thing: Found, files: tuple[str, ...], unit: str | float | None, up: str | None
) -> tuple[list[str], Found]:
    """Return what was lost in writing, a sentence each, and what a reader finds.

    Args:
        thing: what was written.
        files: where; for .amc the .asf comes second.
        unit: length unit, for formats that do not state it.
        up: which axis is up, for a skeleton.
    """
    suffix = Path(files[0]).suffix.lower()
    name = _NAMES[suffix]
    lost = _unread(thing) if isinstance(thing, Markers) else []
    lost += _unstated(thing, suffix, name, unit, up)
    if suffix == ".csv":
        return lost, thing
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileWarning)
        try:
            again = _again(thing, files, unit)
        except ExactikError as error:  # such as a motion of which every frame is missing
            return [*lost, f"all of it, for exactik itself cannot read it back: {error}"], thing
    if isinstance(thing, Markers) and isinstance(again, Markers):
        lost += _of_markers(thing, again, name) + _of_recording(thing, again, name)
    elif isinstance(thing, Motion) and isinstance(again, Motion):
        lost += _of_skeleton(thing.skeleton, again.skeleton, "ASF" if suffix == ".amc" else name)
        lost += _of_motion(thing, again, name) + _of_recording(thing, again, name)
    elif isinstance(thing, Skeleton) and isinstance(again, Skeleton):
        lost += _of_skeleton(thing, again, name)
    return lost, again


def _again(thing: Found, files: tuple[str, ...], unit: str | float | None) -> Found:
    """Return what a reader finds in the file."""
    suffix = Path(files[0]).suffix.lower()
    stated = None if suffix != ".bvh" else unit
    if isinstance(thing, Markers):
        return load_markers(files[0])
    if isinstance(thing, Skeleton):
        return load_skeleton(files[0], stated)
    if suffix == ".mot":
        return load_motion(files[0], thing.skeleton)
    if suffix == ".amc":
        return load_motion(files[0], load_skeleton(files[1]))
    return load_motion(files[0], length_unit=stated)


def _unstated(
    thing: Found, suffix: str, name: str, unit: str | float | None, up: str | None
) -> list[str]:
    """Return what the format has no word for, whatever our reader makes of it."""
    lost = []
    if suffix == ".csv":
        lost.append("the way back: CSV is for other programs, exactik does not read it")
        if isinstance(thing, Markers) and len(thing.others) > 0:
            lost.append(f"{_series(thing, tuple(thing.others))}: CSV has the markers alone")
    if suffix in (".mot", ".csv") and isinstance(thing, Motion):
        lost.append(f"the skeleton: {name} has coordinates alone, keep the file of the skeleton")
    if suffix == ".bvh":
        shown = unit if isinstance(unit, str) else f"{unit:.6g} m"
        lost.append(f"the length unit, {shown}: BVH does not state it")
    if suffix == ".amc" and isinstance(thing, Motion):
        lost.append(
            f"the rate for other programs, {thing.rate:g} Hz: AMC states none, and ours is in a "
            "comment"
        )
    silent = (".bvh", ".mot", ".csv", ".trc", *([".npz"] if isinstance(thing, Skeleton) else []))
    if up is not None and suffix in silent:
        lost.append(f"which axis is up, {up}: {name} does not say")
    if up not in (None, "y") and suffix in (".amc", ".asf"):
        lost.append(f"which axis is up, {up}: {name} does not say, and y is the custom")
    return lost


def _unread(markers: Markers) -> list[str]:
    """Return what was in the source and is not part of markers."""
    lost = []
    analog = markers.metadata.get("analog") or {}
    if analog.get("channels", 0) > 0:
        count = plural(int(analog["channels"]), "analog channel")
        lost.append(f"{count} at {analog.get('rate', 0.0):g} Hz: they are not read")
    return lost


# --- parts of a model


def _of_skeleton(old: Skeleton, new: Skeleton, name: str) -> list[str]:
    lost = []
    gone = [bone for bone in old.bone_names if bone not in new.bone_names]
    extra = [bone for bone in new.bone_names if bone not in old.bone_names]
    if len(gone) > 0:
        found = f", now {listed(extra)}" if len(extra) > 0 else ""
        lost.append(f"names of {plural(len(gone), 'bone')}: {listed(gone)}{found}")
    elif len(extra) > 0:
        count = plural(len(extra), "bone")
        lost.append(f"the number of bones: {name} needs {count} more, {listed(extra)}")
    changed = Counter(
        (str(bone.joint), str(new.bones[new.bone_index(bone.name)].joint))
        for bone in old.bones
        if bone.name in new.bone_names
        and bone.joint.dof_names != new.bones[new.bone_index(bone.name)].joint.dof_names
    )
    if len(changed) > 0:
        pairs = [f"{a} → {b} ({n})" for (a, b), n in changed.most_common(4)]
        more = ", …" if len(changed) > 4 else ""
        count = plural(changed.total(), "bone")
        lost.append(f"the kind of joint of {count}: {', '.join(pairs)}{more}")
    limits = dict(zip(new.dof_names, zip(new.lower, new.upper, strict=True), strict=True))
    limited = [
        (dof, low, high)
        for dof, low, high in zip(old.dof_names, old.lower, old.upper, strict=True)
        if np.isfinite([low, high]).any()
    ]
    unkept = [d for d, *pair in limited if not np.allclose(limits.get(d, (np.nan, np.nan)), pair)]
    if len(unkept) > 0:
        which = f"{len(unkept)} of {len(limited)}" if len(unkept) < len(limited) else "all"
        lost.append(f"limits of {plural(len(unkept), 'dof')}, {which} that had some")
    markers = [marker for marker in old.markers if marker not in new.markers]
    if len(markers) > 0:
        lost.append(f"{plural(len(markers), 'marker')} of the skeleton: {listed(markers)}")
    return lost


# --- parts of a recording


def _of_recording(old: Recording, new: Recording, name: str) -> list[str]:
    lost = []
    if abs(new.rate - old.rate) > 1e-6 * old.rate:
        lost.append(f"the rate, {old.rate:.9g} Hz: {name} makes it {new.rate:.9g} Hz")
    if new.first_frame != old.first_frame and len(new) == len(old):
        lost.append(f"the number of the first frame, {old.first_frame}: now {new.first_frame}")
    return lost


def _of_motion(old: Motion, new: Motion, name: str) -> list[str]:
    lost = []
    there = np.isfinite(old.q).all(axis=1)
    shift = 0
    if len(new) < len(old):
        shift = int(np.argmax(there))
        count = plural(len(old) - len(new), "missing frame")
        lost.append(f"{count} at the ends: {name} only shows those between others")
    elif not np.array_equal(there, np.isfinite(new.q).all(axis=1)):
        lost.append(f"which frames are missing: {name} cannot say")
    off = _furthest(old, new, shift)
    if off > _EXACT:
        lost.append(f"digits: bones are up to {off:.1g} m from their places")
    return lost


def _furthest(old: Motion, new: Motion, shift: int) -> float:
    """Return the largest distance between bones of the same name [m], in frames that both have."""
    names = [bone for bone in old.skeleton.bone_names if bone in new.skeleton.bone_names]
    ours = [old.skeleton.bone_index(bone) for bone in names]
    theirs = [new.skeleton.bone_index(bone) for bone in names]
    worst = 0.0
    for at in range(0, len(new), _CHUNK):
        rows = np.arange(at, min(at + _CHUNK, len(new)))
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
        was, now = (listed([names[k] for k in changed]) for names in (old.names, new.names))
        lost.append(f"names of {plural(len(changed), 'marker')}: {was}, now {now}")
    others = tuple(series for series in old.others if series not in new.others)
    if len(others) > 0:
        lost.append(f"{_series(old, others)}: {name} has no place for them")
    for key in ("events", "subjects"):
        if len(old.metadata.get(key) or ()) > 0 and len(new.metadata.get(key) or ()) == 0:
            count = plural(len(old.metadata[key]), key[:-1])
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
    if worst > _EXACT:
        lost.append(f"digits: markers are up to {worst:.1g} m from their places")
    return lost


def _series(markers: Markers, names: tuple[str, ...]) -> str:
    kinds = Counter(markers.others[name].kind for name in names)
    shown = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    return f"{len(names)} other series ({shown})"
