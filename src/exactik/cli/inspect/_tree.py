"""A skeleton as a tree for the terminal: bones, dofs and limits, long chains on one line."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

from rich.text import Text

from exactik._text import count_noun
from exactik.io import BoneFacts, DofFacts, SkeletonFacts

MAX_SINGLE_BONES = 26  # bones that are shown one a line; where there are more, chains share a line
MAX_LINES = 26  # lines


def draw_tree(skeleton: SkeletonFacts, width: int, everything: bool = False) -> list[Text]:
    """Return the tree, lines cut at `width`.

    Args:
        everything: whether to show each bone on a line of its own, however many there are.
    """
    one_bone_per_line = everything or len(skeleton.bones) <= MAX_SINGLE_BONES
    title = textwrap.wrap(_format_title(skeleton, one_bone_per_line), width)
    lines = [Text(line, "cyan") for line in title]
    children: dict[str | None, list[BoneFacts]] = {}
    for bone in skeleton.bones:
        children.setdefault(bone.parent, []).append(bone)
    shown = 0
    stack = [(root, "", "") for root in reversed(children[None])]  # bone, its stem, its children's
    while len(stack) > 0:
        bone, stem, below = stack.pop()
        chain = [bone]
        while not one_bone_per_line and len(children.get(chain[-1].name, [])) == 1:
            chain += children[chain[-1].name]
        if not everything and len(lines) > MAX_LINES:
            left = len(skeleton.bones) - shown
            lines.append(Text(f"… and {left} more bones; --all shows them", "dim"))
            break
        shown += len(chain)
        lines.append(_draw_line(chain, stem, width))
        for n, child in enumerate(reversed(children.get(chain[-1].name, []))):
            branch, deeper = ("└ ", "  ") if n == 0 else ("├ ", "│ ")
            stack.append((child, below + branch, below + deeper))
    return lines


def format_limits(dofs: Sequence[DofFacts]) -> str:
    """Return dofs with their limits, in degrees or metres: "rx −20…45°, rz ±90°, tx"."""
    parts = [f"{dof.name}{_format_limit(dof)}" for dof in dofs]
    text = ", ".join(parts)
    # The dofs of a quaternion have no meaning one by one.
    return text.replace("wx, wy, wz", "turns freely").replace(
        "tx, ty, tz, turns", "moves and turns"
    )


def _format_title(skeleton: SkeletonFacts, each: bool) -> str:
    limited = f"{skeleton.limited} of {skeleton.dofs} dofs have limits"
    if skeleton.limited in (0, skeleton.dofs):
        limited = "no dof has limits" if skeleton.limited == 0 else "all dofs have limits"
    coupled = f", {skeleton.coupled} follow others" if skeleton.coupled > 1 else ""
    coupled = ", 1 follows another" if skeleton.coupled == 1 else coupled
    closed = f", {count_noun(skeleton.loops, 'closed loop')}" if skeleton.loops > 0 else ""
    short = "" if each else "; --all shows each bone"
    return f"Skeleton “{skeleton.name}”: {limited}{coupled}{closed}{short}"


def _draw_line(chain: Sequence[BoneFacts], stem: str, width: int) -> Text:
    names = " › ".join(bone.name for bone in chain)
    dofs = [dof for bone in chain for dof in bone.dofs]
    if len(chain) == 1:
        parts = [format_limits(dofs), *_format_follows(chain[0])]
        about = ", ".join(part for part in parts if part != "") or "rigid"
    else:
        limited = sum(dof.is_limited for dof in dofs)
        about = f"{len(dofs)} dofs" + (f", {limited} limited" if limited > 0 else "")
    line = Text.assemble((stem, "dim"), names)
    room = width - line.cell_len - 2
    if len(chain) > 1 and len(about) > room:  # the ends of a long chain tell where it goes
        names = f"{chain[0].name} › … › {chain[-1].name}"
        line = Text.assemble((stem, "dim"), names)
    line.append(f"  {about}", "dim")
    line.truncate(width, overflow="ellipsis")
    return line


def _format_follows(bone: BoneFacts) -> list[str]:
    """Return the dofs that follow others, those that follow the same one together."""
    dofs_of: dict[str, list[str]] = {}
    for dof, driver in bone.follows.items():
        dofs_of.setdefault(driver, []).append(dof)
    return [
        f"{' '.join(dofs)} held"
        if driver == ""
        else f"{' '.join(dofs)} {'follows' if len(dofs) == 1 else 'follow'} {driver}"
        for driver, dofs in dofs_of.items()
    ]


def _format_limit(dof: DofFacts) -> str:
    if not dof.is_limited:
        return ""
    scale, unit = (180.0 / math.pi, "°") if dof.unit == "rad" else (1.0, " m")
    low, high = (None if x is None else x * scale for x in (dof.lower, dof.upper))
    if low is None or high is None:
        side = f"≤ {_format_number(high or 0.0)}" if low is None else f"≥ {_format_number(low)}"
        return f" {side}{unit}"
    if abs(low + high) < 1e-6 * max(abs(high), 1.0):
        return f" ±{_format_number(high)}{unit}" if high > 0.0 else f" 0{unit}"
    return f" {_format_number(low)}…{_format_number(high)}{unit}"


def _format_number(x: float) -> str:
    """Return a number as one says it, with a true minus."""
    text = f"{x:.0f}" if abs(x) >= 10.0 else f"{x:.2g}"
    return "0" if float(text) == 0.0 else text.replace("-", "−")
