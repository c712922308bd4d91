"""Gradients through forward kinematics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import contiguous_copy, require_shape
from exactik.kernels.calculus.backpropagation import backpropagate_frames
from exactik.kernels.calculus.workspace import new_workspace
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.model._skeleton import Skeleton


def backpropagate_poses(
    skeleton: Skeleton, q: ArrayLike, by_position: ArrayLike, by_rotation: ArrayLike
) -> Array:
    """See `Skeleton.backpropagate`."""
    unit, n = skeleton.normalised(q), len(skeleton.bones)
    first = contiguous_copy(require_shape("by_position", by_position, len(unit), n, 3))
    second = contiguous_copy(require_shape("by_rotation", by_rotation, len(unit), n, 3, 3))
    by_dof, work = np.zeros((len(unit), skeleton.nv)), new_workspace(skeleton.tree)
    backpropagate_frames(skeleton.tree, np.ones(skeleton.nv), unit, first, second, by_dof, work)
    return skeleton.coordinate_gradient(q, by_dof)
