"""Joints of the SMPL family: SMPL has 24, SMPL-H 52, SMPL-X 55, outputs without hands 22.

The first 22 are the same in all. Names and order are those of the published models.
"""

from __future__ import annotations

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
