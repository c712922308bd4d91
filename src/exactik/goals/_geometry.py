"""Checks of directions and rotations, of one goal or of a batch of targets; a distance."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import require_shape
from exactik.errors import GoalError
from exactik.spatial import is_rotation, nearest_rotation
from exactik.typing import Array, BoolArray

# Half of the 1e-14 that `nearest_rotation` leaves alone: rounding, some 1e-16, cannot bridge the
# rest, so that one matrix and a batch of them are treated alike. Smaller would only be slower.
PLAIN_ROTATION_ERROR = 5e-15
NO_ROTATION = "not a rotation matrix (orthonormal, determinant +1)"


def require_direction(what: str, value: ArrayLike) -> Array:
    """Return the unit vector along `value`, (3,)."""
    vector = require_shape(what, value, 3)
    length = np.linalg.norm(vector)
    if length < 1e-12:
        raise GoalError(f"{what} is the zero vector; a direction is needed")
    return vector / length


def require_rotation(what: str, value: ArrayLike) -> Array:
    """Return `value`, (3, 3), as a rotation matrix to the last digit."""
    matrix = require_shape(what, value, 3, 3)
    if not is_rotation(matrix):
        raise GoalError(f"{what} is {NO_ROTATION}")
    return nearest_rotation(matrix)


def require_rotations(what: str, matrices: Array) -> Array:
    """Return a batch, (B, 3, 3), as rotation matrices to the last digit."""
    if len(matrices) == 1 and _is_plainly_rotation(matrices[0]):
        return matrices
    if not is_rotation(matrices):
        refuse_any(np.array([not is_rotation(matrix) for matrix in matrices]), what, NO_ROTATION)
    return nearest_rotation(matrices)


def _is_plainly_rotation(matrix: Array) -> bool:
    """Return whether a matrix, (3, 3), is certainly one that `nearest_rotation` leaves as it is.

    In plain numbers, a fifth of the time that arrays take: `with_targets` in a control loop.
    """
    (a, b, c), (d, e, f), (g, h, i) = matrix.tolist()
    error = max(
        abs(a * a + b * b + c * c - 1.0),
        abs(d * d + e * e + f * f - 1.0),
        abs(g * g + h * h + i * i - 1.0),
        abs(a * d + b * e + c * f),
        abs(a * g + b * h + c * i),
        abs(d * g + e * h + f * i),
    )
    determinant = a * (e * i - f * h) + b * (f * g - d * i) + c * (d * h - e * g)
    return error <= PLAIN_ROTATION_ERROR and determinant > 0.0


def refuse_any(wrong: BoolArray, what: str, fault: str) -> None:
    """Raise, naming the first problem of a batch whose target is wrong, (B,)."""
    if wrong.any():
        where = f" (problem {int(np.argmax(wrong))} of the batch)" if len(wrong) > 1 else ""
        raise GoalError(f"{what}{where} is {fault}")


def distance_beyond(place: ArrayLike, centre: Array, radius: float) -> float:
    """Return how far [m] a place (3,) is outside a ball, 0 inside."""
    away = float(np.linalg.norm(np.asarray(place, float) - centre))
    return max(0.0, away - radius)


def spread_turn_gradients(rotations: Array, by_turn: Array) -> Array:
    """Return gradients by the entries of rotations, (B, 3, 3), from those by a turn, (B, 3).

    G = ½ [γ] R, for which ⟨G, [φ] R⟩ = γ·φ for every turn φ; other changes leave the rotations.
    """
    return 0.5 * np.swapaxes(np.cross(by_turn[:, None], np.swapaxes(rotations, 1, 2)), 1, 2)
