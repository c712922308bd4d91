"""Trees of any size, for growth measurements and for tests."""

from __future__ import annotations

from exactik.model import Bone, Joint, Skeleton

__all__ = ["bushy_tree", "serial_chain"]


def serial_chain(n: int) -> Skeleton:
    """Return n hinges in a row, about x, y and z in turn, 1 m long; a marker at the tip."""
    link = (0.0, 0.0, 1.0 / n)
    bones = [
        Bone(
            f"b{k}",
            parent=f"b{k - 1}" if k > 0 else None,
            offset=link if k > 0 else (0.0, 0.0, 0.0),
            joint=Joint.revolute("xyz"[k % 3]),
        )
        for k in range(n)
    ]
    return Skeleton.build(f"chain of {n}", bones, {"TIP": (f"b{n - 1}", link)})


def bushy_tree(n: int, children: int = 3) -> Skeleton:
    """Return n hinges in a tree where each bone has `children` others; a marker on every leaf."""
    bones = [
        Bone(
            f"b{k}",
            parent=f"b{(k - 1) // children}" if k > 0 else None,
            offset=(0.05 * (k % children - 1), 0.02 * (k % 2), 0.1) if k > 0 else (0.0, 0.0, 0.0),
            joint=Joint.revolute("xyz"[k % 3]),
        )
        for k in range(n)
    ]
    carrying = {bone.parent for bone in bones}
    leaves = [bone.name for bone in bones if bone.name not in carrying]
    return Skeleton.build(
        f"bush of {n}", bones, {f"M{leaf[1:]}": (leaf, (0.0, 0.0, 0.1)) for leaf in leaves}
    )
