"""The SMPL family: names of its joints, and model files: where joints are for a shape, and skins.

With v̄ the template, S the directions of shape, J the regressor of joints and β the shape,

    v(β) = v̄ + S β ,     joints(β) = J v(β)

which is all that the bones need. Directions of pose, which mend the skin at bends, are not kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exactik.io._notes import Notes
from exactik.io._npz_arrays import NpzFile
from exactik.model.visuals import Mesh, Skin, Visuals
from exactik.typing import Array, IntArray

NEEDED = ("v_template", "shapedirs", "J_regressor", "kintree_table", "weights", "f")
INFLUENCES = 4  # joints that a vertex follows, as all skins here
WHAT = "a model of the SMPL family; expected an .npz with v_template, shapedirs and J_regressor"
BODY = (
    ("pelvis", None),
    ("left_hip", "pelvis"),
    ("right_hip", "pelvis"),
    ("spine1", "pelvis"),
    ("left_knee", "left_hip"),
    ("right_knee", "right_hip"),
    ("spine2", "spine1"),
    ("left_ankle", "left_knee"),
    ("right_ankle", "right_knee"),
    ("spine3", "spine2"),
    ("left_foot", "left_ankle"),
    ("right_foot", "right_ankle"),
    ("neck", "spine3"),
    ("left_collar", "spine3"),
    ("right_collar", "spine3"),
    ("head", "neck"),
    ("left_shoulder", "left_collar"),
    ("right_shoulder", "right_collar"),
    ("left_elbow", "left_shoulder"),
    ("right_elbow", "right_shoulder"),
    ("left_wrist", "left_elbow"),
    ("right_wrist", "right_elbow"),
)
FINGERS = ("index", "middle", "pinky", "ring", "thumb")
FACE = (("jaw", "head"), ("left_eye_smplhf", "head"), ("right_eye_smplhf", "head"))
HANDS = (("left_hand", "left_wrist"), ("right_hand", "right_wrist"))

Joints = tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, eq=False)
class SmplModel:
    """What of a model file is read."""

    joints: Joints  # names and parents
    template: Array  # vertices of the mean shape [m], (n, 3)
    shape_directions: Array  # (n, 3, k) for k numbers of shape [m]
    regressor: Array  # (n_joints, n)
    weights: Array  # of the joints on each vertex, (n, n_joints)
    faces: IntArray  # (m, 3)

    def shape_vertices(self, betas: Array) -> Array:
        """Return the vertices at rest of a shape [m], (n, 3); numbers beyond the model's go."""
        count = min(len(betas), self.shape_directions.shape[2])
        return self.template + self.shape_directions[:, :, :count] @ betas[:count]

    def place_joints(self, betas: Array) -> Array:
        """Return where joints are at rest [m], (n_joints, 3)."""
        return self.regressor @ self.shape_vertices(betas)

    def make_visuals(self, betas: Array) -> Visuals:
        """Return the skin of a shape."""
        places = self.place_joints(betas)
        maps = np.tile(np.eye(4), (len(places), 1, 1))
        maps[:, :3, 3] = -places
        strongest = np.argsort(-self.weights, axis=1)[:, :INFLUENCES]
        skin = Skin(
            name="body",
            mesh=Mesh(self.shape_vertices(betas).astype(np.float32), self.faces),
            bones=tuple(name for name, _ in self.joints),
            T_bone_mesh=maps,
            joints=strongest,
            weights=np.take_along_axis(self.weights, strongest, axis=1),
        )
        return Visuals(skins=(skin,))


def read_smpl_model(path: str) -> SmplModel:
    """Return the model in an .npz file; nothing in it is executed."""
    notes = Notes(path)
    if path.lower().endswith((".pkl", ".pickle")):
        raise notes.error(
            "a pickle runs code when it is opened, so it is not; expected the .npz of SMPL-H or "
            "SMPL-X, or one made of it as docs/formats.md says",
            code="pickle",
        )
    file = NpzFile(path, notes, WHAT)
    for name in NEEDED:
        if name not in file:
            raise notes.error(f"not {WHAT}; {name} is missing")
    arrays = {name: file.read_numbers(name) for name in NEEDED}
    tree, regressor = arrays["kintree_table"], arrays["J_regressor"]
    n, count = len(arrays["v_template"]), regressor.shape[0] if regressor.ndim == 2 else 0
    if count not in FAMILY:
        known = ", ".join(map(str, FAMILY))
        raise notes.error(f"J_regressor has shape {regressor.shape}; expected {known} joints")
    shapes = {
        "v_template": (n, 3),
        "J_regressor": (count, n),
        "kintree_table": (2, count),
        "weights": (n, count),
    }
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            raise notes.error(f"{name} has shape {arrays[name].shape}; expected {shape}")
    directions, faces = arrays["shapedirs"], arrays["f"]
    if directions.ndim != 3 or directions.shape[:2] != (n, 3):
        raise notes.error(f"shapedirs has shape {directions.shape}; expected ({n}, 3, …)")
    if faces.ndim != 2 or faces.shape[1] != 3 or faces.size == 0:
        raise notes.error(f"f has shape {faces.shape}; expected triangles, (…, 3)")
    if faces.min() < 0 or faces.max() >= n:
        raise notes.error(f"f names vertices that are not among the {n}")
    joints = FAMILY[count][1]
    _check_tree(tree, joints, notes)
    return SmplModel(
        joints=joints,
        template=arrays["v_template"],
        shape_directions=directions,
        regressor=regressor,
        weights=arrays["weights"],
        faces=faces.astype(np.int64),
    )


def _check_tree(tree: Array, joints: Joints, notes: Notes) -> None:
    """Raise an error if parents are not those of the family."""
    names = [name for name, _ in joints]
    expected = [names.index(parent) for _, parent in joints if parent is not None]
    if tree[0, 1:].tolist() != expected:
        raise notes.error("kintree_table has other parents than the SMPL family")


def _list_fingers(side: str) -> Joints:
    joints = []
    for finger in FINGERS:
        parent = f"{side}_wrist"
        for k in (1, 2, 3):
            name = f"{side}_{finger}{k}"
            joints.append((name, parent))
            parent = name
    return tuple(joints)


SMPL: Joints = (*BODY, *HANDS)
SMPL_H: Joints = (*BODY, *_list_fingers("left"), *_list_fingers("right"))
SMPL_X: Joints = (*BODY, *FACE, *_list_fingers("left"), *_list_fingers("right"))
FAMILY: dict[int, tuple[str, Joints]] = {
    22: ("SMPL without hands", BODY),
    24: ("SMPL", SMPL),
    52: ("SMPL-H", SMPL_H),
    55: ("SMPL-X", SMPL_X),
}
