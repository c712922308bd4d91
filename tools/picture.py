"""Draw docs/reach.svg, the README's picture: the demo's figure before and after, from two sides."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from exactik.goals import PositionGoal
from exactik.model import Pose
from exactik.synthetic import solve_reach
from exactik.typing import Array

PIXELS_PER_METRE, FLOOR_PIXELS, LABEL_MARGIN_PIXELS = 150.0, 310.0, 18.0


def project(point: Array, view: str, middle: float) -> tuple[float, float]:
    """Return a point in the world [m] as one of the picture, from the front or the right."""
    across = point[1] if view == "front" else point[0]
    return middle + PIXELS_PER_METRE * across, FLOOR_PIXELS - PIXELS_PER_METRE * point[2]


def draw_figure(pose: Pose, view: str, middle: float, colour: str) -> list[str]:
    """Return bones as lines, markers as dots."""
    lines = []
    for k, parent in enumerate(pose.skeleton.parents):
        if parent >= 0:
            x1, y1 = project(pose.positions[parent], view, middle)
            x2, y2 = project(pose.positions[k], view, middle)
            lines.append(
                f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"'
                ' stroke-width="5" stroke-linecap="round"/>'
            )
    for marker in pose.markers:
        x, y = project(marker, view, middle)
        lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="1.8" fill="{colour}"/>')
    return lines


def main() -> None:
    result = solve_reach()
    skeleton = result.problem.skeleton
    before, after = skeleton.forward(skeleton.neutral()), skeleton.forward(result.q)
    targets = [np.array(g.target) for g in result.problem.goals if isinstance(g, PositionGoal)]
    parts = [f'<line x1="0" y1="{FLOOR_PIXELS}" x2="560" y2="{FLOOR_PIXELS}" stroke="#aaa"/>']
    for view, middle in (("front", 150.0), ("side", 400.0)):
        parts += draw_figure(before, view, middle, "#d0d4da")
        parts += draw_figure(after, view, middle, "#2563a8")
        for target in targets:
            x, y = project(target, view, middle)
            parts.append(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="9" fill="none" stroke="#d9480f"'
                ' stroke-width="3"/>'
            )
        label_y = FLOOR_PIXELS + LABEL_MARGIN_PIXELS
        parts.append(
            f'<text x="{middle:.0f}" y="{label_y}" text-anchor="middle" fill="#777"'
            f' font-family="sans-serif" font-size="12">{view}</text>'
        )
    svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 560 335" width="560" height="335">'
    path = Path(__file__).parent.parent / "docs" / "reach.svg"
    path.write_text(
        "\n".join([svg, '<rect width="560" height="335" fill="white"/>', *parts, "</svg>", ""])
    )
    print(f"wrote {path.name}")


if __name__ == "__main__":
    main()
