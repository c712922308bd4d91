"""Rigid transforms that take points as near to others as can be (Kabsch).

Of weighted points x and targets y, with the centres x̄ and ȳ, the rotation R that makes
Σ w |R (x − x̄) − (y − ȳ)|² least is U diag(1, 1, det U Vᵀ) Vᵀ of the singular value decomposition
U S Vᵀ = Σ w (y − ȳ)(x − x̄)ᵀ.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.typing import Array


class RigidTransforms(NamedTuple):
    """Transforms x ↦ rotation (x − source_center) + target_center, one for each of n point sets.

    Attributes:
        rotation: (n, 3, 3).
        source_center: of the points [m], (n, 3).
        target_center: of their targets [m], (n, 3).
        singular_values: of the covariance of points and targets, the largest first [m²], (n, 3);
            unless two of them are well above zero the rotation is arbitrary.
    """

    rotation: Array
    source_center: Array
    target_center: Array
    singular_values: Array


def fit_rigid_transforms(points: Array, targets: Array, weight: Array) -> RigidTransforms:
    """Return the transforms that take points, (n, M, 3), nearest to targets, (n, M, 3) [m].

    Args:
        points: finite, also where they have no weight.
        targets: likewise.
        weight: of each, (n, M).
    """
    share = weight / np.maximum(weight.sum(axis=1, keepdims=True), 1e-300)
    source_center, target_center = (
        np.einsum("nm,nmi->ni", share, positions) for positions in (points, targets)
    )
    source, target = points - source_center[:, None], targets - target_center[:, None]
    U, S, Vt = np.linalg.svd(np.einsum("nm,nmi,nmj->nij", share, target, source))
    U[:, :, 2] *= np.linalg.det(U @ Vt)[:, None]  # no mirror images
    return RigidTransforms(
        rotation=U @ Vt, source_center=source_center, target_center=target_center, singular_values=S
    )
