"""Small files of the SMPL family's layouts, and an oracle that shares no code with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

_BODY = [-1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 12, 13, 14, 16, 17, 18, 19]


def _hang_fingers(wrist: int, first: int) -> list[int]:
    """Five fingers of three joints each, whose first is joint `first`."""
    return [p for k in range(first, first + 15, 3) for p in (wrist, k, k + 1)]


PARENTS = {
    22: _BODY,
    24: [*_BODY, 20, 21],
    52: [*_BODY, *_hang_fingers(20, 22), *_hang_fingers(21, 37)],
    55: [*_BODY, 15, 15, 15, *_hang_fingers(20, 25), *_hang_fingers(21, 40)],
}
"""The parents of the published models, `kintree_table[0]`."""


def make_model(count: int, rng: np.random.Generator, vertices: int = 200) -> dict[str, Any]:
    """Return arrays as a model file has them: random surfaces, regressors and weights."""
    regressor = rng.random((count, vertices)) ** 4
    weights = rng.random((vertices, count)) ** 6
    weights[np.argsort(-weights, axis=1) >= 4] = 0.0
    order = np.argsort(-weights, axis=1)
    np.put_along_axis(weights, order[:, 4:], 0.0, axis=1)
    parents = np.array(PARENTS[count]) % (1 << 32)
    return {
        "v_template": rng.normal(size=(vertices, 3)),
        "shapedirs": 0.1 * rng.normal(size=(vertices, 3, 12)),
        "J_regressor": regressor / regressor.sum(axis=1, keepdims=True),
        "kintree_table": np.stack([parents, np.arange(count)]).astype(np.uint32),
        "weights": weights / weights.sum(axis=1, keepdims=True),
        "f": rng.integers(0, vertices, size=(300, 3)).astype(np.uint32),
        "posedirs": np.zeros((vertices, 3, 9 * (count - 1))),
        "hands_meanl": np.array(["not", None], dtype=object),  # never opened
    }


def save(path: Path, arrays: dict[str, Any]) -> Path:
    np.savez(path, **arrays)
    return path


def judge(
    model: dict[str, Any], betas: np.ndarray, pose: np.ndarray, trans: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return joints and vertices of one frame, as the papers define them: Loper et al. 2015, §3."""
    shaped = model["v_template"] + model["shapedirs"][:, :, : len(betas)] @ betas
    joints, parents = model["J_regressor"] @ shaped, model["kintree_table"][0].astype(np.int64)
    count = len(joints)
    maps = np.zeros((count, 4, 4))
    for k in range(count):
        local = np.eye(4)
        local[:3, :3] = rodrigues(pose[3 * k : 3 * k + 3])
        local[:3, 3] = joints[k] - (joints[parents[k]] if k > 0 else 0.0)
        maps[k] = local if k == 0 else maps[parents[k]] @ local
    rest = np.concatenate([joints, np.zeros((count, 1))], axis=1)
    skinning = maps.copy()
    skinning[:, :, 3] -= np.einsum("kij,kj->ki", maps, rest)
    blended = np.einsum("vk,kij->vij", model["weights"], skinning)
    whole = np.concatenate([shaped, np.ones((len(shaped), 1))], axis=1)
    return maps[:, :3, 3] + trans, np.einsum("vij,vj->vi", blended, whole)[:, :3] + trans


def rodrigues(vector: np.ndarray) -> np.ndarray:
    angle = float(np.linalg.norm(vector))
    if angle == 0.0:
        return np.eye(3)
    x, y, z = vector / angle
    k = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * k + (1.0 - np.cos(angle)) * k @ k
