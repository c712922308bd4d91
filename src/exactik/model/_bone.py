"""A bone: a rigid body, the joint that moves it, and where that joint sits in its parent."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import require_shape
from exactik.errors import ModelError
from exactik.model.joints import Joint
from exactik.spatial import is_rotation, nearest_rotation
from exactik.typing import Array

Matrix = tuple[tuple[float, float, float], ...]


def _check_rotation(bone: str, which: str, value: ArrayLike | None) -> Matrix | None:
    if value is None:
        return None
    matrix = require_shape(f"{which} of bone {bone!r}", value, 3, 3)
    if not is_rotation(matrix):
        raise ModelError(
            f"{which} of bone {bone!r} is not a rotation matrix (orthonormal, determinant +1)"
        )
    if np.array_equal(matrix, np.eye(3)):
        return None
    # Files round their rotations; derivatives would be inexact by as much.
    return tuple((x, y, z) for x, y, z in nearest_rotation(matrix).tolist())


@dataclass(frozen=True, init=False)
class Bone:
    """One rigid body of a skeleton.

    The bone's frame follows from its parent's (docs/maths.md §2):

        p_bone = p_parent + R_parent (offset + pre · shift(q))
        R_bone = R_parent · pre · rotation(q) · post

    Attributes:
        name: unique in its skeleton.
        parent: name of the parent bone; None for a root.
        offset: joint centre in the parent's frame [m], shape (3,).
        pre: constant rotation before the joint, (3, 3), None for the identity.
        joint: what moves.
        post: constant rotation after the joint, (3, 3), None for the identity.
        joint_name: of the joint in the file that the bone is from; empty if it has none.
        is_body: whether a simulator has a body for it; not for a bone that only carries one of
            several joints of a body, nor for a link that is fixed to another.

    Bones are equal if they move alike, whatever files call their joints.
    """

    name: str
    parent: str | None
    offset: tuple[float, float, float]
    pre: Matrix | None = field(repr=False)
    joint: Joint
    post: Matrix | None = field(repr=False)
    joint_name: str = field(default="", repr=False, compare=False)
    is_body: bool = field(default=True, repr=False, compare=False)

    def __init__(
        self,
        name: str,
        *,
        parent: str | None = None,
        offset: ArrayLike = (0.0, 0.0, 0.0),
        pre: ArrayLike | None = None,
        joint: Joint | None = None,
        post: ArrayLike | None = None,
        joint_name: str = "",
        is_body: bool = True,
    ):
        """Describe a bone; see the class for units and frames. Without a joint it is rigid."""
        if not isinstance(name, str) or name == "":
            raise ModelError(f"a bone's name must be a non-empty string, not {name!r}")
        if parent is not None and not isinstance(parent, str):
            raise ModelError(
                f"parent of bone {name!r} must be the name of a bone, not a {type(parent).__name__}"
            )
        if joint is None:
            joint = Joint.fixed()
        if not isinstance(joint, Joint):
            raise ModelError(f"joint of bone {name!r} must be a Joint, not {type(joint).__name__}")
        x, y, z = require_shape(f"offset of bone {name!r}", offset, 3).tolist()
        values = {
            "name": name,
            "parent": parent,
            "offset": (x, y, z),
            "pre": _check_rotation(name, "pre", pre),
            "joint": joint,
            "post": _check_rotation(name, "post", post),
            "joint_name": joint_name,
            "is_body": is_body,
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)

    @property
    def constant_rotations(self) -> tuple[Array, Array]:
        """The rotations before and after the joint, (3, 3) each."""
        pre, post = (np.eye(3) if R is None else np.array(R) for R in (self.pre, self.post))
        return pre, post
