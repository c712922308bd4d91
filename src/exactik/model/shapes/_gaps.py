"""How far shapes are apart."""

from __future__ import annotations

import numpy as np

from exactik.typing import Array


def find_segment_distances(a: Array, b: Array) -> Array:
    """Return the distances of segments given by their ends, (n, 2, 3) each [m], (n,)."""
    u, v, w = a[:, 1] - a[:, 0], b[:, 1] - b[:, 0], b[:, 0] - a[:, 0]
    uu, vv, uv = _dot(u, u), _dot(v, v), _dot(u, v)
    uw, vw = _dot(u, w), _dot(v, w)
    det = uu * vv - uv * uv
    with np.errstate(divide="ignore", invalid="ignore"):
        s, t = (uw * vv - uv * vw) / det, (uv * uw - uu * vw) / det
        places = [(np.clip(np.nan_to_num(s), 0.0, 1.0), np.clip(np.nan_to_num(t), 0.0, 1.0))]
        for end in (np.zeros(len(u)), np.ones(len(u))):
            places.append((end, np.clip(np.nan_to_num((end * uv - vw) / vv), 0.0, 1.0)))
            places.append((np.clip(np.nan_to_num((end * uv + uw) / uu), 0.0, 1.0), end))
    gaps = [np.linalg.norm(w + t[:, None] * v - s[:, None] * u, axis=1) for s, t in places]
    return np.min(gaps, axis=0)


def _dot(a: Array, b: Array) -> Array:
    return np.einsum("ni,ni->n", a, b)
