"""Body meshes of the built-in figures: made here, stored in the package.

    python tools/body_meshes.py

A body is the surface of a smooth union of tapered capsules, each on a bone, in the neutral pose.
It is found by surface nets and drawn to the union by Newton steps. A vertex follows the bones
whose capsules are nearest to it, of those that are near each other in the tree.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

import exactik as ik
from exactik.typing import Array, IntArray

FOLDER = Path(ik.__file__).parent / "model" / "figures" / "bodies"

Point = tuple[float, float, float]
BLEND = 0.025  # [m] over which two capsules flow into each other, unless they say otherwise
MAX_TREE_STEPS = 2  # between bones that a vertex may follow together
SMOOTHING_STEPS = 6
STEPS_PER_UNIT = 32767.0  # coordinates are stored as 16-bit parts of the largest one


class Capsule(NamedTuple):
    """A tapered capsule on a bone.

    Attributes:
        bone: its name.
        a: one end in the bone's frame [m].
        ra: radius there [m].
        b: the other end [m].
        rb: radius there [m].
        squash: factors by which it is stretched along the bone's axes.
        blend: [m] over which it flows into others.
    """

    bone: str
    a: Point
    ra: float
    b: Point
    rb: float
    squash: Point = (1.0, 1.0, 1.0)
    blend: float = BLEND


def mirrored(capsules: Iterable[Capsule]) -> list[Capsule]:
    """Those of the left and of the middle, and their mirror images in y = 0."""
    out = []
    for capsule in capsules:
        out.append(capsule)
        if capsule.bone.startswith("l_") or capsule.a[1] != 0.0 or capsule.b[1] != 0.0:
            bone = f"r_{capsule.bone[2:]}" if capsule.bone.startswith("l_") else capsule.bone
            (ax, ay, az), (bx, by, bz) = capsule.a, capsule.b
            out.append(capsule._replace(bone=bone, a=(ax, -ay, az), b=(bx, -by, bz)))
    return out


FINGERS = ((0.029, 0.064), (0.0095, 0.073), (-0.0100, 0.068), (-0.0285, 0.052))

HUMAN = mirrored(
    [
        Capsule("pelvis", (-0.018, 0.072, 0.015), 0.092, (-0.018, 0.02, 0.03), 0.1),
        Capsule("pelvis", (-0.065, 0.068, -0.025), 0.08, (-0.05, 0.06, 0.03), 0.07),
        Capsule("pelvis", (0.0, 0.0, 0.05), 0.125, (0.0, 0.0, 0.1), 0.128, (0.74, 1.0, 1.0)),
        Capsule("lower_back", (0.03, 0.0, 0.03), 0.126, (0.03, 0.0, 0.2), 0.138, (0.72, 1.0, 1.0)),
        Capsule(
            "upper_back", (0.024, 0.0, -0.03), 0.142, (0.02, 0.0, 0.08), 0.152, (0.74, 1.0, 1.0)
        ),
        Capsule(
            "upper_back", (0.07, 0.05, 0.05), 0.06, (0.062, 0.1, 0.085), 0.05, (0.62, 1, 0.9), 0.06
        ),
        Capsule("upper_back", (-0.03, 0.06, 0.05), 0.052, (-0.026, 0.1, 0.09), 0.05, blend=0.06),
        Capsule("thorax", (0.025, 0.0, 0.0), 0.115, (0.015, 0.0, 0.045), 0.09, (0.85, 1.2, 0.8)),
        Capsule("thorax", (0.0, 0.02, 0.1), 0.045, (0.02, 0.125, 0.055), 0.045),
        Capsule("lower_neck", (0.008, 0.0, -0.03), 0.06, (0.024, 0.0, 0.055), 0.054),
        Capsule("upper_neck", (0.004, 0.0, 0.0), 0.054, (0.01, 0.0, 0.026), 0.054),
        Capsule("l_thigh", (-0.004, 0.006, -0.03), 0.086, (0.0, 0.0, -0.41), 0.052, blend=0.016),
        Capsule("l_thigh", (0.018, 0.008, -0.1), 0.07, (0.014, 0.004, -0.27), 0.06, blend=0.016),
        Capsule("l_shin", (0.004, 0.0, 0.0), 0.051, (0.0, 0.0, -0.4), 0.034, blend=0.016),
        Capsule("l_shin", (-0.024, 0.004, -0.09), 0.047, (-0.014, 0.002, -0.21), 0.038),
        Capsule("l_foot", (-0.006, 0.0, 0.0), 0.037, (-0.048, 0.0, -0.036), 0.031, blend=0.02),
        Capsule("l_foot", (0.004, 0.0, -0.012), 0.037, (0.112, 0.004, -0.04), 0.026, (1, 1.25, 1)),
        Capsule(
            "l_toes", (-0.016, 0.002, 0.002), 0.021, (0.05, -0.002, -0.002), 0.016, (1, 2.1, 1)
        ),
        Capsule("l_clavicle", (-0.01, 0.06, 0.0), 0.045, (-0.032, 0.16, -0.02), 0.056),
        Capsule("l_upper_arm", (0.0, 0.0, 0.0), 0.062, (0.0, 0.13, 0.0), 0.05),
        Capsule("l_upper_arm", (0.006, 0.1, 0.0), 0.049, (0.0, 0.325, 0.0), 0.038),
        Capsule("l_forearm", (0.0, -0.005, 0.0), 0.041, (0.0, 0.19, 0.0), 0.03),
        Capsule("l_forearm", (0.004, 0.045, 0.0), 0.044, (0.002, 0.11, 0.0), 0.037),
        Capsule("l_wrist", (0.0, 0.0, 0.0), 0.031, (0.0, 0.07, 0.0), 0.026, (1.08, 1.0, 0.86)),
    ]
)
HUMAN_HEAD = mirrored(
    [
        Capsule("upper_neck", (0.009, 0.0, 0.024), 0.0546, (0.02, 0.0, 0.075), 0.0546),
        Capsule(
            "head", (-0.014, 0.0, 0.06), 0.087, (0.01, 0.0, 0.058), 0.083, (1.06, 0.87, 1.0), 0.02
        ),
        Capsule("head", (0.042, 0.0, 0.03), 0.052, (0.05, 0.0, -0.028), 0.043, blend=0.03),
        Capsule("head", (0.0, 0.052, -0.01), 0.018, (0.064, 0.016, -0.054), 0.019, blend=0.03),
        Capsule("head", (0.03, 0.044, -0.008), 0.026, (0.062, 0.03, -0.028), 0.021, blend=0.03),
        Capsule("head", (0.076, 0.006, -0.056), 0.018, (0.078, 0.0, -0.056), 0.018, blend=0.016),
        Capsule("head", (0.084, 0.014, 0.044), 0.012, (0.066, 0.046, 0.04), 0.011, blend=0.016),
        Capsule("head", (0.072, 0.036, 0.0), 0.015, (0.04, 0.056, 0.01), 0.014, blend=0.026),
        Capsule("head", (0.092, 0.0, 0.034), 0.007, (0.116, 0.0, 0.003), 0.0105, blend=0.01),
        Capsule("head", (0.103, 0.0105, -0.001), 0.0075, (0.108, 0.006, 0.0), 0.0075, blend=0.006),
        Capsule("head", (0.095, 0.0, -0.027), 0.0065, (0.084, 0.02, -0.03), 0.004, blend=0.01),
        Capsule("head", (0.093, 0.0, -0.038), 0.0075, (0.083, 0.018, -0.037), 0.004, blend=0.01),
        Capsule(
            "head",
            (-0.002, 0.075, 0.034),
            0.021,
            (0.002, 0.073, 0.01),
            0.015,
            (1, 0.42, 1.2),
            0.007,
        ),
    ]
)
HUMAN_HANDS = mirrored(
    [
        Capsule(
            "l_wrist", (0.0, 0.03, 0.0), 0.027, (0.0, 0.063, 0.0), 0.026, (1.08, 1, 0.84), 0.012
        ),
        Capsule(
            "l_hand", (0.0, 0.0, 0.0), 0.027, (0.012, 0.085, 0.0), 0.026, (1.05, 1, 0.5), 0.014
        ),
        Capsule(
            "l_hand", (0.0, 0.0, 0.0), 0.026, (-0.016, 0.08, 0.0), 0.024, (1.05, 1, 0.5), 0.014
        ),
        Capsule("l_hand", (0.012, 0.012, -0.006), 0.018, (0.05, 0.06, -0.012), 0.0125, blend=0.014),
        Capsule("l_hand", (0.05, 0.06, -0.012), 0.0115, (0.064, 0.1, -0.014), 0.0085, blend=0.006),
        *(
            Capsule(
                "l_fingers", (x, -0.014, 0.0), 0.0108, (1.08 * x, y, -0.004), 0.0078, blend=0.006
            )
            for x, y in FINGERS
        ),
    ]
)
DOG = mirrored(
    [
        Capsule("chest", (0.0, 0.0, -0.012), 0.108, (0.19, 0.0, -0.035), 0.118, (1.0, 0.78, 1.05)),
        Capsule("chest", (0.2, 0.0, -0.02), 0.095, (0.27, 0.0, -0.02), 0.075, (1.0, 0.85, 1.0)),
        Capsule("loin", (0.0, 0.0, 0.0), 0.08, (0.2, 0.0, -0.005), 0.1, (1.0, 0.85, 1.0)),
        Capsule("pelvis", (0.07, 0.0, 0.02), 0.082, (-0.04, 0.0, 0.005), 0.072, (1.0, 0.9, 1.0)),
        Capsule("neck", (-0.03, 0.0, -0.005), 0.078, (0.09, 0.0, 0.08), 0.058),
        Capsule("upper_neck", (0.0, 0.0, 0.0), 0.058, (0.08, 0.0, 0.08), 0.05),
        Capsule("head", (0.0, 0.0, 0.005), 0.055, (0.035, 0.0, 0.004), 0.05, (1.0, 0.95, 0.95)),
        Capsule("head", (0.05, 0.0, -0.012), 0.036, (0.15, 0.0, -0.03), 0.023, (1.0, 0.85, 1.0)),
        Capsule("head", (0.166, 0.0, -0.02), 0.012, (0.168, 0.0, -0.02), 0.012, blend=0.006),
        Capsule(
            "head", (-0.012, 0.03, 0.04), 0.02, (-0.03, 0.05, 0.095), 0.011, (1.0, 0.7, 1.0), 0.01
        ),
        Capsule("tail", (0.01, 0.0, 0.0), 0.026, (-0.1, 0.0, -0.05), 0.019),
        Capsule("mid_tail", (0.0, 0.0, 0.0), 0.019, (-0.1, 0.0, -0.06), 0.014),
        Capsule("end_tail", (0.0, 0.0, 0.0), 0.014, (-0.095, 0.0, -0.045), 0.007),
        Capsule("l_thigh", (0.0, -0.01, 0.0), 0.08, (0.055, 0.0, -0.19), 0.045, (1.0, 0.68, 1.0)),
        Capsule("l_shank", (0.0, 0.0, 0.0), 0.042, (-0.12, 0.0, -0.16), 0.021, (1.0, 0.8, 1.0)),
        Capsule("l_hock", (0.0, 0.0, 0.0), 0.022, (0.03, 0.0, -0.13), 0.017, blend=0.015),
        Capsule("l_hind_paw", (0.0, 0.0, -0.004), 0.022, (0.05, 0.0, -0.012), 0.018, (1, 1.2, 1)),
        Capsule("l_blade", (0.0, -0.005, 0.0), 0.052, (0.1, 0.02, -0.17), 0.05, (1.0, 0.62, 1.0)),
        Capsule("l_upper_arm", (0.0, -0.005, 0.0), 0.05, (-0.09, 0.0, -0.15), 0.036, (1, 0.75, 1)),
        Capsule("l_forearm", (0.0, 0.0, 0.0), 0.034, (0.01, 0.0, -0.27), 0.018, blend=0.015),
        Capsule("l_fore_paw", (0.0, 0.0, -0.006), 0.022, (0.042, 0.0, -0.016), 0.019, (1, 1.2, 1)),
    ]
)
KNUCKLES = {
    "index": (0.0, 0.026, 0.092),
    "middle": (0.0, 0.004, 0.094),
    "ring": (0.0, -0.017, 0.089),
    "little": (-0.003, -0.036, 0.081),
}
LENGTHS = {
    "thumb": (0.045, 0.034, 0.027),
    "index": (0.042, 0.025, 0.021),
    "middle": (0.046, 0.029, 0.022),
    "ring": (0.043, 0.028, 0.022),
    "little": (0.034, 0.020, 0.020),
}
RADII = {
    "thumb": (0.0135, 0.0112, 0.0100, 0.0078),
    "index": (0.0098, 0.0090, 0.0080, 0.0066),
    "middle": (0.0100, 0.0092, 0.0082, 0.0068),
    "ring": (0.0096, 0.0087, 0.0078, 0.0065),
    "little": (0.0086, 0.0076, 0.0068, 0.0058),
}
HAND = [
    Capsule("palm", (0.0, 0.0, -0.03), 0.025, (0.0, 0.0, 0.012), 0.026, (0.78, 1.06, 1.0), 0.012),
    Capsule("palm", (0.006, 0.012, 0.02), 0.019, (0.013, 0.044, 0.042), 0.0145, blend=0.012),
    Capsule("palm", (0.004, -0.014, 0.018), 0.017, (0.002, -0.03, 0.06), 0.013, blend=0.012),
    *(
        Capsule("palm", (0.0, 0.45 * y, 0.012), 0.0165, (x + 0.001, y, z), 0.0118, blend=0.012)
        for x, y, z in KNUCKLES.values()
    ),
    *(
        Capsule(
            f"{finger}_{k + 1}",
            (0.0, 0.0, 0.0),
            RADII[finger][k],
            (0.0, 0.0, length - (0.005 if k == 2 else 0.0)),
            RADII[finger][k + 1],
            blend=0.0035,
        )
        for finger, lengths in LENGTHS.items()
        for k, length in enumerate(lengths)
    ),
]
# Figure → its surfaces: capsules, and the distance of two points of the grid [m].
BODIES: dict[str, tuple[ik.Skeleton, list[tuple[list[Capsule], float]], Point]] = {
    "human": (
        ik.human(),
        [(HUMAN, 0.019), (HUMAN_HEAD, 0.0098), (HUMAN_HANDS, 0.0072)],
        (0.72, 0.67, 0.63),
    ),
    "quadruped": (ik.quadruped(), [(DOG, 0.0145)], (0.68, 0.55, 0.42)),
    "hand": (ik.hand(), [(HAND, 0.0042)], (0.86, 0.72, 0.63)),
}


class Body:
    """The union of capsules of a figure in its neutral pose."""

    def __init__(self, skeleton: ik.Skeleton, capsules: list[Capsule]):
        self.skeleton, self.capsules = skeleton, capsules
        self.pose = skeleton.forward(skeleton.neutral())

    def measure(self, capsule: Capsule, points: Array) -> Array:
        """Distances [m] of points [m, world] from a capsule, negative inside, (n,)."""
        k = self.skeleton.bone_index(capsule.bone)
        squash = np.array(capsule.squash)
        x = (points - self.pose.positions[k]) @ self.pose.rotations[k] / squash
        a, b = np.array(capsule.a) / squash, np.array(capsule.b) / squash
        along, length = b - a, float(np.linalg.norm(b - a))
        if length < 1e-9:
            distance = np.linalg.norm(x - a, axis=1) - capsule.ra
        else:
            # A cone that touches both spheres, so that the surface has no edge where they meet.
            slope = np.clip((capsule.ra - capsule.rb) / length, -0.99, 0.99)
            t = (x - a) @ along / length
            r = np.linalg.norm(x - a - t[:, None] * along / length, axis=1)
            t = np.clip((t + slope / np.sqrt(1.0 - slope**2) * r) / length, 0.0, 1.0)
            nearest = a + t[:, None] * along
            radius = capsule.ra + t * (capsule.rb - capsule.ra)
            distance = np.linalg.norm(x - nearest, axis=1) - radius
        return distance * squash.min()

    def field(self, points: Array) -> Array:
        """The smooth union: negative inside, (n,)."""
        out = np.full(len(points), 1.0)
        for capsule in self.capsules:
            distance = self.measure(capsule, points)
            k = capsule.blend
            share = np.clip(0.5 + 0.5 * (out - distance) / k, 0.0, 1.0)
            out = out + share * (distance - out) - k * share * (1.0 - share)
        return out

    def gradient(self, points: Array, step: float = 1e-4) -> Array:
        """Its gradient by central differences, (n, 3)."""
        columns = []
        for axis in step * np.eye(3):
            columns.append((self.field(points + axis) - self.field(points - axis)) / (2.0 * step))
        return np.stack(columns, axis=1)

    def make_surface(self, spacing: float) -> tuple[Array, IntArray]:
        """Vertices [m, world], (n, 3), and triangles, (m, 3)."""
        ends = np.array(
            [
                self.pose.point(c.bone, end) + sign * 1.4 * max(c.squash) * radius
                for c in self.capsules
                for end, radius in ((c.a, c.ra), (c.b, c.rb))
                for sign in (-1.0, 1.0)
            ]
        )
        low, high = ends.min(axis=0) - 2.0 * spacing, ends.max(axis=0) + 2.0 * spacing
        # The middle plane of a figure is between two points, so that both sides are alike.
        shape = 2 * np.ceil(0.5 * (high - low) / spacing).astype(int)
        low = 0.5 * (low + high) - 0.5 * spacing * (shape - 1)
        axes = [low[k] + spacing * np.arange(shape[k]) for k in range(3)]
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        values = np.stack(
            [self.field(slab.reshape(-1, 3)).reshape(slab.shape[:2]) for slab in grid]
        )
        vertices, faces = find_surface(values, low, spacing)
        for step in range(SMOOTHING_STEPS + 3):
            if step < SMOOTHING_STEPS:  # evenly spaced vertices have even normals
                vertices = average_neighbours(vertices, faces)
            slope = self.gradient(vertices)
            steepness = np.maximum((slope**2).sum(axis=1, keepdims=True), 0.2)
            vertices = vertices - self.field(vertices)[:, None] * slope / steepness
        return vertices, faces

    def weigh(self, vertices: Array, spacing: float) -> tuple[IntArray, Array]:
        """The four bones of each vertex and their weights, (n, 4) each."""
        names = self.skeleton.bone_names
        distances = np.full((len(names), len(vertices)), np.inf)
        for capsule in self.capsules:
            k = self.skeleton.bone_index(capsule.bone)
            distances[k] = np.minimum(distances[k], self.measure(capsule, vertices))
        sizes = [max(c.ra, c.rb) for c in self.capsules]
        softness = max(0.16 * float(np.median(sizes)), 0.3 * spacing)
        weights = np.exp(-(distances - distances.min(axis=0)) / softness)
        near = count_steps(self.skeleton) <= MAX_TREE_STEPS
        weights *= near[np.argmin(distances, axis=0)].T
        strongest = np.argsort(-weights, axis=0, kind="stable")[:4].T
        chosen = np.take_along_axis(weights.T, strongest, axis=1)
        chosen = np.where(chosen > 0.02, chosen, 0.0)
        return strongest, chosen / chosen.sum(axis=1, keepdims=True)


def average_neighbours(vertices: Array, faces: IntArray) -> Array:
    """Every vertex half-way to the mean of its neighbours."""
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    count = np.bincount(edges[:, 0], minlength=len(vertices))
    mean = np.stack(
        [np.bincount(edges[:, 0], vertices[edges[:, 1], k], len(vertices)) for k in range(3)],
        axis=1,
    )
    return 0.5 * (vertices + mean / np.maximum(count, 1)[:, None])


def count_steps(skeleton: ik.Skeleton) -> Array:
    """Steps up or down the tree between bones; infinite for those that are beside each other."""
    n = len(skeleton.bones)
    steps = np.full((n, n), np.inf)
    for k in range(n):
        above, count = k, 0
        while above >= 0:
            steps[k, above] = steps[above, k] = count
            above, count = int(skeleton.parents[above]), count + 1
    return steps


def find_surface(values: Array, low: Array, spacing: float) -> tuple[Array, IntArray]:
    """Surface nets: a vertex in every cell through which the surface goes, a quad for each edge."""
    inside = values < 0.0
    nx, ny, nz = values.shape
    total = np.zeros((nx - 1, ny - 1, nz - 1, 3))
    count = np.zeros((nx - 1, ny - 1, nz - 1))
    corners = [np.array(c) for c in np.ndindex(2, 2, 2)]
    for p in corners:
        for axis in range(3):
            if p[axis] == 1:
                continue
            q = p + np.eye(3, dtype=int)[axis]
            a = values[p[0] : nx - 1 + p[0], p[1] : ny - 1 + p[1], p[2] : nz - 1 + p[2]]
            b = values[q[0] : nx - 1 + q[0], q[1] : ny - 1 + q[1], q[2] : nz - 1 + q[2]]
            crossed = (a < 0.0) != (b < 0.0)
            t = np.where(crossed, a / np.where(crossed, a - b, 1.0), 0.0)
            place = p + t[..., None] * np.eye(3)[axis]
            total += np.where(crossed[..., None], place, 0.0)
            count += crossed
    cells = np.argwhere(count > 0)
    index = np.full(count.shape, -1)
    index[tuple(cells.T)] = np.arange(len(cells))
    chosen = tuple(cells.T)
    vertices = low + spacing * (cells + total[chosen] / count[chosen][:, None])
    quads = []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        first = [slice(None)] * 3
        second = [slice(None)] * 3
        first[axis], second[axis] = slice(0, -1), slice(1, None)
        a, b = inside[tuple(first)], inside[tuple(second)]
        edges = np.argwhere(a != b)
        room = np.array(values.shape)[[u, v]] - 1
        edges = edges[((edges[:, [u, v]] > 0) & (edges[:, [u, v]] < room)).all(axis=1)]
        around = []
        for du, dv in ((0, 0), (1, 0), (1, 1), (0, 1)):
            cell = edges.copy()
            cell[:, u] -= du
            cell[:, v] -= dv
            around.append(index[tuple(cell.T)])
        quad = np.stack(around, axis=1)
        outwards = a[tuple(edges.T)]
        quads.append(np.where(outwards[:, None], quad, quad[:, ::-1]))
    quad = np.concatenate(quads)
    diagonal = np.linalg.norm(vertices[quad[:, 0]] - vertices[quad[:, 2]], axis=1)
    other = np.linalg.norm(vertices[quad[:, 1]] - vertices[quad[:, 3]], axis=1)
    turned = np.where((diagonal <= other)[:, None], quad, quad[:, [1, 2, 3, 0]])
    return vertices, np.concatenate([turned[:, [0, 1, 2]], turned[:, [0, 2, 3]]])


def main() -> None:
    """Make all bodies."""
    FOLDER.mkdir(exist_ok=True)
    for name, (skeleton, surfaces, colour) in BODIES.items():
        parts = []
        for capsules, spacing in surfaces:
            body = Body(skeleton, capsules)
            vertices, faces = body.make_surface(spacing)
            parts.append((vertices, faces, *body.weigh(vertices, spacing)))
        firsts = np.cumsum([0, *(len(part[0]) for part in parts)])
        vertices = np.concatenate([part[0] for part in parts])
        faces = np.concatenate(
            [part[1] + first for part, first in zip(parts, firsts, strict=False)]
        )
        pose = skeleton.forward(skeleton.neutral())
        T_bone_mesh = np.tile(np.eye(4), (len(skeleton.bones), 1, 1))
        T_bone_mesh[:, :3, :3] = np.swapaxes(pose.rotations, 1, 2)
        T_bone_mesh[:, :3, 3] = -np.einsum("nji,nj->ni", pose.rotations, pose.positions)
        scale = float(np.abs(vertices).max()) / STEPS_PER_UNIT
        path = FOLDER / f"{name}.npz"
        np.savez_compressed(
            path,
            scale=scale,
            vertices=np.rint(vertices / scale).astype(np.int16),
            faces=faces.astype(np.uint16),
            bones=np.array(skeleton.bone_names),
            T_bone_mesh=T_bone_mesh.astype(np.float32),
            joints=np.concatenate([part[2] for part in parts]).astype(np.uint8),
            weights=np.rint(255.0 * np.concatenate([part[3] for part in parts])).astype(np.uint8),
            colour=np.array(colour),
        )
        print(f"{path}: {len(vertices)} vertices, {len(faces)} faces, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
