"""Figure 5 of the Recipe: a block of the Jacobian is an adjoint, trimmed to what is asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from exactik.model import Bone, Joint, Skeleton
from exactik.spatial import axis_rotation
from exactik.typing import Array
from exactik_papers.experiment import (
    Experiment,
    Findings,
    Picture,
    Progress,
    ResultTable,
    make_claims_table,
)
from exactik_papers.recording import Recording

__all__ = [
    "COLUMNS",
    "EXPERIMENT",
    "POINT",
    "ROWS",
    "SCENARIOS",
    "adjoint",
    "block",
    "corrected",
    "figure_with",
    "run",
    "turned",
]


POINT = np.array([0.02, -0.03, 0.10])  # of the end effector on its bone [m]
ANGLES = np.array([0.7, -0.5, 0.9])  # of the joint [rad]
SHIFT = np.array([0.2, -0.1, 0.3])  # [m]
JOINTS = {
    "universal": Joint.free("quaternion"),
    "ball": Joint.quaternion(),
    "prismatic": Joint.translation(),
    "ball, Euler XYZ": Joint.euler("XYZ"),
}
ROWS = {"v, ω": slice(0, 6), "v": slice(0, 3)}
COLUMNS = {
    "universal": slice(0, 6),
    "ball": slice(3, 6),
    "prismatic": slice(0, 3),
    "ball, Euler XYZ": slice(3, 6),
}
SCENARIOS = (
    ("universal", "v, ω"),
    ("ball", "v, ω"),
    ("prismatic", "v, ω"),
    ("ball", "v"),
    ("ball, Euler XYZ", "v, ω"),
)
"""The joint and what is controlled: the four rows of the figure, and section 2.3."""


def turned() -> Array:
    """Return the turn of the joint, (3, 3): Euler XYZ, x outermost."""
    turns = [axis_rotation(axis, angle) for axis, angle in zip("xyz", ANGLES, strict=True)]
    return turns[0] @ turns[1] @ turns[2]


def figure_with(joint: str) -> tuple[Skeleton, Array]:
    """Return a base, the joint, and an end effector; and coordinates, (nq,)."""
    bones = [
        Bone("base", pre=axis_rotation("y", 0.4), joint=Joint.fixed()),
        Bone("joint", parent="base", offset=(0.1, 0.2, 0.4), joint=JOINTS[joint]),
        Bone("end", parent="joint", offset=(0.0, 0.1, 0.3), pre=axis_rotation("z", 1.1)),
    ]
    half = _quaternion(turned())
    q = {
        "universal": np.concatenate([SHIFT, half]),
        "ball": half,
        "prismatic": SHIFT,
        "ball, Euler XYZ": ANGLES,
    }[joint]
    return Skeleton.build(joint, bones), q


def _quaternion(R: Array) -> Array:
    w = 0.5 * np.sqrt(1.0 + np.trace(R))
    return np.array(
        [w, *np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / (4 * w)]
    )


def adjoint(R: Array, p: Array) -> Array:
    """Return equation (5), (6, 6): twists (v, ω) seen in a frame where the other is at R, p."""
    hat = np.array([[0.0, -p[2], p[1]], [p[2], 0.0, -p[0]], [-p[1], p[0], 0.0]])
    return np.block([[R, hat @ R], [np.zeros((3, 3)), R]])


def block(skeleton: Skeleton, q: Array) -> Array:
    """Return the adjoint from the joint to the end effector's point, in the end's axes, (6, 6)."""
    pose = skeleton.forward(q)
    j, e = skeleton.bone_index("joint"), skeleton.bone_index("end")
    Rj, Re = pose.rotations[j], pose.rotations[e]
    return adjoint(Re.T @ Rj, Re.T @ (pose.positions[j] - pose.point("end", POINT)))


def corrected(skeleton: Skeleton, q: Array, joint: str) -> Array:
    """Return the block with columns for the dofs that the joint really has, (6, 6).

    Shifts are along the axes of the base, not of the turned joint; Euler angles turn about axes
    that the outer ones turn, R* = Qᵀ (x, R_x y, R_x R_y z).
    """
    Ad = block(skeleton, q)
    Q = turned() if joint in ("universal", "ball, Euler XYZ") else np.eye(3)
    if joint == "universal":
        Ad[:, :3] = Ad[:, :3] @ Q.T
    elif joint == "ball, Euler XYZ":
        first = axis_rotation("x", ANGLES[0])
        second = first @ axis_rotation("y", ANGLES[1])
        axes = np.stack([np.eye(3)[:, 0], first[:, 1], second[:, 2]], axis=1)
        Ad[:, 3:] = Ad[:, 3:] @ Q.T @ axes
    return Ad


def run(recording: Recording, out: Path, progress: Progress) -> Findings:
    """Trim the adjoint and compare with the Jacobian of the package."""
    rows, shown, entries = [], [], []
    for k, (joint, control) in enumerate(SCENARIOS):
        skeleton, q = figure_with(joint)
        true = skeleton.jacobian(q, "end", POINT, frame="body", rows="both")[ROWS[control]]
        printed = block(skeleton, q)[ROWS[control], COLUMNS[joint]]
        right = corrected(skeleton, q, joint)[ROWS[control], COLUMNS[joint]]
        differ = float(np.abs(printed - true).max()), float(np.abs(right - true).max())
        rows.append((joint, control, f"{true.shape[0]} × {true.shape[1]}", *differ))
        shown.append((joint, control, corrected(skeleton, q, joint)))
        for i in range(true.shape[0]):
            for c in range(true.shape[1]):
                entries.append((f"{joint}; {control}", i, c, float(true[i, c])))
        progress(k + 1, len(SCENARIOS))
    worst = max(row[4] for row in rows)
    prismatic = rows[2]
    skeleton, q = figure_with("prismatic")
    turns = np.abs(skeleton.jacobian(q, "end", POINT, frame="body", rows="angular")).max()
    verdicts = make_claims_table(
        "recipe-fig5",
        [
            (
                "blocks of adjoints, trimmed, are the Jacobian 'without any further adjustments'",
                "said; section 2.3 adjusts for Euler angles",
                "largest difference as printed: "
                + ", ".join(f"{joint} ({control}) {d:.1e}" for joint, control, _, d, _ in rows),
                all(row[3] < 1e-12 for row in rows[:4]),
            ),
            (
                "with shifts along the base's axes, and R* for Euler angles",
                "equations (30)–(32)",
                f"largest difference {worst:.1e}",
                worst < 1e-12,
            ),
            (
                "a prismatic joint leaves ω at 0",
                "third row",
                f"block {prismatic[2]}, largest entry of ω {turns:.1e}",
                bool(turns == 0.0),
            ),
        ],
    )
    return Findings(
        [
            ResultTable(
                "recipe-fig5",
                "Trimmed blocks against the package's Jacobian [m or 1]",
                ("joint", "controlled", "block", "as printed, differs by", "corrected, by"),
                rows,
            ),
            verdicts,
            ResultTable(
                "recipe-fig5-blocks",
                "entries of all blocks",
                ("scenario", "row", "column", "entry"),
                entries,
                shown=False,
            ),
        ],
        [
            Picture(
                "recipe-fig5",
                "The adjoint of each scenario in numbers; what is trimmed away is grey.",
                _drawn(shown),
            )
        ],
        [
            "A worked example of ours: a base, a joint and an end effector with a point on it. The "
            "figure shows no numbers.",
            "The universal joint of the text shifts along its own turned axes; here, as in most "
            "file formats, a joint is shifted first and then turned, so that its linear columns "
            "need one rotation more.",
        ],
    )


def _drawn(shown: list[tuple[str, str, Array]]) -> object:
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    figure = Figure(figsize=(13.5, 3.4), layout="constrained")
    for axes, (joint, control, Ad) in zip(figure.subplots(1, len(shown)), shown, strict=True):
        axes.imshow(Ad, cmap="RdBu_r", vmin=-1.2, vmax=1.2)
        rows, columns = ROWS[control], COLUMNS[joint]
        for i in range(6):
            for c in range(6):
                inside = rows.start <= i < rows.stop and columns.start <= c < columns.stop
                if not inside:
                    axes.add_patch(Rectangle((c - 0.5, i - 0.5), 1, 1, color="gainsboro"))
                color = "black" if inside else "darkgray"
                axes.text(
                    c,
                    i,
                    f"{Ad[i, c].round(2) + 0.0:.2f}",
                    ha="center",
                    va="center",
                    fontsize=7,
                    color=color,
                )
        for line in (2.5,):
            axes.axhline(line, color="black", lw=1)
            axes.axvline(line, color="black", lw=1)
        axes.set_title(f"{joint}\ncontrols {control}", fontsize=10)
        axes.set_xticks([1, 4], ["shifts", "turns"])
        axes.set_yticks([1, 4], ["v", "ω"])
    return figure


EXPERIMENT = Experiment(
    "recipe-fig5",
    "Figure 5: adjoint blocks, trimmed",
    "recipe",
    "Four scenarios: a universal joint with full control (6 × 6), a revolute one with full "
    "control, a prismatic one, for which ω is forced to 0, and 'a very common setup', a "
    "revolute joint and positions only. Blocks go into the Jacobian without further adjustments.",
    run,
)
