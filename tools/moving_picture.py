"""Draw docs/markers-to-motion.webp, the README's picture: recorded markers, bones, body, in motion.

    python tools/moving_picture.py [FOLDER]     # with FOLDER also some frames as PNG, to look at

The built-in human waves and kicks; 41 markers record it with noise, gaps and two names exchanged;
`track` solves what was recorded. Nothing in the middle and on the right comes from the truth.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
from numba import njit
from PIL import Image, ImageDraw, ImageFont

import exactik as ik
from exactik.lab.synthetic import SyntheticRecording, simulate_performance, simulate_recording
from exactik.model import Pose
from exactik.typing import Array

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont
TARGET = Path(__file__).parent.parent / "docs" / "markers-to-motion.webp"
ACTS, SECONDS, RATE = ("wave", "kick"), 6.6, 120.0  # one round: begins and ends at rest
FPS = 20
SIZE = (840, 400)  # pixels
SAMPLES = 2  # pixels drawn for each one shown, along each axis
PIXELS_PER_METRE = 178.0
ASIDE = 14.0  # pixels to the right of the middle: hand and foot go left
FLOOR = 358.0  # pixels from above
COLUMNS = (140.0, 420.0, 700.0)  # pixels from the left: middles of the three figures
CAPTIONS = ("41 markers, as recorded", "58 degrees of freedom", "the body that they show")
VIEW_DEG, TILT_DEG = 38.0, 9.0  # where the camera stands: from the front to the left, and above
PANEL, TEXT = (22, 35, 47), (176, 194, 206)
MARKER, FILLED, EXCHANGED = (255, 179, 71), (84, 110, 130), (255, 92, 92)
BONE, JOINT, BODY = (120, 205, 196), (236, 246, 245), np.array([0.74, 0.83, 0.86])
LIGHT = np.array([0.40, -0.72, 0.57])  # right, away, up; unit length


def make_view() -> Array:
    """Return the rotation from world axes to right, away from the camera, up."""
    a, b = math.radians(VIEW_DEG), math.radians(TILT_DEG)
    forward = -np.array([math.cos(a) * math.cos(b), math.sin(a) * math.cos(b), math.sin(b)])
    right = np.cross(forward, (0.0, 0.0, 1.0))
    right /= np.linalg.norm(right)
    return np.array([right, forward, np.cross(right, forward)])


@njit
def fill_triangles(corners, shades, faces, depth, light):  # pragma: no cover
    """Write the shade of the nearest triangle into each pixel; corners (n, 3): x, depth, y."""
    height, width = depth.shape
    for f in range(len(faces)):
        a, b, c = corners[faces[f, 0]], corners[faces[f, 1]], corners[faces[f, 2]]
        area = (b[0] - a[0]) * (c[2] - a[2]) - (b[2] - a[2]) * (c[0] - a[0])
        if area == 0.0:
            continue
        first_x = max(int(min(a[0], b[0], c[0])), 0)
        last_x = min(int(max(a[0], b[0], c[0])) + 1, width - 1)
        first_y = max(int(min(a[2], b[2], c[2])), 0)
        last_y = min(int(max(a[2], b[2], c[2])) + 1, height - 1)
        for y in range(first_y, last_y + 1):
            for x in range(first_x, last_x + 1):
                v = ((x - a[0]) * (c[2] - a[2]) - (y - a[2]) * (c[0] - a[0])) / area
                w = ((b[0] - a[0]) * (y - a[2]) - (b[2] - a[2]) * (x - a[0])) / area
                u = 1.0 - v - w
                if u < 0.0 or v < 0.0 or w < 0.0:
                    continue
                near = u * a[1] + v * b[1] + w * c[1]
                if near < depth[y, x]:
                    depth[y, x] = near
                    s = shades[faces[f, 0]], shades[faces[f, 1]], shades[faces[f, 2]]
                    light[y, x] = u * s[0] + v * s[1] + w * s[2]


class Stage:
    """A frame of the picture, drawn larger than it is shown."""

    def __init__(self) -> None:
        self.size = (SIZE[0] * SAMPLES, SIZE[1] * SAMPLES)
        self.image = Image.new("RGB", self.size, PANEL)
        self.draw = ImageDraw.Draw(self.image, "RGBA")
        self.view = make_view()

    def project(self, points: Array, column: float) -> Array:
        """Return x, depth and y [pixels] of points [m], (n, 3)."""
        seen = points @ self.view.T
        x = SAMPLES * (column + ASIDE + PIXELS_PER_METRE * seen[:, 0])
        y = SAMPLES * (FLOOR - PIXELS_PER_METRE * seen[:, 2])
        return np.stack([x, seen[:, 1], y], axis=1)

    def dot(self, place: Array, radius: float, colour: tuple[int, ...], ring: bool = False) -> None:
        """Draw a disc, or a ring."""
        r = SAMPLES * radius
        box = (place[0] - r, place[2] - r, place[0] + r, place[2] + r)
        if ring:
            self.draw.ellipse(box, outline=colour, width=SAMPLES)
        else:
            self.draw.ellipse(box, fill=colour)

    def shadow(self, ground: Array, column: float) -> None:
        """Darken the floor below a figure."""
        for spread in (0.34, 0.27, 0.20, 0.13):
            angles = np.linspace(0.0, 2.0 * np.pi, 48)
            circle = np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=1) * spread
            outline = self.project(circle + ground, column)
            self.draw.polygon([(x, y) for x, _, y in outline], fill=(0, 0, 0, 34))

    def captions(self, font: Font) -> None:
        """Write what the three figures are."""
        for column, caption in zip(COLUMNS, CAPTIONS, strict=True):
            middle = (SAMPLES * column, SAMPLES * (SIZE[1] - 20))
            self.draw.text(middle, caption, TEXT, font, anchor="mm")

    def body(self, pose: Pose, column: float) -> None:
        """Draw the skin of a figure."""
        skeleton = pose.skeleton
        parts = skeleton.visuals.compute_vertices(
            skeleton.bone_names, pose.positions, pose.rotations
        )
        light = np.zeros(self.size[::-1])
        depth = np.full(self.size[::-1], np.inf)
        for part, vertices in zip(skeleton.visuals.skins, parts, strict=True):
            faces = part.mesh.faces.astype(np.int64)
            a, b, c = (vertices[faces[:, k]] for k in range(3))
            across = np.cross(b - a, c - a)
            normals = np.zeros_like(vertices)
            for k in range(3):
                np.add.at(normals, faces[:, k], across)
            normals /= np.maximum(np.linalg.norm(normals, axis=1), 1e-12)[:, None]
            seen = normals @ self.view.T
            key = np.clip(seen @ LIGHT, 0.0, None)
            rim = np.clip(1.0 + seen[:, 1], 0.0, 1.0) ** 3
            shades = 0.30 + 0.82 * key + 0.10 * seen[:, 2] + 0.20 * rim
            fill_triangles(self.project(vertices, column), shades, faces, depth, light)
        covered = np.isfinite(depth)
        pixels = np.array(self.image)
        colour = 255.0 * np.clip(light[..., None] * BODY, 0.0, 1.0)
        pixels[covered] = colour[covered].astype(np.uint8)
        self.image = Image.fromarray(pixels)
        self.draw = ImageDraw.Draw(self.image, "RGBA")

    def shown(self) -> Image.Image:
        """Return the frame as it is shown: three panels, and nothing between them."""
        mask = Image.new("L", self.size, 0)
        for column in COLUMNS:
            box = [SAMPLES * v for v in (column - 136, 0, column + 136, SIZE[1])]
            ImageDraw.Draw(mask).rounded_rectangle(box, radius=SAMPLES * 10, fill=255)
        shown = self.image.resize(SIZE, Image.Resampling.LANCZOS)
        shown.putalpha(mask.resize(SIZE, Image.Resampling.BOX))  # straight edges stay sharp
        return shown


def draw_frame(
    recording: SyntheticRecording, track: ik.Track, frame: int, font: Font
) -> Image.Image:
    """Draw what was recorded and what was found of it."""
    stage = Stage()
    stage.captions(font)
    pose = track.motion.skeleton.forward(track.motion.q[frame])
    follow = np.array([*pose.point("pelvis")[:2], 0.0])  # the camera goes along
    measured = recording.markers.positions[frame] - follow
    names = list(pose.skeleton.markers)
    exchanged = (recording.swapped or ()) if recording.swapped_frames[frame] else ()
    for column in COLUMNS:
        stage.shadow(np.zeros(3), column)

    for name, place, seen in zip(names, stage.project(measured, COLUMNS[0]), measured, strict=True):
        if np.isfinite(seen).all():
            wrong = name in exchanged
            stage.dot(place, 3.4 if wrong else 2.6, EXCHANGED if wrong else MARKER)

    joints = stage.project(pose.positions - follow, COLUMNS[1])
    for bone, parent in enumerate(pose.skeleton.parents):
        if parent >= 0:
            ends = [tuple(joints[k][[0, 2]]) for k in (parent, bone)]
            stage.draw.line(ends, fill=BONE, width=round(SAMPLES * 3.4))
    for place in joints:
        stage.dot(place, 2.4, JOINT)
    found = stage.project(pose.markers - follow, COLUMNS[1])
    for place, seen in zip(found, measured, strict=True):
        missing = not np.isfinite(seen).all()
        stage.dot(place, 2.4 if missing else 1.9, FILLED if missing else MARKER, ring=missing)

    shifted = np.array(track.motion.q[frame])
    shifted[:2] -= follow[:2]
    stage.body(pose.skeleton.forward(shifted), COLUMNS[2])
    return stage.shown()


def main() -> None:
    """Solve, draw, write."""
    motion = simulate_performance(SECONDS, RATE, acts=ACTS)
    recording = simulate_recording(motion, noise=0.003, gaps=0.12, swap=True, seed=4)
    track = ik.track(motion.skeleton, recording.markers)
    font = ImageFont.load_default(15.0 * SAMPLES)
    every = round(RATE / FPS)
    frames = range(0, len(track.motion) - every, every)
    pictures = [draw_frame(recording, track, frame, font) for frame in frames]
    first, *others = pictures
    partial = TARGET.with_suffix(".part")
    first.save(
        partial,
        format="WEBP",
        save_all=True,
        append_images=others,
        duration=round(1000 / FPS),
        loop=0,
        quality=72,
        method=6,
    )
    partial.replace(TARGET)
    print(
        f"{TARGET}: {len(pictures)} frames, {TARGET.stat().st_size / 1e6:.2f} MB; {track.verdict}"[
            :200
        ]
    )
    if len(sys.argv) > 1:
        folder = Path(sys.argv[1])
        folder.mkdir(parents=True, exist_ok=True)
        for k in range(0, len(pictures), 8):
            pictures[k].save(folder / f"frame-{k:03d}.png")


if __name__ == "__main__":
    main()
