"""Rigid groups of markers, and which of them are things that no body has.

Markers of one bone keep their distances while everything else bends; so do those of a wheelchair or
a racket. A bone is joined to others: the markers of the next bone move on spheres about the joint,
seen from the bone. A thing is not: nothing keeps a distance from any point of it. What is joined by
chance, as a seat is to the pelvis, is told by its name alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.anatomy.marker_sets import is_object_name
from exactik.model.motion import Markers, choose_even_frames
from exactik.spatial import fit_rigid_transforms
from exactik.typing import Array, IntArray

MIN_CLUSTER = 3  # markers that define a rigid body's place and direction
MAX_RIGID_SD = 0.004
"""[m] standard deviation of a distance that stays: plates and things keep theirs within 1 mm, skin
on one bone moves by some millimetres, neighbouring bones by centimetres."""
MAX_THING_SD = 0.0015
"""[m] median standard deviation inside a thing: of wood or metal, it spreads by what cameras do."""
MIN_BENDING = 0.012
"""[m] standard deviation that the median distance between all markers must have: in a recording
that hardly moves everything is rigid, and nothing can be told."""
MIN_SEEN_TOGETHER = 10  # frames; the spread of fewer distances says little
MAX_STATIC_EXTENT = 0.02
"""[m] that markers which stand still may get about: cameras and floors tremble, a rolling-road
wheelchair rocks by a centimetre. A planted foot stays within it too; it is joined to its shank."""
MAX_JOINT_ERROR = 0.012
"""[m] rms from its sphere of a marker of the next bone: skin, and no joint is quite a ball."""
MAX_JOINT_RADIUS = 0.6  # [m] from a joint to a marker of the next bone: longer than any thigh
MAX_JOINT_DISTANCE = 0.5
"""[m] from the nearest marker of a cluster to its joint: any point at rest has far spheres on which
a swaying trunk moves."""
MIN_RELATIVE_MOTION = 0.03  # [m] extent below which a marker moves too little to show a sphere
MAX_FRAMES = 240  # looked at, evenly spread: statistics of distances settle long before


class RigidObject(NamedTuple):
    """A group of markers that is a thing and not part of a body."""

    names: tuple[str, ...]  # of its markers
    # "named" (its name says so), "static" (stands still while others move) or "unattached" (moves
    # as one and is joined to nothing)
    code: str
    # Median standard deviation of the distances inside it [m]; not a number for a single marker
    spread: float
    reason: str  # in words


def find_rigid_clusters(markers: Markers) -> list[tuple[str, ...]]:
    """Return groups of three or more markers whose distances stay, the largest first.

    Bones as well as things; each marker is in one group at most. In a recording that hardly moves
    there are none.
    """
    frames = choose_even_frames(len(markers), MAX_FRAMES)
    distances = measure_pair_distances(markers.positions[frames])
    return [tuple(markers.names[k] for k in cluster) for cluster in _find_clusters(distances)]


def find_rigid_objects(markers: Markers) -> list[RigidObject]:
    """Return the things that were recorded with a body: wheelchairs, rackets, corners of plates.

    Args:
        markers: the recording, of one subject or more.
    """
    frames = choose_even_frames(len(markers), MAX_FRAMES)
    positions = markers.positions[frames]
    distances = measure_pair_distances(positions)
    objects = _find_named_objects(markers, distances)
    taken = {name for thing in objects for name in thing.names}
    for cluster in _find_clusters(distances):
        names = tuple(markers.names[k] for k in cluster)
        if not taken.isdisjoint(names) or _median_spread(distances, cluster) > MAX_THING_SD:
            continue
        if not _is_joined(positions, cluster):
            objects.append(_describe(names, cluster, positions, distances))
    return objects


def _find_named_objects(markers: Markers, distances: _PairDistances) -> list[RigidObject]:
    groups: dict[str, list[int]] = {}
    for k, name in enumerate(markers.names):
        prefix, _, bare = name.rpartition(":")
        if is_object_name(prefix) or is_object_name(bare):
            groups.setdefault(prefix, []).append(k)
    objects = []
    for columns in groups.values():
        names = tuple(markers.names[k] for k in columns)
        spread = _median_spread(distances, columns)
        objects.append(RigidObject(names, "named", spread, "named after a thing"))
    return objects


def _find_clusters(distances: _PairDistances) -> list[list[int]]:
    """Return groups in which every distance stays (complete linkage), the largest first."""
    enough = distances.frames >= MIN_SEEN_TOGETHER
    sd = np.where(enough, distances.sd, np.inf)
    moving = sd[np.triu(enough, 1)]
    if len(moving) == 0 or np.median(moving) < MIN_BENDING:
        return []
    clusters = [[k] for k in range(len(sd)) if distances.frames[k, k] >= MIN_SEEN_TOGETHER]
    linkage = sd.copy()
    np.fill_diagonal(linkage, np.inf)
    members = {cluster[0]: cluster for cluster in clusters}
    while True:
        a, b = np.unravel_index(np.argmin(linkage), linkage.shape)
        if linkage[a, b] > MAX_RIGID_SD:
            break
        members[int(a)] = members[int(a)] + members.pop(int(b))
        linkage[a] = linkage[:, a] = np.maximum(linkage[a], linkage[b])
        linkage[b] = linkage[:, b] = np.inf
        linkage[a, a] = np.inf
    found = [sorted(cluster) for cluster in members.values() if len(cluster) >= MIN_CLUSTER]
    return sorted(found, key=lambda cluster: (-len(cluster), cluster))


def _is_joined(positions: Array, cluster: list[int]) -> bool:
    """Whether a marker outside a cluster keeps its distance from some point near it."""
    seen = np.isfinite(positions[:, cluster, 0]).sum(axis=1) >= MIN_CLUSTER
    frames = np.flatnonzero(seen)
    if len(frames) < MIN_SEEN_TOGETHER:
        return True  # nothing can be said against it
    local, shape = _to_cluster_frame(positions[frames], cluster)
    outside = [k for k in range(positions.shape[1]) if k not in cluster]
    for k in outside:
        path = local[:, k][np.isfinite(local[:, k, 0])]
        if len(path) < MIN_SEEN_TOGETHER:
            continue
        nearest = np.linalg.norm(path.mean(axis=0) - shape, axis=1).min()
        if nearest > MAX_JOINT_DISTANCE + MAX_JOINT_RADIUS:
            continue
        extent = float(np.linalg.norm(np.ptp(path, axis=0)))
        if extent < MIN_RELATIVE_MOTION:
            return True  # goes with it but for the skin
        center, radius, error = _fit_sphere(path)
        from_cluster = np.linalg.norm(shape - center, axis=1).min()
        is_joint = radius <= MAX_JOINT_RADIUS and from_cluster <= MAX_JOINT_DISTANCE
        # The sphere must explain what moves: a path as thin as the error fits any sphere.
        thickness = np.sqrt(np.linalg.eigvalsh(np.cov(path.T))[-2:].mean())
        if is_joint and error <= MAX_JOINT_ERROR and thickness > 1.5 * error:
            return True
    return False


def _to_cluster_frame(positions: Array, cluster: list[int]) -> tuple[Array, Array]:
    """Return positions seen from a cluster [m], (F, M, 3), and its own markers' places, (n, 3)."""
    best = int(np.argmax(np.isfinite(positions[:, cluster, 0]).sum(axis=1)))
    shape = positions[best, cluster]
    known = np.isfinite(shape[:, 0])
    there = np.isfinite(positions[:, cluster, 0]) & known
    target = np.where(there[..., None], positions[:, cluster], 0.0)
    source = np.broadcast_to(np.where(known[:, None], shape, 0.0), target.shape)
    fit = fit_rigid_transforms(source, target, there.astype(float))
    centered = positions - fit.target_center[:, None]
    local = np.einsum("fji,fmj->fmi", fit.rotation, centered) + fit.source_center[:, None]
    return local, shape[known]


def _fit_sphere(path: Array) -> tuple[Array, float, float]:
    """Return centre, radius and rms distance of the sphere nearest to points, (n, 3) [m]."""
    middle = path.mean(axis=0)
    x = path - middle
    # |x|² = 2 x·c + (r² − c²), linear in c; directions without extent are left at the middle.
    A = np.column_stack([2.0 * x, np.ones(len(x))])
    solution = np.linalg.lstsq(A, (x**2).sum(axis=1), rcond=1e-4)[0]
    center = solution[:3]
    radius = float(np.sqrt(max(solution[3] + center @ center, 0.0)))
    error = np.linalg.norm(x - center, axis=1) - radius
    return center + middle, radius, float(np.sqrt((error**2).mean()))


def _describe(
    names: tuple[str, ...], cluster: list[int], positions: Array, distances: _PairDistances
) -> RigidObject:
    path = positions[:, cluster]
    extent = np.nanmax(np.nanmax(path, axis=0) - np.nanmin(path, axis=0))
    spread = _median_spread(distances, cluster)
    mm = f"{1e3 * spread:.1f} mm"
    if extent <= MAX_STATIC_EXTENT:
        code, words = "static", "stands still while others move"
    else:
        code, words = "unattached", "moves as one and is joined to nothing"
    return RigidObject(names, code, spread, f"{words}; distances inside it stay within {mm}")


def _median_spread(distances: _PairDistances, columns: list[int]) -> float:
    inside = distances.sd[np.ix_(columns, columns)][np.triu_indices(len(columns), 1)]
    inside = inside[np.isfinite(inside)]
    return float(np.median(inside)) if len(inside) > 0 else float("nan")


class _PairDistances(NamedTuple):
    """Distances of all pairs of M markers over time, (M, M) each; not a number where never seen."""

    mean: Array  # [m]
    sd: Array  # standard deviation over time [m]
    quantile: Array  # the asked one [m]
    frames: IntArray  # number in which both are seen


def measure_pair_distances(positions: Array, quantile: float = 0.5) -> _PairDistances:
    """Return the statistics of the distances of all pairs over time.

    Args:
        positions: [m], (T, M, 3); not a number where missing.
        quantile: that is wanted too.
    """
    count = positions.shape[1]
    mean, sd, quantiles = (np.full((count, count), np.nan) for _ in range(3))
    seen_together = np.zeros((count, count), dtype=np.int64)
    for k in range(count):  # a marker against all others: T × M numbers at a time
        distances = np.linalg.norm(positions - positions[:, k : k + 1], axis=2)
        both = np.isfinite(distances)
        seen_together[k] = both.sum(axis=0)
        there = seen_together[k] > 0
        mean[k, there] = np.nanmean(distances[:, there], axis=0)
        sd[k, there] = np.nanstd(distances[:, there], axis=0)
        whole = both.all(axis=0)  # the same numbers, found faster where nothing is missing
        quantiles[k, whole] = np.quantile(distances[:, whole], quantile, axis=0)
        gaps = there & ~whole
        quantiles[k, gaps] = np.nanquantile(distances[:, gaps], quantile, axis=0)
    return _PairDistances(mean=mean, sd=sd, quantile=quantiles, frames=seen_together)
