"""Figures 2 and 6: the frames as pictures, and whole takes to look at."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from exactik.io import save_motion
from exactik.model import Bone, Joint, Skeleton
from exactik.model.motion import Motion, axes_matrix, cyclic_axes
from exactik.solvers import solve
from exactik.typing import Array
from exactik_papers.descents import AUTO, METHODS, SOLVED, SOLVED_COST_CM2
from exactik_papers.exact_hessian.table4 import STARTS, follow_take
from exactik_papers.experiment import Experiment, Findings, Picture, Progress, ResultTable
from exactik_papers.recording import CM, MotionFrames, Recording, Take, scale_skeleton

__all__ = ["FIGURE_2", "FIGURE_6", "write_side_by_side"]

APART = 1.2  # of the two figures in a file [m]
WORKOUT = 4  # frames of Figure 6
GREY, BLUE, RED = "#b9c0c5", "#0072b2", "#c8500a"


def figure_2(recording: Recording, out: Path, progress: Progress) -> Findings:
    """Walking, punching, kicking."""
    shown = [
        (kind, recording.kinds[kind], int(recording.kinds[kind].frames[len(chosen.frames) // 2]))
        for kind, chosen in recording.kinds.items()
        if kind != "workout"
    ]
    progress(1, 2)
    findings = _make_findings("fig2", shown)
    findings.differs.append(
        "The frames are not the published ones, which are of a take that is not to be had where "
        "the published scripts are."
    )
    return findings


def figure_6(recording: Recording, out: Path, progress: Progress) -> Findings:
    """The workout; and the take that it is from, solved and written beside the original."""
    chosen = recording.kinds["workout"]
    some = chosen.frames[np.linspace(0, len(chosen.frames) - 2, WORKOUT).round().astype(int) + 1]
    findings = _make_findings("fig6", [("workout", chosen, int(frame)) for frame in some])
    take = chosen.take
    method = replace(METHODS[SOLVED], max_iterations=10, small_cost=SOLVED_COST_CM2)
    solved = follow_take(
        take, method, STARTS[0], len(take), lambda frame: progress(frame, len(take))
    )
    for path, words in write_side_by_side(take, solved.q, out):
        findings.files.append((path, words))
    findings.tables.append(
        ResultTable(
            "fig6-take",
            f"All of {take.name}, the first frame from the pose of the file",
            ("frames", "summed error, mean [cm]", "worst frame [cm]", "iterations, mean"),
            [
                (
                    len(take),
                    float(solved.error.mean()),
                    float(solved.error.max()),
                    float(solved.iterations.mean()),
                )
            ],
        )
    )
    findings.differs += [
        "The published frames are of mm_03-05_02; with HDM05 ours are of dg_03-05_02, the same "
        "exercises by another actor.",
        "The take is solved by newton with k_max = 10, as in table4; original and solution stand "
        "side by side in one file. exactik play shows it in a browser.",
    ]
    return findings


def _make_findings(name: str, shown: list[tuple[str, MotionFrames, int]]) -> Findings:
    from matplotlib.figure import Figure

    picture = Figure(figsize=(min(3.7, 12.0 / len(shown)) * len(shown), 4.4), layout="constrained")
    rows = []
    for k, (kind, chosen, frame) in enumerate(shown):
        take = chosen.take
        method = replace(METHODS[AUTO], small_cost=SOLVED_COST_CM2)
        result = solve(take.problem(frame), q0=take.warm(frame), solver=method)
        error = float(take.marker_errors(result.q, frame).sum())
        axes = picture.add_subplot(1, len(shown), k + 1, projection="3d")
        draw_stick_figure(axes, take, take.warm(frame), GREY, 1.5)
        draw_stick_figure(axes, take, result.q, BLUE, 2.5)
        dots = _to_z_up(take, take.markers[frame])
        axes.scatter(*dots.T, s=7, color=RED, depthshade=False)
        _equalise_axes(axes, dots)
        axes.set_title(f"{kind}: {take.name}, frame {frame}", fontsize=10)
        rows.append((kind, take.name, frame, result.iterations, error))
    columns = ("motion", "take", "frame", "iterations of auto", "summed error [cm]")
    caption = "Solved by auto (blue), the start (grey) and the markers (red)."
    return Findings(
        [ResultTable(name, "The frames", columns, rows)], [Picture(name, caption, picture)]
    )


def _to_z_up(take: Take, points: Array) -> Array:
    """Return points with z up."""
    return points @ axes_matrix(cyclic_axes(take.up_axis, "z")).T


def draw_stick_figure(axes: Any, take: Take, q: Array, colour: str, width: float) -> None:
    """Draw bones as lines on 3-D axes."""
    positions = _to_z_up(take, take.skeleton.forward(q).positions)
    for k, parent in enumerate(take.skeleton.parents):
        if parent >= 0:
            line = positions[[parent, k]]
            axes.plot(*line.T, color=colour, lw=width, solid_capstyle="round")


def _equalise_axes(axes: Any, dots: Array) -> None:
    """Put the same scale on all axes, and hide them."""
    middle, half = 0.5 * (dots.min(axis=0) + dots.max(axis=0)), 0.5 * np.ptp(dots, axis=0).max()
    axes.set_xlim(middle[0] - half, middle[0] + half)
    axes.set_ylim(middle[1] - half, middle[1] + half)
    axes.set_zlim(middle[2] - half, middle[2] + half)
    axes.set_box_aspect((1, 1, 1), zoom=1.6)
    axes.view_init(elev=8, azim=-60)
    axes.set_axis_off()


def write_side_by_side(take: Take, q: Array, out: Path) -> list[tuple[Path, str]]:
    """Write the original and the solution as one BVH and one GLB, 1.2 m apart."""
    figure, original = scale_skeleton(take.skeleton, take.q[: len(q)], 1.0 / CM)
    _, solved = scale_skeleton(take.skeleton, q, 1.0 / CM)
    bones = [Bone("scene", joint=Joint.fixed())]
    for name, shift in (("original", 0.0), ("solved", APART)):
        for bone in figure.bones:
            offset = np.array(bone.offset)
            offset[0] += shift if bone.parent is None else 0.0
            bones.append(
                Bone(
                    f"{name}_{bone.name}",
                    parent="scene" if bone.parent is None else f"{name}_{bone.parent}",
                    offset=offset,
                    pre=bone.pre,
                    joint=bone.joint,
                    post=bone.post,
                )
            )
    both = Skeleton.build(f"{take.name}, original and solved", bones)
    motion = Motion(both, np.hstack([original, solved]), take.rate, up_axis=take.up_axis)
    written = []
    for suffix in ("glb", "bvh"):
        path = out / f"fig6-{take.name}.{suffix}"
        save_motion(motion, path)
        written.append((path, f"original and solution side by side, {len(q)} frames"))
    return written


FIGURE_2 = Experiment(
    "fig2",
    "Figure 2: frames of walking, punching and kicking",
    "hessian",
    "Pictures of three frames: slow walking, punching and kicking.",
    figure_2,
)
FIGURE_6 = Experiment(
    "fig6",
    "Figure 6: frames of a workout",
    "hessian",
    "Pictures of four frames of mm_03-05_02 (jumping jacks, skiing exercise, elbow to knee, "
    "squat), and in the supplement a video of reconstructed takes beside the originals.",
    figure_6,
)
