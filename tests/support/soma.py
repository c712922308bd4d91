"""A motion as BVH of the SOMA skeleton (BONES-SEED) has it: y up, bones along one axis at rest.

Made of the built-in human's, whose bones stand for those of the same place: twenty-three of the
seventy-seven, without faces and fingers, under a root of their own that stays on the ground.
"""

from __future__ import annotations

import numpy as np

import exactik as ik
from exactik.model.motion import Motion
from exactik.spatial import wxyz_from_matrix
from exactik.typing import Array

# SOMA's bone, its parent, and the bone of the human that moves as it does.
TRUNK = (
    ("Hips", "Root", "pelvis"),
    ("Spine1", "Hips", "lower_back"),
    ("Spine2", "Spine1", "upper_back"),
    ("Chest", "Spine2", "thorax"),
    ("Neck1", "Chest", "lower_neck"),
    ("Neck2", "Neck1", "upper_neck"),
    ("Head", "Neck2", "head"),
)
LIMBS = (
    ("Shoulder", "Chest", "clavicle"),
    ("Arm", "Shoulder", "upper_arm"),
    ("ForeArm", "Arm", "forearm"),
    ("Hand", "ForeArm", "hand"),
    ("Leg", "Hips", "thigh"),
    ("Shin", "Leg", "shin"),
    ("Foot", "Shin", "foot"),
    ("ToeBase", "Foot", "toes"),
)
BONES = (
    *TRUNK,
    *(
        (
            f"{side}{name}",
            parent if parent in ("Hips", "Chest") else f"{side}{parent}",
            f"{s}_{own}",
        )
        for side, s in (("Left", "l"), ("Right", "r"))
        for name, parent, own in LIMBS
    ),
)
Y_UP = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])  # of x forward, z up


def to_soma(motion: Motion) -> Motion:
    """Return the same motion of the SOMA skeleton."""
    source = motion.skeleton
    at = [source.bone_index(own) for _, _, own in BONES]
    rest, pose = source.forward(source.neutral()), motion.forward()
    names = [name for name, _, _ in BONES]
    frames = [_align(rest.positions, at, names, k) for k in range(len(BONES))]
    turned = [pose.rotations[:, b] @ rest.rotations[b].T for b in at]  # since rest, world axes
    bones = [ik.Bone("Root", joint=ik.Joint.free())]
    columns = [np.zeros((len(motion), 3)), np.tile([1.0, 0.0, 0.0, 0.0], (len(motion), 1))]
    for k, (name, parent, _) in enumerate(BONES):
        R_world = Y_UP @ turned[k] @ frames[k]
        if parent == "Root":
            joint, offset, R_local = ik.Joint.free(), np.zeros(3), R_world
            columns.append(pose.positions[:, at[k]] @ Y_UP.T)
        else:
            above = names.index(parent)
            R_above = Y_UP @ turned[above] @ frames[above]
            joint, R_local = ik.Joint.quaternion(), np.swapaxes(R_above, 1, 2) @ R_world
            offset = frames[above].T @ (rest.positions[at[k]] - rest.positions[at[above]])
        bones.append(ik.Bone(name, parent=parent, offset=offset, joint=joint))
        columns.append(wxyz_from_matrix(R_local))
    q = np.concatenate(columns, axis=1)
    return Motion(ik.Skeleton.build("soma", bones), q, motion.rate, up_axis="y")


def _align(places: Array, at: list[int], names: list[str], k: int) -> Array:
    """Return the frame of a bone at rest whose x axis points to its first child."""
    children = [j for j, (_, parent, _) in enumerate(BONES) if parent == names[k]]
    along = places[at[children[0]]] - places[at[k]] if children else np.array([1.0, 0.0, 0.0])
    x = along / np.linalg.norm(along)
    z = np.cross(x, [0.0, 1.0, 0.0])
    z /= np.linalg.norm(z)
    return np.stack([x, np.cross(z, x), z], axis=1)
