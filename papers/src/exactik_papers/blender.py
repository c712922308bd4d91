"""Blender's own inverse kinematics on sampled motion, where a Python with `bpy` is to be had.

Euler angles become hinges one after the other, with the limits of the figure. The root's three
turns are hinges, too; it cannot slide in a chain of Blender, and is put where its goal is. Dofs on
the way to no goal keep their angles.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from exactik.errors import ModelError
from exactik.model import Joint, Skeleton
from exactik.spatial import rotation_taking_z_to
from exactik.typing import Array, IntArray
from exactik_papers.sampled import FOLLOWERS, FollowedSamples, Sampled, follow_samples

__all__ = [
    "BLENDER",
    "Hinges",
    "add_blender",
    "describe_blender",
    "find_blender_python",
    "follow_method",
    "follow_with_blender",
    "make_hinges",
    "read_blender_version",
    "run_armature",
]

BLENDER = "Blender"
VARIABLE = "EXACTIK_BLENDER"  # of the environment: a Python that has bpy


@dataclass(frozen=True, eq=False)
class Hinges:
    """What an armature is made of, see `armature.py`.

    Attributes:
        dofs: of the figure that are hinges, (hinges,).
        parent: hinge above each, -1 for the root, (hinges,).
        constant: T_parent_hinge at angle zero, z the axis of the hinge, (hinges, 4, 4).
        limits: [rad], (hinges, 2).
        carrier: hinge that carries each end, (ends,).
        place: T_hinge_end, (ends, 4, 4).
    """

    dofs: IntArray
    parent: IntArray
    constant: Array
    limits: Array
    carrier: IntArray
    place: Array


def find_blender_python() -> Path | None:
    """Return a Python that has bpy: that of EXACTIK_BLENDER, or this one; None without."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return Path(named)
    return Path(sys.executable) if find_spec("bpy") is not None else None


@cache
def read_blender_version(python: Path) -> str:
    """Return the version of Blender that a Python has."""
    command = "import bpy; print(bpy.app.version_string)"
    return _run([str(python), "-c", command]).split()[-1]


def list_hinge_axes(joint: Joint) -> list[Array]:
    """Return the unit axes of a joint's turns, outermost first."""
    if joint.kind == "free" and joint.rotation is not None:
        return list_hinge_axes(joint.rotation)
    if joint.kind == "euler":
        return [np.eye(3)["XYZ".index(axis)] for axis in joint.order]
    if joint.kind == "revolute":
        return [np.array(joint.axis, dtype=float)]
    if joint.nv > 0:
        raise ModelError(f"a joint of kind {joint.kind} is not made of hinges")
    return []


def make_hinges(skeleton: Skeleton, ends: Sequence[str]) -> Hinges:
    """Return the hinges that move the origins of some bones; the root only turns."""
    chains = [list_bones_above(skeleton, end) for end in ends]
    moving = set().union(*chains)
    dofs, parent, constant = [], [], []
    after: dict[str | None, tuple[int, Array]] = {None: (-1, np.eye(4))}
    first = 0
    for bone in skeleton.bones:
        above = after.get(bone.parent)
        axes = list_hinge_axes(bone.joint) if bone.name in moving else []
        dof = first + bone.joint.nv - len(axes)  # those of a free root slide before they turn
        first += bone.joint.nv
        if above is None:
            continue
        hinge, T = above[0], above[1] @ _make_transform(bone.pre, bone.offset)
        if bone.parent is None:
            T[:3, 3] = 0.0
        if bone.name in ends:
            after[f"end of {bone.name}"] = hinge, T
        if bone.name not in moving:
            continue
        for k, axis in enumerate(axes):
            frame = _make_transform(rotation_taking_z_to(axis), np.zeros(3))
            dofs.append(dof + k)
            parent.append(hinge)
            constant.append(T @ frame)
            hinge, T = len(parent) - 1, frame.T
        after[bone.name] = hinge, T @ _make_transform(bone.post, np.zeros(3))
    held = [after[f"end of {end}"] for end in ends]
    return Hinges(
        dofs=np.array(dofs),
        parent=np.array(parent),
        constant=np.array(constant),
        limits=np.column_stack([skeleton.lower[dofs], skeleton.upper[dofs]]),
        carrier=np.array([hinge for hinge, _ in held]),
        place=np.array([T for _, T in held]),
    )


def list_bones_above(skeleton: Skeleton, name: str) -> list[str]:
    """Return the bones that carry a bone, from its parent to the root."""
    names, k = [], int(skeleton.parents[skeleton.bone_index(name)])
    while k >= 0:
        names.append(skeleton.bones[k].name)
        k = int(skeleton.parents[k])
    return names


def _make_transform(R: object, x: object) -> Array:
    T = np.eye(4)
    T[:3, :3] = np.eye(3) if R is None else np.array(R, dtype=float)
    T[:3, 3] = np.array(x, dtype=float)
    return T


def run_armature(
    python: Path,
    hinges: Hinges,
    *,
    iterations: int,
    start: Array,
    points: Array,
    bases: Array,
    shown: Array,
) -> dict[str, Array]:
    """Return what `armature.main` answers, from a process of its own; see there."""
    task = {key: value for key, value in vars(hinges).items() if key != "dofs"}
    task |= {"start": start, "points": points, "bases": bases, "shown": shown}
    with TemporaryDirectory() as folder:
        asked, answered = Path(folder) / "task.npz", Path(folder) / "answer.npz"
        np.savez(asked, iterations=iterations, **task)
        _run([str(python), str(Path(__file__).with_name("armature.py")), str(asked), str(answered)])
        with np.load(answered) as file:
            return {key: file[key] for key in file.files}


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ModelError(f"Blender cannot be run by {command[0]}: {error.strerror}") from None
    if done.returncode != 0:
        last = (done.stderr.strip() or "no output").splitlines()[-1]
        raise ModelError(f"Blender, run by {command[0]}, fails: {last}")
    return done.stdout


def follow_with_blender(data: Sampled, python: Path, iterations: int) -> FollowedSamples:
    """Follow all samples but the first, each from the pose before, as `follow_samples` does."""
    ends = list(data.problem.rows)
    root = data.skeleton.bones[0]
    if ends[0] != root.name or root.joint.kind != "free":
        raise ModelError(f"the first goal must be that of a free root, not of {ends[0]}")
    hinges = make_hinges(data.skeleton, ends[1:])
    if data.problem.locked[hinges.dofs].any():
        raise ModelError("a locked dof is on the way to a goal")
    answer = run_armature(
        python,
        hinges,
        iterations=iterations,
        start=data.q[0, hinges.dofs],
        points=data.targets[1:, 1:],
        bases=data.targets[1:, 0],
        shown=np.empty((0, len(hinges.dofs))),
    )
    q = np.tile(data.q[0], (len(data.q), 1))
    q[1:, hinges.dofs] = answer["q"]
    pre = _make_transform(root.pre, np.zeros(3))[:3, :3]
    q[1:, :3] = (data.targets[1:, 0] - np.array(root.offset)) @ pre
    q = data.skeleton.clip(q)  # single precision ends a little outside
    objective = [0.0, *(2.0 * data.at(n).cost(q[n]) for n in range(1, len(q)))]
    ms = 1e3 * float(answer["seconds"]) / max(1, len(q) - 1)
    return FollowedSamples(q, np.array(objective), np.nan, ms)


def add_blender(methods: Iterable[str]) -> tuple[str, ...]:
    """Return the methods and Blender, where it is to be had."""
    return (*methods, *((BLENDER,) if find_blender_python() is not None else ()))


def follow_method(data: Sampled, method: str, budget: int) -> FollowedSamples:
    """Follow all samples by a method of this package, or by Blender with so many iterations."""
    python = find_blender_python()
    if method == BLENDER and python is not None:
        return follow_with_blender(data, python, budget)
    return follow_samples(data, FOLLOWERS[method], budget)


def describe_blender() -> str:
    """Return a sentence on which Blender was run and how, or that it was not."""
    python = find_blender_python()
    if python is None:
        return (
            f"{BLENDER} itself was not run: this Python has no bpy, and {VARIABLE} names no other "
            "that has it."
        )
    return (
        f"{BLENDER} is {read_blender_version(python)}, its standard solver, a bone with limits for "
        "every Euler angle on the way to a goal, and as many iterations as others have gradients. "
        "Its root is put where the pelvis should be, as chains of bones do not slide. Milliseconds "
        "include its dependency graph. It holds hinges at their limits in every step, not at the "
        "end as the paper says, and ends when all move by less than 0.001 rad."
    )
